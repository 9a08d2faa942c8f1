"""Calls that are made from here: asked of the carrier once for each request, and followed to their end.

The carrier's answer may be lost. Then nobody knows whether it rings, and the carrier is asked which calls it has made
to that number, before anything else is done: a call that it names is followed, and where it names none the request has
come to nothing. Nothing rings for a second time by itself.

How a call stands is asked of the carrier; a callback, which may come to any process, is only a reason to look, or names
the call of a request. So no order of callbacks, and none that is lost, changes what comes of it.

Above: `antiphon.console.telephone`, which has the addresses, and `AgentServer.dial`. Below: `api`, `dial_ledger`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from urllib.parse import urlencode

from antiphon.errors import LeaseHeld, StoreError, UsageError
from antiphon.server.admission import Admission, NotAdmitted
from antiphon.server.telephone.api import OVER, CarrierApi, CarrierError, Leg
from antiphon.server.telephone.dial_ledger import Entry, entry_of, known_call
from antiphon.server.telephone.dialed import DialedCall, DialRequest, DialState
from antiphon.server.telephone.settings import Settings
from antiphon.store import RowState

logger = logging.getLogger("antiphon")

LOOK = 1.0
"""Seconds between two looks at a call that rings."""
LOOK_ANSWERED = 15.0
"""Seconds between two looks at one that was answered: its stream, and callbacks, tell sooner."""
LATE = 5.0
"""Seconds beyond `ring_timeout` in which the carrier is to have given up by itself."""
SETTLING = 12.0
"""Seconds for which a call is looked for whose making was not acknowledged."""
SKEW = 10.0
"""Seconds that the carrier's clock may be behind."""
CLAIMING = 15.0
"""Seconds for which a place is kept for a call that was answered: another process may have its stream."""
MOST_RINGING = 20
"""Calls that ring at the same time."""
KEPT = 5_000
"""Requests that are remembered."""
ENDING = 5
"""Tries to end a call."""

_CAME_TO = {"busy": DialState.BUSY, "no-answer": DialState.NO_ANSWER, "failed": DialState.FAILED}
_DECLINED = frozenset({"603", "607", "608"})
"""SIP's answers by which a telephone declines a call."""


class DialBusy(UsageError):
    """Not now: there is no place for the call, or it is being dialled elsewhere. It was not dialled."""


