"""The sound of a segment: what was made, what the loudspeaker was given, and what was heard.

Above: `synthesis`, which fills it, and `playout`, which plays it. Below: nothing. Positions are samples from the
segment's beginning; `played` and `end` are seconds on the loudspeaker's clock.
"""

from __future__ import annotations

import asyncio
import math

from antiphon.audio import AudioFrame, Resampler

MAX_AHEAD = 30.0
"""Seconds of sound that a voice may make ahead of what was played of its segment."""


class Sound:
    """Mono, at the loudspeaker's rate. Whoever makes it waits for room; what is too old to go back to is forgotten."""

    __slots__ = ("_origin", "_pcm", "_resampler", "_rest", "_room", "base", "cursor", "rate")

    def __init__(self, rate: int) -> None:
        self.rate = rate
        self._pcm = bytearray()
        """From sample `base` on."""
        self.base = 0
        self.cursor = 0
        """Samples given to the loudspeaker."""
        self._origin: float | None = None
        """When sample 0 sounds; None: the next that is given decides."""
        self._rest = 0
        """The position while `_origin` is None."""
        self._resampler: Resampler | None = None
        """Only for sound of another rate: loading what it needs takes a while."""
        self._room: asyncio.Future[None] | None = None

    @property
    def total(self) -> int:
        """Samples made so far."""
        return self.base + len(self._pcm) // 2

    @property
    def is_given(self) -> bool:
        """The loudspeaker was given all that was made."""
        return self.cursor >= self.total

    # -- made

    def add(self, frame: AudioFrame) -> None:
        """The next piece."""
        if self._resampler is None and (frame.sample_rate != self.rate or frame.num_channels != 1):
            self._resampler = Resampler(self.rate)
        self._pcm += frame.data if self._resampler is None else self._resampler.push(frame).data

    def end(self) -> None:
        """No more will come."""
        if self._resampler is not None:
            self._pcm += self._resampler.flush().data

    async def wait_for_room(self) -> None:
        """Until less than `MAX_AHEAD` seconds are made ahead."""
        while self.total - self.cursor > MAX_AHEAD * self.rate:
            self._room = asyncio.get_running_loop().create_future()
            await self._room

    def cut_at(self, sample: int) -> None:
        """Forget what was to follow."""
        del self._pcm[2 * max(0, sample - self.base) :]
        self.cursor = min(self.cursor, sample)

    # -- played

    def take(self, seconds: float, end: float) -> AudioFrame | None:
        """The next for the loudspeaker, at most so much; None: there is none.

        `end`: when all that the loudspeaker has is played.
        """
        samples = min(self.total - self.cursor, int(seconds * self.rate))
        if samples <= 0:
            return None
        if self._origin is None:
            self._origin = end - self.cursor / self.rate
        start = 2 * (self.cursor - self.base)
        data = bytes(self._pcm[start : start + 2 * samples])
        self.cursor += len(data) // 2
        if self._room is not None and not self._room.done() and self.total - self.cursor < MAX_AHEAD * self.rate:
            self._room.set_result(None)
        return AudioFrame(data, self.rate)

    def position(self, played: float) -> int:
        """Samples that were heard."""
        if self._origin is None:
            return self._rest
        return min(self.cursor, max(0, round((played - self._origin) * self.rate)))

    def rewind(self, sample: int) -> None:
        """Play on from `sample`, which was not heard, or not well enough."""
        self.cursor = self._rest = max(sample, self.base)
        self._origin = None

    def take_back(self, played: float) -> None:
        """The loudspeaker was emptied, or is about to be: what it had not played is given again."""
        if self._origin is not None:
            self.rewind(self.position(played))

    def drop_before(self, sample: int) -> None:
        """Forget what is too old to go back to."""
        samples = sample - self.base
        if samples > 0:
            del self._pcm[: 2 * samples]
            self.base += samples


class Told:
    """What was told of the sound of a segment. Each method is True when it is news."""

    __slots__ = ("_has_sound", "_position", "_silent_since", "_started")

    def __init__(self) -> None:
        self._has_sound = False
        """There is sound that was not played yet."""
        self._started = False
        """It sounds."""
        self._silent_since: float | None = None
        """Since when nothing came that is owed."""
        self._position = 0
        """Samples that were heard."""

    def sounds(self) -> bool:
        """There is sound to be played, again."""
        news, self._has_sound = not self._has_sound, True
        return news

    def starts(self) -> bool:
        """It begins to sound, again."""
        news, self._started = not self._started, True
        return news

    def starves(self) -> bool:
        """It fell silent, and more of it is to come."""
        if not self._started:
            return False
        self._has_sound = self._started = False
        return True

    def has_progressed(self, position: int) -> bool:
        """More of it was heard than the core knows."""
        return position > self._position

    def progresses(self, position: int, samples: float) -> bool:
        """So many more samples were heard."""
        if position - self._position < samples:
            return False
        self._position = position
        return True

    def falls_silent(self, now: float, limit: float, *, is_owed: bool) -> bool:
        """No sound came for so long. `is_owed`: its text is all there, and it is to be heard."""
        if self._has_sound or not is_owed:
            self._silent_since = None
        elif self._silent_since is None:
            self._silent_since = now
        elif now - self._silent_since >= limit:
            self._silent_since = math.inf
            return True
        return False
