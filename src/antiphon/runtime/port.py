"""What a performer is given of the driver that it works for: it reports facts there, and has tasks run.

Above: performers, runs of tools, and the handles of the application. Below: the event loop. A port knows its driver and
does not keep it: what is over goes without the garbage collector, however long somebody keeps a run or a handle.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
import time
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from antiphon.chat import Clock
from antiphon.core.facts import Fact
from antiphon.options import SessionOptions
from antiphon.runtime.masks import Masks

logger = logging.getLogger("antiphon")

T = TypeVar("T")

THREAD_CALL_TIMEOUT = 10.0
"""Seconds that a tool's thread waits for the event loop to take a call of its."""


class Conversing(Protocol):
    """The driver, as far as those below it know it."""

    @property
    def is_closed(self) -> bool:
        """Nothing is performed any more."""

    def report(self, fact: Fact) -> None:
        """Something happened."""

    def new_id(self) -> int:
        """A number for a speech, a task, a turn or a response that the core did not begin."""

    def span(self, name: str, **data: object) -> None:
        """Tell observers of something that the core does not hear of."""


class Port:
    """One for each session, made on the event loop that runs it.

    `context` is what its tasks inherit. `mark` is in the ids of the call's items, which may end up among those of other
    calls.
    """

    __slots__ = (
        "_context",
        "_driver",
        "_tasks",
        "_thread",
        "clock",
        "epoch",
        "has_audio_output",
        "loop",
        "mark",
        "masks",
        "options",
    )

    def __init__(
        self,
        driver: Conversing,
        options: SessionOptions,
        context: contextvars.Context,
        *,
        mark: str,
        masks: Masks,
        has_audio_output: bool,
    ) -> None:
        self._driver = weakref.ref(driver)
        self._context = context
        self._tasks: set[asyncio.Task[Any]] = set()
        self._thread = threading.get_ident()
        self.loop = asyncio.get_running_loop()
        is_asyncios = getattr(self.loop.time, "__func__", None) is asyncio.BaseEventLoop.time
        self.clock: Callable[[], float] = time.monotonic if is_asyncios else self.loop.time
        """What `loop.time` asks, without the call between: every chunk of a model is timed by it."""
        self.epoch = Clock.wall() - self.loop.time()
        """To be added to the loop's clock: seconds since the Unix epoch."""
        self.options = options
        self.masks = masks
        """What must not be shown of the call."""
        self.mark = mark
        self.has_audio_output = has_audio_output
        """Somebody hears the agent."""

    # -- the driver

    def report(self, fact: Fact) -> None:
        """Tell the core what happened, and perform what it decides. Of a session that is gone nothing is heard."""
        driver = self._driver()
        if driver is not None:
            driver.report(fact)

    def new_id(self) -> int:
        """A number for a speech, a task, a turn or a response that the core did not begin."""
        driver = self._driver()
        return 0 if driver is None else driver.new_id()

    def span(self, name: str, **data: object) -> None:
        """Tell observers of something that the core does not hear of."""
        driver = self._driver()
        if driver is not None:
            driver.span(name, **data)

    @property
    def is_closed(self) -> bool:
        """The conversation is over: nothing is performed any more."""
        driver = self._driver()
        return driver is None or driver.is_closed

    # -- tasks and threads

    def spawn(self, work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        """Run `work` as a task of this session. It inherits nothing from the code that happens to run now."""
        task = self.loop.create_task(work, name=name, context=self._context.copy())
        self._tasks.add(task)
        task.add_done_callback(self._task_done)
        return task

    def _task_done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("task %r failed", task.get_name(), exc_info=error)

    def call_in_loop(self, function: Callable[[], T]) -> T:
        """Call `function` on the event loop and return its result: at once, or from the thread of a synchronous tool.

        There it has the thread's context. Raises `TimeoutError` if the loop does not take it in time.
        """
        if threading.get_ident() == self._thread:
            return function()
        answer: T | None = None
        error: BaseException | None = None
        done = threading.Event()

        def call() -> None:
            nonlocal answer, error
            try:
                answer = function()
            except BaseException as raised:  # it belongs to the thread that asked
                error = raised
            done.set()

        self.loop.call_soon_threadsafe(call, context=contextvars.copy_context())
        if not done.wait(THREAD_CALL_TIMEOUT):
            raise TimeoutError(f"the event loop did not take the call within {THREAD_CALL_TIMEOUT} s")
        if error is not None:
            raise error
        return answer  # type: ignore[return-value]  # set, since `done` is and `error` is not

    def cancel_tasks(self) -> None:
        """The session is over. Waits for nothing."""
        for task in tuple(self._tasks):
            task.cancel()

    async def wait_for_tasks(self, grace: float) -> None:
        """Until the cancelled tasks have ended, at most `grace` seconds. Those that stay deaf are abandoned."""
        own = asyncio.current_task()
        waiting = [task for task in self._tasks if task is not own]
        if not waiting:
            return
        _, deaf = await asyncio.wait(waiting, timeout=grace)
        for task in deaf:
            logger.warning("%r did not end within %s s of its cancellation and was abandoned", task.get_name(), grace)
