"""Measures the local speech models as a call uses them: `python benchmarks/local_speech.py`.

Sentences spoken by the local voice are played in real time, in 20 ms frames, to detector and recogniser, clean and as a
telephone call from a noisy room. Printed: load times, real-time factors, when transcripts arrive, how many were right,
and how many ends of turn the text detector judged rightly.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from antiphon.audio import AudioFrame, Resampler
from antiphon.providers.local import HibariTTS, MoonshineSTT, SileroVAD
from antiphon.providers.local.turn_detector import probability
from antiphon.stt import SpeechEventType, STTStream
from antiphon.vad import SpeechEnded

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.providers.local.speech import SENTENCES, TURNS, telephone, words

FRAME = 0.02


@dataclass
class Heard:
    """What one spoken sentence led to. Times are in seconds after the detector's end of speech."""

    text: str = ""
    finals: list[float] = field(default_factory=list)
    first_interim: float | None = None
    """Seconds after the voice began."""
    push_costs: list[float] = field(default_factory=list)


async def listen(speech: AudioFrame, vad: SileroVAD, stt: MoonshineSTT) -> Heard:
    """Play the speech in real time, as a call does."""
    heard = Heard()
    detector, stream = vad.stream(), stt.stream()
    began = time.perf_counter()
    ended_at = began

    async def read(stream: STTStream) -> None:
        async for event in stream:
            now = time.perf_counter()
            if event.type is SpeechEventType.FINAL_TRANSCRIPT:
                heard.text = f"{heard.text} {event.text}".strip()
                heard.finals.append(now - ended_at)
            elif heard.first_interim is None:
                heard.first_interim = now - began

    reader = asyncio.create_task(read(stream))
    step = round(FRAME * speech.sample_rate) * 2
    for index, at in enumerate(range(0, len(speech.data), step)):
        await asyncio.sleep(max(0.0, began + index * FRAME - time.perf_counter()))
        frame = AudioFrame(speech.data[at : at + step], speech.sample_rate)
        started = time.perf_counter()
        stream.push(frame)
        events = detector.push(frame)
        for event in events:
            stream.mark(event)
            if isinstance(event, SpeechEnded):
                ended_at = time.perf_counter()
        heard.push_costs.append(time.perf_counter() - started)
    stream.end_input()
    await reader
    return heard


async def say(tts: HibariTTS, text: str) -> tuple[AudioFrame, float]:
    """The sentence between two silences, and the seconds until its first frame."""
    started = time.perf_counter()
    first = 0.0
    data = b""
    async for audio in tts.synthesize(text):
        first = first or time.perf_counter() - started
        data += audio.frame.data
    silence = AudioFrame.silence(0.7, tts.sample_rate).data
    return AudioFrame(silence + data + silence, tts.sample_rate), first


def milliseconds(values: list[float]) -> str:
    """Median and 95th percentile of seconds."""
    ordered = sorted(values)
    p95 = ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))]
    return f"median {1000 * statistics.median(ordered):6.1f}  p95 {1000 * p95:6.1f} ms"


async def main(model: str) -> None:
    """Print all measures."""
    vad, stt, tts = SileroVAD(), MoonshineSTT(model=model), HibariTTS()  # type: ignore[arg-type]
    for name, part in (("vad", vad), ("stt", stt), ("tts", tts)):
        started = time.perf_counter()
        await part.prewarm()
        print(f"load {name}: {time.perf_counter() - started:.2f} s")

    spoken = [await say(tts, sentence) for sentence in SENTENCES]
    print("tts first audio:      ", milliseconds([first for _, first in spoken]))
    seconds = sum(speech.duration - 1.4 for speech, _ in spoken)
    print(f"tts real-time factor:  {sum(first for _, first in spoken) / seconds:.3f}")

    seconds, started = 0.0, time.perf_counter()
    detector = vad.stream()
    to_model_rate = Resampler(16000)
    for speech, _ in spoken:
        seconds += speech.duration
        detector.push(to_model_rate.push(speech))
    print(f"vad per 32 ms window:  {(time.perf_counter() - started) / seconds * 0.032 * 1e6:.0f} us")

    rooms: list[tuple[str, Callable[[AudioFrame], AudioFrame]]] = [
        ("clean 24 kHz", lambda speech: speech),
        ("telephone, 10 dB", telephone),
    ]
    for room, change in rooms:
        cpu, audio = time.process_time(), 0.0
        heard = [await listen(change(speech), vad, stt) for speech, _ in spoken]
        audio = sum(speech.duration for speech, _ in spoken)
        cpu = (time.process_time() - cpu) / audio
        right = sum(words(one.text) == words(sentence) for one, sentence in zip(heard, SENTENCES, strict=True))
        print(f"\n{room}: {right} of {len(SENTENCES)} sentences right, {cpu:.3f} cpu s per s of audio")
        print("  final after end of speech:", milliseconds([one.finals[-1] for one in heard if one.finals]))
        print(
            "  first interim after 0.7 s: ",
            milliseconds([one.first_interim - 0.7 for one in heard if one.first_interim]),
        )
        print("  push of a 20 ms frame:     ", milliseconds([cost for one in heard for cost in one.push_costs]))
        for one, sentence in zip(heard, SENTENCES, strict=True):
            if words(one.text) != words(sentence):
                print(f"    said  {sentence!r}\n    heard {one.text!r}")

    right = sum((probability(text, asked) >= 0.5) == complete for text, asked, complete in TURNS)
    started = time.perf_counter()
    for text, asked, _ in TURNS:
        probability(text, asked)
    cost = (time.perf_counter() - started) / len(TURNS)
    print(f"\nend of turn from text: {right} of {len(TURNS)} right, {cost * 1e6:.0f} us each")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="base-en", choices=["base-en", "tiny-en"])
    asyncio.run(main(parser.parse_args().model))
