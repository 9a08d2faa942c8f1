"""Records on the command line: where they are, lists, the story of a call, its page, and what removes them.

Above: `calls`, `main`. Below: the records and their index. A call is shown as while it goes on (`Screen`).
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from antiphon.calls.record import Claim, ConsentRecord, ToolCallRecord, Turn
from antiphon.chat import FunctionCall
from antiphon.cli.kept import RECORDS
from antiphon.errors import AntiphonError, UsageError
from antiphon.metrics import reply_from_json
from antiphon.records.findings import KINDS, Finding
from antiphon.records.format import RECORD, Record, RecordError
from antiphon.records.index import Index
from antiphon.records.keeping import Records
from antiphon.records.places import Folder, Place, place_of, read
from antiphon.records.searching import Found, Search, search
from antiphon.visible import one_line, visible

T = TypeVar("T")

_DAY = 86_400.0
_EARLIER = 0.02
"""Seconds by which the figures of a reply stand before its words."""


def place_for(options: argparse.Namespace) -> Place | None:
    """Where the records are that a command asks for: what it names, else beside the store. None: there are none."""
    given = getattr(options, "records", None)
    if given is not None:
        place = place_of(given)
        if isinstance(place, Folder) and not place.path.is_dir():
            raise UsageError(f"there are no records in {given}: expected a folder. Name another one with --records.")
        return place
    store = getattr(options, "store", None)
    if store is None:
        folder = RECORDS
    elif "://" in store or store.startswith("memory:"):
        return None
    else:
        path = Path(store)
        is_agent = path.is_dir() or path.suffix == ".py"
        folder = (path if path.is_dir() else path.parent) / (RECORDS if is_agent else RECORDS.name)
    return Folder(folder) if folder.is_dir() else None


async def told(work: Callable[[], T]) -> T:
    """Do in a thread what waits for a disk or a network. Raises `AntiphonError` for what these say."""
    try:
        return await asyncio.to_thread(work)
    except OSError as error:
        raise AntiphonError(f"records: {error}. Look whether the place is in reach, and may be read.") from error


async def synced(place: Place) -> Index:
    """The index of a place, in step with it."""
    index = Index(place)
    await told(index.sync)
    return index


def search_of(options: argparse.Namespace) -> Search | None:
    """What is looked for. None: nothing that only records can tell. Raises `UsageError`."""
    given = {
        "agent": options.agent, "tool": options.tool, "outcome": options.outcome, "error": options.error,
        "said": options.said, "since": _time(options.since), "until": _time(options.until), "slower": options.slower,
        "cut": options.cut or None, "finding": options.finding, "caller": options.caller,
    }  # fmt: skip
    said = {name: value for name, value in given.items() if value is not None}
    finding = options.finding
    if finding and finding not in KINDS and finding not in KINDS.values():
        known = ", ".join([*KINDS, *dict.fromkeys(KINDS.values())])
        raise UsageError(f"--finding: expected one of {known}, got {finding!r}")
    return Search(**said, most=options.most) if said else None


def _time(text: str | None) -> float | None:
    """A day or a moment of this machine's time, or so long ago ("2h", "3d")."""
    if text is None:
        return None
    units = {"m": 60.0, "h": 3600.0, "d": _DAY}
    if text[-1:] in units and text[:-1].replace(".", "", 1).isdigit():
        return time.time() - float(text[:-1]) * units[text[-1]]
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise UsageError(f"expected a time such as 2026-03-31, 2026-03-31T18:30 or 2h, got {text!r}") from None


# -- lists


def found_words(found: Sequence[Finding]) -> str:
    """What was found, each once, with how often."""
    counts: dict[str, int] = {}
    for one in found:
        counts[one.finding] = counts.get(one.finding, 0) + 1
    return ", ".join(name if many == 1 else f"{many} {name}" for name, many in counts.items())


def did(one: Found) -> str:
    """What its tools did, in few words."""
    parts = [(one.tools, "call", "calls"), (one.errors, "error", "errors"), (one.unknown, "unknown", "unknown")]
    shown = [f"{many} {single if many == 1 else plural}" for many, single, plural in parts if many]
    return ", ".join(shown)


def waited(one: Found) -> str:
    """The longest wait for a reply."""
    return "" if one.worst is None else f"{one.worst:.2f} s"


def found_data(one: Found) -> dict[str, Any]:
    """As JSON."""
    return dataclasses.asdict(one)


# -- one record


async def record_with(place: Place, wanted: str) -> Record | None:
    """The record of the call whose id begins so; None: there is none. Raises `UsageError` for several."""
    index = await synced(place)
    found = await told(lambda: search(index, Search(id=wanted, most=3)))
    ids = {one.id for one in found}
    if len(ids) > 1 and wanted not in ids:
        raise UsageError(f"{len(ids)} or more calls begin with {wanted!r}. Give more of the ID.")
    name = next((one.name for one in found if one.id == wanted or len(ids) == 1), None)
    return None if name is None else await told(lambda: place.record(name))


async def findings_of(place: Place, record: Record) -> list[Finding]:
    """What was found in it, what takes the others to say included."""
    index = Index(place)
    found = await told(lambda: search(index, Search(id=record.id, most=10)))
    return next((one.findings for one in found if one.name == record.name), [])