class Dialing:
    """The calls that one server makes. `address()`: where the carrier finds its paths, under which `voice` is."""

    def __init__(
        self,
        api: CarrierApi,
        settings: Settings,
        admission: Admission,
        *,
        address: Callable[[], str],
        most_ringing: int = MOST_RINGING,
    ) -> None:
        self._api = api
        self._settings = settings
        self._admission = admission
        self._address = address
        self._most_ringing = most_ringing
        self._calls: dict[str, DialedCall] = {}
        """By id, in the order of asking."""
        self._running: dict[str, asyncio.Task[None]] = {}
        self._places: dict[str, AsyncExitStack] = {}
        """Places that wait for the streams of answered calls."""
        self._nudges: dict[str, asyncio.Event] = {}
        """By id: set when there is a reason to look."""
        self._declined: set[str] = set()
        """Carrier's calls that were declined by whoever was called."""

    # -- for whoever wants a call

    async def dial(self, request: DialRequest) -> DialedCall:
        """Make a call, or give back the one that was made by the same key.

        Raises `UsageError` where that cannot be, `DialBusy` where there is no place; then nothing rings.
        """
        self._api.check_usable("dial")
        id = self._settings.dial_id(request.key or secrets.token_hex(16))
        known = self._calls.get(id)
        if known is not None:
            if known.request != request:
                raise UsageError(
                    f"dial: the key {request.key!r} was given for another call, to {known.request.to}. Give each"
                    " request a key of its own, and the same request the same key."
                )
            is_settled = known.rang and known.state is not DialState.UNKNOWN
            if id in self._running or not known.is_over or is_settled:
                return known
        if sum(not one.is_over and one.state is not DialState.ANSWERED for one in self._calls.values()) >= (
            self._most_ringing
        ):
            raise DialBusy(f"dial: {self._most_ringing} calls ring already. Wait until some are answered.")
        place = await self._place()
        try:
            entry = await self._entry(id, request)
        except BaseException:
            await place.aclose()
            raise
        call = known or DialedCall(id, request, clock=asyncio.get_running_loop().time)
        self._calls[id] = call
        self._places[id] = place
        self._nudges[id] = asyncio.Event()
        call.came_to(DialState.DIALING)
        self._running[id] = asyncio.create_task(self._run(call, entry), name=f"telephone: dialling {id[:8]}")
        self._forget()
        return call

    async def find(self, id: str) -> DialedCall | None:
        """The call of this id; of another process as far as the store and the carrier know it."""
        found = self._calls.get(id)
        if found is not None:
            if found.state is DialState.ANSWERED:  # another process may hold it, and know of its end
                with contextlib.suppress(CarrierError):
                    self._tell(found, await self._api.look(found.carrier_call))
                self._nudges.get(id, asyncio.Event()).set()
            return found
        kept = await known_call(id)
        if kept is None:
            return None
        number, carrier_call = kept
        call = DialedCall(id, DialRequest(number, ""), clock=asyncio.get_running_loop().time)
        call.came_to(DialState.UNKNOWN)
        if carrier_call:
            call.is_known_as(carrier_call, self._settings.call_id(carrier_call))
            with contextlib.suppress(CarrierError):
                self._tell(call, await self._api.look(carrier_call))
        return call

    async def aclose(self) -> None:
        """End what rings, and wait for it. What was answered is its stream's."""
        for id in list(self._running):
            call = self._calls[id]
            if call.state is not DialState.ANSWERED:
                call.hang_up()
            else:
                self._running[id].cancel()
        if self._running:
            await asyncio.wait(self._running.values())

    # -- for the carrier's requests

    def told(self, id: str, carrier_call: str, sip: str = "") -> None:
        """Something was told of the call of this request."""
        call = self._calls.get(id)
        if call is None:
            return
        may_be_its = not call.is_over or call.state is DialState.UNKNOWN
        if carrier_call and not call.carrier_call and may_be_its:
            call.is_known_as(carrier_call, self._settings.call_id(carrier_call))
        if sip in _DECLINED and carrier_call:
            self._declined.add(carrier_call)
        if id in self._nudges:
            self._nudges[id].set()

    def is_second(self, id: str, carrier_call: str) -> bool:
        """Another call was made for the same request: nobody is to talk in this one."""
        call = self._calls.get(id)
        return call is not None and bool(call.carrier_call) and call.carrier_call != carrier_call

    def has_place(self, id: str) -> bool:
        """A place is kept for the call of this request."""
        return id in self._places

    def claim(self, id: str) -> AbstractAsyncContextManager[object]:
        """The place for the call of this request: the one that was kept for it, or another."""
        return self._places.pop(id, None) or self._admission.place()

    # -- one call

    async def _place(self) -> AsyncExitStack:
        stack = AsyncExitStack()
        try:
            await stack.enter_async_context(self._admission.place())
        except NotAdmitted as refused:
            raise DialBusy(
                f"dial: the call would have no place here: {refused.reason.value}. Wait until a call has ended, or"
                " raise --max-calls."
            ) from None
        return stack

    async def _entry(self, id: str, request: DialRequest) -> Entry | None:
        try:
            return await entry_of(id, request.to)
        except LeaseHeld:
            raise DialBusy("dial: another process dials for this key at this moment. Ask it how it stands.") from None
        except StoreError as error:
            raise DialBusy(f"dial: nothing is dialled while it cannot be written down: {error}") from error

    async def _run(self, call: DialedCall, entry: Entry | None) -> None:
        try:
            if await self._made(call, entry):
                if entry is not None:
                    entry.close()
                    entry = None
                await self._follow(call)
        except Exception:
            logger.exception("a call to a person failed")
            call.came_to(DialState.UNKNOWN, "see the log")
            await self._end(call)
        finally:
            if entry is not None:
                entry.close()
            self._running.pop(call.id, None)
            self._nudges.pop(call.id, None)
            place = self._places.pop(call.id, None)
            if place is not None:
                await place.aclose()
            logger.info("a call from here is %s%s", call.state.value, call.reason and f": {call.reason}")

    async def _made(self, call: DialedCall, entry: Entry | None) -> bool:
        """Have the carrier make it, if it has not. False: there is none, or nobody knows."""
        if call.carrier_call:
            return True
        if entry is not None and entry.carrier_call:
            self._is_made(call, entry, entry.carrier_call)
            return True
        if entry is not None and entry.may_ring is not None:
            return await self._found(call, entry, since=entry.may_ring, again=True)
        if call.rang:  # it was asked for before, and nobody knows what came of it
            return await self._found(call, entry, since=call.asked_at, again=True)
        if call.wants_end.is_set():
            call.came_to(DialState.FAILED, "it was called off before it rang")
            return False
        return await self._ask(call, entry)

    async def _ask(self, call: DialedCall, entry: Entry | None) -> bool:
        since, request = time.time(), call.request
        if entry is not None:
            try:
                await entry.begin(request, call.id)
            except StoreError as error:
                call.came_to(DialState.FAILED, f"it could not be written down, so it was not dialled: {error}")
                return False
        try:
            made = await self._api.create(
                request.to,
                request.from_,
                url=self._url("voice", call),
                status_url=self._url("status", call),
                ring=request.ring_timeout,
                tell_progress=True,
            )
        except CarrierError as error:
            logger.warning("a call could not be made: %s", error)
            if error.may_have_happened:
                return await self._found(call, entry, since=since, again=False)
            self._is_not_made(call, entry, DialState.REJECTED if error.status else DialState.FAILED, str(error))
            return False
        self._is_made(call, entry, made)
        return True

    async def _found(self, call: DialedCall, entry: Entry | None, *, since: float, again: bool) -> bool:
        """Nobody knows whether it was made: ask the carrier. True: it was, and is followed."""
        call.rang = True  # as far as anybody knows
        call.came_to(DialState.UNKNOWN, "the carrier's answer was lost", is_sought=True)
        clock = asyncio.get_running_loop().time
        until, saw_all, trouble = clock() + (2 * LOOK if again else SETTLING), False, ""
        while not call.carrier_call:
            try:
                others = {one.carrier_call for one in self._calls.values()}
                made = await self._api.made(call.request.to, call.request.from_, since=since - SKEW)
                mine = [one for one in made if one not in others]
                if mine:
                    self._is_made(call, entry, mine[-1])
                saw_all, trouble = True, ""
            except CarrierError as error:
                saw_all, trouble = False, str(error)
            if call.carrier_call or clock() >= until:
                break
            await self._wait(call, LOOK, heeds_end=False)
        if call.carrier_call:
            self._is_made(call, entry, call.carrier_call)
            return True
        if saw_all:
            call.rang = False
            self._is_not_made(
                call, entry, DialState.FAILED, "the carrier made no such call. Ask again to have it dialled."
            )
        else:
            call.came_to(DialState.UNKNOWN, trouble)
            if entry is not None:
                entry.came_to(RowState.UNKNOWN, '{"call": ""}')
        return False

    def _is_made(self, call: DialedCall, entry: Entry | None, carrier_call: str) -> None:
        if call.carrier_call != carrier_call:
            call.is_known_as(carrier_call, self._settings.call_id(carrier_call))
        if entry is not None:
            entry.came_to(RowState.SUCCEEDED, f'{{"call": "{carrier_call}"}}')

    @staticmethod
    def _is_not_made(call: DialedCall, entry: Entry | None, state: DialState, reason: str) -> None:
        call.came_to(state, reason)
        if entry is not None:
            entry.came_to(RowState.FAILED, "{}")

    async def _follow(self, call: DialedCall) -> None:
        """Until it is over, or nobody answered in time."""
        clock = asyncio.get_running_loop().time
        until, answered_at = clock() + call.request.ring_timeout + LATE, 0.0
        ended_at: float | None = None
        while True:
            try:
                self._tell(call, await self._api.look(call.carrier_call), was_ended=ended_at is not None)
            except CarrierError as error:
                logger.warning("a call from here could not be looked at: %s", error)
            if call.is_over:
                return
            is_answered = call.state is DialState.ANSWERED
            answered_at = answered_at or (clock() if is_answered else 0.0)
            if is_answered and clock() - answered_at > CLAIMING and call.id in self._places:
                await self._places.pop(call.id).aclose()
            if ended_at is None:
                is_late = clock() >= until or self._admission.is_draining
                if call.wants_end.is_set() or (is_late and not is_answered):
                    await self._end(call)
                    ended_at = clock()
            elif clock() - ended_at > LATE and not is_answered:
                call.came_to(DialState.UNKNOWN, "it was ended, and the carrier does not say what came of it")
                return
            is_quiet = is_answered and call.id not in self._places
            await self._wait(call, LOOK_ANSWERED if is_quiet else LOOK, heeds_end=ended_at is None)

    def _tell(self, call: DialedCall, leg: Leg, *, was_ended: bool = False) -> None:
        match leg.status:
            case "ringing":
                call.came_to(DialState.RINGING)
            case "in-progress":
                call.came_to(DialState.ANSWERED)
            case "completed" if was_ended and call.state is not DialState.ANSWERED:
                call.came_to(DialState.NO_ANSWER, "it was ended while it rang")
            case "completed":
                call.came_to(DialState.ANSWERED)
                call.came_to(DialState.ENDED)
            case "canceled":
                call.came_to(DialState.NO_ANSWER, "it was ended while it rang")
            case "busy" | "failed" if call.carrier_call in self._declined:
                call.came_to(DialState.REJECTED, "whoever was called declined")
            case status if status in OVER:
                call.came_to(_CAME_TO[status])
            case _:
                if call.state is DialState.UNKNOWN:
                    call.came_to(DialState.DIALING)

    async def _end(self, call: DialedCall) -> None:
        for _ in range(ENDING if call.carrier_call else 0):
            try:
                await self._api.end(call.carrier_call)
                return
            except CarrierError as error:
                logger.warning("a call from here could not be ended: %s", error)
                await asyncio.sleep(LOOK)

    async def _wait(self, call: DialedCall, seconds: float, *, heeds_end: bool) -> None:
        """So long, or until there is a reason to look."""
        events = [self._nudges[call.id], *([call.wants_end] if heeds_end else [])]
        waits = [asyncio.create_task(event.wait()) for event in events]
        try:
            await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waits:
                one.cancel()
            events[0].clear()

    def _url(self, path: str, call: DialedCall) -> str:
        asked = {"dial": call.id, "agent": call.request.agent_name, "metadata": call.request.metadata}
        if path == "status":
            asked = {"dial": call.id}
        return f"{self._address()}{path}?{urlencode({name: value for name, value in asked.items() if value})}"

    def _forget(self) -> None:
        for id in [one for one in self._calls if one not in self._running][: max(0, len(self._calls) - KEPT)]:
            self._declined.discard(self._calls.pop(id).carrier_call)
