"""The agents of a session: by id, in charge of frames, and what speaks, hears and thinks for them.

Above: the session, which agents come to, and the driver, which asks for them by id. Below: `Agent`, the session's
models and the tables of tools.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Collection, Coroutine, Sequence
from typing import Any

from antiphon.agent import Agent
from antiphon.application.models import Models
from antiphon.application.rest import Rest
from antiphon.application.surroundings import Surroundings
from antiphon.application.tool_tables import ToolTables
from antiphon.chat import AgentConfigUpdate, ChatContext
from antiphon.core.facts import AgentTaskFinished, AgentTaskStarted, ContextChanged, Handoff
from antiphon.core.notices import HandedOff, TaskBegan, TaskDropped
from antiphon.errors import SessionClosed, UsageError
from antiphon.options import NOT_GIVEN, ContextBudget, NotGivenOr, is_given
from antiphon.protocols import ModelKind
from antiphon.realtime import RealtimeModel
from antiphon.runtime.run import Run
from antiphon.runtime.scope import HookScope, current
from antiphon.session_api import Session
from antiphon.stt import STT
from antiphon.tools.function import FunctionTool, RawFunctionTool, Tool, ToolError
from antiphon.tools.toolset import ToolLike
from antiphon.tts import TTS


class Member:
    """An agent's membership in a session (see `agent.Membership`)."""

    __slots__ = ("_known", "id")

    def __init__(self, cast: Cast, agent_id: str) -> None:
        self._known = weakref.ref(cast)
        self.id = agent_id

    @property
    def _cast(self) -> Cast:
        cast = self._known()
        if cast is None:
            raise SessionClosed(f"agent {self.id!r}: its session has ended; start a new AgentSession with it")
        return cast

    @property
    def session(self) -> Session[Any]:
        """The session. Raises `SessionClosed` once it has ended and is forgotten."""
        return self._cast.here.session

    @property
    def is_over(self) -> bool:
        """The session has ended."""
        cast = self._known()
        return cast is None or not cast.here.session.is_running

    def model(self, kind: ModelKind, own: Any = NOT_GIVEN) -> Any:
        """What serves the agent: the session's model of a kind, or its `own`. None: there is none."""
        cast = self._known()
        if cast is None:
            return own if is_given(own) else None
        return cast.models.serving(kind, own)

    def parallel_tool_calls(self) -> NotGivenOr[bool]:
        """What the session was told about parallel calls."""
        return self._cast.models.parallel_tool_calls

    def check_number_of(self, tools: Sequence[ToolLike]) -> None:
        """Raise `ToolDefinitionError` if these are more tools than the session allows an agent."""
        self._cast.tables.check_number_of(tools, self.id)

    async def set_up_new(self, tools: Sequence[ToolLike]) -> None:
        """Start the toolsets that the agent did not have, and wait for them."""
        await self._cast.tables.toolsets.add(self.id, tools)

    def close_absent(self, tools: Sequence[ToolLike]) -> None:
        """Close the toolsets that the agent has no more."""
        self._cast.tables.toolsets.retain(self.id, tools)

    def callable_tools(self) -> list[Tool]:
        """What the agent's model may call, the session's tools included."""
        return self._cast.tables.tools_of(self.id, on_enter=False).flatten()

    def completed(self, outcome: Any) -> None:
        """Tell those who test that a task has its result."""
        self._cast.rest.concludes(outcome)

    def changed(
        self, item: AgentConfigUpdate | None, learns: Collection[str] = (), forgets: Collection[str] = ()
    ) -> None:
        """Tell the core that the agent's instructions, tools or context changed.

        `learns`, `forgets`: ids of calls whose outcome is in its context now, and is not any more.
        """
        driver = self._cast.here.driver
        if driver is not None and not driver.is_closed:
            driver.report(ContextChanged(self.id, item, tuple(sorted(learns)), tuple(sorted(forgets))))


