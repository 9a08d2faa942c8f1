"""Recordings: WAV files that a caller of `antiphon call` or an application gives."""

from __future__ import annotations

import io
import struct
import tempfile
import wave
from pathlib import Path
from random import Random

from antiphon.errors import UsageError
from antiphon.transports.wav import read_recording
from tests.wires import mutate
from tests.wires.wire import Finding, Wire


def _wav(rate: int, channels: int, width: int, frames: int = 400) -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(bytes(range(1, 1 + width)) * channels * frames)
    return buffer.getvalue()


def _floats(rate: int) -> bytes:
    data = struct.pack("<8f", 0.5, -0.5, float("nan"), float("inf"), -float("inf"), 1e30, 0.0, 0.1) * 20
    form = struct.pack("<HHIIHH", 3, 1, rate, 4 * rate, 4, 32)
    head = b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack("<I", 16)
    return head + form + b"data" + struct.pack("<I", len(data)) + data


SEEDS = (
    _wav(16_000, 1, 2),
    _wav(8_000, 2, 2),
    _wav(48_000, 1, 3),
    _wav(44_100, 1, 1),
    _wav(22_050, 6, 4),
    _floats(24_000),
)
_folder = tempfile.TemporaryDirectory()
_path = Path(_folder.name) / "call.wav"


def make(random: Random) -> bytes:
    data = random.choice(SEEDS)
    if random.random() < 0.5:  # the header is where it hurts
        return mutate.torn(random, data[:44]) + data[44:]
    return mutate.torn(random, data)


def feed(given: bytes) -> None:
    _path.write_bytes(given)
    read = read_recording(_path)
    if read.sample_rate != 16_000 or read.num_channels != 1 or len(read.data) % 2:
        raise Finding(f"expected mono at 16 kHz, got {read}")


WIRE = Wire("wav", make, feed, declared=(UsageError,), share=0.5)
