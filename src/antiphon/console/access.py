"""Who may call, and how much: the token, where a page comes from, and the limits of one call.

Everything here decides from what it is given, the time included. A page on another site can open a socket to this
machine, and a name on the internet can be made to mean this machine's address; so a server that asks for no token
answers to the names of this machine only, and any server to its own pages only.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from antiphon.console.protocol import CloseCode, Refused
from antiphon.errors import UsageError
from antiphon.server.admission import Admission
from antiphon.server.tokens import is_good

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection


WRONG_TOKENS = 10
"""Wrong tokens that a client may send at once. Whoever sent as many is refused for a while, whatever comes next."""
WRONG_TOKENS_PER_SECOND = 0.2
"""Wrong tokens that are forgiven a client: one in five seconds, so many guesses are possible and no more."""
MAX_REMEMBERED = 4_096
"""Clients about whom something is remembered. Beyond, the one that was seen longest ago is forgotten."""


@dataclass(slots=True, frozen=True)
class Limits:
    """What one call may use. Whoever goes beyond is told, and cut; no other call notices."""

    max_calls: int = 20
    """Calls at the same time."""
    max_calls_per_client: int | None = None
    """Calls of one client (an address, with IPv6 a /64) at the same time; None: all."""
    max_duration: float = 3600.0
    """Seconds after which a call ends, whatever happens."""
    max_pages: int = 200
    """Sockets of pages at the same time, calls and news together. One more is refused before it is open."""
    max_silent: int = 32
    """Open sockets whose `start` has not come. With one more, the one that has waited longest is closed."""
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

    def admission(self, refused: Callable[[str], None] = lambda reason: None) -> Admission:
        """Who lets in so many. `refused` is called with the reason for each who is not."""
        return Admission(
            max_calls=self.max_calls,
            max_silent=self.max_silent,
            max_per_client=self.max_calls_per_client,
            refused=refused,
        )


class Allowance:
    """So much per second, and `burst` at once."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._left = burst
        self._at: float | None = None

    def take(self, amount: float, now: float) -> bool:
        """Use so much of it. False, and nothing is used, if there is less."""
        enough = self.holds(amount, now)
        if enough:
            self._left -= amount
        return enough

    def holds(self, amount: float, now: float) -> bool:
        """Whether there is so much of it."""
        if self._at is not None:
            self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        return self._left >= amount


class ClientAllowances:
    """An allowance for each client, kept for the `remembered` ones that were seen last."""

    def __init__(self, rate: float, burst: float, *, remembered: int = MAX_REMEMBERED) -> None:
        self._rate = rate
        self._burst = burst
        self._remembered = remembered
        self._clients: OrderedDict[str, Allowance] = OrderedDict()

    def __len__(self) -> int:
        return len(self._clients)

    def of(self, client: str) -> Allowance:
        """The allowance of this client; a full one for a client that is not remembered."""
        found = self._clients.get(client)
        if found is None:
            found = self._clients[client] = Allowance(self._rate, self._burst)
            if len(self._clients) > self._remembered:
                self._clients.popitem(last=False)
        self._clients.move_to_end(client)
        return found


@dataclass(slots=True, frozen=True)
class Access:
    """Who may call. `token` None or empty: everybody on this machine, and nobody else.

    A token that was made of it (`antiphon.server.tokens`) does for a while. `clock` tells the time of day.
    """

    token: str | None = None
    clock: Callable[[], float] = field(default=time.time, repr=False, compare=False)
    _wrong: ClientAllowances = field(
        default_factory=lambda: ClientAllowances(WRONG_TOKENS_PER_SECOND, WRONG_TOKENS), repr=False, compare=False
    )

    @classmethod
    def to(cls, host: str, token: str | None = None) -> Access:
        """For a server bound to `host`: with a token, a new one if none is given, unless only this machine reaches it.

        A server on this machine's own addresses asks for a token only if one is given. An empty one, as of a variable
        that is not set, is none. Raises `UsageError` for a token that is not text.
        """
        if not token or token.isspace():
            token = None if is_loopback(host) else secrets.token_urlsafe(18)
        try:
            token and token.encode()
        except UnicodeEncodeError:
            raise UsageError("--token: expected text, got bytes that are not UTF-8. Use letters and digits.") from None
        return cls(token)

    def check(self, connection: HTTPConnection, now: float, *, token: str | None = None) -> None:
        """Raise `Refused` if whoever asks may not. `now` is in seconds, of any clock that goes on.

        `token`: what was given for one; None: what the address says.
        """
        host = connection.headers.get("host", "")
        origin = connection.headers.get("origin")
        if origin is not None and (host == "" or _place_of(origin) != host.lower()):
            raise Refused(
                CloseCode.FORBIDDEN,
                f"expected a page of {host!r:.80}, got one of {origin!r:.80}. Open the printed address.",
            )
        if not self.token:
            name = name_in(host)
            if name is None or not is_loopback(name):
                raise Refused(
                    CloseCode.FORBIDDEN,
                    f"without a token only this machine may call, not {host!r:.80}. Start with --token.",
                )
            return
        given = connection.query_params.get("token", "") if token is None else token
        self._check_token(given, self.token, client_of(connection), now)

    def _check_token(self, token: str, right: str, client: str, now: float) -> None:
        wrong = self._wrong.of(client)
        if not wrong.holds(1, now):
            # The right one, too: else whoever guesses would learn it from the answer.
            raise Refused(CloseCode.TOO_MANY, "too many wrong tokens came from this address. Wait a few seconds.")
        if not (hmac.compare_digest(token.encode(), right.encode()) or is_good(token, right, now=self.clock())):
            if token:  # without one nothing was guessed
                wrong.take(1, now)
            raise Refused(CloseCode.UNAUTHORISED, "the token is missing or wrong. Open the address that was printed.")


def is_loopback(host: str) -> bool:
    """Whether this name or address means this machine, and nobody else can reach it there."""
    if host.lower() == "localhost" or host.lower().endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def client_key(address: str) -> str:
    """What stands for a client: its address; with IPv6 its network, since who has one address has all of them."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    return str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else address


def name_in(host: str) -> str | None:
    """The name in a Host header, without its port. None if it is malformed."""
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def _place_of(origin: str) -> str | None:
    """Host and port of an Origin header. None if it is malformed."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def client_of(connection: HTTPConnection) -> str:
    """What stands for whoever asks."""
    return client_key(connection.client.host) if connection.client is not None else ""