class Cast:
    """The agents of one session."""

    def __init__(
        self,
        here: Surroundings,
        agents: dict[str, Agent],
        models: Models,
        tables: ToolTables,
        rest: Rest,
        context_budget: ContextBudget | None,
    ) -> None:
        self.here = here
        self.agents = agents
        """By id."""
        self.models = models
        self.tables = tables
        self.rest = rest
        self.context_budget = context_budget
        """How much of the talk requests carry. None: all of it."""
        self._frames: list[tuple[str, int | None]] = []
        """Ids of the agents on top of one another, each with the number of its loan, if it was lent the floor."""
        self._loans: dict[int, tuple[str, asyncio.Future[Any]]] = {}
        """By number: who has the floor, and until when, while a tool or hook awaits it."""
        self._awaited: dict[int, tuple[Run | None, str]] = {}
        """By number: the tool that awaits it, if one does, and whose floor it was."""
        self._hearing: str | None = None
        """Who ends the caller's turns. The same for all agents: the core is told once."""

    def admit(self, agent: Agent) -> str:
        """Take the agent into the session. Returns its id, which is unique in it."""
        for agent_id, known in self.agents.items():
            if known is agent:
                return agent_id
        agent_id = name = agent.id
        number = 1
        while agent_id in self.agents:
            number += 1
            agent_id = f"{name}_{number}"
        self.tables.check_number_of(agent.tools, agent_id)
        agent.set_membership(Member(self, agent_id))
        self.agents[agent_id] = agent
        try:
            self._check_hearing(agent_id)
            driver = self.here.driver
            if driver is not None:
                self.check_asking(agent_id, is_heard=driver.port.has_audio_output)
        except UsageError:
            del self.agents[agent_id]
            agent.set_membership(None)
            raise
        if not self._frames:
            self._frames.append((agent_id, None))
        return agent_id

    def _check_hearing(self, agent_id: str) -> None:
        """Raise `UsageError` if the caller's turns would have to be ended in another way than for the agents before."""
        model = self._realtime_model(agent_id)
        hearing = "recogniser" if model is None else "model" if model.capabilities.turn_detection else "sound"
        if self._hearing is None:
            self._hearing = hearing
        elif self._hearing != hearing:
            raise UsageError(
                f"agent {agent_id!r}: agents with and without a realtime model, or with realtime models that do and do"
                " not end the caller's turns, cannot be in one session; give it a model like that of the first agent"
            )

    def check_asking(self, agent_id: str, *, is_heard: bool) -> None:
        """Raise `UsageError` if a tool of the agent asks the caller first, and nothing can say the question."""
        if not is_heard or self._realtime_model(agent_id) is None or self.has_voice(agent_id):
            return
        for tool in self.tables.tools_of(agent_id, on_enter=False).flatten():
            if isinstance(tool, (FunctionTool, RawFunctionTool)) and tool.options.may_ask:
                raise UsageError(
                    f"agent {agent_id!r}: tool {tool.name!r} is read back to the caller before it runs (confirm=), and"
                    " only a voice of the session's own can be trusted to say exactly that. Give the agent a tts beside"
                    " its realtime model, or say confirm=False."
                )

    def agent(self, agent_id: str) -> Agent:
        """The agent behind an id."""
        return self.agents[agent_id]

    @property
    def current_agent(self) -> Agent | None:
        """The agent in charge."""
        return self.agents[self._frames[-1][0]] if self._frames else None

    @property
    def current_agent_id(self) -> str:
        """The id of the agent in charge. Only asked once there is one."""
        return self._frames[-1][0]

    def handoff_to(self, value: Any) -> Handoff | None:
        """How the core shall know `value`, if it is an agent."""
        return Handoff(self.admit(value), value.label) if isinstance(value, Agent) else None

    def is_done(self, agent_id: str) -> bool:
        """Whether the floor was lent, the agent has it, and whoever lent it is to have it back."""
        return any(
            agent_id == agent and loan in self._loans and self._loans[loan][1].done() for agent, loan in self._frames
        )

    def handed_off(self, notice: HandedOff) -> None:
        """Another agent is in charge."""
        self._frames[-1] = (notice.agent, self._frames[-1][1])
        self._listen()

    def _listen(self) -> None:
        if self.here.driver is not None and self._frames:
            self.here.driver.listen_for([agent for agent, _ in self._frames])

    # -- the floor, lent

    def lend_floor(self, agent: Agent, until: asyncio.Future[Any]) -> Coroutine[Any, Any, None]:
        """See `Session.lend_floor`."""
        where = current.get()
        if where is None or where.port is not self.here.running.port:
            raise UsageError(f"{agent.id} can only be awaited inside a tool or a hook of an agent in a session")
        if isinstance(where, HookScope) and where.kind == "on_user_turn_completed":
            raise UsageError(
                f"{agent.id} cannot be awaited inside on_user_turn_completed: the caller's turn waits for that hook,"
                " and the task for the caller's next turn; await it in a tool, in on_enter or in on_exit"
            )
        run = where if isinstance(where, Run) else None
        if run is not None and run.released:
            raise ToolError(
                f"{agent.id} was not begun: the caller went on, and what the tool was called for is dropped."
            )
        return self._lend_floor(agent, until, None if run is None or run.ended else run, self.agents[where.agent])

    async def _lend_floor(self, agent: Agent, until: asyncio.Future[Any], run: Run | None, lender: Agent) -> None:
        if until.done():
            return
        agent_id = self.admit(agent)
        driver = self.here.running
        loan = driver.new_id()
        self._loans[loan] = (agent_id, until)
        self._awaited[loan] = run, lender.id
        known = {item.id for item in agent.context_items()}
        driver.report(
            AgentTaskStarted(
                loan, agent_id, run=None if run is None else run.id, parent=None if run is not None else lender.id
            )
        )
        try:
            if not until.done():
                await until
        finally:
            self._returned(loan)
            _pass_on(agent, lender, known)  # before anything is asked of the lender's model
            driver.report(AgentTaskFinished(loan))
            _pass_on(agent, lender, known)  # what that settled
            self.tables.dismiss(agent_id)

    def _returned(self, loan: int) -> None:
        """The floor is given back, and so is what was lent on top of it."""
        self._loans.pop(loan, None)
        _, lender = self._awaited.pop(loan)
        asyncio.get_running_loop().call_soon(self.rest.look)
        for position, (_, number) in enumerate(self._frames):
            if number == loan:
                self.rest.hands_over(self._frames[position][0], lender, self.agents)
                del self._frames[position:]
                self._listen()
                return

    @property
    def goes_on(self) -> bool:
        """Whoever awaits a loan that is over goes on in a moment: the session does not rest yet."""
        return any(until.done() for _, until in self._loans.values())

    def task_began(self, notice: TaskBegan) -> None:
        """An agent that is lent the floor has it now."""
        if notice.task in self._loans:
            agent_id = self._loans[notice.task][0]
            self._frames.append((agent_id, notice.task))
            self._listen()
            run, lender = self._awaited[notice.task]
            if run is not None:
                self.rest.calls(run.function_call, self.agents)
            self.rest.hands_over(lender, agent_id, self.agents)

    def task_dropped(self, notice: TaskDropped) -> None:
        """Nobody will talk to an agent that was lent the floor."""
        if notice.task in self._loans:
            self._loans[notice.task][1].cancel()

    # -- who speaks, hears and thinks

    def has_voice(self, agent_id: str) -> bool:
        """Whether what the agent says can be turned into sound."""
        agent = self.agents[agent_id]
        return isinstance(agent.tts, TTS) or "tts_node" in agent.overridden

    def voice_of(self, agent_id: str) -> Any:
        """What speaks for the agent: its voice, or itself if its own `tts_node` does."""
        agent = self.agents[agent_id]
        return agent.tts or agent

    def stt_of(self, agent_id: str) -> STT | None:
        """What recognises the caller's words for the agent. Nothing does where its model ends the caller's turns."""
        model = self.realtime_of(agent_id)
        if model is not None and model.capabilities.turn_detection:
            return None
        stt = self.agents[agent_id].stt
        return stt if isinstance(stt, STT) else None

    def realtime_of(self, agent_id: str) -> RealtimeModel | None:
        """The agent's model, if it is one that hears and speaks."""
        return None if self._hearing == "recogniser" else self._realtime_model(agent_id)

    def _realtime_model(self, agent_id: str) -> RealtimeModel | None:
        llm = self.agents[agent_id].llm
        return llm if isinstance(llm, RealtimeModel) else None

    def first_chunk_timeout(self, agent_id: str) -> float:
        """Seconds that the agent's model may take for its first chunk."""
        limit: float = getattr(self.agents[agent_id].llm, "first_chunk_timeout", 0.0)
        return limit

    def llm_of(self, agent_id: str) -> Any:
        """The model that is asked for the agent; None: there is none."""
        return self.agents[agent_id].llm

    def one_call_at_a_time(self, agent_id: str) -> bool:
        """Whether only the first call of a response may run."""
        if is_given(told := self.models.parallel_tool_calls):
            return not told
        llm = self.agents[agent_id].llm
        own = getattr(llm, "parallel_tool_calls", NOT_GIVEN)
        if is_given(own):
            return own is False
        extra = getattr(llm, "extra_kwargs", None)
        return bool(extra) and is_given(extra) and extra.get("parallel_tool_calls") is False


def _pass_on(agent: Agent, lender: Agent, known: Collection[str]) -> None:
    """The lender learns what was said to the agent and by it, but for what that one knew before."""
    news = [item for item in agent.context_items() if item.id not in known]
    if news:
        lender.merge_context(ChatContext(news))
