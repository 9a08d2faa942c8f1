"""What Deepgram's recogniser says, to the stream of a call."""

from __future__ import annotations

from random import Random
from typing import Any

from antiphon.errors import ProviderError
from antiphon.providers.deepgram import STT
from antiphon.stt import SpeechData, SpeechEvent
from antiphon.testing import run_virtual, silence
from tests.wires import mutate
from tests.wires.line import Data, answers
from tests.wires.wire import Finding, Wire, well_formed


def _results(text: str, **fields: Any) -> dict[str, Any]:
    reading = {"transcript": text, "confidence": 0.98, "words": [], "languages": ["en"]}
    return {
        "type": "Results",
        "channel_index": [0, 1],
        "start": 0.0,
        "duration": 0.3,
        "is_final": False,
        "speech_final": False,
        "channel": {"alternatives": [reading]},
        **fields,
    }


SEEDS = (
    {"type": "Metadata", "request_id": "r", "duration": 0.5},
    {"type": "SpeechStarted", "channel": [0], "timestamp": 0.1},
    _results("hello"),
    _results("hello there", is_final=True, speech_final=True),
    {"type": "UtteranceEnd", "channel": [0, 1], "last_word_end": 0.4},
    _results("again", start=0.3),
    _results("", is_final=True, from_finalize=True),
    {"type": "Error", "description": "no such model", "message": "bad", "variant": "x"},
)


def make(random: Random) -> list[Data]:
    said: list[Data] = mutate.talk(random, SEEDS)
    if random.random() < 0.05:
        said.append(random.randbytes(20))
    return said


def feed(given: list[Data]) -> None:
    run_virtual(_listen(given), timeout=120)


async def _listen(given: list[Data]) -> None:
    stt = STT(api_key="k")
    stt.listen = answers(given)  # type: ignore[method-assign]
    async with stt.stream() as stream:
        stream.push(silence(0.5))
        stream.flush()
        stream.end_input()
        async for event in stream:
            _check(event)


def _check(event: SpeechEvent) -> None:
    for reading in event.alternatives:
        if type(reading) is not SpeechData or not 0 <= reading.confidence <= 1:
            raise Finding(f"expected readings, got {reading}")
        well_formed(reading.text, "a transcript")
        well_formed(reading.language, "a language")


WIRE = Wire("deepgram_stt", make, feed, declared=(ProviderError,))
