"""What carriers call the same things: a row for each. All else about their streams is alike.

What is not here is no difference: JSON text frames with an `event`, sound in base64, marks that come back when what was
sent before them has sounded, `clear`, and keys one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(slots=True, frozen=True)
class Dialect:
    """One carrier's words."""

    name: str
    stream_id: str
    """The field of a message that names its stream."""
    call_id: str
    """The field of `start` that names its call."""
    parameters: str
    """The field of `start` with the parameters of the stream's XML."""
    media_format: str
    sample_rate: str
    """Its field with the rate in Hz."""
    encodings: frozenset[str]
    """What mu-law is called there."""
    names_stream: bool
    """Whoever sends says which stream it is for."""
    stream_attributes: Mapping[str, str]
    """Of `<Stream>`, for sound in both directions."""
    signed_by: Literal["hmac-sha1", "ed25519"]
    """How requests are signed: with the account's token, or by a key of the carrier's."""
    signs_socket: bool
    """The request that opens the stream is signed, too."""
    secret: str
    """The variable of the environment with what signatures are checked by."""
    api: str
    """Where its calls are made, changed and ended; `{account}` is the account's id."""
    suffix: str
    """What its addresses end in."""
    markup: str
    """The parameter that carries XML."""
    account: str
    """The variable with the account's id."""
    key: str
    """The variable with what is shown to the API: with the account's id, or alone as a bearer's."""


TWILIO = Dialect(
    name="twilio",
    stream_id="streamSid",
    call_id="callSid",
    parameters="customParameters",
    media_format="mediaFormat",
    sample_rate="sampleRate",
    encodings=frozenset({"audio/x-mulaw"}),
    names_stream=True,
    stream_attributes={},
    signed_by="hmac-sha1",
    signs_socket=True,
    secret="TWILIO_AUTH_TOKEN",
    api="https://api.twilio.com/2010-04-01/Accounts/{account}",
    suffix=".json",
    markup="Twiml",
    account="TWILIO_ACCOUNT_SID",
    key="TWILIO_AUTH_TOKEN",
)
TELNYX = Dialect(
    name="telnyx",
    stream_id="stream_id",
    call_id="call_control_id",
    parameters="custom_parameters",
    media_format="media_format",
    sample_rate="sample_rate",
    encodings=frozenset({"PCMU"}),
    names_stream=False,
    stream_attributes={"bidirectionalMode": "rtp", "codec": "PCMU"},
    signed_by="ed25519",
    signs_socket=False,
    secret="TELNYX_PUBLIC_KEY",
    api="https://api.telnyx.com/v2/texml/Accounts/{account}",
    suffix="",
    markup="Texml",
    account="TELNYX_ACCOUNT_SID",
    key="TELNYX_API_KEY",
)

DIALECTS: Mapping[str, Dialect] = {one.name: one for one in (TWILIO, TELNYX)}
"""All of them, by name."""
