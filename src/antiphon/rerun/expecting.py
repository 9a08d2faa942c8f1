"""What is expected of a call, in words of the command line and of tests, and what is wrong with one unasked.

Above: tests that were written of calls, `antiphon replay --to-test`. Below: the data of a record, and how values are
compared in evaluation.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from antiphon.errors import UsageError
from antiphon.evaluation.matching import is_as_expected
from antiphon.records.findings import Finding, findings_in
from antiphon.rerun.call import CallerDoes

ANSWERED_WITHIN = 3.0
"""Seconds within which somebody who asks is answered, or something is done for them. Else their turn was lost."""

_REMEDIES: Mapping[str, str] = {
    "lost-turn": "Look at on_user_turn_completed (StopResponse), and at what the session was doing then.",
    "failed-tool": "Let the tool say what to do instead (ToolError), or mend it.",
    "unknown-outcome": "Give the tool reconcile=, so that somebody can say whether it happened.",
    "done-twice": 'Say effect="writes": the ledger then starts an equal call once.',
    "unbacked-claim": "Tell the model to claim nothing before its tool has returned, or make the tool's result clear.",
    "silent-tool": "The caller waited in silence: fillers (docs/silence.md), or a faster tool.",
}
LONGEST_WAIT = 4.0
"""Seconds that a caller may wait for a tool without a word."""


def problems_in(head: Mapping[str, Any], figures: Mapping[str, Any]) -> list[Finding]:
    """What is wrong with a call, by time: the record's findings, and what else a test could be made of.

    `head` is that of a record; "said" in it has what the caller said, with when, as far as that is known.
    """
    found = [*findings_in(head, figures), *_more(head)]
    return sorted(found, key=lambda one: (one.at, one.finding))


def _more(head: Mapping[str, Any]) -> Iterator[Finding]:
    calls: Sequence[Mapping[str, Any]] = head["tool_calls"]
    for call in calls:
        if call["status"] == "unknown":
            yield _problem("unknown-outcome", call["started"], f"nobody knows whether {_made(call)} happened")
        elif call["status"] == "error" and "was not run" not in str(call["output"]):
            yield _problem("failed-tool", call["started"], f"{_made(call)} failed: {str(call['output'])[:200]}")
    for number, call in enumerate(calls):
        same = [one for one in calls[:number] if one["name"] == call["name"] and one["arguments"] == call["arguments"]]
        writes = head.get("tools", {}).get(call["name"], {}).get("effect") != "reads"
        if call["status"] == "done" and writes and any(one["status"] == "done" for one in same):
            yield _problem("done-twice", call["started"], f"{_made(call)} was done a second time")
    for claim in head.get("claims", ()):
        yield _problem("unbacked-claim", claim["at"], f"{claim['sentence']!r} was said, and no tool had done it")
    yield from _lost(head, calls)
    yield from _not_heard(head)
    yield from _silent(head, calls)


def _lost(head: Mapping[str, Any], calls: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Turns of the caller that nothing followed."""
    turns = head["turns"]
    for turn in turns:
        if turn["role"] != "user" or not turn["text"]:
            continue
        after = [one["started"] for one in turns if one is not turn and one["started"] >= turn["ended"] - 0.01]
        next_turn = min((one["started"] for one in turns if one["role"] == "user" and one["started"] > turn["started"]),
                        default=head.get("duration", 0.0))  # fmt: skip
        answered = [one["started"] for one in turns if one["role"] == "assistant" and one["text"]]
        done = [*answered, *(call["started"] for call in calls)]
        follows = any(turn["started"] <= at <= max(next_turn, turn["ended"] + 0.01) for at in done)
        during = any(
            one["role"] == "assistant" and one["started"] <= turn["ended"] <= one["ended"] + 0.5 for one in turns
        )
        waited = (min([*(at for at in after if at > turn["ended"]), next_turn]) if after else next_turn) - turn["ended"]
        if not follows and not during and waited >= ANSWERED_WITHIN:
            yield _problem("lost-turn", turn["ended"], f"nothing followed {turn['text'][:100]!r} for {waited:.1f} s")


def _not_heard(head: Mapping[str, Any]) -> Iterator[Finding]:
    """What the caller said, and no turn of the call has."""
    heard = " ".join(_words(turn["text"]) for turn in head["turns"] if turn["role"] == "user")
    for at, text in head.get("said", ()):
        if _words(text) and _words(text) not in heard:
            yield _problem("lost-turn", at, f"{text[:100]!r} was said, and became no turn")


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def said_by(caller: Iterable[CallerDoes]) -> list[tuple[float, str]]:
    """What a caller said while the agent was silent, with when: what is hummed into its speech is no turn."""
    return [(one.at, one.text) for one in caller if one.text and one.into is None]


