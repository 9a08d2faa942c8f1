"""A call that is made from here: what was asked for, and how it stands with it.

    DIALING -> RINGING -> ANSWERED -> ENDED
                       -> BUSY | NO_ANSWER | REJECTED | FAILED
    DIALING -> REJECTED | FAILED          (nobody's telephone rang)
    DIALING -> UNKNOWN -> any             (the carrier's answer was lost: the call may ring)

Above: whoever asked for it. Below: nothing; `dialing` is told by the carrier, and says it here.
"""

from __future__ import annotations

import asyncio
import enum
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from antiphon.errors import UsageError

MAX_METADATA = 400
"""Characters of metadata: carriers take no more with a stream."""
MAX_KEY = 200
MAX_RING = 120.0
_E164 = re.compile(r"\+[1-9][0-9]{6,14}")


class DialState(enum.Enum):
    """How it stands with a call that is made from here."""

    DIALING = "dialing"
    """The carrier is asked for it, or has not begun."""
    RINGING = "ringing"
    ANSWERED = "answered"
    """By whom is not said: see `antiphon.toolkit.AnswerWatch`."""
    ENDED = "ended"
    """It was answered, and is over."""
    BUSY = "busy"
    NO_ANSWER = "no answer"
    REJECTED = "rejected"
    """Whoever was called, or the carrier, does not take it: `reason` says who."""
    FAILED = "failed"
    UNKNOWN = "unknown"
    """The carrier's answer was lost, and it could not be asked: it may ring, or have rung."""

    @property
    def is_over(self) -> bool:
        """Nothing more comes of it by itself."""
        return self not in (DialState.DIALING, DialState.RINGING, DialState.ANSWERED)


@dataclass(slots=True, frozen=True)
class DialRequest:
    """Whom to call, and for what.

    `checked` makes one of what somebody wrote.
    """

    to: str
    from_: str
    agent_name: str = ""
    metadata: str = ""
    ring_timeout: float = 30.0
    """Seconds that it may ring."""
    key: str = ""
    """Of the request: asked for twice with one key, it is dialled once."""

    @classmethod
    def checked(
        cls,
        to: str,
        from_: str,
        *,
        agent_name: str = "",
        metadata: str | Mapping[str, Any] = "",
        ring_timeout: float = 30.0,
        key: str = "",
    ) -> DialRequest:
        """The same, if it makes sense. Raises `UsageError`, which says what to write instead."""
        text = metadata if isinstance(metadata, str) else json.dumps(dict(metadata), separators=(",", ":"))
        if len(text) > MAX_METADATA:
            raise UsageError(
                f"dial: expected metadata of {MAX_METADATA} characters at most, got {len(text)}. Give the id of what it"
                " is about, and look the rest up in the entrypoint."
            )
        if not 5.0 <= ring_timeout <= MAX_RING:
            raise UsageError(f"dial: expected ring_timeout= from 5 to {MAX_RING:g} seconds, got {ring_timeout:g}.")
        if len(key) > MAX_KEY:
            raise UsageError(f"dial: expected a key of {MAX_KEY} characters at most, got {len(key)}. Give an id.")
        return cls(checked_number(to, "to"), checked_number(from_, "from_"), agent_name, text, float(ring_timeout), key)


def checked_number(number: str, what: str) -> str:
    """A telephone number as carriers take it (E.164), "+15550123". Raises `UsageError` for anything else."""
    if _E164.fullmatch(number):
        return number
    if what == "from_" and not number:
        raise UsageError(
            "dial: expected the number that the call comes from, got none. Give --from or from_=, or set"
            " TWILIO_PHONE_NUMBER (of Telnyx: TELNYX_PHONE_NUMBER) to a number of yours."
        )
    digits = re.sub(r"[\s().\-/]", "", number)
    meant = f"+{digits[2:]}" if digits.startswith("00") else digits
    remedy = "Begin with + and the country code, and write digits alone: +15550123456."
    if _E164.fullmatch(meant):
        remedy = f"Write {meant}."
    raise UsageError(f"dial: expected {what.rstrip('_')} as a number like +15550123456, got {number[:40]!r}. {remedy}")


class DialedCall:
    """A call that is made from here. Whoever asked for it reads it, waits for it, or ends it.

    `id` is the same for the same key, in every process.
    """

    def __init__(self, id: str, request: DialRequest, *, clock: Callable[[], float]) -> None:
        self.id = id
        self.request = request
        self.state = DialState.DIALING
        self.reason = ""
        """Why it came to that, where it is not plain."""
        self.carrier_call = ""
        """The carrier's id of the call; "": there is none, or none is known."""
        self.call_id = ""
        """What stores and records know the talk by, once there is a carrier's call."""
        self.asked_at = time.time()
        """Seconds since the Unix epoch."""
        self.rang = False
        """The carrier took it: somebody's telephone rang, or may have."""
        self.states: list[tuple[float, DialState]] = []
        """What it went through, with the seconds since it was asked for."""
        self.wants_end = asyncio.Event()
        """Somebody asked for its end."""
        self._clock = clock
        self._began = clock()
        self._is_sought = False
        self._changed: list[asyncio.Future[None]] = []
        self._listeners: list[Callable[[DialedCall], object]] = []

    @property
    def is_over(self) -> bool:
        """Nothing more comes of it by itself: also when it is unknown, and is not looked for any more."""
        return self.state.is_over and not self._is_sought

    def on_state(self, callback: Callable[[DialedCall], object]) -> None:
        """Call `callback(call)` at each change of `state`."""
        self._listeners.append(callback)

    async def answered(self) -> bool:
        """Wait until it was answered, or will not be. True: it was."""
        while not self.is_over and self.state is not DialState.ANSWERED:
            await self._change()
        return self.state in (DialState.ANSWERED, DialState.ENDED)

    async def over(self) -> DialState:
        """Wait until it is over, and return what it came to."""
        while not self.is_over:
            await self._change()
        return self.state

    def hang_up(self) -> None:
        """End it, whether it rings or was answered. Returns at once; no effect when it is over."""
        self.wants_end.set()

    def to_json(self) -> dict[str, Any]:
        """As the HTTP endpoint tells it."""
        return {
            "id": self.id,
            "to": self.request.to,
            "state": self.state.value,
            "reason": self.reason,
            "call": self.call_id,
            "carrier_call": self.carrier_call,
            "states": [{"at": round(at, 3), "state": state.value} for at, state in self.states],
        }

    # -- for `Dialing`, which alone knows

    def came_to(self, state: DialState, reason: str = "", *, is_sought: bool = False) -> None:
        """How it stands now. Nothing follows what is over, but what was unknown is found, or tried again.

        `is_sought`: the carrier is asked for it.
        """
        is_news = state is not self.state or not self.states
        if not is_news and is_sought is self._is_sought:
            return
        if self.is_over and self.state is not DialState.UNKNOWN and state is not DialState.DIALING:
            return
        self.state, self.reason, self._is_sought = state, reason, is_sought
        if is_news:
            self.states.append((self._clock() - self._began, state))
        waiting, self._changed = self._changed, []
        for one in waiting:
            if not one.done():
                one.set_result(None)
        for listener in list(self._listeners):
            listener(self)

    def is_known_as(self, carrier_call: str, call_id: str) -> None:
        """The carrier has made it."""
        self.carrier_call, self.call_id, self.rang = carrier_call, call_id, True

    async def _change(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._changed.append(waiter)
        await waiter
