"""Tokens that let somebody call for a while, made by whoever knows the long one.

Your own server decides who may call. It makes a token for them, and hands out the address of the page with it. The long
token, which makes others, stays with the two servers. What a token lets somebody do is begin a call: one that is on
when its time is up goes on.

Above: applications, and the page's `Access`. Below: nothing.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time

from antiphon.errors import UsageError

LONGEST = 24 * 3600
"""Seconds that a token may be good for."""
SHORTEST_SECRET = 20
"""Characters of the long token: whoever has a short one could try out which long one makes it."""


def mint_token(secret: str, *, seconds: float = 300.0, now: float | None = None) -> str:
    """A token that is good for so many seconds. `secret` is ANTIPHON_TOKEN of the server that it is for.

    Raises `UsageError` for a secret that is too short, and for more than a day.
    """
    if len(secret) < SHORTEST_SECRET:
        raise UsageError(f"mint_token: expected a secret of {SHORTEST_SECRET} characters or more, got {len(secret)}.")
    if not 0 < seconds <= LONGEST:
        raise UsageError(f"mint_token: expected up to {LONGEST} seconds, got {seconds:g}.")
    until = int((time.time() if now is None else now) + seconds)
    begin = f"{until}.{secrets.token_urlsafe(9)}"
    return f"{begin}.{_signature(begin, secret)}"


def is_good(token: str, secret: str, *, now: float) -> bool:
    """Whether a token was made by `mint_token` with this secret, and its time is not up."""
    begin, _, signature = token.rpartition(".")
    if len(secret) < SHORTEST_SECRET or not hmac.compare_digest(signature.encode(), _signature(begin, secret).encode()):
        return False
    until = begin.partition(".")[0]
    return until.isdecimal() and now < int(until)


def _signature(begin: str, secret: str) -> str:
    made = hmac.new(secret.encode(), b"antiphon page " + begin.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(made).decode().rstrip("=")
