"""The account with a carrier, the address at which it finds this server, and tickets for its streams.

Every request of a carrier is signed. A stream opens with a ticket, too: it names the call that it is for and its hour,
so that who has seen one stream's address opens no other, and no carrier must sign sockets.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from antiphon.errors import UsageError
from antiphon.server.telephone.signature import Parameters, is_hmac_signed, is_key_signed
from antiphon.transports.telephone import DIALECTS, Dialect

TICKET = 60
"""Seconds in which a stream must open after the call was answered."""


@dataclass(slots=True, frozen=True)
class Settings:
    """One carrier's."""

    dialect: Dialect
    secret: str = ""
    """What requests are checked by; "": they are not checked."""
    account: str = ""
    api_key: str = field(default="", repr=False)
    public_url: str = ""
    """Where the carrier finds this server, "https://example.com"; "": under the name that it asked for, by https."""
    api_url: str = ""
    """Of its REST interface; "": the carrier's own."""
    number: str = ""
    """The number that calls from here come from, unless they say otherwise."""
    clock: Callable[[], float] = field(default=time.time, repr=False, compare=False)

    @classmethod
    def from_environment(
        cls, name: str, environment: Mapping[str, str], *, public_url: str = "", unsigned: bool = False
    ) -> Settings:
        """Those of the carrier called `name`. Raises `UsageError` for what is missing, and says where it is found."""
        dialect = DIALECTS.get(name)
        if dialect is None:
            raise UsageError(f"--telephone: expected {' or '.join(DIALECTS)}, got {name!r}.")
        secret = environment.get(dialect.secret, "").strip()
        if not secret and not unsigned:
            raise UsageError(
                f"--telephone {name}: {dialect.secret} is not set, so anybody could pretend to be the carrier."
                " Set it, or say --telephone-unsigned where nobody else reaches this server."
            )
        public_url = public_url.rstrip("/")
        if public_url and (urlsplit(public_url).scheme not in ("http", "https") or not urlsplit(public_url).netloc):
            raise UsageError(f"--public-url: expected an address such as https://example.com, got {public_url!r}.")
        return cls(
            dialect,
            secret="" if unsigned else secret,
            account=environment.get(dialect.account, "").strip(),
            api_key=environment.get(dialect.key, "").strip(),
            public_url=public_url,
            api_url=environment.get(f"{name.upper()}_API_URL", "").strip().rstrip("/"),
            number=environment.get(f"{name.upper()}_PHONE_NUMBER", "").strip(),
        )

    def call_id(self, call: str) -> str:
        """What the carrier's call is known by here, in every process. It tells nothing of the carrier's own id."""
        return self._digest("call", call)[:32]

    def dial_id(self, key: str) -> str:
        """What a call from here is known by, in every process, that was asked for with this key."""
        return self._digest("dial", key)[:32]

    def ticket(self, call: str) -> str:
        """Opens a stream for this call."""
        until = int(self.clock()) + TICKET
        return f"{until}-{self._digest('ticket', call, str(until))}"

    def admits(self, ticket: str, call: str) -> bool:
        """Whether the ticket is for this call, and good."""
        until, _, digest = ticket.partition("-")
        right = self._digest("ticket", call, until)
        is_right = hmac.compare_digest(right.encode(), digest.encode("utf-8", "surrogatepass"))
        return is_right and until.isascii() and until.isdecimal() and int(until[:12]) >= self.clock()

    def is_signed(
        self, headers: Mapping[str, str], url: str, body: bytes, parameters: Parameters, *, socket: bool = False
    ) -> bool:
        """Whether a request to this address comes from the carrier. `headers` have names in lower case."""
        if not self.secret or (socket and not self.dialect.signs_socket):
            return True
        if self.dialect.signed_by == "ed25519":
            signature, timestamp = headers.get("telnyx-signature-ed25519", ""), headers.get("telnyx-timestamp", "")
            return is_key_signed(self.secret, signature, timestamp, body, now=self.clock())
        # The address of a socket is signed with a slash behind it by some of Twilio's servers, and without by others.
        urls = (url, f"{url}/", f"ws{url[4:]}", f"ws{url[4:]}/") if socket else (url,)
        return is_hmac_signed(self.secret, headers.get("x-twilio-signature", ""), urls, parameters)

    def _digest(self, *what: str) -> str:
        key = (self.secret or self.api_key or "unsigned").encode()
        said = "\0".join((self.dialect.name, *what)).encode("utf-8", "surrogatepass")
        return hmac.new(key, said, hashlib.sha256).hexdigest()
