"""What a random call is made of: a model that is honest about what it knows, and tools with heavy tails.

Every turn of the caller, every reply and every result carries a word of its own, so that what was lost, heard, told
or told twice can be read off the history.

Above: random calls and what examines them. Below: agents and tools, as users write them, and scripted models.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from antiphon.agent import Agent
from antiphon.chat import SUMMARY_ID, ChatContext, ChatMessage, FunctionCall, FunctionCallOutput
from antiphon.errors import ProviderError
from antiphon.llm import ChatRequest
from antiphon.options import NOT_GIVEN
from antiphon.run_context import RunContext
from antiphon.sim.prefixes import Prefixes
from antiphon.tasks import AgentTask, GetDtmfTask
from antiphon.testing import Fail, FakeTTS, Hang, Reply, now
from antiphon.testing.caller import RATE
from antiphon.testing.fakes import Turn
from antiphon.testing.realtime import RealtimeRequest, RealtimeTurn
from antiphon.toolkit import EndCallTool
from antiphon.tools.function import ToolError, function_tool
from antiphon.tts import SynthesizedAudio

Fate: TypeAlias = Literal["dies", "stalls"]
"""How something fails: with an error, or without a word."""
Doomed: TypeAlias = Literal["llm", "tts"]

FALLBACK = "Fallback line, nothing came to my mind."
FAILURE = "Failure line, please say that again."
DIGITS = 4
"""Keys of a code."""

DICTATION = "in exactly these words and nothing else: "
"""What comes before a text that a model is to speak because nobody else can."""

NOTE_TAKING = "You keep the notes"
"""How a request begins for a summary of what was said."""

_TURN = re.compile(r"\bt\d+\b")
_RESULT = re.compile(r"\br\d+\b")
_CHATTER = "well so then let us see what there is to be had on such a day as this one here".split()


def turns_in(text: str) -> list[str]:
    """The turns that a text carries."""
    return _TURN.findall(text)


def results_in(text: str) -> list[str]:
    """The results that a text tells."""
    return _RESULT.findall(text)


@dataclass(slots=True)
class ToolRun:
    """One execution of a tool."""

    kind: str
    agent: str
    arguments: int
    result: str
    began: float
    ended: float | None = None
    status: Literal["running", "asking", "asking for keys", "done", "failed", "cancelled"] = "running"
    kept: bool = False
    """Whatever the caller says, its result must be told."""
    silent: bool = False
    """It runs in the background, and wished for no word about that."""
    told: float | None = None
    """When the speech was over that made its call, if that must not be interrupted."""

    def is_told(self) -> None:
        """The speech that made its call is over."""
        self.told = now()

    def ends(self, status: Literal["done", "failed", "cancelled"]) -> None:
        """It is over."""
        self.ended, self.status = now(), status

    def asks(self, *, for_keys: bool = False) -> None:
        """It waits for the caller."""
        self.status = "asking for keys" if for_keys else "asking"

    def goes_on(self) -> None:
        """The caller has answered."""
        self.status = "running"

    def went_to_background(self, *, unheard: bool, silent: bool) -> None:
        """It reported, and runs on. `unheard`: the caller had spoken over its call before. `silent`: see there."""
        self.kept, self.silent = not unheard, silent


@dataclass(slots=True)
class Asked:
    """One request to the model, and what it answered."""

    number: int
    at: float
    agent: str
    turns: frozenset[str]
    """Those it showed."""
    answer: str = ""
    calls: tuple[str, ...] = ()
    """The names of those that it made."""


@dataclass(slots=True)
class World:
    """The model, the tools, and what became of everything."""

    rng: random.Random
    runs: list[ToolRun] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    voice_failed: list[float] = field(default_factory=list)
    """When."""
    prefixes: Prefixes = field(default_factory=Prefixes)
    """What agents were shown, request by request."""
    _last_turn: str | None = None
    """The turn at which the model ends the call."""
    _fates: dict[Doomed, Fate] = field(default_factory=dict)
    """What happens to the next request, or the next text to be spoken."""
    _calls: int = 0
    _agents: int = 0

    # -- what is to come

    def doom(self, what: Doomed, fate: Fate) -> None:
        """Have the model or the voice fail, the next time it is asked."""
        self._fates[what] = fate

    def fate(self, what: Doomed) -> Fate | None:
        """What happens to the model or the voice now, which is asked. It happens once."""
        return self._fates.pop(what, None)

    def voice_fails(self) -> None:
        """The voice does as it was told."""
        self.voice_failed.append(now())

    def ends_at(self, turn: str) -> None:
        """Nothing fails any more, and the model ends the call when it is shown this turn last."""
        self._fates.clear()
        self._last_turn = turn

    # -- the model

    def answer(self, request: ChatRequest) -> Turn:
        """What the model says to a request: it tells what is new, knows what it told, and calls tools now and then."""
        view = _View(request)
        if view.instructions.startswith(NOTE_TAKING):
            return Reply(f"They talked for a while, about {len(self.runs)} things.")
        if view.instructions.startswith("agent "):  # tasks have contexts that begin anew
            self.prefixes.asked(view.instructions, request.chat_ctx.items)
        asked = Asked(len(self.asked), now(), view.instructions, frozenset(view.turns))
        self.asked.append(asked)
        if fate := self.fate("llm"):
            said = self._chat(self.rng.randint(1, 6)) if self.rng.random() < 0.4 else ""
            return Fail(ProviderError("told to fail"), text=said) if fate == "dies" else Hang(said)
        reply = self._reply(view, f"a{asked.number}")
        asked.answer, asked.calls = reply.text, tuple(call[0] for call in reply.calls if isinstance(call, tuple))
        return reply

    def answer_aloud(self, request: RealtimeRequest) -> RealtimeTurn:
        """What a model that hears and speaks does when it is asked, or asks itself."""
        notes = request.instructions or ""
        if DICTATION in notes:
            return notes.partition(DICTATION)[2]
        system = [ChatMessage(role="system", content=text) for text in (request.session_instructions, notes) if text]
        items = [*system[:1], *request.items, *system[1:]]
        choice = NOT_GIVEN if request.tool_choice is None else request.tool_choice
        return self.answer(ChatRequest(ChatContext(items), request.tools, choice))

    def _reply(self, view: _View, tag: str) -> Reply:
        rng = self.rng
        if view.delivery and not view.untold:
            return Reply("")
        if view.to_caller and view.may_end and self._last_turn in view.turns[-1:]:
            return Reply("", [("end_call", {})])
        calls: list[tuple[str, dict[str, Any]]] = []
        chance = 0.0 if view.delivery or view.ends or not view.tools else 0.5 if view.to_caller else 0.15
        if rng.random() < chance:
            calls = [self._call(view) for _ in range(rng.choice([1, 1, 1, 2]))]
        if calls and rng.random() < 0.5:
            return Reply("", calls)
        words = [tag, *view.untold, *self._chat(rng.randint(1, 24)).split()]
        return Reply(" ".join(words).capitalize() + ".", calls)

    def _call(self, view: _View) -> tuple[str, dict[str, Any]]:
        kind = self.rng.choice([name for name in view.tools for _ in range(_OFTEN.get(name, 1))])
        if kind == "update_code":
            return kind, {"code": "".join(self.rng.choice("0123456789") for _ in range(DIGITS))}
        if kind in ("confirm_code", "decline_code"):
            return kind, {}
        mine = [run for run in self.runs if run.agent == view.instructions and run.kind == kind]
        again = [run for run in mine if run.arguments not in view.called and not view.is_trimmed]
        if again and self.rng.random() < 0.5:  # what it called and cannot see, it calls again
            return kind, {"n": self.rng.choice(again).arguments}
        self._calls += 1
        return kind, {"n": self._calls}

    def _chat(self, count: int) -> str:
        words = [self.rng.choice(_CHATTER) for _ in range(count)]
        for at in range(8, count, 9):  # sentences, so that the voice can begin before the end
            words[at] = words[at] + "."
        for at in range(2, count, 7):  # and marks that are not spoken
            words[at] = f"*{words[at]}*"
        return " ".join(words)

    # -- the tools

    def latency(self) -> float:
        """Seconds that a tool takes: mostly short, up to 15."""
        return min(15.0, 0.25 * self.rng.paretovariate(0.9))

    def begin(self, kind: str, agent: str, n: int, *, kept: bool) -> ToolRun:
        """A tool starts."""
        run = ToolRun(kind, agent, n, f"r{len(self.runs)}", now(), kept=kept)
        self.runs.append(run)
        return run

    async def work(self, run: ToolRun, seconds: float) -> str:
        """A tool takes its time. Returns its result."""
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            run.ends("cancelled")
            raise
        if self.rng.random() < 0.05:
            run.ends("failed")
            raise ToolError(f"could not do it, {run.result}")
        run.ends("done")
        return f"it is {run.result}"

    @asynccontextmanager
    async def taking_part(self, run: ToolRun) -> AsyncIterator[None]:
        """While a tool speaks with the caller."""
        try:
            yield
        except asyncio.CancelledError:
            run.ends("cancelled")
            raise
        except ToolError:  # the caller went on, and nothing was begun
            run.ends("failed")
            raise

    @property
    def is_asking(self) -> bool:
        """A tool waits for what the caller says."""
        return any(run.status in ("asking", "asking for keys") for run in self.runs)

    @property
    def is_asking_for_keys(self) -> bool:
        """A tool waits for a code."""
        return any(run.status == "asking for keys" for run in self.runs)

    def is_handing_off(self, *, within: float) -> bool:
        """A tool is about to hand the call to another agent, or did so within so many seconds."""
        transfers = [run for run in self.runs if run.kind == "transfer"]
        return any(run.ended is None or now() - run.ended <= within for run in transfers)

    @property
    def is_working(self) -> bool:
        """A tool runs."""
        return any(run.status == "running" for run in self.runs)

    def next_agent(self) -> str:
        """A name that no agent had."""
        self._agents += 1
        return f"agent {self._agents}"

    def agent(self, name: str) -> Agent:
        """An agent with all the tools."""
        return _Walker(self, name)


_OFTEN = {
    "read": 3,
    "find": 3,
    "write": 3,
    "work": 3,
    "protected": 1,
    "transfer": 1,
    "announce": 1,
    "ask": 1,
    "give": 1,
    "dial": 1,
    "update_code": 2,
    "confirm_code": 2,
    "decline_code": 1,
}
ANSWERS = ("give", "update_code", "confirm_code", "decline_code")
"""Calls with which a turn is an answer to what a task asked."""
SPEAKING = ("announce", "ask")
"""Tools that begin by saying something."""


class _View:
    """What a request shows the model."""

    def __init__(self, request: ChatRequest) -> None:
        self.tools = [tool.id for tool in request.tools if tool.id in _OFTEN] if request.tool_choice != "none" else []
        self.may_end = any(tool.id == "end_call" for tool in request.tools)
        self.turns: list[str] = []
        self.called: set[int] = set()
        self.delivery = self.to_caller = self.ends = False
        self.instructions = ""
        self.is_trimmed = False
        results: list[str] = []
        told: set[str] = set()
        is_left_out = False
        """The call is one of a part of the talk that is left out: what came of it was told then."""
        for item in request.chat_ctx.items:
            if isinstance(item, ChatMessage):
                self.is_trimmed = self.is_trimmed or item.id.startswith(SUMMARY_ID)
                is_left_out = item.id.startswith(SUMMARY_ID) and "those that follow" in (item.text_content or "")
            match item:
                case ChatMessage(role="user"):
                    self.turns += turns_in(item.text_content or "")
                    self.to_caller, self.ends = True, False
                case ChatMessage(role="assistant"):
                    told.update(results_in(item.text_content or ""))
                case FunctionCall():
                    self.called.add(_argument(item.arguments))
                case FunctionCallOutput():
                    results += results_in(item.output)
                    lines = item.output.splitlines()
                    known = [line for line in lines if is_left_out or line.endswith("(the user was told)")]
                    told.update(results_in(" ".join(known)))
                    self.to_caller, self.ends = False, item.name == "end_call"
                case ChatMessage(role="system"):
                    text = item.text_content or ""
                    # An agent's name, or a task's first line; what all of them are told stands behind it.
                    self.instructions = self.instructions or text.partition("\n")[0]
                    self.delivery = self.delivery or "New results came in" in text
                case _:
                    pass
        self.untold = [result for result in dict.fromkeys(results) if result not in told]


def _argument(arguments: str) -> int:
    digits = re.search(r"\d+", arguments)
    return int(digits[0]) if digits else -1


class _Walker(Agent):
    """An agent with a tool of every kind."""

    def __init__(self, world: World, name: str) -> None:
        super().__init__(instructions=name, tools=[EndCallTool()])
        self.world = world
        self.name = name

    def _begin(self, kind: str, n: int, *, kept: bool = False) -> ToolRun:
        return self.world.begin(kind, self.name, n, kept=kept)

    async def on_enter(self) -> None:
        if self.world.rng.random() < 0.5:
            self.session.say("Hello, how can I help you?")
        else:
            self.session.generate_reply(instructions="Greet the caller.")

    @function_tool(effect="reads")
    async def read(self, n: int) -> str:
        """Look something up."""
        return await self.world.work(self._begin("read", n), self.world.latency())

    @function_tool
    async def find(self, n: int) -> str:
        """Do something, without saying what it does to the world."""
        return await self.world.work(self._begin("find", n), self.world.latency())

    @function_tool(effect="writes")
    async def write(self, n: int) -> str:
        """Change something."""
        return await self.world.work(self._begin("write", n, kept=True), self.world.latency())

    @function_tool
    async def work(self, ctx: RunContext[Any], n: int) -> str:
        """Do something in the background."""
        run = self._begin("work", n)
        await asyncio.sleep(0.05)
        silent = self.world.rng.random() < 0.5
        await ctx.update("It is under way.", silent=silent)
        run.went_to_background(unheard=ctx.speech_handle.interrupted, silent=silent)
        return await self.world.work(run, 1.0 + self.world.latency())

    @function_tool
    async def protected(self, ctx: RunContext[Any], n: int) -> str:
        """Do something that must not be interrupted."""
        run = self._begin("protected", n, kept=True)
        ctx.disallow_interruptions()
        ctx.speech_handle.add_done_callback(lambda _: run.is_told())
        return await self.world.work(run, min(6.0, self.world.latency()))

    @function_tool
    async def announce(self, ctx: RunContext[Any], n: int) -> str:
        """Say something that must be heard to its end."""
        run = self._begin("announce", n)
        async with self.world.taking_part(run):
            await ctx.session.say("Please hear this to its very end, it matters.", allow_interruptions=False)
        return await self.world.work(run, 0.1)

    @function_tool
    async def ask(self, n: int) -> str:
        """Ask the caller something, for as long as it takes."""
        run = self._begin("ask", n)
        async with self.world.taking_part(run):
            run.asks()
            await _Question(self.world, f"question {n}")
            run.goes_on()
        return await self.world.work(run, 0.1)

    @function_tool
    async def dial(self, n: int) -> str:
        """Have the caller enter a code."""
        run = self._begin("dial", n)
        async with self.world.taking_part(run):
            run.asks(for_keys=True)
            try:
                await GetDtmfTask(DIGITS, ask_for_confirmation=self.world.rng.random() < 0.5)
            except ToolError as error:
                run.ends("failed")
                raise ToolError(f"{error} It is {run.result}") from None
            run.goes_on()
        return await self.world.work(run, 0.1)

    @function_tool
    async def transfer(self, n: int) -> Any:
        """Hand the call to a colleague."""
        colleague = self.world.next_agent()
        run = self._begin("transfer", n)
        said = await self.world.work(run, min(3.0, self.world.latency()))
        agent = self.world.agent(colleague)
        return (agent, said) if self.world.rng.random() < 0.5 else agent


class _Question(AgentTask[str]):
    """Asks until the model takes what the caller says for an answer."""

    def __init__(self, world: World, name: str) -> None:
        super().__init__(instructions=name)
        self.world = world

    async def on_enter(self) -> None:
        self.session.say("What would you like?")

    @function_tool
    async def give(self, n: int) -> None:
        """Give the answer."""
        if not self.done():
            self.complete(str(n))


class FatedTTS(FakeTTS):
    """A voice that fails when the world says so: at once, or after some sound."""

    def __init__(self, world: World, **options: Any) -> None:
        super().__init__(sample_rate=RATE, **options)
        self._world = world

    async def synthesize(self, text: str) -> AsyncIterator[SynthesizedAudio]:
        fate = self._world.fate("tts")
        lasts = self._world.rng.choice([0.0, 0.3, 1.0]) if fate is not None else 1e9
        given = 0.0
        async for audio in super().synthesize(text):
            if given >= lasts:
                self._world.voice_fails()
                if fate == "stalls":
                    await asyncio.get_running_loop().create_future()
                raise ProviderError("told to fail")
            given += audio.frame.duration
            yield audio
