"""One random call: a caller who speaks, pauses, coughs, hums and barges in, and what was heard of it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from antiphon import CloseEvent, CloseReason
from antiphon.adapters.fallback import FallbackLLM, FallbackSTT, FallbackTTS
from antiphon.testing import (
    Caller,
    CallerSTT,
    FakeLLM,
    FakeTTS,
    FakeTurnDetector,
    Fault,
    SimulatedCall,
    Sound,
    Timeline,
    Utterance,
    now,
    run_virtual,
)
from antiphon.testing.caller import RATE
from tests.situations.walks.world import FAILURE, FALLBACK, FatedTTS, World

VOICE_PATIENCE = 1.0
"""Seconds after which a voice that gives nothing has stalled."""
DEAF = 2.0
"""Seconds until a recogniser that died hears again."""
DELAYED = 1.0
"""Seconds from words to their final transcript, at most."""
LIMIT = 1800.0
"""Seconds of a call after which something must have gone wrong."""
HUMS = ["uh-huh", "yeah", "okay", "mm hmm"]
MAX_SILENCE = 1.5
"""The silence budget, which is the session's default."""


@dataclass(slots=True)
class Said:
    """A turn of the caller's."""

    number: int
    utterance: Utterance
    words: list[str]
    barged_in: bool

    @property
    def name(self) -> str:
        """The word that all its requests and answers are known by."""
        return f"t{self.number}"


@dataclass(slots=True)
class Walk:
    """A call that is over."""

    seed: str
    call: SimulatedCall
    world: World
    said: list[Said] = field(default_factory=list)
    noises: list[Utterance] = field(default_factory=list)
    hums: list[Utterance] = field(default_factory=list)
    deaf: list[Sound] = field(default_factory=list)
    """When a recogniser failed and there was no other: words may be lost."""
    errors: list[BaseException] = field(default_factory=list)
    """That were no provider's and no tool's."""
    has_substitutes: bool = False
    faults: int = 0
    goodbye: Literal["silence", "bye", "more"] | None = None
    """What the caller did when the agent said goodbye; None: it did not."""
    closed: float | None = None
    """When the call ended by itself."""
    rounds: list[float] = field(default_factory=list)
    """When the results of a round were in."""
    line: Timeline = field(default_factory=lambda: Timeline([], [], 0.0, 0.0))
    """Measured on the rendered sound."""

    @property
    def duration(self) -> float:
        """Seconds of the call."""
        return self.line.end - self.line.begin


def walk(seed: str) -> Walk:
    """The call of this seed, from its first sound to its last."""
    return run_virtual(_Call(seed).run(), timeout=LIMIT)


