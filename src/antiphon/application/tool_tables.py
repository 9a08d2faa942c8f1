"""What the agents of a session may call: tables of tools, and the toolsets behind them.

Above: the driver (the runtime's `Tools`), and agents whose tools change. Below: tools and toolsets.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from antiphon.agent import Agent
from antiphon.application.handles import Handles
from antiphon.application.surroundings import Surroundings
from antiphon.core.facts import ContextChanged
from antiphon.errors import ToolDefinitionError
from antiphon.events import ToolsetReadyEvent
from antiphon.options import NOT_GIVEN, NotGivenOr
from antiphon.record import record
from antiphon.run_context import RunContext
from antiphon.run_result import mocked_tools, note_tools
from antiphon.runtime.run import Run
from antiphon.runtime.toolsets import PATIENCE, PATIENCE_BY_VOICE, OpenToolsets
from antiphon.toolkit.background import task_tools
from antiphon.tools.function import FunctionTool, RawFunctionTool, ToolFlag
from antiphon.tools.hooks import CallHook
from antiphon.tools.proxy import with_stand_ins
from antiphon.tools.toolset import ToolContext, ToolLike, Toolset

logger = logging.getLogger("antiphon")

MANY_TOOLS = 10
"""With more tools than this a model picks the wrong one more often: worth a warning."""

_SESSION = ""
"""The owner of the session's own toolsets, where others are named by their agent."""


@record
class ToolRules:
    """What holds for all tools of a session, whatever they say."""

    max_result_chars: int
    """Longer results are cut."""
    max_tools: int | None
    """More are an error."""
    call_tool: CallHook | None
    """Code around all calls."""
    parallel_tool_calls: NotGivenOr[bool] = NOT_GIVEN
    """Whether a model may make several in one response."""


class _Table:
    """What an agent may call, as long as it stays true."""

    __slots__ = ("is_computed", "mocks", "table", "version", "without_ignored")

    def __init__(self, version: int, table: ToolContext, mocks: Mapping[str, Callable[..., Any]]) -> None:
        self.version = version
        self.mocks = mocks
        self.table = table
        self.is_computed = bool(table.toolsets)
        """A toolset gives other tools from request to request."""
        shown = [tool for tool in table.flatten() if not _is_ignored(tool)]
        self.without_ignored = table if len(shown) == len(table) else ToolContext(shown)


def _is_ignored(tool: object) -> bool:
    return isinstance(tool, (FunctionTool, RawFunctionTool)) and ToolFlag.IGNORE_ON_ENTER in tool.options.flags


