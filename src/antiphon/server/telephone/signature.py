"""Whether a request comes from the carrier. Every comparison takes the same time, whatever was sent.

Twilio signs the address and the sorted parameters by HMAC-SHA1 with the account's token; Telnyx signs the time and the
body with an Ed25519 key.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable, Sequence

from antiphon.errors import UsageError

FRESH = 300.0
"""Seconds for which a request with a time in its signature is good."""
Parameters = Sequence[tuple[str, str]]


def hmac_signature(token: str, url: str, parameters: Parameters = ()) -> str:
    """The signature of a request: its address, and behind it each parameter of its body, by name."""
    signed = url + "".join(name + value for name, value in sorted(set(parameters)))
    digest = hmac.new(_bytes(token), _bytes(signed), hashlib.sha1).digest()
    return base64.b64encode(digest).decode()


def is_hmac_signed(token: str, signature: str, urls: Iterable[str], parameters: Parameters = ()) -> bool:
    """Whether a request to one of these addresses was signed so."""
    found = [hmac.compare_digest(_bytes(hmac_signature(token, url, parameters)), _bytes(signature)) for url in urls]
    return any(found)  # all were compared: how long it took tells nothing


def is_key_signed(public_key: str, signature: str, timestamp: str, body: bytes, *, now: float) -> bool:
    """Whether a body was signed by this key (base64) in the last `FRESH` seconds. `now`: seconds since 1970.

    Raises `UsageError` for a key that is none.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key, validate=True))
    except (ValueError, binascii.Error):
        raise UsageError("TELNYX_PUBLIC_KEY: expected 32 bytes in base64. Copy it from the portal.") from None
    if not (timestamp.isascii() and timestamp.isdecimal() and len(timestamp) < 12):
        return False
    if abs(now - int(timestamp)) > FRESH:
        return False
    try:
        key.verify(base64.b64decode(signature, validate=True), timestamp.encode() + b"|" + body)
    except (InvalidSignature, ValueError, binascii.Error):
        return False
    return True


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
