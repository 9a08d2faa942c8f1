"""The toolsets of a session: set up when their owner begins, closed when it ends, exchanged in between.

An owner is an agent, by its id, or the session itself. Above: the application, which knows whose tools change. Below:
toolsets, which may take long or fail: nobody else waits for one, and who has it works without one that failed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from contextvars import ContextVar
from typing import Any

from antiphon.tools.toolset import Toolset

logger = logging.getLogger("antiphon")

Spawn = Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]]


class _Owned:
    """What one owner has."""

    __slots__ = ("starting", "toolsets")

    def __init__(self) -> None:
        self.toolsets: list[Toolset] = []
        self.starting: set[asyncio.Future[None]] = set()
        """Done when the toolsets of one addition are ready, or have failed."""


class OpenToolsets:
    """Every toolset that was set up and is not closed yet. `failed` hears of each that could not be."""

    def __init__(self, failed: Callable[[BaseException, Any], None]) -> None:
        self._failed = failed
        self._owners: dict[str, _Owned] = {}
        self._closings: dict[asyncio.Task[None], list[Toolset]] = {}

    def open(self, owner: str, tools: Iterable[object], spawn: Spawn) -> asyncio.Future[None] | None:
        """The owner begins: set up its toolsets in a task. The result is done when they are; None: there are none."""
        owned = self._owners[owner] = _Owned()
        added, ready = _add(owned, tools)
        if not added:
            return None
        task = spawn(self._set_up(owned, added, ready), f"toolsets of {owner or 'the session'}")
        # The session may end before the task has begun: then none of its own code runs.
        task.add_done_callback(lambda _: _started(owned, ready))
        return ready

    async def add(self, owner: str, tools: Iterable[object]) -> None:
        """Set up those toolsets that the owner did not have. An owner that is not at work gets them when it begins."""
        owned = self._owners.get(owner)
        if owned is not None:
            added, ready = _add(owned, tools)
            await self._set_up(owned, added, ready)

    def retain(self, owner: str, tools: Iterable[object]) -> None:
        """Close those that are not among `tools`."""
        owned = self._owners.get(owner)
        if owned is None:
            return
        kept = [tool for tool in tools if isinstance(tool, Toolset)]
        gone = [toolset for toolset in owned.toolsets if toolset not in kept]
        owned.toolsets = [toolset for toolset in owned.toolsets if toolset in kept]
        self._close(owner, gone, owned.starting)

    def close(self, owner: str) -> None:
        """The owner has ended: its toolsets close, while the conversation goes on."""
        owned = self._owners.pop(owner, None)
        if owned is not None:
            self._close(owner, owned.toolsets, owned.starting)

    async def close_all(self, timeout: float) -> None:
        """Close every one that is still open, and wait for those that are closing, at most `timeout` seconds."""
        for owner in list(self._owners):
            self.close(owner)
        if not self._closings:
            return
        _, deaf = await asyncio.wait(set(self._closings), timeout=timeout)
        for task in deaf:
            logger.warning("%s: the toolsets did not close within %s s and were abandoned", task.get_name(), timeout)
            task.cancel()

    async def wait_ready(self, timeout: float) -> None:
        """Until those that are starting are ready, or `timeout` seconds."""
        starting = {future for owned in self._owners.values() for future in owned.starting}
        if starting:
            await asyncio.wait(starting, timeout=timeout)

    async def _set_up(self, owned: _Owned, toolsets: list[Toolset], ready: asyncio.Future[None]) -> None:
        try:
            # An agent may come back while what it had is still closing.
            if closing := [task for task, going in self._closings.items() if not set(toolsets).isdisjoint(going)]:
                await asyncio.wait(closing)
            for toolset in toolsets:
                try:
                    await toolset.setup()
                except Exception as error:
                    logger.exception("toolset %r could not be set up; the agent runs without it", toolset.id)
                    self._failed(error, toolset)
        finally:
            _started(owned, ready)

    def _close(self, owner: str, toolsets: list[Toolset], starting: set[asyncio.Future[None]]) -> None:
        if toolsets:
            task = asyncio.get_running_loop().create_task(
                self._close_each(toolsets, set(starting)), name=f"closing {owner}"
            )
            self._closings[task] = toolsets
            task.add_done_callback(self._closings.pop)

    async def _close_each(self, toolsets: list[Toolset], starting: set[asyncio.Future[None]]) -> None:
        closing_of.set(self)
        if starting:
            await asyncio.wait(starting)  # what connects only after it was closed would stay open
        for toolset in reversed(toolsets):
            try:
                await toolset.aclose()
            except Exception as error:
                logger.exception("toolset %r could not be closed", toolset.id)
                self._failed(error, toolset)


closing_of: ContextVar[OpenToolsets | None] = ContextVar("antiphon_closing", default=None)
"""The session that closes a toolset: what the toolset does for other sessions goes on."""


def _add(owned: _Owned, tools: Iterable[object]) -> tuple[list[Toolset], asyncio.Future[None]]:
    """Note the toolsets that are new, as starting."""
    added = [tool for tool in tools if isinstance(tool, Toolset) and tool not in owned.toolsets]
    ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    if added:
        owned.toolsets += added
        owned.starting.add(ready)
    return added, ready


def _started(owned: _Owned, ready: asyncio.Future[None]) -> None:
    """The toolsets of one addition are ready, or have failed, or will not be started any more."""
    owned.starting.discard(ready)
    if not ready.done():
        ready.set_result(None)
