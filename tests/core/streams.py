"""What the core did in recorded sessions, to hold a changed core against: its commands may not differ.

    python -m tests.core.streams record FILE.json.gz [--seeds 512]   seeds of the fuzzer, and all regression journals
    python -m tests.core.streams compare FILE.json.gz                exit 1: a stream differs; the first entry of each

`record` lets the fuzzer's world and the core of today talk, and writes down every fact with its time, the *projection*
of the commands that followed it, and the deadline that the core then named. `compare` gives the same facts at the same
times to the core of today. It does not need the fuzzer.

The projection leaves out notices: only commands of the kinds that something performs (`PERFORMED`) are in it. Which
others came is said at the end. In commands and facts, ids are renumbered in the order of their first use, kind by kind
(`IDS`), and so are the ids of history items. So the core may number as it likes:

- An id that a command handed out is kept as "the third generation". When a fact names it, `compare` puts in the number
  that today's core gave to its third generation.
- An id that the application opens (`OPENERS`) is taken from `Conversation.new_id()` while that is there. If the
  application numbers by itself, `compare` does too (`own_id`).
- An id that nobody handed out (late and orphaned facts of things that never were) stays unknown to the core.

Facts, options and commands are kept as data: the name of the class, and the fields that are not at their default.
Classes are looked up by name in all of `antiphon.core`, `antiphon.options` and `antiphon.chat`, so modules may be
renamed and split. A field that came later is not compared while it is at its default; a field that has gone does not
matter where it was at its default. What gets another name is to be put into `RENAMED`.

A deadline that differs is told and is no failure (`--deadlines`: it is), with one exception: where a tick brought
commands, a core that would not have asked for that tick by then fails.
"""

from __future__ import annotations

import argparse
import enum
import gzip
import importlib
import json
import pkgutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

import antiphon.core
from antiphon import chat, options
from antiphon.core.conversation import Conversation
from antiphon.replay import Journal, read

REGRESSIONS = Path(__file__).parent / "regressions"

PERFORMED = (
    "Generate", "Adopt", "Decline", "CommitAudio", "StopGenerating", "Speak", "Release", "Discard", "Play",
    "StopPlayout", "PausePlayout", "ResumePlayout", "RunTool", "CancelTool", "RebindRun", "ReleaseRun", "RunHook",
    "PredictEndOfTurn", "Record", "Close",
)  # fmt: skip
"""The commands that something performs. All others are notices."""

IDS = {
    "gen": "gen", "speech": "speech", "segment": "segment", "run": "run", "hook": "hook", "task": "task",
    "turn": "turn", "heard_as": "turn", "response": "response", "version": "version",
}  # fmt: skip
"""By field of a fact or command: the kind of id that is in it."""

COUNTS = {("RunTool", "turn")}
"""Fields of commands that are named as an id is, and count something."""

OPENERS = {"SpeechRequested": "speech", "AgentTaskStarted": "task", "TurnTaken": "turn", "ResponseBegan": "response"}
"""By class of fact: the field with an id that the application opens by it."""

ITEM_IDS = ("id", "group_id")
ITEM_SKIPPED = ("wire", "created_at", "type")
"""What a fact does not say of a history item: the core settles it, or a default."""

RENAMED: dict[str, str] = {
    "Language": "Phrases",
    **dict.fromkeys(
        ("Language.fallback_line", "Language.failure_line", "Language.unheard_line", "Language.fillers"), ""
    ),
}
"""Recorded class -> its name today; recorded `Class.field` -> the field's name today, "" if it is gone."""

UNKNOWN = 900_000_000
"""Added to numbers that nobody handed out, so that the core of today has not given them to something else."""

Defaults = dict[str, dict[str, Any]]


# -- values as data


def _default(one: Any) -> Any:
    if one.default is not MISSING:
        return one.default
    return one.default_factory() if one.default_factory is not MISSING else MISSING


