"""The transport suite accepts transports that keep their promises, and names the promise that one breaks."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

import pytest

from antiphon.audio import AudioFrame
from antiphon.testing import (
    FakeMicrophone,
    FakeSpeaker,
    Heard,
    TransportUnderTest,
    check_transport,
    run_virtual,
    utterance,
)
from antiphon.transport import AudioInput, AudioOutput
from antiphon.transports.recorded import RecordedInput, RecordedOutput
from antiphon.transports.recorder import RecordingOutput, StereoRecorder
from antiphon.transports.wav import RecordedCaller


class Fakes(TransportUnderTest):
    """A microphone and a loudspeaker without a line between them and the far end."""

    def __init__(self, microphone: FakeMicrophone, speaker: FakeSpeaker) -> None:
        self.input: AudioInput = microphone
        self.output: AudioOutput = speaker
        self.microphone, self.speaker = microphone, speaker
        self.microphone_rate = microphone.sample_rate
        self.began = asyncio.get_running_loop().time()

    async def speak(self, frame: AudioFrame) -> None:
        self.microphone.play(frame)

    def heard(self) -> Sequence[Heard]:
        assert self.speaker.sounds is not None  # lets time catch up
        duration = asyncio.get_running_loop().time() - self.began
        return [Heard(self.began, self.speaker.track.render(self.began, duration))]

    async def hang_up(self) -> None:
        self.microphone.end()


class Recordings(TransportUnderTest):
    """A recorded caller, and a loudspeaker that is recorded."""

    def __init__(self) -> None:
        self.recorder = StereoRecorder()
        self.output = RecordingOutput(self.recorder)
        self.waits = True
        self.input = RecordedCaller(
            [utterance(self.microphone_rate)],
            self.recorder,
            self.output,
            busy=lambda: self.waits,
            patience=3600.0,
        )
        self.began = asyncio.get_running_loop().time()

    async def speak(self, frame: AudioFrame) -> None:
        self.waits = False  # the caller begins in the silence of the line

    def heard(self) -> Sequence[Heard]:
        assert not self.output.played < 0  # lets time catch up
        samples = (self.recorder.channels()[1] * 32768).astype("<i2")
        return [Heard(self.began, AudioFrame(samples.tobytes(), self.recorder.agent_rate))]

    async def hang_up(self) -> None:
        # Having heard an answer, the caller leaves.
        self.output.write(AudioFrame(b"\0\x10" * 2400, self.output.sample_rate))


class Kept(Fakes):
    """Fakes whose sound is kept on the way."""

    def __init__(self) -> None:
        super().__init__(FakeMicrophone(), FakeSpeaker())
        recorder = StereoRecorder()
        self.input = RecordedInput(self.microphone, recorder)
        self.output = RecordedOutput(self.speaker, recorder)


def keeps(make: Callable[[], TransportUnderTest], *, exact: bool = True) -> None:
    async def made() -> TransportUnderTest:
        return make()

    run_virtual(check_transport(made, exact=exact))


def test_the_fakes_keep_the_promises_of_a_transport() -> None:
    keeps(lambda: Fakes(FakeMicrophone(), FakeSpeaker()))
    keeps(lambda: Fakes(FakeMicrophone(sample_rate=48_000, frame=0.01), FakeSpeaker(sample_rate=8_000)))


def test_recorded_calls_keep_the_promises_of_a_transport() -> None:
    keeps(Recordings)
    keeps(Kept)


# -- a line that is not exact


class Distant(Fakes):
    """The far ear hears later, at another rate, and not the same samples."""

    LATENCY = 0.06

    def heard(self) -> Sequence[Heard]:
        import numpy as np
        import soxr

        (heard,) = super().heard()
        samples = soxr.resample(heard.frame.to_float32(), heard.frame.sample_rate, 16_000)
        noise = np.random.default_rng(7).normal(0, 30 / 32768, len(samples))
        late = round(self.LATENCY * 16_000)
        arrived = (samples + noise).astype(np.float32)[: max(0, len(samples) - late)]
        return [Heard(heard.at + self.LATENCY, AudioFrame.from_float32(arrived, 16_000))]


def test_a_distant_and_lossy_line_may_keep_the_promises() -> None:
    async def made() -> TransportUnderTest:
        return Distant(FakeMicrophone(), FakeSpeaker(sample_rate=48_000, lead=0.3))

    run_virtual(check_transport(made, exact=False, tolerance=0.03, latency=0.06))


def test_a_latency_beyond_what_was_promised_is_caught() -> None:
    async def made() -> TransportUnderTest:
        return Distant(FakeMicrophone(), FakeSpeaker(sample_rate=48_000, lead=0.3))

    with pytest.raises(AssertionError, match="counts what did not sound"):
        run_virtual(check_transport(made, exact=False, tolerance=0.02))


class Remote(AudioOutput):
    """A loudspeaker behind a wire: orders take a while to get there, and so does the count on its way back.

    With `settles=False` it does what is natural and wrong: it goes by the count of the far end alone, which has played
    on while the order to clear was on its way.
    """

    WIRE = 0.03

    def __init__(self, far: FakeSpeaker, *, settles: bool = True) -> None:
        self.far = far
        self.sample_rate = far.sample_rate
        self.settles = settles
        self.written = 0.0
        self.counted = 0.0
        self.base = 0.0
        """`counted` at the last clear."""
        self.far_base = 0.0
        self.epoch = 0
        self.closed = False
        self.wire: deque[Callable[[], object]] = deque()

    def order(self, order: Callable[[], object]) -> None:
        # One never overtakes another, also where both were sent at the same time.
        self.wire.append(order)
        asyncio.get_running_loop().call_later(self.WIRE, lambda: self.wire.popleft()())

    def start(self) -> None:
        self.report()

    def report(self) -> None:
        epoch, played = self.epoch_there, self.far.played - self.far_base
        self.order(lambda: self.count(epoch, played))
        if not self.closed:
            asyncio.get_running_loop().call_later(0.02, self.report)

    epoch_there = 0

    def count(self, epoch: int, played: float) -> None:
        if self.closed:
            return
        if not self.settles:
            self.counted = self.far.played
        elif epoch == self.epoch:
            self.counted = self.base + played

    def write(self, frame: AudioFrame) -> None:
        if not self.closed:
            self.written += frame.duration
            self.order(lambda: self.far.write(frame))

    @property
    def played(self) -> float:
        return self.counted

    def pause(self) -> None:
        self.order(self.far.pause)

    def resume(self) -> None:
        self.order(self.far.resume)

    def clear(self) -> float:
        dropped = self.written - self.counted
        self.written = self.base = self.counted
        self.epoch += 1
        epoch = self.epoch

        def clear() -> None:
            self.far.clear()
            self.epoch_there, self.far_base = epoch, self.far.played

        self.order(clear)
        return dropped

    async def aclose(self) -> None:
        if not self.closed:
            self.clear()
        self.closed = True


class Wired(Fakes):
    def __init__(self, *, settles: bool = True) -> None:
        super().__init__(FakeMicrophone(), FakeSpeaker())
        self.output = Remote(self.speaker, settles=settles)


def wired(*, settles: bool = True) -> None:
    async def made() -> TransportUnderTest:
        return Wired(settles=settles)

    run_virtual(check_transport(made, tolerance=0.03, latency=0.05))


def test_a_loudspeaker_behind_a_wire_may_keep_the_promises() -> None:
    wired()


def test_one_that_counts_what_sounded_while_the_order_to_clear_was_on_its_way_is_caught() -> None:
    with pytest.raises(AssertionError, match="throws away and does not play"):
        wired(settles=False)


# -- broken loudspeakers


class CountsTheUnheard(FakeSpeaker):
    @property
    def played(self) -> float:
        return super().played + self.queued


class CountsLate(FakeSpeaker):
    """Knows what it played half a second ago."""

    def __init__(self) -> None:
        super().__init__()
        self.known: list[tuple[float, float]] = [(0.0, 0.0)]

    @property
    def played(self) -> float:
        now = asyncio.get_running_loop().time()
        self.known.append((now, super().played))
        return max(played for at, played in self.known if at <= max(0.0, now - 0.5))


class CountsFrames(FakeSpeaker):
    """Counts what it played in whole frames of 20 ms, rounded down."""

    @property
    def played(self) -> float:
        return int(super().played * 64.0) / 64.0


class CountsBackwards(FakeSpeaker):
    @property
    def played(self) -> float:
        played = super().played
        return played if played < 0.3 else 0.6 - played


class CountsTheThrownAway(FakeSpeaker):
    thrown = 0.0

    @property
    def played(self) -> float:
        return super().played + self.thrown

    def clear(self) -> float:
        dropped = super().clear()
        self.thrown += dropped
        return dropped


class BeginsAtOne(FakeSpeaker):
    @property
    def played(self) -> float:
        return super().played + 1.0


class LastComesFirst(FakeSpeaker):
    def write(self, frame: AudioFrame) -> None:
        half = frame.samples_per_channel // 2 * 2
        super().write(AudioFrame(frame.data[half:], frame.sample_rate))
        super().write(AudioFrame(frame.data[:half], frame.sample_rate))


class Repeats(FakeSpeaker):
    """Plays the beginning of each frame in the place of its end."""

    def write(self, frame: AudioFrame) -> None:
        half = frame.samples_per_channel // 2 * 2
        rest = len(frame.data) - half
        super().write(AudioFrame(frame.data[:half] + frame.data[:rest], frame.sample_rate))


class Stutters(FakeSpeaker):
    """Falls silent for 10 ms now and then."""

    writes = 0

    def write(self, frame: AudioFrame) -> None:
        super().write(frame)
        self.writes += 1
        if self._anchor is not None and self.writes % 2 == 0:
            self._anchor = (self._anchor[0] + 0.01, self._anchor[1])


class Starves(FakeSpeaker):
    """Claims that a lead is enough that is not: it plays what it has only when there is more than that."""

    def write(self, frame: AudioFrame) -> None:
        super().write(frame)
        if self._anchor is not None and self.queued > 0.19:
            self.pause()
            asyncio.get_running_loop().call_later(0.1, self.resume)


class PlaysOnInAPause(FakeSpeaker):
    def pause(self) -> None:
        pass


class SoundsInAPause(Fakes):
    """The count stops, the sound does not."""

    def __init__(self) -> None:
        super().__init__(FakeMicrophone(), FakeSpeaker())
        self.paused: list[tuple[float, float]] = []

    def heard(self) -> Sequence[Heard]:
        heard = list(super().heard())
        frame = heard[0].frame
        paused = next((at for at, what in self.speaker.log if what == "pause"), None)
        if paused is not None:
            at = 2 * round((paused - self.began) * frame.sample_rate)
            blare = frame.data[: 2 * round(0.2 * frame.sample_rate)]
            data = (frame.data[:at] + blare + frame.data[at + len(blare) :])[: len(frame.data)]
            heard[0] = Heard(heard[0].at, AudioFrame(data, frame.sample_rate))
        return heard


class ForgetsInAPause(FakeSpeaker):
    def pause(self) -> None:
        if not self.paused:
            self.clear()
        super().pause()


class StaysPaused(FakeSpeaker):
    def resume(self) -> None:
        pass


class SkipsOnResume(FakeSpeaker):
    """Goes on a millisecond later than where it stopped."""

    def resume(self) -> None:
        if self.paused and self._queue:
            data = self._queue.popleft()
            self._queue.appendleft(data[48:] + data[-48:])
        super().resume()


class KeepsWhatWasCleared(FakeSpeaker):
    def clear(self) -> float:
        self.resume()
        return self.queued


class MiscountsTheCleared(FakeSpeaker):
    def clear(self) -> float:
        return super().clear() * 0.99


class StaysPausedAfterClear(FakeSpeaker):
    def clear(self) -> float:
        was = self.paused
        dropped = super().clear()
        if was:
            self.pause()
        return dropped


class SoundsAfterClear(Fakes):
    """What was thrown away is not counted, and sounds."""

    def heard(self) -> Sequence[Heard]:
        heard = list(super().heard())
        frame = heard[0].frame
        cleared = next((at for at, what in self.speaker.log if what == "clear" and not self.speaker.closed), None)
        if cleared is not None:
            at = 2 * round((cleared - self.began) * frame.sample_rate)
            blare = frame.data[2400:7200]
            data = (frame.data[:at] + blare + frame.data[at + len(blare) :])[: len(frame.data)]
            heard[0] = Heard(heard[0].at, AudioFrame(data, frame.sample_rate))
        return heard


class HoldsBackAtTheEnd(FakeSpeaker):
    """Keeps the last samples until more comes, as a buffer of whole frames may."""

    @property
    def played(self) -> float:
        return min(super().played, max(0.0, super().played + self.queued - 0.01))


class SoundsAfterTheEnd(FakeSpeaker):
    async def aclose(self) -> None:
        pass


class RaisesAfterTheEnd(FakeSpeaker):
    def write(self, frame: AudioFrame) -> None:
        if self.closed:
            raise RuntimeError("closed")
        super().write(frame)


class EndsOnceOnly(FakeSpeaker):
    async def aclose(self) -> None:
        if self.closed:
            raise RuntimeError("closed")
        await super().aclose()


class NeverEnds(FakeSpeaker):
    async def aclose(self) -> None:
        await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("speaker", "complaint"),
    [
        (BeginsAtOne, "must be 0 before"),
        (CountsTheUnheard, "counts what did not sound"),
        (CountsLate, "lags behind"),
        (CountsFrames, r"stays at|to the sample"),
        (CountsBackwards, "decreased"),
        (CountsTheThrownAway, r"after clear\(\), which throws away"),
        (HoldsBackAtTheEnd, "stays at"),
        (LastComesFirst, "in order"),
        (Repeats, "in order"),
        (Stutters, "without a gap"),
        (Starves, "without a gap"),
        (PlaysOnInAPause, r"after pause\(\)"),
        (ForgetsInAPause, "stays at"),
        (StaysPaused, "stays at"),
        (SkipsOnResume, "samples heard are not those"),
        (KeepsWhatWasCleared, "threw away another"),
        (MiscountsTheCleared, "to the sample"),
        (StaysPausedAfterClear, "must end the pause"),
        (SoundsAfterTheEnd, r"after AudioOutput.aclose\(\)"),
        (RaisesAfterTheEnd, "must be deaf"),
        (EndsOnceOnly, "the second AudioOutput"),
        (NeverEnds, r"AudioOutput.aclose\(\) took more than"),
    ],
)
def test_a_broken_loudspeaker_is_caught(speaker: Callable[[], FakeSpeaker], complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        keeps(lambda: Fakes(FakeMicrophone(), speaker()))


@pytest.mark.parametrize(
    ("transport", "complaint"),
    [
        (SoundsInAPause, "heard in a pause"),
        (lambda: SoundsAfterClear(FakeMicrophone(), FakeSpeaker()), r"heard after clear\(\)"),
    ],
)
def test_a_far_ear_that_hears_what_is_not_counted_is_caught(
    transport: Callable[[], TransportUnderTest], complaint: str
) -> None:
    with pytest.raises(AssertionError, match=complaint):
        keeps(transport)


# -- broken microphones


class Tampered(FakeMicrophone):
    """Its frames pass through `tamper` on their way."""

    def __init__(self, *, frame: float = 0.02) -> None:
        super().__init__(frame=frame)
        self.frames = 0
        self.starts: list[Callable[[], None]] = []

    def start(self, on_frame: Callable[[AudioFrame], None], on_end: Callable[[], None]) -> None:
        self.deliver, self.finish = on_frame, on_end
        super().start(self.tamper, self.over)

    def tamper(self, frame: AudioFrame) -> None:
        self.frames += 1
        self.deliver(frame)

    def over(self) -> None:
        self.finish()


class GivesNothing(Tampered):
    def tamper(self, frame: AudioFrame) -> None:
        pass


class HasHoles(Tampered):
    def tamper(self, frame: AudioFrame) -> None:
        self.frames += 1
        if self.frames % 4:
            self.deliver(frame)


class GivesOnlyVoice(Tampered):
    """Gives nothing while nobody speaks."""

    def tamper(self, frame: AudioFrame) -> None:
        if any(frame.data):
            super().tamper(frame)


class LosesFrames(Tampered):
    """Fills the place of every tenth frame with silence."""

    def tamper(self, frame: AudioFrame) -> None:
        self.frames += 1
        self.deliver(frame if self.frames % 10 else AudioFrame(bytes(len(frame.data)), frame.sample_rate))


class Gushes(Tampered):
    """Gives ten frames at once."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[AudioFrame] = []

    def tamper(self, frame: AudioFrame) -> None:
        self.kept.append(frame)
        if len(self.kept) == 10:
            for one in self.kept:
                self.deliver(one)
            self.kept.clear()


