"""The caller's voice: frames of 20 ms, without holes once it has begun, whatever becomes of the track.

Who listens (a voice activity detector first of all) measures pauses in samples. While a track lives, LiveKit gives
sound without holes, silence included; between two tracks (a caller who reconnects, or changes the microphone) it gives
nothing. So when nothing has come for `STALL` seconds, silence goes on at the pace of real time until sound comes again.

Above: the session. Below: nothing; `caller` gives it what it reads from the track.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.transport import AudioInput

FRAME = 0.02
"""Seconds of a frame. Longer ones delay every turn by as much, shorter ones cost twice the wake-ups."""
STALL = 0.3
"""Seconds without sound after which silence stands in for the caller."""
START = 10.0
"""Seconds for which a recording waits for the session to start."""
LATE = 0.05
"""Seconds by which a timer may be late on a busy machine."""


class LiveKitInput(AudioInput):
    """The caller's microphone, mono at `sample_rate` Hz. What a track gives before `start` is not kept."""

    def __init__(self, *, sample_rate: int = 16_000) -> None:
        self.sample_rate = sample_rate
        self._on_frame: Callable[[AudioFrame], None] | None = None
        self._on_end: Callable[[], None] | None = None
        self._silence = AudioFrame(bytes(2 * round(FRAME * sample_rate)), sample_rate)
        self._started = asyncio.Event()
        self._heard_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self, on_frame: Callable[[AudioFrame], None], on_end: Callable[[], None]) -> None:
        if self._started.is_set():
            raise UsageError("LiveKitInput.start: it has been started before; make a new call for each session")
        self._on_frame, self._on_end = on_frame, on_end
        self._started.set()

    def hear(self, data: bytes) -> None:
        """The next 16-bit samples of the caller's track. For `caller`."""
        if self._on_frame is None:
            return
        loop = asyncio.get_running_loop()
        self._heard_at = loop.time()
        if self._timer is None:
            self._timer = loop.call_at(self._heard_at + STALL, self._check_stall, self._heard_at + STALL)
        self._on_frame(AudioFrame(data, self.sample_rate))

    async def hear_recorded(self, data: bytes) -> None:
        """What was said before the call, as 16-bit samples: it is kept until `start`, and heard at once. For `caller`.

        Returns when the track's own sound may follow. A session that has not started within `START` seconds hears none.
        """
        try:
            async with asyncio.timeout(START):
                await self._started.wait()
        except TimeoutError:
            return
        size = 2 * round(FRAME * self.sample_rate)
        for start in range(0, len(data), size):
            self.hear(data[start : start + size])
            await asyncio.sleep(0)  # other calls go on meanwhile

    def end(self) -> None:
        """The caller has gone for good. Later calls do nothing."""
        on_end = self._on_end
        self._stop()
        if on_end is not None:
            on_end()

    async def aclose(self) -> None:
        self._stop()

    def _stop(self) -> None:
        self._on_frame = self._on_end = None
        if self._timer is not None:
            self._timer.cancel()

    def _check_stall(self, when: float) -> None:
        """Stand in with a frame of silence if nothing has come, and look again one frame later."""
        if self._on_frame is None:
            return
        loop = asyncio.get_running_loop()
        if loop.time() > when + LATE:
            # This program stalled, not the line: what came meanwhile has yet to be read.
            self._heard_at = loop.time()
        again = self._heard_at + STALL
        if when >= again:
            self._on_frame(self._silence)
            again = when + FRAME
        self._timer = loop.call_at(again, self._check_stall, again)
