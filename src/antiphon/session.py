"""`AgentSession`: one call, from the first word to the last.

Above: applications, servers, tests. Below: `Application`, which keeps the objects of the call, and the runtime's
driver, which runs it. A session begins with `start`, is spoken to by voice (`input`) or in text (`run`,
`generate_reply(user_input=)`), and ends with `aclose` or `shutdown`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from dataclasses import fields, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast

from typing_extensions import TypeVar as DefaultTypeVar

from antiphon.agent import Agent
from antiphon.audio import AudioFrame
from antiphon.chat import ChatContext, ReadOnlyChatContext
from antiphon.core.facts import (
    CloseRequested,
    HandOffRequested,
    InterruptRequested,
    SpeechRequested,
    UserTurnCleared,
    UserTurnCommitRequested,
    UserTurnSubmitted,
)
from antiphon.errors import SessionClosed, UsageError, UserdataNotSet
from antiphon.events import AgentState, CloseEvent, CloseReason, EventEmitter, UserState
from antiphon.options import (
    NOT_GIVEN,
    Endpointing,
    Fillers,
    Interruption,
    NotGivenOr,
    PreemptiveGeneration,
    SessionOptions,
    SilenceBudget,
    ToolChoice,
    TurnDetection,
    TurnHandling,
    UserTurnLimit,
    is_given,
)
from antiphon.protocols import AudioRoom, ModelKind, current_job, model_resolver
from antiphon.run_result import RunResult
from antiphon.runtime.hooks import current_hook
from antiphon.runtime.tool_runner import Run, current_run
from antiphon.speech_handle import SpeechHandle
from antiphon.tools.toolset import ToolContext, ToolLike
from antiphon.transport import AudioInput, AudioOutput, AudioProcessor, RoomInputOptions, RoomOptions
from antiphon.turn_detector import PREDICTION_TIMEOUT, TurnDetector

if TYPE_CHECKING:
    from antiphon.metrics import CallMetrics
    from antiphon.realtime import RealtimeModel
    from antiphon.runtime.driver import Driver

logger = logging.getLogger("antiphon")

Userdata = DefaultTypeVar("Userdata", default=Any)
T = TypeVar("T")

SETUP_PATIENCE = 5.0
"""Seconds that `start` waits for toolsets to be ready; slower ones go on in the background."""

CANCELLED_TASKS_GRACE = 0.1
"""Seconds that cancelled tasks have once the core has closed; tools have had their time (`close_grace`) before that."""

_MODEL_KINDS: tuple[ModelKind, ...] = ("llm", "stt", "tts", "vad", "turn_detector")


class AgentSession(EventEmitter, Generic[Userdata]):
    """A call between a caller and agents.

    Models not given (or `...`) are those of the command line or the server that starts the session, if there is one.
    Options that are not known are a `TypeError`. An agent with more than `max_tools` tools, the session's included, is
    a `ToolDefinitionError` where it is started, handed to, or given the tools.

    `max_silence`: seconds that the line may be silent while the agent owes something, 1.5 unless given; `fillers` are
    said then. None: as long as it takes. Text sessions have no such limit. `user_away_timeout`: seconds after which a
    caller who says nothing, and to whom nothing is said, counts as away. `preemptive_generation`: the model is asked
    before the caller's turn is over, when it is likely to be. `unheard_line` is said when the caller spoke and no words
    came of it.

    Events (`session.on(name, callback)`): agent_state_changed, user_state_changed, user_input_transcribed,
    agent_output_transcribed, conversation_item_added, speech_created, function_tools_executed,
    tool_execution_updated, tool_dropped, tool_adopted, tool_ended, agent_false_interruption, user_turn_exceeded,
    turn_metrics, error, close. Their objects are in `antiphon.events`.
    """

    def __init__(
        self,
        *,
        stt: Any = NOT_GIVEN,
        vad: Any = NOT_GIVEN,
        llm: Any = NOT_GIVEN,
        tts: Any = NOT_GIVEN,
        turn_detection: Any = NOT_GIVEN,
        turn_detector: Any = NOT_GIVEN,
        turn_handling: TurnHandling | Mapping[str, Any] | None = None,
        tools: Sequence[ToolLike] | None = None,
        userdata: NotGivenOr[Userdata] = NOT_GIVEN,
        max_tool_steps: int = 3,
        parallel_tool_calls: NotGivenOr[bool] = NOT_GIVEN,
        allow_interruptions: NotGivenOr[bool] = NOT_GIVEN,
        min_endpointing_delay: NotGivenOr[float] = NOT_GIVEN,
        max_endpointing_delay: NotGivenOr[float] = NOT_GIVEN,
        max_silence: NotGivenOr[float | None] = NOT_GIVEN,
        fillers: Fillers | Mapping[str, Any] | None = None,
        preemptive_generation: NotGivenOr[bool] = NOT_GIVEN,
        user_away_timeout: float | None = 15.0,
        fallback_line: NotGivenOr[str] = NOT_GIVEN,
        failure_line: NotGivenOr[str] = NOT_GIVEN,
        unheard_line: NotGivenOr[str] = NOT_GIVEN,
        max_result_chars: int = 20_000,
        max_tools: int | None = None,
        close_grace: float = 1.0,
    ) -> None:
        super().__init__()
        self._given: dict[ModelKind, Any] = {
            "llm": llm,
            "stt": stt,
            "tts": tts,
            "vad": vad,
            "turn_detector": turn_detector,
        }
        turns = _turn_handling(turn_handling)
        if isinstance(turn_detection, TurnDetector):
            self._given["turn_detector"] = turn_detection
        elif is_given(turn_detection) and turn_detection is not None and turn_detection is not ...:
            turns = replace(turns, detection=_detection(turn_detection))
        turns = _with_flat_options(turns, allow_interruptions, min_endpointing_delay, max_endpointing_delay)
        if is_given(preemptive_generation):
            enabled = replace(turns.preemptive_generation, enabled=preemptive_generation)
            turns = replace(turns, preemptive_generation=enabled)
        self._options = SessionOptions(turns=turns, max_tool_steps=max_tool_steps, close_grace=close_grace)
        lines = {"fallback_line": fallback_line, "failure_line": failure_line, "unheard_line": unheard_line}
        given: dict[str, Any] = {name: line for name, line in lines.items() if is_given(line)}
        self._options = replace(self._options, **given)
        self._silence = _silence_budget(max_silence, fillers)
        self._user_away_timeout = user_away_timeout
        self._userdata: NotGivenOr[Userdata] = userdata
        self._room: Any = None
        # The machinery is loaded with the first session: whoever only imports the names does not pay for it.
        from antiphon.application import Application

        self._application = Application(self, self)
        self._application.tools = list(tools or ())
        ToolContext(self._application.tools).check()
        self._application.parallel_tool_calls = parallel_tool_calls
        self._application.max_result_chars = max_result_chars
        self._application.max_tools = max_tools
        self._driver: Driver | None = None
        self._closer: asyncio.Task[None] | None = None
        self._close_error: BaseException | None = None

    # -- beginning

    async def start(
        self,
        agent: Agent,
        *,
        room: Any = None,
        input: AudioInput | None = None,
        output: AudioOutput | None = None,
        stt: Any = NOT_GIVEN,
        vad: Any = NOT_GIVEN,
        llm: Any = NOT_GIVEN,
        tts: Any = NOT_GIVEN,
        turn_detector: Any = NOT_GIVEN,
        room_options: RoomOptions | None = None,
        room_input_options: RoomInputOptions | None = None,
        capture_run: bool = False,
    ) -> RunResult | None:
        """Begin the call with `agent` in charge. Models given here take precedence over the constructor's.

        `input` and `output` are the caller's microphone and loudspeaker; without them, `room` is asked for its own,
        and without those the session is in text. `room_options`, or `room_input_options` in its place, say what cleans
        the microphone, wherever the sound comes from. `capture_run`: wait for what `on_enter` does, and return it.
        Raises `UsageError` when started twice.
        """
        if self._driver is not None:
            raise UsageError("session.start: this session was started already; make a new AgentSession for each call")
        job = current_job.get()
        if job is not None:
            job.attach(self)
        given = {"stt": stt, "vad": vad, "llm": llm, "tts": tts, "turn_detector": turn_detector}
        self._application.models = self._resolve_models(given)
        self._room = room if room is not None else self._room_of_job()
        if isinstance(room, AudioRoom):
            input = input or room.audio_input
            output = output or room.audio_output
        cleaner = _noise_cancellation(room_options, room_input_options)
        if cleaner is not None and input is not None:
            await cleaner.prepare()
            input, output = cleaner.wrap(input, output)
        agent_id = self._application.enrol(agent)
        if job is not None:
            await job.prepare([agent.llm, agent.stt, agent.tts, agent.vad, self._application.models["turn_detector"]])
        options = self._options_for(agent, output)
        driver = self._driver = await self._application.begin(options, agent_id, input, output)
        self._closer = asyncio.create_task(self._close_when_told(driver), name="session close")
        result = self._application.recorder = RunResult() if capture_run else None
        self._application.setup_session_toolsets()
        driver.start(agent_id)
        await self._application.toolsets.wait_ready(SETUP_PATIENCE)
        await asyncio.sleep(0)  # `on_enter` has begun: what it says is said before what the application says next
        if result is not None:
            if driver.idle:
                self._application.recorder = None
                result.finish()
            await result
        if job is not None:
            job.started(self)
        return result

    def _resolve_models(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The models it runs with: given to `start`, else to the constructor, else chosen by the shell around it."""
        wanted: dict[ModelKind, Any] = {}
        for kind in _MODEL_KINDS:
            choice = given[kind] if is_given(given[kind]) else self._given[kind]
            wanted[kind] = NOT_GIVEN if choice is ... else choice
        resolve = self._application.resolve = model_resolver.get()
        if resolve is not None:
            wanted = dict(resolve(wanted))
        for kind, model in wanted.items():
            if isinstance(model, str):
                raise UsageError(
                    f"{kind}={model!r}: expected a model object; names are looked up only where `antiphon` or an"
                    f" AgentServer runs the session. Give the object, for example providers.openai.LLM(...)."
                )
        return {kind: model if is_given(model) else None for kind, model in wanted.items()}

    def _options_for(self, agent: Agent, output: AudioOutput | None) -> SessionOptions:
        """The options, with what follows from the models."""
        from antiphon.realtime import RealtimeModel

        if isinstance(agent.llm, RealtimeModel):
            options = self._options_for_model(agent, agent.llm)
        else:
            options = self._options_without_model(agent)
        if output is None:  # nobody hears silence, and whoever reads may take their time
            return options
        has_voice = agent.tts is not None or "tts_node" in agent.overridden
        silence = self._silence if has_voice else None
        return replace(options, silence=silence, user_away_timeout=self._user_away_timeout)

    def _options_without_model(self, agent: Agent) -> SessionOptions:
        options = self._options
        if options.turns.detection == "realtime_llm":  # there is none that could
            options = replace(options, turns=replace(options.turns, detection="vad"))
        has_detector = self._application.models["turn_detector"] is not None
        return replace(
            options,
            has_stt=agent.stt is not None or "stt_node" in agent.overridden,
            prediction_timeout=PREDICTION_TIMEOUT if has_detector else 0.0,
        )

    def _options_for_model(self, agent: Agent, model: RealtimeModel) -> SessionOptions:
        """The same, for a model that hears the caller itself."""
        options = replace(self._options_without_model(agent), model_hears=True)
        if not model.capabilities.turn_detection:
            return options
        turns = options.turns
        if turns.detection != "manual":
            # Our detector falls silent before the model ends the turn: until then a pause is no false alarm.
            doubt = (
                max(turns.interruption.false_after, 1.2) if agent.vad is not None else turns.interruption.false_after
            )
            interruption = replace(turns.interruption, false_after=doubt)
            turns = replace(turns, detection="realtime_llm", interruption=interruption)
        return replace(options, turns=turns, has_stt=model.capabilities.live_transcription, prediction_timeout=0.0)

    def _room_of_job(self) -> Any:
        job = current_job.get()
        return None if job is None else job.room

    # -- what it is

    @property
    def is_running(self) -> bool:
        """True between `start` and the end."""
        return self._driver is not None and not self._driver.is_closed

    @property
    def room(self) -> Any:
        """The room of the call; None outside of one. Inside a job it is known before `start`."""
        return self._room if self._room is not None else self._room_of_job()

    @property
    def userdata(self) -> Userdata:
        """Whatever the application keeps with the session. Raises `UserdataNotSet` until something is stored."""
        if not is_given(self._userdata):
            raise UserdataNotSet(
                "session.userdata: nothing was stored yet; pass AgentSession(userdata=...) or assign session.userdata"
            )
        return self._userdata

    @userdata.setter
    def userdata(self, value: Userdata) -> None:
        self._userdata = value

    @property
    def history(self) -> ChatContext:
        """Everything that was said and done in the call, over all agents. Read-only, and always up to date."""
        return ReadOnlyChatContext(self._application.history)

    @property
    def current_agent(self) -> Agent:
        """The agent in charge. Raises `SessionClosed` before `start`."""
        agent = self._application.current_agent
        if agent is None:
            raise SessionClosed("session.current_agent: the session has not been started; `await session.start(agent)`")
        return agent

    @property
    def current_speech(self) -> SpeechHandle | None:
        """What the agent says, or prepares to say; None if nothing."""
        return self._application.current_speech

    @property
    def idle(self) -> bool:
        """Whether nobody speaks and nothing is owed, queued or being done, now: what `wait_for_idle` waits for."""
        return self._driver is not None and self._driver.idle

    @property
    def agent_state(self) -> AgentState:
        """initializing, listening, thinking, speaking or idle."""
        return self._application.agent_state

    @property
    def user_state(self) -> UserState:
        """listening, speaking, or away: silent for `user_away_timeout` seconds while nothing was said to them."""
        return self._application.user_state

    @property
    def tools(self) -> list[ToolLike]:
        """The session's own tools, which every agent has. A copy."""
        return list(self._application.tools)

    @property
    def metrics(self) -> CallMetrics | None:
        """What the replies took so far. None unless somebody listens to `turn_metrics`: measuring costs a little."""
        driver = self._driver
        return None if driver is None or driver.stopwatch is None else driver.stopwatch.call

    @property
    def options(self) -> SessionOptions:
        """The options it runs with; before `start` without what follows from its models and its audio."""
        return self._options if self._driver is None else self._driver.options

    @property
    def llm(self) -> Any:
        """The session's language model, or None."""
        return self._application.models.get("llm")

    @property
    def stt(self) -> Any:
        """The session's recogniser, or None."""
        return self._application.models.get("stt")

    @property
    def tts(self) -> Any:
        """The session's voice, or None."""
        return self._application.models.get("tts")

    @property
    def vad(self) -> Any:
        """The session's voice activity detector, or None."""
        return self._application.models.get("vad")

    def agent_by_id(self, agent_id: str) -> Agent:
        """The agent that goes by this id in the history."""
        return self._application.agent(agent_id)

    def speech_of(self, run: Run) -> SpeechHandle:
        """The speech that a tool's run serves."""
        return self._application.speech_of(run)

    # -- speaking

    def say(
        self,
        text: str | AsyncIterable[str],
        *,
        audio: AsyncIterable[AudioFrame] | None = None,
        allow_interruptions: NotGivenOr[bool] = NOT_GIVEN,
        add_to_chat_ctx: bool = True,
    ) -> SpeechHandle:
        """Say `text` as soon as what is being said has ended.

        Returns at once; await the handle to wait until it was played.

        `audio`: ready-made sound for the text. `allow_interruptions=False`: the caller cannot cut it; what they say
        over it is answered afterwards. Raises `SessionClosed` when the session does not run.
        """

        def request(driver: Driver) -> SpeechHandle:
            agent = self._application.current_agent_id
            needs_voice = not (isinstance(text, str) and driver.realtime.link(agent) is not None)
            if driver.playout.is_mute(agent) and audio is None and needs_voice:
                raise UsageError("session.say: the session has a loudspeaker and no voice; give a tts, or audio=")
            return self._request_speech(
                driver,
                SpeechRequested(
                    0, "say", interruptible=self._may_interrupt(allow_interruptions), record=add_to_chat_ctx
                ),
                lambda number: self._application.keep_source(number, text, audio),
            )

        return self._in_loop("say", request)

    def say_filler(self, text: str) -> SpeechHandle:
        """Say a line that bridges a wait: before anything else that waits to be said.

        It ends at a word as soon as something better can be heard, and stays out of the history: the model would take
        to saying it itself. Without a loudspeaker nothing is said. Raises `SessionClosed` when the session does not
        run.
        """

        def request(driver: Driver) -> SpeechHandle:
            can_be_heard = driver.has_audio_output and not driver.playout.is_mute(self._application.current_agent_id)
            return self._request_speech(
                driver,
                SpeechRequested(0, "filler", interruptible=self._may_interrupt(NOT_GIVEN), record=False),
                lambda number: self._application.keep_source(number, text if can_be_heard else "", None),
            )

        return self._in_loop("say_filler", request)

    def generate_reply(
        self,
        *,
        user_input: str | None = None,
        instructions: str | None = None,
        tool_choice: NotGivenOr[ToolChoice] = NOT_GIVEN,
        allow_interruptions: NotGivenOr[bool] = NOT_GIVEN,
    ) -> SpeechHandle:
        """Have the model speak. Returns at once; await the handle to wait until it was played.

        `user_input` is put into the history as the caller's words first. `instructions` count for this reply, beside
        the agent's own. Inside a tool the model may not call tools, unless `tool_choice` says so. Raises
        `SessionClosed` when the session does not run.
        """
        request = SpeechRequested(
            0,
            "reply",
            instructions=instructions,
            tool_choice=_given_or(tool_choice, None),
            interruptible=self._may_interrupt(allow_interruptions),
            user_input=user_input,
        )
        return self._in_loop("generate_reply", lambda driver: self._request_speech(driver, request, None))

    def _may_interrupt(self, said: NotGivenOr[bool]) -> bool:
        """Whether the caller may cut a speech: where interruption is switched off, none."""
        return _given_or(said, True) and self._options.turns.interruption.enabled

    def _request_speech(
        self, driver: Driver, request: SpeechRequested, prepare: Callable[[int], None] | None
    ) -> SpeechHandle:
        run, hook = current_run.get(), current_hook.get()
        if run is not None and (run.driver is not driver or (run.ended and not run.released)):
            run = None
        number = driver.new_id()
        handle = SpeechHandle(driver, number, allow_interruptions=request.interruptible)
        if run is not None and run.released:
            handle.mark_interrupted()
            handle.mark_done()
            return handle
        if prepare is not None:
            prepare(number)
        source = "generate_reply" if request.kind == "reply" else "say"
        self._application.open_speech(handle, source, user_initiated=True)
        agent = hook.agent if hook is not None and hook.driver is driver and run is None else None
        driver.report(replace(request, speech=number, run=None if run is None else run.id, agent=agent))
        return handle

    def interrupt(self, *, force: bool = False) -> asyncio.Future[None]:
        """Stop everything that is being said and may be interrupted (with `force`: everything), now.

        The result is done already.
        """

        def stop(driver: Driver) -> asyncio.Future[None]:
            driver.report(InterruptRequested(None, force))
            done: asyncio.Future[None] = driver.loop.create_future()
            done.set_result(None)
            return done

        return self._in_loop("interrupt", stop)

    # -- the caller

    def run(self, *, user_input: str) -> RunResult:
        """Give the agent a turn of the caller in text. `await` the result to wait until the session is idle again.

        Raises `UsageError` while another run goes on.
        """
        driver = self._running("run")
        if self._application.recorder is not None:
            raise UsageError("session.run: another run goes on; await it first, runs cannot be nested")
        result = self._application.recorder = RunResult(user_input=user_input)
        driver.report(UserTurnSubmitted(user_input))
        if driver.idle and self._application.recorder is result:
            self._application.recorder = None
            result.finish()
        return result

    def submit_user_turn(self, text: str) -> None:
        """A whole turn of the caller, typed. It interrupts and is answered like a spoken one."""
        self._in_loop("submit_user_turn", lambda driver: driver.report(UserTurnSubmitted(text)))

    def commit_user_turn(self) -> None:
        """The caller's turn ends now, whatever the silence (push-to-talk).

        It is answered as soon as the recogniser has settled its last words, or has not in `transcript_timeout` seconds.
        """

        def commit(driver: Driver) -> None:
            driver.recognition.flush()
            driver.report(UserTurnCommitRequested())

        self._in_loop("commit_user_turn", commit)

    def set_turn_detection(self, detection: TurnDetection) -> None:
        """Who ends the caller's turns, in the place of what the constructor was told. For shells with a key to press.

        Raises `UsageError` once the session was started.
        """
        if self._driver is not None:
            raise UsageError("session.set_turn_detection: the session was started already; call it before `start`")
        turns = replace(self._options.turns, detection=_detection(detection))
        self._options = replace(self._options, turns=turns)

    def clear_user_turn(self) -> None:
        """Forget what the caller said since their last turn."""

        def clear(driver: Driver) -> None:
            driver.realtime.clear_audio()
            driver.report(UserTurnCleared())

        self._in_loop("clear_user_turn", clear)

    def update_agent(self, agent: Agent) -> None:
        """Put another agent in charge, as soon as the one in charge has finished speaking."""

        def update(driver: Driver) -> None:
            driver.report(HandOffRequested(self._application.enrol(agent)))

        self._in_loop("update_agent", update)

    # -- waiting

    async def wait_for_idle(self) -> None:
        """Until nobody speaks and nothing is owed, queued or being done. Tools in the background do not count.

        A tool that is not in the background would wait for itself: that raises `UsageError`.
        """
        self._running("wait_for_idle")
        await self._wait_for_idle("wait_for_idle")

    async def wait_for_inactive(self) -> None:
        """The same as `wait_for_idle`."""
        await self.wait_for_idle()

    async def drain(self) -> None:
        """Until what was begun is finished. The same as `wait_for_idle`, and nothing on a session that has ended."""
        if self.is_running:
            await self._wait_for_idle("drain")

    async def _wait_for_idle(self, method: str) -> None:
        run = current_run.get()
        if run is not None and run.driver is self._driver and self._waits_for(run):
            raise UsageError(
                f"session.{method}: tool {run.call.name!r} waits for the session, which waits for it. To wait for what"
                " was said before the call, use `await ctx.wait_for_playout()`."
            )
        await self._application.wait_for_idle()

    def _waits_for(self, run: Run) -> bool:
        """Whether the session is not idle before the tool has returned."""
        if run.in_background or run.released or run.ended:
            return False
        speech = self.speech_of(run)
        return not (speech.interrupted or speech.done())  # else the call is kept: it works in the background

    # -- the end

    def shutdown(self, *, drain: bool = True, reason: CloseReason = CloseReason.USER_INITIATED) -> None:
        """End the session, without waiting for it.

        `drain`: what is being said and done is finished first. May be called twice.
        """
        if self.is_running:
            self._in_loop("shutdown", lambda d: d.report(CloseRequested(drain, reason.value)))

    async def aclose(self, *, reason: CloseReason = CloseReason.USER_INITIATED) -> None:
        """End the session now and wait for it, at most a little over `close_grace` seconds. May be called twice."""
        if self._driver is None or self._closer is None:
            return
        self.shutdown(drain=False, reason=reason)
        if asyncio.current_task() is not self._closer:
            await asyncio.shield(self._closer)

    async def _close_when_told(self, driver: Driver) -> None:
        reason = await driver.wait_closed()
        application = self._application
        application.end_speeches()
        await driver.aclose(CANCELLED_TASKS_GRACE)
        await application.toolsets.close_all(self._options.close_grace)
        self.emit("close", CloseEvent(reason=_close_reason(reason), error=self._close_error))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.aclose()

    # -- helpers

    def _running(self, method: str) -> Driver:
        driver = self._driver
        if driver is None:
            raise SessionClosed(
                f"session.{method}: the session has not been started; `await session.start(agent)` first"
            )
        if driver.is_closed:
            raise SessionClosed(f"session.{method}: the session has ended; start a new AgentSession")
        return driver

    def _in_loop(self, method: str, action: Callable[[Driver], T]) -> T:
        """Perform `action` on the event loop: at once, or from a synchronous tool's thread."""
        driver = self._running(method)
        if driver.in_loop_thread():
            return action(driver)
        return driver.call_in_loop(lambda: action(driver))


