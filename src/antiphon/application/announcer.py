"""What the core tells, passed on: to the parts of the host that it concerns, and as events to those who listen.

Above: the driver (the runtime's `Events`). Below: `session.on()`.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from typing import Any, TypeAlias

from antiphon.application.cast import Cast
from antiphon.application.consent_keys import ConsentKeys
from antiphon.application.handles import Handles
from antiphon.application.rest import Rest
from antiphon.application.surroundings import Surroundings
from antiphon.before_speech import BeforeSpeech
from antiphon.chat import FunctionCall
from antiphon.core import notices
from antiphon.core.commands import message_id
from antiphon.core.facts import Call
from antiphon.errors import AntiphonError, ProviderTimeout
from antiphon.events import (
    AgentFalseInterruptionEvent,
    AgentOutputTranscribedEvent,
    AgentState,
    AgentStateChangedEvent,
    ConsentAskedEvent,
    ConsentDecidedEvent,
    ContextTrimmedEvent,
    FunctionToolsExecutedEvent,
    MaxToolStepsReachedEvent,
    ModelAnsweredEvent,
    ModelRequestEvent,
    MustHearEvent,
    SaidAsideEvent,
    ToolAdoptedEvent,
    ToolCallEnded,
    ToolCallStarted,
    ToolCallUpdated,
    ToolDroppedEvent,
    ToolEndedEvent,
    ToolExecutionUpdatedEvent,
    ToolOutcomeEvent,
    TraceEvent,
    TrimReason,
    TurnMetricsEvent,
    UnbackedClaimEvent,
    UserInputTranscribedEvent,
    UserState,
    UserStateChangedEvent,
    UserTurnExceededEvent,
)
from antiphon.metrics import CallMetrics, TurnMetrics
from antiphon.model import Model
from antiphon.runtime.journal import Journal

logger = logging.getLogger("antiphon")


class Announcer:
    """Tells of one session."""

    def __init__(self, here: Surroundings, cast: Cast, handles: Handles, rest: Rest) -> None:
        self._here = here
        self.listened = here.listened
        """Whether anybody listens to events of this name."""
        self.cast = cast
        self.handles = handles
        self._rest = rest
        self._keys = ConsentKeys(here)
        self.agent_state: AgentState = "initializing"
        self.user_state: UserState = "listening"
        self.metrics: CallMetrics | None = None
        """What the replies took so far, if they are measured."""

    def notify(self, notice: notices.Notice) -> None:
        """Tell whom it concerns, and those who listen. What is not in the table is for observers of other layers."""
        react = _REACTIONS.get(type(notice))
        if react is not None:
            react(self, notice)

    def failed(self, error: BaseException, source: Any) -> None:
        """Something failed and the session goes on."""
        self._here.failed(error, source)

    def transcribed(self, text: str, final: bool, language: str) -> None:
        """The caller's words."""
        self._here.tell(
            "user_input_transcribed",
            lambda: UserInputTranscribedEvent(transcript=text, is_final=final, language=language),
        )

    def spoken(self, segment: int, text: str, final: bool) -> None:
        """The agent's words, as they are heard."""
        masks = self._here.running.port.masks
        text = masks.mask(text) if masks.is_active else text
        segment_id = message_id(segment, self._here.running.port.mark)
        self._here.tell(
            "agent_output_transcribed",
            lambda: AgentOutputTranscribedEvent(transcript=text, is_final=final, segment_id=segment_id),
        )

    def looked_into(self, event: ModelRequestEvent | ModelAnsweredEvent) -> None:
        """A model is about to be asked, or was."""
        self._here.tell(event.type, lambda: event)

    def trimmed(self, agent: str, why: TrimReason, left_out: int, before: int, after: int, summary: str) -> None:
        """Requests of the agent carry less of the talk than before."""
        self._here.tell(
            "context_trimmed",
            lambda: ContextTrimmedEvent(
                agent_id=agent,
                reason=why,
                left_out=left_out,
                tokens_before=before,
                tokens_after=after,
                summary=summary,
            ),
        )

    def claimed(self, sentence: str, done: str, speech: int) -> None:
        """A model's sentence claims what no tool has done."""
        self._here.tell(
            "unbacked_claim",
            lambda: UnbackedClaimEvent(sentence=sentence, done=done, speech_id=f"speech_{speech}"),
        )

    # -- what the core tells

    def said_aside(self, notice: notices.SaidAside) -> None:
        """Words were heard that the history does not have."""
        port = self._here.running.port
        text = port.masks.mask(notice.text) if port.masks.is_active else notice.text
        segment_id = message_id(notice.segment, port.mark)
        self._here.tell("said_aside", lambda: SaidAsideEvent(text=text, segment_id=segment_id))

    def agent_state_changed(self, notice: notices.AgentStateChanged) -> None:
        """The agent began to listen, think or speak."""
        old, self.agent_state = self.agent_state, notice.state
        self._here.tell("agent_state_changed", _agent_state, old, notice.state)

    def user_state_changed(self, notice: notices.UserStateChanged) -> None:
        """The caller began or stopped to speak, or is away."""
        old, self.user_state = self.user_state, notice.state
        self._here.tell("user_state_changed", _user_state, old, notice.state)

    def speech_failed(self, notice: notices.SpeechFailed) -> None:
        """The model failed in a response."""
        agent = self.cast.agent(self.cast.current_agent_id)
        source = agent.llm or agent
        error = self._here.running.error_of(notice.gen)
        if error is None:
            label = source.label if isinstance(source, Model) else "the model"
            remedy = "If it stays so, ask another model, or let a FallbackLLM choose."
            error = ProviderTimeout(f"{label}: {notice.error}. {remedy}", provider=label)
            logger.warning("%s", error)
        self.failed(error, source)

    def voice_given_up(self, notice: notices.VoiceGivenUp) -> None:
        """Nothing is heard of what the agent says."""
        self.failed(AntiphonError(notice.error), self._here.session)

    def became_idle(self, notice: notices.BecameIdle) -> None:
        """Nothing is owed, said or done."""
        if not self.cast.goes_on:
            self._rest.came()

    def consent_asked(self, notice: notices.ConsentAsked) -> None:
        """A call is read back to the caller."""
        self._keys.asked()
        self._here.tell("consent_asked", _consent_asked, notice)

    def consent_decided(self, notice: notices.ConsentDecided) -> None:
        """It may be made, or never will be."""
        self._keys.decided()
        self._here.tell("consent_decided", _consent_decided, notice)

    def _must_hear_settled(self, notice: notices.MustHearSettled) -> None:
        """The caller has heard what they must hear, or nothing can say it."""
        self._here.must_hear_changed()
        self._here.tell("must_hear", _must_hear, notice)

    def tool_ended(self, notice: notices.ToolEnded) -> None:
        """A tool has returned, or was stopped."""
        self._here.tell("tool_ended", _tool_ended, notice)
        self._here.tell("tool_execution_updated", _ended, notice)

    # -- what is only told to those who asked before the session began

    def keep_journal(self, agent: str) -> None:
        """Tell what the core is told, and what it wants done, if anybody listens. It begins with `agent`."""
        if self.listened("journal"):
            driver, near = self._here.running, weakref.proxy(self._here)
            driver.observe(Journal(lambda event: near.session.emit("journal", event), agent, driver.port))

    def measure(self) -> None:
        """Somebody wants to know what replies take."""
        from antiphon.runtime.meter import Meter

        driver, near, agents = self._here.running, weakref.proxy(self._here), self.cast.agents

        def measured(metrics: TurnMetrics, call: CallMetrics) -> None:
            near.session.emit("turn_metrics", TurnMetricsEvent(metrics=metrics, call=call))

        def has_hook(agent: str) -> bool:
            return "on_user_turn_completed" in agents[agent].overridden

        meter = Meter(driver.began, measured, voiced=driver.port.has_audio_output, has_hook=has_hook)
        self.metrics = meter.call
        driver.observe(meter)
        self.look_at_words()

    def trace(self) -> None:
        """Somebody wants to know what happens, as a tree of stretches."""
        from antiphon.runtime.trail import Trail

        driver, near = self._here.running, weakref.proxy(self._here)
        session, port = self._here.session, driver.port

        def tell(event: TraceEvent) -> None:
            near.session.emit("trace", event)

        data = {"agent": self.cast.current_agent_id, "voice": port.has_audio_output, "language": session.language.code}
        driver.observe(Trail(tell, began=driver.began, epoch=port.epoch, voiced=port.has_audio_output, data=data))

    def look_at_words(self, before: BeforeSpeech | None = None) -> None:
        """Somebody wants to know what the agent claims, or to have a say in what it says."""
        self._here.running.look_at_words(self._here.session.language.claims, before)