class Writer:
    """Facts, commands and options as data. `defaults` grows with each class: what its fields are if not said."""

    def __init__(self, defaults: Defaults | None = None) -> None:
        self.defaults: Defaults = {} if defaults is None else defaults
        self._known: dict[type, list[tuple[str, Any]]] = {}

    def plain(self, value: Any) -> Any:
        """The value as JSON can keep it."""
        if value is None or type(value) in (str, int, float, bool):
            return value
        if hasattr(value, "model_dump") and not isinstance(value, chat.ImageContent):
            return {"is": type(value).__name__, **value.model_dump()}
        if isinstance(value, enum.Enum):
            return self.plain(value.value)
        if is_dataclass(value):
            return self._object(value)
        if isinstance(value, Mapping):
            return {key: self.plain(one) for key, one in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.plain(one) for one in value]
        if isinstance(value, (set, frozenset)):
            return sorted(self.plain(one) for one in value)
        raise TypeError(f"{value!r}: do not know how to keep a {type(value).__name__}")

    def _object(self, value: Any) -> dict[str, Any]:
        kind = type(value)
        known = self._known.get(kind)
        if known is None:
            known = self._known[kind] = [(one.name, self._default_of(kind, one)) for one in fields(kind)]
        data: dict[str, Any] = {"is": kind.__name__}
        for name, default in known:
            kept = self.plain(getattr(value, name))
            if kept != default or default is MISSING:
                data[name] = kept
        return data

    def _default_of(self, kind: type, one: Any) -> Any:
        recorded = self.defaults.setdefault(kind.__name__, {})
        if one.name not in recorded:
            default = _default(one)
            if default is MISSING:
                return MISSING
            recorded[one.name] = self.plain(default)
        return recorded[one.name]


class Reader:
    """Data back to facts and options, as today's classes."""

    def __init__(self, defaults: Defaults) -> None:
        self._defaults = defaults
        self._classes = {
            name: value
            for module in (*_modules(antiphon.core), options, chat)
            for name, value in vars(module).items()
            if isinstance(value, type) and is_dataclass(value)
        }

    def rich(self, value: Any) -> Any:
        """What `Writer.plain` was given."""
        if isinstance(value, dict) and "is" in value:
            return self._object(value)
        if isinstance(value, list):
            return tuple(self.rich(one) for one in value)
        return value

    def _object(self, data: dict[str, Any]) -> Any:
        name = data["is"]
        kind = self._classes.get(RENAMED.get(name, name))
        if kind is None:
            raise LookupError(
                f"no class {name} in antiphon.core, options or chat: say in RENAMED what it is called now"
            )
        there = {one.name: one for one in fields(kind)}
        skipped = ITEM_SKIPPED if hasattr(kind, "model_dump") else ()
        given: dict[str, Any] = {}
        for key, value in {**self._defaults.get(name, {}), **data}.items():
            today = RENAMED.get(f"{name}.{key}", key)
            if key == "is" or key in skipped or not today:
                continue
            if today in there:
                given[today] = self.rich(value)
            elif key in data:
                raise LookupError(f"{kind.__name__} has no field {key!r}: say in RENAMED what it is called now")
        return kind(**given)


def _modules(package: Any) -> Iterator[Any]:
    yield package
    for info in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        yield importlib.import_module(info.name)


# -- ids


@dataclass(slots=True)
class Ids:
    """The numbers of a core, and the places of their first use, kind by kind."""

    _places: dict[tuple[str, Any], int] = field(default_factory=dict)
    _numbers: dict[tuple[str, int], Any] = field(default_factory=dict)
    _counts: Counter[str] = field(default_factory=Counter)

    def place(self, kind: str, number: Any) -> int:
        """The place of an id: the first of its kind is 1. An id that is new gets the next."""
        place = self._places.get((kind, number))
        if place is None:
            self._counts[kind] += 1
            place = self._places[kind, number] = self._counts[kind]
            self._numbers[kind, place] = number
        return place

    def known_place(self, kind: str, number: Any) -> int | None:
        """The place of an id that was used before."""
        return self._places.get((kind, number))

    def number(self, kind: str, place: int) -> Any:
        """The id at a place; None: there is none yet."""
        return self._numbers.get((kind, place))


