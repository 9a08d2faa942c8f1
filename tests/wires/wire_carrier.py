"""Requests of a carrier to the addresses of the telephone: signed, not signed, and any content, by ASGI."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

from antiphon import AgentServer, AgentSession
from antiphon.console.access import Access
from antiphon.console.app import page_app
from antiphon.console.archive import Archive
from antiphon.console.calls import Calls, Models
from antiphon.console.reload import AgentFile
from antiphon.console.telephone import Telephone
from antiphon.server.telephone import CarrierApi, Settings
from antiphon.testing.telephone import AsgiDoor
from antiphon.transports.telephone import DIALECTS
from tests.telephone.carrier import signature
from tests.wires import mutate
from tests.wires.wire import Finding, Wire

HOST = "https://agent.example"
PATHS = ("voice", "again?n=0", "again?n=9", "status", "accept/antiphon-1", "accept/%ff", "voice?metadata=%00")
FORM = {
    "CallSid": "CA1",
    "From": "+15550199",
    "To": "+15550100",
    "CallStatus": "in-progress",
    "Direction": "inbound",
    "Digits": "1",
    "AnsweredBy": "human",
}
_loop = asyncio.new_event_loop()
_doors: list[AsgiDoor] = []


async def _entrypoint(session: AgentSession[Any]) -> None:
    """Nobody comes as far as this."""


def _door() -> AsgiDoor:
    if not _doors:
        server = AgentServer()
        server.rtc_session(_entrypoint)
        calls = Calls(
            AgentFile(Path("agent.py"), server=server),
            models=Models(lambda wanted: {}, lambda wanted: {}),
            access=Access("secret"),
            archive=Archive(None),
        )
        settings = Settings(DIALECTS["twilio"], secret="secret", public_url=HOST)
        _doors.append(AsgiDoor(page_app(calls, Telephone(calls, settings, CarrierApi(settings)))))
    return _doors[0]


def make(random: Random) -> tuple[str, dict[str, str], bool]:
    form = dict(FORM)
    for _ in range(random.choice((0, 1, 1, 2, 5))):
        form[random.choice((*FORM, mutate.text(random) or "x"))] = mutate.text(random)
    if random.random() < 0.05:
        form["Long"] = "x" * random.choice((1_000, 9_000, 100_000))
    if random.random() < 0.05:
        form.update({f"f{number}": "" for number in range(random.choice((90, 200)))})
    clean = {name.encode(errors="replace").decode(): form[name].encode(errors="replace").decode() for name in form}
    return random.choice(PATHS), clean, random.random() < 0.8


def feed(given: tuple[str, dict[str, str], bool]) -> None:
    _loop.run_until_complete(_ask(*given))


async def _ask(path: str, form: dict[str, str], signed: bool) -> None:
    url = f"{HOST}/telephone/twilio/{path}"
    headers = {"x-twilio-signature": signature("secret" if signed else "wrong", url, form)}
    status, text = await _door().post(url, form, headers)
    if not signed and status != 403:
        raise Finding(f"a request without a signature was answered by {status}")
    if status not in (200, 204, 400, 403):
        raise Finding(f"{status}: {text[:200]}")
    if status == 200 and ElementTree.fromstring(text).tag != "Response":
        raise Finding(f"no TwiML: {text[:200]}")


WIRE = Wire("carrier", make, feed, share=0.5)
