"""Waiting for whatever ends a call: somebody hangs up, a device fails, the time is over, all work is done.

Above: the calls of the command line, and the page's news. Below: the record of the call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from antiphon.calls.record import CallRecord
from antiphon.session import AgentSession

DEFAULT_WAIT = 60.0
"""Seconds that a caller who has said everything stays on the line for tools in the background."""


async def first_end(*ends: Coroutine[Any, Any, object], timeout: float | None = None) -> bool:
    """Wait for the first of these and cancel the others. False: none came within `timeout` seconds.

    Raises what the first raises.
    """
    tasks = [asyncio.create_task(end) for end in ends]
    try:
        done, _ = await asyncio.wait(tasks, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        return bool(done)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class BackgroundWork:
    """What the tools of a call still do when the caller has said everything, and waits at most `limit` seconds for it.

    What the caller spoke over (a dropped call) is not waited for: nobody will be told what comes of it.
    """

    def __init__(self, record: CallRecord, limit: float) -> None:
        self.limit = limit
        self.given_up: Sequence[str] = ()
        """Names of the tools that still ran when the time was over."""
        self._record = record
        self._changed = asyncio.Event()
        """Something happened to a tool since somebody looked."""
        self._deadline: float | None = None
        record.on("tool", lambda call, step: self._changed.set())

    def keeps_waiting(self) -> bool:
        """Whether there is something to wait for, and time left. The time begins with the first question."""
        running = self._record.running
        if not running:
            return False
        now = asyncio.get_running_loop().time()
        if self._deadline is None:
            self._deadline = now + self.limit
        if now < self._deadline:
            return True
        self.given_up = tuple(call.name for call in running)
        return False

    async def told(self, session: AgentSession[Any]) -> None:
        """Wait until all work has ended and the agent has told of it, or the time is over."""
        while self.keeps_waiting():
            assert self._deadline is not None
            self._changed.clear()
            try:
                async with asyncio.timeout_at(self._deadline):
                    await self._changed.wait()
            except TimeoutError:
                continue
            await session.drain()
