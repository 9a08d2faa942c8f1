"""What happened in a call, step by step, and where two calls part.

Above: `running`. Below: the data of a record: turns, calls of tools, requests.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from antiphon.records.requests import Request
from antiphon.rerun.call import normal
from antiphon.visible import one_line, shortened

Kind: TypeAlias = Literal["request", "answer", "call", "result", "said", "heard", "end"]

_ORDER: Mapping[str, int] = {"heard": 0, "request": 1, "answer": 2, "call": 3, "result": 4, "said": 5, "end": 6}
"""Which comes first, of what happens at one instant: what follows from what."""

_AT_ONCE = 0.5
"""Seconds within which what follows from what says which came first: a request is made before a turn is over."""

_LATER = 1.0
"""Seconds by which a request that goes on where another one stood is a later one, and that one was not made."""

_LONGEST = 600
"""Characters of what is shown of a side."""


@dataclass(slots=True, frozen=True)
class Step:
    """Something that happened."""

    kind: Kind
    at: float
    """Seconds since the call began."""
    text: str
    """What makes two steps the same."""
    data: Any = None


@dataclass(slots=True, frozen=True)
class Divergence:
    """The first step at which a call went another way."""

    kind: Kind
    number: int
    """Which of its kind, from 1."""
    at: float
    what: str
    """In words: "another request: the instructions"."""
    recorded: str | None
    """None: there was no such step."""
    now: str | None

    def to_json(self) -> dict[str, Any]:
        """As data."""
        return {
            "step": self.kind,
            "number": self.number,
            "at": round(self.at, 3),
            "what": self.what,
            "recorded": self.recorded,
            "now": self.now,
        }


def steps_of(head: Mapping[str, Any], requests: Sequence[Request], *, by_agent: bool) -> list[Step]:
    """The steps of a call, from what a record has of it."""
    return sorted(_steps(head, requests, by_agent=by_agent), key=lambda step: (round(step.at, 3), _ORDER[step.kind]))


def _steps(head: Mapping[str, Any], requests: Sequence[Request], *, by_agent: bool) -> Iterator[Step]:
    for request in requests:
        if request.outcome == "discarded":
            continue
        parts, tools = list(normal(request.parts)), [dict(tool) for tool in request.tools]
        data = {"parts": parts, "tools": tools, "settings": dict(request.settings)}
        yield Step("request", request.at, json.dumps(data, sort_keys=True, ensure_ascii=False), data)
        if request.outcome == "done":
            calls = [f"{call['name']}({_arguments(call['arguments'])})" for call in request.calls]
            yield Step("answer", request.ended, " ".join([request.text.strip(), *calls]).strip())
        elif request.outcome == "failed":
            yield Step("answer", request.ended, f"(it failed) {request.error}".strip())
    for call in head["tool_calls"]:
        made = f"{call['name']}({_arguments(call['arguments'])})"
        yield Step("call", call["started"], made, call)
        if call["status"] not in ("dropped", "cancelled") and (call.get("ended") is not None or call["output"]):
            text = f"{call['name']}, {call['status']}: {call['output']}"
            yield Step("result", call.get("ended") or call["started"], text, call)
    for turn in head["turns"]:
        if turn["role"] == "user":
            yield Step("heard", turn["started"], turn["text"])
        elif turn["text"]:
            cut = " (cut)" if turn["interrupted"] or turn.get("overtaken") else ""
            yield Step("said", turn["started"], turn["text"] + cut)
    yield Step("end", head.get("duration", 0.0), "the agent ended the call" if by_agent else "the caller hung up")


def _arguments(arguments: Any) -> str:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except ValueError:
            return str(arguments)
    if not isinstance(arguments, Mapping):
        return str(arguments)
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())


def divergence(recorded: Sequence[Step], now: Sequence[Step]) -> Divergence | None:
    """The first step at which they part; None: they are the same. Times do not count."""
    found = [one for kind in _ORDER if (one := _of_kind(kind, recorded, now)) is not None]  # type: ignore[arg-type]
    if not found:
        return None
    first = min(one.at for one in found)
    return min((one for one in found if one.at - first <= _AT_ONCE), key=lambda one: _ORDER[one.kind])


def _of_kind(kind: Kind, recorded: Sequence[Step], now: Sequence[Step]) -> Divergence | None:
    was = [step for step in recorded if step.kind == kind]
    new = [step for step in now if step.kind == kind]
    for number in range(max(len(was), len(new))):
        before = was[number] if number < len(was) else None
        after = new[number] if number < len(new) else None
        if before is not None and after is not None and before.text == after.text:
            continue
        at = min(step.at for step in (before, after) if step is not None)
        what, left, right = _told(kind, before, after)
        return Divergence(kind, number + 1, at, what, left, right)
    return None


def _is_left_out(before: Step, after: Step) -> bool:
    """A request was not made: the next one was, later, with more of the talk."""
    known = before.data["parts"]
    return after.at - before.at > _LATER and after.data["parts"][: len(known)] == known


_NAMES: Mapping[str, str] = {
    "request": "request to the model",
    "answer": "answer of the model",
    "call": "tool call",
    "result": "result of a tool",
    "said": "thing said",
    "heard": "turn of the caller",
    "end": "ending",
}


def _told(kind: Kind, before: Step | None, after: Step | None) -> tuple[str, str | None, str | None]:
    """What is different, and both sides of it."""
    if before is None or after is None:
        one = before or after
        assert one is not None
        gone = "no more" if after is None else "one more"
        shown = _shown(one)
        return f"{gone} {_NAMES[kind]}", None if before is None else shown, None if after is None else shown
    if kind == "request" and _is_left_out(before, after):
        later = f"nothing; the next comes at {after.at:.2f} s, {_shown(after)}"
        return f"no {_NAMES[kind]} here", _shown(before), later
    if kind == "request":
        what, left, right = _request(before.data, after.data)
        return f"another request: {what}", left, right
    if kind == "call" and before.data["name"] == after.data["name"]:
        names = _other_keys(before.data["arguments"], after.data["arguments"])
        argument = "argument" if len(names) == 1 else "arguments"
        return f"another {argument} of {before.data['name']}: {', '.join(names)}", _shown(before), _shown(after)
    return f"another {_NAMES[kind]}", _shown(before), _shown(after)


def _shown(step: Step) -> str:
    if step.kind == "request":
        last = step.data["parts"][-1] if step.data["parts"] else {}
        return f"after {_part_shown(last)}"
    return shortened(step.text, _LONGEST)


def _other_keys(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    return [key for key in {**one, **other} if one.get(key, _ABSENT) != other.get(key, _ABSENT)]


_ABSENT = object()


def _request(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[str, str | None, str | None]:
    """Which part of it is another one, and both sides."""
    kinds = {part["kind"]: part for part in one["parts"]}
    told = next((part for part in other["parts"] if part["kind"] == "instructions"), {"text": ""})
    if (was := kinds.get("instructions", {"text": ""})) != told:
        return "the instructions", *_difference(was["text"], told["text"])
    if one["tools"] != other["tools"]:
        return _tools(one["tools"], other["tools"])
    if one["settings"] != other["settings"]:
        return "its settings", json.dumps(one["settings"]), json.dumps(other["settings"])
    for number in range(max(len(one["parts"]), len(other["parts"]))):
        before = one["parts"][number] if number < len(one["parts"]) else None
        after = other["parts"][number] if number < len(other["parts"]) else None
        if before != after:
            kind = (before or after or {}).get("kind", "")
            return f"message {number + 1} ({kind})", _part_shown(before), _part_shown(after)
    return "its order", None, None


def _part_shown(part: Mapping[str, Any] | None) -> str | None:
    if part is None:
        return None
    if part.get("kind") == "call":
        return f"call {part['name']}({_arguments(part['arguments'])})"
    cut = " (cut)" if part.get("interrupted") else ""
    return shortened(f"{part.get('kind', 'nothing')}: {one_line(str(part.get('text', '')))}{cut}", _LONGEST)


def _difference(one: str, other: str) -> tuple[str, str]:
    """The lines that are in one alone, of each."""
    lines = list(difflib.ndiff(one.splitlines(), other.splitlines()))
    was = [line[2:].strip() for line in lines if line.startswith("- ")]
    new = [line[2:].strip() for line in lines if line.startswith("+ ")]
    return shortened("\n".join(was), _LONGEST), shortened("\n".join(new), _LONGEST)


def _tools(one: Sequence[Mapping[str, Any]], other: Sequence[Mapping[str, Any]]) -> tuple[str, str | None, str | None]:
    was, new = {tool["name"]: tool for tool in one}, {tool["name"]: tool for tool in other}
    if gone := [name for name in was if name not in new]:
        added = [name for name in new if name not in was]
        return f"tool {gone[0]} is not offered", ", ".join(was), ", ".join(new) if added else ", ".join(new) or "none"
    if added := [name for name in new if name not in was]:
        return f"tool {added[0]} is offered, too", ", ".join(was) or "none", ", ".join(new)
    for name, tool in was.items():
        if tool.get("description") != new[name].get("description"):
            sides = _difference(str(tool.get("description")), str(new[name].get("description")))
            return f"the description of tool {name}", *sides
        if tool != new[name]:
            path, before, after = next(
                _paths(tool.get("parameters"), new[name].get("parameters"), ""), ("", None, None)
            )
            where = f" ({path})" if path else ""
            return f"the schema of tool {name}{where}", _json(before), _json(after)
    return "the order of tools", ", ".join(was), ", ".join(new)


def _json(value: Any) -> str:
    return "nothing" if value is _ABSENT else shortened(json.dumps(value, ensure_ascii=False), _LONGEST)


def _paths(one: Any, other: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in {**one, **other}:
            if one.get(key, _ABSENT) != other.get(key, _ABSENT):
                yield from _paths(one.get(key, _ABSENT), other.get(key, _ABSENT), f"{path}.{key}".lstrip("."))
        return
    yield path, one, other
