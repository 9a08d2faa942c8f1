"""`antiphon calls`: what became of calls, what their tools did, and what nobody knows of that.

Calls that have ended are records (`records`); those that go on, were cut off, or are not recorded, and the ledger of
all, are in the store. Above: `main.py`. Below: the contract of stores. It looks at what other processes write at the
same moment, and holds no call itself.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from antiphon.cli import records
from antiphon.cli.kept import PLACE, is_unknown, unknown_rows
from antiphon.errors import StoreError, UsageError
from antiphon.records.delivery import Deliveries
from antiphon.records.format import Record, RecordError
from antiphon.records.index import Index
from antiphon.records.places import Place
from antiphon.records.searching import Found, Search, search
from antiphon.store import HISTORY, CallInfo, Row, RowState, Store, StoredCall, open_store
from antiphon.visible import one_line, to_json, visible

SHOWN = 12
"""Characters of a key that are shown: enough to tell rows apart."""

_LONGEST = 200

_DAY = 86_400.0
_ALL = 1_000_000
"""Calls: more than a store has."""

T = TypeVar("T")


async def calls(options: argparse.Namespace) -> None:
    """Run the command. Raises `AntiphonError`."""
    place = records.place_for(options)
    wants_store = options.action in ("resolve",) or options.reconcile is not None or options.unknown
    async with contextlib.AsyncExitStack() as stack:
        address = address_of(options.store, is_needed=place is None or wants_store)
        store = None if address is None else await stack.enter_async_context(open_store(address))
        both = _Both(store, place)
        match options.action:
            case "show":
                await _show(both, options.id, as_json=options.json)
            case "deliveries":
                await _list_deliveries(place, options)
            case "resolve":
                await _resolve(both.needed, options)
            case "erase":
                _print_count(await both.erase(options.id, options.caller), as_json=options.json)
            case "prune":
                before = time.time() - options.days * _DAY
                _print_count(await both.prune(before, unknown=options.unknown), as_json=options.json)
            case _ if options.reconcile is not None:
                await _reconcile(both.needed, options)
            case _ if options.unknown:
                await _list_unknown(both.needed, options)
            case _:
                await _list(both, options)


class _Both:
    """Where calls are: those that go on, and the ledger, in the store; those that have ended, in records."""

    def __init__(self, store: Store | None, place: Place | None) -> None:
        self.store = store
        self.place = place

    @property
    def needed(self) -> Store:
        assert self.store is not None  # `address_of` has seen to it
        return self.store

    async def load(self, call: str) -> StoredCall | None:
        """What the store has of it."""
        return None if self.store is None else await self.store.load(call)

    async def erase(self, call: str | None, caller: str | None) -> int:
        """Erase a call, or all of a caller, everywhere. Returns how many there were. Raises `LeaseHeld`."""
        gone: set[str] = set()
        if self.store is not None:
            if call is not None:
                gone |= {call} if await self.store.load(call) is not None else set()
            else:
                gone |= {info.id for info in await self.store.calls(caller=caller, most=_ALL)}
            await self.store.erase(call=call, caller=caller)
        if self.place is not None:
            gone |= await records.erased(self.place, call=call, caller=caller)
        return len(gone)

    async def prune(self, before: float, *, unknown: bool) -> int:
        """Erase what is old, everywhere. Returns how many calls that were."""
        gone: set[str] = set()
        if self.store is not None:
            there = {info.id for info in await self.store.calls(most=_ALL)}
            if await self.store.prune(before, unknown=unknown):
                gone |= there - {info.id for info in await self.store.calls(most=_ALL)}
        if self.place is not None:
            gone |= await records.pruned(self.place, before, unknown=unknown)
        return len(gone)


def address_of(given: str | None, *, is_needed: bool) -> str | None:
    """The store to look into. None: there is none, and nothing is needed of it. Raises `UsageError`."""
    if given is None:
        path = PLACE
        if not path.is_file():
            if not is_needed:
                return None
            raise UsageError(f"no calls are kept here: expected {path}. Name their place with --store.")
    elif "://" in given or given.startswith("memory:"):
        return given
    else:
        path = Path(given)
        if path.is_dir() or path.suffix == ".py":  # the agent file, or its folder
            path = (path if path.is_dir() else path.parent) / PLACE
        if not path.is_file():
            if not is_needed:
                return None
            raise UsageError(f"no calls are kept in {path}: there is no such file. Name another with --store.")
    return f"sqlite:///{path}?create=no"


# -- lists


async def _list(both: _Both, options: argparse.Namespace) -> None:
    wanted = records.search_of(options)
    if wanted is not None and both.place is None:
        raise UsageError("there are no records here to search in. Name their place with --records.")
    recorded: list[Found] = []
    if both.place is not None:
        index = await records.synced(both.place)
        for why in await records.told(lambda: index.ask("SELECT why FROM broken")):
            print(f"Not listed: {one_line(why['why'])}", file=sys.stderr)
        recorded = await records.told(lambda: search(index, wanted or Search(most=options.most)))
    known = {one.id for one in recorded}
    kept: list[tuple[CallInfo, StoredCall | None]] = []
    is_elsewhere = options.records is not None and options.store is None  # this folder's store may be another project's
    if both.store is not None and wanted is None and not is_elsewhere:
        infos = [info for info in await both.store.calls(most=options.most) if info.id not in known]
        kept = [(info, await both.store.load(info.id)) for info in infos if not await _is_recorded(both, info.id)]
    if options.json:
        shown = [(one.began, await _found_data(both, one)) for one in recorded]
        shown += [(info.meta.began, _call_data(info, call)) for info, call in kept]
        return _print_json([data for _, data in _latest(shown)[: options.most]])
    if not recorded and not kept:
        return print("No calls yet." if wanted is None else "No such calls.")
    rows: list[tuple[float, tuple[str, ...]]] = []
    for one in recorded:
        stored = await both.load(one.id)
        what = records.did(one) if stored is None or not stored.rows else _sum(stored.info, stored.rows)
        line = (one.id, _when(one.began), one.reason, one.agents, records.waited(one), what)
        rows.append((one.began, (*line, records.found_words(one.findings))))
    for info, call in kept:
        agents = " > ".join(info.meta.agents)
        did = _sum(info, call.rows if call else ())
        rows.append((info.meta.began, (info.id, _when(info.meta.began), _state(info), agents, "", did, "")))
    table = [("CALL", "BEGAN", "STATE", "AGENT", "SLOWEST", "WHAT TOOLS DID", "FOUND")]
    _print_table([*table, *(row for _, row in _latest(rows)[: options.most])])


def _latest(rows: list[tuple[float, T]]) -> list[tuple[float, T]]:
    return sorted(rows, key=lambda row: -row[0])


async def _is_recorded(both: _Both, call: str) -> bool:
    """Whether a call that a list is too short for has a record all the same."""
    if both.place is None:
        return False
    index = Index(both.place)
    return bool(await records.told(lambda: index.ask("SELECT 1 FROM records WHERE id = ?", [call])))


async def _found_data(both: _Both, one: Found) -> dict[str, Any]:
    stored = await both.load(one.id)
    return {
        "id": one.id,
        "state": one.reason,
        "began": one.began,
        "ended": one.began + one.duration,
        "reason": one.reason,
        "caller": one.caller,
        "agents": [agent for agent in one.agents.split(" > ") if agent],
        "rows": [] if stored is None else [_row_data(stored.info, row) for row in stored.rows],
        "record": records.found_data(one),
    }


async def _list_unknown(store: Store, options: argparse.Namespace) -> None:
    found = await unknown_rows(store, options.most)
    if options.json:
        return _print_json([_row_data(info, row) for info, row in found])
    if not found:
        return print("Nothing is unknown: of all that tools did it is known what came of it.")
    table = [("ID", "STARTED", "TOOL", "ARGUMENTS", "CALL")]
    for info, row in found:
        table.append((row.key[:SHOWN], _when(row.started_at), row.name, _cut(row.arguments), info.id))
    _print_table(table)
    print("Find out whether it happened, and say so: antiphon calls resolve ID --happened, or --did-not")


async def _reconcile(store: Store, options: argparse.Namespace) -> None:
    from antiphon.cli.reconcile import reconcile

    found = await reconcile(store, options.reconcile, await unknown_rows(store, options.most))
    if options.json:
        return _print_json([{**_row_data(one.info, one.row), "said": one.said} for one in found])
    if not found:
        return print("Nothing is unknown: of all that tools did it is known what came of it.")
    table = [("ID", "TOOL", "ARGUMENTS", "CALL", "WHAT CAME OF IT")]
    for one in found:
        row = one.row
        table.append((row.key[:SHOWN], row.name, _cut(row.arguments), one.info.id, one.said))
    _print_table(table)


async def _list_deliveries(place: Place | None, options: argparse.Namespace) -> None:
    if place is None:
        raise UsageError("there are no records here. Name their place with --records.")
    found = await records.told(lambda: Deliveries(place.home).listed(options.most))
    if options.json:
        return _print_json(found)
    if not found:
        return print("Nothing was to be delivered.")
    table = [("DELIVERY", "MADE", "STATE", "TRIES", "RECORD", "WHY NOT")]
    _print_table([*table, *(_delivery(one) for one in found)])


def _delivery(one: dict[str, Any]) -> tuple[str, ...]:
    return (one["id"], _when(one["made"]), one["state"], str(one["tries"]), one["name"], _cut(one["why"]))


def _state(info: CallInfo) -> str:
    if info.meta.ended is not None:
        return info.meta.reason or "ended"
    return "goes on" if info.is_held else "cut off"


def _sum(info: CallInfo, rows: Sequence[Row]) -> str:
    counts: dict[str, int] = {}
    for row in rows:
        state = _outcome(info, row)
        counts[state] = counts.get(state, 0) + 1
    return ", ".join(f"{count} {state}" for state, count in counts.items())


def _outcome(info: CallInfo, row: Row) -> str:
    """What came of a row, in a word."""
    if is_unknown(info, row):
        return "unknown"
    match row.state:
        case RowState.INTENDED:
            return "waiting" if info.is_held else "not started"
        case RowState.STARTED:
            return "running"
        case RowState.SUCCEEDED:
            return "done"
        case _:
            return "failed"


# -- one call


async def _show(both: _Both, wanted: str, *, as_json: bool) -> None:
    record = None if both.place is None else await records.record_with(both.place, wanted)
    if record is not None and both.place is not None:
        return await _show_record(both, both.place, record, as_json=as_json)
    call = await _call_of(both.needed, wanted) if both.store is not None else None
    if call is None:
        raise UsageError(f"there is no call {wanted!r}. `antiphon calls` lists them.")
    info, store = call.info, both.needed
    history = [json.loads(entry) for entry in await store.entries(info.id, HISTORY, most=10_000)]
    if as_json:
        return _print_json({**_call_data(info, call), "history": history})
    began = f"began {_when(info.meta.began)}" if info.meta.began else "began at a time that is not known"
    print(f"Call {info.id}, {began}, {_state(info)}, kept in {store}")
    for item in history:
        if text := _said(item["item"]):
            print(f"  {text}")
    for row in call.rows:
        _show_row(info, row)


async def _show_record(both: _Both, place: Place, record: Record, *, as_json: bool) -> None:
    stored, findings = await both.load(record.id), await records.findings_of(place, record)
    rows = [] if stored is None else [_row_data(stored.info, row) for row in stored.rows]
    if as_json:
        found = [asdict(one) for one in findings]
        whole = {**record.head, **record.metrics, "history": record.history}
        return _print_json({**whole, "rows": rows or record.ledger, "findings": found})
    print(records.headline(record))
    try:
        records.tell_story(record, findings)
    except (TypeError, KeyError, ValueError) as error:
        raise RecordError(f"record {record.name}: {type(error).__name__}: {error}. Was it changed?") from error
    if stored is not None:
        for row in stored.rows:
            _show_row(stored.info, row)
    print(f"\nRecord     {place}/{record.name}\nPage       antiphon report {record.id}")


def _show_row(info: CallInfo, row: Row) -> None:
    told = "the caller was told" if row.closed_at is not None else "the caller was not told"
    tried = f", tried {row.attempt} times" if row.attempt > 1 else ""
    print(f"\n{row.key[:SHOWN]}  {row.name} {_cut(row.arguments)}")
    print(f"  {_outcome(info, row)}{tried}; {told}")
    wish = f", for turn {row.turn} of the caller" if row.turn else ""
    if row.started_at is not None:
        print(f"  started {_when(row.started_at)}{wish}, {_ended(row)}")
    if row.output:
        print(f"  {_cut(row.output)}")


def _ended(row: Row) -> str:
    if row.settled_at is None or row.started_at is None or row.state is RowState.UNKNOWN:
        by = "" if row.deadline is None else f"; it has ended by {_when(row.deadline)}"
        return f"its end is not known{by}"
    return f"known {max(0.0, row.settled_at - row.started_at):.1f} s later"


def _said(item: dict[str, Any]) -> str:
    match item:
        case {"is": "ChatMessage", "role": role, "content": [*parts]}:
            text = " ".join(part for part in parts if isinstance(part, str))
            return f"{role}: {_cut(text)}" + (" [cut]" if item.get("interrupted") else "")
        case {"is": "FunctionCall", "name": name, "arguments": arguments}:
            return f"calls {name} {_cut(arguments)}"
        case {"is": "FunctionCallOutput", "output": output}:
            return f"gives {_cut(output)}"
    return ""


async def _call_of(store: Store, wanted: str) -> StoredCall:
    call = await store.load(wanted)
    if call is None:
        found = [info.id for info in await store.calls(most=10_000) if info.id.startswith(wanted)]
        call = await store.load(_only(found, wanted, "call"))
    if call is None:
        raise StoreError(f"{store} has no call {wanted!r}. `antiphon calls` lists them.")
    return call


# -- what nobody knew


async def _resolve(store: Store, options: argparse.Namespace) -> None:
    rows = await store.rows(most=100_000)
    keys = {row.key for _, row in rows if row.key.startswith(options.id)}
    key = _only(sorted(keys), options.id, "row")
    info, row = next((info, row) for info, row in rows if row.key == key)
    if not is_unknown(info, row):
        raise UsageError(
            f"{key[:SHOWN]} ({row.name}) is {_outcome(info, row)}: expected one of which nobody knows."
            " `antiphon calls --unknown` lists them."
        )
    state = RowState.SUCCEEDED if options.happened else RowState.FAILED
    output = options.output or ("It happened." if options.happened else "It did not happen.")
    row = await store.resolve(info.id, key, state, output, time.time(), attempt=row.attempt)
    if options.json:
        return _print_json(_row_data(info, row))
    told = "; the call is told" if info.is_held else ""
    print(f"{key[:SHOWN]}  {row.name} {_cut(row.arguments)}: {_outcome(info, row)}{told}")


def _only(found: Sequence[str], wanted: str, what: str) -> str:
    if not found:
        raise UsageError(f"there is no {what} {wanted!r}. `antiphon calls` lists calls, with --unknown what is open.")
    if len(found) > 1:
        raise UsageError(f"{len(found)} of them begin with {wanted!r}. Give more of the ID.")
    return found[0]


# -- how it looks


def _call_data(info: CallInfo, call: StoredCall | None) -> dict[str, Any]:
    return {
        "id": info.id,
        "state": _state(info),
        "began": info.meta.began,
        "ended": info.meta.ended,
        "reason": info.meta.reason,
        "caller": info.meta.caller,
        "agents": list(info.meta.agents),
        "rows": [_row_data(info, row) for row in (call.rows if call else ())],
    }


def _row_data(info: CallInfo, row: Row) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(row.to_json())
    return {**data, "call": info.id, "outcome": _outcome(info, row), "told": row.closed_at is not None}


def _when(at: float | None) -> str:
    return "" if at is None else datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M:%S")


def _cut(text: str) -> str:
    return one_line(text, _LONGEST)


def _print_count(erased: int, *, as_json: bool) -> None:
    if as_json:
        return _print_json({"erased": erased})
    print("No such calls." if not erased else "1 call erased." if erased == 1 else f"{erased} calls erased.")


def _print_json(data: Any) -> None:
    print(to_json(data, indent=2))


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    shown = [[visible(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in shown) for column in range(len(shown[0]) - 1)]
    for row in shown:
        print("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip())
