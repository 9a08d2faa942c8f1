"""The process of a command: it ends when it is told to, and keeps what there is of a call.

Above: `main.py`, which runs each command here. Below: nothing. This is the one owner of signals. The first signal
cancels the command, which then puts away what it has: its calls wait for tools that write. A second one hastens these
calls; a third, or a second where there is nothing to hasten, ends the process at once. Code of the application that
does not let itself be cancelled (a task, an asynchronous generator, a thread) is left behind after a while.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any, Protocol, TypeAlias

STOP_LIMIT = 30.0
"""Seconds that a command has, once it was told to end, until the process ends whatever it does; calls have more."""
HASTE_LIMIT = 15.0
"""Seconds that it has once it was told so twice."""
DEAF_LIMIT = 1.0
"""Seconds that tasks have to end when the command is over; generators have as long again."""
EXIT_LIMIT = 3.0
"""Seconds that threads can keep a process that has nothing more to do."""

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))

_Handler: TypeAlias = Callable[[int, FrameType | None], Any] | int | None

_last_acts: list[Callable[[], None]] = []
"""What is done when the process ends at once: terminals are given back, secrets removed."""

_more_time: list[float] = []
"""Seconds that commands asked for beyond `STOP_LIMIT`."""


class Call(Protocol):
    """A call, from the process's point of view."""

    @property
    def write_grace(self) -> float:
        """Seconds that tools that write have when it is over."""

    def hasten(self) -> None:
        """Have it end now."""


_calls: list[Call] = []
"""Those that are held, until their sessions are closed."""


class CommandFailed(Exception):
    """What was wrong has been told, by somebody else. `code` is the exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(f"exit code {code}")
        self.code = code


class Stopping:
    """Whether the command was told to end, and by what."""

    def __init__(self) -> None:
        self.by: int | None = None
        """The first signal that came."""
        self.is_under_way = False
        """The loop has taken notice."""
        self.is_hastened = False
        """A second signal came."""

    @property
    def exit_code(self) -> int:
        """What shells expect of a program that a signal ended: 130 for Ctrl-C."""
        return 128 + (self.by or signal.SIGINT)


@contextlib.contextmanager
def told_by_signals() -> Iterator[Stopping]:
    """Inside, the first SIGINT, SIGTERM or SIGHUP cancels the current task, and a second hastens the calls.

    A third ends the process at once; so does the second where there is no call, or the loop is blocked.
    A SIGHUP that was ignored before stays ignored: so `nohup` works. Outside the main thread signals are not ours.
    """
    stopping = Stopping()
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None

    # Not the loop's own handlers: these would wait until a callback that blocks the loop has returned.
    def told(number: int, _: FrameType | None) -> None:
        if stopping.by is None:
            stopping.by = number
            loop.call_soon_threadsafe(begin)
            _end_later(STOP_LIMIT + sum(_more_time) + longest_write_grace(), stopping.exit_code, over)
        elif _calls and stopping.is_under_way and not stopping.is_hastened:
            stopping.is_hastened = True
            loop.call_soon_threadsafe(_hasten)
            _end_later(HASTE_LIMIT, stopping.exit_code, over)
        else:
            end_at_once(128 + number)

    def begin() -> None:
        stopping.is_under_way = True
        task.cancel()

    over = threading.Event()
    before = {}
    if threading.current_thread() is threading.main_thread():
        wanted = [one for one in _SIGNALS if one == signal.SIGINT or signal.getsignal(one) is not signal.SIG_IGN]
        before = {number: signal.signal(number, told) for number in wanted}
    try:
        yield stopping
    finally:
        over.set()
        for number, handler in before.items():
            signal.signal(number, handler if stopping.by is None else _until_the_end(handler))


def _until_the_end(handler: _Handler) -> Callable[[int, FrameType | None], None]:
    """The handler, while the program goes on. Whoever is impatient while threads keep its end has it end at once."""

    def told(number: int, frame: FrameType | None) -> None:
        if _is_interpreter_ending():
            end_at_once(128 + number)
        if callable(handler):
            handler(number, frame)
        elif handler != signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    return told


@contextlib.contextmanager
def holding(call: Call) -> Iterator[None]:
    """While the block runs, the command holds the call: it has time to end, and a second signal hastens it."""
    _calls.append(call)
    try:
        yield
    finally:
        _calls.remove(call)


def longest_write_grace() -> float:
    """Seconds that the calls that are held may need beyond their own end."""
    return max((call.write_grace for call in _calls), default=0.0)


def _hasten() -> None:
    for call in _calls:
        call.hasten()


@contextlib.contextmanager
def ending_takes(seconds: float) -> Iterator[None]:
    """While the block runs, a command that is told to end has so many seconds more: calls come to their end."""
    _more_time.append(seconds)
    try:
        yield
    finally:
        _more_time.remove(seconds)


@contextlib.contextmanager
def on_sudden_end(act: Callable[[], None]) -> Iterator[None]:
    """While the block runs, `act` is called if the process ends at once."""
    _last_acts.append(act)
    try:
        yield
    finally:
        _last_acts.remove(act)


def end_at_once(code: int) -> None:
    """End the process now, whatever it does. Terminals are given back, and nothing else is put away."""
    for act in reversed(_last_acts):
        with contextlib.suppress(Exception):
            act()
    os._exit(code)


def run_to_its_end(work: Coroutine[None, None, int]) -> int:
    """Run a command on a loop of its own and return its exit code. What it leaves behind cannot keep the process."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    # Ours, because closing the loop's own would wait for threads that may never return.
    threads = ThreadPoolExecutor(thread_name_prefix="antiphon")
    loop.set_default_executor(threads)
    code = 1
    try:
        code = loop.run_until_complete(work)
        return code
    finally:
        _put_away(loop)
        threads.shutdown(wait=False, cancel_futures=True)
        asyncio.set_event_loop(None)
        loop.close()
        _leaving.watch(code)


