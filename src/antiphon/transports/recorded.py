"""Any line, recorded: wraps the two halves of a transport and writes what sounded into a `StereoRecorder`.

Above: a call that is to be recorded. Below: the transport's own halves, whose promises are passed on unchanged. When
the agent's sound was heard is known from `played` alone, so a piece is placed where the position says that it sounded.
"""

from __future__ import annotations

from collections.abc import Callable

from antiphon.audio import AudioFrame, Resampler
from antiphon.transport import AudioInput, AudioOutput
from antiphon.transports.recorder import Cut, StereoRecorder, Written

HOLE = 0.2
"""Seconds that the caller's sound may be late before silence takes its place."""
SEAM = 0.06
"""Seconds by which the position of sound that plays on may be off. It is placed without a gap."""


class RecordedInput(AudioInput):
    """A microphone whose sound is kept, at the recorder's `caller_rate`."""

    def __init__(self, source: AudioInput, recorder: StereoRecorder) -> None:
        self._source = source
        self._recorder = recorder
        self._heard = 0.0
        """Seconds of the caller's channel."""
        self._rate = Resampler(recorder.caller_rate)

    def start(self, on_frame: Callable[[AudioFrame], None], on_end: Callable[[], None]) -> None:
        self._recorder.begin()

        def keep(frame: AudioFrame) -> None:
            self._fill_hole(frame)
            self._recorder.hear_caller(self._rate.push(frame))
            self._heard += frame.duration
            on_frame(frame)

        self._source.start(keep, on_end)

    async def aclose(self) -> None:
        await self._source.aclose()

    def _fill_hole(self, frame: AudioFrame) -> None:
        late = self._recorder.now() - frame.duration - self._heard
        if late > HOLE:
            self._recorder.hear_caller(AudioFrame.silence(late, self._recorder.caller_rate))
            self._heard += late


class RecordedOutput(AudioOutput):
    """A loudspeaker whose sound is kept. Whoever asks for its position has it recorded up to there."""

    def __init__(self, output: AudioOutput, recorder: StereoRecorder) -> None:
        self.sample_rate = output.sample_rate
        self.lead = output.lead
        self.cuts: list[Cut] = []
        """What was thrown away unheard, oldest first."""
        self._output = output
        self._recorder = recorder
        self._waiting = Written()
        self._recorded = 0
        """Samples."""
        self._end = 0
        """The time line's sample behind the last that was recorded."""

    def start(self) -> None:
        self._recorder.begin()
        self._output.start()

    def write(self, frame: AudioFrame) -> None:
        self._output.write(frame)
        self._waiting.push(frame)

    @property
    def played(self) -> float:
        return self._record()

    def pause(self) -> None:
        self._output.pause()
        self._record()

    def resume(self) -> None:
        self._output.resume()

    def clear(self) -> float:
        self._record()
        dropped = self._output.clear()
        self._record()
        lost = min(dropped, self._waiting.speech / self.sample_rate)
        self._waiting.clear()
        if lost:
            self.cuts.append(Cut(self._recorder.now(), lost))
        return dropped

    async def aclose(self) -> None:
        self._record()
        await self._output.aclose()
        self._waiting.clear()

    def _record(self) -> float:
        """Put what has sounded since the last look on the time line, ending now. Returns the position."""
        played = self._output.played
        pieces = list(self._waiting.take(round(played * self.sample_rate) - self._recorded))
        if pieces:
            samples = sum(len(data) for data, _ in pieces) // 2
            self._recorded += samples
            start = round(self._recorder.now() * self.sample_rate) - samples
            if start < self._end + SEAM * self.sample_rate:
                start = self._end
            for data, speech in pieces:
                self._recorder.hear_agent(start, data, speech)
                start += len(data) // 2
            self._end = start
        return played
