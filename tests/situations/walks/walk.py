"""One random call: a caller who speaks, pauses, coughs, hums, barges in and types, and what was heard of it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any

from antiphon import CloseEvent, CloseReason
from antiphon.adapters.fallback import FallbackLLM, FallbackSTT, FallbackTTS
from antiphon.realtime import RealtimeCapabilities
from antiphon.server.room import Room
from antiphon.stt import STTStream
from antiphon.testing import (
    Caller,
    CallerSTT,
    FakeLLM,
    FakeRealtimeModel,
    FakeTTS,
    FakeTurnDetector,
    FakeVAD,
    Fault,
    SimulatedCall,
    Sound,
    Timeline,
    Utterance,
    now,
    run_virtual,
)
from antiphon.testing.caller import RATE
from tests.situations.walks.hands import Hands
from tests.situations.walks.walked import KINDS, Kind, Said, Walk
from tests.situations.walks.world import FAILURE, FALLBACK, FatedTTS, FlakyVAD, World

VOICE_PATIENCE = 1.0
"""Seconds after which a voice that gives nothing has stalled."""
DEAF = 2.0
"""Seconds until a recogniser that died hears again."""
DELAYED = 1.0
"""Seconds from words to their final transcript, at most."""
UNHEARD = 4.0
"""Seconds around the end of a line to a model in which it may not have heard, or not have worded, what was said."""
VAD_REOPENED = 1.1
"""Seconds in which a voice detector that broke hears nothing."""
INSTANT = 0.005
"""Seconds of silence that nobody hears."""
LIMIT = 1800.0
"""Seconds of a call after which something must have gone wrong."""
HUMS = ["uh-huh", "yeah", "okay", "mm hmm"]
MAX_SILENCE = 1.5
"""The silence budget, which is the session's default."""


def walk(seed: str) -> Walk:
    """The call of this seed, from its first sound to its last."""
    return run_virtual(walking(seed), timeout=LIMIT)


async def walking(seed: str) -> Walk:
    """The same on a loop in virtual time that runs already, beside other calls perhaps."""
    return await _Call(seed).run()


class NotedSTT(CallerSTT):
    """Remembers when it was opened."""

    opened: list[float]

    def stream(self) -> STTStream:
        self.opened = [*getattr(self, "opened", ()), now()]
        return super().stream()


