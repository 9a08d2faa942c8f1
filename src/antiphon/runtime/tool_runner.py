"""Executes tool calls: one task for each run.

Above: the driver. Below: the calls that were checked (`tool_calls`), and the tools themselves. A run reports
`ToolReturned` whatever becomes of it; time limits and what an interruption means are the core's. Code that runs inside
a tool, threads included, knows by `scope` which run it belongs to.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from antiphon.chat import ImageContent
from antiphon.core.commands import RebindRun, RunTool
from antiphon.core.facts import Handoff, ToolReturned
from antiphon.core.notices import WriteEnded
from antiphon.core.texts import unknown_outcome
from antiphon.errors import pass_on
from antiphon.runtime.attempts import Attempts
from antiphon.runtime.call_hooks import Hooked, Reached
from antiphon.runtime.effects import Effects
from antiphon.runtime.host import Agents, Events, Speeches, Tools
from antiphon.runtime.kept_rows import KeptRows, NotStarted
from antiphon.runtime.keys import Keys
from antiphon.runtime.port import Port
from antiphon.runtime.reconciling import InDoubt, Reconciling
from antiphon.runtime.run import CANCEL_GRACE, Run
from antiphon.runtime.scope import current
from antiphon.runtime.tool_calls import INTERNAL_ERROR, ToolCalls
from antiphon.scope import is_cancelled
from antiphon.store import Row, RowState
from antiphon.timer import Timer
from antiphon.tools.function import CallContext, OutcomeUnknown, StopResponse, ToolError, ToolResult, hooks_of
from antiphon.tools.hooks import CallHook, ToolCall, approval
from antiphon.tools.identity import arguments_of, tool_named
from antiphon.tools.latency import latencies

logger = logging.getLogger("antiphon")

NOT_WRITTEN_DOWN = (
    "`{name}` was not started: it could not be written down first, and nothing is done that is not. Nothing was done."
    " Tell the user that it cannot be done at the moment; it may be tried again in a minute."
)
"""What the model reads while the store does not write."""


class ToolRunner:
    """Performs `RunTool`, `CancelTool`, `RebindRun` and `ReleaseRun`."""

    def __init__(
        self,
        port: Port,
        agents: Agents,
        tools: Tools,
        speeches: Speeches,
        events: Events,
        calls: ToolCalls,
        rows: KeptRows | None = None,
    ) -> None:
        self._port = port
        self._agents = agents
        self._tools = tools
        self._speeches = speeches
        self._events = events
        self._calls = calls
        self._rows = rows
        self._runs: dict[int, Run] = {}
        self._keys = Keys() if rows is None else rows.keys
        self._writes: dict[int, Run] = {}
        """Those that write, and of which it is not known what came of them."""
        self._reconciling = Reconciling(port, rows)
        self._effects = Effects(rows)

    def run(self, command: RunTool) -> None:
        """Execute a call; it closes with `ToolReturned`."""
        prepared = self._calls.take(command.call.call_id)
        run = self._runs[command.run] = Run(
            self._port,
            self._runs,
            command.run,
            command.call,
            command.speech,
            command.gen,
            command.agent,
            prepared.tool,
            prepared.kwargs,
            self._tools.max_result_chars,
            partial(self._keys.of, command),
            partial(self._keys.of_wish, command),
            self._effects.once,
            None if self._rows is None else self._rows.transaction,
            command.number,
            command.turn,
            command.policy,
            self._fence,
        )
        if command.number:
            self._writes[run.id] = run
            if self._rows is not None:
                self._rows.intend(run, command.policy)
        run.begin(self._port.spawn(self._execute(run, command.policy.timeout), f"tool {command.call.name}"))

    def _fence(self) -> int | None:
        return None if self._rows is None else self._rows.epoch

    def cancel(self, run_id: int) -> None:
        """Cancel a run. It is abandoned if it does not end within `CANCEL_GRACE` seconds."""
        run = self._runs.get(run_id)
        if run is not None and run.task is not None:
            run.task.cancel()
            loop = self._port.loop
            timer = Timer(loop, loop.time() + CANCEL_GRACE, lambda: self._abandon(run))
            run.task.add_done_callback(lambda _: timer.cancel())  # a timer keeps what it calls, and so the session

    def _abandon(self, run: Run) -> None:
        if run.task is not None and not run.task.done() and not self._port.is_closed:
            logger.warning(
                "tool %r did not end within %s s of its cancellation and was abandoned", run.call.name, CANCEL_GRACE
            )

    def resumed(self, rows: Sequence[Row], numbers: Mapping[str, int], agent: str) -> None:
        """These are from before this process: of what nobody knows, the backend of the tool is asked that it was then.

        `numbers`: by key, what each is known by.
        """
        tools = self._tools.tools_of(agent, on_enter=False).flatten()
        for row in rows:
            if row.key in numbers and row.state in (RowState.STARTED, RowState.UNKNOWN):
                tool, until = tool_named(row.tool, tools), (row.deadline or 0.0) - self._port.epoch
                given, longest = arguments_of(tool, row.arguments), self._tools.max_result_chars
                self._reconciling.unknown(InDoubt(numbers[row.key], row.name, row.key, given, tool, until, longest))

    def write_ended(self, notice: WriteEnded) -> None:
        """What came of a tool that writes is known, or that nobody knows it: then it is asked for."""
        if notice.outcome != "unknown":
            self._writes.pop(notice.run, None)
            self._reconciling.known(notice.run)
        elif (run := self._writes.get(notice.run)) is not None:
            self._reconciling.unknown(InDoubt.of(run))

    def rebind(self, command: RebindRun) -> None:
        """The run serves another call now: it was adopted."""
        run = self._runs.get(command.run)
        if run is not None:
            run.adopted(command.call, command.speech, command.gen)

    def release(self, run_id: int) -> None:
        """The run lost its call."""
        run = self._runs.get(run_id)
        if run is not None:
            run.dropped()
            self._speeches.released(run)

    def speech_over(self, speech: int) -> None:
        """A speech was interrupted, or is done: runs that serve it work in the background, if they are kept."""
        for run in self._runs.values():
            if run.speech == speech:
                run.speech_over()

    def running(self) -> list[Run]:
        """The runs that have not ended, oldest first."""
        return list(self._runs.values())

    # -- one run

    async def _execute(self, run: Run, limit: float) -> None:
        current.set(run)
        outcome: ToolReturned | None = None
        began = self._port.clock()
        try:
            outcome = await self._outcome(run, Attempts(run, self._port.clock, limit))
            if outcome.handoff is None and self._completed_its_task(run):
                outcome = replace(outcome, ends_task=True)
            if not run.waited:
                latencies.note(run.tool.name, self._port.clock() - began)
        finally:
            self._port.report(outcome or _cancelled(run))
            del self._runs[run.id]
            run.end()

    async def _outcome(self, run: Run, attempts: Attempts) -> ToolReturned:
        ctx, options = self._tools.run_context(run), run.tool.options
        hooked = Hooked(
            self._hooks_of(run),
            ToolCall(run.call.call_id, run.call.name, options.effect, run.call.arguments),
            ctx,
            partial(self._made, run, ctx, attempts),
            attempts.reached,
        )
        told = await self._told(run, hooked)
        if not options.writes:
            return told
        told = hooked.settled(told)
        return told if told.is_error or options.undo is None else self._with_inverse(run, told, options.undo)

    def _with_inverse(self, run: Run, told: ToolReturned, undo: str) -> ToolReturned:
        """What came of a write, and how to take it back: the model is to know at the moment in which it matters."""
        if undo not in self._tools.tools_of(run.agent, on_enter=False):
            logger.warning("tool %r: undo= names %r, which the agent does not have", run.call.name, undo)
            return told
        return replace(told, output=f"{told.output}\n[To undo this, call `{undo}`.]".lstrip())

    def _hooks_of(self, run: Run) -> tuple[CallHook, ...]:
        hook = self._tools.call_hook
        within, options = hooks_of(run.tool), run.tool.options
        if options.approve is not None:  # a spoken yes lives no longer than that
            lifetime = self._port.options.consent.lifetime if options.asks_first else options.approve_timeout
            within = (*within, approval(options.approve, min(options.approve_timeout, lifetime)))
        return within if hook is None else (hook, *within)

    async def _told(self, run: Run, hooked: Hooked) -> ToolReturned:
        try:
            return self._returned(run, await hooked.value())
        except StopResponse:
            return ToolReturned(run.id, "", reply=False)
        except ToolError as error:
            # Subclasses need not call our constructor.
            text = run.rendered(str(getattr(error, "message", error)))
            return ToolReturned(run.id, text, is_error=True, unknown=isinstance(error, OutcomeUnknown))
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            # Something that the tool awaited was cancelled, not the tool.
            logger.exception("tool %r raised CancelledError", run.call.name)
        except BaseException as error:  # a tool does not end the process, and all its calls
            pass_on(error)
            logger.exception("tool %r raised", run.call.name)
            self._events.failed(error, run.tool)
        nothing = run.tool.options.writes and hooked.reached in (Reached.NOTHING, Reached.FAILED)
        text = f"{INTERNAL_ERROR}. `{run.call.name}` did nothing." if nothing else INTERNAL_ERROR
        return ToolReturned(run.id, text, is_error=True)

    async def _made(self, run: Run, ctx: CallContext, attempts: Attempts) -> Any:
        """The innermost: what the tool gives."""
        try:
            return await attempts.value(partial(self._enter, run, ctx))
        except NotStarted as refusal:
            return _not_started(run, refusal)

    async def _enter(self, run: Run, ctx: CallContext) -> Any:
        if self._rows is not None and run.number:
            await self._rows.start(run)  # the last thing before
        run.enters()
        return await run.tool.call(run.kwargs, ctx)

    def _returned(self, run: Run, value: Any) -> ToolReturned:
        handoff, value = self._split(value)
        reply = True
        if isinstance(value, ToolResult):
            reply, value = value.reply_required, value.output
        if value is None:
            return ToolReturned(run.id, "", reply=False, handoff=handoff)
        images, value = _images(value)
        text = run.rendered(value)
        if run.tool.options.redact:
            text = self._port.masks.returned(run.tool, value, text)
        return ToolReturned(run.id, text, reply=reply, handoff=handoff, images=images)

    def _completed_its_task(self, run: Run) -> bool:
        """Whoever awaited the task goes on with what came of it: nobody is left to answer the same turn once more."""
        return self._agents.is_done(run.agent) and not run.in_background

    def _split(self, value: Any) -> tuple[Handoff | None, Any]:
        """An agent to hand off to, if there is one, and the result beside it."""
        handoff = self._agents.handoff_to(value)
        if handoff is not None:
            return handoff, None
        if not isinstance(value, (tuple, list)):
            return None, value
        found = [(at, handoff) for at, item in enumerate(value) if (handoff := self._agents.handoff_to(item))]
        if not found:
            return None, value
        if len(found) > 1:
            raise ToolError("The tool returned more than one agent; no hand-off was made.")
        at, handoff = found[0]
        rest = [item for position, item in enumerate(value) if position != at]
        return handoff, rest[0] if len(rest) == 1 else (rest or None)


def _not_started(run: Run, refusal: NotStarted) -> str:
    """It could not be written down that it would be started, so it was not: what another worker's call of it gave.

    Raises `ToolError` where there was none, or it gave nothing.
    """
    logger.warning("tool %r was not started: %s", run.call.name, refusal)
    found = refusal.found
    if found is None:
        raise ToolError(NOT_WRITTEN_DOWN.format(name=run.call.name)) from refusal
    if found.state is RowState.SUCCEEDED:
        return found.output
    if found.state is RowState.FAILED:
        raise ToolError(found.output) from refusal
    raise OutcomeUnknown(unknown_outcome(run.call.name)) from refusal


def _cancelled(run: Run) -> ToolReturned:
    """It was stopped in the middle, or before it had begun."""
    if run.committed:
        return ToolReturned(run.id, f"`{run.call.name}` has happened. Behind that it was cancelled.")
    unknown = run.entered and run.tool.options.effect != "reads"
    return ToolReturned(run.id, "The call was cancelled.", is_error=True, reply=False, unknown=unknown)


def _images(value: Any) -> tuple[tuple[ImageContent, ...], Any]:
    """The pictures of a result, and what is told beside them."""
    if isinstance(value, str):  # what most tools return
        return (), value
    parts = value if isinstance(value, (list, tuple)) else [value]
    images = tuple(part for part in parts if isinstance(part, ImageContent))
    if not images:
        return (), value
    rest = [part for part in parts if not isinstance(part, ImageContent)]
    if not rest:
        return images, "The image is attached." if len(images) == 1 else f"{len(images)} images are attached."
    return images, rest[0] if len(rest) == 1 else rest