def tell_story(record: Record, findings: Sequence[Finding]) -> None:
    """The call as it went: what was said, what tools did, how long each reply took, and what was found. Prints."""
    from antiphon.cli.screen import Screen

    screen, head = Screen(), record.head
    moments: list[tuple[float, int, Callable[[], None]]] = [
        *((data["started"], 2, _shows(screen.turn, _made(Turn, data))) for data in head["turns"]),
        *((data["started"], 0, _shows(_tool, screen, _tool_call(data))) for data in head["tool_calls"]),
        *((data["at"], 3, _shows(screen.claim, _made(Claim, data))) for data in head.get("claims", ())),
        *((finding.at, 4, _shows(_found, screen, finding)) for finding in findings),
    ]
    for data in record.metrics.get("replies", ()):
        reply = reply_from_json(data)
        at = reply.ended if reply.first_audio is None else reply.first_audio
        moments.append((at - _EARLIER, 1, _shows(screen.reply, reply)))
    for _, _, show in sorted(moments, key=lambda moment: moment[:2]):
        show()
    for text in head["errors"]:
        screen.notice(f"error  {one_line(text)}")
    for one in head.get("unheard", ()):
        screen.notice(f"The caller was not told what came of {one_line(one.get('name', ''))}.")
    for text in head.get("missing", ()):
        screen.notice(f"Not in this record: {one_line(text)}")


def _shows(show: Callable[..., object], *given: Any) -> Callable[[], None]:
    return lambda: (show(*given), None)[1]


def _made(kind: type[T], data: Mapping[str, Any]) -> T:
    names = {one.name for one in dataclasses.fields(kind)}  # type: ignore[arg-type]  # data classes of the record
    return kind(**{name: value for name, value in data.items() if name in names})


def _tool_call(data: Mapping[str, Any]) -> ToolCallRecord:
    call = _made(ToolCallRecord, data)
    asked = data.get("consent")
    return dataclasses.replace(call, consent=None if asked is None else _made(ConsentRecord, asked))


def _tool(screen: Any, call: ToolCallRecord) -> None:
    if call.consent is not None:
        screen.consent(FunctionCall(call_id=call.call_id, name=call.name, arguments="{}"), call.consent)
    screen.tool(call, "started")
    screen.tool(call, "told")


def _found(screen: Any, finding: Finding) -> None:
    screen.notice(f"           !  {finding.finding} ({finding.kind}): {one_line(finding.text)}")
    screen.notice(f"              {finding.remedy}")


def headline(record: Record) -> str:
    """Who, when, how long, why it ended."""
    head = record.head
    began = datetime.fromtimestamp(record.began).strftime("%Y-%m-%d %H:%M:%S")
    agents = visible(" > ".join(head.get("agents", ()))) or "no agent"
    caller = f" with {visible(head['caller'])}" if head.get("caller") else ""
    lasted = f"{int(head.get('duration', 0)) // 60}:{int(head.get('duration', 0)) % 60:02d} min"
    return f"Call {record.id}{caller}, {agents}, began {began}, lasted {lasted}, {head.get('reason') or 'ended'}"


async def report(options: argparse.Namespace) -> None:
    """Run `antiphon report`. Raises `AntiphonError`."""
    from antiphon.records.page import write_report

    given = Path(options.id)
    record, findings = await told(lambda: brought(given)), None
    if record is None:
        place = place_for(options)
        if place is None:
            raise UsageError("there are no records here. Name their place with --records, or the path of one record.")
        record = await record_with(place, options.id)
        findings = None if record is None else await findings_of(place, record)
    if record is None:
        raise UsageError(f"there is no record of a call {options.id!r}. `antiphon calls` lists them.")
    path = options.out or Path(f"{record.name}.html")
    try:
        heard = await asyncio.to_thread(write_report, record, path, findings, sound=not options.no_sound)
    except (TypeError, KeyError, ValueError) as error:
        raise RecordError(f"record {record.name}: {type(error).__name__}: {error}. Was it changed?") from error
    except OSError as error:
        raise AntiphonError(f"cannot write {path}: {error.strerror or error}. Choose another path.") from error
    print(f"Open       {path}{' (with its sound)' if heard else ''}")


def brought(path: Path) -> Record | None:
    """The record that lies at a path, wherever it was made. None: nothing is there."""
    if not path.exists():
        return None
    return read(path.parent if path.name == RECORD else path)


# -- the end of records


async def erased(place: Place, *, call: str | None, caller: str | None) -> set[str]:
    """Remove a call, or all of a caller. Returns their ids."""
    index = await synced(place)
    condition, value = ("id = ?", call) if call is not None else ("caller = ?", caller)
    rows = await told(lambda: index.ask(f"SELECT name, id FROM records WHERE {condition}", [value]))
    await _removed(place, [row["name"] for row in rows])
    return {row["id"] for row in rows}


async def pruned(place: Place, before: float, *, unknown: bool) -> set[str]:
    """Remove calls that began before this. Those with outcomes that nobody knows stay, unless `unknown`."""
    index = await synced(place)
    condition = "began < ?" if unknown else "began < ? AND unknown = 0"
    rows = await told(lambda: index.ask(f"SELECT name, id FROM records WHERE {condition}", [before]))
    await _removed(place, [row["name"] for row in rows])
    return {row["id"] for row in rows}


async def _removed(place: Place, names: Sequence[str]) -> None:
    records = Records(place)
    for name in names:
        await told(lambda name=name: records.remove(name))  # type: ignore[misc]  # a loop's name, bound now
