"""Who is let in: so many calls at a time, a short wait for a place, and nobody any more once the process drains.

Above: whoever takes calls, the page now and workers of other kinds. Below: the event loop alone. It knows neither
sockets nor sessions: a *guest* is somebody who is there, a *place* is what a guest needs for a call.
"""

from __future__ import annotations

import asyncio
import enum
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

PLACE_PATIENCE = 1.0
"""Seconds that a guest waits for another one's call to end: it may be continuing that one."""


class Reason(enum.Enum):
    """Why a guest is not let in."""

    FULL = "full"
    """All places are taken, and none became free in time."""
    CLIENT = "client"
    """This client has as many as one may have."""
    SILENT = "silent"
    """Too many guests have not said what they want, and this one has waited longest."""
    DRAINING = "draining"
    """The process takes no more calls."""


class NotAdmitted(Exception):
    """A guest is not let in."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class Admission:
    """Lets in guests, and gives places to their calls.

    Args:
        max_calls: Places.
        max_silent: Guests who may be there without having said what they want.
        patience: Seconds that a guest waits for a place. Guests who wait are served in the order of their coming.
        max_per_client: Places that guests of one client may have; None: all.
        refused: Called with the reason for each guest who is not let in.
    """

    def __init__(
        self,
        *,
        max_calls: int,
        max_silent: int,
        patience: float = PLACE_PATIENCE,
        max_per_client: int | None = None,
        refused: Callable[[str], None] = lambda reason: None,
    ) -> None:
        self._places = asyncio.Semaphore(max_calls)
        self._max_silent = max_silent
        self._max_per_client = max_per_client
        self._of_client: Counter[str] = Counter()
        self._refused = refused
        self._changed: Callable[[], None] = lambda: None
        self._patience = patience
        self._guests = 0
        self._silent: deque[asyncio.Event] = deque()
        """Of each guest who has said nothing yet, in the order of their coming: set to give them up."""
        self._empty = asyncio.Event()
        self._empty.set()
        self._draining = False

    @property
    def is_open(self) -> bool:
        """Whether the next call would get a place at once."""
        return not self._draining and not self._places.locked()

    @property
    def is_draining(self) -> bool:
        """It gives no more places."""
        return self._draining

    def on_change(self, callback: Callable[[], None]) -> None:
        """Call `callback()` whenever a place is taken or becomes free, and when it begins to drain."""
        self._changed = callback

    def refuse(self, reason: Reason) -> NotAdmitted:
        """A guest is not let in: count it. Returns what to raise."""
        self._refused(reason.value)
        return NotAdmitted(reason)

    @contextmanager
    def guest(self) -> Iterator[None]:
        """Somebody is there for as long as this lasts: draining waits for them."""
        self._guests += 1
        self._empty.clear()
        try:
            yield
        finally:
            self._guests -= 1
            if not self._guests:
                self._empty.set()

    async def first_word(self, saying: Coroutine[Any, Any, T]) -> T:
        """Wait for what a guest begins with. Raises `NotAdmitted` if they are given up before, else what it raises."""
        given_up = asyncio.Event()
        self._silent.append(given_up)
        waiting = [one for one in self._silent if not one.is_set()]
        if len(waiting) > self._max_silent:
            waiting[0].set()
        said, giving_up = asyncio.create_task(saying), asyncio.create_task(given_up.wait())
        try:
            await asyncio.wait([said, giving_up], return_when=asyncio.FIRST_COMPLETED)
            if not said.done():
                self._check_open()
                raise self.refuse(Reason.SILENT)
            return said.result()
        finally:
            self._silent.remove(given_up)
            said.cancel()
            giving_up.cancel()
            await asyncio.wait([said, giving_up])

    @asynccontextmanager
    async def place(self, client: str = "") -> AsyncIterator[None]:
        """A place for a call, for as long as it lasts. Raises `NotAdmitted` if none becomes free soon.

        `client`: whose call it is; "" is nobody that is counted.
        """
        self._check_open()
        try:
            async with asyncio.timeout(self._patience):
                await self._places.acquire()
        except TimeoutError:
            self._check_open()
            raise self.refuse(Reason.FULL) from None
        self._of_client[client] += 1
        self._changed()
        try:
            self._check_open()
            if client and self._max_per_client is not None and self._of_client[client] > self._max_per_client:
                raise self.refuse(Reason.CLIENT)
            yield
        finally:
            self._of_client[client] -= 1
            if not self._of_client[client]:
                del self._of_client[client]
            self._places.release()
            self._changed()

    def _check_open(self) -> None:
        if self._draining:
            raise self.refuse(Reason.DRAINING)

    async def drain(self, timeout: float) -> bool:
        """Give no more places, and wait until everybody has left. False: somebody is there after `timeout` seconds.

        It ends nobody's call; whoever has not said what they want is given up. May be called again, to wait longer.
        """
        self._draining = True
        self._changed()
        for silent in self._silent:
            silent.set()
        try:
            async with asyncio.timeout(timeout):
                await self._empty.wait()
        except TimeoutError:
            return False
        return True
