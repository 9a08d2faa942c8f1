"""Tools that work in the background while the conversation goes on.

Any tool becomes one with its first `ctx.update()`. An `AsyncToolset` says so beforehand: its tools may be cancelled
by the model, and a second call while the first runs needs the caller's word (`on_duplicate_call`). What they report
is in the history at once; telling it waits until the line is free, and that is the core's business.

Above: agents and sessions that are given a toolset. Below: the tools at work, as sessions show them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias, get_args

from typing_extensions import TypeVar

from antiphon import options
from antiphon.errors import ToolDefinitionError
from antiphon.options import is_given
from antiphon.protocols import closing_session
from antiphon.run_context import RunContext
from antiphon.running_tool import RunningTool
from antiphon.tools.function import (
    AnyFunctionTool,
    FunctionTool,
    RawFunctionTool,
    ToolFlag,
    function_tool,
)
from antiphon.tools.toolset import ToolLike, Toolset

Userdata = TypeVar("Userdata", default=Any)


class AsyncRunContext(RunContext[Userdata]):
    """The context of a tool in an `AsyncToolset`: a parameter annotated with it makes the tool a background tool."""

    __slots__ = ("_toolset",)
    given_by = "AsyncToolset"

    def __init__(self, *, run_ctx: RunContext[Userdata], toolset: AsyncToolset) -> None:
        super().__init__(run_ctx.session, run_ctx.run)
        self._toolset = toolset

    @property
    def toolset(self) -> AsyncToolset:
        """The toolset that the tool belongs to."""
        return self._toolset


class AsyncToolset(Toolset):
    """Tools for work that takes long.

    Tools with an `AsyncRunContext` parameter run in the background: each `ctx.update()` and the final return value
    reach the model, which tells the caller when the line is free. `on_duplicate_call` says what a second call of
    such a tool does while one runs: "allow" it, "replace" the first, "reject" the second, or run it only when the
    caller has confirmed ("confirm"); a tool's own `on_duplicate=` wins. Every call of the set may be cancelled by
    the model, except those that write or have disallowed interruptions.

    Given to the session it outlives hand-offs, and results go to the agent then in charge; given to an agent it
    closes with it. Raises `ToolDefinitionError` for a mode that there is not.
    """

    DuplicateMode: TypeAlias = options.DuplicateMode

    def __init__(
        self,
        *,
        id: str,
        tools: Sequence[ToolLike] | None = None,
        on_duplicate_call: options.DuplicateMode = "confirm",
    ) -> None:
        super().__init__(id=id, tools=tools)
        if on_duplicate_call not in (modes := get_args(options.DuplicateMode)):
            raise ToolDefinitionError(
                f"AsyncToolset {id!r}: on_duplicate_call= must be one of {', '.join(modes)}, got {on_duplicate_call!r}."
            )
        self._on_duplicate_call = on_duplicate_call
        self._running: list[RunContext[Any]] = []
        """The calls of its tools that run, in every session that has it."""
        self._tools = [self._in_background(tool) for tool in self._tools]

    async def cancel(self, call_id: str) -> bool:
        """Stop the running call with this id and wait until it has ended, or is abandoned for not ending in a second.

        False if there is none. Raises `ToolError` if it must not be stopped.
        """
        for ctx in self._running:
            if ctx.function_call.call_id == call_id and not ctx.run.dropped:
                self._stop(ctx)
                await ctx.run.wait_stopped()
                return True
        return False

    async def get_running_tasks(self) -> list[dict[str, Any]]:
        """The calls of its tools that run, as `function_call.model_dump()` gives them.

        The model's tool of this name lists those of all its toolsets, and what else it may cancel.
        """
        return [ctx.function_call.model_dump() for ctx in self._running if not ctx.run.dropped]

    async def cancel_task(self, call_id: str) -> str:
        """`cancel`, with what came of it in words, as the model's tool of this name tells it."""
        return _told(call_id, cancelled=await self.cancel(call_id))

    async def aclose(self) -> None:
        """Stop what may be stopped. Calls that write go on, and their results reach the agent then in charge.

        Where a session closes it, because its agent or itself has ended, calls of other sessions are left alone.
        """
        await super().aclose()
        closing = closing_session.get()
        for ctx in list(self._running):
            if ctx.run.may_be_cancelled and closing in (None, ctx.session):
                self._stop(ctx)

    def _stop(self, ctx: RunContext[Any]) -> None:
        ctx.run.cancel()
        self._running.remove(ctx)

    def _in_background(self, tool: ToolLike) -> ToolLike:
        if not isinstance(tool, (FunctionTool, RawFunctionTool)):
            return tool
        tool = tool.with_options(flags=tool.options.flags | ToolFlag.CANCELLABLE)
        wanted = tool.wants_context
        is_background = wanted is not None and issubclass(wanted, AsyncRunContext)
        if is_background and not is_given(tool.options.on_duplicate):
            tool = tool.with_options(on_duplicate=self._on_duplicate_call)
        return self._with_async_context(tool)

    def _with_async_context(self, tool: AnyFunctionTool) -> AnyFunctionTool:
        async def call(run_ctx: RunContext[Any], **kwargs: Any) -> Any:
            if isinstance(tool, RawFunctionTool):
                kwargs = {"raw_arguments": kwargs["raw_arguments"]}
            with self._counted(run_ctx):
                return await tool.call(kwargs, AsyncRunContext(run_ctx=run_ctx, toolset=self))

        return tool.with_function(call)

    @contextmanager
    def _counted(self, ctx: RunContext[Any]) -> Iterator[None]:
        self._running.append(ctx)
        try:
            yield
        finally:
            if ctx in self._running:
                self._running.remove(ctx)


def _cancellable(ctx: RunContext[Any]) -> list[RunningTool]:
    runs = ctx.session.running_tools
    return [
        run for run in runs if ToolFlag.CANCELLABLE in run.tool.options.flags and not run.dropped and run != ctx.run
    ]


@function_tool
async def get_running_tasks(ctx: RunContext[Any]) -> list[dict[str, Any]]:
    """Get the list of running async tool calls."""
    return [run.function_call.model_dump() for run in _cancellable(ctx)]


@function_tool
async def cancel_task(ctx: RunContext[Any], call_id: str) -> str:
    """Cancel a running async tool call by call_id."""
    for run in _cancellable(ctx):
        if run.function_call.call_id == call_id:
            run.cancel()
            await run.wait_stopped()
            return _told(call_id, cancelled=True)
    return _told(call_id, cancelled=False)


def _told(call_id: str, *, cancelled: bool) -> str:
    return f"Task {call_id} " + ("cancelled successfully." if cancelled else "not found or already completed.")


def task_tools(tools: Sequence[object]) -> list[AnyFunctionTool]:
    """The pair that an agent's model gets beside tools of which any may be cancelled; nothing otherwise."""
    for tool in tools:
        if isinstance(tool, (FunctionTool, RawFunctionTool)) and ToolFlag.CANCELLABLE in tool.options.flags:
            return [get_running_tasks, cancel_task]
    return []
