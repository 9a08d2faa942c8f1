"""A caller is passed on to a person, and what came of it.

The person is called while the caller stays with the agent, hears what it is about, and takes the call with a key. Then
both are put into a conference, and the agent leaves. Whatever else happens, the caller is still with the agent.

How the second call stands is asked of the carrier, from whichever process holds the first: a callback, which may come
to any, is only a reason to look. So no order of callbacks, and none that is lost or forged, changes what comes of it.
"""

from __future__ import annotations

import asyncio
import enum
import logging
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from antiphon.server.telephone import markup
from antiphon.server.telephone.api import OVER, CarrierApi, CarrierError, Leg

logger = logging.getLogger("antiphon")

LOOK = 1.0
"""Seconds between two looks at the second call."""
ACCEPTING = 60.0
"""Seconds that whoever answered has to hear the summary and press a key."""
FAILURES = 5
"""Looks in a row that may fail."""


class Outcome(enum.Enum):
    """What came of a transfer."""

    CONNECTED = "connected"
    BUSY = "busy"
    NO_ANSWER = "no answer"
    VOICEMAIL = "voicemail"
    DECLINED = "declined"
    """Somebody answered and did not take the call."""
    FAILED = "failed"
    """The number cannot be called, or the carrier did not do it."""
    CALLER_GONE = "caller gone"
    """The caller hung up while it rang."""


_ENDED = {"busy": Outcome.BUSY, "no-answer": Outcome.NO_ANSWER, "failed": Outcome.FAILED, "canceled": Outcome.FAILED}


@dataclass(slots=True, frozen=True)
class Wish:
    """To whom, and how."""

    to: str
    from_: str
    summary: str
    """What the person called hears first; "": they are connected at once."""
    accept_line: str
    ring: float
    language: str = ""


class Transfers:
    """Those of one server. `address` makes the address of a path at which the carrier finds it."""

    def __init__(self, api: CarrierApi) -> None:
        self._api = api
        self._watched: dict[str, asyncio.Event] = {}
        """Second calls of this process: set when there is a reason to look."""

    def nudge(self, call: str) -> None:
        """Something was told of a call."""
        event = self._watched.get(call)
        if event is not None:
            event.set()

    async def transfer(
        self,
        caller: str,
        wish: Wish,
        *,
        gone: asyncio.Event,
        leaving: Callable[[], None],
        address: Callable[[str], str],
    ) -> Outcome:
        """Pass the caller's call on. Nothing stays of it unless they connect.

        `gone` is set when the caller hangs up. `leaving()` is called before the carrier is asked to put the caller
        through, which ends their stream. `address(path)` is where the carrier finds a path of this server.
        """
        name = f"antiphon-{secrets.token_hex(8)}"
        if wish.summary:
            accept = address(f"accept/{name}")
            said = markup.announce(wish.summary, wish.accept_line, accept=accept, language=wish.language)
        else:
            said = markup.conference(name)
        try:
            leg = await self._api.create(
                wish.to, wish.from_, markup=said, status_url=address("status"), ring=wish.ring, find_machines=True
            )
        except CarrierError as error:
            logger.warning("a transfer could not be begun: %s", error)
            return Outcome.FAILED
        async with self._unless_connected(leg) as connected:
            outcome = await self._await_answer(leg, name, wish, gone)
            if outcome is Outcome.CONNECTED:
                outcome = await self._join(caller, name, gone, leaving)
            if outcome is Outcome.CONNECTED:
                connected.set()
            return outcome

    @asynccontextmanager
    async def _unless_connected(self, leg: str) -> AsyncIterator[asyncio.Event]:
        """End the second call if it is not `connected`, also where this is cancelled."""
        connected = asyncio.Event()
        self._watched[leg] = asyncio.Event()
        try:
            yield connected
        finally:
            del self._watched[leg]
            if not connected.is_set():
                ending = asyncio.create_task(self._end(leg), name="telephone: ending a second call")
                await asyncio.shield(ending)

    async def _await_answer(self, leg: str, name: str, wish: Wish, gone: asyncio.Event) -> Outcome:
        """CONNECTED: the person is in the conference."""
        clock = asyncio.get_running_loop().time
        until, answered, failures = clock() + wish.ring + LOOK + 5.0, False, 0
        while not gone.is_set():
            try:
                seen, is_there = await self._look(leg, name)
                failures = 0
            except CarrierError as error:
                failures += 1
                if failures >= FAILURES:
                    logger.warning("a transfer was given up: %s", error)
                    return Outcome.FAILED
                seen, is_there = Leg(leg, ""), False
            if (outcome := _outcome(seen, is_there)) is not None:
                return outcome
            if seen.status == "in-progress" and not answered:
                answered, until = True, clock() + ACCEPTING
            if clock() > until:
                return Outcome.DECLINED if answered else Outcome.NO_ANSWER
            await self._wait(self._watched[leg], gone)
        return Outcome.CALLER_GONE

    async def _look(self, leg: str, name: str) -> tuple[Leg, bool]:
        seen = await self._api.look(leg)
        is_there = seen.status == "in-progress" and not seen.is_machine and await self._api.people_in(name) > 0
        return seen, is_there

    @staticmethod
    async def _wait(reason: asyncio.Event, gone: asyncio.Event) -> None:
        waits = [asyncio.create_task(event.wait()) for event in (reason, gone)]
        try:
            await asyncio.wait(waits, timeout=LOOK, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            reason.clear()

    async def _join(self, caller: str, name: str, gone: asyncio.Event, leaving: Callable[[], None]) -> Outcome:
        """Put the caller into the conference."""
        if gone.is_set():
            return Outcome.CALLER_GONE
        leaving()
        try:
            await self._api.redirect(caller, markup.conference(name))
        except CarrierError as error:
            logger.warning("a caller could not be put through: %s", error)
            return Outcome.CALLER_GONE if gone.is_set() or error.status in (400, 404, 409) else Outcome.FAILED
        return Outcome.CONNECTED

    async def _end(self, leg: str) -> None:
        for _ in range(FAILURES):
            try:
                await self._api.end(leg)
                return
            except CarrierError as error:
                logger.warning("a second call could not be ended: %s", error)
                await asyncio.sleep(LOOK)


def _outcome(leg: Leg, is_there: bool) -> Outcome | None:
    if leg.is_machine:
        return Outcome.VOICEMAIL
    if is_there:
        return Outcome.CONNECTED
    if leg.status == "completed":
        return Outcome.DECLINED
    return _ENDED.get(leg.status) if leg.status in OVER else None
