"""`antiphon calls`: what became of calls, what their tools did, and what nobody knows of that.

Above: `main.py`. Below: the contract of stores. It looks at what other processes write at the same moment, and holds no
call itself.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from antiphon.cli.kept import PLACE, is_unknown, unknown_rows
from antiphon.errors import StoreError, UsageError
from antiphon.store import HISTORY, CallInfo, Row, RowState, Store, StoredCall, open_store
from antiphon.visible import one_line, to_json, visible

SHOWN = 12
"""Characters of a key that are shown: enough to tell rows apart."""

_LONGEST = 200

_DAY = 86_400.0


async def calls(options: argparse.Namespace) -> None:
    """Run the command. Raises `StoreError` and `UsageError`."""
    async with open_store(_address(options.store)) as store:
        match options.action:
            case "show":
                await _show(store, options.id, as_json=options.json)
            case "resolve":
                await _resolve(store, options)
            case "erase":
                _print_count(await store.erase(call=options.id, caller=options.caller), as_json=options.json)
            case "prune":
                before = time.time() - options.days * _DAY
                _print_count(await store.prune(before, unknown=options.unknown), as_json=options.json)
            case _ if options.reconcile is not None:
                await _reconcile(store, options)
            case _ if options.unknown:
                await _list_unknown(store, options)
            case _:
                await _list(store, options)


def _address(given: str | None) -> str:
    """The store to look into, which must be there."""
    if given is None:
        path = PLACE
        if not path.is_file():
            raise UsageError(f"no calls are kept here: expected {path}. Name their place with --store.")
    elif "://" in given or given.startswith("memory:"):
        return given
    else:
        path = Path(given)
        if path.is_dir() or path.suffix == ".py":  # the agent file, or its folder
            path = (path if path.is_dir() else path.parent) / PLACE
        if not path.is_file():
            raise UsageError(f"no calls are kept in {path}: there is no such file. Name another with --store.")
    return f"sqlite:///{path}?create=no"


# -- lists


async def _list(store: Store, options: argparse.Namespace) -> None:
    found = [(info, await store.load(info.id)) for info in await store.calls(most=options.most)]
    if options.json:
        return _print_json([_call_data(info, call) for info, call in found])
    if not found:
        return print("No calls yet.")
    table = [("CALL", "BEGAN", "STATE", "AGENT", "WHAT TOOLS DID")]
    for info, call in found:
        agents = " > ".join(info.meta.agents)
        table.append((info.id, _when(info.meta.began), _state(info), agents, _sum(info, call.rows if call else ())))
    _print_table(table)


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


async def _show(store: Store, wanted: str, *, as_json: bool) -> None:
    call = await _call_of(store, wanted)
    info = call.info
    history = [json.loads(entry) for entry in await store.entries(info.id, HISTORY, most=10_000)]
    if as_json:
        return _print_json({**_call_data(info, call), "history": history})
    began = f"began {_when(info.meta.began)}" if info.meta.began else "began at a time that is not known"
    print(f"Call {info.id}, {began}, {_state(info)}, kept in {store}")
    for item in history:
        if text := _said(item["item"]):
            print(f"  {text}")
    for row in call.rows:
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
