"""Does a transport keep the promises of `antiphon.transport`?

Above: `antiphon.testing.contract`, which exports `check_transport`. Below: `TransportUnderTest`, which gives the suite
the far end of the line: a mouth to speak with and an ear that says what sounded when.

Theory of operation. Everything that is written to the loudspeaker comes from one `sweep`, of which the ear can tell
which piece it hears: so order, gaps, repetitions and audio that should have been thrown away all show in one curve.
Where the line is exact, the samples are compared as well. The suite writes as a session does, little by little and
never more than `lead` ahead.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from antiphon.audio import AudioFrame
from antiphon.testing.checks import require, within
from antiphon.testing.sweep import BLOCK, WINDOW, Ear, Heard, piece, sweep
from antiphon.transport import AudioInput, AudioOutput

_TICK = 0.02
"""Seconds between two looks at the line, as a session looks."""
_UTTERANCE = 1.0
"""Seconds that the far end speaks."""
_LEAST_COVERED = 0.9
"""How much of the utterance must be recognisable behind a lossy codec."""


class TransportUnderTest(ABC):
    """A transport that is connected and not started, and its far end. Made anew for each part of the suite."""

    input: AudioInput
    output: AudioOutput
    microphone_rate: int = 16_000
    """Hz of the frames for `speak`."""

    @abstractmethod
    async def speak(self, frame: AudioFrame) -> None:
        """Let the far microphone pick this up, from now on, mono at `microphone_rate`. Need not wait for its end.

        Called at most once, with `utterance(microphone_rate)`. Before and after it the far microphone picks up silence.
        """

    @abstractmethod
    def heard(self) -> Sequence[Heard]:
        """All that sounded at the far ear so far, in order. Silence may be left out. The rate is always the same."""

    @abstractmethod
    async def hang_up(self) -> None:
        """Let the far end leave."""

    async def aclose(self) -> None:
        """Release what belongs to the far end. `input` and `output` have been closed by then."""


def utterance(sample_rate: int) -> AudioFrame:
    """What the suite lets the far end say: a second of sound, mono."""
    return piece(sample_rate, 0, round(_UTTERANCE * sample_rate))


async def check_transport(
    make: Callable[[], Awaitable[TransportUnderTest]],
    *,
    exact: bool = True,
    tolerance: float = 0.02,
    latency: float = 0.0,
    timeout: float = 10.0,
) -> None:
    """Both halves of a transport keep their promises, as the far end of the line sees it.

    The loudspeaker plays what is written in order and without a gap; `played` never decreases, counts what sounded and
    nothing else, and in the end all of it, to the sample; a pause is silent and keeps what is queued, `resume` goes on
    at the sample; `clear` throws away, says how much and ends a pause, and the account is settled by it: what was
    written is what was played and what was thrown away. The microphone's frames come at the pace of real time without
    holes, and it ends once. After `aclose` there is nothing more, and a second one does no harm.

    `exact=False`: a codec or resampler changes the samples, so that only pitches are compared. `tolerance`: seconds by
    which counts and times may be off, 0.01 at least. `latency`: seconds until the far ear hears what is done here.
    Takes about ten seconds of the running loop.
    """
    for check in (
        _check_playing,
        _check_pause,
        _check_clear,
        _check_clear_in_a_pause,
        _check_clear_while_sounding,
        _check_microphone,
        _check_close,
    ):
        transport = await within(timeout, "making the transport", make())
        line = _Line(transport, exact=exact, tolerance=max(tolerance, 2 * BLOCK), latency=latency, timeout=timeout)
        try:
            line.start()
            await check(line)
        finally:
            try:
                await line.close()
            finally:
                await within(timeout, "TransportUnderTest.aclose()", transport.aclose())


# -- the call


@dataclass(slots=True)
class _Microphone:
    """What the session's callbacks saw."""

    frames: list[tuple[float, AudioFrame]] = field(default_factory=list)
    ended: list[float] = field(default_factory=list)
    """When `on_end` was called."""


