"""What went wrong with the tools of a call, found in its record: what, where, of which kind, and what mends it.

Pure functions of `record.json` and `metrics.json`. They look for what a developer should look for in real calls: wrong
arguments, a tool that was the wrong one, calls that brought nothing new, more rounds than the agent usually takes, and
a line that asked for patience after the result was there. Each is silent where it would have to guess.

Above: the index, `antiphon calls`, reports. Below: nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["invalid", "wrong tool", "redundant", "hold line"]

REMEDIES: Mapping[str, str] = {
    "wrong-arguments": (
        "The model guesses what to pass. Say the format in the parameter's description, with an example, and list the"
        " valid values there, not in the type alone."
    ),
    "unknown-tool": (
        "The model calls a tool that it was not given. Take its name out of the instructions and of other tools'"
        " descriptions, or give it the tool."
    ),
    "wrong-tool": (
        "Descriptions overlap, or their boundaries are not said. Write in each when to call it, and when not to; or"
        " make one tool with a parameter of the two."
    ),
    "repeated-call": (
        "The result did not give the model what it needed, or hid it among too much. Return what the next sentence"
        " needs, and no more; or split the tool so that each call brings something definite."
    ),
    "more-rounds": (
        "Results bring too little for an answer, or the tool should be one that does the whole step. Return what the"
        " answer needs at once, or join tools that are always called one after the other."
    ),
    "hold-after-result": (
        "The tool answers faster than a line can be spoken. Take the line out of the instructions, or out of the tool:"
        " the session's fillers are heard only where the line would be silent."
    ),
}
"""What mends each kind of finding, by its name."""

KINDS: Mapping[str, Kind] = {
    "wrong-arguments": "invalid",
    "unknown-tool": "wrong tool",
    "wrong-tool": "wrong tool",
    "repeated-call": "redundant",
    "more-rounds": "redundant",
    "hold-after-result": "hold line",
}

ENOUGH_REPLIES = 20
"""Replies with calls that an agent must have had for something to be usual."""

USUAL_SHARE = 0.95
"""The share of replies that take as many rounds as is usual, or fewer."""

LONGEST_HOLD_LINE = 120
"""Characters of a line that asks for patience. More is something to say."""

_BAD_ARGUMENTS = re.compile(
    r"Error parsing arguments for `|[Ii]nvalid (?:arguments|params)\b|[Ii]nput validation error"
)
_UNKNOWN_TOOL = "Unknown function: "
_SAME_AGAIN = re.compile(r"` was not started again\.|` is already running with the same arguments")


@dataclass(slots=True, frozen=True)
class Finding:
    """Something that should be looked at."""

    finding: str
    """Its name: a key of `REMEDIES`."""
    kind: str
    """What kind of failure it is: a `Kind`."""
    at: float
    """Where: seconds since the call began."""
    text: str
    """What was found, in one line."""
    remedy: str


def findings_in(head: Mapping[str, Any], figures: Mapping[str, Any]) -> list[Finding]:
    """What is found in one record, by time. What takes other records to say, is not here (`more_rounds`)."""
    calls: Sequence[Mapping[str, Any]] = head["tool_calls"]
    turns = [turn["started"] for turn in head["turns"] if turn["role"] == "user"]
    replies = figures.get("replies", ())
    found = [*_refused(calls), *_repeated(calls, turns, head.get("tools", {})), *_other_tool(calls, turns)]
    found += [*_other_wish(calls, head.get("tools", {})), *_all_rounds(replies)]
    if head.get("voice"):
        found += _late_lines(replies)
    return sorted(found, key=lambda one: (one.at, one.finding))


def has_wrong_arguments(call: Mapping[str, Any]) -> bool:
    """Whether a call of a tool did not run because its arguments were none."""
    return call["status"] in ("error", "refused") and _BAD_ARGUMENTS.match(str(call["output"])) is not None


def more_rounds(at: float, rounds: int, usual: int) -> Finding:
    """A reply took more rounds of calls than this agent's usual."""
    return _finding("more-rounds", at, f"{rounds} rounds of calls, where {_rounds(usual)} usual")


def usual_rounds(counts: Mapping[int, int]) -> int | None:
    """How many rounds of calls nearly all replies stay within; None: too few to say. `counts`: by rounds, replies."""
    total = sum(counts.values())
    if total < ENOUGH_REPLIES:
        return None
    seen = 0
    for rounds in sorted(counts):
        seen += counts[rounds]
        if seen >= USUAL_SHARE * total:
            return rounds
    return None


def _rounds(usual: int) -> str:
    return "one is" if usual == 1 else f"{usual} are"


def _finding(name: str, at: float, text: str) -> Finding:
    return Finding(name, KINDS[name], round(at, 3), text, REMEDIES[name])


