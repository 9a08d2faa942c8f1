"""The sound of a record, piece by piece, as browsers ask for it.

Above: the routes. Below: the record. A file is sent from the disk; what lies in an archive is read as a whole, within
a limit.
"""

from __future__ import annotations

import re
from pathlib import Path

from antiphon.records.format import AUDIO, Record
from antiphon.records.page import MOST_SOUND
from antiphon.records.places import FolderFiles

_RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})")


def audio_of(record: Record) -> Path | int | None:
    """Where its recording is: a file, or how many bytes it has elsewhere. None: it has none that can be sent."""
    if isinstance(record.files, FolderFiles):
        path = record.files.folder / AUDIO
        return path if path.is_file() else None
    noted = record.head.get("files", {}).get(AUDIO, {})
    size = noted.get("bytes") if isinstance(noted, dict) else None
    return size if isinstance(size, int) and 0 < size <= MOST_SOUND else None


def piece(asked: str, size: int) -> tuple[int, int] | None:
    """First and last byte that a Range header asks for, of `size`. None: all.

    Raises `ValueError` for what is not there.
    """
    found = _RANGE.fullmatch(asked.strip())
    if found is None or found[0] == "bytes=-":
        return None
    if not found[1]:
        first, last = max(0, size - int(found[2])), size - 1
    else:
        first, last = int(found[1]), min(int(found[2] or size - 1), size - 1)
    if first > last or first >= size:
        raise ValueError(f"expected a range within {size} bytes, got {asked!r}")
    return first, last
