"""Dialogues with the stream: sound and marks go in, and the runs of a scripted engine decide what comes out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import numpy as np
import pytest

from antiphon.adapters.stream import LoudnessWatch, StreamAdapter, StreamOptions, Tape, UtteranceStream
from antiphon.audio import AudioFrame
from antiphon.errors import ProviderError
from antiphon.stt import SpeechEventType
from antiphon.vad import SpeechEnded, SpeechStarted

RATE = 16000
FRAME = 0.02


class Engine:
    """A recogniser whose text is the length of what it was given, and which takes as long as the test wants."""

    def __init__(self, *, held: bool = False, deaf_below: float = 0.0, script: Sequence[str] | None = None) -> None:
        self._script = script
        """What it understands in its first runs, and nothing after them; None for the length."""
        self._deaf_below = deaf_below
        """Seconds; of less sound it understands nothing."""
        self.given: list[float] = []
        """Seconds of each run."""
        self.abandoned = 0
        self._free = asyncio.Event()
        if not held:
            self._free.set()

    def release(self) -> None:
        """Let the run that is going on, and all later ones, finish."""
        self._free.set()

    async def recognize(self, audio: AudioFrame) -> str:
        self.given.append(round(audio.duration, 2))
        try:
            await self._free.wait()
        except asyncio.CancelledError:
            self.abandoned += 1
            raise
        if self._script is not None:
            return self._script[len(self.given) - 1] if len(self.given) <= len(self._script) else ""
        return f"{audio.duration:.2f}" if audio.duration >= self._deaf_below else ""


class Call:
    """A stream with somebody who speaks into it and somebody who reads."""

    def __init__(self, engine: Engine, options: StreamOptions | None = None) -> None:
        self.stream = StreamAdapter(engine, options or StreamOptions(pre_roll=0.3)).stream()
        self.interims: list[str] = []
        self.finals: list[str] = []
        self.now = 0.0

    async def read(self) -> None:
        async for event in self.stream:
            kept = self.finals if event.type is SpeechEventType.FINAL_TRANSCRIPT else self.interims
            kept.append(event.text)

    async def sound(self, seconds: float, level: float) -> None:
        """Noise of this level; the reader is given the chance to run after each frame."""
        rng = np.random.default_rng(1)
        for _ in range(round(seconds / FRAME)):
            samples = rng.uniform(-level, level, round(FRAME * RATE)).astype(np.float32)
            self.stream.push(AudioFrame.from_float32(samples, RATE))
            self.now += FRAME
            await settle()

    async def silence(self, seconds: float) -> None:
        await self.sound(seconds, 0.0)

    async def start(self, at: float) -> None:
        self.stream.mark(SpeechStarted(at))
        await settle()

    async def end(self, at: float) -> None:
        self.stream.mark(SpeechEnded(at))
        await settle()

    async def speak(self, seconds: float) -> float:
        """Speech, marked as detectors do: begin 0.1 s late, end not at all. Returns when the voice ended."""
        began = self.now
        await self.sound(0.1, 0.3)
        await self.start(began)
        await self.sound(seconds - 0.1, 0.3)
        return self.now


async def settle() -> None:
    """Let everything that can go on do so."""
    for _ in range(12):
        await asyncio.sleep(0)


def play(
    dialogue: Callable[[Call], Awaitable[None]],
    *,
    held: bool = False,
    deaf_below: float = 0.0,
    script: Sequence[str] | None = None,
    options: StreamOptions | None = None,
) -> tuple[Call, Engine]:
    async def main() -> tuple[Call, Engine]:
        engine = Engine(held=held, deaf_below=deaf_below, script=script)
        call = Call(engine, options)
        async with call.stream, asyncio.timeout(5), asyncio.TaskGroup() as tasks:
            tasks.create_task(call.read())
            await dialogue(call)
            engine.release()
            call.stream.end_input()
        return call, engine

    return asyncio.run(main())


def test_the_final_transcript_is_ready_when_speech_ends() -> None:
    async def dialogue(call: Call) -> None:
        await call.silence(1.0)
        ended = await call.speak(1.0)
        await call.silence(0.24)
        runs = len(engine_of(call).given)
        await call.end(ended)
        assert len(call.finals) == 1
        assert len(engine_of(call).given) == runs

    call, _ = play(dialogue)
    assert call.finals == ["1.36"]  # 0.3 s before the voice, 1 s of voice, 0.06 s of the pause


def engine_of(call: Call) -> Engine:
    """The engine behind the call's stream."""
    assert isinstance(call.stream, UtteranceStream)
    assert isinstance(call.stream.recognizer, Engine)
    return call.stream.recognizer


