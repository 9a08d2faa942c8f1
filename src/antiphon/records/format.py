"""What a record is: files of a call that has ended, in a folder or a ZIP archive, and how they are read.

| file | what it is |
|---|---|
| `record.json` | who, when, why it ended; what was said, what tools did, what went wrong; sums of all other files |
| `metrics.json` | what each reply took, the sums, and what was used, cancelled and discarded work included |
| `history.json` | what the model knew: messages, calls, outputs |
| `ledger.jsonl` | a line for each start of a tool that writes, where the call had a store |
| `journal.jsonl` | all that the conversation was told, to be replayed (`antiphon.replay`) |
| `requests.jsonl` | what each model was asked, exactly, and what it answered (`requests`) |
| `sound.json`, `audio.wav` | who was heard when; the recording, caller left, agent right, where sound is kept |

Above: whoever writes, lists or shows records. Below: `places`, which knows where bytes are. Nothing here looks at what
the values mean.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Protocol

from antiphon.errors import AntiphonError
from antiphon.records.requests import Request, requests_in

FORMAT = 1
"""The version that this program writes. It reads those before it, and refuses later ones in words."""

RECORD, METRICS, HISTORY = "record.json", "metrics.json", "history.json"
LEDGER, JOURNAL, SOUND, AUDIO = "ledger.jsonl", "journal.jsonl", "sound.json", "audio.wav"
REQUESTS = "requests.jsonl"

LONGEST_FILE = 200_000_000
"""Bytes of a JSON file of a record: more is none."""

_LONGEST_ID = 64
_NAME = re.compile(r"\d{8}-\d{6}-[A-Za-z0-9._-]{1,80}")


class RecordError(AntiphonError):
    """A record that cannot be read, or is none."""


class Files(Protocol):
    """The files of one record, wherever they are."""

    def read(self, name: str) -> bytes | None:
        """A file's content; None: there is no such file. Raises `OSError`."""


def name_of(call_id: str, began: float) -> str:
    """What a record is called in its place: when the call began (UTC), and its id, as far as file names bear it."""
    safe = re.sub(r"[^A-Za-z0-9_-]", "_", call_id)[:_LONGEST_ID] or "call"
    if safe != call_id:
        safe += f"-{hashlib.sha256(call_id.encode(errors='replace')).hexdigest()[:8]}"
    return f"{datetime.fromtimestamp(began, UTC):%Y%m%d-%H%M%S}-{safe}"


def is_name(text: str) -> bool:
    """Whether it may be the name of a record."""
    return _NAME.fullmatch(text) is not None


@dataclass(frozen=True)
class Record:
    """One record, its files read when they are asked for."""

    name: str
    files: Files
    head: Mapping[str, Any]
    """`record.json`."""

    @property
    def id(self) -> str:
        """The id of the call."""
        return str(self.head["id"])

    @property
    def began(self) -> float:
        """When, in seconds since the Unix epoch."""
        return float(self.head["began"])

    @cached_property
    def metrics(self) -> Mapping[str, Any]:
        """`metrics.json`; empty where there is none. Raises `RecordError`."""
        return _object(self.files, METRICS, self.name) or {}

    @cached_property
    def history(self) -> list[dict[str, Any]]:
        """The items of `history.json`. Raises `RecordError`."""
        return list((_object(self.files, HISTORY, self.name) or {}).get("items", ()))

    @cached_property
    def sound(self) -> Mapping[str, Any]:
        """`sound.json`; empty for a call in text, or one whose sound was not kept. Raises `RecordError`."""
        return _object(self.files, SOUND, self.name) or {}

    @cached_property
    def ledger(self) -> list[dict[str, Any]]:
        """The rows of `ledger.jsonl`, as they stood when the record was made. Raises `RecordError`."""
        return _lines(self.files, LEDGER, self.name)

    @cached_property
    def requests(self) -> list[Request]:
        """What models were asked, and what they answered. Empty in records of earlier versions, and of realtime models.

        Raises `AntiphonError`.
        """
        return requests_in(_lines(self.files, REQUESTS, self.name), f"record {self.name}, {REQUESTS}")

    def check(self) -> list[str]:
        """What is not as it was written: a line for each file that is missing or changed. Reads all of them."""
        found = []
        for name, noted in self.head.get("files", {}).items():
            content = self.files.read(name)
            if content is None:
                found.append(f"{name} is missing")
            elif hashlib.sha256(content).hexdigest() != noted["sha256"]:
                found.append(f"{name} was changed")
        return found


def record_of(name: str, files: Files) -> Record:
    """The record that these files are. Raises `RecordError` if they are none, or of a later format."""
    head = _object(files, RECORD, name)
    if head is None:
        raise RecordError(f"record {name}: expected {RECORD} in it, got none. Is it a record?")
    version = head.get("record")
    if not isinstance(version, int) or not 1 <= version <= FORMAT:
        raise RecordError(
            f"record {name}: expected format {FORMAT} or before, got {str(version)[:20]!r} of Antiphon"
            f" {str(head.get('antiphon'))[:20]}. Read it with that version."
        )
    wanted: dict[str, type | tuple[type, ...]] = {
        "id": str, "began": (int, float), "turns": list, "tool_calls": list, "errors": list
    }  # fmt: skip
    for field, kind in wanted.items():
        if not isinstance(head.get(field), kind):
            got = type(head.get(field)).__name__
            raise RecordError(f"record {name}: {RECORD} has no {field!r} that is one: got {got}. Was it changed?")
    return Record(name, files, head)


def _read(files: Files, name: str, record: str) -> bytes | None:
    content = files.read(name)
    if content is not None and len(content) > LONGEST_FILE:
        raise RecordError(f"record {record}: {name} has {len(content):,} bytes, expected {LONGEST_FILE:,} at most.")
    return content


def _lines(files: Files, name: str, record: str) -> list[dict[str, Any]]:
    content = _read(files, name, record) or b""
    return [_parsed(line, name, record) for line in content.splitlines() if line.strip()]


def _object(files: Files, name: str, record: str) -> dict[str, Any] | None:
    content = _read(files, name, record)
    return None if content is None else _parsed(content, name, record)


def _parsed(content: bytes, name: str, record: str) -> dict[str, Any]:
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"record {record}: {name} is no JSON: {str(error)[:80]}. Was it changed?") from None
    if not isinstance(data, dict):
        raise RecordError(f"record {record}: expected an object in {name}, got {type(data).__name__}.")
    return data