class ToolTables:
    """The tools of one session: its own (`shared`), and those of its agents, which are kept by others."""

    def __init__(
        self,
        here: Surroundings,
        agents: Mapping[str, Agent],
        handles: Handles,
        *,
        shared: Sequence[ToolLike],
        rules: ToolRules,
    ) -> None:
        self._here = here
        self._agents = agents
        self._handles = handles
        self._shared = list(shared)
        ToolContext(self._shared).check()
        self._max_tools = rules.max_tools
        self.max_result_chars = rules.max_result_chars
        self.call_hook = rules.call_tool
        self._tables: dict[str, _Table] = {}
        self._complaints: list[tuple[str, str]] = []
        """What was said already about tools that are too many or that clash: agent id, and what about."""
        self.toolsets = OpenToolsets(here, partial(ToolTables.joined, weakref.proxy(self)))

    @property
    def shared(self) -> list[ToolLike]:
        """The session's own tools. A copy."""
        return list(self._shared)

    def run_context(self, run: Run) -> RunContext[Any]:
        """The context of a run."""
        return RunContext(self._here.session, self._handles.at_work(run))

    def dismiss(self, agent_id: str) -> None:
        """The tools of an agent that was lent the floor are needed no more."""
        self._tables.pop(agent_id, None)
        self.close_toolsets(agent_id)

    def tools_of(self, agent_id: str, *, on_enter: bool) -> ToolContext:
        """What the agent's model may call now."""
        agent = self._agents[agent_id]
        known = self._tables.get(agent_id)
        mocks = mocked_tools(type(agent), self._here.session)
        if known is None or known.version != agent.tools_version or known.is_computed or known.mocks != mocks:
            known = self._tables[agent_id] = _Table(
                agent.tools_version, self._table([*agent.tools, *self._shared], agent_id, mocks), mocks
            )
        return known.without_ignored if on_enter else known.table

    def _table(self, tools: list[ToolLike], agent_id: str, mocks: Mapping[str, Callable[..., Any]]) -> ToolContext:
        # What clashes or cannot be described only now comes from a toolset that computes its tools: it is left out.
        table, left_out = ToolContext.leaving_out_unusable(tools)
        for tool, error in left_out:
            if self._is_news(agent_id, tool.id):
                self._here.failed(error, tool)
        for toolset, error in table.left_out:
            if self._is_news(agent_id, f"{toolset.id}: {error}"):
                self._here.failed(error, toolset)
        self._judge_number_of(table, agent_id)
        if shared := task_tools(table.flatten()):
            table = ToolContext([*table.tools, *(tool for tool in shared if tool.name not in table)])
        if not mocks:
            return table
        note_tools(type(self._agents[agent_id]), table.flatten())
        return ToolContext(
            with_stand_ins(tool, mocks) if isinstance(tool, (FunctionTool, RawFunctionTool)) else tool
            for tool in table.flatten()
        )

    def _is_news(self, agent_id: str, what: str) -> bool:
        """Whether this is the first complaint about `what`. Tables are made again for every request."""
        if (agent_id, what) in self._complaints:
            return False
        self._complaints.append((agent_id, what))
        return True

    def _judge_number_of(self, table: ToolContext, agent_id: str) -> None:
        """Say, once, that there are many tools, or more than allowed: some toolsets have theirs only after `setup`."""
        if self._max_tools is not None and len(table) > self._max_tools and self._is_news(agent_id, "max_tools"):
            self._here.failed(self._too_many(len(table), agent_id), self._agents[agent_id])
        if len(table) > MANY_TOOLS and self._is_news(agent_id, "many tools"):
            logger.warning(
                "agent %r has %d tools; past %d a model picks the wrong one more often. Give it fewer, merge those that"
                " overlap, or divide the work among agents.",
                agent_id,
                len(table),
                MANY_TOOLS,
            )

    def check_number_of(self, tools: Sequence[ToolLike], agent_id: str) -> None:
        """Raise `ToolDefinitionError` if an agent with these tools, and the session's, has more than `max_tools`."""
        if self._max_tools is None:
            return
        number = len(ToolContext.leaving_out_unusable([*tools, *self._shared])[0])
        if number > self._max_tools:
            raise self._too_many(number, agent_id)

    def _too_many(self, number: int, agent_id: str) -> ToolDefinitionError:
        return ToolDefinitionError(
            f"agent {agent_id!r} has {number} tools, the session allows {self._max_tools}: give it fewer, divide the"
            " work among agents, or raise AgentSession(max_tools=...)"
        )

    def setup_toolsets(self, agent_id: str) -> asyncio.Future[None] | None:
        """Start an agent's toolsets. The result is done when they are ready, or are late; None: there are none."""
        return self.toolsets.open(agent_id, self._agents[agent_id].tools, self._patience)

    def setup_shared(self) -> None:
        """Start the session's own toolsets."""
        self.toolsets.open(_SESSION, self._shared, self._patience)

    def close_toolsets(self, agent_id: str) -> None:
        """The agent has ended: its toolsets close, while the conversation goes on."""
        self.toolsets.close(agent_id)

    @property
    def _patience(self) -> float:
        return PATIENCE_BY_VOICE if self._here.running.port.has_audio_output else PATIENCE

    def joined(self, owner: str, toolset: Toolset) -> None:
        """A toolset became ready after the conversation had begun."""
        here = self._here
        here.tell("toolset_ready", lambda: ToolsetReadyEvent(toolset=toolset))
        if not here.running.is_closed:  # what was made ahead knows nothing of its tools
            whose = here.session.current_agent.id if owner == _SESSION else owner
            here.running.report(ContextChanged(whose, None))
