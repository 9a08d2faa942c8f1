"""The toolsets of a session: set up when their owner begins, closed when it ends, exchanged in between.

An owner is an agent, by its id, or the session itself. Above: the application, which knows whose tools change. Below:
toolsets, which may take long or fail. Nobody waits long for one: its owner begins without it, and has its tools when
they are there. One that could not be reached is tried again, a few times.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Final, Protocol

from antiphon.errors import ProviderError, ProviderTimeout, as_exception, pass_on
from antiphon.protocols import closing_session
from antiphon.timer import Timer
from antiphon.tools.toolset import Toolset

logger = logging.getLogger("antiphon")


class Around(Protocol):
    """The session that they are of."""

    @property
    def session(self) -> object:
        """The session itself."""

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Run what sets one up, as a task of the session."""

    def failed(self, error: BaseException, source: Any) -> None:
        """One could not be set up, or is late."""


PATIENCE: Final = 5.0
"""Seconds that an owner waits for its toolsets before it begins without them."""
PATIENCE_BY_VOICE: Final = 1.5
"""The same where a caller waits for the first word."""
SETUP_LIMIT: Final = 60.0
"""Seconds that one attempt to set a toolset up may take. Toolsets with limits of their own have shorter ones."""
RETRY_DELAYS: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
"""Seconds before each further attempt, where an attempt may end better than the one before it."""


