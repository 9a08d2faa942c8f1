"""Speech keeps its promises over a bed of other sounds, and the bed goes on under it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.testing import FakeMicrophone, FakeSpeaker, check_transport, now, run_virtual, speech
from antiphon.transport import AudioOutput
from antiphon.transports.bed import Clip, Sound, Source, Stream
from antiphon.transports.mixer import DUCKED, MixedOutput
from antiphon.transports.processing import AudioProcessing, FollowedOutput
from antiphon.transports.recorded import RecordedOutput
from antiphon.transports.recorder import RecordingOutput, StereoRecorder
from antiphon.transports.wav import RecordedCaller
from tests.testing.test_transport_contract import Fakes, Remote

if TYPE_CHECKING:
    from numpy.typing import NDArray

RATE = 24_000


def tone(level: int, seconds: float = 1.0, pitch: float = 1000.0) -> NDArray[np.int16]:
    """A tone of whole periods, so that it loops without a seam."""
    return np.round(level * np.sin(2 * np.pi * pitch * np.arange(round(seconds * RATE)) / RATE)).astype(np.int16)


class Mixed(Fakes):
    """Fakes with a mixer in front of the loudspeaker."""

    def __init__(self, *bed: Source, output: AudioOutput | None = None) -> None:
        super().__init__(FakeMicrophone(), FakeSpeaker())
        self.output = self.mixer = MixedOutput(output or self.speaker)
        for source in bed:
            self.mixer.add(source)


def keeps(make: Callable[[], Mixed], **options: Any) -> None:
    async def made() -> Mixed:
        return make()

    run_virtual(check_transport(made, **options))


# -- the promises of a loudspeaker


def test_without_a_bed_it_is_the_loudspeaker_itself() -> None:
    keeps(Mixed)


def test_over_a_bed_speech_keeps_every_promise_to_the_sample() -> None:
    silent = np.zeros(7000, np.int16)
    keeps(lambda: Mixed(Clip(silent, loop=True)))
    keeps(lambda: Mixed(Clip(silent, loop=True), Clip(silent[:100], loop=True)))


def test_over_a_bed_that_sounds_speech_is_played_paused_and_cleared_like_without_it() -> None:
    keeps(lambda: Mixed(Clip(tone(300), loop=True)), exact=False)


def test_a_bed_that_ends_while_speech_plays_changes_nothing() -> None:
    for seconds in (0.05, 0.33, 0.51, 0.7, 0.9, 1.25):
        silent = np.zeros(round(seconds * RATE), np.int16)
        keeps(lambda silent=silent: Mixed(Clip(silent)))  # type: ignore[misc]


def test_a_bed_that_begins_while_speech_plays_changes_nothing() -> None:
    def late(delay: float) -> Mixed:
        mixed = Mixed()
        loop = asyncio.get_running_loop()
        loop.call_later(delay, lambda: mixed.mixer.add(Clip(np.zeros(500, np.int16), loop=True)))
        return mixed

    for delay in (0.01, 0.3, 0.55, 0.7):
        keeps(lambda delay=delay: late(delay))  # type: ignore[misc]


def test_behind_a_wire_what_was_on_its_way_at_a_pause_is_heard_again_and_no_more() -> None:
    class Far(Mixed):
        def __init__(self) -> None:
            super().__init__(Clip(np.zeros(7000, np.int16), loop=True))
            self.output = self.mixer = MixedOutput(Remote(self.speaker))
            self.mixer.add(Clip(tone(300), loop=True))

    keeps(Far, exact=False, tolerance=0.03 + 0.05, latency=0.05)


def test_a_frame_of_another_format_is_refused() -> None:
    mixer = MixedOutput(FakeSpeaker())
    with pytest.raises(UsageError, match="expected mono at 24000 Hz, got 1 channels at 16000 Hz"):
        mixer.write(speech(0.1, 16_000))


@pytest.mark.parametrize("seed", range(60))
def test_whatever_is_done_in_whatever_order_speech_is_heard_as_it_was_written(seed: int) -> None:
    """The bed is silent, so that every sample that is not zero is speech."""

    async def walk() -> None:
        dice = random.Random(seed)
        speaker = FakeSpeaker()
        mixer = MixedOutput(speaker)
        voice = np.arange(1, 20 * RATE, dtype=np.int32) % 30_000 + 1
        written = dropped = 0
        kept: list[NDArray[np.int32]] = []  # what must be heard, in order
        sounds: list[Sound] = []
        paused = False
        mixer.start()
        for _ in range(60):
            match dice.choice(["write"] * 5 + ["pause", "resume", "clear", "add", "add once", "stop"] + ["wait"] * 4):
                case "write":
                    length = dice.randrange(1, 2400)
                    piece = voice[written : written + length]
                    mixer.write(AudioFrame(piece.astype("<i2").tobytes(), RATE))
                    written += length
                    kept.append(piece)
                case "pause":
                    mixer.pause()
                    paused = True
                case "resume":
                    mixer.resume()
                    paused = False
                case "clear":
                    queue = np.concatenate([*kept, np.zeros(0, np.int32)])
                    gone = round(mixer.clear() * RATE)
                    kept = [queue[: len(queue) - gone]]
                    dropped += gone
                    paused = False
                case "add":
                    sounds.append(mixer.add(Clip(np.zeros(dice.randrange(1, 9000), np.int16), loop=True)))
                case "add once":
                    silent = np.zeros(dice.randrange(1, 9000), np.int16)
                    sounds.append(mixer.add(Clip(silent), yields=dice.random() < 0.5))
                case "stop" if sounds:
                    mixer.stop(sounds.pop(dice.randrange(len(sounds))))
                case "wait":
                    before = mixer.played
                    await asyncio.sleep(dice.choice([0.0, 0.003, 0.02, 0.1, 0.35]))
                    if paused:
                        assert mixer.played == before
            assert speaker.sounds is not None  # lets time catch up
            heard = np.frombuffer(speaker.track.render(0.0, now()).data, "<i2")
            heard = heard[heard != 0]
            assert (heard == np.concatenate([*kept, heard[:0]])[: len(heard)]).all()
            assert mixer.played * RATE == pytest.approx(len(heard), abs=0.5)
        mixer.resume()
        await asyncio.sleep(10.0)
        assert mixer.played * RATE == pytest.approx(written - dropped, abs=0.5)
        assert not mixer.sounding
        await mixer.aclose()

    run_virtual(walk())


# -- the bed


class Line:
    """A mixer over a loudspeaker that remembers, written to as a session would."""

    def __init__(self) -> None:
        self.speaker = FakeSpeaker()
        self.mixer = MixedOutput(self.speaker)
        self.began = now()
        self.mixer.start()

    async def say(self, frame: AudioFrame) -> None:
        """Write it little by little, and wait until it was played."""
        begun, data = self.mixer.played, frame.data
        written = 0.0
        while self.mixer.played < begun + frame.duration - 1e-6:
            ahead = written - (self.mixer.played - begun)
            if data and ahead <= self.mixer.lead / 2:
                size = 2 * int((self.mixer.lead - ahead) * RATE)
                piece, data = AudioFrame(data[:size], RATE), data[size:]
                written += piece.duration
                self.mixer.write(piece)
            await asyncio.sleep(0.02)

    def heard(self, start: float = 0.0, end: float | None = None) -> NDArray[np.int16]:
        """The samples between two times."""
        assert self.speaker.sounds is not None  # lets time catch up
        end = now() - self.began if end is None else end
        return np.frombuffer(self.speaker.track.render(self.began + start, end - start).data, "<i2")

    def level(self, start: float, end: float) -> float:
        """The amplitude of a tone of 1 kHz between two times."""
        samples = self.heard(start, end).astype(np.float64)
        wave = np.exp(-2j * np.pi * 1000 * np.arange(len(samples)) / RATE)
        return float(2 * abs((samples * wave).mean()))


def on_line(call: Callable[[Line], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        line = Line()
        try:
            await call(line)
        finally:
            await line.mixer.aclose()

    run_virtual(run())


def test_a_bed_sounds_without_a_seam() -> None:
    async def call(line: Line) -> None:
        line.mixer.add(Clip(tone(1000), loop=True))
        await asyncio.sleep(5.0)
        expected = np.tile(tone(1000), 5)
        assert (line.heard(0.0, 5.0) == expected).all()

    on_line(call)


def test_a_bed_is_not_counted_as_played() -> None:
    async def call(line: Line) -> None:
        line.mixer.add(Clip(tone(1000), loop=True))
        await asyncio.sleep(1.0)
        assert line.mixer.played == 0.0
        await line.say(speech(0.5, RATE))
        await asyncio.sleep(1.0)
        assert line.mixer.played == pytest.approx(0.5, abs=1e-9)

    on_line(call)


def test_a_bed_is_twelve_decibels_down_under_speech_and_comes_back() -> None:
    async def call(line: Line) -> None:
        line.mixer.add(Clip(tone(1000), loop=True))
        await asyncio.sleep(1.0)
        await line.say(AudioFrame(tone(5000, 1.0, 500.0).tobytes(), RATE))
        await asyncio.sleep(0.5)
        assert line.level(0.5, 1.0) == pytest.approx(1000, rel=0.01)
        assert line.level(1.1, 2.0) == pytest.approx(1000 * DUCKED, rel=0.03)
        assert line.level(2.2, 2.5) == pytest.approx(1000, rel=0.03)

    on_line(call)


def test_a_bed_is_ducked_by_a_ramp_not_by_a_step() -> None:
    async def call(line: Line) -> None:
        line.mixer.add(Clip(np.full(RATE, 4000, np.int16), loop=True))
        await asyncio.sleep(1.0)
        await line.say(AudioFrame(bytes(2 * RATE), RATE))
        await asyncio.sleep(0.3)
        heard = line.heard()[: round(2.2 * RATE)]
        steps = np.abs(np.diff(heard.astype(np.int32)))
        assert steps.max() <= 3
        ramp = np.flatnonzero(heard < 3990)[0], np.flatnonzero(heard <= round(4000 * DUCKED) + 10)[0]
        assert (ramp[1] - ramp[0]) / RATE == pytest.approx(0.08, abs=0.005)

    on_line(call)


def test_a_ramp_that_is_cut_short_goes_on_from_where_it_is() -> None:
    async def call(line: Line) -> None:
        line.mixer.add(Clip(np.full(RATE, 4000, np.int16), loop=True))
        await asyncio.sleep(1.0)
        for _ in range(3):
            line.mixer.write(AudioFrame(bytes(4800), RATE))
            await asyncio.sleep(0.03)
            line.mixer.pause()
            await asyncio.sleep(0.03)
            line.mixer.resume()
            await asyncio.sleep(0.03)
            line.mixer.clear()
        await asyncio.sleep(0.3)
        assert np.abs(np.diff(line.heard(0.5).astype(np.int32))).max() <= 3

    on_line(call)


def test_speech_begins_at_once_over_a_bed() -> None:
    async def call(line: Line) -> None:
        line.mixer.add(Clip(tone(300), loop=True))
        await asyncio.sleep(1.03)
        await line.say(speech(0.5, RATE))
        loud = np.flatnonzero(np.abs(line.heard().astype(np.int32)) > 2000) / RATE
        assert loud[0] == pytest.approx(1.03, abs=0.012)
        assert loud[-1] == pytest.approx(1.53, abs=0.012)

    on_line(call)


def test_a_pause_stops_speech_at_once_and_the_bed_goes_on() -> None:
    async def call(line: Line) -> None:
        line.mixer.add(Clip(tone(300), loop=True))
        talking = asyncio.create_task(line.say(speech(1.0, RATE)))
        await asyncio.sleep(0.5)
        line.mixer.pause()
        await asyncio.sleep(0.5)
        assert np.abs(line.heard(0.502, 1.0).astype(np.int32)).max() <= 300
        assert line.level(0.7, 1.0) == pytest.approx(300, rel=0.02)
        assert line.mixer.played == pytest.approx(0.5, abs=0.001)
        line.mixer.resume()
        await talking

    on_line(call)


def test_clear_stops_speech_at_once_and_the_bed_goes_on() -> None:
    async def call(line: Line) -> None:
        line.mixer.add(Clip(tone(300), loop=True))
        line.mixer.write(speech(0.5, RATE))
        await asyncio.sleep(0.2)
        assert line.mixer.clear() == pytest.approx(0.3, abs=0.001)
        await asyncio.sleep(0.5)
        assert np.abs(line.heard(0.202, 0.7).astype(np.int32)).max() <= 300
        assert line.level(0.4, 0.7) == pytest.approx(300, rel=0.02)

    on_line(call)


def test_clear_ends_a_pause_in_silence_too() -> None:
    async def call(line: Line) -> None:
        line.mixer.pause()
        assert line.mixer.clear() == 0.0
        await line.say(speech(0.2, RATE))

    on_line(call)


def test_a_loudspeaker_that_has_played_before_is_taken_over_as_it_is() -> None:
    async def call() -> None:
        speaker = FakeSpeaker()
        speaker.write(speech(2.0, RATE))
        await asyncio.sleep(3.0)
        mixer = MixedOutput(speaker)
        sound = mixer.add(Clip(tone(1000, 0.5)))
        assert mixer.played == 0.0
        mixer.start()
        mixer.write(speech(0.3, RATE))
        await sound.wait()
        assert now() == pytest.approx(3.5, abs=0.15)
        assert mixer.played == pytest.approx(0.3)
        await mixer.aclose()

    run_virtual(call())


def test_a_clear_in_silence_does_not_touch_the_bed() -> None:
    async def call(line: Line) -> None:
        line.mixer.add(Clip(tone(300), loop=True))
        await asyncio.sleep(0.5)
        assert line.mixer.clear() == 0.0
        assert not [what for _, what in line.speaker.log if what == "clear"]

    on_line(call)


def test_a_sound_that_is_stopped_fades_and_is_over() -> None:
    async def call(line: Line) -> None:
        sound = line.mixer.add(Clip(np.full(RATE, 4000, np.int16), loop=True))
        await asyncio.sleep(1.0)
        line.mixer.stop(sound)
        assert not sound.over
        await sound.wait()
        assert now() - line.began == pytest.approx(1.08, abs=0.12)
        heard = line.heard()
        assert np.abs(np.diff(heard.astype(np.int32))[1:]).max() <= 3
        assert np.flatnonzero(heard)[-1] / RATE == pytest.approx(1.08, abs=0.005)

    on_line(call)


def test_a_sound_that_yields_stops_where_speech_begins() -> None:
    async def call(line: Line) -> None:
        sound = line.mixer.add(Clip(tone(1000), loop=True), yields=True)
        await asyncio.sleep(1.0)
        await line.say(AudioFrame(tone(5000, 1.0, 500.0).tobytes(), RATE))
        assert sound.over
        assert line.level(0.5, 1.0) == pytest.approx(1000, rel=0.01)
        assert line.level(1.1, 2.0) < 5

    on_line(call)


def test_a_sound_with_an_end_is_over_when_it_was_played() -> None:
    async def call(line: Line) -> None:
        sound = line.mixer.add(Clip(tone(1000, 0.5)))
        await asyncio.sleep(0.49)
        assert not sound.over
        await sound.wait()
        assert 0.5 <= now() - line.began < 0.65
        assert (line.heard(0.0, 0.5) == tone(1000, 0.5)).all()

    on_line(call)


def test_two_sounds_are_heard_together_and_too_loud_is_clipped() -> None:
    async def call(line: Line) -> None:
        line.mixer.add(Clip(np.full(100, 30_000, np.int16), loop=True))
        line.mixer.add(Clip(np.full(100, 20_000, np.int16)))
        await asyncio.sleep(0.5)
        assert line.heard().max() == 32767

    on_line(call)


def test_a_stream_is_played_as_it_comes() -> None:
    async def call(line: Line) -> None:
        stream = Stream(RATE, volume=0.5)
        sound = line.mixer.add(stream)
        for at in range(10):
            await stream.room()
            stream.feed(AudioFrame(tone(1000, 1.0)[at * 2400 : (at + 1) * 2400].tobytes(), RATE))
        stream.end()
        await sound.wait()
        assert np.abs(line.heard(0.1, 1.1)).max() == 500
        assert line.heard(0.0, 1.4).any()

    on_line(call)


def test_a_stream_is_not_fetched_far_ahead() -> None:
    async def call(line: Line) -> None:
        stream = Stream(RATE)
        line.mixer.add(stream)
        fed = 0
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.0):
                while True:
                    await stream.room()
                    stream.feed(speech(0.1, 16_000))
                    fed += 1
        assert 15 <= fed <= 25

    on_line(call)


def test_sounds_laid_before_the_call_begin_with_it() -> None:
    async def call() -> None:
        speaker = FakeSpeaker()
        mixer = MixedOutput(speaker)
        kept, gone = mixer.add(Clip(tone(1000), loop=True)), mixer.add(Clip(tone(1000), loop=True))
        mixer.stop(gone)
        await asyncio.sleep(1.0)
        assert gone.over
        assert not kept.over
        assert not speaker.sounds
        mixer.start()
        await asyncio.sleep(1.0)
        assert speaker.sounds[0].start == pytest.approx(1.0, abs=0.001)
        await mixer.aclose()
        assert kept.over

    run_virtual(call())


def test_after_the_call_a_sound_is_over_at_once() -> None:
    async def call(line: Line) -> None:
        await line.mixer.aclose()
        assert line.mixer.add(Clip(tone(1000), loop=True)).over

    on_line(call)


def test_no_timer_runs_while_there_is_no_bed() -> None:
    async def call(line: Line) -> None:
        sound = line.mixer.add(Clip(tone(1000, 0.1)))
        await sound.wait()
        line.speaker.log.clear()
        waits = len(asyncio.get_running_loop()._scheduled)  # type: ignore[attr-defined]  # what is on the clock
        assert waits == 0

    on_line(call)


def test_a_loudspeaker_that_stands_still_is_not_asked_all_the_time() -> None:
    class Stuck(FakeSpeaker):
        looks = 0

        @property
        def played(self) -> float:
            self.looks += 1
            return 0.0

    async def call() -> None:
        speaker = Stuck()
        mixer = MixedOutput(speaker)
        mixer.start()
        mixer.add(Clip(tone(1000), loop=True))
        await asyncio.sleep(10.0)
        assert speaker.looks < 2000
        assert speaker.max_queued < 0.5
        await mixer.aclose()

    run_virtual(call())


# -- recorded


def test_a_recording_holds_what_was_heard_and_knows_what_was_said() -> None:
    async def call(make: Callable[[StereoRecorder], AudioOutput]) -> None:
        recorder = StereoRecorder(agent_rate=RATE)
        output = make(recorder)
        mixer = MixedOutput(output)
        mixer.start()
        mixer.add(Clip(tone(3000), loop=True))
        await asyncio.sleep(1.0)
        for _ in range(5):
            mixer.write(speech(0.1, RATE))
            await asyncio.sleep(0.1)
        await asyncio.sleep(0.5)
        began = now()
        mixer.write(speech(0.2, RATE))
        await asyncio.sleep(0.1)
        mixer.clear()
        await asyncio.sleep(0.5)
        await mixer.aclose()
        first, second = recorder.agent_spans()
        assert first.start == pytest.approx(1.0, abs=0.012)
        assert first.end == pytest.approx(1.5, abs=0.06)
        assert second.start == pytest.approx(began, abs=0.012)
        assert second.end == pytest.approx(began + 0.1, abs=0.012)
        assert recorder.first_agent_sound(0.0) == pytest.approx(1.0, abs=0.012)
        (cut,) = output.cuts  # type: ignore[attr-defined]  # both kinds have them
        assert cut.lost == pytest.approx(0.1, abs=0.012)
        heard = np.abs(recorder.channels()[1]) * 32768
        assert heard[: RATE // 2].max() == pytest.approx(3000, abs=2)
        assert heard[round(1.2 * RATE) : round(1.4 * RATE)].max() > 8000

    run_virtual(call(RecordingOutput))
    run_virtual(call(lambda recorder: RecordedOutput(FakeSpeaker(), recorder)))


def test_a_recorded_caller_takes_turns_over_a_bed() -> None:
    async def call() -> None:
        recorder = StereoRecorder(agent_rate=RATE)
        output = RecordingOutput(recorder)
        mixer = MixedOutput(output)
        caller = RecordedCaller([speech(0.5), speech(0.5)], recorder, output, busy=lambda: False)
        mixer.start()
        mixer.add(Clip(tone(3000), loop=True))
        caller.start(lambda _: None, lambda: None)
        await asyncio.sleep(1.5)
        mixer.write(speech(0.5, RATE))
        await asyncio.sleep(3.0)
        first, second = caller.spoken
        assert first.start == pytest.approx(0.3, abs=0.03)
        assert second.start == pytest.approx(2.3, abs=0.03)
        await caller.aclose()
        await mixer.aclose()

    run_virtual(call())


# -- behind echo cancellation


def test_echo_cancellation_hears_the_bed_too() -> None:
    mixer = MixedOutput(FakeSpeaker())
    input, output = AudioProcessing().wrap(FakeMicrophone(), mixer)
    assert output is mixer
    assert isinstance(mixer.below, FollowedOutput)
    assert AudioProcessing().wrap(input, output) == (input, mixer)


def test_what_lies_below_is_not_changed_while_a_call_runs() -> None:
    async def call(line: Line) -> None:
        with pytest.raises(UsageError, match="before the session starts"):
            line.mixer.put_below(FakeSpeaker())

    on_line(call)