class FallsSilent(Tampered):
    def tamper(self, frame: AudioFrame) -> None:
        if self.frames < 55:
            super().tamper(frame)


class Swaps(Tampered):
    """Gives every second frame before the one before it."""

    kept: AudioFrame | None = None

    def tamper(self, frame: AudioFrame) -> None:
        if self.kept is None:
            self.kept = frame
        else:
            self.deliver(frame)
            self.deliver(self.kept)
            self.kept = None


class Rumbles(Tampered):
    def tamper(self, frame: AudioFrame) -> None:
        self.deliver(AudioFrame(frame.data[:-2] + b"\1\0", frame.sample_rate))


class NeverHangsUp(Tampered):
    def over(self) -> None:
        pass


class HangsUpTwice(Tampered):
    def over(self) -> None:
        self.finish()
        self.finish()


class HangsUpAgainWhenClosed(Tampered):
    async def aclose(self) -> None:
        await super().aclose()
        self.finish()


class HangsUpByItself(Tampered):
    def tamper(self, frame: AudioFrame) -> None:
        super().tamper(frame)
        if self.frames == 40:
            self.finish()


class GivesAfterTheEnd(Tampered):
    def over(self) -> None:
        self.finish()
        asyncio.get_running_loop().call_later(0.05, self.deliver, AudioFrame(bytes(640), 16_000))