def _noise_cancellation(room: RoomOptions | None, room_input: RoomInputOptions | None) -> AudioProcessor | None:
    if room is not None and room_input is not None:
        raise UsageError("session.start: got room_options and room_input_options; give the first, which says it all")
    audio = room_input if room is None else room.audio_input
    return None if audio is None else audio.noise_cancellation


def _given_or(value: NotGivenOr[T], default: Any) -> Any:
    return value if is_given(value) else default


def _close_reason(reason: str) -> CloseReason:
    try:
        return CloseReason(reason)
    except ValueError:
        return CloseReason.ERROR


def _turn_handling(given: TurnHandling | Mapping[str, Any] | None) -> TurnHandling:
    if given is None:
        return TurnHandling()
    if isinstance(given, TurnHandling):
        return given
    parts: dict[str, Any] = {}
    for name, value in given.items():
        match name:
            case "detection" | "turn_detection":
                parts["detection"] = _detection(value)
            case "endpointing":
                parts[name] = _value_object(Endpointing, value, "turn_handling['endpointing']")
            case "interruption":
                parts[name] = _value_object(Interruption, value, "turn_handling['interruption']")
            case "preemptive_generation":
                parts[name] = _value_object(PreemptiveGeneration, value, "turn_handling['preemptive_generation']")
            case "user_turn_limit":
                parts[name] = _value_object(UserTurnLimit, value, "turn_handling['user_turn_limit']")
            case _:
                raise TypeError(
                    f"turn_handling: unknown option {name!r}; expected detection, endpointing, interruption,"
                    " preemptive_generation or user_turn_limit"
                )
    return TurnHandling(**parts)


