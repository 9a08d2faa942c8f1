"""The journal of a call: a file of JSON lines, and what is read of it.

```
{"journal": 1, "antiphon": "0.1.0", "epoch": 1795.2, "mark": "5f0c_", "agent": "desk", "options": {...}, ...}
{"at": 12.1, "fact": null}                                     time passed; the first entry: the conversation starts
{"at": 12.1, "command": {"is": "RunHook", ...}}                a command or notice that came of the entry before
{"at": 12.4, "fact": {"is": "Transcribed", "text": "Hi", "final": true}}
{"end": null}
```

`at` is in seconds and never goes back; `at + epoch` is the time in seconds since the Unix epoch. Lines are appended as
things happen, so a process that dies leaves a journal without its end, and maybe with half a line: `Journal.lost` says
so. `{"ids": 1}`: the application took so many numbers for what it is about to open. `{"end": "words"}`: the journal was
given up, and why.

Above: `replaying.py`, and all who look into calls. Below: `core/lines.py`, and `core/codec.py`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from antiphon import private
from antiphon.core.codec import reader
from antiphon.core.commands import Command
from antiphon.core.facts import Fact
from antiphon.core.lines import FORMAT, HEAD, Head, command_line, end_line, fact_line, ids_line, version
from antiphon.errors import JournalError
from antiphon.options import SessionOptions
from antiphon.visible import one_line

LONGEST_LINE = 64_000_000
"""Bytes of a line: more is no journal."""

MOST_IDS = 1_000
"""Numbers that an application takes at one place: more is no journal."""

LATEST = 1e12
"""Seconds: a time beyond it is none."""

_SHOWN = 80


@dataclass(slots=True, frozen=True)
class Entry:
    """One thing that a conversation was told."""

    at: float
    """Seconds on the clock of the call. Never less than that of the entry before."""
    fact: Fact | None
    """None: time passed. The first entry: the conversation starts."""
    drawn: int = 0
    """How many numbers the application took just before."""
    commands: tuple[Command, ...] = ()
    """What came of it, notices included, if the journal tells (`Head.commands`)."""


@dataclass(slots=True)
class Journal:
    """What a conversation was told, and when."""

    head: Head
    entries: list[Entry] = field(default_factory=list)
    lost: str | None = None
    """What is missing of it and why, in words; None: it is whole."""

    def lines(self) -> Iterator[str]:
        """As a file has it: `read` gives an equal journal."""
        yield self.head.line()
        for entry in self.entries:
            if entry.drawn:
                yield ids_line(entry.at, entry.drawn)
            yield fact_line(entry.at, entry.fact)
            for command in entry.commands:
                yield command_line(entry.at, command)
        yield end_line(self.lost)

    def save(self, path: Path) -> None:
        """Write it to a file that only its owner may read. Raises `OSError`."""
        private.write(path, "".join(self.lines()))


def read(path: Path) -> Journal:
    """The journal in a file. Raises `JournalError` if it is none or none of this format, and `OSError`."""
    with open(path, "rb") as file:
        return parse(_lines(file), str(path))


def parse(lines: Iterable[bytes], source: str = "journal") -> Journal:
    """The journal in lines, each with its line feed. `source` is what errors name. Raises `JournalError`."""
    reading: _Reading | None = None
    number = 0
    for number, line in enumerate(lines, 1):
        try:
            data = _json(line)
        except JournalError as error:
            if reading is not None and not line.endswith(b"\n"):
                return reading.journal(
                    f"line {number} is cut after {len(line)} bytes: its process ended while writing it"
                )
            raise JournalError(f"{source}, line {number}: {error}. Is this a journal, and unchanged?") from None
        try:
            if reading is None:
                reading = _Reading(_head(data))
            else:
                reading.take(data)
        except JournalError as error:
            made_by = f"It was made by Antiphon {_made_by(reading)}, and this is {version()}."
            raise JournalError(f"{source}, line {number}: {error}. {made_by}") from None
    if reading is None:
        raise JournalError(f"{source}: expected a journal, got an empty file. Its call may not have begun.")
    return reading.journal()


class _Reading:
    """A journal in the making."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self._entries: list[Entry] = []
        self._commands: list[Command] = []
        self._drawn = 0
        self._at = -math.inf
        self._ended = False
        self._lost: str | None = "it has no end: its process ended before the call did"

    @property
    def head(self) -> Head:
        return self._head

    def take(self, data: dict[str, Any]) -> None:
        """The next line."""
        if self._ended:
            raise JournalError("expected nothing after the end")
        match data:
            case {"end": None | str() as lost} if len(data) == 1:
                self._ended, self._lost = True, lost
                return
            case {"at": at, "fact": fact} if len(data) == 2:
                self._enter(at, None if fact is None else reader(Fact)(fact))
            case {"at": at, "command": command} if len(data) == 2:
                self._pass(at)
                if not self._entries or not self._head.commands:
                    raise JournalError("a command, where none was to be expected")
                self._commands.append(reader(Command)(command))
            case {"at": at, "ids": int(count)} if len(data) == 2 and 0 < count <= MOST_IDS - self._drawn:
                self._pass(at)
                self._drawn += count
            case _:
                raise JournalError(
                    f'expected {{"at": ..., "fact": ...}}, or "command" or "ids" beside "at", or {{"end": ...}}, got '
                    f"{one_line(repr(data), _SHOWN)}"
                )

    def _pass(self, at: Any) -> None:
        if not _is_time(at) or at < self._at:
            raise JournalError(f"at: expected seconds, and no less than {self._at}, got {one_line(repr(at), _SHOWN)}")
        self._at = at

    def _enter(self, at: Any, fact: Fact | None) -> None:
        self._pass(at)
        if fact is not None and not self._entries:
            raise JournalError(f'expected the start, "fact": null, got {type(fact).__name__}')
        self._close_entry()
        self._entries.append(Entry(at, fact, self._drawn))
        self._drawn = 0

    def _close_entry(self) -> None:
        if self._commands:
            last = self._entries[-1]
            self._entries[-1] = Entry(last.at, last.fact, last.drawn, tuple(self._commands))
            self._commands.clear()

    def journal(self, torn: str | None = None) -> Journal:
        """All that was taken. `torn`: what is known of a line that could not be."""
        self._close_entry()
        return Journal(self._head, self._entries, torn or self._lost)