def _function_call(call: Call) -> FunctionCall:
    return FunctionCall(call_id=call.call_id, name=call.name, arguments=call.arguments)


def _agent_state(old: AgentState, new: AgentState) -> AgentStateChangedEvent:
    return AgentStateChangedEvent(old_state=old, new_state=new)


def _user_state(old: UserState, new: UserState) -> UserStateChangedEvent:
    return UserStateChangedEvent(old_state=old, new_state=new)


def _tool_ended(notice: notices.ToolEnded) -> ToolEndedEvent:
    return ToolEndedEvent(function_call=_function_call(notice.call), status=notice.outcome)


def _ended(notice: notices.ToolEnded) -> ToolExecutionUpdatedEvent:
    return _updated(ToolCallEnded(call_id=notice.call.call_id, message="", status=notice.outcome))


def _tools_executed(notice: notices.RoundClosed) -> FunctionToolsExecutedEvent:
    calls, outputs = zip(*notice.pairs, strict=True)
    return FunctionToolsExecutedEvent(function_calls=list(calls), function_call_outputs=list(outputs))


def _consent_asked(notice: notices.ConsentAsked) -> ConsentAskedEvent:
    return ConsentAskedEvent(function_call=_function_call(notice.call), text=notice.text, times=notice.times)


def _consent_decided(notice: notices.ConsentDecided) -> ConsentDecidedEvent:
    return ConsentDecidedEvent(
        function_call=_function_call(notice.call), decision=notice.decision, heard=notice.heard, by=notice.by
    )


