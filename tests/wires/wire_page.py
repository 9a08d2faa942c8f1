"""What a page sends in a call: its messages and its sound, up to where a session would be told."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any, cast

from antiphon.console import protocol
from antiphon.console.access import Limits
from antiphon.console.incoming import Incoming
from antiphon.console.line import Line
from antiphon.console.media import Media, media_for
from antiphon.console.protocol import Played, Refused, Start, Text
from tests.wires import mutate
from tests.wires.wire import Finding, Wire, well_formed

START = {
    "type": "start",
    "rate": 48_000,
    "audio": True,
    "transport": "websocket",
    "push_to_talk": False,
    "resume": None,
}
LATER: tuple[Any, ...] = (
    {"type": "text", "text": "I would like a table for two."},
    {"type": "push", "down": True},
    {"type": "played", "epoch": 0, "samples": 960},
    {"type": "dtmf", "digit": "#"},
    {"type": "hang_up"},
    {"type": "offer", "sdp": "v=0\r\n"},
    {**START, "audio": False},
)
LIMITS = Limits(max_text=20_000, messages_burst=20, sound_burst=0.2)

_loop = asyncio.new_event_loop()


class Socket:
    """A socket whose page has said everything already."""

    def __init__(self, frames: list[str | bytes]) -> None:
        self._frames = iter(frames)

    async def receive(self) -> dict[str, Any]:
        for frame in self._frames:
            return {"type": "websocket.receive", "text" if isinstance(frame, str) else "bytes": frame}
        return {"type": "websocket.disconnect", "code": 1005}


def make(random: Random) -> list[str | bytes]:
    frames: list[str | bytes] = []
    first = START if random.random() < 0.9 else random.choice(LATER)
    frames.append(mutate.written(random, first if random.random() < 0.6 else mutate.changed(random, first)))
    for said in mutate.talk(random, LATER, most=5):
        if random.random() < 0.4:
            frames.append(random.randbytes(random.choice((0, 1, 2, 3, 640, 1_920, 9_600, 20_000))))
        frames.append(said)
    # The socket gives text that is UTF-8, and closes on any other.
    return [one.encode(errors="replace").decode() if isinstance(one, str) else one for one in frames]


def feed(frames: list[str | bytes]) -> None:
    try:
        _loop.run_until_complete(_hold(cast("Any", Socket(frames))))
    except Refused as refusal:
        well_formed(refusal.reason, "the reason of a refusal")
        if not 4000 <= refusal.code < 4600:
            raise Finding(f"{refusal.code} is no code of ours") from refusal
        raise


async def _hold(socket: Any) -> None:
    incoming = Incoming(socket, LIMITS)
    start = await incoming.start()
    well_formed(start.resume or "", "the id of an earlier call")
    media = media_for(start, Line(socket), LIMITS, ())
    try:
        while (frame := await incoming.next()) is not None:
            if isinstance(frame, bytes):
                media.hear(frame, _loop.time())
            else:
                _obey(media, protocol.parse(frame))
    finally:
        await media.aclose()


def _obey(media: Media, message: object) -> None:
    match message:
        case Text():
            well_formed(message.text, "a typed turn")
        case Played():
            media.report(message.epoch, message.samples)
        case protocol.Offer():
            well_formed(message.sdp, "an offer")
            media.offer(message.sdp)
        case Start():
            raise Refused(protocol.CloseCode.MALFORMED, "a second start")


WIRE = Wire("page", make, feed, declared=(Refused,), share=0.5)