class _Call:
    def __init__(self, seed: str) -> None:
        self.rng = random.Random(seed)
        self.seed = seed
        self.stt: NotedSTT | None = None
        self.model: FakeRealtimeModel | None = None
        self.vad: FlakyVAD | None = None
        self._stt_fate = "dies"
        self._hung: list[float] = []
        """When the recogniser fell silent for good: it is deaf until it is opened anew."""

    async def run(self) -> Walk:
        """Talk for some turns, wait until all is said and done, and measure."""
        rng = self.rng
        kind: Kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
        world = World(random.Random(rng.random()))
        caller = Caller(words_per_second=rng.uniform(2.5, 4.0))
        self.walk = self._three_models(world, caller) if kind == "three models" else self._realtime(kind, world, caller)
        call, room = self.walk.call, Room()
        call.session.on("error", self._error)
        call.session.on("function_tools_executed", lambda _: self.walk.rounds.append(now()))
        self.hands = Hands(random.Random(rng.random()), self.walk, room)
        async with call:
            await call.start(world.agent("agent 0"), room=room)
            async with asyncio.TaskGroup() as hands:
                doing = [hands.create_task(self.hands.answer())]
                if rng.random() < 0.4:
                    doing.append(hands.create_task(self.hands.fidget()))
                await self._talk()
                for task in doing[1:]:
                    task.cancel()
                await self._end()
                doing[0].cancel()
            if rng.random() < 0.4:
                await self._goodbye()
                await self._end()
        opened = self.stt.opened if self.stt is not None else []
        for begin in self._hung:
            again = next((time for time in opened if time > begin + DELAYED), call.timeline.end)
            self.walk.deaf.append(Sound(begin, again + DELAYED))
        self.walk.line = _whole(Timeline.from_audio(call.audio()))
        return self.walk

    def _three_models(self, world: World, caller: Caller) -> Walk:
        rng = self.rng
        self.stt = NotedSTT(caller, lag=rng.uniform(0.05, 0.2), delay=rng.uniform(0.05, 0.3))
        self.vad = FlakyVAD()
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
            vad=self.vad,
        )
        return Walk(self.seed, "three models", call, world, has_substitutes=substitutes)

    def _realtime(self, kind: Kind, world: World, caller: Caller) -> Walk:
        rng = self.rng
        takes_turns = kind == "realtime, its turns"
        model = self.model = FakeRealtimeModel(
            world.answer_aloud,
            hears=caller,
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
        has_voice = rng.random() < 0.6
        call = SimulatedCall(
            model,
            caller=caller,
            tts=FakeTTS(sample_rate=RATE, ttfb=0.05) if has_voice else None,
            vad=FakeVAD() if not takes_turns or rng.random() < 0.5 else None,
            fallback_line=FALLBACK,
            failure_line=FAILURE,
            max_silence=MAX_SILENCE,
        )
        return Walk(self.seed, kind, call, world, has_voice=has_voice)

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
        for _ in range(rng.randint(2, 15)):
            if rng.random() < 0.05:
                self._doom()
            await self._say(barged_in=barges_in)
            for _ in range(rng.choice([0, 0, 0, 1, 2])):
                await self._make_a_sound()
            barges_in = rng.random() < 0.3
            if barges_in:
                await asyncio.sleep(rng.uniform(0.0, 8.0))
            else:
                await self.walk.call.settled()
                await asyncio.sleep(rng.uniform(0.0, 1.5))

    def _say(self, *, barged_in: bool = False, pauses: bool = True) -> Utterance:
        """A turn, in which there may be a pause or two."""
        rng, walk = self.rng, self.walk
        words = walk.next_turn(rng)
        # Where nobody knows the words, a single one over the agent is too short to be more than a noise.
        shortest = 2 if walk.kind == "realtime, our turns" else 1
        parts: list[str | float] = []
        for count, word in enumerate(words):
            if pauses and shortest <= count <= len(words) - shortest and rng.random() < 0.06:
                parts.append(rng.uniform(0.25, 1.0))
            parts.append(word)
        utterance = walk.call.caller.says(*parts)
        walk.said.append(Said(len(walk.said), words, "spoken", utterance.start, utterance.end, barged_in))
        for fault in self.stt.faults if self.stt is not None else ():
            if fault.at == 0.0:  # it was to hit this turn
                fault.at = rng.uniform(utterance.start, utterance.end + 0.5)
                if not walk.has_substitutes:
                    begin = fault.at - DELAYED  # words before it may not have been given yet
                    if self._stt_fate == "hangs":
                        self._hung.append(begin)
                    else:
                        lasts = DEAF if self._stt_fate == "dies" else fault.duration
                        walk.deaf.append(Sound(begin, max(fault.at, utterance.end) + lasts + DELAYED))
        return utterance

    def _doom(self) -> None:
        """One of the providers will fail on the next turn."""
        rng, world = self.rng, self.walk.world
        fate: Any = rng.choice(["dies", "stalls"])
        self.walk.faults += 1
        if self.stt is None:
            self._doom_realtime(fate)
            return
        match rng.choice(["llm", "tts", "stt", "vad"] if self.walk.has_substitutes else ["llm", "llm", "stt", "vad"]):
            case "vad":
                assert self.vad is not None
                self.vad.breaks_at = at = now() + rng.uniform(0.0, 3.0)
                self.walk.deaf.append(Sound(at - DELAYED, at + VAD_REOPENED + DELAYED))
            case "llm":
                world.llm_fate = fate
            case "tts":
                world.tts_fate = fate
            case _:
                # One that hangs for good is opened anew by the session, or gives way to its substitute.
                self._stt_fate = fate if self.walk.has_substitutes else rng.choice(["dies", "stalls", "hangs"])
                lasts = LIMIT if self.walk.has_substitutes or self._stt_fate == "hangs" else 6.0
                self.stt.faults.append(Fault(0.0, "dies" if self._stt_fate == "dies" else "stalls", duration=lasts))

    def _doom_realtime(self, fate: Any) -> None:
        assert self.model is not None
        sessions = [session for session in self.model.sessions if not session.closed]
        if self.rng.random() < 0.5 or not sessions:
            self.walk.world.llm_fate = fate
        else:
            sessions[-1].hang_up()
            self.walk.deaf.append(Sound(now() - UNHEARD, now() + UNHEARD))

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
                await self._say()
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
        thanks = await self._say(pauses=False)  # who goes on after a pause may have more to say
        begins = await self._agent_begins(thanks.end)
        if begins is None:
            return
        done.goodbye = rng.choice(["silence", "bye", "more"])
        if done.goodbye == "bye":
            await asyncio.sleep(rng.uniform(0.0, 3.0))
            await done.call.caller.says(rng.choice(["bye", "bye-bye", "thanks and bye"]))
        elif done.goodbye == "more":
            await asyncio.sleep(rng.uniform(0.0, 1.8))
            if rng.random() < 0.3:
                self.hands.type()
            else:
                self._say(barged_in=True)
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


def _whole(line: Timeline) -> Timeline:
    """Without the instants in which a voice crosses zero."""
    agent: list[Sound] = []
    for sound in line.agent:
        if agent and sound.start - agent[-1].end < INSTANT:
            agent[-1] = Sound(agent[-1].start, sound.end)
        else:
            agent.append(sound)
    return Timeline(line.caller, agent, line.begin, line.end)


def seeds(seed: str, calls: int) -> Sequence[str]:
    """The seeds of so many calls."""
    return [f"{seed}/{number}" for number in range(calls)]
