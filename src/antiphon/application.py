"""The objects behind the core's ids: agents, speech handles, the history, and those who watch.

Above: `AgentSession`, the public face. Below: the driver, which works for this host (`runtime/host.py`). Everything
here is plain bookkeeping, done while the driver performs commands: nothing waits, and nothing is decided.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast, get_args

from antiphon.agent import Agent
from antiphon.audio import AudioFrame
from antiphon.chat import AgentConfigUpdate, AgentHandoff, ChatItem, ChatMessage, FunctionCall, FunctionCallOutput
from antiphon.core.commands import Adopt, Emit, EventKind, Generate, Record, Speak, message_id
from antiphon.core.facts import Call, ContextChanged, Fact, Handoff
from antiphon.errors import AntiphonError, ProviderTimeout, ToolDefinitionError, UsageError
from antiphon.events import (
    AgentFalseInterruptionEvent,
    AgentOutputTranscribedEvent,
    AgentState,
    AgentStateChangedEvent,
    ConversationItemAddedEvent,
    ErrorEvent,
    EventEmitter,
    FunctionToolsExecutedEvent,
    JournalEvent,
    NewId,
    SpeechCreatedEvent,
    ToolAdoptedEvent,
    ToolCallEnded,
    ToolCallStarted,
    ToolCallUpdated,
    ToolDroppedEvent,
    ToolEndedEvent,
    ToolExecutionUpdatedEvent,
    TurnMetricsEvent,
    UserInputTranscribedEvent,
    UserState,
    UserStateChangedEvent,
    UserTurnExceededEvent,
)
from antiphon.metrics import CallMetrics, TurnMetrics
from antiphon.options import NOT_GIVEN, NotGivenOr, SessionOptions, is_given
from antiphon.protocols import ModelKind, ModelResolver
from antiphon.realtime import RealtimeModel
from antiphon.run_context import RunContext
from antiphon.run_result import RunResult, mocked_tools, note_tools
from antiphon.runtime.driver import Driver
from antiphon.runtime.host import SaySource
from antiphon.runtime.synthesis import prepare
from antiphon.runtime.tool_runner import Run
from antiphon.runtime.toolsets import OpenToolsets
from antiphon.speech_handle import SpeechHandle
from antiphon.stt import STT
from antiphon.toolkit.background import task_tools
from antiphon.tools.function import FunctionTool, RawFunctionTool, Tool, ToolFlag
from antiphon.tools.proxy import with_stand_ins
from antiphon.tools.toolset import ToolContext, ToolLike
from antiphon.transport import AudioInput, AudioOutput
from antiphon.tts import TTS

if TYPE_CHECKING:
    from antiphon.session import AgentSession
    from antiphon.tasks.agent_task import AgentTask

logger = logging.getLogger("antiphon")


MANY_TOOLS = 10
"""With more tools than this a model picks the wrong one more often: worth a warning."""

_SESSION = ""
"""The owner of the session's own toolsets, where others are named by their agent."""


