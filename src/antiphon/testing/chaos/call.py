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
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

from antiphon.agent import Agent
from antiphon.chat import ChatItem, ChatMessage, Clock
from antiphon.events import CloseEvent, JournalEvent
from antiphon.llm import ChatRequest, FunctionToolCall
from antiphon.store import PendingOnLoop, Row, RowState
from antiphon.stores.memory import MemoryStore
from antiphon.testing.chaos.bench import LATE, CountingBench, Start
from antiphon.testing.chaos.clerk import OUTCOME, Clerk
from antiphon.testing.chaos.errand import NOTE, Errand, Key, World, heard, key_of, said
from antiphon.testing.chaos.faults import KILLS, Fault, Faults, Kind, Occasion
from antiphon.testing.chaos.keeping import FaultyStore
from antiphon.testing.chaos.lives import Life, OfOneProcess, taken_over
from antiphon.testing.chaos.models import ChaosLLM, Reissued, Why
from antiphon.testing.clock import run_virtual
from antiphon.testing.fakes import FakeLLM, Reply

Medium: TypeAlias = Literal["text", "voice"]


def unknown(key: Key) -> str:
    """The word for a write of which the application was told that nobody knows what came of it, or did for a while."""
    return f"unknown {' '.join(key)}"


INTERRUPTION: Final = "hold on a moment"
ANSWER: Final = "yes please"
QUESTION: Final = "and what came of it"
_MOST_QUESTIONS = 8
_WAIT = 4.0
"""Seconds after which a caller asks again."""
_LOOK = 0.1
_SETTLED = (RowState.SUCCEEDED, RowState.FAILED)
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
        self.is_mortal = case.stored and any(fault.kind in KILLS for fault in case.faults)
        self._kept = MemoryStore(Clock.wall)
        store = FaultyStore(self.faults, self._kept, killed=self._is_killed, froze=self._is_frozen)
        self.store = store if case.stored else None
        clerk = Clerk(case.errand, at_once=case.at_once)
        self.by_voice = case.medium == "voice"
        speed = 200.0 if self.by_voice else 1000.0
        self.llm = FaultyLLM(clerk, self.faults, ttft=0.2, tokens_per_second=speed)
        self.options: dict[str, Any] = {"max_tool_steps": _STEPS, "user_away_timeout": None}
        self.lives: list[Life] = []
        """The processes that held the call. The last one holds it."""
        self._succession: asyncio.Task[None] | None = None
        self._is_over = False
        self._waited_for: set[int] = set()
        self._told: list[JournalEvent] = []
        self._reported: set[str] = set()

    # -- its processes

    @property
    def life(self) -> Life:
        """The process that holds it."""
        return self.lives[-1]

    async def whole(self) -> Made:
        """From its beginning to its end."""
        try:
            await self._new_life().begin(self._agent())
            await self._converse()
            self._is_over = True
            await self.life.aclose()
        finally:
            self._is_over = True
            if self._succession is not None:
                await asyncio.gather(self._succession, return_exceptions=True)
            for life in self.lives:
                await life.aclose()
        return await self.made(list(self.life.session.history.items))

    def _agent(self) -> Agent:
        return self.world.agent(self.life.bench)

    def _new_life(self, *, older: bool = False) -> Life:
        store = None if self.store is None else OfOneProcess(self.store, len(self.lives), older=older)
        before = self.lives[-1].bench if self.lives else None
        bench = CountingBench(self.world, self.faults, self.store, killed=self._is_killed, before=before)
        life = Life(self.llm, bench, store, by_voice=self.by_voice, options=self.options)
        life.listen(self._journal, self._closed)
        self._told = []
        self.lives.append(life)
        return life

    def _is_killed(self, *, older: bool = False) -> None:
        if self._may_end:
            self.life.dies()
            self._succession = asyncio.create_task(self._goes_on(self.life, older=older))

    def _is_frozen(self, until: PendingOnLoop) -> None:
        if self._may_end:
            self.life.freezes()
            self._succession = asyncio.create_task(self._goes_on(self.life, froze=until))
        else:
            until.set_result(None)

    @property
    def _may_end(self) -> bool:
        return self.is_mortal and not self._is_over and not self.life.is_over.is_set()

    async def _goes_on(self, life: Life, *, older: bool = False, froze: PendingOnLoop | None = None) -> None:
        store, call_id = self.store, life.session.call_id
        assert store is not None, "only calls that are kept go on elsewhere"

        settled: set[str] = set()

        async def successor() -> None:
            self._kept.lose(call_id)
            settled.update(row.call_id for _, row in await store.rows() if row.state in _SETTLED)
            life.bench.forgets(settled)
            await self._new_life(older=older).resume(call_id, self._agent())

        await taken_over(life, successor, froze)
        life.bench.forgets(settled)  # a frozen one has gone on with what it was at
        await life.aclose()

    async def _lives_through(self, work: Callable[[Life], Awaitable[None]]) -> None:
        """Do it, with the process that holds the call. If that ends meanwhile, wait until the next one has settled."""
        while True:
            life = self.life
            if not self.is_mortal:
                await work(life)
                return
            tasks = [asyncio.ensure_future(work(life)), asyncio.ensure_future(life.is_over.wait())]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if not life.is_over.is_set():
                tasks[1].cancel()
                await tasks[0]
                return
            tasks[0].cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            while self.life is life or not self.life.session.is_running:
                assert self._succession is not None
                if self._succession.done():
                    self._succession.result()
                    raise RuntimeError("the call was not taken up")
                await asyncio.sleep(_LOOK)
            work = Life.settled

    # -- its caller

    async def _converse(self) -> None:
        for turn in range(1, len(self.case.errand.turns) + 1):
            await self._say(said(turn))
            for _ in range(len(self.lives) - 1):
                if not self._is_known(turn):
                    await self._say(said(turn))  # the line broke before anybody had written it down
            await self._settle()
            await self._answers()
        for number in range(_MOST_QUESTIONS):
            if number > 1:
                if not self.llm.is_open:
                    break
                await asyncio.sleep(_WAIT)
            await self._say(QUESTION)
            await self._settle()
            await self._answers()

    async def _say(self, words: str) -> None:
        await self._lives_through(lambda life: life.says(words))

    async def _settle(self) -> None:
        await self._tools_ended()
        await self._lives_through(Life.settled)

    def _is_known(self, turn: int) -> bool:
        said = self.life.session.history.messages()
        return any(turn in heard(one.text_content or "") for one in said if one.role == "user")

    async def _answers(self) -> None:
        for _ in range(_MOST_QUESTIONS):
            messages = reversed(self.life.session.history.messages())
            last = next((one for one in messages if one.role == "assistant"), None)
            if last is None or not (last.text_content or "").endswith("?"):  # the model asks, or the session does
                return
            await self._say(ANSWER)
            await self._settle()

    async def _tools_ended(self) -> None:
        """Until no tool works any more but those that never will end."""
        waited = 0.0
        while waited < LATE + 20.0:
            starts = self.life.bench.starts
            if all(start.over or start.number in self._waited_for for start in starts):
                return
            await asyncio.sleep(1.0)
            waited += 1.0
        self._waited_for |= {start.number for start in self.life.bench.starts if not start.over}

    # -- what happens in it

    def _journal(self, event: JournalEvent) -> None:
        self._told.append(event)
        if event.command is not None or event.fact is None:
            return
        for kind in self.faults.meet("fact"):
            self.faults.has_come(kind, self.faults.met["fact"])
            asyncio.get_running_loop().call_soon(self._interfere, kind)

    def _interfere(self, kind: Kind) -> None:
        if kind in KILLS:
            self._is_killed(older=kind == "upgraded")
            return
        life = self.life
        if life.is_over.is_set() or not life.session.is_running:
            return
        if kind == "barge-in":
            life.hears(INTERRUPTION)
        else:
            life.session.interrupt()

    def _closed(self, event: CloseEvent) -> None:
        for one in event.unheard:
            self._reported.update(OUTCOME.findall(one.output))
            if one.outcome != "done":
                self._reported.add(unknown(key_of(one.name, json.loads(one.arguments or "{}"))))

    async def made(self, history: list[ChatItem]) -> Made:
        """What happened, now that it is over."""
        said = [
            item.text_content or "" for item in history if isinstance(item, ChatMessage) and item.role == "assistant"
        ]
        return Made(
            self.case,
            self.world,
            self.life.bench.starts,
            self.life.bench.effects,
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
            return await call.whole()

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