def _refused(calls: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Calls that did not run because of how they were made."""
    for call in calls:
        output = str(call["output"])
        if call["status"] not in ("error", "refused"):
            continue
        if output.startswith(_UNKNOWN_TOOL):
            yield _finding("unknown-tool", call["started"], f"{call['name']} was called, and there is no such tool")
        elif has_wrong_arguments(call):
            why = output.partition(": ")[2].partition(". ")[0] or output
            yield _finding("wrong-arguments", call["started"], f"{_shown(call)}: {why[:200]}")


def _repeated(
    calls: Sequence[Mapping[str, Any]], turns: Sequence[float], tools: Mapping[str, Mapping[str, Any]]
) -> Iterator[Finding]:
    """The same call again for the same turn of the caller, although its result was there."""
    for number, call in enumerate(calls):
        if call["status"] == "refused" and _SAME_AGAIN.search(str(call["output"])):
            yield _finding("repeated-call", call["started"], f"{_shown(call)} was called again, and not started again")
            continue
        if call["status"] not in ("done", "error"):
            continue
        for before in reversed(calls[:number]):
            if _turn_of(before, turns) != _turn_of(call, turns):
                break
            if before["status"] == "done" and tools.get(before["name"], {}).get("effect") == "writes":
                break  # the world is another one since
            if before["status"] == "done" and _same(before, call) and _ended(before) <= call["started"]:
                text = f"{_shown(call)} was called again for the same turn, and its result was there"
                yield _finding("repeated-call", call["started"], text)
                break


def _other_tool(calls: Sequence[Mapping[str, Any]], turns: Sequence[float]) -> Iterator[Finding]:
    """A tool failed, and another one did it with the very same values, for the same turn."""
    for before, call in pairwise(calls):
        if (
            before["status"] == "error"
            and call["status"] == "done"
            and before["name"] != call["name"]
            and not _BAD_ARGUMENTS.match(str(before["output"]))
            and not str(before["output"]).startswith(_UNKNOWN_TOOL)
            and _turn_of(before, turns) == _turn_of(call, turns)
            and (values := _values(before))
            and values == _values(call)
        ):
            text = f"{_shown(before)} failed, and {call['name']} did it with the same values"
            yield _finding("wrong-tool", before["started"], text)


def _other_wish(calls: Sequence[Mapping[str, Any]], tools: Mapping[str, Mapping[str, Any]]) -> Iterator[Finding]:
    """A call was read back, the caller wanted something else, and that was another tool's."""
    for number, call in enumerate(calls):
        decision = (call.get("consent") or {}).get("decision")
        if decision not in ("no", "change") or call["status"] == "done":
            continue
        later = [one for one in calls[number + 1 :] if tools.get(one["name"], {}).get("effect") == "writes"]
        if later and later[0]["name"] != call["name"] and later[0]["status"] == "done":
            if not any(one["name"] == call["name"] and one["status"] == "done" for one in later):
                text = f"{_shown(call)} was read back and not wanted; {later[0]['name']} was"
                yield _finding("wrong-tool", call["started"], text)


def _all_rounds(replies: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """The model was cut off from its tools, because it went on and on."""
    for reply in replies:
        if reply.get("max_tool_steps_reached"):
            rounds = reply["rounds"]
            yield _finding("more-rounds", reply["asked"], f"{rounds} rounds of calls: all that a reply may have")


def _late_lines(replies: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """A short line before the answer, heard when the result of the calls that it stands for was there."""
    for reply in replies:
        responses, tools = reply["responses"], reply["tools"]
        for number, response in enumerate(responses):
            heard = response["first_audio"]
            after = [one for one in responses[number + 1 :] if one["by_model"]]
            answer = next((one for one in after if one["first_audio"] is not None and not one["calls"]), None)
            if heard is None or answer is None or not 0 < response["characters"] <= LONGEST_HOLD_LINE:
                continue
            if response["filler"]:
                is_ready = answer["first_byte"] is not None and answer["first_byte"] <= heard
                covered = [tool for tool in tools if tool["started"] <= heard] if is_ready else []
            elif response["by_model"] and response["calls"]:
                until = after[0]["asked"]
                covered = [tool for tool in tools if response["asked"] <= tool["started"] < until]
            else:
                continue
            ends = [tool["ended"] for tool in covered if tool["status"] in ("done", "error")]
            if ends and len(ends) == len(covered) and None not in ends and max(ends) < heard:
                late, names = heard - max(ends), ", ".join(dict.fromkeys(tool["name"] for tool in covered))
                yield _finding(
                    "hold-after-result", heard, f"a line was heard {late:.1f} s after {names} had its result"
                )


# -- of calls


def _turn_of(call: Mapping[str, Any], turns: Sequence[float]) -> int:
    return sum(started <= call["started"] for started in turns)


def _ended(call: Mapping[str, Any]) -> float:
    return float("inf") if call.get("ended") is None else float(call["ended"])


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return bool(one["name"] == other["name"] and _key(one["arguments"]) == _key(other["arguments"]))


def _key(arguments: Any) -> str:
    return json.dumps(arguments, sort_keys=True, ensure_ascii=False).casefold()


def _values(call: Mapping[str, Any]) -> list[str]:
    """What was passed, under whatever names."""
    return sorted(_key(value) for value in call["arguments"].values() if value not in (None, "", [], {}))


def _shown(call: Mapping[str, Any]) -> str:
    passed = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in call["arguments"].items())
    return f"{call['name']}({passed[:120]})"