def _project(commands: list[Any], writer: Writer, ids: Ids, left_out: Counter[str]) -> list[Any]:
    """The commands that something performs, as data, ids renumbered."""
    projected = []
    for command in commands:
        if type(command).__name__ in PERFORMED:
            projected.append(_placed(writer.plain(command), ids))
        else:
            left_out[type(command).__name__] += 1
    return projected


def _placed(data: dict[str, Any], ids: Ids) -> dict[str, Any]:
    for name, value in data.items():
        if name in IDS and (data["is"], name) not in COUNTS:
            data[name] = ids.place(IDS[name], value)
        elif name == "owed":
            data[name] = [ids.place("id", one) for one in value]
        elif name == "item":
            _place_item(value, ids)
        elif name == "open":
            for item in value:
                _place_item(item, ids)
    return data


def _place_item(item: dict[str, Any], ids: Ids) -> None:
    for name in ITEM_IDS:
        if item.get(name) is not None:
            item[name] = ids.place(name, item[name])


def _fact_as_data(fact: Any, writer: Writer, ids: Ids) -> dict[str, Any]:
    """Ids become places; one that nobody handed out stays what it is, in a list."""
    data: dict[str, Any] = writer.plain(fact)
    opened = OPENERS.get(data["is"])
    for name, value in data.items():
        if name == opened:
            data[name] = ids.place(IDS[name], value)
        elif name in IDS and value is not None:
            place = ids.known_place(IDS[name], value)
            data[name] = [value] if place is None else place
    return data


def _fact_of_today(data: dict[str, Any], reader: Reader, ids: Ids, conversation: Conversation) -> Any:
    today = dict(data)
    opened = OPENERS.get(data["is"])
    for name, value in data.items():
        if name not in IDS:
            continue
        kind = IDS[name]
        if isinstance(value, list):
            number = value[0]
            today[name] = number if kind == "version" or not number else number + UNKNOWN
        elif name == opened and ids.number(kind, value) is None:
            today[name] = own_id(conversation, value)
            ids.place(kind, today[name])
        else:
            number = ids.number(kind, value)
            today[name] = value + UNKNOWN if number is None else number
    return reader.rich(today)


def own_id(conversation: Conversation, place: int) -> Any:
    """An id that the application gives to what it opens, the `place`th of its kind."""
    draw = getattr(conversation, "new_id", None)
    return draw() if draw is not None else 1_000_000 + place


# -- recording


def record(path: Path, seeds: int, seed: str) -> int:
    """Write the streams of so many seeds and of all regression journals. The number of entries."""
    from tests.core.fuzz.fuzz import run_session

    writer = Writer()
    names = [f"{seed}/{number}" for number in range(seeds)]
    streams = [_stream(name, run_session(name, Counter()).journal, writer) for name in names]
    streams += [_stream(path.stem, read(path), writer) for path in sorted(REGRESSIONS.glob("*.jsonl"))]
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        json.dump({"commit": commit, "defaults": writer.defaults, "streams": streams}, file, separators=(",", ":"))
    return sum(len(stream["entries"]) for stream in streams)


def _stream(name: str, journal: Journal, writer: Writer) -> dict[str, Any]:
    head = journal.head
    conversation = Conversation(head.options, agent=head.agent)
    ids, entries = Ids(), []
    for number, entry in enumerate(journal.entries):
        now, fact = entry.at, entry.fact
        for _ in range(entry.drawn):
            own_id(conversation, 0)
        data = None if fact is None else _fact_as_data(fact, writer, ids)
        _enter(conversation, number, now, fact)
        commands = _project(conversation.take_commands(), writer, ids, Counter())
        entries.append([now, data, conversation.deadline, commands])
    return {"name": name, "agent": head.agent, "options": writer.plain(head.options), "entries": entries}


def _enter(conversation: Conversation, number: int, now: float, fact: Any) -> None:
    if number == 0:
        conversation.start(now)
    elif fact is None:
        conversation.advance(now)
    else:
        conversation.receive(fact, now)


# -- comparing


