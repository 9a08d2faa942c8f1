"""Executions of tools. A call belongs to a step and to the history; a run belongs to the session.

    ATTACHED --first update--> BACKGROUND       ATTACHED --returned--> its call is closed
    ATTACHED --the caller spoke over it--> reads: cancelled | unsaid: ORPHAN | writes, protected: BACKGROUND (kept);
                                           or as `on_interrupt=` says
    ORPHAN --an equal call--> ATTACHED, also after it ended well, for ten minutes
    BACKGROUND --returned--> the pair {call_id}/finished, and an offer
    writes, protected --its time is over, or it was cancelled--> gone; what it says yet is told: {call_id}/late

An orphan is invisible: its result is ignored and its hand-off is not made, unless an equal call adopts it, and then
nothing runs twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from antiphon.core import texts
from antiphon.core.commands import CancelTool, RebindRun, ReleaseRun, RunTool
from antiphon.core.facts import Call, ToolReturned
from antiphon.core.ledger import FRESH, Ledger, same_arguments, tool_of
from antiphon.core.notices import ToolAdopted, ToolDropped, ToolEnded, ToolStarted
from antiphon.core.promises import Outbox
from antiphon.core.row import Row
from antiphon.core.stages import Bond
from antiphon.core.state import Frame, OpenCall, Run, Speech, Step
from antiphon.options import ToolPolicy

KEPT_ORPHANS = 1_000
"""How many orphans that ended are kept for adoption; the oldest goes first. `FRESH` seconds let go of most."""


@dataclass(slots=True, frozen=True, eq=False)
class Doubt:
    """A start that is over, here or in another process, and of which nobody knows what it did."""

    run: int
    call: Call
    policy: ToolPolicy
    frame: Frame
    row: Row

    def settled(self) -> OpenCall:
        """The pair in the history that says what it did after all."""
        call = Call(f"{self.call.call_id}/late", self.call.name, self.call.arguments, self.call.canonical)
        return OpenCall(call, self.policy, shows=(self.row,))


class Runs:
    """All executions that somebody may still care about."""

    __slots__ = ("_in_doubt", "_ledger", "_out", "_runs")

    def __init__(self, out: Outbox, ledger: Ledger) -> None:
        self._out = out
        self._ledger = ledger
        self._runs: dict[int, Run] = {}
        self._in_doubt: dict[int, Doubt] = {}
        """By run: those of which nobody knows what they did."""

    def __iter__(self) -> Iterator[Run]:
        return iter(list(self._runs.values()))

    def get(self, run_id: int | None) -> Run | None:
        """The run, unless it is over and forgotten."""
        return None if run_id is None else self._runs.get(run_id)

    def start(self, open_call: OpenCall, speech: Speech, step: Step, agent: str) -> None:
        """Execute a call."""
        call, policy = open_call.call, open_call.policy
        number = self._out.new_id()
        row = self._ledger.started(number, call, policy, step.asked)
        run = Run(number, call, policy, speech, speech.frame, agent, self._out.now, open_call=open_call, row=row)
        self._runs[run.id] = run
        self._promise(run, policy.timeout)
        open_call.runs_as(run)
        key, wish = (row.key, row.wish) if row is not None and row.writes else (0, 0)
        undoes = None if row is None else row.undoes
        self._out.send(RunTool(run.id, call, policy, speech.id, step.gen, agent, key, undoes, wish, step.asked.turn))
        self._out.send(ToolStarted(run.id, speech.id, call))

    def _promise(self, run: Run, timeout: float) -> None:
        unknown = run.policy.effect != "reads"
        text = texts.unknown_outcome(run.call.name) if unknown else texts.timed_out(run.call.name, timeout)
        self._out.promise(run.id, ToolReturned(run.id, text, is_error=True, unknown=unknown), timeout)

    def to_background(self, run: Run) -> None:
        """Its call has its output and the tool goes on."""
        run.in_background()
        if not run.suspended:
            self._promise(run, run.policy.background_timeout)

    def release(self, run: Run) -> None:
        """Its call was dropped: it is stopped, or runs on as an orphan, as its policy says."""
        self._out.send(ReleaseRun(run.id))
        self._out.send(ToolDropped(run.id, run.speech.id, run.call))
        if run.policy.interrupted == "cancel":
            self.cancel(run)
        else:
            run.orphaned()

    def cancel(self, run: Run) -> None:
        """Stop it; nothing is expected of it any more."""
        self._out.withdraw(run.id)
        self._out.send(CancelTool(run.id))
        self._ledger.cancelled(run.row, may_have_happened=run.keeps)
        self.doubt(run)
        self._out.send(ToolEnded(run.id, run.speech.id, run.call, "cancelled"))
        self.forget(run)

    def doubt(self, run: Run, *, ended: bool = False) -> None:
        """Nobody knows what it did, if it writes. One that was stopped says so where it ends all the same."""
        if run.keeps and run.row is not None:
            self._in_doubt[run.id] = Doubt(run.id, run.call, run.policy, run.frame, run.row)
            if not ended:
                self._out.promise(run.id, ToolReturned(run.id, "", unknown=True), None)

    def doubt_kept(self, run_id: int, call: Call, policy: ToolPolicy, frame: Frame, row: Row) -> None:
        """The same of a start from before this process."""
        self._in_doubt[run_id] = Doubt(run_id, call, policy, frame, row)

    def known(self, run_id: int) -> Doubt | None:
        """The run of which nobody knew what it did, if it was one: now somebody does."""
        self._out.withdraw(run_id)
        return self._in_doubt.pop(run_id, None)

    def forget(self, run: Run) -> None:
        """It is over."""
        run.over()
        self._runs.pop(run.id, None)

    def keep_result(self, run: Run, returned: ToolReturned) -> None:
        """An orphan ended: well, and it may still be adopted; otherwise it is forgotten."""
        if returned.is_error or returned.handoff is not None:
            self._ledger.lost(run.row)
            self.forget(run)
            return
        run.returned_unseen(returned, self._out.now)
        self._ledger.returned(run.row, returned)
        ended = [r for r in self._runs.values() if r.returned is not None]
        for position, old in enumerate(ended):
            if not self._is_fresh(old) or position < len(ended) - KEPT_ORPHANS:
                self.forget(old)

    def _is_fresh(self, run: Run) -> bool:
        return run.returned is None or self._out.now - run.returned_at <= FRESH

    def adoptable(self, call: Call) -> Run | None:
        """An orphan of an equal call."""
        for run in filter(self._is_fresh, self._runs.values()):
            if run.bond is Bond.ORPHAN and _is_of_tool(run, call) and same_arguments(run.call, call):
                return run
        return None

    def adopt(self, run: Run, open_call: OpenCall, speech: Speech, gen: int, home: Frame) -> None:
        """The run now serves another call, made in step `gen` of another speech."""
        run.adopted(open_call, speech, home)
        open_call.runs_as(run)
        self._out.send(RebindRun(run.id, open_call.call, speech.id, gen))
        self._out.send(ToolAdopted(run.id, speech.id, run.call))

    def duplicates(self, call: Call, policy: ToolPolicy) -> list[Run]:
        """Runs that this call would run beside, by the scope its policy names."""
        by_arguments = policy.duplicate_scope == "name_and_args"
        return [
            run
            for run in self._runs.values()
            if run.active and _is_of_tool(run, call) and (not by_arguments or same_arguments(run.call, call))
        ]

    def suspend(self, run: Run) -> None:
        """It waits for the caller or for speech of its own: its clock stands still."""
        if run.waits(self._out.remaining(run.id)):
            self._out.rearm(run.id, None)

    def resume(self, run: Run) -> bool:
        """One thing it waited for is over. True if it goes on now."""
        if not run.goes_on():
            return False
        left = run.time_left if run.time_left is not None else run.policy.timeout
        self._out.rearm(run.id, max(left, 1.0))
        return True


def _is_of_tool(run: Run, call: Call) -> bool:
    """Whether the run is one of the tool that the call is for."""
    return tool_of(run.call) == tool_of(call)
