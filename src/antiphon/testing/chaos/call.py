"""One call with faults: a caller with an errand, an honest model behind a bad provider, and tools that break.

`make_call` makes it in virtual time, in text or by voice, and gives what happened. It is the same every time.

Above: the judge, and those who look for faults. Below: sessions, and what stands in for the world around them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

from antiphon.chat import ChatItem, ChatMessage
from antiphon.events import CloseEvent, JournalEvent
from antiphon.llm import ChatRequest, FunctionToolCall
from antiphon.session import AgentSession
from antiphon.store import Row
from antiphon.testing.chaos.bench import LATE, CountingBench, Start
from antiphon.testing.chaos.clerk import OUTCOME, Clerk
from antiphon.testing.chaos.errand import NOTE, Errand, Key, World, key_of, said
from antiphon.testing.chaos.faults import Fault, Faults, Occasion
from antiphon.testing.chaos.keeping import FaultyStore
from antiphon.testing.chaos.models import ChaosLLM, Reissued, Why
from antiphon.testing.clock import run_virtual
from antiphon.testing.fakes import FakeLLM, Reply
from antiphon.testing.simulation import SimulatedCall

Medium: TypeAlias = Literal["text", "voice"]


def unknown(key: Key) -> str:
    """The word for a write of which the application was told that nobody knows what came of it."""
    return f"unknown {' '.join(key)}"


INTERRUPTION: Final = "hold on a moment"
ANSWER: Final = "yes please"
QUESTION: Final = "and what came of it"
_MOST_QUESTIONS = 8
_WAIT = 4.0
"""Seconds after which a caller asks again."""
_STEPS = 60
"""Rounds of tools that a turn may take: errands are longer than conversations."""


@dataclass(slots=True, frozen=True)
class Case:
    """What is done in a call: all that decides what happens in it."""

    errand: Errand
    faults: tuple[Fault, ...] = ()
    medium: Medium = "text"
    at_once: bool = False
    """The model makes the calls of a turn in one response."""
    stored: bool = False
    """The call is kept in a store."""

    def __str__(self) -> str:
        plan = "+".join(map(str, self.faults)) or "no-fault"
        how = [self.medium, *(["at-once"] if self.at_once else []), *(["stored"] if self.stored else [])]
        return "/".join((self.errand.name, *how, plan))


@dataclass(slots=True)
class Made:
    """What happened in a call."""

    case: Case
    world: World
    starts: list[Start] = field(default_factory=list)
    effects: list[Start] = field(default_factory=list)
    told: Counter[str] = field(default_factory=Counter)
    """How often the caller heard each outcome."""
    reported: set[str] = field(default_factory=set)
    """Outcomes that the application was told of, as the caller was not, when the call closed."""
    met: Mapping[Occasion, int] = field(default_factory=dict)
    came: tuple[Fault, ...] = ()
    reissued: tuple[Reissued, ...] = ()
    journal: list[JournalEvent] = field(default_factory=list)
    history: list[ChatItem] = field(default_factory=list)
    seconds: float = 0.0
    """Of virtual time."""
    rows: tuple[Row, ...] = ()
    """What stands in the store."""


class FaultyLLM(ChaosLLM):
    """An honest model behind a provider that makes calls again where its faults say so."""

    def __init__(self, clerk: Clerk, faults: Faults, *, ttft: float, tokens_per_second: float) -> None:
        super().__init__(FakeLLM(self._answer, ttft=ttft, tokens_per_second=tokens_per_second), seed=0)
        self.latest: ChatRequest | None = None
        """The request that was answered last."""
        self._clerk = clerk
        self._faults = faults
        self._numbers: dict[str, int] = {}
        """By id of the call: its number among those of the model itself."""

    def _answer(self, request: ChatRequest) -> Reply:
        self.latest = request
        return self._clerk(request)

    @property
    def is_open(self) -> bool:
        """The model knows of something that is to be done."""
        return self.latest is not None and self._clerk.is_open(self.latest)

    def _happens(self, why: Why, call: FunctionToolCall) -> bool:
        number = self._numbers.get(call.call_id)
        if number is None:
            if why != "twice":  # a call that was made again: that is not made again
                return False
            self._faults.meet("call")
            number = self._numbers[call.call_id] = self._faults.met["call"]
        due = self._faults.at("call", number)
        for kind in due:
            if why == _WAYS.get(kind):
                self._faults.has_come(kind, number)
                return True
        return False

    def _reworded(self, call: FunctionToolCall) -> str:
        if not any(fault.kind == "reworded" for fault in self._faults.came):
            return call.arguments
        return json.dumps({**json.loads(call.arguments), NOTE: "in other words"})


_WAYS: Final[Mapping[str, Why]] = {
    "twice": "twice",
    "retried": "retried",
    "cut": "anew",
    "repeated": "forgotten",
    "reworded": "forgotten",
}


class _Call:
    """A call while it is made."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.faults = Faults(case.faults)
        self.world = case.errand.world()
        self.store = FaultyStore(self.faults) if case.stored else None
        self.bench = CountingBench(self.world, self.faults, self.store)
        voice = case.medium == "voice"
        clerk = Clerk(case.errand, at_once=case.at_once)
        self.llm = FaultyLLM(clerk, self.faults, ttft=0.2, tokens_per_second=200.0 if voice else 1000.0)
        self.options: dict[str, Any] = {"max_tool_steps": _STEPS, "user_away_timeout": None, "store": self.store}
        self._session: AgentSession[Any] | None = None
        self._barges_in: Any = None
        self._waited_for: set[int] = set()
        self._told: list[JournalEvent] = []
        self._reported: set[str] = set()

    # -- its parts

    async def typed(self) -> Made:
        async with AgentSession[Any](llm=self.llm, **self.options) as session:
            self._listen(session, barges_in=lambda: session.submit_user_turn(INTERRUPTION))
            await session.start(self.world.agent(self.bench))

            async def say(words: str) -> None:
                session.submit_user_turn(words)
                await session.wait_for_idle()

            await self._converse(say, session)
        return await self.made(list(session.history.items))

    async def spoken(self) -> Made:
        async with SimulatedCall(self.llm, **self.options) as call:
            self._listen(call.session, barges_in=lambda: call.caller.says(INTERRUPTION))
            await call.start(self.world.agent(self.bench))

            async def say(words: str) -> None:
                await call.caller.says(words)
                await call.settled()

            await self._converse(say, call.session, call)
            session = call.session
        return await self.made(list(session.history.items))

    async def _converse(self, say: Any, session: AgentSession[Any], call: SimulatedCall | None = None) -> None:
        async def settle() -> None:
            await self._tools_ended()
            await (session.wait_for_idle() if call is None else call.settled(quiet=1.0))

        for turn in range(1, len(self.case.errand.turns) + 1):
            await say(said(turn))
            await settle()
            await self._answers(say, settle, session)
        for number in range(_MOST_QUESTIONS):
            if number > 1:
                if not self.llm.is_open:
                    break
                await asyncio.sleep(_WAIT)
            await say(QUESTION)
            await settle()
            await self._answers(say, settle, session)

    async def _answers(self, say: Any, settle: Any, session: AgentSession[Any]) -> None:
        for _ in range(_MOST_QUESTIONS):
            last = next((one for one in reversed(session.history.messages()) if one.role == "assistant"), None)
            if last is None or not (last.text_content or "").endswith("?"):  # the model asks, or the session does
                return
            await say(ANSWER)
            await settle()

    async def _tools_ended(self) -> None:
        """Until no tool works any more but those that never will end."""
        waited = 0.0
        while waited < LATE + 20.0:
            if all(start.over or start.number in self._waited_for for start in self.bench.starts):
                return
            await asyncio.sleep(1.0)
            waited += 1.0
        self._waited_for |= {start.number for start in self.bench.starts if not start.over}

    def _listen(self, session: AgentSession[Any], *, barges_in: Any) -> None:
        self._session, self._barges_in = session, barges_in
        session.on("journal", self._journal)
        session.on("close", self._closed)

    def _journal(self, event: JournalEvent) -> None:
        self._told.append(event)
        if event.command is not None or event.fact is None or self._session is None:
            return
        for kind in self.faults.meet("fact"):
            self.faults.has_come(kind, self.faults.met["fact"])
            asyncio.get_running_loop().call_soon(self._interfere, kind)

    def _interfere(self, kind: str) -> None:
        session = self._session
        if session is None or not session.is_running:
            return
        if kind == "barge-in":
            self._barges_in()
        else:
            session.interrupt()

    def _closed(self, event: CloseEvent) -> None:
        self._session = None
        for one in event.unheard:
            self._reported.update(OUTCOME.findall(one.output))
            if one.outcome == "unknown":
                self._reported.add(unknown(key_of(one.name, json.loads(one.arguments or "{}"))))

    async def made(self, history: list[ChatItem]) -> Made:
        """What happened, now that it is over."""
        said = [
            item.text_content or "" for item in history if isinstance(item, ChatMessage) and item.role == "assistant"
        ]
        return Made(
            self.case,
            self.world,
            self.bench.starts,
            self.bench.effects,
            Counter(outcome for text in said for outcome in OUTCOME.findall(text)),
            self._reported,
            dict(self.faults.met),
            tuple(self.faults.came),
            tuple(self.llm.reissued),
            self._told,
            history,
            asyncio.get_running_loop().time(),
            () if self.store is None else tuple(row for _, row in await self.store.rows()),
        )


def make_call(case: Case) -> Made:
    """Make the call, in virtual time. Raises what breaks it."""

    async def main() -> Made:
        call = _Call(case)
        with _quiet():
            return await (call.typed() if case.medium == "text" else call.spoken())

    return run_virtual(main(), timeout=24 * 3600.0)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Tools break on purpose: that is not logged."""
    logger = logging.getLogger("antiphon")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def occasions(case: Case) -> Mapping[Occasion, int]:
    """How many occasions for faults there are in a call: of one without any."""
    return make_call(replace(case, faults=())).met
