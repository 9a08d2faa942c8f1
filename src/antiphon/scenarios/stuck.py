"""A call in which nothing else can run: code that blocks its process is found, named, and cut off.

Virtual time cannot pass while a tool sleeps in the event loop or spins. Above: calls one after the other. Below: the
process's alarm clock, which only its main thread has; elsewhere, and on Windows, nobody is watched.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Self

from antiphon.calls.where import as_typed, is_users


class Stuck(BaseException):
    """Raised inside the code that blocks."""


class Watched:
    """While the block runs: whatever blocks the process for `seconds` of real time is cut off. `where` says what."""

    def __init__(self, seconds: float) -> None:
        self.where: list[str] = []
        self._seconds = seconds
        self._can = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()

    def __enter__(self) -> Self:
        if self._can:
            self._before = signal.signal(signal.SIGALRM, self._ring)
            signal.setitimer(signal.ITIMER_REAL, self._seconds, self._seconds)
        return self

    def __exit__(self, *_: object) -> None:
        if self._can:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, self._before)

    def _ring(self, _: int, frame: FrameType | None) -> None:
        self.where.append(_place(frame))
        raise Stuck


def _place(frame: FrameType | None) -> str:
    """The user's line that runs, or the innermost."""
    at = frame
    while at is not None and not is_users(at.f_code.co_filename):
        at = at.f_back
    at = at or frame
    if at is None:
        return "nowhere"
    return f"{as_typed(at.f_code.co_filename)}:{at.f_lineno}: {at.f_code.co_name}()"
