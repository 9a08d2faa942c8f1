"""Threads for synchronous tools.

Above: `function`, which runs a tool. Below: nothing. A tool that hangs is abandoned, and its thread with it. In a
pool, a handful of those would keep every other tool of the process waiting, and the process from ending: so each call
has a thread of its own, which nobody joins. There are as many as there are calls that have not returned.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

T = TypeVar("T")


class _ThreadPerCall(Executor):
    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:  # it belongs to whoever waits
                future.set_exception(_carried(error))
            else:
                future.set_result(result)

        threading.Thread(target=run, name="antiphon tool", daemon=True).start()
        return future


def _carried(error: BaseException) -> BaseException:
    """What a future can carry out of a thread.

    `StopIteration` would leave whoever waits waiting for ever, `GeneratorExit` would close them, and nobody presses
    Ctrl-C in a thread.
    """
    if isinstance(error, (StopIteration, GeneratorExit, KeyboardInterrupt)):
        carried = RuntimeError(f"the function raised {type(error).__name__}")
        carried.__cause__ = error
        return carried
    return error


_threads = _ThreadPerCall()


async def in_thread(call: Callable[[], T]) -> T:
    """Run `call` in a thread, with the caller's context variables, and return its result. Cancelling abandons it."""
    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(_threads, functools.partial(context.run, call))


async def in_thread_to_its_end(call: Callable[[], T]) -> T:
    """As `in_thread`, but it goes on when it is cancelled, as the thread does. Cancelling it twice abandons it."""
    running = asyncio.ensure_future(in_thread(call))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        return await running
