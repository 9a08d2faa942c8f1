"""Virtual time: an event loop whose clock jumps to the next timer when nothing is left to do.

`run_virtual` runs a coroutine on such a loop, in the place of `asyncio.run`. Sleeping costs nothing, times are exact
and the same on every run. Only the loop's clock is virtual: code under test must read `loop.time()`, not `time.time()`.

The loop also finds what a test would otherwise miss. It fails when everything waits for something that cannot come
any more, when tasks outlive the coroutine, and when a callback raised.

Threads (`asyncio.to_thread`, executors) run in real time: the clock stands still until they return, for at most
`THREAD_PATIENCE` real seconds at a time. Sockets get `SOCKET_PATIENCE` before each jump.
"""

from __future__ import annotations

import asyncio
import contextlib
import selectors
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, TypeVar

from typing_extensions import TypeVarTuple, Unpack

from antiphon.chat import Clock
from antiphon.errors import UsageError

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

THREAD_PATIENCE = 1.0
"""Real seconds that an outstanding thread may hold the clock; afterwards timers fire although it still runs."""
SOCKET_PATIENCE = 0.02
"""Real seconds that the network may hold the clock before each jump, while there are sockets."""

_SPIN_LIMIT = 200_000  # turns of the loop at one instant, after which something must be spinning
_OWN_FILES = 1  # the loop's own wake-up socket
_GRACE_TURNS = 3  # turns of the loop for tasks that are about to end when the coroutine returns


class VirtualTimeError(AssertionError):
    """A coroutine did not behave under virtual time. The message names the tasks concerned and where they wait."""


class Deadlock(VirtualTimeError):
    """Everything waits, and nothing that is still to happen can wake anything."""


class OutOfTime(VirtualTimeError):
    """The coroutine did not finish within its virtual time, or time no longer passes."""


class LeakedTasks(VirtualTimeError):
    """The coroutine returned while tasks that it started were still running."""


class CallbackFailed(VirtualTimeError):
    """A callback or a task that nobody awaits raised. The exception is the `__cause__`."""


class _VirtualSelector(selectors.BaseSelector):
    """A selector that never sleeps: it moves the clock by the time it was asked to wait."""

    def __init__(self, limit: float) -> None:
        self.now = 0.0
        self.limit = limit
        self.threads = 0
        """Calls to executors that have not returned."""
        self._real = selectors.DefaultSelector()
        self._files = 0
        self._turns = 0
        """Turns of the loop since the clock last moved."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        # Where there is nobody outside, only the clock moves, and nothing needs to be asked of the system.
        alone = not self.threads and self._files <= _OWN_FILES and timeout is not None
        ready = [] if alone else self._real.select(0)
        if ready or (timeout is not None and timeout <= 0):
            self._turns += 1
            if self._turns > _SPIN_LIMIT:
                self._turns = 0
                raise OutOfTime(f"the loop turned {_SPIN_LIMIT} times at {self.now:.3f} s and time does not pass")
            return ready
        self._turns = 0
        if patience := self._patience():
            ready = self._real.select(patience)
            if ready:
                return ready
        if timeout is None:
            raise Deadlock(f"nothing is ready and no timer is set at {self.now:.3f} s")
        if self.now + timeout > self.limit:
            raise OutOfTime(f"not finished after {self.limit:g} s of virtual time")
        self.now += timeout
        return []

    def jump(self, seconds: float) -> None:
        self.now += seconds

    def _patience(self) -> float:
        if self.threads:
            return THREAD_PATIENCE
        return SOCKET_PATIENCE if self._files > _OWN_FILES else 0.0

    def register(self, fileobj: FileDescriptorLike, events: int, data: Any = None) -> selectors.SelectorKey:
        key = self._real.register(fileobj, events, data)
        self._files = len(self._real.get_map())
        return key

    def unregister(self, fileobj: FileDescriptorLike) -> selectors.SelectorKey:
        key = self._real.unregister(fileobj)
        self._files = len(self._real.get_map())
        return key

    def modify(self, fileobj: FileDescriptorLike, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def get_map(self) -> Mapping[FileDescriptorLike, selectors.SelectorKey]:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time, which begins at 0. `limit` is the time at which it gives up. See `run_virtual`."""

    def __init__(self, limit: float = 3600.0) -> None:
        self._virtual = _VirtualSelector(limit)
        self.failures: list[dict[str, Any]] = []
        """What was reported to the exception handler: callbacks that raised, exceptions nobody retrieved."""
        super().__init__(self._virtual)
        self.set_exception_handler(lambda _, context: self.failures.append(context))

    def time(self) -> float:
        """Seconds of virtual time since the loop was made."""
        return self._virtual.now

    def jump(self, seconds: float) -> None:
        """Move the clock, whatever falls due on the way."""
        self._virtual.jump(seconds)

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Ts]], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """As in any loop. Virtual time stands still while the function runs, unless its future is cancelled."""
        future = super().run_in_executor(executor, func, *args)
        self._virtual.threads += 1
        future.add_done_callback(self._thread_returned)
        return future

    def _thread_returned(self, _: asyncio.Future[Any]) -> None:
        self._virtual.threads -= 1

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Wait for the threads that still run, in real time."""
        self._virtual.threads += 1
        try:
            await super().shutdown_default_executor()
        finally:
            self._virtual.threads -= 1


def run_virtual(coro: Coroutine[Any, Any, T], *, timeout: float = 3600.0) -> T:
    """Run a coroutine to its end in virtual time and return its result.

    `timeout` is in virtual seconds. Raises what the coroutine raises; `Deadlock` when nothing can happen any more,
    `OutOfTime` after `timeout`, `LeakedTasks` when tasks outlive the coroutine, and `CallbackFailed` when a callback
    or a task that nobody awaited raised. Raises `UsageError` inside a running loop.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        coro.close()
        raise UsageError("run_virtual: a loop is running here already; call run_virtual from a plain function")
    loop = VirtualLoop(timeout)
    runner = asyncio.Runner(loop_factory=lambda: loop)
    try:
        with _items_told_by(loop):
            runner.get_loop()  # makes it the current one
            result = _run(loop, coro)
    except BaseException:
        # What cannot be ended must not hide why it had to be.
        with contextlib.suppress(VirtualTimeError):
            runner.close()
        raise
    runner.close()
    if loop.failures:
        cause = loop.failures[0].get("exception")
        raise CallbackFailed("\n".join(map(_failure, loop.failures))) from cause
    return result


