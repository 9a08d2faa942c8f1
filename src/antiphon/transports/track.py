"""One channel of a recording: its samples in a file, and in memory only how loud each 20 ms of them are.

Above: `recorder.py`, which puts two of them side by side. The file has no name and is gone with the track, however the
process ends. It is written by one thread for all calls, so that a slow disk does not stop the loop.
"""

from __future__ import annotations

import logging
import tempfile
import threading
import weakref
from array import array
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

logger = logging.getLogger("antiphon")

AUDIBLE = 10 ** (-45 / 20)
"""Samples louder than this (-45 dBFS) count as sound."""
BUCKET = 0.02
"""Seconds of sound that share an entry of the index."""
CHUNK = 1.0
"""Seconds of sound that are handed to the disk at a time."""
MAX_UNWRITTEN = 8_000_000
"""Bytes of a track that may wait for the disk. Sound behind them is not kept, which is logged once."""
SPOOL = Path("/var/tmp")
"""Where the files lie, if there is such a folder: unlike /tmp it is on a disk wherever it matters."""
_NONE = 0xFFFF
_BLOCK = 1 << 18


@cache
def _writer() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="antiphon sound")


class Track:
    """16-bit mono samples at `rate` Hz. Pieces come in order of time; between them is silence.

    All positions are samples since the call began. Where the disk fails, the track goes on without the samples and
    logs it; its index stays whole.
    """

    def __init__(self, rate: int) -> None:
        self.rate = rate
        self.end = 0
        """The sample behind the last that was written."""
        self._bucket = round(BUCKET * rate)
        self._unindexed: list[tuple[int, bytes, bytes]] = []
        """Pieces of sound, with the speech in it."""
        self._unwritten: list[tuple[int, bytes]] = []
        self._peaks = array("H")
        """The loudest sample of each bucket."""
        self._first = array("H")
        """In each bucket, the first audible sample of speech; `_NONE` without one."""
        self._last = array("H")
        self._speech: list[tuple[int, int]] = []
        """Stretches of speech without a gap."""
        self._lock = threading.Lock()
        self._file: IO[bytes] | None = None
        self._writes: deque[Future[bytes]] = deque()
        self._behind = 0
        """Bytes that were given to the disk and are not on it."""
        self._failed = False

    def write(self, position: int, data: bytes, speech: bytes | None = None) -> None:
        """Place samples, the first at `position`, which must not lie before `end`.

        `speech`: what of it was said, b"" if nothing was; None: all of it.
        """
        said = data if speech is None else speech
        if position - self.end > CHUNK * self.rate:
            self._settle_index()
            self._settle_file()
        self._unindexed.append((position, data, said))
        if not self._failed:
            self._unwritten.append((position, data))
        self.end = position + len(data) // 2
        if said:
            start = position
            if self._speech and self._speech[-1][1] == position:
                start, _ = self._speech.pop()
            self._speech.append((start, self.end))
        if self.end - self._unindexed[0][0] >= CHUNK * self.rate:
            self._settle_index()
        if self._unwritten and self.end - self._unwritten[0][0] >= CHUNK * self.rate:
            self._settle_file()

    # -- how it sounds

    @property
    def speech(self) -> list[tuple[int, int]]:
        """Where there was speech, from one sample to another."""
        return self._speech

    def first_sound(self, since: int) -> int | None:
        """The first audible sample of speech at or after `since`, or None. Exact where speech begins after `since`."""
        self._settle_index()
        start = since // self._bucket
        for bucket in range(start, len(self._first)):
            if self._first[bucket] != _NONE:
                place = bucket * self._bucket
                if place + self._last[bucket] >= since:
                    return max(place + self._first[bucket], since)
        return None

    def last_sound(self, start: int, end: int) -> int | None:
        """The last audible sample of speech in [start, end), or None. Exact where speech ends before `end`."""
        self._settle_index()
        for bucket in range(min((end - 1) // self._bucket, len(self._last) - 1), start // self._bucket - 1, -1):
            if self._first[bucket] != _NONE:
                place = bucket * self._bucket
                if place + self._first[bucket] < end and place + self._last[bucket] >= start:
                    return min(place + self._last[bucket], end - 1)
        return None

    def peaks(self, buckets: int) -> list[int]:
        """The loudest sample (0 to 32768) of each `buckets` times `BUCKET` seconds."""
        self._settle_index()
        return [max(self._peaks[at : at + buckets]) for at in range(0, len(self._peaks), buckets)]

    # -- the samples

    def blocks(self, length: int) -> Iterator[NDArray[np.float32]]:
        """`length` samples from the beginning, in blocks, 1.0 being full scale. Waits for the disk: not for the loop.

        What was not kept is silence.
        """
        import numpy as np

        self._settle_file()
        for write in self._writes:
            write.result()
        for at in range(0, length, _BLOCK):
            size = min(_BLOCK, length - at)
            data = b""
            with self._lock:
                if self._file is not None:
                    self._file.seek(2 * at)
                    data = self._file.read(2 * size)
            block = np.zeros(size, np.float32)
            samples = np.frombuffer(data[: len(data) // 2 * 2], "<i2")
            block[: samples.size] = samples
            block /= 32768.0
            yield block

    # -- keeping

    def _settle_index(self) -> None:
        if not self._unindexed:
            return
        pieces, self._unindexed = self._unindexed, []
        sound = speech = _joined([(at, data) for at, data, _ in pieces])
        if any(said is not data for _, data, said in pieces):
            speech = _joined([(at, said or bytes(len(data))) for at, data, said in pieces])
        self._index(pieces[0][0], sound, speech)

    def _settle_file(self) -> None:
        while self._writes and self._writes[0].done():
            self._behind -= len(self._writes.popleft().result())
        if not self._unwritten:
            return
        pieces, self._unwritten = self._unwritten, []
        sound = _joined(pieces)
        self._behind += len(sound)
        if self._behind > MAX_UNWRITTEN:
            self._fail(f"{self._behind} bytes wait for the disk")
        else:
            self._writes.append(_writer().submit(self._write, 2 * pieces[0][0], sound))

    def _index(self, start: int, sound: bytes, speech: bytes) -> None:
        import numpy as np

        first_bucket, offset = divmod(start, self._bucket)
        count = -(-(offset + len(sound) // 2) // self._bucket)

        def by_bucket(data: bytes) -> NDArray[np.int32]:
            samples = np.zeros(count * self._bucket, np.int32)
            samples[offset : offset + len(data) // 2] = np.abs(np.frombuffer(data, "<i2").astype(np.int32))
            return samples.reshape(count, self._bucket)

        loud = by_bucket(speech) > AUDIBLE * 32768
        any_loud = loud.any(axis=1)
        firsts = np.where(any_loud, loud.argmax(axis=1), _NONE)
        lasts = np.where(any_loud, self._bucket - 1 - loud[:, ::-1].argmax(axis=1), 0)
        missing = first_bucket + count - len(self._peaks)
        self._peaks.extend([0] * missing)
        self._first.extend([_NONE] * missing)
        self._last.extend([0] * missing)
        # A bucket that was begun by the piece before holds both.
        for index, peak, first, last in zip(
            range(first_bucket, first_bucket + count),
            by_bucket(sound).max(axis=1).tolist(),
            firsts.tolist(),
            lasts.tolist(),
            strict=True,
        ):
            self._peaks[index] = max(self._peaks[index], peak)
            self._first[index] = min(self._first[index], first)
            self._last[index] = max(self._last[index], last)

    def _write(self, offset: int, data: bytes) -> bytes:
        """In the writer's thread. Returns `data`."""
        try:
            with self._lock:
                if self._file is None:
                    folder = SPOOL if SPOOL.is_dir() else None
                    self._file = tempfile.TemporaryFile(buffering=0, prefix="antiphon-", dir=folder)
                    weakref.finalize(self, self._file.close)
                self._file.seek(offset)
                view = memoryview(data)
                while view:
                    view = view[self._file.write(view) :]
        except OSError as error:
            self._fail(str(error))
        return data

    def _fail(self, reason: str) -> None:
        if not self._failed:
            self._failed = True
            logger.warning("the sound of a call is not recorded any further: %s", reason)


def _joined(pieces: list[tuple[int, bytes]]) -> bytes:
    """Pieces that come in order of time as one, with silence between them."""
    start = pieces[0][0]
    joined = bytearray()
    for position, data in pieces:
        joined += bytes(2 * (position - start) - len(joined))
        joined += data
    return bytes(joined)