class _Line:
    """Writes the sweep as a session would, and remembers what `played` said."""

    def __init__(
        self, transport: TransportUnderTest, *, exact: bool, tolerance: float, latency: float, timeout: float
    ) -> None:
        self.transport = transport
        self.output = transport.output
        self.exact = exact
        self.tolerance = tolerance
        self.latency = latency
        self.timeout = timeout
        self.microphone = _Microphone()
        self.rate = self.output.sample_rate
        self.cursor = 0
        """Samples of the sweep that were written."""
        self.dropped = 0.0
        """Seconds that were thrown away."""
        self._looks: list[tuple[float, float]] = []
        """(time, played), oldest first."""

    @staticmethod
    def now() -> float:
        return asyncio.get_running_loop().time()

    def start(self) -> None:
        lead = self.output.lead
        require(self.rate > 0, f"sample_rate must be positive, got {self.rate}")
        require(lead > 2 * _TICK, f"lead must be more than {2 * _TICK:g} s, got {lead:g}: a session writes every 20 ms")
        self.transport.input.start(self._on_frame, self._on_end)
        self.output.start()
        require(self.output.played == 0, f"played must be 0 before anything was written, got {self.output.played}")

    def _on_frame(self, frame: AudioFrame) -> None:
        self.microphone.frames.append((self.now(), frame))

    def _on_end(self) -> None:
        self.microphone.ended.append(self.now())

    async def close(self) -> None:
        """Close both halves, twice."""
        for half, name in ((self.transport.input, "AudioInput"), (self.output, "AudioOutput")):
            for which in ("", "the second "):
                try:
                    await within(self.timeout, f"{which}{name}.aclose()", half.aclose())
                except AssertionError:
                    raise
                except Exception as error:
                    raise AssertionError(f"{which}{name}.aclose() raised {error!r}") from error

    # -- the loudspeaker

    @property
    def written(self) -> float:
        """Seconds."""
        return self.cursor / self.rate

    def look(self) -> float:
        """`played`, which never decreases."""
        played = self.output.played
        last = self._looks[-1][1] if self._looks else 0.0
        require(played >= last - 1e-9, f"played decreased from {last:.4f} s to {played:.4f} s")
        self._looks.append((self.now(), played))
        return played

    async def watch(self, duration: float) -> None:
        """Let time pass, and write nothing."""
        end = self.now() + duration
        while self.now() < end - 1e-9:
            await asyncio.sleep(min(_TICK, end - self.now()))
            self.look()

    def write(self, until: float) -> None:
        """Write what a session would write now, up to the instant `until` of the sweep."""
        ahead = self.written - self.dropped - self.look()
        if ahead > self.output.lead / 2:
            return
        end = min(round(until * self.rate), self.cursor + int((self.output.lead - ahead) * self.rate))
        if end > self.cursor:
            self.output.write(piece(self.rate, self.cursor, end))
            self.cursor = end

    async def play(self, until: float, *, written_to: float | None = None) -> None:
        """Write, until `until` seconds in all were played. The last instant written is `written_to`, or that one."""
        patience = self.now() + until + self.latency + self.timeout
        expected = until - 0.5 / self.rate
        while self.look() < expected:
            require(
                self.now() < patience,
                f"{self.written:.3f} s were written, {self.dropped:.3f} s of it thrown away, and played stays at"
                f" {self.output.played:.4f} s instead of {until:.4f}",
            )
            self.write(until + self.dropped if written_to is None else written_to)
            await asyncio.sleep(_TICK)

    def clear(self) -> float:
        """Throw away what is queued. Returns the instant of the sweep up to which it was played."""
        played = self.look()
        queued = self.written - self.dropped - played
        dropped = self.output.clear()
        self.near("clear(), which returns the length of what it threw away,", dropped, queued)
        again = self.output.clear()
        require(abs(again) < 0.5 / self.rate, f"a second clear() threw away another {again:.4f} s")
        self.dropped += dropped
        return self.written - dropped

    def settled(self, when: str) -> None:
        """What was written was played or thrown away, to the sample: sessions rely on it to find their place."""
        played = self.look()
        difference = self.written - self.dropped - played
        require(
            abs(difference) <= 0.5 / self.rate + 1e-9,
            f"{when}: {self.written:.4f} s were written and {self.dropped:.4f} s of it thrown away, so that played must"
            f" be {self.written - self.dropped:.4f} s, to the sample; got {played:.4f} s",
        )

    def near(self, what: str, seconds: float, expected: float, allowed: float | None = None) -> None:
        allowed = self.tolerance if allowed is None else allowed
        require(
            abs(seconds - expected) <= allowed,
            f"{what}: expected {expected:.3f} s, give or take {allowed:.3f}, got {seconds:.3f} s",
        )

    # -- the far ear

    async def ear(self) -> Ear:
        """What was heard, once the last of it has arrived."""
        await self.watch(self.latency + 2 * self.tolerance)
        return Ear(self.transport.heard())

    def silent(self, ear: Ear, start: float, end: float, when: str) -> None:
        """Nothing was heard between two times, but for what was on its way."""
        sound = ear.sounding(start + self.latency + self.tolerance, end)
        require(sound < 2 * BLOCK, f"{sound:.3f} s of sound were heard {when}")

    def in_order(self, ear: Ear, *stretches: tuple[float, float]) -> None:
        """These stretches of the sweep were heard, one after the other, and nothing else."""
        import numpy as np

        total = sum(end - start for start, end in stretches)
        points = ear.points()
        slack = self.tolerance + WINDOW / 2
        sounded = ear.sounded(self.now())
        self.near("what the far ear heard, without its silences,", sounded, total, self._slack(len(stretches) - 1))
        last = -slack
        for point in points:
            require(
                point.position >= last - slack,
                f"what was written must be heard in order: the instant {point.position:.3f} s of it came after"
                f" {last:.3f} s",
            )
            last = point.position
            require(
                any(start - slack <= point.position <= end + slack + self.latency for start, end in stretches),
                f"the instant {point.position:.3f} s of what was written was heard; only {_named(stretches)} should be",
            )
        for start, end in stretches:
            for instant in np.arange(start + 2 * WINDOW, end - 2 * WINDOW, WINDOW):
                require(
                    any(abs(point.position - instant) <= WINDOW + slack for point in points),
                    f"the instant {instant:.3f} s of what was written was not heard; all of {_named(stretches)}"
                    " should be",
                )
        if self.exact:
            self._same_samples(ear, stretches)

    def _same_samples(self, ear: Ear, stretches: Sequence[tuple[float, float]]) -> None:
        """As `in_order`, sample by sample. Where a clear cut a stretch short, the far ear says how long it was."""
        require(ear.rate == self.rate, f"the far ear is exact, so its rate is {self.rate} Hz; got {ear.rate} Hz")
        sound, played = ear.sound(), sweep(self.rate)
        wrong = f"the samples heard are not those of {_named(stretches)}, in order"
        *cut, whole = [[round(second * self.rate) for second in stretch] for stretch in stretches]
        length = whole[1] - whole[0]
        for start, end in cut:
            heard = len(sound) - length
            off = (heard - (end - start)) / self.rate
            require(-self.tolerance <= off <= self.tolerance + self.latency, f"{wrong}: {off:+.4f} s at the cut")
            require((sound[:heard] == played[start : start + heard]).all(), wrong)
            sound = sound[heard:]
        require(len(sound) == length and (sound == played[whole[0] : whole[1]]).all(), wrong)

    @property
    def hurry(self) -> float:
        """Seconds within which an order has reached the far end, and what came of it is known here."""
        return self.tolerance + 2 * self.latency

    def _slack(self, cuts: int) -> float:
        """Seconds by which what was heard may differ from what was counted: at a cut, sound is on its way."""
        return self.tolerance + 2 * BLOCK + cuts * (self.tolerance + self.latency)

    def counted(self, ear: Ear, *, cuts: int = 0) -> None:
        """At no time did `played` count what had not sounded, nor lag far behind."""
        slack = self._slack(cuts)
        for at, played in self._looks:
            sounded = ear.sounded(at)
            require(
                played <= sounded + slack + self.latency,
                f"played was {played:.3f} s when the far ear had heard {sounded:.3f} s: it counts what did not sound",
            )
            require(
                played >= sounded - slack - self.latency,
                f"played was {played:.3f} s when the far ear had heard {sounded:.3f} s: it lags behind",
            )