@contextlib.contextmanager
def _items_told_by(loop: VirtualLoop) -> Iterator[None]:
    """Items have their time from this loop: what is made later is later, as it is in real time."""
    real, began = Clock.wall, Clock.wall()
    Clock.wall = lambda: began + loop.time()
    try:
        yield
    finally:
        Clock.wall = real


def _run(loop: VirtualLoop, coro: Coroutine[Any, Any, T]) -> T:
    main = loop.create_task(_without_leaks(coro), name="main")
    try:
        return loop.run_until_complete(main)
    except VirtualTimeError as error:
        if main.done():  # raised by the coroutine itself, not by the loop
            raise
        pending = _describe(asyncio.all_tasks(loop))
        failed = "".join(f"\nBefore that, {_failure(context)}" for context in loop.failures)
        raise type(error)(f"{error}. Pending tasks:\n{pending}{failed}") from None


async def _without_leaks(coro: Coroutine[Any, Any, T]) -> T:
    result = await coro
    for _ in range(_GRACE_TURNS):
        await asyncio.sleep(0)
    if leaked := asyncio.all_tasks() - {asyncio.current_task()}:
        tasks = {task for task in leaked if task is not None}
        raise LeakedTasks(
            f"{len(tasks)} tasks are still running although the coroutine has returned; await or cancel them:\n"
            f"{_describe(tasks)}"
        )
    return result


def _describe(tasks: set[asyncio.Task[Any]]) -> str:
    lines = sorted(f"  {task.get_name()} waits {_place(task.get_coro())}" for task in tasks)
    return "\n".join(lines)


def _place(awaitable: Any) -> str:
    """Where a coroutine is suspended, innermost: file, line and function."""
    place = "outside Python code"
    while awaitable is not None:
        frame = getattr(awaitable, "cr_frame", None) or getattr(awaitable, "ag_frame", None)
        frame = frame or getattr(awaitable, "gi_frame", None)
        if frame is None:
            break
        place = f"in {frame.f_code.co_qualname} ({frame.f_code.co_filename}:{frame.f_lineno})"
        awaitable = getattr(awaitable, "cr_await", None) or getattr(awaitable, "ag_await", None)
    return place


def _failure(context: dict[str, Any]) -> str:
    error = context.get("exception")
    return f"{context.get('message', 'a callback failed')}: {error!r}"


def now() -> float:
    """The running loop's time, in seconds. Under `run_virtual` it begins at 0."""
    return asyncio.get_running_loop().time()


def stand_still(seconds: float) -> None:
    """Let virtual time pass at once, as where a callback blocks the loop or the machine sleeps. Under `run_virtual`."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, VirtualLoop):
        raise UsageError("stand_still: time can be moved under run_virtual only")
    loop.jump(seconds)


async def wait_until(condition: Callable[[], object], *, timeout: float = 10.0, interval: float = 0.01) -> None:
    """Wait until `condition()` is true, looking every `interval` seconds. Raises `OutOfTime` after `timeout`."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout
    while not condition():
        if loop.time() >= deadline:
            raise OutOfTime(f"wait_until: the condition did not come true within {timeout:g} s")
        await asyncio.sleep(interval)
