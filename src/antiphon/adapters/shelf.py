"""Speech that is kept: in memory, and in a directory for the next run.

Above: `CachedTTS`. Below: files. Memory is what is asked; the directory is read once, when the shelf is opened, and
written behind the caller's back, a file for each text. A file is a line of JSON, which says what it holds, and samples.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from antiphon import private
from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.tts import SynthesizedAudio, WordTiming

_logger = logging.getLogger("antiphon.tts")

_VERSION = 1
_SUFFIX = ".speech"


@dataclass(slots=True, frozen=True)
class Key:
    """What makes two pieces of speech the same."""

    label: str
    voice: str
    sample_rate: int
    text: str


@dataclass(slots=True, frozen=True)
class Speech:
    """A text, spoken to its end."""

    pieces: Sequence[SynthesizedAudio]

    @property
    def size(self) -> int:
        """Bytes of sound."""
        return sum(len(audio.frame.data) for audio in self.pieces)


class Shelf:
    """Keeps the speech that was used last, `max_bytes` of it in memory and as much in the directory."""

    def __init__(self, max_bytes: int, directory: Path | None) -> None:
        if max_bytes <= 0:
            raise UsageError(f"CachedTTS: expected max_bytes above 0, got {max_bytes}; leave the wrapper out instead")
        self._max_bytes = max_bytes
        self._directory = directory
        self._kept: OrderedDict[Key, Speech] = OrderedDict()
        self._size = 0
        self._fresh: set[Key] = set()
        """Those whose files were written or touched in this run."""
        self._opening: asyncio.Lock | None = asyncio.Lock() if directory is not None else None
        """None once the directory was read."""

    async def open(self) -> None:
        """Read the directory, the first time."""
        lock, directory = self._opening, self._directory
        if lock is None or directory is None:
            return
        async with lock:
            if self._opening is None:
                return
            for key, speech in await asyncio.to_thread(_read_all, directory, self._max_bytes):
                self.put(key, speech)
            self._opening = None

    def get(self, key: Key) -> Speech | None:
        """The speech, which counts as used now."""
        speech = self._kept.get(key)
        if speech is not None:
            self._kept.move_to_end(key)
        return speech

    def texts(self, like: Key) -> Iterator[str]:
        """The texts that are kept, of the voice of `like`."""
        for key in self._kept:
            if (key.voice, key.label, key.sample_rate) == (like.voice, like.label, like.sample_rate):
                yield key.text

    def put(self, key: Key, speech: Speech) -> bool:
        """Keep it. False: it is larger than the whole shelf."""
        if speech.size > self._max_bytes:
            return False
        old = self._kept.pop(key, None)
        self._size += speech.size - (0 if old is None else old.size)
        self._kept[key] = speech
        while self._size > self._max_bytes:
            _, gone = self._kept.popitem(last=False)
            self._size -= gone.size
        return True

    def save(self, key: Key, speech: Speech) -> Coroutine[Any, Any, None] | None:
        """Write it to the directory: what is to be done, if there is one. A failure is logged: it is a cache."""
        if self._directory is None:
            return None
        self._fresh.add(key)
        return self._at_work(_write, self._directory, key, speech, self._max_bytes)

    def touch(self, key: Key) -> Coroutine[Any, Any, None] | None:
        """Let its file count as used: what is to be done, if anything is; once a run is enough."""
        if self._directory is None or key in self._fresh:
            return None
        self._fresh.add(key)
        return self._at_work(os.utime, _file(self._directory, key))

    async def _at_work(self, work: Callable[..., None], *arguments: Any) -> None:
        try:
            await asyncio.to_thread(work, *arguments)
        except OSError as error:
            _logger.warning("cached speech in %s could not be brought up to date: %s", self._directory, error)


# -- files


def _file(directory: Path, key: Key) -> Path:
    name = hashlib.sha256(json.dumps(asdict(key), sort_keys=True).encode()).hexdigest()[:40]
    return directory / f"{name}{_SUFFIX}"


def _write(directory: Path, key: Key, speech: Speech, max_bytes: int) -> None:
    """Write a file whole or not at all, and remove the oldest beyond `max_bytes`."""
    samples = b"".join(audio.frame.data for audio in speech.pieces)
    head = {
        "version": _VERSION,
        "key": asdict(key),
        "pieces": [
            [audio.frame.samples_per_channel, audio.text, [[word.text, word.start, word.end] for word in audio.words]]
            for audio in speech.pieces
        ],
        "sha256": hashlib.sha256(samples).hexdigest(),
    }
    private.make_folder(directory)
    with tempfile.NamedTemporaryFile(dir=directory, suffix=".part", delete=False) as file:
        try:
            file.write(json.dumps(head).encode() + b"\n" + samples)
            file.close()
            os.replace(file.name, _file(directory, key))
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
    room = max_bytes
    for path, size in _files(directory):
        room -= size
        if room < 0:
            path.unlink(missing_ok=True)


def _files(directory: Path) -> list[tuple[Path, int]]:
    """The files and their sizes, newest first. Other processes may add and remove some meanwhile."""
    found: list[tuple[float, Path, int]] = []
    for path in directory.glob(f"*{_SUFFIX}"):
        try:
            status = path.stat()
        except OSError:
            continue
        found.append((status.st_mtime, path, status.st_size))
    return [(path, size) for _, path, size in sorted(found, reverse=True)]


def _read_all(directory: Path, max_bytes: int) -> list[tuple[Key, Speech]]:
    """What can be read, oldest first, `max_bytes` of it."""
    read: list[tuple[Key, Speech]] = []
    room = max_bytes
    for path, size in _files(directory):
        room -= size
        if room < 0:
            break
        try:
            entry = _read(path)
        except (OSError, ValueError, KeyError, TypeError, UsageError) as error:
            _logger.warning("%s holds no speech and is ignored: %s", path, error)
            continue
        read.append(entry)
    return read[::-1]


def _read(path: Path) -> tuple[Key, Speech]:
    head, _, samples = path.read_bytes().partition(b"\n")
    said: dict[str, Any] = json.loads(head)
    if said["version"] != _VERSION:
        raise ValueError(f"expected version {_VERSION}, got {said['version']!r}")
    if hashlib.sha256(samples).hexdigest() != said["sha256"]:
        raise ValueError("its samples are not those that were written")
    key = Key(**said["key"])
    if path != _file(path.parent, key):
        raise ValueError("it is another one's file")
    pieces: list[SynthesizedAudio] = []
    at = 0
    for length, text, timings in said["pieces"]:
        frame = AudioFrame(samples[2 * at : 2 * (at + length)], key.sample_rate)
        pieces.append(SynthesizedAudio(frame, text, [WordTiming(word, start, end) for word, start, end in timings]))
        at += length
    return key, Speech(pieces)
