"""Lines that a tool has said while it works, by `async with ctx.with_filler("Let me look."):`.

Above: `RunContext.with_filler`. Below: `session.say_filler`, which the conversation treats as a filler: it is said
before anything else that waits, ends at a word when there is something better to hear, and stays out of the history.
The session's own silence budget knows that the line is not silent, so the two never talk over one another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any

from antiphon.errors import UsageError
from antiphon.running_tool import RunningTool
from antiphon.session_api import Session
from antiphon.speech_handle import SpeechHandle

FillerSource = str | Callable[[int], SpeechHandle | str | None]
"""What to say; or a function of the number of fillers so far, whose None says nothing this time."""


class FillerScope:
    """While the block runs, a line is said after `delay` seconds of quiet, and again every `interval` seconds of it."""

    def __init__(
        self,
        session: Session[Any],
        run: RunningTool,
        source: FillerSource,
        *,
        delay: float,
        interval: float | None,
        max_steps: int | None,
    ) -> None:
        if delay < 0 or (interval is not None and interval <= 0):
            raise UsageError(
                f"with_filler: expected delay of 0 or more and interval above 0 seconds, got {delay!r} and {interval!r}"
            )
        self._session = session
        self._run = run
        self._source = source
        self._delay = delay
        self._interval = interval
        self._max_steps = max_steps
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        self._task = asyncio.create_task(self._bridge(), name=f"filler of {self._run.tool.name}")

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """No further line begins. One that is being said ends when there is something better to hear."""
        task = self._task
        if task is None:
            return
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled() and (failure := task.exception()) is not None and error is None:
            raise failure

    async def _bridge(self) -> None:
        step = 0
        while self._max_steps is None or step < self._max_steps:
            await self._quiet_for(self._delay if step == 0 else self._interval or 0.0)
            if self._run.dropped:
                return
            handle = self._say(step)
            step += 1
            if handle is not None:
                await _done(handle)
            if self._interval is None:
                return

    def _say(self, step: int) -> SpeechHandle | None:
        said = self._source if isinstance(self._source, str) else self._source(step)
        return self._session.say_filler(said) if isinstance(said, str) else said

    async def _quiet_for(self, seconds: float) -> None:
        """Until neither side was heard for so long, without a break."""
        session = self._session
        changed = asyncio.Event()

        def on_change(_: object) -> None:
            changed.set()

        names = ("agent_state_changed", "user_state_changed")
        for name in names:
            session.on(name, on_change)
        try:
            while True:
                changed.clear()
                if session.agent_state == "speaking" or session.user_state == "speaking":
                    await changed.wait()
                    continue
                try:
                    async with asyncio.timeout(seconds):
                        await changed.wait()
                except TimeoutError:
                    return
        finally:
            for name in names:
                session.off(name, on_change)


async def _done(handle: SpeechHandle) -> None:
    """Until it was said. Unlike awaiting the handle, this does not count as the tool waiting for its own speech."""
    over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def on_done(_: SpeechHandle) -> None:
        if not over.done():
            over.set_result(None)

    handle.add_done_callback(on_done)
    try:
        if not handle.done():
            await over
    finally:
        handle.remove_done_callback(on_done)
