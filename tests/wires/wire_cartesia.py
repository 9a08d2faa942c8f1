"""What Cartesia's voice says."""

from __future__ import annotations

import base64
from contextlib import aclosing
from random import Random

from antiphon.errors import ProviderError
from antiphon.providers import cartesia
from antiphon.testing import run_virtual
from tests.wires import mutate
from tests.wires.line import Data, answers
from tests.wires.wire import Finding, Wire

_SOUND = base64.b64encode(bytes(range(96))).decode()
SEEDS = (
    {"type": "chunk", "data": _SOUND, "done": False, "status_code": 206, "step_time": 1.5},
    {"type": "chunk", "data": _SOUND[:-3] + "A==", "done": False, "status_code": 206},
    {"type": "timestamps", "word_timestamps": {"words": ["Hello"], "start": [0.0], "end": [0.5]}},
    {"type": "flush_done", "flush_done": True, "flush_id": 1, "status_code": 206},
    {"type": "chunk", "data": _SOUND, "context_id": "another"},
    {"type": "done", "done": True, "status_code": 200},
    {"type": "error", "title": "Bad", "message": "no such voice", "status_code": 404, "error_code": "x"},
)


def make(random: Random) -> list[Data]:
    said: list[Data] = mutate.talk(random, SEEDS)
    if random.random() < 0.05:
        said.append(random.randbytes(20))
    return said


def feed(given: list[Data]) -> None:
    run_virtual(_speak(given), timeout=120)


async def _speak(given: list[Data]) -> None:
    voice = cartesia.TTS(api_key="k")
    voice._pool._connect = answers(given)
    async with aclosing(voice.synthesize("Hello there.")) as sound:
        async for audio in sound:
            if len(audio.frame.data) % 2 or not audio.frame.data:
                raise Finding(f"expected whole samples, got {len(audio.frame.data)} bytes")


WIRE = Wire("cartesia", make, feed, declared=(ProviderError,))
