"""What Deepgram's voice says."""

from __future__ import annotations

from contextlib import aclosing
from random import Random

from antiphon.errors import ProviderError
from antiphon.providers.deepgram import TTS
from antiphon.testing import run_virtual
from tests.wires import mutate
from tests.wires.line import Data, answers
from tests.wires.wire import Finding, Wire

SEEDS = (
    {"type": "Metadata", "request_id": "r", "model_name": "aura"},
    {"type": "Warning", "description": "slow"},
    {"type": "Flushed", "sequence_id": 0},
    {"type": "Error", "description": "no such voice"},
)


def make(random: Random) -> list[Data]:
    said: list[Data] = mutate.talk(random, SEEDS, most=4)
    for _ in range(random.randrange(4)):
        said.insert(random.randrange(len(said) + 1), random.randbytes(random.choice((0, 1, 2, 7, 960))))
    return said


def feed(given: list[Data]) -> None:
    run_virtual(_speak(given), timeout=120)


async def _speak(given: list[Data]) -> None:
    voice = TTS(api_key="k")
    voice.connect = answers(given)  # type: ignore[method-assign]
    text = ""
    async with aclosing(voice.synthesize("Hello there.")) as sound:
        async for audio in sound:
            text += audio.text
            if len(audio.frame.data) % 2 or not audio.frame.data:
                raise Finding(f"expected whole samples, got {len(audio.frame.data)} bytes")
    if text != "Hello there.":
        raise Finding(f"expected sound for the text, got {text!r}")


WIRE = Wire("deepgram_tts", make, feed, declared=(ProviderError,), share=0.5)