def _named(stretches: Sequence[tuple[float, float]]) -> str:
    return " and ".join(f"{start:.3f}-{end:.3f} s" for start, end in stretches)


# -- the promises of the loudspeaker


async def _check_playing(line: _Line) -> None:
    await line.play(1.2)
    line.settled("when all was played")
    ear = await line.ear()
    line.counted(ear)
    line.in_order(ear, (0.0, 1.2))
    line.near("from the first sound to the last of 1.2 s, played without a gap,", ear.span, 1.2)
    line.settled("a while after all was played")


async def _check_pause(line: _Line) -> None:
    await line.play(0.5, written_to=1.2)
    line.output.pause()
    line.output.pause()
    at, paused = line.now(), line.look()
    await line.watch(0.5)
    line.near("played, 0.5 s after pause(),", line.look(), paused, line.hurry)
    resumed = line.now()
    line.output.resume()
    line.output.resume()
    await line.play(1.2)
    line.settled("when all was played, a pause behind it")
    ear = await line.ear()
    line.silent(ear, at, resumed, "in a pause")
    line.counted(ear)
    line.in_order(ear, (0.0, 1.2))
    line.near("from the first sound to the last of 1.2 s with a pause of 0.5 s", ear.span, 1.2 + resumed - at)


async def _check_clear(line: _Line) -> None:
    await line.play(0.5, written_to=1.2)
    at = line.now()
    cut, again = line.clear(), line.written
    await line.watch(0.4)
    line.near("played, after clear(), which throws away and does not play,", line.look(), cut)
    line.settled("0.4 s after clear()")
    cleared = line.now()
    await line.play(cut + 0.5)
    line.settled("when all was played that was written behind clear()")
    ear = await line.ear()
    line.silent(ear, at, cleared, "after clear()")
    line.counted(ear, cuts=1)
    line.in_order(ear, (0.0, cut), (again, again + 0.5))


