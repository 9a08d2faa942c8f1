"""What tools have done in a call, for those who look at what is said of it.

Above: `scrutiny`. Below: the observers' seam. The core's ledger decides; this one only looks on, and is made only where
somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from antiphon.before_speech import Deed, DeedState
from antiphon.chat import ChatItem, FunctionCallOutput
from antiphon.core.commands import Command, RunTool
from antiphon.core.facts import Fact, ToolReturned
from antiphon.core.notices import Notice, ToolEnded, WriteEnded, WriteTold
from antiphon.runtime.observers import Observer

KEPT = 1_000
_LONGEST = 2_000
"""Characters of an output."""

_STATES: dict[str, DeedState] = {"succeeded": "done", "failed": "failed", "unknown": "unknown"}


class Deeds(Observer):
    """Those of one session, oldest first."""

    def __init__(self) -> None:
        self._by_run: dict[int, Deed] = {}

    def all(self) -> tuple[Deed, ...]:
        """Those that are known."""
        return tuple(self._by_run.values())

    def done(self, context: Iterable[ChatItem]) -> list[Deed]:
        """What was done, also before this call or before anybody looked, as an agent's context has it."""
        known = {deed.call_id for deed in self._by_run.values()}
        earlier = [
            Deed(item.call_id, item.name, "", "unsaid", "done", str(item.output)[:_LONGEST])
            for item in context
            if isinstance(item, FunctionCallOutput) and not item.is_error
            if item.call_id.partition("/")[0] not in known
        ]
        return [*earlier, *(deed for deed in self._by_run.values() if deed.state == "done")]

    def command(self, at: float, command: Command) -> None:
        if isinstance(command, RunTool):
            call = command.call
            self._by_run[command.run] = Deed(call.call_id, call.name, call.arguments, command.policy.effect)
            if len(self._by_run) > KEPT:
                del self._by_run[next(iter(self._by_run))]

    def fact(self, at: float, fact: Fact) -> None:
        if isinstance(fact, ToolReturned):
            state: DeedState = "unknown" if fact.unknown else "failed" if fact.is_error else "done"
            self._is_known(fact.run, state, fact.output)

    def notice(self, at: float, notice: Notice) -> None:
        match notice:
            case ToolEnded(run=run, outcome="unknown" | "cancelled") if run in self._by_run:
                if self._by_run[run].state == "working":
                    self._is_known(run, "failed" if self._by_run[run].effect == "reads" else "unknown", "")
            case WriteEnded(run=run, outcome=outcome, output=output):
                self._is_known(run, _STATES[outcome], output)
            case WriteTold(run=run) if run in self._by_run:
                self._by_run[run] = replace(self._by_run[run], told=True)
            case _:
                pass

    def _is_known(self, run: int, state: DeedState, output: str) -> None:
        deed = self._by_run.get(run)
        if deed is not None:
            self._by_run[run] = replace(deed, state=state, output=output[:_LONGEST])