class _Opening:
    """A toolset that an owner has, from the beginning of its setup on."""

    __slots__ = ("is_late", "task", "toolset", "tried")

    def __init__(self, toolset: Toolset) -> None:
        self.toolset = toolset
        self.tried: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when it is ready, or has failed once, or will not be set up any more."""
        self.is_late = False
        """Its owner has begun without it."""
        self.task: asyncio.Task[None] | None = None

    def was_tried(self, _: object = None) -> None:
        """The first attempt is over."""
        if not self.tried.done():
            self.tried.set_result(None)


class OpenToolsets:
    """Every toolset that was set up and is not closed yet.

    `joined` hears of each that became ready after its owner had begun, with the owner.
    """

    def __init__(self, here: Around, joined: Callable[[str, Toolset], None]) -> None:
        self._here = here
        self._joined = joined
        self._owners: dict[str, dict[Toolset, _Opening]] = {}
        self._closings: dict[asyncio.Task[None], list[_Opening]] = {}
        self._gates: list[asyncio.Future[None]] = []

    def open(self, owner: str, tools: Iterable[object], patience: float) -> asyncio.Future[None] | None:
        """The owner begins: set up its toolsets, side by side. None: there are none.

        The result is done when they are ready or have failed, or after `patience` seconds.
        """
        owned = self._owners[owner] = {}
        added = self._begin(owner, owned, tools)
        if not added:
            return None
        loop = asyncio.get_running_loop()
        gate: asyncio.Future[None] = loop.create_future()
        self._gates.append(gate)
        gate.add_done_callback(self._gates.remove)
        timer = Timer(loop, loop.time() + patience, lambda: self._late(gate, added, patience))
        gate.add_done_callback(lambda _: timer.cancel())

        def look(_: object) -> None:
            if not gate.done() and all(opening.tried.done() for opening in added):
                gate.set_result(None)

        for opening in added:
            opening.tried.add_done_callback(look)
        return gate

    async def add(self, owner: str, tools: Iterable[object]) -> None:
        """Set up those toolsets that the owner did not have. An owner that is not at work gets them when it begins."""
        owned = self._owners.get(owner)
        if owned is not None and (added := self._begin(owner, owned, tools)):
            await asyncio.wait([opening.tried for opening in added])

    def retain(self, owner: str, tools: Iterable[object]) -> None:
        """Close those that are not among `tools`."""
        owned = self._owners.get(owner)
        if owned is None:
            return
        kept = {tool for tool in tools if isinstance(tool, Toolset)}
        self._close(owner, [owned.pop(toolset) for toolset in list(owned) if toolset not in kept])

    def close(self, owner: str) -> None:
        """The owner has ended: its toolsets close, while the conversation goes on."""
        owned = self._owners.pop(owner, None)
        if owned is not None:
            self._close(owner, list(owned.values()))

    async def close_all(self, timeout: float) -> None:
        """Close every one that is still open, and wait for those that are closing, at most `timeout` seconds.

        What is not ready by now will not be: its setup is cancelled.
        """
        for owner in list(self._owners):
            self.close(owner)
        for openings in self._closings.values():
            for opening in openings:
                if opening.task is not None:
                    opening.task.cancel()
        if not self._closings:
            return
        _, deaf = await asyncio.wait(set(self._closings), timeout=timeout)
        for task in deaf:
            logger.warning("%s: the toolsets did not close within %s s and were abandoned", task.get_name(), timeout)
            task.cancel()

    async def wait_ready(self) -> None:
        """Until those that owners wait for are ready, or late."""
        if self._gates:
            await asyncio.wait(set(self._gates))

    # -- setting up

    def _begin(self, owner: str, owned: dict[Toolset, _Opening], tools: Iterable[object]) -> list[_Opening]:
        """Start to set up the toolsets that are new."""
        new = dict.fromkeys(tool for tool in tools if isinstance(tool, Toolset) and tool not in owned)
        added = [_Opening(toolset) for toolset in new]
        for opening in added:
            owned[opening.toolset] = opening
            name = f"toolset {opening.toolset.id!r} of {owner or 'the session'}"
            opening.task = self._here.spawn(self._set_up(owner, opening), name)
            # The session may end before the task has begun: then none of its own code runs.
            opening.task.add_done_callback(opening.was_tried)
        return added

    def _late(self, gate: asyncio.Future[None], openings: list[_Opening], patience: float) -> None:
        for opening in openings:
            if not opening.tried.done():
                opening.is_late = True
                late = ProviderTimeout(
                    f"toolset {opening.toolset.id!r} is not ready after {patience:g} s: the conversation begins without"
                    " it, and has its tools when they are there. Look at why it takes so long, or do without it.",
                    provider=opening.toolset.id,
                )
                logger.warning("%s", late)
                self._here.failed(late, opening.toolset)
        if not gate.done():
            gate.set_result(None)

    async def _set_up(self, owner: str, opening: _Opening) -> None:
        """Set a toolset up, more than once if need be."""
        # An agent may come back while what it had is still closing.
        if closing := [task for task, going in self._closings.items() if opening.toolset in _toolsets(going)]:
            await asyncio.wait(closing)
        for delay in (*RETRY_DELAYS, None):
            error = await _attempt(opening.toolset)
            is_first = not opening.tried.done()
            opening.was_tried()
            if error is None:
                if opening.is_late or not is_first:
                    logger.info("toolset %r is ready, its tools join", opening.toolset.id)
                    self._joined(owner, opening.toolset)
                return
            is_last = delay is None or not _may_pass(error)
            if is_first or is_last:
                consequence = "the agent runs without it" if is_last else "it is tried again"
                logger.error("toolset %r could not be set up; %s", opening.toolset.id, consequence, exc_info=error)
                self._here.failed(error, opening.toolset)
            if is_last or delay is None:
                return
            await asyncio.sleep(delay)

    # -- closing

    def _close(self, owner: str, openings: list[_Opening]) -> None:
        if openings:
            task = asyncio.get_running_loop().create_task(self._close_each(openings), name=f"closing {owner}")
            self._closings[task] = openings
            task.add_done_callback(self._closings.pop)

    async def _close_each(self, openings: list[_Opening]) -> None:
        closing_session.set(self._here.session)
        await asyncio.gather(*(self._close_one(opening) for opening in openings))

    async def _close_one(self, opening: _Opening) -> None:
        if opening.task is not None:
            await asyncio.wait([opening.tried])  # what connects only after it was closed would stay open
            opening.task.cancel()  # it is not tried again
            await asyncio.wait([opening.task])
        try:
            await opening.toolset.aclose()
        except BaseException as error:
            pass_on(error)
            logger.exception("toolset %r could not be closed", opening.toolset.id)
            self._here.failed(error, opening.toolset)


async def _attempt(toolset: Toolset) -> Exception | None:
    """Set it up; the result is what kept it from being ready."""
    limit = asyncio.timeout(SETUP_LIMIT)
    try:
        async with limit:
            await toolset.setup()
    except BaseException as error:
        pass_on(error)
        if not limit.expired():
            return as_exception(error)
        return ProviderTimeout(f"toolset {toolset.id!r} was not ready within {SETUP_LIMIT:g} s.", provider=toolset.id)
    return None


def _may_pass(error: BaseException) -> bool:
    """Whether the next attempt may succeed where this one failed."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(_may_pass, error.exceptions))
    return error.retryable if isinstance(error, ProviderError) else isinstance(error, OSError)


def _toolsets(openings: Iterable[_Opening]) -> list[Toolset]:
    return [opening.toolset for opening in openings]