def _must_hear(notice: notices.MustHearSettled) -> MustHearEvent:
    return MustHearEvent(text=notice.text, heard_at=notice.heard_at, begun=notice.begun)


def _tool_outcome(notice: notices.WriteEnded) -> ToolOutcomeEvent:
    return ToolOutcomeEvent(function_call=_function_call(notice.call), outcome=notice.outcome, output=notice.output)


def _updated(update: ToolCallStarted | ToolCallUpdated | ToolCallEnded) -> ToolExecutionUpdatedEvent:
    return ToolExecutionUpdatedEvent(update=update)


Reaction: TypeAlias = Callable[[Announcer, Any], None]


def _event(name: str, make: Callable[[Any], object]) -> Reaction:
    """Of a notice that is nothing but this event."""
    return lambda announcer, notice: announcer._here.tell(name, make, notice)


_REACTIONS: dict[type[notices.Notice], Reaction] = {
    notices.AgentStateChanged: Announcer.agent_state_changed,
    notices.UserStateChanged: Announcer.user_state_changed,
    notices.SaidAside: Announcer.said_aside,
    notices.SpeechInterrupted: lambda announcer, notice: announcer.handles.interrupted(notice),
    notices.SpeechProtected: lambda announcer, notice: announcer.handles.protected(notice),
    notices.StepEnded: lambda announcer, notice: announcer.handles.step_ended(notice),
    notices.SpeechDone: lambda announcer, notice: announcer.handles.speech_done(notice),
    notices.SpeechFailed: Announcer.speech_failed,
    notices.VoiceGivenUp: Announcer.voice_given_up,
    notices.HandedOff: lambda announcer, notice: announcer.cast.handed_off(notice),
    notices.TaskBegan: lambda announcer, notice: announcer.cast.task_began(notice),
    notices.TaskDropped: lambda announcer, notice: announcer.cast.task_dropped(notice),
    notices.BecameIdle: Announcer.became_idle,
    notices.ToolEnded: Announcer.tool_ended,
    notices.WriteEnded: _event("tool_outcome", _tool_outcome),
    notices.FalseInterruption: _event("agent_false_interruption", lambda _: AgentFalseInterruptionEvent(resumed=True)),
    notices.TurnExceeded: _event("user_turn_exceeded", lambda n: UserTurnExceededEvent(transcript=n.text)),
    notices.RoundClosed: _event("function_tools_executed", _tools_executed),
    notices.ToolStepsUsedUp: _event(
        "max_tool_steps_reached", lambda n: MaxToolStepsReachedEvent(speech_id=f"speech_{n.speech}", steps=n.steps)
    ),
    notices.ToolStarted: _event(
        "tool_execution_updated", lambda n: _updated(ToolCallStarted(function_call=_function_call(n.call)))
    ),
    notices.ToolProgressed: _event(
        "tool_execution_updated", lambda n: _updated(ToolCallUpdated(call_id=n.call.call_id, message=n.text))
    ),
    notices.ConsentAsked: Announcer.consent_asked,
    notices.ConsentDecided: Announcer.consent_decided,
    notices.MustHearSettled: Announcer._must_hear_settled,
    notices.ToolDropped: _event("tool_dropped", lambda n: ToolDroppedEvent(function_call=_function_call(n.call))),
    notices.ToolAdopted: _event("tool_adopted", lambda n: ToolAdoptedEvent(function_call=_function_call(n.call))),
}
"""Whom a notice concerns."""