def _silent(head: Mapping[str, Any], calls: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Tools that the caller waited for in silence."""
    for call in calls:
        ended = call.get("ended")
        if ended is None or ended - call["started"] < LONGEST_WAIT or call["status"] not in ("done", "error"):
            continue
        heard = any(
            one["role"] == "assistant" and one["ended"] >= call["started"] and one["started"] <= ended
            for one in head["turns"]
        )
        if not heard:
            text = f"{call['name']} took {ended - call['started']:.1f} s, and nothing was said meanwhile"
            yield _problem("silent-tool", call["started"], text)


def _problem(name: str, at: float, text: str) -> Finding:
    return Finding(name, "replay", round(at, 3), text, _REMEDIES[name])


def _made(call: Mapping[str, Any]) -> str:
    passed = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in call["arguments"].items())
    return f"{call['name']}({passed})"


# -- expectations


@dataclass(slots=True, frozen=True)
class Expectation:
    """Something that must be so in a call, or must not."""

    kind: Literal["tool", "once", "says", "problem"]
    name: str
    """The tool, the pattern of what is said, the problem."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    is_not: bool = False

    def __str__(self) -> str:
        passed = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        what = f"{self.kind} {self.name}" + (f"({passed})" if self.kind in ("tool", "once") else "")
        return f"not {what}" if self.is_not else what

    def objection(self, head: Mapping[str, Any], figures: Mapping[str, Any]) -> str:
        """What is against it, in words; "": it is so."""
        if self.kind == "problem":
            found = [one for one in problems_in(head, figures) if one.finding == self.name]
            found = [one for one in found if not self.arguments or self.arguments.get("tool", "") in one.text]
            return "" if not found else f"{found[0].finding} at {found[0].at:.1f} s: {found[0].text}"
        if self.kind == "says":
            said = [turn["text"] for turn in head["turns"] if turn["role"] == "assistant" and turn["text"]]
            found_text = next((text for text in said if re.search(self.name, text, re.IGNORECASE)), None)
            if self.is_not:
                return "" if found_text is None else f"the agent said {found_text!r}"
            return "" if found_text is not None else f"the agent said {' / '.join(map(repr, said)) or 'nothing'}"
        made = [call for call in head["tool_calls"] if call["name"] == self.name and _fits(self.arguments, call)]
        if self.is_not:
            return "" if not made else f"{_made(made[0])} was called"
        calls = ", ".join(map(_made, head["tool_calls"])) or "none"
        if not made:
            return f"calls were {calls}"
        if self.kind == "once" and (count := sum(one["status"] not in ("refused", "adopted") for one in made)) != 1:
            return f"it was called {count} times: {calls}"
        return ""


def _fits(arguments: Mapping[str, Any], call: Mapping[str, Any]) -> bool:
    passed = call["arguments"]
    return all(name in passed and is_as_expected(value, passed[name]) for name, value in arguments.items())


def expectation_of(text: str, *, is_not: bool = False) -> Expectation:
    """What is expected, as the command line says it: `tool book(day="Friday")`, `once book()`, `says REGEX`.

    Raises `UsageError`.
    """
    kind, _, rest = text.strip().partition(" ")
    rest = rest.strip()
    if kind == "says" and rest:
        try:
            re.compile(rest)
        except re.error as error:
            raise UsageError(f"--expect: {rest!r} is no regular expression: {error}.") from None
        return Expectation("says", rest, is_not=is_not)
    if kind in ("tool", "once") and rest:
        name, arguments = _called(rest)
        return Expectation("once" if kind == "once" else "tool", name, arguments, is_not)
    raise UsageError(f"""--expect: expected 'tool NAME(x="value")', 'once NAME(...)' or 'says REGEX', got {text!r}.""")


def _called(text: str) -> tuple[str, dict[str, Any]]:
    """A call as it is written in Python: `book(day="Friday")`, or its name alone."""
    wrong = UsageError(f"""--expect: expected a call such as book(day="Friday"), got {text!r}.""")
    try:
        tree = ast.parse(text, mode="eval").body
        if isinstance(tree, ast.Name):
            return tree.id, {}
        if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name) or tree.args:
            raise wrong
        return tree.func.id, {str(one.arg): ast.literal_eval(one.value) for one in tree.keywords}
    except (SyntaxError, ValueError):
        raise wrong from None
