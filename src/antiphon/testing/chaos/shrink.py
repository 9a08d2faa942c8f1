"""A call that went wrong, made short: fewer faults, fewer wishes, and in the end the facts that its core was told.

What is left is a case that can be made again, and a journal that is replayed without any of it (`antiphon.replay`).

Above: command lines and tests. Below: one call, its judge, and journals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from antiphon.core.commands import RunTool
from antiphon.events import NewId
from antiphon.replay import Entry, Head, Journal, steps
from antiphon.testing.chaos.call import Case, Made, make_call, occasions
from antiphon.testing.chaos.errand import Errand
from antiphon.testing.chaos.faults import OCCASIONS, Fault
from antiphon.testing.chaos.many import try_case
from antiphon.testing.chaos.verdict import Finding, Wrong

MOST_CALLS = 600
"""Calls that are made to make one short."""


@dataclass(slots=True)
class Short:
    """What a finding came down to."""

    finding: Finding
    journal: Journal | None
    """None: the call does not come to its end."""
    calls: int
    """That were made to find it."""

    def __str__(self) -> str:
        wishes = "; ".join(" then ".join(map(str, turn)) for turn in self.finding.case.errand.turns)
        facts = "no end" if self.journal is None else f"{len(self.journal.entries)} facts"
        return f"{self.finding}\n  wishes: {wishes}\n  {facts}"


def shrink(finding: Finding, *, most: int = MOST_CALLS) -> Short:
    """The shortest case found in which the same is wrong, and its journal."""
    best, calls = finding, 0
    while True:
        for case in _shorter(best.case):
            if calls >= most:
                return Short(best, journal_of(best.case, best.wrong), calls)
            calls += 1
            again = _found(case, finding.wrong)
            if again is not None:
                best = again
                break
        else:
            return Short(best, journal_of(best.case, best.wrong), calls)


def _found(case: Case, wrong: Wrong) -> Finding | None:
    return next((one for one in try_case(case).findings if one.wrong == wrong), None)


def _shorter(case: Case) -> Iterator[Case]:
    """Cases that are a little less."""
    for at in range(len(case.faults)):
        yield replace(case, faults=case.faults[:at] + case.faults[at + 1 :])
    if case.medium == "voice":
        yield replace(case, medium="text")
    for errand in _less(case.errand):
        smaller = replace(case, errand=errand)
        yield smaller
        if len(case.faults) == 1:  # what came before it is less, so it comes sooner
            yield from _sooner(smaller, case.faults[0])
    if case.at_once:
        yield replace(case, at_once=False)


def _sooner(case: Case, fault: Fault) -> Iterator[Case]:
    met = occasions(replace(case, faults=()))
    for at in range(1, min(fault.at, met.get(OCCASIONS[fault.kind], 0) + 1)):
        yield replace(case, faults=(Fault(fault.kind, at),))


def _less(errand: Errand) -> Iterator[Errand]:
    turns = errand.turns
    if len(turns) > 1:
        for at in range(len(turns)):
            yield replace(errand, turns=turns[:at] + turns[at + 1 :])
    for at, turn in enumerate(turns):
        for place in range(len(turn) if len(turn) > 1 else 0):
            fewer = turn[:place] + turn[place + 1 :]
            yield replace(errand, turns=(*turns[:at], fewer, *turns[at + 1 :]))


# -- the facts


def journal_of(case: Case, wrong: Wrong) -> Journal | None:
    """What the core was told in a call; of a doubled write only what is needed for it to be started twice."""
    if wrong == "broken":
        return None
    journal = journal_from(make_call(case))
    return _fewest(journal, _doubles) if wrong == "doubled" and _doubles(journal) else journal


def journal_from(made: Made) -> Journal:
    """All that the core was told, as a journal."""
    head: Head | None = None
    entries: list[Entry] = []
    drawn = 0
    for event in made.journal:
        if head is None:
            head = Head(event.options, event.agent, event.epoch, event.mark, about=str(made.case))
        if event.command is not None:
            continue
        if isinstance(event.fact, NewId):
            drawn += 1
            continue
        entries.append(Entry(event.at, event.fact, drawn))
        drawn = 0
    assert head is not None, "a call has a beginning"
    return Journal(head, entries)


def _doubles(journal: Journal) -> bool:
    """Something that is the same is started twice within one turn of the caller."""
    started: Counter[tuple[str, str]] = Counter()
    for step in steps(journal):
        if step.error is not None:
            return False
        started.update(
            (command.call.origin or command.call.name, command.call.identity or command.call.canonical)
            for command in step.commands
            if isinstance(command, RunTool) and command.policy.effect != "reads"
        )
    return any(count > 1 for count in started.values())


def _fewest(journal: Journal, holds: Callable[[Journal], bool]) -> Journal:
    """With as few facts as `holds` needs: pieces are left out, large ones first."""
    entries, size = list(journal.entries), len(journal.entries) // 2
    while size:
        at = 1
        while at < len(entries):
            fewer = entries[:at] + entries[at + size :]
            if holds(replace(journal, entries=fewer)):
                entries = fewer
            else:
                at += size
        size //= 2
    return replace(journal, entries=entries)
