"""Calls by telephone, as the server knows them: who may ask, what is answered, and what is asked of the carrier.

| | |
|---|---|
| `settings` | the account, and the address at which the carrier finds this server |
| `signature` | whether a request comes from the carrier |
| `markup` | the XML that it is answered with |
| `api` | its REST interface: calls are made, changed and ended |
| `transfer` | a caller is passed on to a person, and what came of it |
| `dialed`, `dialing`, `dial_ledger` | calls from here: how each stands, who makes them, what is kept |
| `room` | the room of a call by telephone |

Above: `antiphon.console.telephone`, which has the addresses and the sockets. Below: `antiphon.transports.telephone`.
Carriers differ by their `Dialect`, and nowhere else.
"""

from antiphon.server.telephone.api import CarrierApi, CarrierError, Leg
from antiphon.server.telephone.dialed import DialedCall, DialRequest, DialState
from antiphon.server.telephone.dialing import DialBusy, Dialing
from antiphon.server.telephone.room import PhoneRoom
from antiphon.server.telephone.settings import Settings
from antiphon.server.telephone.transfer import Outcome, Transfers

__all__ = [
    "CarrierApi",
    "CarrierError",
    "DialBusy",
    "DialRequest",
    "DialState",
    "DialedCall",
    "Dialing",
    "Leg",
    "Outcome",
    "PhoneRoom",
    "Settings",
    "Transfers",
]