class Enrolled:
    """An agent's place in a session (see `Enrolment`)."""

    __slots__ = ("_agent", "_application", "id")

    def __init__(self, application: Application, agent: Agent, agent_id: str) -> None:
        self._application = application
        self._agent = agent
        self.id = agent_id

    @property
    def session(self) -> AgentSession[Any]:
        """The session."""
        return self._application.session

    def model(self, kind: str) -> Any:
        """The session's model of a kind, or None."""
        return self._application.models.get(kind)

    def own_model(self, kind: str, own: Any) -> Any:
        """What serves in the place of the agent's own model: the shell around the session may choose another one."""
        resolve = self._application.resolve
        return own if resolve is None else resolve({cast("ModelKind", kind): own})[cast("ModelKind", kind)]

    def parallel_tool_calls(self) -> NotGivenOr[bool]:
        """What the session was told about parallel calls."""
        return self._application.parallel_tool_calls

    def check_number_of(self, tools: Sequence[ToolLike]) -> None:
        """Raise `ToolDefinitionError` if these are more tools than the session allows an agent."""
        self._application.check_number_of(tools, self.id)

    async def set_up_new(self, tools: Sequence[ToolLike]) -> None:
        """Start the toolsets that the agent did not have, and wait for them."""
        await self._application.toolsets.add(self.id, tools)

    def close_absent(self, tools: Sequence[ToolLike]) -> None:
        """Close the toolsets that the agent has no more."""
        self._application.toolsets.retain(self.id, tools)

    def callable_tools(self) -> list[Tool]:
        """What the agent's model may call, the session's tools included."""
        return self._application.tools_of(self.id, on_enter=False).flatten()

    def completed(self, outcome: Any) -> None:
        """Tell those who test that a task has its result."""
        if self._application.recorder is not None:
            self._application.recorder.conclude(outcome)

    def changed(self, item: AgentConfigUpdate | None) -> None:
        """Tell the core that the agent's instructions, tools or context changed."""
        driver = self._application.driver
        if driver is not None and not driver.is_closed:
            driver.report(ContextChanged(self.id, item))


_AGENT_STATES = frozenset(get_args(AgentState))
_USER_STATES = frozenset(get_args(UserState))


class _Tools:
    """An agent's table of tools, as long as it stays true."""

    __slots__ = ("mocks", "table", "version", "without_ignored")

    def __init__(self, version: tuple[int, int], table: ToolContext, mocks: Mapping[str, Callable[..., Any]]) -> None:
        self.version = version
        self.mocks = mocks
        self.table = table
        shown = [tool for tool in table.flatten() if not _is_ignored(tool)]
        self.without_ignored = table if len(shown) == len(table) else ToolContext(shown)


def _is_ignored(tool: object) -> bool:
    return isinstance(tool, (FunctionTool, RawFunctionTool)) and ToolFlag.IGNORE_ON_ENTER in tool.flags