@pytest.mark.parametrize(("first", "final"), [("half past four", "half past four"), ("you", "")])
def test_words_once_understood_are_not_unsaid_by_a_run_that_understands_nothing(first: str, final: str) -> None:
    async def dialogue(call: Call) -> None:
        await call.silence(1.0)
        ended = await call.speak(0.3)
        await call.silence(0.24)
        await call.end(ended)

    call, _ = play(dialogue, script=[first])
    assert call.interims[0] == first
    assert call.finals == [final]


def test_interim_transcripts_come_while_somebody_speaks() -> None:
    async def dialogue(call: Call) -> None:
        await call.silence(1.0)
        await call.speak(1.5)
        assert [float(text) for text in call.interims] == pytest.approx([0.4, 0.8, 1.2, 1.6], abs=0.1)
        assert call.finals == []

    play(dialogue)


def test_the_engine_is_run_more_often_until_it_understands_something() -> None:
    async def dialogue(call: Call) -> None:
        await call.silence(1.0)
        await call.speak(1.5)

    call, engine = play(dialogue, deaf_below=0.7)
    assert engine.given[:4] == pytest.approx([0.4, 0.6, 0.8, 1.2], abs=0.1)
    assert float(call.interims[0]) == pytest.approx(0.8, abs=0.1)


def test_a_slow_engine_is_run_once_at_a_time_on_the_latest_sound() -> None:
    async def dialogue(call: Call) -> None:
        await call.silence(1.0)
        await call.speak(2.0)
        assert engine_of(call).given == [pytest.approx(0.4, abs=0.03)]
        engine_of(call).release()
        await settle()
        assert engine_of(call).given[1:] == [2.3]

    play(dialogue, held=True)


def test_a_run_that_misses_the_end_of_the_voice_is_given_up() -> None:
    async def dialogue(call: Call) -> None:
        await call.silence(1.0)
        ended = await call.speak(1.0)
        await call.end(ended)
        assert engine_of(call).abandoned == 1

    call, _ = play(dialogue, held=True)
    assert call.finals == ["1.30"]


def test_speech_that_goes_on_after_a_short_pause_stays_one_utterance() -> None:
    async def dialogue(call: Call) -> None:
        await call.silence(1.0)
        await call.speak(1.0)
        await call.silence(0.16)
        await call.sound(1.0, 0.3)
        ended = call.now
        await call.silence(0.24)
        await call.end(ended)

    call, _ = play(dialogue)
    assert call.finals == ["2.52"]
    assert "1.36" in call.interims  # the pause was taken for the end, in vain


def test_every_end_of_speech_is_answered_by_one_final_transcript_in_order() -> None:
    async def dialogue(call: Call) -> None:
        for seconds in (1.0, 2.0, 0.5):
            await call.silence(1.0)
            ended = await call.speak(seconds)
            await call.silence(0.24)
            await call.end(ended)

    call, _ = play(dialogue, held=True)
    assert [round(float(text), 1) for text in call.finals] == [1.4, 2.4, 0.9]


def test_utterances_that_follow_each_other_closely_share_the_silence_between_them_but_no_word() -> None:
    async def dialogue(call: Call) -> None:
        await call.silence(1.0)
        ended = await call.speak(1.0)
        await call.silence(0.24)
        await call.end(ended)
        again = await call.speak(1.0)
        await call.silence(0.24)
        await call.end(again)

    call, _ = play(dialogue)
    # The first hears 0.06 s of the pause of 0.24 s; the second all but the 0.06 s in which the first voice faded.
    assert call.finals == ["1.36", "1.24"]


def test_a_long_utterance_is_settled_at_a_pause() -> None:
    async def dialogue(call: Call) -> None:
        await call.silence(1.0)
        await call.speak(3.0)
        await call.silence(0.12)
        assert [float(text) for text in call.finals] == [pytest.approx(3.35, abs=0.02)]
        await call.sound(1.0, 0.3)
        ended = call.now
        await call.silence(0.24)
        await call.end(ended)

    call, _ = play(dialogue, options=StreamOptions(pre_roll=0.3, cut_after=2.0))
    assert len(call.finals) == 2
    assert sum(map(float, call.finals)) == pytest.approx(4.5, abs=0.1)


