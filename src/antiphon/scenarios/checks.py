"""What is not as it must be when a call is over, each in words.

Above: calls. Below: `evaluation.matching`, and what is known of the call. Nothing here calls.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from antiphon.calls.record import CallReport, ToolCallRecord
from antiphon.evaluation.matching import fields_of, is_as_expected, missing_calls, shown
from antiphon.scenarios.definition import AtTheEnd
from antiphon.testing.audio import Sound
from antiphon.visible import to_json

EndedBy = Literal["caller", "agent"]
_RAN = ("done", "error", "cancelled", "dropped", "unknown", "running")
"""What becomes of a call whose tool has run."""


@dataclass(slots=True, frozen=True)
class Over:
    """A call that is over, as far as it is judged."""

    report: CallReport
    heard: str
    """All that the agent was heard to say."""
    ended_by: EndedBy
    dead_air: Sequence[Sound]
    """When nobody was heard while the agent had something to do."""
    answers: Sequence[float]
    """Seconds from the caller's last sound to the agent's first, by turn that was answered."""
    userdata: Any
    in_charge: Sequence[str]
    """The agent in charge at the end: its class, and its id."""
    duration: float

    @property
    def calls(self) -> list[ToolCallRecord]:
        """Those whose tools ran."""
        return [call for call in self.report.tool_calls if call.status in _RAN]


def wrong(expected: AtTheEnd, call: Over) -> list[str]:
    """What is not as expected."""
    found = [*_calls(expected, call), *_words(expected, call.heard), *_times(expected, call), *_end(expected, call)]
    return [one for one in found if one]


def _calls(expected: AtTheEnd, call: Over) -> Iterator[str]:
    made = [(one.name, one.arguments) for one in call.calls]
    if expected.no_calls and made:
        yield f"expected no call, got {', '.join(shown(*one) for one in made)}"
    yield missing_calls(expected.calls, made)
    for never in expected.never_calls:
        if not missing_calls([never], made):
            yield f"{shown(never.tool, never.arguments) if never.arguments else never.tool} was called, and may not be"
    if expected.one_write_a_wish:
        done = Counter((one.name, to_json(one.arguments)) for one in call.calls if _is_write(one))
        for (name, arguments), count in done.items():
            if count > 1:
                yield f"{name}({arguments}) was done {count} times: one wish, one write"


def _is_write(call: ToolCallRecord) -> bool:
    return call.guarantee is not None and call.status == "done" and not call.is_error


def _words(expected: AtTheEnd, heard: str) -> Iterator[str]:
    for pattern in expected.says:
        if not re.search(pattern, heard, re.IGNORECASE):
            yield f"expected to hear {pattern!r}, got {heard!r}"
    for pattern in expected.never_says:
        if match := re.search(pattern, heard, re.IGNORECASE):
            around = heard[max(0, match.start() - 40) : match.end() + 40]
            yield f"{pattern!r} was heard, and may not be: {around!r}"


def _times(expected: AtTheEnd, call: Over) -> Iterator[str]:
    longest = max(call.dead_air, key=lambda sound: sound.duration, default=None)
    if expected.max_dead_air is not None and longest is not None and longest.duration > expected.max_dead_air:
        yield f"expected at most {expected.max_dead_air:g} s of dead air, got {longest.duration:.1f} s"
    if expected.max_answer is not None and call.answers and (slowest := max(call.answers)) > expected.max_answer:
        yield f"expected answers within {expected.max_answer:g} s, got one after {slowest:.1f} s"
    if expected.max_duration is not None and call.duration > expected.max_duration:
        yield f"expected a call of at most {expected.max_duration:g} s, got {call.duration:.1f} s"


def _end(expected: AtTheEnd, call: Over) -> Iterator[str]:
    if expected.ended_by is not None and call.ended_by != expected.ended_by:
        yield f"expected the {expected.ended_by} to end the call, got the {call.ended_by}"
    if expected.handoff is not None and expected.handoff not in call.in_charge:
        yield f"expected {expected.handoff} in charge, got {' '.join(call.in_charge) or 'nobody'}"
    held: Mapping[str, Any] = fields_of(call.userdata) if call.userdata is not None else {}
    for name, value in expected.state.items():
        if name not in held or not is_as_expected(value, held[name]):
            yield f"state: expected {name} = {value!r}, got {held.get(name)!r}"
