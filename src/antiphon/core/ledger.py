"""What was done, and for which wish: the owner of one question, whether a call is to be started.

A *wish* is what the caller wants done once. Models call again for it: in the same response, behind a cut one, because
another agent cannot see the first call. A *row* is one start of a tool that does not only read. Rows of one tool with
equal arguments (or, where the tool says `identity=`, with what of them makes the wish) are numbered in order of start.

`same_wish` decides, and the first line that fits does:

     1. UNKNOWN stands in the way: not started again (a tool that does not say what it does: not in that turn), unless
        the caller took a turn after they had heard of it: then with the same key, after a spoken yes
     2. the model says that the caller confirmed another, and none was started in this turn for that: runs
     3. a run whose call was dropped, that works or ended well: it is the call's (`Adopt`)
     4. one works, and the tool says `on_duplicate=`: as that says
     5. one works for a call of the same response: waits for it
     6. one works elsewhere: "already running"
     7. ended well, and not heard yet: answered with what came of it
     8. failed after the model was asked for this call: gets that failure
     9. all failed, or the tool does not say that it writes: runs
    10. `repeat="once"`: answered
    11. the caller took a turn after they had heard of all of them, and this agent sees them all: a new wish, runs
        (`repeat="ask"`: after a spoken yes to one more)
    12. else answered

Above: the rules of steps, which ask, and the debts, which say what was heard. Below: nothing but records.
Rules and their traces: design, section 4; explored with a model of them and 1.7 million walks.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from antiphon.core import texts
from antiphon.core.commands import Unheard
from antiphon.core.consent import Before
from antiphon.core.facts import Call, KeptWrite, ToolReturned, WriteOutcome
from antiphon.core.notices import WriteEnded, WriteTold
from antiphon.core.promises import Outbox
from antiphon.core.row import Asked, Outcome, Row
from antiphon.core.stages import Gate
from antiphon.core.state import OpenCall, Run
from antiphon.core.undoing import Undoing
from antiphon.options import ToolPolicy

FRESH = 600.0
"""Seconds for which what an unsaid tool came to unseen stands for an equal call. After that it is called again."""


@dataclass(slots=True, frozen=True)
class Start:
    """The call is to be run."""

    asks: Before | None = None
    """Only after a yes: the same was done before (`repeat="ask"`), or perhaps was."""


@dataclass(slots=True, frozen=True)
class Wait:
    """A call before it does the same: what becomes of this one is decided when that has ended."""


@dataclass(slots=True, frozen=True)
class Ask:
    """Other runs of its tool work: `on_duplicate` says what becomes of the call."""


@dataclass(slots=True, frozen=True)
class Adopt:
    """A run that lost its call does the same: it serves this call from now on."""

    run: Run


@dataclass(slots=True, frozen=True)
class Answer:
    """The call is not started: the model reads why, and what was done."""

    output: str
    is_error: bool = False
    shows: tuple[Row, ...] = ()
    """The rows whose outcome the output tells."""
    reply: bool = True
    """False: another agent takes over, and speaks."""


Verdict: TypeAlias = Start | Wait | Ask | Adopt | Answer
_START, _WAIT, _ASK = Start(), Wait(), Ask()
_ONE_MORE, _TRY_AGAIN = Start(asks="done"), Start(asks="unknown")
_STARTED, _SUCCEEDED, _FAILED, _UNKNOWN = Outcome.STARTED, Outcome.SUCCEEDED, Outcome.FAILED, Outcome.UNKNOWN
_NAMES: Mapping[Outcome, WriteOutcome] = {_SUCCEEDED: "succeeded", _FAILED: "failed", _UNKNOWN: "unknown"}
_ENDS: Mapping[Outcome, Literal["done", "failed"]] = {_SUCCEEDED: "done", _FAILED: "failed"}
_OUTCOMES: Mapping[WriteOutcome, Outcome] = {name: outcome for outcome, name in _NAMES.items()}


class Ledger:
    """All starts of a session that a later call may mean, by wish."""

    __slots__ = ("_caller_has_floor", "_out", "_outcomes", "_rows", "_turns", "_undoing", "_unsaid")

    def __init__(self, out: Outbox, caller_has_floor: Callable[[], bool]) -> None:
        self._out = out
        self._caller_has_floor = caller_has_floor
        self._rows: dict[tuple[str, str], list[Row]] = {}
        self._unsaid: list[Row] = []
        """Rows of tools that do not say what they do, oldest first: they stand for a wish for a while only."""
        self._undoing = Undoing()
        self._turns = 0
        self._outcomes = 0

    # -- what happens

    def turn_taken(self) -> None:
        """A turn of the caller entered the history."""
        self._turns += 1

    def asked(self, *, ahead: bool = False) -> Asked:
        """A model is asked now; `ahead`: to answer a turn that the caller may yet take."""
        return Asked(self._turns + ahead, self._outcomes)

    def started(self, run: int, call: Call, policy: ToolPolicy, asked: Asked) -> Row | None:
        """A call is run. A tool that only reads leaves no row."""
        if policy.effect == "reads":
            return None
        self._forget_stale()
        rows = self._rows.setdefault(_wish(call), [])
        number, key = (rows[-1].number + 1, rows[-1].next_key) if rows else (1, 1)
        row = Row(call, policy.writes, number, asked.turn, self._out.now, run, key, _wish_of_next(rows))
        if rows and rows[-1].is_in_doubt and row.writes:
            row.retries(rows[-1])
        rows.append(row)
        if not row.writes:
            self._unsaid.append(row)
            return row
        if policy.undo is not None:
            self._undoing.may_be_undone(row, policy.undo)
        if (undone := self._undoing.meant_by(call)) is not None:
            row.takes_back(undone)
        return row

    def resumed(self, kept: KeptWrite) -> Row:
        """A start from before this process: what came of it is known, or that nobody knows it."""
        rows = self._rows.setdefault(_wish(kept.call), [])
        number = rows[-1].number + 1 if rows else 1
        row = Row(kept.call, True, number, 0, self._out.now, kept.run, kept.number, _wish_of_next(rows))
        rows.append(row)
        self._outcomes += 1
        row.ended(_OUTCOMES[kept.outcome], kept.output, self._out.now, self._outcomes)
        if kept.told:
            row.heard_in(0)
        return row

    def returned(self, row: Row | None, fact: ToolReturned) -> None:
        """What came of a run is known, or that it never will be."""
        outcome = _UNKNOWN if fact.unknown else _FAILED if fact.is_error else _SUCCEEDED
        self._ended(row, outcome, fact.output)
        if row is not None and fact.handoff is not None:
            row.handed_over()
        if row is not None and not fact.reply:
            self.heard(row)

    def corrected(self, row: Row, fact: ToolReturned, *, found: bool = False) -> None:
        """What came of a run is known after all: the caller has not heard that. `found`: somebody was asked for it."""
        row.reopened(found=found)
        self.returned(row, replace(fact, reply=True))

    def context_changed(self, agent: str, learns: Collection[str], forgets: Collection[str]) -> None:
        """The application gave an agent another context: it sees other calls than before."""
        for row in itertools.chain.from_iterable(self._rows.values()):
            row.context_changed(agent, learns, forgets)

    def cancelled(self, row: Row | None, *, may_have_happened: bool) -> None:
        """A run was stopped. Nobody knows how far a write had come."""
        if may_have_happened:
            self._ended(row, _UNKNOWN, "")
        else:
            self.lost(row)

    def lost(self, row: Row | None) -> None:
        """A run came to nothing that a later call could have."""
        if row is not None:
            self._forget(row)

    def _ended(self, row: Row | None, outcome: Outcome, output: str) -> None:
        self._outcomes += 1
        if row is not None:
            row.ended(outcome, output, self._out.now, self._outcomes)
            if row.writes:
                self._out.send(WriteEnded(row.run, row.call, _NAMES[outcome], output))

    def heard(self, row: Row) -> None:
        """The caller has heard what came of it. What they are saying at this moment may be another wish."""
        if row.writes and not row.settled:
            self._out.send(WriteTold(row.run, row.call))
        row.heard_in(self._turns + self._caller_has_floor())
        self._forget_told(row)

    def unheard(self) -> tuple[Unheard, ...]:
        """What was done, or perhaps was, and the caller has not heard: of tools that write, in order of start.

        Also what nobody knew, and is known not to have happened.
        """
        rows = [row for rows in self._rows.values() for row in rows if row.writes and not row.settled]
        rows.sort(key=lambda row: row.started)
        return tuple(
            Unheard(row.call, _ENDS.get(row.outcome, "unknown"), row.output)
            for row in rows
            if row.outcome is not _FAILED or row.was_unknown
        )

    # -- what becomes of a call

    def same_wish(
        self, call: OpenCall, asked: Asked, agent: str, beside: Sequence[OpenCall], *, orphan: Run | None, ask: bool
    ) -> Verdict:
        """Whether a call that `agent` made, `asked` then, is started: the lines above.

        `beside` are the calls of its response. `orphan` is the run of line 3. `ask`: other runs of the tool work, and
        it says `on_duplicate=`.
        """
        policy = call.policy
        rows: Sequence[Row] = self._rows.get(_wish(call.call), ())
        writes, mode = policy.writes, policy.on_duplicate
        if not rows and orphan is None and not ask:
            return _START
        doubts = [row for row in rows if row.is_in_doubt and (writes or row.turn == asked.turn)]
        if doubts:
            may_ask = writes and doubts[-1] is rows[-1] and call.call.read_back is not None
            is_wanted = may_ask and all(row.is_seen_by(agent) and row.last_turn < asked.turn for row in doubts)
            return _TRY_AGAIN if is_wanted and all(row.settled for row in doubts) else self._answer(call, rows, asked)
        is_confirmed = mode == "confirm" and call.call.confirmed
        if is_confirmed and not any(row.call.confirmed and row.turn == asked.turn for row in rows):
            return _START
        if orphan is not None:
            return Adopt(orphan)
        if ask and mode != "allow" and not is_confirmed:
            return _ASK
        working = [row for row in rows if row.outcome is _STARTED]
        if working and mode != "allow":
            return self._working(call, working, asked, beside)
        done = [row for row in rows if row.outcome is _SUCCEEDED and not row.is_undone(asked)]
        unheard = [row for row in done if not row.settled]
        if mode == "allow" and (working or any(row.ended_as > asked.outcomes for row in unheard)):
            return _START  # the model did not know what came of the first when it asked for another
        if (writes and unheard) or (not writes and any(self._is_news(row, asked, agent) for row in done)):
            return self._answer(call, rows, asked)
        if rows and rows[-1].outcome is _FAILED and rows[-1].ended_as > asked.outcomes:
            return Answer(rows[-1].output, is_error=True)
        if not done or not writes:
            return _START
        is_new = policy.repeat != "once" and all(row.is_seen_by(agent) and row.last_turn < asked.turn for row in done)
        if is_new and self._undoing.is_inverse(call.call) and self._undoing.meant_by(call.call) is None:
            is_new = False  # it was undone already, and nothing has been done since
        if is_new and policy.repeat == "ask":
            return _ONE_MORE
        return _START if is_new else self._answer(call, rows, asked)

    def _is_news(self, row: Row, asked: Asked, agent: str) -> bool:
        """What an unsaid tool came to stands for a call of it that was made without knowing that, for a while."""
        is_known = row.ended_as <= asked.outcomes and (row.settled or row.is_seen_by(agent))
        return not is_known and self._is_fresh(row)

    def _working(self, call: OpenCall, working: Sequence[Row], asked: Asked, beside: Sequence[OpenCall]) -> Verdict:
        for row in working:
            if any(other.run is not None and other.run.row is row and other.gate is Gate.RUNNING for other in beside):
                return _WAIT
            row.stands_for(asked.turn)
        since = min(row.started for row in working)
        return Answer(texts.already_running(call.call.name, self._out.now - since))

    def _answer(self, call: OpenCall, rows: Sequence[Row], asked: Asked) -> Answer:
        """What was done for this wish, in words. Calls of this turn mean it, from now on."""
        shows = tuple(row for row in rows if row.outcome is not _FAILED and row.retried_by is None)
        for row in shows:
            row.stands_for(asked.turn)
        output = texts.not_started_again(call.call, shows, once=call.policy.repeat == "once")
        return Answer(output, shows=shows, reply=not any(row.hands_over for row in shows))

    # -- what is forgotten

    def _forget_stale(self) -> None:
        while self._unsaid and (oldest := self._unsaid[0]).outcome is not _STARTED and not self._is_fresh(oldest):
            self._forget(self._unsaid.pop(0))

    def _forget_told(self, row: Row) -> None:
        """Of a tool that does not say what it does, what the caller was told stands for nothing but its number.

        So that a call is judged as quickly as the one before, however often its tool is called.
        """
        rows = [] if row.writes else self._rows.get(_wish(row.call), [])
        for one in rows[:-1]:
            if one.settled and one.outcome is _SUCCEEDED:
                rows.remove(one)
                self._unsaid.remove(one)

    def _is_fresh(self, row: Row) -> bool:
        return self._out.now - row.ended_at <= FRESH

    def _forget(self, row: Row) -> None:
        rows = self._rows.get(_wish(row.call), [])
        if row in rows:
            rows.remove(row)
        if not rows:
            self._rows.pop(_wish(row.call), None)


def _wish_of_next(rows: Sequence[Row]) -> int:
    """Which wish another start is for: the first of which nothing came yet, else a new one."""
    if not rows:
        return 1
    if rows[-1].leaves_key:
        return rows[-1].wish
    open_wishes = {row.wish for row in rows} - {row.wish for row in rows if row.outcome is not _FAILED}
    return min(open_wishes, default=max(row.wish for row in rows) + 1)


def tool_of(call: Call) -> str:
    """Which tool it is, whatever the agent that calls it calls it."""
    return call.origin or call.name


def _wish(call: Call) -> tuple[str, str]:
    """Of two calls, equal ones are of one tool and ask for the same."""
    return tool_of(call), call.identity or call.canonical


def same_arguments(call: Call, other: Call) -> bool:
    """Whether two calls of a tool ask for the same."""
    return (call.identity or call.canonical) == (other.identity or other.canonical)
