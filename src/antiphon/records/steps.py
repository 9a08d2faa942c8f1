"""The steps of a call's model: when it was asked, with what, what had been added since the step before, and why.

A step is one request. Of a call whose requests are recorded (`requests.jsonl`) its input is known exactly. Of another
one the metrics say when it was asked, and the history what the call had gained by then. Above: the pages of a call.
Below: the record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from antiphon.records.format import Record
from antiphon.records.requests import Request


def steps_of(record: Record) -> list[dict[str, Any]]:
    """The steps in the order in which they were asked for. Raises `RecordError` and `RequestsError`."""
    if record.requests:
        return steps_of_requests(record.requests)
    return steps_in(record.metrics.get("replies", ()), record.history, record.began)


def steps_of_requests(requests: Sequence[Request]) -> list[dict[str, Any]]:
    """Steps whose input is recorded. What is `gained` and `left_out` is so since the agent's request before."""
    before: dict[str, Request] = {}
    steps = []
    for request in requests:
        last = before.get(request.agent)
        tools = [] if last is None else [tool["name"] for tool in last.tools]
        first = request.pieces[0][0] if request.pieces else None
        steps.append(
            {
                "number": request.number,
                "agent": request.agent,
                "model": request.model,
                "asked": request.at,
                "first_token": None if first is None else round(request.at + first, 6),
                "done": request.ended,
                "outcome": request.outcome,
                "prompt_tokens": request.prompt_tokens,
                "completion_tokens": request.completion_tokens,
                "calls": len(request.calls),
                "characters": len(request.text),
                "recorded": True,
                "gained": _more(request.parts, () if last is None else last.parts),
                "left_out": 0 if last is None else len(_more(last.parts, request.parts)),
                "tools_gained": sorted({tool["name"] for tool in request.tools} - set(tools)),
                "tools_left": sorted(set(tools) - {tool["name"] for tool in request.tools}),
                "is_first": last is None,
            }
        )
        before[request.agent] = request
    return steps


def request_data(requests: Sequence[Request], number: int) -> dict[str, Any] | None:
    """The whole input of one step, with what of it is new. None: there is no such step."""
    found = next((one for one in requests if one.number == number), None)
    if found is None:
        return None
    earlier = [one for one in requests if one.number < number and one.agent == found.agent]
    known = Counter(id(part) for part in earlier[-1].parts) if earlier else Counter[int]()
    items = []
    for part in found.parts:
        is_known = known[id(part)] > 0
        known[id(part)] -= is_known
        items.append({**part, "is_new": not is_known and bool(earlier)})
    return {
        "agent": found.agent,
        "model": found.model,
        "items": items,
        "tools": list(found.tools),
        "settings": dict(found.settings),
        "outcome": found.outcome,
        "text": found.text,
        "calls": list(found.calls),
        "error": found.error,
    }


def _more(parts: Sequence[Mapping[str, Any]], than: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Parts that are not in the other ones, or not as often. A part that stands in several requests is one object."""
    known = Counter(id(part) for part in than)
    more = []
    for part in parts:
        if known[id(part)] > 0:
            known[id(part)] -= 1
        else:
            more.append(part)
    return more


# -- where requests are not recorded


def steps_in(
    replies: Sequence[Mapping[str, Any]], history: Sequence[Mapping[str, Any]], began: float
) -> list[dict[str, Any]]:
    """Steps of these replies, as the metrics have them.

    `history`: items with `created_at`, seconds since the epoch, as is `began`. What was gained goes by these times.
    """
    asked = [response for reply in replies for response in reply.get("responses", ()) if response.get("by_model")]
    asked.sort(key=lambda one: float(one["asked"]))
    items = [(float(item.get("created_at") or 0.0) - began, item) for item in history]
    steps, taken = [], 0
    for number, response in enumerate(asked, 1):
        gained = []
        while taken < len(items) and items[taken][0] <= response["asked"]:
            gained.append(_part(items[taken][1]))
            taken += 1
        steps.append(
            {
                "number": number,
                "agent": "",
                "model": "",
                "asked": response["asked"],
                "first_token": response.get("first_token"),
                "done": response.get("done"),
                "outcome": "failed"
                if response.get("failed")
                else "stopped"
                if response.get("done") is None
                else "done",
                "prompt_tokens": response.get("prompt_tokens") or None,
                "completion_tokens": response.get("completion_tokens") or None,
                "calls": response.get("calls") or 0,
                "characters": response.get("characters") or 0,
                "recorded": False,
                "gained": gained,
                "left_out": 0,
                "tools_gained": [],
                "tools_left": [],
                "is_first": number == 1,
            }
        )
    return steps


def _part(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item of a history, as parts of requests are written."""
    match item.get("type"):
        case "message":
            content = item.get("content", ())
            text = " ".join(part if isinstance(part, str) else "[image]" for part in content)
            cut = {"interrupted": True} if item.get("interrupted") else {}
            return {"kind": str(item.get("role")), "text": text, **cut}
        case "function_call":
            return {"kind": "call", "name": item.get("name", ""), "arguments": item.get("arguments", "")}
        case "function_call_output":
            error = {"is_error": True} if item.get("is_error") else {}
            return {"kind": "output", "name": item.get("name", ""), "text": item.get("output", ""), **error}
        case "agent_handoff":
            return {"kind": "handoff", "text": str(item.get("new_agent_id"))}
        case other:
            return {"kind": str(other), "text": ""}


def handoffs_in(history: Sequence[Mapping[str, Any]], began: float) -> list[dict[str, Any]]:
    """When which agent took over, after the first."""
    taken = [item for item in history if item.get("type") == "agent_handoff"]
    shown = [item for item in taken if item.get("old_agent_id") is not None] or taken[1:]
    return [
        {"at": round(max(0.0, float(item.get("created_at") or began) - began), 3), "agent": str(item["new_agent_id"])}
        for item in shown
        if item.get("new_agent_id")
    ]


def ledger_rows(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of a ledger, as pages show them."""
    return [
        {
            "call_id": str(row.get("call_id", "")),
            "state": str(row.get("state", "")),
            "number": row.get("number") or 1,
            "attempt": row.get("attempt") or 1,
            "told": row.get("closed_at") is not None,
        }
        for row in rows
    ]
