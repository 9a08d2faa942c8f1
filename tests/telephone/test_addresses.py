"""Whom the addresses of the telephone believe, what they answer, and in which order things may come."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Mapping
from xml.etree import ElementTree

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from antiphon.errors import UsageError
from antiphon.server.telephone import Settings
from antiphon.server.telephone.signature import hmac_signature
from antiphon.testing import run_virtual
from antiphon.transports.telephone import DIALECTS
from tests.telephone.carrier import signature
from tests.telephone.desk import HOST, TOKEN, VOICE, Desk, desk

FORM = {"CallSid": "CA7", "From": "+15550199", "To": "+15550100", "CallStatus": "ringing"}
SIGNED = "x-twilio-signature"


def test_the_signature_is_that_of_the_carriers_documentation() -> None:
    url = "https://mycompany.com/myapp.php?foo=1&bar=2"
    given = [("CallSid", "CA1234567890ABCDE"), ("Caller", "+14158675310"), ("Digits", "1234"),
             ("From", "+14158675310"), ("To", "+18005551212")]  # fmt: skip
    assert hmac_signature("12345", url, given) == "GvWf1cFY/Q7PnoempGyD5oXAezc="  # as SHA-1 gives it for this table


async def post(there: Desk, path: str, form: Mapping[str, str], *, token: str = TOKEN) -> tuple[int, str]:
    url = f"{HOST}/telephone/twilio/{path}"
    return await there.door.post(url, form, {SIGNED: signature(token, url, form)})


def test_who_is_not_the_carrier_is_refused() -> None:
    async def check() -> None:
        async with desk() as there:
            for path in ("voice", "again?n=0", "status", "accept/x"):
                assert (await post(there, path, FORM))[0] < 300
                assert (await post(there, path, FORM, token="wrong"))[0] == 403
                assert (await there.door.post(f"{HOST}/telephone/twilio/{path}", FORM, {}))[0] == 403
                signed = {SIGNED: signature(TOKEN, f"{HOST}/telephone/twilio/{path}", FORM)}
                assert (await there.door.post(f"{HOST}/telephone/twilio/{path}", {**FORM, "To": "+1"}, signed))[
                    0
                ] == 403

    run_virtual(check())


def test_a_stream_opens_for_the_carrier_with_a_ticket_for_its_call_alone() -> None:
    async def check() -> None:
        async with desk() as there:
            _, text = await post(there, "voice", FORM)
            url = next(ElementTree.fromstring(text).iter("Stream")).attrib["url"]

            async def opened(url: str, call: str, *, token: str = TOKEN) -> bool:
                ended = asyncio.Event()
                try:
                    socket = await there.door.connect(
                        url, {SIGNED: signature(token, url, {})}, lambda text: None, ended.set
                    )
                except ConnectionError:
                    return False
                socket.send(json.dumps({"event": "connected"}))
                socket.send(json.dumps(start(call)))
                await asyncio.sleep(1.0)
                is_open = not ended.is_set()
                await socket.close()
                return is_open

            assert await opened(url, "CA7")
            assert not await opened(url, "CA7", token="wrong")
            assert not await opened(url, "CA8")  # another call's
            assert not await opened(f"{url}0", "CA7")
            await asyncio.sleep(3.0)
            assert len(there.sessions) == 1

    run_virtual(check())


def start(call: str) -> dict[str, object]:
    return {
        "event": "start",
        "streamSid": "MZ1",
        "start": {
            "streamSid": "MZ1",
            "callSid": call,
            "customParameters": {},
            "mediaFormat": {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1},
        },
    }


def test_a_ticket_grows_old() -> None:
    now = [1_000.0]
    settings = Settings(DIALECTS["twilio"], secret=TOKEN, clock=lambda: now[0])
    ticket = settings.ticket("CA1")
    assert settings.admits(ticket, "CA1")
    assert not settings.admits(ticket, "CA2")
    assert not settings.admits("9999999999" + ticket[4:], "CA1")
    now[0] += 61
    assert not settings.admits(ticket, "CA1")


@pytest.mark.parametrize(
    "messages",
    [
        ["not JSON"],
        ["[1]"],
        [json.dumps({"event": "media", "media": {"payload": "AAAA"}})],  # before start
        [json.dumps({"event": "stop"})],
        [json.dumps(start("CA7")), json.dumps(start("CA7"))],
        [json.dumps(start("CA7")), json.dumps({"event": "media", "media": {"payload": "?"}})],
        [json.dumps(start("CA7")), json.dumps({"event": "dtmf", "dtmf": {"digit": "12"}})],
        [json.dumps(start("CA7")).replace("8000", "16000")],
    ],
)
def test_a_stream_that_makes_no_sense_ends_its_own_call_and_no_other(messages: list[str]) -> None:
    async def check() -> None:
        async with desk() as there:
            other = await there.carrier.ring(VOICE)
            _, text = await post(there, "voice", FORM)
            url = next(ElementTree.fromstring(text).iter("Stream")).attrib["url"]
            ended = asyncio.Event()
            socket = await there.door.connect(url, {SIGNED: signature(TOKEN, url, {})}, lambda text: None, ended.set)
            for message in messages:
                socket.send(message)
            async with asyncio.timeout(5.0):
                await ended.wait()
            assert other.far is not None
            await other.hang_up()

    run_virtual(check())


def test_news_of_calls_may_come_in_any_order() -> None:
    async def check() -> None:
        async with desk() as there:
            assert (await post(there, "status", {**FORM, "CallStatus": "completed"}))[0] == 204  # of no call of ours
            caller = await there.carrier.ring(VOICE)
            news = {**FORM, "CallSid": caller.sid}
            await asyncio.sleep(0.5)
            await post(there, "status", {**news, "CallStatus": "ringing"})
            assert there.sessions[0].is_running
            await post(there, "status", {**news, "CallStatus": "completed"})
            await there.door.drain()
            assert not there.sessions[0].is_running
            assert "<Hangup/>" in (await post(there, "again?n=0", {**news, "CallStatus": "in-progress"}))[1]

    run_virtual(check())


def test_an_address_without_a_token_is_refused_unless_that_is_said() -> None:
    with pytest.raises(UsageError, match="TWILIO_AUTH_TOKEN is not set"):
        Settings.from_environment("twilio", {})
    assert Settings.from_environment("twilio", {}, unsigned=True).secret == ""
    with pytest.raises(UsageError, match="expected twilio or telnyx"):
        Settings.from_environment("acme", {})
    with pytest.raises(UsageError, match="--public-url"):
        Settings.from_environment("twilio", {"TWILIO_AUTH_TOKEN": "x"}, public_url="example.com")
    found = Settings.from_environment("twilio", {"TWILIO_AUTH_TOKEN": "x"}, public_url="https://example.com/")
    assert (found.secret, found.public_url) == ("x", "https://example.com")


def test_requests_of_the_second_dialect_are_signed_by_a_key() -> None:
    key = Ed25519PrivateKey.generate()
    public = base64.b64encode(key.public_key().public_bytes_raw()).decode()
    settings = Settings(DIALECTS["telnyx"], secret=public, clock=lambda: 1_000.0)

    def is_signed(body: bytes, signed: bytes, timestamp: str) -> bool:
        made = base64.b64encode(key.sign(timestamp.encode() + b"|" + signed)).decode()
        headers = {"telnyx-signature-ed25519": made, "telnyx-timestamp": timestamp}
        return settings.is_signed(headers, "https://example.com/", body, ())

    assert is_signed(b"a=1", b"a=1", "1000")
    assert not is_signed(b"a=2", b"a=1", "1000")
    assert not is_signed(b"a=1", b"a=1", "100")  # old
    assert not settings.is_signed({}, "https://example.com/", b"", ())
    assert not settings.is_signed(
        {"telnyx-signature-ed25519": "\ud800", "telnyx-timestamp": "1000"}, "https://example.com/", b"", ()
    )
