"""`RunningTool`: a tool at work, as `session.running_tools` and `ctx.run` show it.

Above: sessions, run contexts, toolsets. Below: the run that the tool runner keeps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from antiphon.chat import FunctionCall
from antiphon.speech_handle import SpeechHandle
from antiphon.tools.function import AnyFunctionTool, ToolError

if TYPE_CHECKING:
    from antiphon.runtime.run import Run


class RunningTool:
    """One execution of a tool. Two of these are equal if they stand for the same one."""

    __slots__ = ("_speech", "_speech_of", "execution")

    def __init__(self, run: Run, speech_of: Callable[[Run], SpeechHandle]) -> None:
        self.execution = run
        """What the runtime keeps of it. Not for applications."""
        self._speech_of = speech_of
        self._speech = speech_of(run)

    @property
    def tool(self) -> AnyFunctionTool:
        """What was called."""
        return self.execution.tool

    @property
    def function_call(self) -> FunctionCall:
        """The call that it serves, as the model made it: `call_id`, `name`, `arguments` (JSON text).

        Another one after an equal call took over a run whose own was dropped.
        """
        return self.execution.function_call

    @property
    def speech_handle(self) -> SpeechHandle:
        """The speech that the call belongs to. Its `interrupted` turns True when the caller spoke over the call."""
        if self._speech.number != self.execution.speech:  # it was adopted
            self._speech = self._speech_of(self.execution)
        return self._speech

    @property
    def in_background(self) -> bool:
        """True once it has reported progress: the conversation goes on without it."""
        return self.execution.in_background

    @property
    def dropped(self) -> bool:
        """The caller spoke over its call: what it says is not spoken, and what it returns is ignored.

        False again once an equal call took it over.
        """
        return self.execution.released

    @property
    def may_be_cancelled(self) -> bool:
        """Its author did not say that it changes the world, and it did not disallow interruptions."""
        return not self.execution.protected and not self.execution.tool.options.writes

    def cancel(self) -> None:
        """Stop it. The model reads that it was cancelled. Raises `ToolError` if it may not be."""
        if not self.may_be_cancelled:
            raise ToolError(f"Task {self.execution.call.call_id} cannot be cancelled.")
        self.execution.cancel()

    async def wait_stopped(self) -> None:
        """Until it has ended, once it was cancelled: at most a second, after which it is abandoned."""
        await self.execution.stopped()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RunningTool) and other.execution is self.execution

    def __hash__(self) -> int:
        return hash(self.execution)

    def __repr__(self) -> str:
        return f"<RunningTool {self.execution.call.name!r} {self.execution.call.call_id!r}>"


def run_here() -> int | None:
    """The number of the run whose code this is; None outside of tools. `TraceEvent.stretch` has it: "run_7"."""
    from antiphon.runtime.scope import current_run

    run = current_run()
    return None if run is None else run.id
