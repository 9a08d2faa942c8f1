"""Rounds of calls, written down: each call beside its output, in call order.

Above: the floor, the rules. Below: the history, the runs, and the debts, which bear what a round has done.
"""

from __future__ import annotations

from antiphon.chat import FunctionCall, FunctionCallOutput
from antiphon.core import texts
from antiphon.core.debts import Debts
from antiphon.core.history import History
from antiphon.core.notices import RoundClosed
from antiphon.core.promises import Outbox
from antiphon.core.runs import Runs
from antiphon.core.stages import Bond, Gate
from antiphon.core.state import Frame, OpenCall, Run, Speech, Step


class Rounds:
    """Brings calls and what came of them into the history."""

    __slots__ = ("_debts", "_history", "_out", "_runs", "closed_at")

    def __init__(self, out: Outbox, history: History, runs: Runs, debts: Debts) -> None:
        self._out = out
        self._history = history
        self._runs = runs
        self._debts = debts
        self.closed_at = 0.0
        """When the latest round of tools was over."""

    def release(self, speech: Speech) -> None:
        """The caller spoke over a round: what must not be undone goes on, the rest leaves no trace."""
        step = speech.step
        if step is None or not step.calls:
            return
        for open_call in step.calls:
            run = open_call.run
            if open_call.gate is Gate.CONSENT and open_call.was_put:
                open_call.answer(texts.not_agreed(open_call.call, "interrupted"), is_error=False, shows=(), reply=False)
            elif open_call.gate in (Gate.WAITING, Gate.CONSENT):
                open_call.drop()
            elif open_call.gate is Gate.RUNNING and run is not None:
                if run.outlives_interruption:
                    elapsed = self._out.now - run.started
                    open_call.close(texts.still_running(open_call.call.name, elapsed), reply=False)
                    self._runs.to_background(run)
                else:
                    open_call.drop()
                    self._runs.release(run)
        self.record(speech, step)

    def close(self, speech: Speech, step: Step) -> None:
        """All calls of a step are closed."""
        self.closed_at = self._out.now
        self.record(speech, step)

    def record(self, speech: Speech, step: Step) -> None:
        """Write the closed calls of a step into the history, in call order, each beside its output."""
        done = step.take_closed()
        if done:
            speech.round_over(anew=any(call.refused for call in done))
        pairs = tuple(self._record_pair(open_call, f"gen_{step.gen}", speech.agent) for open_call in done)
        self._debts.turns.release(speech, speech.agent)
        self._debts.borne(speech, done)
        if pairs:
            self._out.send(RoundClosed(speech.id, step.gen, pairs))

    def _record_pair(self, done: OpenCall, group: str, agent: str) -> tuple[FunctionCall, FunctionCallOutput]:
        call, wall = done.call, self._history.wall
        made = FunctionCall(
            call_id=call.call_id,
            name=call.name,
            arguments=call.arguments,
            id=self._history.item_id(),
            group_id=group,
            created_at=wall,
        )
        output = FunctionCallOutput(
            call_id=call.call_id,
            name=call.name,
            output=done.output,
            is_error=done.is_error,
            reply_required=done.reply,
            images=list(done.images),
            id=self._history.item_id(),
            created_at=wall,
        )
        done.written_down(self._history.pair(made, output, agent))
        return made, output

    def at_work(self, frame: Frame) -> tuple[str, ...]:
        """Ids of calls of the frame that have their output, while the tool goes on."""
        return tuple(run.call.call_id for run in self._runs if run.frame is frame and run.bond is Bond.BACKGROUND)

    def let_know(self, agent: str, calls: list[OpenCall]) -> None:
        """An agent is to speak of calls that another made: it took over while they ran."""
        for call in calls:
            if call.note is not None:
                self._history.let_know(call.note, agent)

    def result(self, run: int, done: OpenCall, agent: str) -> None:
        """Write what a tool reported from the background, or before this process, as a pair, for `agent` to know."""
        self._record_pair(done, f"run_{run}", agent)

    def cut(self, done: OpenCall, agent: str) -> None:
        """Write a call that the end of its process cut as a pair of its own, for `agent` to know."""
        self._record_pair(done, f"cut_{done.call.call_id}", agent)

    def take_up(self, run: Run, agent: str) -> None:
        """A dropped call turns out to be one that must not be undone.

        It is in the history again, and in the background.
        """
        done = OpenCall(run.call, run.policy)
        done.close(texts.still_running(run.call.name, self._out.now - run.started), reply=False)
        self._record_pair(done, f"run_{run.id}", agent)
        self._runs.to_background(run)
