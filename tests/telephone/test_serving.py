"""The addresses of the telephone on a real port: forms come whole, in whatever pieces they travel."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlencode, urlsplit
from xml.etree import ElementTree

from websockets.asyncio.client import connect

from antiphon.console.reload import AgentFile
from antiphon.console.serve import PageServer, Place, page_server
from antiphon.server.telephone import Settings
from antiphon.testing import wait_until
from antiphon.transports.telephone import DIALECTS
from tests.console.serving import AS_GIVEN, VOICE, run, write
from tests.telephone.carrier import signature
from tests.telephone.test_addresses import start

TOKEN = "0123456789abcdef"
HOST = "https://agent.example"
PATH = "/telephone/twilio/voice"
FORM = {"CallSid": "CA7", "From": "+15550199", "To": "+15550100", "CallStatus": "ringing"}


async def asked(server: PageServer, form: dict[str, str], *, cuts: Sequence[int] = (), path: str = PATH) -> bytes:
    """What the server answers to a form that travels in pieces."""
    body = urlencode(form).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: agent.example\r\ncontent-type: application/x-www-form-urlencoded\r\n"
        f"content-length: {len(body)}\r\nx-twilio-signature: {signature(TOKEN, HOST + path, form)}\r\n"
        "connection: close\r\n\r\n"
    ).encode()
    whole = head + body
    split = urlsplit(server.url)
    reader, writer = await asyncio.open_connection(split.hostname, split.port)
    for begin, end in zip((0, *cuts), (*cuts, len(whole)), strict=True):
        writer.write(whole[begin:end])
        await writer.drain()
        await asyncio.sleep(0.02)
    answer = await reader.read()
    writer.close()
    return answer


async def check(server: PageServer) -> None:
    for cuts in ((), (40,), (300, 340), (5, 290, 335)):
        answer = await asked(server, FORM, cuts=cuts)
        assert answer.startswith(b"HTTP/1.1 200"), answer
        assert b"<Connect" in answer
    assert b"<Connect" in await asked(server, {**FORM, "Long": "x" * 5_000})
    assert b"<Connect" not in await asked(server, {**FORM, "Long": "x" * 9_000})
    assert b"HTTP/1.1 405" in await asked(server, FORM, path="/telephone/acme/voice")
    stream = next(ElementTree.fromstring(answer.partition(b"\r\n\r\n")[2]).iter("Stream")).attrib["url"]
    near = server.url.replace("http", "ws", 1).partition("/?")[0] + urlsplit(stream).path
    async with connect(near, additional_headers={"x-twilio-signature": signature(TOKEN, stream, {})}) as socket:
        await socket.send(json.dumps(start("CA7")))
        await asyncio.sleep(1.0)
        await socket.send(json.dumps({"event": "stop"}))
        await socket.wait_closed()
        assert socket.close_code == 1000


def test_forms_come_whole_and_streams_open_on_a_real_port(tmp_path: Path) -> None:
    async def serve() -> None:
        file = AgentFile(write(tmp_path, VOICE))
        await file.load()
        settings = Settings(DIALECTS["twilio"], secret=TOKEN, public_url=HOST)
        async with page_server(file, Place(port=0), models=AS_GIVEN, telephone=settings) as server:
            await wait_until(lambda: server.server.started)
            await check(server)

    run(serve)