class Application:
    """The host of one session's driver."""

    def __init__(self, session: AgentSession[Any], events: EventEmitter) -> None:
        self.session = session
        self.events = events
        self.driver: Driver | None = None
        self.models: dict[str, Any] = {}
        self.resolve: ModelResolver | None = None
        """How the shell around the session chooses models, if there is one."""
        self.tools: list[ToolLike] = []
        self.tools_version = 0
        self.parallel_tool_calls: NotGivenOr[bool] = NOT_GIVEN
        self.max_result_chars = 20_000
        self.max_tools: int | None = None
        self.history: list[ChatItem] = []
        self.agent_state: AgentState = "initializing"
        self.user_state: UserState = "listening"
        self.recorder: RunResult | None = None
        """The `session.run()` that gathers what happens."""
        self.current_speech: SpeechHandle | None = None
        self._agents: dict[str, Agent] = {}
        self._frames: list[tuple[str, int | None]] = []
        """Ids of the agents on top of one another, each with the number of its `AgentTask`."""
        self._tasks: dict[int, AgentTask[Any]] = {}
        """By number: those that are awaited."""
        self._tables: dict[str, _Tools] = {}
        self._complaints: set[tuple[str, str]] = set()
        """What was said already about tools that are too many or that clash: agent id, and what about."""
        self._handles: dict[int, SpeechHandle] = {}
        self._by_item: dict[str, SpeechHandle] = {}
        """The speech that a message (by its id) or a round of calls (by its group) belongs to."""
        self._sources: dict[int, tuple[SaySource, AsyncIterable[AudioFrame] | None]] = {}
        self._hearing: str | None = None
        """Who ends the caller's turns. The same for all agents: the core is told once."""
        self._idle_waiters: list[asyncio.Future[None]] = []
        self.toolsets = OpenToolsets(self.failed)

    async def begin(
        self, options: SessionOptions, agent_id: str, audio_input: AudioInput | None, audio_output: AudioOutput | None
    ) -> Driver:
        """Make the driver, with what it needs loaded."""
        agent = self._agents[agent_id]
        await prepare(agent.tts, audio_output)
        self.driver = Driver(
            self,
            options,
            agent_id,
            audio_input=audio_input,
            audio_output=audio_output,
            vad=agent.vad,
            turn_detector=self.models["turn_detector"],
            journal=partial(self._told, options, agent_id) if self.events.listened("journal") else None,
        )
        self.events.when_listened("turn_metrics", self._measure)
        return self.driver

    def _told(self, options: SessionOptions, agent_id: str, at: float, fact: Fact | NewId | None) -> None:
        self.events.emit("journal", JournalEvent(at=at, fact=fact, agent=agent_id, options=options))

    def _measure(self) -> None:
        """Somebody wants to know what replies take."""
        from antiphon.runtime.stopwatch import Stopwatch

        driver = self.running
        driver.stopwatch = Stopwatch(
            driver.began,
            self._measured,
            voiced=driver.has_audio_output,
            has_hook=lambda agent: "on_user_turn_completed" in self._agents[agent].overridden,
        )

    def _measured(self, metrics: TurnMetrics, call: CallMetrics) -> None:
        self.events.emit("turn_metrics", TurnMetricsEvent(metrics=metrics, call=call))

    @property
    def running(self) -> Driver:
        """The driver. Only asked while there is one."""
        assert self.driver is not None
        return self.driver

    # -- agents

    def enrol(self, agent: Agent) -> str:
        """Give the agent a place in the session, and an id that is unique in it. Returns the id."""
        for agent_id, known in self._agents.items():
            if known is agent:
                return agent_id
        agent_id = name = agent.id
        number = 1
        while agent_id in self._agents:
            number += 1
            agent_id = f"{name}_{number}"
        self.check_number_of(agent.tools, agent_id)
        agent.set_enrolment(Enrolled(self, agent, agent_id))
        self._agents[agent_id] = agent
        try:
            self._check_hearing(agent_id)
        except UsageError:
            del self._agents[agent_id]
            agent.set_enrolment(None)
            raise
        if not self._frames:
            self._frames.append((agent_id, None))
        return agent_id

    def _check_hearing(self, agent_id: str) -> None:
        """Raise `UsageError` if the caller's turns would have to be ended in another way than for the agents before."""
        model = self.realtime_of(agent_id)
        hearing = "recogniser" if model is None else "model" if model.capabilities.turn_detection else "sound"
        if self._hearing is None:
            self._hearing = hearing
        elif self._hearing != hearing:
            raise UsageError(
                f"agent {agent_id!r}: agents with and without a realtime model, or with realtime models that do and do"
                " not end the caller's turns, cannot be in one session; give it a model like that of the first agent"
            )

    def dismiss(self, agent_id: str) -> None:
        """A finished task's tools are needed no more."""
        self._tables.pop(agent_id, None)
        self.close_toolsets(agent_id)

    def agent(self, agent_id: str) -> Agent:
        """The agent behind an id."""
        return self._agents[agent_id]

    @property
    def current_agent(self) -> Agent | None:
        """The agent in charge."""
        return self._agents[self._frames[-1][0]] if self._frames else None

    @property
    def current_agent_id(self) -> str:
        """The id of the agent in charge. Only asked once there is one."""
        return self._frames[-1][0]

    def handoff_to(self, value: Any) -> Handoff | None:
        """How the core shall know `value`, if it is an agent."""
        if not isinstance(value, Agent):
            return None
        agent_id = self.enrol(value)
        return Handoff(agent_id, value.label)

    def task_awaited(self, task: int, agent: AgentTask[Any]) -> None:
        """An `AgentTask` is awaited; it takes the floor when the core says so."""
        self._tasks[task] = agent

    def task_ended(self, task: int) -> None:
        """An `AgentTask` is over: it leaves the floor, and so does whatever stands on it."""
        self._tasks.pop(task, None)
        asyncio.get_running_loop().call_soon(self._look_for_idle)
        for position, (_, number) in enumerate(self._frames):
            if number == task:
                del self._frames[position:]
                self._listen()
                return

    def _listen(self) -> None:
        if self.driver is not None and self._frames:
            agents = [agent for agent, _ in self._frames]
            self.driver.realtime.listen_for(agents[-1], agents)
            self.driver.recognition.listen_for(agents[-1])

    def _handed_off(self, command: Emit) -> None:
        self._frames[-1] = (command.value, self._frames[-1][1])
        self._listen()

    def _task_began(self, command: Emit) -> None:
        task = int(command.value)
        if task in self._tasks:
            self._frames.append((self._tasks[task].id, task))
            self._listen()

    def _task_dropped(self, command: Emit) -> None:
        task = self._tasks.get(int(command.value))
        if task is not None:
            task.cancel()

    # -- tools

    def tools_of(self, agent_id: str, *, on_enter: bool) -> ToolContext:
        """What the agent's model may call now."""
        agent = self._agents[agent_id]
        version = (agent.tools_version, self.tools_version)
        known = self._tables.get(agent_id)
        mocks = mocked_tools(type(agent), self.session)
        if known is None or known.version != version or known.table.toolsets or known.mocks != mocks:
            known = self._tables[agent_id] = _Tools(
                version, self._table([*agent.tools, *self.tools], agent_id, mocks), mocks
            )
        return known.without_ignored if on_enter else known.table

    def _table(self, tools: list[ToolLike], agent_id: str, mocks: Mapping[str, Callable[..., Any]]) -> ToolContext:
        # What clashes or cannot be described only now comes from a toolset that computes its tools: it is left out.
        table, left_out = ToolContext.leaving_out_unusable(tools)
        for tool, error in left_out:
            if self._is_news(agent_id, tool.id):
                self.failed(error, tool)
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
        told = (agent_id, what) in self._complaints
        self._complaints.add((agent_id, what))
        return not told

    def _judge_number_of(self, table: ToolContext, agent_id: str) -> None:
        """Say, once, that there are many tools, or more than allowed: some toolsets have theirs only after `setup`."""
        if self.max_tools is not None and len(table) > self.max_tools and self._is_news(agent_id, "max_tools"):
            self.failed(self._too_many(len(table), agent_id), self._agents[agent_id])
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
        if self.max_tools is None:
            return
        number = len(ToolContext.leaving_out_unusable([*tools, *self.tools])[0])
        if number > self.max_tools:
            raise self._too_many(number, agent_id)

    def _too_many(self, number: int, agent_id: str) -> ToolDefinitionError:
        return ToolDefinitionError(
            f"agent {agent_id!r} has {number} tools, the session allows {self.max_tools}: give it fewer, divide the"
            " work among agents, or raise AgentSession(max_tools=...)"
        )

    def setup_toolsets(self, agent_id: str) -> asyncio.Future[None] | None:
        """Start an agent's toolsets. The result is done when they are ready; None: there are none."""
        return self.toolsets.open(agent_id, self._agents[agent_id].tools, self.running.spawn)

    def setup_session_toolsets(self) -> None:
        """Start the session's own toolsets."""
        self.toolsets.open(_SESSION, self.tools, self.running.spawn)

    def close_toolsets(self, agent_id: str) -> None:
        """The agent has ended: its toolsets close, while the conversation goes on."""
        self.toolsets.close(agent_id)

    # -- models

    def has_voice(self, agent_id: str) -> bool:
        """Whether what the agent says can be turned into sound."""
        agent = self._agents[agent_id]
        return isinstance(agent.tts, TTS) or "tts_node" in agent.overridden

    def voice_of(self, agent_id: str) -> Any:
        """What speaks for the agent: its voice, or itself if its own `tts_node` does."""
        agent = self._agents[agent_id]
        return agent.tts or agent

    def stt_of(self, agent_id: str) -> STT | None:
        """What recognises the caller's words for the agent. Nothing does where its model ends the caller's turns."""
        model = self.realtime_of(agent_id)
        if model is not None and model.capabilities.turn_detection:
            return None
        stt = self._agents[agent_id].stt
        return stt if isinstance(stt, STT) else None

    def realtime_of(self, agent_id: str) -> RealtimeModel | None:
        """The agent's model, if it is one that hears and speaks."""
        llm = self._agents[agent_id].llm
        return llm if isinstance(llm, RealtimeModel) else None

    def one_call_at_a_time(self, agent_id: str) -> bool:
        """Whether only the first call of a response may run."""
        if is_given(self.parallel_tool_calls):
            return not self.parallel_tool_calls
        llm = self._agents[agent_id].llm
        own = getattr(llm, "parallel_tool_calls", NOT_GIVEN)
        if is_given(own):
            return own is False
        extra = getattr(llm, "extra_kwargs", None)
        return bool(extra) and is_given(extra) and extra.get("parallel_tool_calls") is False

    # -- speeches

    def handle(self, speech: int) -> SpeechHandle:
        """The handle of a speech; a new one if the core opened the speech by itself."""
        handle = self._handles.get(speech)
        if handle is None:
            allowed = self.session.options.turns.interruption.enabled
            handle = SpeechHandle(self.running, speech, allow_interruptions=allowed)
            self.open_speech(handle, "generate_reply", user_initiated=False)
        return handle

    def open_speech(self, handle: SpeechHandle, source: Any, *, user_initiated: bool) -> None:
        """Keep the handle of a speech until it is done."""
        self._handles[handle.number] = handle
        if self.events.listened("speech_created"):
            event = SpeechCreatedEvent(user_initiated=user_initiated, source=source, speech_handle=handle)
            self.events.emit("speech_created", event)

    def keep_source(self, speech: int, source: SaySource, audio: AsyncIterable[AudioFrame] | None) -> None:
        """What a `say()` says."""
        self._sources[speech] = (source, audio)

    def say_source(self, speech: int) -> tuple[SaySource, AsyncIterable[AudioFrame] | None]:
        """What the `say()` that opened this speech says."""
        return self._sources.pop(speech, ("", None))

    def generating(self, command: Generate | Adopt) -> None:
        """A response of a speech is about to be generated."""
        handle = self.current_speech = self.handle(command.speech)
        handle.steps += 1
        self._by_item[message_id(command.segment, self.running.mark)] = self._by_item[f"gen_{command.gen}"] = handle

    def speaking(self, command: Speak) -> str:
        """A text of a speech is about to be said. Returns the id of the agent that says it."""
        self.current_speech = handle = self.handle(command.speech)
        self._by_item[message_id(command.segment, self.running.mark)] = handle
        return self._frames[-1][0]

    def _speech_interrupted(self, command: Emit) -> None:
        handle = self._handles.get(command.speech or 0)
        if handle is not None:
            handle.mark_interrupted()

    def _step_done(self, command: Emit) -> None:
        handle = self._handles.get(command.speech or 0)
        if handle is not None and command.gen is not None:
            handle.mark_step_done(command.gen)

    def _speech_done(self, command: Emit) -> None:
        handle = self._handles.pop(command.speech or 0, None)
        self._sources.pop(command.speech or 0, None)
        if handle is None:
            return
        if self.current_speech is handle:
            self.current_speech = None
        for key in [key for key, owner in self._by_item.items() if owner is handle]:
            del self._by_item[key]
        handle.mark_done()

    def speech_of(self, run: Run) -> SpeechHandle:
        """The handle of the speech that a run serves."""
        handle = self._handles.get(run.speech)
        if handle is None:
            handle = SpeechHandle(self.running, run.speech)
            if run.released:
                handle.mark_interrupted()
            handle.mark_done()
        return handle

    def released(self, run: Run) -> None:
        """The caller spoke over a run."""
        handle = self._handles.get(run.speech)
        if handle is not None:
            handle.mark_interrupted()

    def adopted(self, call: Call) -> None:
        """A call took over what the caller had spoken over before."""
        if self.events.listened("tool_adopted"):
            self.events.emit("tool_adopted", ToolAdoptedEvent(function_call=_function_call(call)))

    def end_speeches(self) -> None:
        """The session is over: nobody waits for speech any more."""
        for handle in list(self._handles.values()):
            handle.mark_interrupted()
            handle.mark_done()
        self._handles.clear()
        self._idle(None)

    # -- history

    def history_items(self) -> Sequence[ChatItem]:
        """The session's history."""
        return self.history

    def record(self, command: Record, raw: str | None) -> None:
        """Settle an item."""
        item, agent = command.item, self._agents[command.agent]
        if command.carried:
            if not any(known.id == item.id for known in agent.context_items()):  # it may have been given the context
                agent.append_item(item)
            return
        agent.append_item(item)
        self.history.append(item)
        if isinstance(item, ChatMessage):
            if raw is not None:
                # Of a message that was cut the model sees what was heard; the rest is for reports.
                item.extra["written" if item.interrupted else "raw"] = raw
            handle = self._by_item.get(item.id)
        elif isinstance(item, FunctionCall):
            handle = self._by_item.get(item.group_id or "")
        else:
            handle = self.current_speech if isinstance(item, FunctionCallOutput) else None
        if handle is not None:
            handle.add_item(item)
        if self.recorder is not None:
            self.recorder.record(item, self._agents)
        if isinstance(item, (ChatMessage, AgentHandoff)) and self.events.listened("conversation_item_added"):
            self.events.emit("conversation_item_added", ConversationItemAddedEvent(item=item))

    # -- tools and their contexts

    def run_context(self, run: Run) -> RunContext[Any]:
        """The context of a run."""
        return RunContext(self.session, run)

    def _tool_event(self, command: Emit, name: str, make: Callable[[FunctionCall], Any]) -> None:
        if self.events.listened(name) and (run := self.running.tools.get(command.run)) is not None:
            self.events.emit(name, make(_function_call(run.call)))

    def _tool_progress(
        self, command: Emit, make: Callable[[FunctionCall], ToolCallStarted | ToolCallUpdated | ToolCallEnded]
    ) -> None:
        self._tool_event(command, "tool_execution_updated", lambda call: ToolExecutionUpdatedEvent(update=make(call)))

    def _tool_started(self, command: Emit) -> None:
        self._tool_progress(command, lambda call: ToolCallStarted(function_call=call))

    def _tool_updated(self, command: Emit) -> None:
        self._tool_progress(command, lambda call: ToolCallUpdated(call_id=call.call_id, message=command.value))

    def _tool_ended(self, command: Emit) -> None:
        self._tool_event(command, "tool_ended", lambda call: ToolEndedEvent(function_call=call, status=command.value))
        self._tool_progress(command, lambda call: ToolCallEnded(call_id=call.call_id, message="", status=command.value))

    def _tool_dropped(self, command: Emit) -> None:
        self._tool_event(command, "tool_dropped", lambda call: ToolDroppedEvent(function_call=call))

    def _tools_executed(self, command: Emit) -> None:
        if not self.events.listened("function_tools_executed"):
            return
        ids = command.value.split(" ")
        calls: dict[str, FunctionCall] = {}
        outputs: dict[str, FunctionCallOutput] = {}
        for item in reversed(self.history):
            if isinstance(item, FunctionCall) and item.call_id in ids:
                calls.setdefault(item.call_id, item)
            elif isinstance(item, FunctionCallOutput) and item.call_id in ids:
                outputs.setdefault(item.call_id, item)
            if len(calls) == len(ids) == len(outputs):
                break
        found = [call_id for call_id in ids if call_id in calls and call_id in outputs]
        event = FunctionToolsExecutedEvent(
            function_calls=[calls[i] for i in found], function_call_outputs=[outputs[i] for i in found]
        )
        self.events.emit("function_tools_executed", event)

    # -- those who watch

    def listened(self, name: str) -> bool:
        """Whether anybody listens to events of this name."""
        return self.events.listened(name)

    def emit(self, command: Emit) -> None:
        """Tell handles and observers."""
        react = _REACTIONS.get(command.kind)
        if react is not None:
            react(self, command)

    def failed(self, error: BaseException, source: Any) -> None:
        """Something failed and the session goes on."""
        if self.events.listened("error"):
            self.events.emit("error", ErrorEvent(error=error, source=source))

    def transcribed(self, text: str, final: bool, language: str) -> None:
        """The caller's words."""
        event = UserInputTranscribedEvent(transcript=text, is_final=final, language=language)
        self.events.emit("user_input_transcribed", event)

    def spoken(self, segment: int, text: str, final: bool) -> None:
        """The agent's words, as they are heard."""
        event = AgentOutputTranscribedEvent(
            transcript=text, is_final=final, segment_id=message_id(segment, self.running.mark)
        )
        self.events.emit("agent_output_transcribed", event)

    def _agent_state(self, command: Emit) -> None:
        old, new = self.agent_state, command.value
        assert new in _AGENT_STATES
        self.agent_state = new  # type: ignore[assignment]  # checked above
        if self.events.listened("agent_state_changed"):
            event = AgentStateChangedEvent(old_state=old, new_state=self.agent_state)
            self.events.emit("agent_state_changed", event)

    def _user_state(self, command: Emit) -> None:
        old, new = self.user_state, command.value
        assert new in _USER_STATES
        self.user_state = new  # type: ignore[assignment]  # checked above
        if self.events.listened("user_state_changed"):
            self.events.emit("user_state_changed", UserStateChangedEvent(old_state=old, new_state=self.user_state))

    def _false_interruption(self, command: Emit) -> None:
        if self.events.listened("agent_false_interruption"):
            self.events.emit("agent_false_interruption", AgentFalseInterruptionEvent(resumed=True))

    def _turn_exceeded(self, command: Emit) -> None:
        if self.events.listened("user_turn_exceeded"):
            self.events.emit("user_turn_exceeded", UserTurnExceededEvent(transcript=command.value))

    def _error(self, command: Emit) -> None:
        error = self.running.generation.errors.get(command.gen or 0)
        if error is None:
            error = ProviderTimeout(f"the model: {command.value}") if command.gen else AntiphonError(command.value)
        agent = self._agents[self.current_agent_id]
        self.failed(error, (agent.llm or agent) if command.gen else self.session)

    # -- idle

    def _look_for_idle(self) -> None:
        if self.driver is not None and self.driver.idle:
            self._idle(None)

    def _idle(self, command: Emit | None) -> None:
        if command is not None and any(task.done() for task in self._tasks.values()):
            return  # whoever awaits the task goes on in a moment: `task_ended` has us look again
        if self.recorder is not None:
            recorder, self.recorder = self.recorder, None
            recorder.finish()
        waiters, self._idle_waiters = self._idle_waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def wait_for_idle(self) -> None:
        """Until nothing is owed, said or done. Work in the background does not count."""
        while not self.running.idle:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._idle_waiters.append(waiter)
            await waiter


_REACTIONS: dict[EventKind, Callable[[Application, Emit], None]] = {
    "agent_state": Application._agent_state,
    "user_state": Application._user_state,
    "speech_interrupted": Application._speech_interrupted,
    "generation_done": Application._step_done,
    "speech_done": Application._speech_done,
    "tool_started": Application._tool_started,
    "tool_updated": Application._tool_updated,
    "tool_ended": Application._tool_ended,
    "tool_dropped": Application._tool_dropped,
    "tools_executed": Application._tools_executed,
    "false_interruption": Application._false_interruption,
    "turn_exceeded": Application._turn_exceeded,
    "handoff": Application._handed_off,
    "task_began": Application._task_began,
    "task_dropped": Application._task_dropped,
    "idle": Application._idle,
    "error": Application._error,
}
"""What the application does about what the core tells; the rest is for observers of other layers."""


def _function_call(call: Call) -> FunctionCall:
    return FunctionCall(call_id=call.call_id, name=call.name, arguments=call.arguments)