class _Call:
    def __init__(self, seed: str) -> None:
        self.rng = random.Random(seed)
        self.seed = seed

    async def run(self) -> Walk:
        """Talk for some turns, wait until all is said and done, and measure."""
        rng = self.rng
        world = World(random.Random(rng.random()))
        caller = Caller(words_per_second=rng.uniform(2.5, 4.0))
        self.stt = CallerSTT(caller, lag=rng.uniform(0.05, 0.2), delay=rng.uniform(0.05, 0.3))
        substitutes = rng.random() < 0.6
        call = SimulatedCall(
            self._llm(world, substitutes),
            caller=caller,
            stt=FallbackSTT([self.stt, CallerSTT(caller)]) if substitutes else self.stt,
            tts=self._tts(world, substitutes),
            fallback_line=FALLBACK,
            failure_line=FAILURE,
            max_silence=MAX_SILENCE,
            preemptive_generation=rng.random() < 0.5,
            turn_handling={"endpointing": {"mode": rng.choice(["fixed", "dynamic"])}},
            turn_detector=FakeTurnDetector(lambda _: rng.random()) if rng.random() < 0.3 else None,
        )
        self.walk = Walk(self.seed, call, world, has_substitutes=substitutes)
        call.session.on("error", self._error)
        call.session.on("function_tools_executed", lambda _: self.walk.rounds.append(now()))
        async with call:
            await call.start(world.agent("agent 0"))
            await self._talk()
            await self._end()
            if rng.random() < 0.4:
                await self._goodbye()
                await self._end()
        self.walk.line = Timeline.from_audio(call.audio())
        return self.walk

    def _llm(self, world: World, substitutes: bool) -> Any:
        rng = self.rng
        pace = rng.uniform(20, 200)
        llm = FakeLLM(world.answer, ttft=rng.choice([0.1, 0.3, 0.3, 0.8]), tokens_per_second=pace)
        if not substitutes:
            return llm
        return FallbackLLM([llm, FakeLLM(world.answer, ttft=0.2, tokens_per_second=pace)])

    def _tts(self, world: World, substitutes: bool) -> Any:
        voice: dict[str, Any] = {
            "ttfb": self.rng.choice([0.05, 0.05, 0.2]),
            "words": self.rng.random() < 0.5,
            "chunk": 0.2,
        }
        if not substitutes:
            return FakeTTS(sample_rate=RATE, **voice)
        voices = [FatedTTS(world, **voice), FakeTTS(sample_rate=RATE, **voice)]
        return FallbackTTS(voices, attempt_timeout=VOICE_PATIENCE, stall_timeout=VOICE_PATIENCE)

    def _error(self, event: Any) -> None:
        if event.source in ("core", "runtime", "session"):
            self.walk.errors.append(event.error)

    # -- the caller

    async def _talk(self) -> None:
        rng = self.rng
        barges_in = False
        await asyncio.sleep(rng.uniform(0.0, 2.0))
        for number in range(rng.randint(2, 15)):
            if rng.random() < 0.05:
                self._doom()
            said = self._say(number, barged_in=barges_in)
            await said.utterance
            for _ in range(rng.choice([0, 0, 0, 1, 2])):
                await self._make_a_sound()
            barges_in = rng.random() < 0.3
            if barges_in:
                await asyncio.sleep(rng.uniform(0.0, 8.0))
            else:
                await self.walk.call.settled()
                await asyncio.sleep(rng.uniform(0.0, 1.5))

    def _say(self, number: int, *, barged_in: bool) -> Said:
        """A turn of two to eight words, all its own, and in some turns a pause or two."""
        rng = self.rng
        words = [f"t{number}", *(f"w{number}x{count}" for count in range(rng.randint(1, 7)))]
        parts: list[str | float] = []
        for count, word in enumerate(words):
            if count and rng.random() < 0.06:
                parts.append(rng.uniform(0.25, 1.0))
            parts.append(word)
        utterance = self.walk.call.caller.says(*parts)
        said = Said(number, utterance, words, barged_in)
        for fault in self.stt.faults:
            if fault.at == 0.0:  # it was to hit this turn
                fault.at = rng.uniform(utterance.start, utterance.end + 0.5)
                if not self.walk.has_substitutes:
                    begin = fault.at - DELAYED  # words before it may not have been given yet
                    lasts = DEAF if fault.kind == "dies" else fault.duration
                    self.walk.deaf.append(Sound(begin, fault.at + lasts + DELAYED))
        self.walk.said.append(said)
        return said

    def _doom(self) -> None:
        """One of the providers will fail on the next turn."""
        rng, world = self.rng, self.walk.world
        fate: Any = rng.choice(["dies", "stalls"])
        self.walk.faults += 1
        match rng.choice(["llm", "tts", "stt"] if self.walk.has_substitutes else ["llm", "llm", "stt"]):
            case "llm":
                world.llm_fate = fate
            case "tts":
                world.tts_fate = fate
            case _:
                # One that has a substitute stays silent on its stream; else the rest of the call would be deaf.
                lasts = LIMIT if self.walk.has_substitutes else 6.0
                self.stt.faults.append(Fault(0.0, fate, duration=lasts))

    async def _make_a_sound(self) -> None:
        await asyncio.sleep(self.rng.uniform(0.3, 4.0))
        caller = self.walk.call.caller
        if self.rng.random() < 0.5:
            self.walk.noises.append(await caller.coughs(self.rng.uniform(0.1, 0.7)))
        else:
            self.walk.hums.append(await caller.says(self.rng.choice(HUMS)))

    async def _end(self) -> None:
        """Until nothing runs, and nothing is left to say."""
        world = self.walk.world
        while self.walk.closed is None:
            await self.walk.call.settled(quiet=0.5)
            if world.is_asking:
                await self._say(len(self.walk.said), barged_in=False).utterance
            elif not world.is_working:
                return
            await asyncio.sleep(0.2)

    # -- the end of the call

    async def _goodbye(self) -> None:
        """The agent says goodbye; the caller is silent, says it too, or has one more thing to say."""
        rng, done, world = self.rng, self.walk, self.walk.world
        world.llm_fate = world.tts_fate = None
        world.last_turn = f"t{len(done.said)}"
        done.call.session.on("close", self._closed)
        await asyncio.sleep(rng.uniform(0.0, 1.5))
        thanks = await self._say(len(done.said), barged_in=False).utterance
        begins = await self._agent_begins(thanks.end)
        if begins is None:
            return
        done.goodbye = rng.choice(["silence", "bye", "more"])
        if done.goodbye == "bye":
            await asyncio.sleep(rng.uniform(0.0, 3.0))
            await done.call.caller.says(rng.choice(["bye", "bye-bye", "thanks and bye"]))
        elif done.goodbye == "more":
            await asyncio.sleep(rng.uniform(0.0, 1.8))
            self._say(len(done.said), barged_in=True)
            return
        await asyncio.sleep(20.0)

    async def _agent_begins(self, after: float) -> float | None:
        """Wait until the agent is heard after a time; at most 15 s."""
        while now() < after + 15.0:
            begins = self.walk.call.timeline.agent_begins(after)
            if begins is not None:
                return begins
            await asyncio.sleep(0.02)
        return None

    def _closed(self, event: CloseEvent) -> None:
        if event.reason is CloseReason.TASK_COMPLETED:
            self.walk.closed = now()


def story(walk: Walk) -> str:
    """What happened, for whoever wants to know why a walk failed."""
    events: list[tuple[float, str]] = []
    events += [(said.utterance.start, f"caller: {' '.join(said.words)}") for said in walk.said]
    events += [(noise.start, f"caller coughs for {noise.end - noise.start:.2f} s") for noise in walk.noises]
    events += [(time, "            the voice fails") for time in walk.world.voice_failed]
    events += [(hum.start, f"caller: {hum.text}") for hum in walk.hums]
    events += [(sound.start, f"    agent sounds until {sound.end:.2f}") for sound in walk.line.agent]
    events += [
        (asked.at, f"        request {asked.number} to {asked.agent}: {sorted(asked.turns)} -> {asked.answer!r}")
        for asked in walk.world.asked
    ]
    for run in walk.world.runs:
        kept = ", kept" if run.kept else ""
        events.append((run.began, f"            {run.kind}({run.arguments}) -> {run.result}{kept}"))
        events.append((run.ended or walk.line.end, f"            {run.result} {run.status}"))
    return "\n".join(f"{time:8.2f} {what}" for time, what in sorted(events, key=lambda event: event[0]))


def seeds(seed: str, calls: int) -> Sequence[str]:
    """The seeds of so many calls."""
    return [f"{seed}/{number}" for number in range(calls)]