class GivesWhenClosed(Tampered):
    async def aclose(self) -> None:
        await super().aclose()
        asyncio.get_running_loop().call_later(0.05, self.deliver, AudioFrame(bytes(640), 16_000))


class ClosesOnceOnly(Tampered):
    closed = False

    async def aclose(self) -> None:
        if self.closed:
            raise RuntimeError("closed")
        self.closed = True
        await super().aclose()


@pytest.mark.parametrize(
    ("microphone", "complaint"),
    [
        (GivesNothing, "gave no frames"),
        (HasHoles, "pace of real time without holes"),
        (GivesOnlyVoice, "fell silent"),
        (LosesFrames, "picked up of an utterance"),
        (Gushes, "pace of real time"),
        (lambda: Tampered(frame=0.2), "must be short"),
        (FallsSilent, "fell silent|pace of real time"),
        (Swaps, "not those that were spoken"),
        (Rumbles, "not those that were spoken"),
        (NeverHangsUp, "on_end was not called"),
        (HangsUpTwice, "called once"),
        (HangsUpAgainWhenClosed, "called once"),
        (HangsUpByItself, "nobody had hung up"),
        (GivesAfterTheEnd, "came after on_end"),
        (GivesWhenClosed, r"came after (on_end|AudioInput.aclose\(\))"),
        (ClosesOnceOnly, "the second AudioInput"),
    ],
)
def test_a_broken_microphone_is_caught(microphone: Callable[[], FakeMicrophone], complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        keeps(lambda: Fakes(microphone(), FakeSpeaker()))


def test_words_in_the_wrong_order_are_caught_behind_a_lossy_codec_too() -> None:
    class SwapsHalves(Tampered):
        """Gives, a second late, the second half of a second before the first."""

        def __init__(self) -> None:
            super().__init__()
            self.kept: list[AudioFrame] = []

        def tamper(self, frame: AudioFrame) -> None:
            self.kept.append(frame)
            number = len(self.kept) - 1
            if number < 50:
                self.deliver(AudioFrame(bytes(640), 16_000))
            elif number < 75:
                self.deliver(self.kept[number - 25])
            else:
                self.deliver(self.kept[number - 75] if number < 100 else frame)

    with pytest.raises(AssertionError, match="in order what is spoken"):
        keeps(lambda: Fakes(SwapsHalves(), FakeSpeaker()), exact=False)


def test_a_transport_that_cannot_be_made_in_time_is_caught() -> None:
    async def made() -> TransportUnderTest:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(AssertionError, match="making the transport took more than 10 s"):
        run_virtual(check_transport(made))