@dataclass(slots=True)
class Difference:
    """The first entry of a stream in which today's core does something else."""

    stream: str
    entry: int
    now: float
    fact: Any
    expected: list[Any]
    got: list[Any]

    def __str__(self) -> str:
        what = "tick" if self.fact is None else json.dumps(self.fact)
        lines = [f"{self.stream}, entry {self.entry}, at {self.now:.3f}: {what}"]
        lines += [f"    - {json.dumps(one)}" for one in self.expected if one not in self.got]
        lines += [f"    + {json.dumps(one)}" for one in self.got if one not in self.expected]
        if len(lines) == 1:
            lines += [f"    in another order: {[one['is'] for one in self.got]}"]
        return "\n".join(lines)


@dataclass(slots=True)
class Comparison:
    """What came of comparing a stream."""

    commands: Difference | None = None
    deadline: Difference | None = None
    """The first deadline that differs, if the commands do not."""


def compare(stream: dict[str, Any], defaults: Defaults, left_out: Counter[str]) -> Comparison:
    """Give the recorded facts to the core of today."""
    reader, writer, ids = Reader(defaults), Writer(defaults), Ids()
    conversation = Conversation(reader.rich(stream["options"]), agent=stream["agent"])
    result = Comparison()
    for number, (now, data, deadline, expected) in enumerate(stream["entries"]):

        def differs(before: list[Any], after: list[Any]) -> Difference:
            return Difference(stream["name"], number, now, data, before, after)  # noqa: B023 -- called at once

        asked = conversation.deadline if number else None
        if number and data is None and expected and (asked is None or asked > now + 1e-9):
            result.commands = differs(expected, [{"is": "no tick was asked for", "deadline": asked}])
            return result
        fact = None if data is None else _fact_of_today(data, reader, ids, conversation)
        try:
            _enter(conversation, number, now, fact)
            got = _project(conversation.take_commands(), writer, ids, left_out)
        except Exception as error:
            got = [{"is": "raised", "error": f"{type(error).__name__}: {error}"}]
        if got != expected:
            result.commands = differs(expected, got)
            return result
        if result.deadline is None and conversation.deadline != deadline:
            result.deadline = differs([{"deadline": deadline}], [{"deadline": conversation.deadline}])
    return result


def main(arguments: list[str] | None = None) -> int:
    """The command line. 0: nothing differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.core.streams", description=__doc__.split("\n")[0])
    parser.add_argument("deed", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--seeds", type=int, default=512, help="record: how many sessions of the fuzzer")
    parser.add_argument("--seed", default="streams", help="record: their seed")
    parser.add_argument("--only", help="compare: the streams whose names hold this")
    parser.add_argument("--show", type=int, default=10, help="compare: how many differences are printed")
    parser.add_argument("--deadlines", action="store_true", help="compare: a deadline that differs is a failure")
    given = parser.parse_args(arguments)
    started = time.perf_counter()
    if given.deed == "record":
        entries = record(given.file, given.seeds, given.seed)
        print(f"{given.file}: {entries} entries in {time.perf_counter() - started:.1f} s")
        return 0
    return _compare_all(given)


def _compare_all(given: argparse.Namespace) -> int:
    started = time.perf_counter()
    with gzip.open(given.file, "rt", encoding="utf-8") as file:
        recorded = json.load(file)
    streams = [stream for stream in recorded["streams"] if not given.only or given.only in stream["name"]]
    left_out: Counter[str] = Counter()
    results = [compare(stream, recorded["defaults"], left_out) for stream in streams]
    commands = [one.commands for one in results if one.commands is not None]
    deadlines = [one.deadline for one in results if one.deadline is not None]
    for difference in [*commands, *deadlines][: given.show]:
        print(difference)
    print(
        f"{len(streams)} streams, {sum(len(one['entries']) for one in streams)} entries, recorded at "
        f"{recorded['commit'][:12]}: commands differ in {len(commands)}, deadlines alone in {len(deadlines)} "
        f"({time.perf_counter() - started:.1f} s). Left out: {', '.join(sorted(left_out)) or 'nothing'}"
    )
    return 1 if commands or (given.deadlines and deadlines) or not streams else 0


if __name__ == "__main__":
    sys.exit(main())
