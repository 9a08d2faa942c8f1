"""Calls that go on: those of this process, with all that is known of them, and those that a store has.

Above: the routes. Below: the page's calls, and the contract of stores. Nothing is held here: what a call is, is asked
of whoever holds it when somebody looks.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from antiphon.calls.record import CallReport, ToolCallRecord, Turn
from antiphon.calls.report import report_data
from antiphon.errors import StoreError
from antiphon.records.requests import Request, requests_in
from antiphon.records.steps import handoffs_in, ledger_rows, request_data, steps_in, steps_of_requests
from antiphon.store import HISTORY, CallInfo, Store, StoredCall

MOST = 200
"""Open calls that are listed."""
LIMIT = 3.0
"""Seconds in which a store must have answered. A list without its calls says so."""

FindStore: TypeAlias = Callable[[], Awaitable[Store | None]]


class HeldCall(Protocol):
    """A call of this process."""

    @property
    def id(self) -> str: ...
    @property
    def began(self) -> float: ...
    @property
    def models(self) -> str: ...
    def said_and_done(self) -> tuple[Sequence[Turn], Sequence[ToolCallRecord]]:
        """The turns and the calls of tools until now."""

    def so_far(self) -> CallReport | None:
        """All that happened until now. None: nothing yet."""

    def requests(self) -> list[dict[str, Any]]:
        """Lines of what models were asked, as in a record."""


class Live:
    """Calls that go on. `held`: those of this process. `store`: where others are."""

    def __init__(
        self,
        held: Callable[[], Sequence[HeldCall]] = tuple,
        store: FindStore | None = None,
    ) -> None:
        self._held = held
        self._store = store
        self.trouble = ""
        """Why the store could not be asked; empty: it could."""

    async def listed(self) -> list[dict[str, Any]]:
        """Each call, the latest first."""
        found = [_held_line(call) for call in self._held()]
        known = {one["id"] for one in found}
        found += [_stored_line(info) for info in await self._open() if info.id not in known]
        return sorted(found, key=lambda one: -float(one["began"]))

    async def story(self, call_id: str) -> dict[str, Any] | None:
        """What the page of a call shows of it so far. None: it does not go on."""
        held = next((call for call in self._held() if call.id == call_id), None)
        if held is not None:
            report = held.so_far()
            return None if report is None else _held_story(held, report)
        store = await self._find()
        if store is None:
            return None
        async with asyncio.timeout(LIMIT):
            stored = await store.load(call_id)
            if stored is None or stored.info.meta.ended is not None:
                return None
            entries = await store.entries(call_id, HISTORY, most=10_000)
        return _stored_story(stored, entries)

    def step(self, call_id: str, number: int) -> dict[str, Any] | None:
        """What the model of a call of this process was asked at a step. None: that is not known."""
        held = next((call for call in self._held() if call.id == call_id), None)
        return None if held is None else request_data(_requests(held), number)

    async def _find(self) -> Store | None:
        return None if self._store is None else await self._store()

    async def _open(self) -> list[CallInfo]:
        """Calls that the store has and that have not ended: also those that were cut off."""
        self.trouble = ""
        try:
            store = await self._find()
            if store is None:
                return []
            async with asyncio.timeout(LIMIT):
                held = await store.calls(held=True, most=MOST)
                left = await store.calls(held=False, most=MOST)
        except StoreError as error:
            self.trouble = str(error)
        except TimeoutError:
            self.trouble = f"the store did not answer within {LIMIT:g} s"
        else:
            return [info for info in (*held, *left) if info.meta.ended is None]
        return []


def _held_line(call: HeldCall) -> dict[str, Any]:
    turns, tools = call.said_and_done()
    return {
        "id": call.id,
        "began": call.began,
        "state": "goes on",
        "agents": next((turn.agent for turn in reversed(turns) if turn.agent), ""),
        "caller": "",
        "turns": sum(turn.role == "user" for turn in turns),
        "tools": len(tools),
        "last": turns[-1].text if turns else "",
    }


def _stored_line(info: CallInfo) -> dict[str, Any]:
    return {
        "id": info.id,
        "began": info.meta.began or info.touched,
        "state": "goes on" if info.is_held else "cut off",
        "agents": " > ".join(info.meta.agents),
        "caller": info.meta.caller,
    }


def _held_story(call: HeldCall, report: CallReport) -> dict[str, Any]:
    data = report_data(report, "Call", call.models, call.began)
    replies: Sequence[Mapping[str, Any]] = data["replies"]
    requests = _requests(call)
    return {
        **data,
        "id": call.id,
        "began": call.began,
        "state": "goes on",
        "steps": steps_of_requests(requests) if requests else steps_in(replies, report.history, call.began),
        "handoffs": handoffs_in(report.history, call.began),
        "ledger": [],
        "silent": "The sound of a call is here when it has ended.",
    }


def _requests(call: HeldCall) -> list[Request]:
    return requests_in(call.requests(), f"call {call.id}")


def _stored_story(stored: StoredCall, entries: Sequence[bytes]) -> dict[str, Any]:
    """As far as a store knows: what was said, and what tools that write did."""
    info = stored.info
    began = info.meta.began or info.touched
    items = list(_items(entries))
    report = CallReport([], [], None, {"voice_to_voice_ms": {}}, [], max(0.0, time.time() - began))
    rows: list[dict[str, Any]] = [json.loads(row.to_json()) for row in stored.rows]
    outputs = {item.get("call_id"): item for item in items if item.get("is") == "FunctionCallOutput"}
    return {
        **report_data(report, "Call", "", began),
        "id": info.id,
        "began": began,
        "state": "goes on" if info.is_held else "cut off",
        "turns": [_turn(item, began) for item in items if _is_said(item)],
        "tools": [_tool(item, outputs, began) for item in items if item.get("is") == "FunctionCall"],
        "steps": [],
        "handoffs": handoffs_in(
            [item | {"type": "agent_handoff"} for item in items if item.get("is") == "AgentHandoff"], began
        ),
        "ledger": ledger_rows(rows),
        "silent": "The process that holds this call knows more of it: its record will have it.",
    }


def _items(entries: Sequence[bytes]) -> list[dict[str, Any]]:
    found = []
    for entry in entries:
        with contextlib.suppress(ValueError, TypeError, KeyError):
            item = json.loads(entry)["item"]
            if isinstance(item, dict):
                found.append(item)
    return found


def _is_said(item: Mapping[str, Any]) -> bool:
    return item.get("is") == "ChatMessage" and item.get("role") in ("user", "assistant")


def _at(item: Mapping[str, Any], began: float) -> float:
    return round(max(0.0, float(item.get("created_at") or began) - began), 3)


def _turn(item: Mapping[str, Any], began: float) -> dict[str, Any]:
    at = _at(item, began)
    return {
        "role": item["role"],
        "text": " ".join(part for part in item.get("content", ()) if isinstance(part, str)),
        "started": at,
        "ended": at,
        "interrupted": bool(item.get("interrupted")),
        "overtaken": False,
        "unheard": "",
        "aside": False,
        "agent": "",
        "latency_ms": None,
    }


def _tool(item: Mapping[str, Any], outputs: Mapping[Any, Mapping[str, Any]], began: float) -> dict[str, Any]:
    output = outputs.get(item.get("call_id"))
    try:
        arguments = json.loads(item.get("arguments") or "{}")
    except ValueError:
        arguments = item.get("arguments")
    status = "running" if output is None else "error" if output.get("is_error") else "done"
    return {
        "call_id": item.get("call_id", ""),
        "name": item.get("name", ""),
        "arguments": arguments if isinstance(arguments, dict) else {"raw": arguments},
        "output": "" if output is None else output.get("output", ""),
        "is_error": status == "error",
        "status": status,
        "started": _at(item, began),
        "ended": None if output is None else _at(output, began),
        "consent": None,
        "guarantee": None,
    }
