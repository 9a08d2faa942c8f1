"""What a carrier's stream says, and whoever pretends to be one: up to where a session would be told."""

from __future__ import annotations

import asyncio
import base64
from random import Random
from typing import Any, cast

from antiphon.audio import AudioFrame
from antiphon.console.access import Limits
from antiphon.console.phone_call import PhoneIncoming
from antiphon.console.protocol import Refused
from antiphon.transports.telephone import DIALECTS, Key, Marked, Sound, Started, TelephoneInput, TelephoneOutput
from tests.wires import mutate
from tests.wires.wire import Finding, Wire, well_formed
from tests.wires.wire_page import Socket

SOUND = base64.b64encode(b"\xff\x00\x80\x7f" * 40).decode()
CONNECTED = {"event": "connected", "protocol": "Call", "version": "1.0.0"}
STARTS: dict[str, Any] = {
    "twilio": {
        "event": "start",
        "sequenceNumber": "1",
        "streamSid": "MZ1",
        "start": {
            "streamSid": "MZ1",
            "accountSid": "AC1",
            "callSid": "CA1",
            "tracks": ["inbound"],
            "customParameters": {"caller": "+15550199"},
            "mediaFormat": {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1},
        },
    },
    "telnyx": {
        "event": "start",
        "sequence_number": "1",
        "stream_id": "MZ1",
        "start": {
            "call_control_id": "v2:1",
            "custom_parameters": {"caller": "+15550199"},
            "media_format": {"encoding": "PCMU", "sample_rate": 8000, "channels": 1},
        },
    },
}
LATER: tuple[Any, ...] = (
    {"event": "media", "streamSid": "MZ1", "media": {"track": "inbound", "chunk": "1", "payload": SOUND}},
    {"event": "media", "streamSid": "MZ1", "media": {"track": "inbound", "chunk": "9", "payload": SOUND}},
    {"event": "mark", "streamSid": "MZ1", "mark": {"name": "0.1"}},
    {"event": "mark", "streamSid": "MZ1", "mark": {"name": "0.2"}},
    {"event": "dtmf", "streamSid": "MZ1", "dtmf": {"track": "inbound_track", "digit": "1"}},
    {"event": "stop", "streamSid": "MZ1", "stop": {"callSid": "CA1"}},
    {"event": "error", "payload": {"code": 1}},
)
LIMITS = Limits(max_text=20_000, messages_burst=20, sound_burst=0.2)

_loop = asyncio.new_event_loop()


def make(random: Random) -> tuple[str, list[str | bytes]]:
    name = random.choice(sorted(STARTS))
    start = STARTS[name] if random.random() < 0.9 else random.choice(list(STARTS.values()))
    frames: list[str | bytes] = [mutate.written(random, CONNECTED)] if random.random() < 0.5 else []
    frames.append(mutate.written(random, start if random.random() < 0.6 else mutate.changed(random, start)))
    for said in mutate.talk(random, LATER, most=6):
        if random.random() < 0.03:
            frames.append(random.randbytes(40))
        frames.append(said)
    return name, [one.encode(errors="replace").decode() if isinstance(one, str) else one for one in frames]


def feed(given: tuple[str, list[str | bytes]]) -> None:
    try:
        _loop.run_until_complete(_hold(*given))
    except Refused as refusal:
        well_formed(refusal.reason, "the reason of a refusal")
        if not 4000 <= refusal.code < 4600:
            raise Finding(f"{refusal.code} is no code of ours") from refusal
        raise


async def _hold(name: str, frames: list[str | bytes]) -> None:
    incoming = PhoneIncoming(cast("Any", Socket(frames)), DIALECTS[name], LIMITS)
    started = await incoming.start()
    for text in (started.stream, started.call, *started.parameters, *started.parameters.values()):
        well_formed(text, "what the stream begins with")
    sent: list[str] = []
    ear, voice = TelephoneOutput(DIALECTS[name], started.stream, sent.append), TelephoneInput()
    voice.start(lambda frame: None, lambda: None)
    ear.write(AudioFrame.silence(0.5, 8_000))
    played = 0.0
    try:
        while True:
            match await incoming.next():
                case Sound() as sound:
                    voice.push(sound)
                case Marked(mark):
                    well_formed(mark, "the name of a mark")
                    ear.marked(mark)
                case Key(digit):
                    if len(digit) != 1:
                        raise Finding(f"{digit!r} is no key")
                case Started():
                    return
            if not played <= ear.played <= 0.5:
                raise Finding(f"{ear.played} s were played after {played} s, of 0.5 s")
            played = ear.played
    except ConnectionError:
        pass
    finally:
        await ear.aclose()
        for text in sent:
            well_formed(text, "what is sent")


WIRE = Wire("telephone", make, feed, declared=(Refused,), share=0.5)
