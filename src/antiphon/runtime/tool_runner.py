"""Executes tool calls: one task for each run.

Above: the driver. Below: the tools themselves. A run reports `ToolReturned` whatever becomes of it; time limits and
what an interruption means are the core's. The context variable `current_run` tells code that runs inside a tool,
threads included, which run it belongs to.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from antiphon.chat import ImageContent
from antiphon.core.commands import RunTool
from antiphon.core.facts import Call, Handoff, RunResumed, RunSuspended, ToolReturned
from antiphon.tools.function import AnyFunctionTool, StopResponse, ToolError, ToolResult
from antiphon.tools.latency import latencies
from antiphon.tools.results import render_result

if TYPE_CHECKING:
    from antiphon.runtime.driver import Driver
    from antiphon.runtime.generation import Generation
    from antiphon.runtime.host import Host

logger = logging.getLogger("antiphon")

CANCEL_GRACE = 1.0
"""Seconds that a cancelled tool has before it is abandoned."""

INTERNAL_ERROR = "An internal error occurred"
"""What the model reads when a tool raised something that is not meant for it."""


@dataclass(slots=True, eq=False)
class Run:
    """One execution of a tool. `call` and `speech` are those it serves now: adoption changes them."""

    driver: Driver
    id: int
    call: Call
    speech: int
    gen: int
    agent: str
    tool: AnyFunctionTool
    kwargs: dict[str, Any]
    task: asyncio.Task[None] | None = None
    in_background: bool = False
    """It reported progress (`ctx.update`): its call has its output, its speech goes on without it."""
    protected: bool = False
    """It asked not to be interrupted."""
    released: bool = False
    """Its call was dropped: what it says is not spoken, what it returns is ignored."""
    waits: int = 0
    """How many of its coroutines wait for the caller or for a speech of its own."""
    waited: bool = False
    """It has waited so: what it took says nothing about the next run."""
    ended: bool = False
    """The tool has returned. Tasks that it began and left behind are not it any more."""

    awaited: list[int] = field(default_factory=list)
    """Speeches that its coroutines wait for."""

    @contextmanager
    def awaiting(self, speech: int) -> Iterator[None]:
        """While the block runs the tool waits for a speech."""
        self.awaited.append(speech)
        try:
            with self.suspended():
                yield
        finally:
            self.awaited.remove(speech)

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """While the block runs the tool waits for the caller: its clock stands, no turn interrupts it."""
        self.waits += 1
        self.waited = True
        if self.waits == 1:
            self.driver.report(RunSuspended(self.id))
        try:
            yield
        finally:
            self.waits -= 1
            if self.waits == 0:
                self.driver.report(RunResumed(self.id))

    def rendered(self, value: object) -> str:
        """A value as the model reads it, cut where the tool's limit or the session's is. Raises `ToolError`."""
        limit = min(self.tool.options.max_result_chars, self.driver.host.max_result_chars)
        try:
            return render_result(value, max_chars=limit)
        except ToolError as error:
            logger.error("tool %r returned what no model can read: %s", self.call.name, error)
            raise


current_run: ContextVar[Run | None] = ContextVar("antiphon_run", default=None)
"""The run that the running code belongs to."""


class ToolRunner:
    """Performs `RunTool`, `CancelTool`, `RebindRun` and `ReleaseRun`."""

    def __init__(self, driver: Driver, host: Host, generation: Generation) -> None:
        self._driver = driver
        self._host = host
        self._generation = generation
        self._runs: dict[int, Run] = {}

    def run(self, command: RunTool) -> None:
        """Execute a call; it closes with `ToolReturned`."""
        tool, kwargs = self._generation.take_prepared(command.speech, command.agent, command.call)
        run = Run(self._driver, command.run, command.call, command.speech, command.gen, command.agent, tool, kwargs)
        self._runs[run.id] = run
        run.task = self._driver.spawn(self._execute(run), f"tool {command.call.name}")

    def cancel(self, run_id: int) -> None:
        """Cancel a run. It is abandoned if it does not end within `CANCEL_GRACE` seconds."""
        run = self._runs.get(run_id)
        if run is not None and run.task is not None:
            run.task.cancel()
            self._driver.loop.call_later(CANCEL_GRACE, self._abandon, run)

    def _abandon(self, run: Run) -> None:
        if run.task is not None and not run.task.done() and not self._driver.is_closed:
            logger.warning(
                "tool %r did not end within %s s of its cancellation and was abandoned", run.call.name, CANCEL_GRACE
            )

    def rebind(self, run_id: int, call: Call, speech: int, gen: int) -> None:
        """The run serves another call now: it was adopted."""
        run = self._runs.get(run_id)
        if run is not None:
            run.call, run.speech, run.gen, run.released = call, speech, gen, False
        self._host.adopted(call)

    def release(self, run_id: int) -> None:
        """The run lost its call."""
        run = self._runs.get(run_id)
        if run is not None:
            run.released = True
            self._host.released(run)

    def get(self, run_id: int | None) -> Run | None:
        """A run that has not ended."""
        return None if run_id is None else self._runs.get(run_id)

    def running(self) -> list[Run]:
        """The runs that have not ended, oldest first."""
        return list(self._runs.values())

    # -- one run

    async def _execute(self, run: Run) -> None:
        current_run.set(run)
        outcome = ToolReturned(run.id, "The call was cancelled.", is_error=True, reply=False)
        began = self._driver.loop.time()
        try:
            outcome = await self._outcome(run)
            if not run.waited:
                latencies.note(run.tool.name, self._driver.loop.time() - began)
        finally:
            self._driver.report(outcome)
            del self._runs[run.id]
            run.ended = True
            run.task = None  # its context knows the run, too: nothing is left for the garbage collector to find

    async def _outcome(self, run: Run) -> ToolReturned:
        try:
            value = await run.tool.call(run.kwargs, self._host.run_context(run))
            return self._returned(run, value)
        except StopResponse:
            return ToolReturned(run.id, "", reply=False)
        except ToolError as error:
            # Subclasses need not call our constructor.
            return ToolReturned(run.id, run.rendered(str(getattr(error, "message", error))), is_error=True)
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            # Something that the tool awaited was cancelled, not the tool.
            logger.exception("tool %r raised CancelledError", run.call.name)
            return ToolReturned(run.id, INTERNAL_ERROR, is_error=True)
        except (Exception, SystemExit) as error:  # a tool does not end the process, and all its calls
            logger.exception("tool %r raised", run.call.name)
            self._host.failed(error, run.tool)
            return ToolReturned(run.id, INTERNAL_ERROR, is_error=True)

    def _returned(self, run: Run, value: Any) -> ToolReturned:
        handoff, value = self._split(value)
        reply = True
        if isinstance(value, ToolResult):
            reply, value = value.reply_required, value.output
        if value is None:
            return ToolReturned(run.id, "", reply=False, handoff=handoff)
        images, value = _images(value)
        return ToolReturned(run.id, run.rendered(value), reply=reply, handoff=handoff, images=images)

    def _split(self, value: Any) -> tuple[Handoff | None, Any]:
        """An agent to hand off to, if there is one, and the result beside it."""
        handoff = self._host.handoff_to(value)
        if handoff is not None:
            return handoff, None
        if not isinstance(value, (tuple, list)):
            return None, value
        found = [(at, handoff) for at, item in enumerate(value) if (handoff := self._host.handoff_to(item))]
        if not found:
            return None, value
        if len(found) > 1:
            raise ToolError("The tool returned more than one agent; no hand-off was made.")
        at, handoff = found[0]
        rest = [item for position, item in enumerate(value) if position != at]
        return handoff, rest[0] if len(rest) == 1 else (rest or None)


def _images(value: Any) -> tuple[tuple[ImageContent, ...], Any]:
    """The pictures of a result, and what is told beside them."""
    parts = value if isinstance(value, (list, tuple)) else [value]
    images = tuple(part for part in parts if isinstance(part, ImageContent))
    if not images:
        return (), value
    rest = [part for part in parts if not isinstance(part, ImageContent)]
    if not rest:
        return images, "The image is attached." if len(images) == 1 else f"{len(images)} images are attached."
    return images, rest[0] if len(rest) == 1 else rest
