"""When either side of a call could be heard, and when nobody was.

Above: `meter`. Below: nothing.
"""

from __future__ import annotations

from collections import deque

from antiphon.metrics import Stretch

SHORTEST_SILENCE = 0.03
"""Seconds below which a gap is no dead air: two segments may stand a heartbeat apart."""


class Sounds:
    """When either side could be heard."""

    __slots__ = ("_agent", "_caller", "_dry", "_past", "_paused", "_queue", "front")

    def __init__(self) -> None:
        self._past: deque[Stretch] = deque()
        self._caller: float | None = None
        """Since when the caller is heard."""
        self._agent: float | None = None
        """Since when the agent is heard."""
        self._queue: deque[int] = deque()
        """Segments that were begun, in order: the first sounds, the others are right behind it."""
        self._paused = False
        self._dry: int | None = None
        """The segment of which there is no sound at the moment."""
        self.front: int | None = None
        """The segment that is heard."""

    # -- the agent

    def began(self, segment: int, now: float) -> Stretch | None:
        if segment in self._queue:
            self._dry = None
        elif self._queue and self._queue[0] == self._dry:
            self._queue.appendleft(segment)
        else:
            self._queue.append(segment)
        return self._judge(now)

    def finished(self, segment: int, now: float) -> Stretch | None:
        if segment in self._queue:
            self._queue.remove(segment)
        return self._judge(now)

    def pause(self, now: float, *, paused: bool) -> Stretch | None:
        self._paused = paused
        return self._judge(now)

    def starved(self, segment: int, now: float) -> Stretch | None:
        self._dry = segment
        return self._judge(now)

    def _judge(self, now: float) -> Stretch | None:
        """Compare what is heard now with what was; the stretch of sound that ended now, if one did."""
        heard = self._queue[0] if self._queue and not self._paused and self._queue[0] != self._dry else None
        if heard == self.front:
            return None
        ended: Stretch | None = None
        if self._agent is not None and now > self._agent:
            ended = Stretch(self._agent, now)
            self._past.append(ended)
        self.front = heard
        self._agent = None if heard is None else now
        return ended

    # -- the caller

    def caller(self, now: float, *, speaks: bool) -> None:
        if self._caller is not None and now > self._caller:
            self._past.append(Stretch(self._caller, now))
        self._caller = now if speaks else None

    # -- silence

    def silences(self, since: float, until: float) -> tuple[Stretch, ...]:
        """When nobody was heard."""
        open_ends = [Stretch(began, until) for began in (self._caller, self._agent) if began is not None]
        found: list[Stretch] = []
        at = since
        for heard in sorted((*self._past, *open_ends), key=lambda one: one.started):
            if heard.started >= until:
                break
            if heard.started - at >= SHORTEST_SILENCE:
                found.append(Stretch(at, heard.started))
            at = max(at, heard.ended)
        if until - at >= SHORTEST_SILENCE:
            found.append(Stretch(at, until))
        return tuple(found)

    def forget(self, before: float) -> None:
        """Nobody will ask for what ended before."""
        while self._past and self._past[0].ended < before:
            self._past.popleft()