def _detection(value: Any) -> TurnDetection:
    if value in ("vad", "stt", "manual", "realtime_llm"):
        return cast("TurnDetection", value)
    raise UsageError(f"turn_detection: expected 'vad', 'stt', 'manual' or a TurnDetector, got {value!r}")


def _value_object(kind: type[T], value: Any, where: str) -> T:
    if isinstance(value, kind):
        return value
    names = [f.name for f in fields(cast("Any", kind))]
    unknown = [name for name in value if name not in names]
    if unknown:
        raise TypeError(f"{where}: unknown option {unknown[0]!r}; expected {', '.join(names)}")
    return kind(**value)


def _silence_budget(
    max_silence: NotGivenOr[float | None], fillers: Fillers | Mapping[str, Any] | None
) -> SilenceBudget | None:
    if max_silence is None:
        return None
    budget = SilenceBudget() if not is_given(max_silence) else SilenceBudget(max_silence=max_silence)
    if not budget.max_silence > 0:
        raise UsageError(f"max_silence: expected seconds above 0, or None for no limit, got {budget.max_silence!r}")
    if fillers is not None:
        budget = replace(budget, fillers=_value_object(Fillers, fillers, "fillers"))
    return budget


def _with_flat_options(
    turns: TurnHandling,
    allow_interruptions: NotGivenOr[bool],
    min_delay: NotGivenOr[float],
    max_delay: NotGivenOr[float],
) -> TurnHandling:
    if is_given(allow_interruptions):
        turns = replace(turns, interruption=replace(turns.interruption, enabled=allow_interruptions))
    if is_given(min_delay):
        turns = replace(turns, endpointing=replace(turns.endpointing, min_delay=min_delay))
    if is_given(max_delay):
        turns = replace(turns, endpointing=replace(turns.endpointing, max_delay=max_delay))
    return turns
