"""Random walks: whole calls in which anything may happen at any instant, the same for the same seed.

Above: `checks`, and `many` of them. Below: the caller, what they talk to, and what fails.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Any, Literal, TypeAlias

from antiphon.adapters.fallback import FallbackLLM, FallbackSTT, FallbackTTS
from antiphon.errors import ContextOverflow
from antiphon.events import CloseEvent, CloseReason
from antiphon.metrics import TurnMetrics
from antiphon.options import AwayLadder, ContextBudget
from antiphon.realtime import RealtimeCapabilities
from antiphon.server.room import Room
from antiphon.sim.caller import RandomCaller
from antiphon.sim.caller_log import CallerLog
from antiphon.sim.faults import FailingSTT, FailingVAD, Faults
from antiphon.sim.hands import Hands
from antiphon.sim.world import DIGITS, FAILURE, FALLBACK, FatedTTS, World
from antiphon.testing import (
    Caller,
    CallerSTT,
    FakeLLM,
    FakeRealtimeModel,
    FakeTTS,
    FakeTurnDetector,
    FakeVAD,
    SimulatedCall,
    Sound,
    Timeline,
    now,
    run_virtual,
)
from antiphon.testing.caller import RATE

Kind: TypeAlias = Literal["three models", "realtime, its turns", "realtime, our turns"]
"""Who hears, thinks and speaks; in the last two one model does, and it or the session ends the caller's turns."""

KINDS: dict[Kind, float] = {"three models": 0.5, "realtime, its turns": 0.25, "realtime, our turns": 0.25}
"""With how often each is."""

Goodbye: TypeAlias = Literal["silence", "bye", "more"]
"""What the caller does when the agent says goodbye."""

VOICE_PATIENCE = 1.0
"""Seconds after which a voice that gives nothing has stalled."""
INSTANT = 0.005
"""Seconds of silence that nobody hears."""
LIMIT = 1800.0
"""Seconds of a call after which something must have gone wrong."""
SHORT_MEMORY = 0.2
"""How often the model can read so little that the talk is trimmed."""
AWAY = AwayLadder(ask_after=20.0)
"""Long enough that a caller who only thinks is left in peace."""
MAX_SILENCE = 1.5
"""The silence budget, which is the session's default."""


@dataclass(slots=True, frozen=True)
class Walk:
    """A call that is over: what was said and done in it, what went wrong, and the sound of it."""

    seed: str
    kind: Kind
    call: SimulatedCall
    world: World
    log: CallerLog
    line: Timeline
    """Measured on the rendered sound."""
    deaf: Sequence[Sound]
    """When a recogniser failed and there was no other: words may be lost."""
    misheard: Sequence[Sound]
    """When it gave finals without words: they are lost, and the caller is told."""
    errors: Sequence[BaseException]
    """That were no provider's and no tool's."""
    rounds: Sequence[float]
    """When the results of a round were in."""
    replies: Sequence[TurnMetrics]
    """What each took."""
    faults: int
    has_voice: bool
    """There is a voice besides the model's own: without one nothing bridges a wait."""
    falls_silent: bool
    """In the end the caller says nothing more, where somebody asks for them (`AwayLadder`)."""
    goodbye: Goodbye | None
    """What the caller did when the agent said goodbye; None: it did not."""
    closed: float | None
    """When the call ended by itself."""

    @property
    def duration(self) -> float:
        """Seconds of the call."""
        return self.line.end - self.line.begin


def walk(seed: str) -> Walk:
    """The call of this seed, from its first sound to its last."""
    return run_virtual(walking(seed), timeout=LIMIT)


async def walking(seed: str) -> Walk:
    """The same on a loop in virtual time that runs already, beside other calls perhaps."""
    return await _Call(seed).run()


def seeds(seed: str, calls: int, kinds: Collection[Kind] = tuple(KINDS)) -> Sequence[str]:
    """The seeds of so many calls, all of these kinds."""
    numbered = (f"{seed}/{number}" for number in count())
    return list(islice((one for one in numbered if _kind(random.Random(one)) in kinds), calls))


def _kind(rng: random.Random) -> Kind:
    return rng.choices(list(KINDS), list(KINDS.values()))[0]


def story(walk: Walk) -> str:
    """What happened, for whoever wants to know why a walk failed."""
    log = walk.log
    events: list[tuple[float, str]] = [(walk.line.begin, f"{walk.kind}")]
    events += [(said.start, f"caller, {said.way}: {' '.join(said.words)}") for said in log.said]
    events += [(time, f"caller presses {key}") for time, key, _ in log.keys]
    events += [(noise.start, f"caller coughs for {noise.end - noise.start:.2f} s") for noise in log.noises]
    events += [(time, "            the voice fails") for time in walk.world.voice_failed]
    events += [(hum.start, f"caller: {hum.text}") for hum in log.hums]
    events += [(sound.start, f"    agent sounds until {sound.end:.2f}") for sound in walk.line.agent]
    events += [
        (asked.at, f"        request {asked.number} to {asked.agent[:20]}: {sorted(asked.turns)} -> {asked.answer!r}")
        for asked in walk.world.asked
    ]
    for run in walk.world.runs:
        kept = ", kept" if run.kept else ""
        events.append((run.began, f"            {run.kind}({run.arguments}) -> {run.result}{kept}"))
        events.append((run.ended or walk.line.end, f"            {run.result} {run.status}"))
    return "\n".join(f"{time:8.2f} {what}" for time, what in sorted(events, key=lambda event: event[0]))