def test_an_utterance_without_pauses_is_settled_in_the_end() -> None:
    async def dialogue(call: Call) -> None:
        await call.silence(1.0)
        await call.speak(5.0)

    call, engine = play(dialogue, options=StreamOptions(pre_roll=0.3, max_length=2.0))
    assert len(call.finals) == 3
    assert max(engine.given) < 2.1


def test_flush_settles_what_was_said_so_far() -> None:
    async def dialogue(call: Call) -> None:
        await call.silence(1.0)
        await call.speak(1.0)
        call.stream.flush()
        await settle()
        assert call.finals == ["1.30"]

    play(dialogue)


def test_flush_in_silence_says_nothing() -> None:
    async def dialogue(call: Call) -> None:
        await call.silence(1.0)
        call.stream.flush()

    call, engine = play(dialogue)
    assert call.finals == []
    assert engine.given == []


def test_the_end_of_the_input_settles_what_was_said_and_ends_the_iterator() -> None:
    async def dialogue(call: Call) -> None:
        await call.silence(1.0)
        await call.speak(1.0)

    call, _ = play(dialogue)
    assert call.finals == ["1.30"]


def test_a_stream_that_joined_late_distrusts_the_detectors_clock() -> None:
    async def dialogue(call: Call) -> None:
        await call.silence(1.0)
        await call.sound(0.24, 0.3)
        await call.start(at=61.0)
        await call.sound(0.76, 0.3)
        await call.silence(0.24)
        await call.end(at=62.0)

    call, _ = play(dialogue)
    assert [round(float(text), 1) for text in call.finals] == [1.4]


def test_after_closing_nothing_is_said_and_nothing_raises() -> None:
    async def dialogue(call: Call) -> None:
        await call.silence(1.0)
        await call.speak(1.0)
        await call.stream.aclose()
        await settle()
        assert engine_of(call).abandoned == 1
        await call.silence(0.1)
        await call.end(call.now)
        await call.stream.aclose()

    call, _ = play(dialogue, held=True)
    assert call.finals == call.interims == []


def test_the_engines_failure_ends_the_iterator() -> None:
    class Broken:
        async def recognize(self, audio: AudioFrame) -> str:
            raise ProviderError("broken")

    async def main() -> None:
        stream = StreamAdapter(Broken()).stream()
        stream.push(AudioFrame.silence(1.0, RATE))
        stream.mark(SpeechStarted(0.5))
        async for _ in stream:
            raise AssertionError("nothing can be understood")

    with pytest.raises(ProviderError, match="broken"):
        asyncio.run(main())


def test_the_tape_keeps_the_latest_sound_under_its_own_time() -> None:
    tape = Tape()
    for second in range(5):
        tape.push(AudioFrame.from_float32(np.full(RATE, second / 10, np.float32), RATE))
    tape.forget(3.5)
    assert tape.now == 5.0
    assert tape.slice(0.0, 5.0).duration == 1.5
    assert tape.slice(4.2, 4.3).to_float32() == pytest.approx(0.4, abs=1e-3)


def test_the_tape_takes_other_rates_and_channels() -> None:
    tape = Tape()
    tape.push(AudioFrame.silence(1.0, RATE))
    tape.push(AudioFrame(bytes(4 * RATE), RATE, num_channels=2))
    assert tape.now == 2.0
    tape.push(AudioFrame.silence(1.0, 48000))
    assert tape.now == pytest.approx(3.0, abs=0.1)


@pytest.mark.parametrize("background", [0.0, 0.05])
def test_a_pause_is_noticed_in_silence_and_in_noise(background: float) -> None:
    rng = np.random.default_rng(1)
    watch = LoudnessWatch()

    def hear(seconds: float, level: float) -> float:
        samples = rng.uniform(-1, 1, round(seconds * RATE)) * (level + background)
        watch.push(AudioFrame.from_float32(samples.astype(np.float32), RATE))
        return watch.quiet

    hear(1.0, 0.0)
    hear(0.5, 0.3)
    hear(0.06, 0.0)
    assert hear(0.5, 0.3) == 0.0
    assert hear(0.2, 0.0) == pytest.approx(0.2, abs=0.03)
    assert hear(0.1, 0.3) == 0.0
