"""The two audio halves of a call whose other end is a page behind a WebSocket.

Above: whoever holds the socket (`console/`). It feeds what the page sends to `push` and `report`, and is given what the
page shall play through a `PlayoutLine`. Neither half knows the socket, its messages, or what a call is about.

The page plays from a ring of its own and reports how much of it has sounded. Between two reports the position goes on
by the clock, so that captions and interruptions are exact to a few milliseconds, but never far: a page that has fallen
silent does not hear.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal, Protocol

from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.transport import AudioInput, AudioOutput, check_frame

TRUST = 0.1
"""Seconds that the position goes on by the clock after a report. The page reports every 20 to 40 ms."""


class PlayoutLine(Protocol):
    """The way to the page's loudspeaker. Nothing here waits, and order is kept."""

    def send_audio(self, data: bytes) -> None:
        """16-bit samples, to be played behind what is queued."""

    def send_playout(self, command: Literal["pause", "resume", "clear"], epoch: int) -> None:
        """Stop at once and keep what is queued; go on; or throw it away, which begins an epoch."""


class WebSocketInput(AudioInput):
    """A microphone in a page. What comes before the call starts, or after its end, is dropped."""

    def __init__(self, *, sample_rate: int) -> None:
        self.sample_rate = sample_rate
        self._on_frame: Callable[[AudioFrame], None] | None = None
        self._on_end: Callable[[], None] | None = None

    def start(self, on_frame: Callable[[AudioFrame], None], on_end: Callable[[], None]) -> None:
        if self._on_frame is not None:
            raise UsageError("WebSocketInput.start: it has been started before; make a new one for each call")
        self._on_frame, self._on_end = on_frame, on_end

    def push(self, data: bytes) -> None:
        """The next 16-bit mono samples from the page. Raises `UsageError` if they are not whole."""
        if self._on_frame is not None and self._on_end is not None:
            self._on_frame(AudioFrame(data, self.sample_rate))

    def end(self) -> None:
        """The page is gone. Later calls do nothing."""
        on_end, self._on_end = self._on_end, None
        if on_end is not None:
            on_end()

    async def aclose(self) -> None:
        self._on_frame = self._on_end = None


class WebSocketOutput(AudioOutput):
    """The loudspeaker of a page."""

    lead = 0.6  # a cut costs nothing, since the page drops what it holds at once; and networks and loops stall

    def __init__(self, line: PlayoutLine, *, sample_rate: int) -> None:
        self.sample_rate = sample_rate
        self.epoch = 0
        """Grows with every `clear`: reports of an earlier one say nothing about what is queued now."""
        self._line = line
        self._before = 0
        """Samples played in earlier epochs."""
        self._written = 0
        """Samples written in this epoch."""
        self._position = 0.0
        """Samples of this epoch that have sounded, as far as told or shown. Never decreases within the epoch."""
        self._reported: tuple[float, int] | None = None
        """When the page last reported, and the position then. None: the clock says nothing."""
        self._paused = False
        self._closed = False

    def write(self, frame: AudioFrame) -> None:
        check_frame(frame, self.sample_rate, "WebSocketOutput")
        if self._closed or not frame.data:
            return
        self._catch_up()
        if self._position >= self._written:
            self._reported = None  # it was silent: when the page begins to play this, it will say
        self._written += frame.samples_per_channel
        self._line.send_audio(frame.data)

    def report(self, epoch: int, samples: int) -> None:
        """The page has played so many samples since that epoch began. Old and impossible news is ignored."""
        if epoch != self.epoch or not 0 <= samples <= self._written:
            return
        self._catch_up()
        self._position = max(self._position, float(samples))
        self._reported = None if self._paused else (_now(), samples)

    @property
    def played(self) -> float:
        self._catch_up()
        return (self._before + int(self._position)) / self.sample_rate

    def pause(self) -> None:
        if self._paused or self._closed:
            return
        self._catch_up()
        self._paused = True
        self._reported = None
        self._line.send_playout("pause", self.epoch)

    def resume(self) -> None:
        if not self._paused or self._closed:
            return
        self._paused = False
        self._line.send_playout("resume", self.epoch)

    def clear(self) -> float:
        self._catch_up()
        played = int(self._position)
        lost = self._written - played
        if not self._written and not self._paused:
            return 0.0
        self._before += played
        self._written = 0
        self._position = 0.0
        self._reported = None
        self._paused = False
        self.epoch += 1
        if not self._closed:
            self._line.send_playout("clear", self.epoch)
        return lost / self.sample_rate

    async def aclose(self) -> None:
        self.clear()
        self._closed = True

    def _catch_up(self) -> None:
        """Let the position go on by the clock, as far as the last report is good for."""
        if self._reported is not None:
            at, samples = self._reported
            due = samples + min(_now() - at, TRUST) * self.sample_rate
            self._position = max(self._position, min(due, float(self._written)))


def _now() -> float:
    return asyncio.get_running_loop().time()
