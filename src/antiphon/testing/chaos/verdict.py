"""What is wrong with a call: judged by what its caller wished for, which no part of it knew.

Above: those who look for faults, and show them. Below: what happened in the call.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from antiphon.store import RowState
from antiphon.testing.chaos.call import Case, Made, unknown
from antiphon.testing.chaos.errand import Key, key_of

Wrong: TypeAlias = Literal[
    "doubled", "lost", "unequal", "unsaid", "untold", "told twice", "unwritten", "misfiled", "broken"
]
"""- "doubled": a write had its effect more often than it was wished for;
- "lost": less often, and nobody said that it may not have happened;
- "unequal": the world is not as it is once all of it was done plainly;
- "unsaid": it cannot be known what came of a write, and the caller was not told that;
- "untold": what came of a write is known, and the caller was not told;
- "told twice": they were told as if it were news, more than once;
- "unwritten": a tool that writes was entered, and its store did not know of that;
- "misfiled": the store says that what was done was not, or that what was not done was;
- "broken": the call broke.
"""
WRONGS: Final[tuple[Wrong, ...]] = (
    "doubled",
    "lost",
    "unequal",
    "unsaid",
    "untold",
    "told twice",
    "unwritten",
    "misfiled",
    "broken",
)


@dataclass(slots=True, frozen=True)
class Finding:
    """One thing that is wrong."""

    wrong: Wrong
    what: str
    case: Case
    tool: str = ""
    """Which one it is about, if it is about one."""

    def __str__(self) -> str:
        return f"{self.wrong}: {self.what} ({self.case})"


@dataclass(slots=True)
class Verdict:
    """What is to be said of a call."""

    made: Made
    findings: list[Finding] = field(default_factory=list)
    writes: int = 0
    """Effects of tools that write."""
    unknown: int = 0
    """Writes of which nobody can know what came of them, and of which that was said."""

    def found(self, wrong: Wrong, what: str, tool: str = "") -> None:
        """Something is wrong."""
        self.findings.append(Finding(wrong, what, self.made.case, tool))

    def said_to_be_unknown(self, writes: int) -> None:
        """Nobody can know what came of these, and the caller was told so."""
        self.unknown += writes


async def judge(made: Made) -> Verdict:
    """Hold a call to what its caller wished for."""
    wished = made.case.errand.counts(made.world)
    done = Counter(start.key for start in made.effects if start.writes)
    verdict = Verdict(made, writes=done.total())
    doubts = {key: f"doubt{place}" for place, key in reversed(list(enumerate(_keys(made))))}
    for key in sorted(wished.keys() | done.keys()):
        _judge_wish(verdict, key, wished[key], done[key], doubts.get(key, ""))
    _judge_telling(verdict)
    _judge_rows(verdict)
    await _judge_state(verdict, equal=done == wished)
    return verdict


def broken(case: Case, error: BaseException) -> Finding:
    """A call that did not come to its end."""
    return Finding("broken", f"{type(error).__name__}: {str(error)[:300]}", case)


def _keys(made: Made) -> list[Key]:
    return [wish.key for wish in made.case.errand.wishes]


def _judge_wish(verdict: Verdict, key: Key, wished: int, done: int, doubt: str) -> None:
    made = verdict.made
    in_doubt = [start for start in made.starts if start.key == key and start.writes and not start.outcome]
    is_said = doubt in made.told or unknown(key) in made.reported
    if done > wished:
        verdict.found("doubled", f"{_shown(key)} was done {done} times, and wished for {wished} times", key[0])
    if in_doubt and is_said:
        verdict.said_to_be_unknown(len(in_doubt))
    elif done < wished and is_said and key in _open_in_store(made):
        verdict.said_to_be_unknown(wished - done)  # its process ended before it was entered, and nobody can know that
    elif in_doubt:
        verdict.found("unsaid", f"nobody knows what came of {_shown(key)}, and the caller was not told that", key[0])
    elif done < wished:
        verdict.found("lost", f"{_shown(key)} was done {done} times, and wished for {wished} times", key[0])


def _open_in_store(made: Made) -> set[Key]:
    """Unknown; or known since not to have happened, which the caller is told who rings again."""
    rows = [row for row in made.rows if row.state is RowState.UNKNOWN or (row.state is RowState.FAILED and row.is_open)]
    return {key_of(str(row.extra.get("name", row.tool)), json.loads(row.arguments)) for row in rows}


def _judge_telling(verdict: Verdict) -> None:
    made = verdict.made
    for start in made.starts:
        if not start.writes or not start.outcome:
            continue
        told = made.told[start.outcome]
        if not told and start.outcome not in made.reported and not start.outcome.startswith("refusal"):
            verdict.found("untold", f"the caller was not told of {start.outcome} of {start.wish}", start.wish.tool)
        if told > 1:
            verdict.found("told twice", f"{start.outcome} of {start.wish} was told {told} times", start.wish.tool)


def _judge_rows(verdict: Verdict) -> None:
    starts = {start.call_id: start for start in verdict.made.starts if start.writes and start.call_id}
    for start in starts.values():
        if not start.is_written:
            verdict.found("unwritten", f"{start.wish} was begun, and the store did not know that", start.wish.tool)
    for row in verdict.made.rows:
        known = starts.get(row.call_id)
        if known is not None and row.state in _SAYS_DONE and known.done is not _SAYS_DONE[row.state]:
            verdict.found("misfiled", f"{row.state.value} stands in the store for {known.wish}", known.wish.tool)


_SAYS_DONE: Final = {RowState.SUCCEEDED: True, RowState.FAILED: False}


async def _judge_state(verdict: Verdict, *, equal: bool) -> None:
    """As once all was done plainly. Where something failed or is unknown: as once what was done was, in its order."""
    made = verdict.made
    # In one response, what comes behind a call that was refused is done before that is tried again.
    in_order = equal and all(start.done for start in made.starts if start.writes) and not made.case.at_once
    # What was unknown, and found not to have happened, is done behind what came after it.
    in_order = in_order and all(row.attempt == 1 for row in made.rows)
    state = made.world.state()
    if equal and state == await made.case.errand.plain():
        return
    expected = await made.case.errand.plain(None if in_order else [start.wish for start in made.effects])
    if state != expected:
        verdict.found("unequal", f"{state[:100]} instead of {expected[:100]}")


def _shown(key: Key) -> str:
    return f"{key[0]}({key[1]})"[:200]
