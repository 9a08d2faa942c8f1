"""What background sound costs: processor time of the mixer, for a second of a call.

Run from the checkout: `.venv/bin/python -m benchmarks.background_audio`. Twenty calls at once, whose loudspeaker costs
next to nothing; speech is written as a session writes it. The least of three runs counts: other work on the machine can
only make a run dearer.
"""

from __future__ import annotations

import asyncio
import time

from antiphon.audio import AudioFrame
from antiphon.background_audio.clips import BuiltinAudioClip, render
from antiphon.transport import AudioOutput
from antiphon.transports.bed import Clip
from antiphon.transports.mixer import MixedOutput

CALLS = 20
SECONDS = 4.0
RATE = 24_000


class Cheap(AudioOutput):
    """A loudspeaker that only counts."""

    sample_rate = RATE

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._at, self._played, self._queued = self._loop.time(), 0.0, 0.0

    def _advance(self) -> None:
        now = self._loop.time()
        passed = min(self._queued, now - self._at)
        self._at, self._played, self._queued = now, self._played + passed, self._queued - passed

    def write(self, frame: AudioFrame) -> None:
        self._advance()
        self._queued += frame.duration

    @property
    def played(self) -> float:
        self._advance()
        return self._played

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def clear(self) -> float:
        self._advance()
        dropped, self._queued = self._queued, 0.0
        return dropped


async def calls(*, sounds: int, speech: bool, mixed: bool = True) -> float:
    """Milliseconds of processor time for a second of a call."""
    clip = render(BuiltinAudioClip.OFFICE_AMBIENCE, RATE)
    outputs: list[AudioOutput] = []
    for _ in range(CALLS):
        output: AudioOutput = Cheap()
        if mixed:
            output = MixedOutput(output)
            for _ in range(sounds):
                output.add(Clip(clip, loop=True))
        output.start()
        outputs.append(output)
    written = [0.0] * CALLS
    frame = AudioFrame(bytes(2 * RATE // 10), RATE)
    end, began = time.perf_counter() + SECONDS, time.process_time()
    while time.perf_counter() < end:
        if speech:
            for number, output in enumerate(outputs):
                if written[number] - output.played <= output.lead / 2:
                    output.write(frame)
                    written[number] += frame.duration
        await asyncio.sleep(0.02 if speech else 0.5)
    spent = time.process_time() - began
    for output in outputs:
        await output.aclose()
    return 1000 * spent / SECONDS / CALLS


def least(*, sounds: int, speech: bool, mixed: bool = True) -> float:
    """The same, of three runs."""
    return min(asyncio.run(calls(sounds=sounds, speech=speech, mixed=mixed)) for _ in range(3))


def main() -> None:
    """Print a line for each case."""
    bare = least(sounds=0, speech=True, mixed=False)
    for what, cost in (
        ("no bed, silence", least(sounds=0, speech=False)),
        ("no bed, speech all the time", least(sounds=0, speech=True) - bare),
        ("one sound, nobody speaks", least(sounds=1, speech=False)),
        ("one sound, speech all the time", least(sounds=1, speech=True) - bare),
        ("two sounds, nobody speaks", least(sounds=2, speech=False)),
        ("two sounds, speech all the time", least(sounds=2, speech=True) - bare),
    ):
        print(f"{what:34s} {cost:.2f} ms for a second of a call")


if __name__ == "__main__":
    main()
