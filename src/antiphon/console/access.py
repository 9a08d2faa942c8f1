"""Who may call, and how much: the token, where a page comes from, and the limits of one call.

Everything here decides from what it is given, the time included. A page on another site can open a socket to this
machine, and a name on the internet can be made to mean this machine's address; so a server that asks for no token
answers to the names of this machine only, and any server to its own pages only.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from antiphon.console.protocol import CloseCode, Refused

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection


@dataclass(slots=True, frozen=True)
class Limits:
    """What one call may use. Whoever goes beyond is told, and cut; no other call notices."""

    max_calls: int = 20
    """Calls at the same time."""
    start_timeout: float = 5.0
    """Seconds until `start` must have come."""
    offer_timeout: float = 10.0
    """Seconds in which a page that asked for WebRTC must have made its offer."""
    max_text: int = 64_000
    """Characters of a JSON message."""
    max_frame: float = 0.1
    """Seconds of sound in a binary frame."""
    messages_per_second: float = 400.0
    messages_burst: float = 2_000.0
    """Messages that may come at once, after a network has held them back."""
    sound_per_second: float = 1.2
    """Seconds of sound in a second: no microphone is faster than time."""
    sound_burst: float = 10.0


class Allowance:
    """So much per second, and `burst` at once."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._left = burst
        self._at: float | None = None

    def take(self, amount: float, now: float) -> bool:
        """Use some of it. False if there is not that much."""
        if self._at is not None:
            self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        self._left -= amount
        return self._left >= 0


@dataclass(slots=True, frozen=True)
class Access:
    """Who may call. `token` None: everybody on this machine, and nobody else."""

    token: str | None = None

    @classmethod
    def to(cls, host: str, token: str | None = None) -> Access:
        """For a server bound to `host`: with a token, a new one if none is given, unless only this machine reaches it.

        A server on this machine's own addresses asks for a token only if one is given.
        """
        if token is None and not is_loopback(host):
            token = secrets.token_urlsafe(18)
        return cls(token)

    def check(self, connection: HTTPConnection) -> None:
        """Raise `Refused` if whoever asks may not."""
        host = connection.headers.get("host", "")
        origin = connection.headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            raise Refused(
                CloseCode.FORBIDDEN, f"expected a page of {host!r}, got one of {origin!r}. Open the printed address."
            )
        if self.token is None:
            name = _name_in(host)
            if not is_loopback(name):
                raise Refused(
                    CloseCode.FORBIDDEN,
                    f"without a token only this machine may call, not {name!r}. Start with --token.",
                )
        elif not hmac.compare_digest(connection.query_params.get("token", "").encode(), self.token.encode()):
            raise Refused(CloseCode.UNAUTHORISED, "the token is missing or wrong. Open the address that was printed.")


def is_loopback(host: str) -> bool:
    """Whether this name or address means this machine, and nobody else can reach it there."""
    if host.lower() == "localhost" or host.lower().endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _name_in(host: str) -> str:
    """The name in a Host header, without its port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