async def _check_clear_in_a_pause(line: _Line) -> None:
    """As a session goes back to the start of the cut word: clear in a pause, and write on in the same instant."""
    await line.play(0.5, written_to=1.2)
    line.output.pause()
    at = line.now()
    await line.watch(0.3)
    cleared = line.now()
    cut, again = line.clear(), line.written
    try:
        await line.play(cut + 0.5)
    except AssertionError as error:
        raise AssertionError(f"after clear() in a pause, which must end the pause: {error}") from None
    line.settled("when all was played that was written behind clear() in a pause")
    ear = await line.ear()
    line.silent(ear, at, cleared, "in a pause that clear() ended")
    line.counted(ear, cuts=1)
    line.in_order(ear, (0.0, cut), (again, again + 0.5))


async def _check_clear_while_sounding(line: _Line) -> None:
    """As a session replaces what it says: clear, and write on in the same instant."""
    await line.play(0.5, written_to=1.2)
    cut, again = line.clear(), line.written
    await line.play(cut + 0.5)
    line.settled("when all was played that was written at once behind clear()")
    ear = await line.ear()
    line.counted(ear, cuts=1)
    line.in_order(ear, (0.0, cut), (again, again + 0.5))
    line.near("from the first sound to the last, with a clear between them,", ear.span, cut + 0.5, line.hurry)


# -- the promises of the microphone


async def _check_microphone(line: _Line) -> None:
    rate = line.transport.microphone_rate
    frames = line.microphone.frames
    begun = line.now()
    await within(line.timeout, "speak()", line.transport.speak(utterance(rate)))
    while Ear(_joined(frames)).sounded(line.now()) < _UTTERANCE - line.tolerance or line.now() < begun + 1.0:
        if line.now() > begun + _UTTERANCE + line.latency + line.timeout:
            break
        await line.watch(0.1)
    await line.watch(0.2)
    require(frames, "the microphone gave no frames")
    _check_pace(line)
    _check_words(line)
    require(not line.microphone.ended, "on_end was called, and nobody had hung up")
    await within(line.timeout, "hang_up()", line.transport.hang_up())
    deadline = line.now() + line.timeout
    while not line.microphone.ended:
        require(line.now() < deadline, f"on_end was not called within {line.timeout:g} s after the far end hung up")
        await line.watch(_TICK)
    given = len(frames)
    await line.watch(0.2)
    await line.close()
    await line.watch(0.1)
    require(len(frames) == given, f"{len(frames) - given} frames came after on_end")
    require(len(line.microphone.ended) == 1, f"on_end must be called once, got {len(line.microphone.ended)} calls")


