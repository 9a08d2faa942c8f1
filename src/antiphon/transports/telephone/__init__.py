"""A telephone call whose sound travels as JSON over a WebSocket: Twilio's Media Streams, and what speaks like them.

Above: `antiphon.console.telephone`, which holds the socket. Below: nothing. `dialect` is what carriers call things,
`messages` what they say, `line` the two halves of a transport, `mulaw` the sound of telephones.
"""

from antiphon.transports.telephone.dialect import DIALECTS, TELNYX, TWILIO, Dialect
from antiphon.transports.telephone.line import TelephoneInput, TelephoneOutput
from antiphon.transports.telephone.messages import Key, Malformed, Marked, Message, Sound, Started, Stopped, read

__all__ = [
    "DIALECTS",
    "TELNYX",
    "TWILIO",
    "Dialect",
    "Key",
    "Malformed",
    "Marked",
    "Message",
    "Sound",
    "Started",
    "Stopped",
    "TelephoneInput",
    "TelephoneOutput",
    "read",
]
