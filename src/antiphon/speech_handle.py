"""`SpeechHandle`: what `say()` and `generate_reply()` return.

Above: application code that waits for speech or stops it. Below: the runtime, to which a handle reports what is
wanted of its speech; the application tells it what became of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Generator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from antiphon.chat import ChatItem
from antiphon.core.facts import InterruptibilityChanged, InterruptRequested
from antiphon.errors import UsageError, pass_on

if TYPE_CHECKING:
    from antiphon.runtime.port import Port
    from antiphon.runtime.run import Run

logger = logging.getLogger("antiphon")

DoneCallback = Callable[["SpeechHandle"], object]


class SpeechHandle:
    """One speech of the agent, with all its tool calls and the replies that follow from them.

    Awaiting it waits until it was played, stopped or given up, and never raises. It may be awaited many times.
    """

    __slots__ = (
        "_allow_interruptions",
        "_callbacks",
        "_chat_items",
        "_done",
        "_interrupted",
        "_port",
        "_steps",
        "_steps_done",
        "_stop",
        "_waiters",
        "number",
    )

    def __init__(self, port: Port, number: int, *, allow_interruptions: bool = True) -> None:
        self._port = port
        self.number = number
        """The core's number for it."""
        self._allow_interruptions = allow_interruptions
        self._interrupted = False
        self._done = False
        self._waiters: list[asyncio.Future[None]] = []
        """Futures of those who wait for its end."""
        self._stop: list[asyncio.Future[None]] = []
        """Futures of those who wait for its interruption."""
        self._callbacks: list[DoneCallback] = []
        self._chat_items: list[ChatItem] = []
        self._steps = 0
        self._steps_done: dict[int, asyncio.Future[None] | None] = {}
        """By generation: None once it was played, or the future of those who wait for it."""

    @property
    def id(self) -> str:
        """For example "speech_7"."""
        return f"speech_{self.number}"

    @property
    def num_steps(self) -> int:
        """How many responses the model has made for it, the one at hand included."""
        return self._steps

    @property
    def interrupted(self) -> bool:
        """True once it was cut, or will not be spoken at all."""
        return self._interrupted

    @property
    def chat_items(self) -> list[ChatItem]:
        """What it added to the history so far: messages, calls and outputs. A copy."""
        return list(self._chat_items)

    @property
    def allow_interruptions(self) -> bool:
        """Whether the caller may interrupt it. What they say meanwhile is kept and answered afterwards.

        Setting it to False raises `UsageError` once the speech has been interrupted.
        """
        return self._allow_interruptions

    @allow_interruptions.setter
    def allow_interruptions(self, value: bool) -> None:
        if self._interrupted and not value:
            raise UsageError(f"{self.id}: cannot disallow interruptions, it has been interrupted already")
        if value is not self._allow_interruptions:
            self._allow_interruptions = value
            self._port.call_in_loop(lambda: self._port.report(InterruptibilityChanged(self.number, value)))

    def done(self) -> bool:
        """True once it was played to its end, cut, or given up."""
        return self._done

    def interrupt(self, *, force: bool = False) -> SpeechHandle:
        """Stop it now. No effect once it is done.

        Raises `UsageError` if it does not allow interruptions, unless `force`.
        """
        if self._done:
            return self
        if not self._allow_interruptions and not force:
            raise UsageError(f"{self.id} does not allow interruptions; interrupt(force=True) stops it all the same")
        self._port.call_in_loop(lambda: self._port.report(InterruptRequested(self.number, force=force)))
        return self

    # -- waiting

    def __await__(self) -> Generator[Any, None, SpeechHandle]:
        yield from self.wait_for_playout().__await__()
        return self

    async def wait_for_playout(self) -> None:
        """Until it is done: all of it played, with its tools and the replies to them.

        Inside a tool of its own it would wait for itself: that raises `UsageError`, unless the tool went to the
        background.
        """
        if self._done:
            return
        run = _find_current_run()()
        if run is None or run.ended:
            await self._wait()
            return
        is_of_the_session = run.port is self._port
        if is_of_the_session and run.blocks(self.number):
            raise UsageError(
                f"tool {run.call.name!r} waits for the speech that waits for it ({self.id}). To wait for what was said"
                " before the call, use `await ctx.wait_for_playout()`."
            )
        with run.awaiting(self.number if is_of_the_session else None):
            await self._wait()

    async def _wait(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        finally:
            self._waiters.remove(waiter)

    async def wait_if_not_interrupted(self, futures: Sequence[asyncio.Future[Any]]) -> None:
        """Until all of `futures` are done, or the speech is interrupted. Cancels none of them."""
        if self._interrupted:
            return
        interruption: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stop.append(interruption)
        pending: set[asyncio.Future[Any]] = {f for f in futures if not f.done()}
        try:
            while pending and not interruption.done():
                await asyncio.wait({*pending, interruption}, return_when=asyncio.FIRST_COMPLETED)
                pending = {f for f in pending if not f.done()}
        finally:
            self._stop.remove(interruption)
            interruption.cancel()

    async def wait_for_step(self, gen: int) -> None:
        """Until the response `gen` of it, text and calls, was played."""
        if self._done or self._interrupted or (gen in self._steps_done and self._steps_done[gen] is None):
            return
        future = self._steps_done.get(gen)
        if future is None:
            future = self._steps_done[gen] = asyncio.get_running_loop().create_future()
        await asyncio.shield(future)

    def add_done_callback(self, callback: DoneCallback) -> None:
        """Call `callback(handle)` on the event loop when it is done; soon, if it is already."""

        def add() -> None:
            if self._done:
                self._port.loop.call_soon(self._call, callback)
            else:
                self._callbacks.append(callback)

        self._port.call_in_loop(add)

    def remove_done_callback(self, callback: DoneCallback) -> None:
        """Do not call it. No effect if it is not registered."""
        if callback in self._callbacks:
            self._callbacks.remove(callback)

    # -- what became of it (called by the application)

    def step_begins(self) -> None:
        """A response is made for it."""
        self._steps += 1

    def mark_protected(self) -> None:
        """A tool of it must not be interrupted, nor what follows from that."""
        self._allow_interruptions = False

    def mark_interrupted(self) -> None:
        """It was cut."""
        self._interrupted = True
        _resolve(self._stop)
        self._release_steps()

    def mark_step_done(self, gen: int) -> None:
        """A response of it was played."""
        future = self._steps_done.get(gen)
        self._steps_done[gen] = None
        if future is not None and not future.done():
            future.set_result(None)

    def mark_done(self) -> None:
        """It is over."""
        if self._done:
            return
        self._done = True
        self._release_steps()
        _resolve(self._waiters)
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            self._call(callback)

    def add_item(self, item: ChatItem) -> None:
        """Something of it entered the history."""
        self._chat_items.append(item)

    def _release_steps(self) -> None:
        for future in self._steps_done.values():
            if future is not None and not future.done():
                future.set_result(None)

    def _call(self, callback: DoneCallback) -> None:
        try:
            callback(self)
        except BaseException as error:
            pass_on(error)
            logger.exception("a done callback of %s raised", self.id)

    def __repr__(self) -> str:
        state = "done" if self._done else "interrupted" if self._interrupted else "open"
        return f"<SpeechHandle {self.id} {state}>"


@cache
def _find_current_run() -> Callable[[], Run | None]:
    """What says which tool the running code belongs to: loaded with the first session, not with the names."""
    from antiphon.runtime.scope import current_run

    return current_run


def _resolve(futures: Sequence[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