def _joined(frames: Sequence[tuple[float, AudioFrame]]) -> list[Heard]:
    """The microphone's frames as one unbroken sound, which is what they stand for."""
    if not frames:
        return []
    first = frames[0][0] - frames[0][1].duration
    heard: list[Heard] = []
    for _, frame in frames:
        heard.append(Heard(first, frame))
        first += frame.duration
    return heard


def _check_pace(line: _Line) -> None:
    frames = line.microphone.frames
    for _, frame in frames:
        require(
            0 < frame.duration <= 0.1,
            f"a microphone's frame must be short, at most 0.1 s: turns are taken by it; got {frame.duration:.3f} s",
        )
    start = frames[0][0]
    audio = 0.0
    allowed = line.tolerance + line.latency + _TICK
    for at, frame in frames[1:]:
        audio += frame.duration
        require(
            abs(audio - (at - start)) <= allowed,
            f"the microphone must keep the pace of real time without holes: {at - start:.3f} s after its first frame"
            f" it had given {audio:.3f} s, and {allowed:.3f} s are allowed between them",
        )
    behind = line.now() - frames[-1][0]
    require(behind <= allowed + _TICK, f"the microphone fell silent: its last frame came {behind:.3f} s ago")


def _check_words(line: _Line) -> None:
    import numpy as np

    rate = line.transport.microphone_rate
    ear = Ear(_joined(line.microphone.frames))
    sounded = ear.sounded(line.now() + _UTTERANCE)
    line.near("what the microphone picked up of an utterance", sounded, _UTTERANCE, line.tolerance + 2 * BLOCK)
    if line.exact:
        require(ear.rate == rate, f"the microphone is exact, so its rate is {rate} Hz; got {ear.rate} Hz")
        require(
            np.array_equal(ear.sound(), sweep(rate)[: round(_UTTERANCE * rate)]),
            "the samples that the microphone picked up are not those that were spoken",
        )
    points = ear.points()
    wanted = np.arange(2 * WINDOW, _UTTERANCE - 2 * WINDOW, WINDOW)
    found = [any(abs(point.position - instant) <= 1.5 * WINDOW for point in points) for instant in wanted]
    require(
        sum(found) >= _LEAST_COVERED * len(found),
        f"of the utterance, {sum(found)} of {len(found)} pieces can be recognised in what the microphone picked up",
    )
    last = 0.0
    for point in points:
        require(
            point.position >= last - 2 * WINDOW,
            f"the microphone must give in order what is spoken: {point.position:.3f} s of it came after {last:.3f} s",
        )
        last = max(last, point.position)


# -- the end


async def _check_close(line: _Line) -> None:
    await within(line.timeout, "speak()", line.transport.speak(utterance(line.transport.microphone_rate)))
    await line.play(0.4, written_to=1.2)
    await line.close()
    at, given, played = line.now(), len(line.microphone.frames), line.look()
    try:
        line.output.write(piece(line.rate, line.cursor, line.cursor + line.rate // 5))
        line.output.pause()
        line.output.resume()
        line.output.clear()
        line.output.write(piece(line.rate, line.cursor, line.cursor + line.rate // 5))
    except Exception as error:
        raise AssertionError(f"after AudioOutput.aclose() the output must be deaf, not raise; got {error!r}") from error
    await line.watch(0.5)
    require(
        len(line.microphone.frames) == given,
        f"{len(line.microphone.frames) - given} frames came after AudioInput.aclose()",
    )
    require(not line.microphone.ended, "on_end was called after AudioInput.aclose(), or before, by nobody")
    line.near("played, after AudioOutput.aclose(),", line.look(), played)
    line.silent(Ear(line.transport.heard()), at, line.now(), "after AudioOutput.aclose()")