def _is_time(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= LATEST


def _made_by(reading: _Reading | None) -> str:
    return "another version" if reading is None else one_line(reading.head.antiphon, _SHOWN)


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(LONGEST_LINE):
        yield line


def _json(line: bytes) -> dict[str, Any]:
    if len(line) >= LONGEST_LINE:
        raise JournalError(f"expected a line of at most {LONGEST_LINE:,} bytes")
    try:
        data = json.loads(line.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise JournalError(f"expected JSON: {one_line(str(error), _SHOWN)}") from None
    if not isinstance(data, dict):
        raise JournalError(f"expected an object, got {one_line(repr(data), _SHOWN)}")
    return data


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is none")


def _head(data: dict[str, Any]) -> Head:
    made_by = data.get("antiphon")
    if "journal" not in data:
        raise JournalError(f'expected the head of a journal, {{"journal": {FORMAT}, ...}}, got other data')
    if type(data["journal"]) is not int or data["journal"] != FORMAT:
        got, by = one_line(repr(data["journal"]), _SHOWN), one_line(str(made_by), _SHOWN)
        raise JournalError(f"expected the format {FORMAT}, got {got} of Antiphon {by}")
    if data.keys() != {"journal", "options", *HEAD}:
        expected = ", ".join(("journal", *HEAD, "options"))
        raise JournalError(f"a head has {expected}; got {one_line(', '.join(data), 4 * _SHOWN)}")
    values = {}
    for name, kind in HEAD.items():
        try:
            values[name] = reader(kind)(data[name])
        except JournalError as error:
            raise JournalError(f"{name}: {error}") from None
    if not _is_time(values["epoch"]):
        raise JournalError(f"epoch: expected seconds, got {one_line(repr(data['epoch']), _SHOWN)}")
    return Head(options=reader(SessionOptions)(data["options"]), **values)
