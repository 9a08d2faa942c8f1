"""Who kept the event loop waiting: the tool, and the line of the user's code.

While a line of Python waits or works, nothing else of the process runs: no call hears, thinks or speaks. Nothing in the
loop can see that, so a thread looks at it from outside: it asks the loop for a sign, and where none comes in time it
looks which line the loop's thread is at. A loop that is not watched costs nothing.

Above: `antiphon dev`, and whoever wants it for their own process. Below: the frames of a thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import linecache
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType

from antiphon.calls.where import AGENT_MODULE, as_typed, is_users
from antiphon.tools.function import tool_at

logger = logging.getLogger("antiphon")

LIMIT = 0.1
"""Seconds without a sign from which on it is told: twice what a caller notices in the sound."""
PAUSE = 0.05
"""Seconds between a sign and the next."""


@dataclass(slots=True, frozen=True)
class Blocked:
    """The event loop was kept waiting."""

    seconds: float
    tool: str
    """The name of the tool that ran; "": none did."""
    place: str
    """The user's line, as "agent.py:12"; "": none was on the way."""
    line: str
    """What stands there."""

    def __str__(self) -> str:
        who = f"tool {self.tool!r}" if self.tool else "code of yours"
        at = f" at {self.place}: {self.line}" if self.place else ""
        return (
            f"{who} blocked the event loop for {self.seconds:.2f} s{at}. No call of this process heard or spoke"
            " meanwhile. Await it, or run it in a thread: await asyncio.to_thread(...)"
        )


@contextlib.contextmanager
def watched_loop(told: Callable[[Blocked], None] | None = None, *, limit: float = LIMIT) -> Iterator[None]:
    """Watch the running loop. What keeps it for `limit` seconds or more is told: to the log, or to `told`.

    `told` is called in the loop, after it goes on. What is not on the way through the user's code is not told.
    """
    watch = _Watch(asyncio.get_running_loop(), told or _log, limit)
    watch.start()
    try:
        yield
    finally:
        watch.stop()


class _Watch:
    def __init__(self, loop: asyncio.AbstractEventLoop, told: Callable[[Blocked], None], limit: float) -> None:
        self._loop = loop
        self._told = told
        self._limit = limit
        self._loops_thread = threading.get_ident()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="antiphon loop watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """The thread ends by itself, soon: who leaves does not wait for it."""
        self._over.set()

    def _look(self) -> None:
        while not self._over.wait(PAUSE):
            sign = threading.Event()
            asked = time.monotonic()
            try:
                self._loop.call_soon_threadsafe(sign.set)
            except RuntimeError:  # the loop is closed
                return
            if sign.wait(self._limit):
                continue
            found = self._blocking()
            while not sign.wait(self._limit):
                if self._over.is_set():
                    return
            if found is not None:
                tool, place, line = found
                blocked = Blocked(time.monotonic() - asked, tool, place, line)
                with contextlib.suppress(RuntimeError):
                    self._loop.call_soon_threadsafe(self._told, blocked)

    def _blocking(self) -> tuple[str, str, str] | None:
        """The tool and the line that the loop's thread is at; None if it is in nothing of the user's."""
        frame: FrameType | None = sys._current_frames().get(self._loops_thread)
        tool = place = line = ""
        while frame is not None and not tool:
            path = frame.f_code.co_filename
            if not place and (is_users(path) or str(frame.f_globals.get("__name__")).startswith(AGENT_MODULE)):
                place = f"{as_typed(path)}:{frame.f_lineno}"
                line = linecache.getline(path, frame.f_lineno).strip()
            tool = tool_at(frame)
            frame = frame.f_back
        return (tool, place, line) if tool or place else None


def _log(blocked: Blocked) -> None:
    logger.warning("%s", blocked)