def _put_away(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel what still runs on the loop; tasks and generators that stay deaf are left behind."""
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        _, deaf = loop.run_until_complete(asyncio.wait(tasks, timeout=DEAF_LIMIT))
        _left_behind.extend(deaf)
    closing = loop.create_task(loop.shutdown_asyncgens())
    _, deaf = loop.run_until_complete(asyncio.wait([closing], timeout=DEAF_LIMIT))
    _left_behind.extend(deaf)


_left_behind: list[object] = []
"""Kept, because a task that is collected while it waits complains."""


def _end_later(seconds: float, code: int, over: threading.Event) -> None:
    """End the process in so many seconds, unless the command is `over` before."""

    def wait() -> None:
        if not over.wait(seconds):
            print(f"antiphon: did not end within {seconds:g} s, and was ended.", file=sys.stderr, flush=True)
            end_at_once(code)

    threading.Thread(target=wait, name="antiphon end", daemon=True).start()


class _Leaving:
    """From when the interpreter begins to end, threads that it waits for have `EXIT_LIMIT` seconds.

    A program that goes on after its command goes on.
    """

    def __init__(self) -> None:
        self._code = 0
        self._thread: threading.Thread | None = None

    def watch(self, code: int) -> None:
        """The command has ended with this exit code."""
        self._code = code
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="antiphon exit", daemon=True)
            self._thread.start()

    def _watch(self) -> None:
        while not _is_interpreter_ending():
            time.sleep(0.1)
        time.sleep(EXIT_LIMIT)
        names = ", ".join(t.name for t in threading.enumerate() if not t.daemon and t is not threading.main_thread())
        print(f"antiphon: threads still ran, and were ended: {names}", file=sys.stderr, flush=True)
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        end_at_once(self._code)


_leaving = _Leaving()


def _is_interpreter_ending() -> bool:
    """Whether the main thread is past the program's last line, where it waits for other threads."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None and frame.f_back is not None:
        frame = frame.f_back
    # There is no other sign of it before those threads have ended.
    return frame is None or (frame.f_globals.get("__name__"), frame.f_code.co_name) == ("threading", "_shutdown")
