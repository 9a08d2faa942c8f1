"""`TaskGroup`: several tasks one after another, with a way back.

Above: tools and hooks that await it. Below: `AgentTask`. The group itself says nothing; its tasks do.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Self

from antiphon.errors import UsageError, as_exception, pass_on
from antiphon.tasks.agent_task import AgentTask
from antiphon.tools.function import AnyFunctionTool, ToolError, ToolFlag, function_tool

__all__ = ["TaskCompletedEvent", "TaskGroup", "TaskGroupResult"]


@dataclass(slots=True)
class TaskGroupResult:
    """What came of a group."""

    task_results: dict[str, Any] = field(default_factory=dict)
    """By id, in the order in which the tasks were added. An exception, if the group returns exceptions."""


@dataclass(slots=True, frozen=True)
class TaskCompletedEvent:
    """A task of a group has its result."""

    task_id: str
    result: Any


@dataclass(slots=True, frozen=True)
class _Entry:
    id: str
    description: str
    make: Callable[[], AgentTask[Any]]


class _GoBack(Exception):
    """The caller wants to change something that belongs to earlier tasks."""

    def __init__(self, task_ids: list[str]) -> None:
        super().__init__(f"back to {', '.join(task_ids)}")
        self.task_ids = task_ids


class TaskGroup(AgentTask[TaskGroupResult]):
    """Runs tasks in the order in which they were added: `results = await group` inside a tool or a hook.

    While a later task runs, the caller may go back to an earlier one: each task gets a tool for it. An earlier task
    that is run again replaces its result, and the group goes on where it was. `return_exceptions`: a task that
    fails is a result like others; otherwise its exception is raised where the group is awaited. `on_task_completed`
    is called (and awaited, if it is a coroutine) after each task; what it raises ends the group in the same way. A
    task that is cancelled cancels the group.
    """

    def __init__(
        self,
        *,
        return_exceptions: bool = False,
        on_task_completed: Callable[[TaskCompletedEvent], Awaitable[None] | None] | None = None,
        llm: Any = None,
        stt: Any = None,
        tts: Any = None,
    ) -> None:
        super().__init__(instructions="", llm=llm, stt=stt, tts=tts)
        self._entries: list[_Entry] = []
        self._return_exceptions = return_exceptions
        self._on_task_completed = on_task_completed

    def add(self, task_factory: Callable[[], AgentTask[Any]], *, id: str, description: str) -> Self:
        """Append a task.

        `task_factory` makes a new one each time it is run; `description` tells the model what it is for.

        Raises `UsageError` if the id is taken.
        """
        if any(entry.id == id for entry in self._entries):
            raise UsageError(f"TaskGroup.add: there is a task with id {id!r} already; give this one another id")
        self._entries.append(_Entry(id, description, task_factory))
        return self

    async def on_enter(self) -> None:
        """Run the tasks."""
        results: dict[str, Any] = {}
        waiting = deque(self._entries)
        while waiting:
            entry = waiting.popleft()
            try:
                results[entry.id] = await self._perform(entry, results)
            except asyncio.CancelledError:
                self.cancel()
                raise
            except _GoBack as back:
                again = [e for e in self._entries if e.id in back.task_ids]
                waiting.extendleft(reversed([*again, entry]))
                continue
            except BaseException as error:
                pass_on(error)
                if not self._return_exceptions:
                    self.complete(as_exception(error))
                    return
                results[entry.id] = as_exception(error)
            try:
                await self._tell(TaskCompletedEvent(entry.id, results[entry.id]))
            except BaseException as error:  # nobody would end the group any more
                pass_on(error)
                self.complete(as_exception(error))
                return
        ordered = {entry.id: results[entry.id] for entry in self._entries}
        self.complete(TaskGroupResult(ordered))

    async def _perform(self, entry: _Entry, results: dict[str, Any]) -> Any:
        task = entry.make()
        done = [e for e in self._entries if e.id in results and e.id != entry.id]
        if done:
            await task.update_tools([*task.tools, _way_back(task, done)])
        return await task

    async def _tell(self, event: TaskCompletedEvent) -> None:
        if self._on_task_completed is not None:
            told = self._on_task_completed(event)
            if inspect.isawaitable(told):
                await told


def _way_back(task: AgentTask[Any], done: list[_Entry]) -> AnyFunctionTool:
    known = {entry.id for entry in done}
    steps = "\n".join(f"- {entry.id}: {entry.description}" for entry in done)

    async def out_of_scope(task_ids: list[str]) -> None:
        unknown = [task_id for task_id in task_ids if task_id not in known]
        if unknown or not task_ids:
            raise ToolError(f"There is no finished step {unknown}; expected some of {sorted(known)}.")
        task.complete(_GoBack(task_ids))

    return function_tool(
        out_of_scope,
        name="out_of_scope",
        description=(
            "Go back to earlier steps. Call this only when the user wants to change something that was settled in one"
            f" of them, with the ids of the steps to repeat:\n{steps}"
        ),
        flags=ToolFlag.IGNORE_ON_ENTER,
    )