class _Call:
    def __init__(self, seed: str) -> None:
        rng = self._rng = random.Random(seed)
        self._seed = seed
        self._kind = _kind(rng)  # the first that is drawn: `seeds` knows it
        self._world = World(random.Random(rng.random()))
        self._caller = Caller(words_per_second=rng.uniform(2.5, 4.0))
        self._has_voice = True
        self._falls_silent = random.Random(f"{seed}, silent in the end?").random() < 0.15  # drawn aside
        self._window, self._budget = _limits(random.Random(f"{seed} window"))
        self._call, self._faults = self._three_models() if self._kind == "three models" else self._realtime()
        self._log = CallerLog()
        self._voice = RandomCaller(
            self._call,
            rng,
            log=self._log,
            # Where nobody knows the words, a single one over the agent is too short to be more than a noise.
            shortest_part=2 if self._kind == "realtime, our turns" else 1,
            before_turn=self._faults.perhaps,
            after_turn=self._faults.turn_begun,
        )
        self._errors: list[BaseException] = []
        self._rounds: list[float] = []
        self._replies: list[TurnMetrics] = []
        self._goodbye: Goodbye | None = None
        self._closed: float | None = None

    async def run(self) -> Walk:
        """Talk for some turns, wait until all is said and done, and measure."""
        rng, call, world, room = self._rng, self._call, self._world, Room()
        call.session.on("error", self._on_error)
        call.session.on("function_tools_executed", lambda _: self._rounds.append(now()))
        call.session.on("turn_metrics", lambda event: self._replies.append(event.metrics))
        hands = Hands(
            call,
            room,
            random.Random(rng.random()),
            self._log,
            {"while a tool runs": lambda: world.is_working, "in a hand-off": lambda: world.is_handing_off(within=0.5)},
        )
        async with call:
            await call.start(world.agent("agent 0"), room=room)
            async with asyncio.TaskGroup() as tasks:
                codes = tasks.create_task(hands.enter_codes(DIGITS, lambda: world.is_asking_for_keys))
                fidgeting = tasks.create_task(hands.fidget()) if rng.random() < 0.4 else None
                await self._voice.talk()
                if fidgeting is not None:
                    fidgeting.cancel()
                await self._end()
                codes.cancel()
            if self._falls_silent:
                await self._fall_silent()
            elif rng.random() < 0.4:
                await self._say_goodbye(hands)
                await self._end()
                call.session.off("close", self._on_close)  # what the walk itself ends was ended by no goodbye
        return Walk(
            seed=self._seed,
            kind=self._kind,
            call=call,
            world=world,
            log=self._log,
            line=_whole(Timeline.from_audio(call.audio())),
            deaf=self._faults.ended(call.timeline.end),
            misheard=self._faults.misheard,
            errors=self._errors,
            rounds=self._rounds,
            replies=self._replies,
            faults=self._faults.count,
            has_voice=self._has_voice,
            falls_silent=self._falls_silent,
            goodbye=self._goodbye,
            closed=self._closed,
        )

    # -- the providers

    def _three_models(self) -> tuple[SimulatedCall, Faults]:
        rng, world, caller = self._rng, self._world, self._caller
        stt = FailingSTT(caller, lag=rng.uniform(0.05, 0.2), delay=rng.uniform(0.05, 0.3))
        vad = FailingVAD()
        substitutes = rng.random() < 0.6
        call = SimulatedCall(
            self._llm(substitutes),
            caller=caller,
            stt=FallbackSTT([stt, CallerSTT(caller)]) if substitutes else stt,
            tts=self._tts(substitutes),
            away_ladder=AWAY if self._falls_silent else None,
            fallback_line=FALLBACK,
            failure_line=FAILURE,
            max_silence=MAX_SILENCE,
            preemptive_generation=rng.random() < 0.5,
            turn_handling={"endpointing": {"mode": rng.choice(["fixed", "dynamic"])}},
            turn_detector=FakeTurnDetector(lambda _: rng.random()) if rng.random() < 0.3 else None,
            vad=vad,
            context_budget=self._budget,
        )
        return call, Faults(rng, world, stt=stt, vad=vad, has_substitutes=substitutes)

    def _realtime(self) -> tuple[SimulatedCall, Faults]:
        rng, world = self._rng, self._world
        takes_turns = self._kind == "realtime, its turns"
        model = FakeRealtimeModel(
            world.answer_aloud,
            hears=self._caller,
            capabilities=RealtimeCapabilities(
                turn_detection=takes_turns,
                auto_reply=takes_turns and rng.random() < 0.7,
                auto_tool_reply_generation=rng.random() < 0.3,
            ),
            ttft=rng.choice([0.1, 0.3, 0.8]),
            speed=rng.uniform(2.0, 10.0),
            silence=rng.uniform(0.4, 0.8),
            delay=rng.choice([0.1, 0.3, 1.5]),
            stubborn=rng.random() < 0.2,
        )
        self._has_voice = rng.random() < 0.6
        call = SimulatedCall(
            model,
            caller=self._caller,
            tts=FakeTTS(sample_rate=RATE, ttfb=0.05) if self._has_voice else None,
            vad=FakeVAD() if not takes_turns or rng.random() < 0.5 else None,
            away_ladder=AWAY if self._falls_silent else None,
            fallback_line=FALLBACK,
            failure_line=FAILURE,
            max_silence=MAX_SILENCE,
        )
        return call, Faults(rng, world, model=model)

    def _llm(self, substitutes: bool) -> FakeLLM | FallbackLLM:
        rng, answer = self._rng, self._world.answer
        pace, window = rng.uniform(20, 200), self._window
        llm = FakeLLM(answer, ttft=rng.choice([0.1, 0.3, 0.3, 0.8]), tokens_per_second=pace, context_window=window)
        if not substitutes:
            return llm
        return FallbackLLM([llm, FakeLLM(answer, ttft=0.2, tokens_per_second=pace, context_window=window)])

    def _tts(self, substitutes: bool) -> FakeTTS | FallbackTTS:
        voice: dict[str, Any] = {
            "ttfb": self._rng.choice([0.05, 0.05, 0.2]),
            "words": self._rng.random() < 0.5,
            "chunk": 0.2,
        }
        if not substitutes:
            return FakeTTS(sample_rate=RATE, **voice)
        voices = [FatedTTS(self._world, **voice), FakeTTS(sample_rate=RATE, **voice)]
        return FallbackTTS(voices, attempt_timeout=VOICE_PATIENCE, stall_timeout=VOICE_PATIENCE)

    # -- the end of the call

    async def _end(self) -> None:
        """Until nothing runs, and nothing is left to say."""
        while self._closed is None:
            await self._call.settled(quiet=0.5)
            if self._world.is_asking:
                await self._voice.say()
            elif not self._world.is_working:
                return
            await asyncio.sleep(0.2)

    async def _fall_silent(self) -> None:
        """The caller is gone: there is nothing to hear of them."""
        self._call.session.on("close", self._on_close)
        await asyncio.sleep(AWAY.ask_after + AWAY.again_after + AWAY.goodbye_after + 30.0)

    async def _say_goodbye(self, hands: Hands) -> None:
        """The agent says goodbye; the caller is silent, says it too, or has one more thing to say."""
        rng = self._rng
        self._world.ends_at(f"t{len(self._log.said)}")
        self._call.session.on("close", self._on_close)
        await asyncio.sleep(rng.uniform(0.0, 1.5))
        thanks = await self._voice.say(pauses=False)  # who goes on after a pause may have more to say
        if not await self._agent_begins(thanks.end):
            return
        goodbyes: list[Goodbye] = ["silence", "bye", "more"]
        self._goodbye = goodbye = rng.choice(goodbyes)
        if goodbye == "bye":
            await asyncio.sleep(rng.uniform(0.0, 3.0))
            await self._caller.says(rng.choice(["bye", "bye-bye", "thanks and bye"]))
        elif goodbye == "more":
            await asyncio.sleep(rng.uniform(0.0, 1.8))
            if rng.random() < 0.3:
                hands.type()
            else:
                self._voice.say(barged_in=True)
            return
        await asyncio.sleep(20.0)

    async def _agent_begins(self, after: float) -> bool:
        """Wait until the agent is heard after a time, at most 15 s. Whether it was."""
        while now() < after + 15.0:
            if self._call.timeline.agent_begins(after) is not None:
                return True
            await asyncio.sleep(0.02)
        return False

    def _on_close(self, event: CloseEvent) -> None:
        if event.reason in (CloseReason.USER_INITIATED, CloseReason.USER_AWAY):
            self._closed = now()

    def _on_error(self, event: Any) -> None:
        if event.source in ("core", "runtime", "session") or isinstance(event.error, ContextOverflow):
            self._errors.append(event.error)


def _limits(rng: random.Random) -> tuple[int | None, ContextBudget]:
    """How much the model can read, if it is little; and how much of the talk requests carry."""
    if rng.random() > SHORT_MEMORY:
        return None, ContextBudget()
    budget = ContextBudget(max_tokens=rng.choice([150, 400, 32_000]), keep_turns=rng.choice([1, 3]))
    return rng.choice([700, 900]), replace(budget, summarise=rng.random() < 0.7)


def _whole(line: Timeline) -> Timeline:
    """Without the instants in which a voice crosses zero."""
    agent: list[Sound] = []
    for sound in line.agent:
        if agent and sound.start - agent[-1].end < INSTANT:
            agent[-1] = Sound(agent[-1].start, sound.end)
        else:
            agent.append(sound)
    return Timeline(line.caller, agent, line.begin, line.end)
