"""`AgentSession`: one call, from the first word to the last.

Above: applications, servers, tests. Below: `application/`, which keeps the objects of the call, and the runtime's
driver, which runs it. A session begins with `start`, is spoken to by voice (`input`) or in text (`run`,
`generate_reply(user_input=)`), and ends with `aclose` or `shutdown`.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from antiphon.agent import Agent
from antiphon.application.call_store import CallStore
from antiphon.application.views import Views
from antiphon.audio import AudioFrame
from antiphon.before_speech import BeforeSpeech
from antiphon.core.facts import (
    CloseRequested,
    ConsentGiven,
    EndRequested,
    HandOffRequested,
    InterruptRequested,
    UserTurnCleared,
    UserTurnCommitRequested,
    UserTurnSubmitted,
)
from antiphon.errors import SessionClosed, UsageError
from antiphon.events import CloseEvent, CloseReason
from antiphon.language import ENGLISH, Language, language_pack
from antiphon.options import (
    NOT_GIVEN,
    AwayLadder,
    ConsentJudge,
    ContextBudget,
    Fillers,
    NotGiven,
    NotGivenOr,
    RedactWords,
    SessionOptions,
    ToolChoice,
    TurnDetection,
    TurnHandling,
    is_given,
)
from antiphon.protocols import AudioRoom, Job, UserdataCodec, current_job
from antiphon.secret import Secret
from antiphon.session_api import LINGER, Userdata
from antiphon.speech_handle import SpeechHandle
from antiphon.store import Store
from antiphon.streams import Closable
from antiphon.tools.function import ToolError
from antiphon.tools.hooks import CallHook
from antiphon.tools.toolset import ToolLike
from antiphon.transport import AudioInput, AudioOutput, RoomInputOptions, RoomOptions

if TYPE_CHECKING:
    from antiphon.application.exchange import Exchange
    from antiphon.application.resuming import KnownAgents
    from antiphon.run_result import RunResult
    from antiphon.runtime.driver import Driver

logger = logging.getLogger("antiphon")

T = TypeVar("T")

CANCELLED_TASKS_GRACE = 0.1
"""Seconds that cancelled tasks have once the core has closed; tools have had their time (`close_grace`) before that."""


class AgentSession(Views[Userdata], Closable):
    """A call between a caller and agents.

    Models not given (or `...`) are those of the command line or the server that starts the session, if there is one.
    Options that are not known are a `TypeError`. An agent with more than `max_tools` tools, the session's included, is
    a `ToolDefinitionError` where it is started, handed to, or given the tools.

    `max_silence`: seconds that the line may be silent while the agent owes something, 1.5 unless given; `fillers` are
    said then. None: as long as it takes. Text sessions have no such limit. `user_away_timeout`: seconds after which a
    caller who says nothing, and to whom nothing is said, counts as away. `away_ladder`: such a caller is asked, asked
    again, and then the call ends with a goodbye (True: in the language's lines). Not in text. `preemptive_generation`:
    the model is asked before the caller's turn is over, when it is likely to be. `language`: a `Language`, or the code
    of one ("de"): which words are no turn, and what the session says itself. `unheard_line` is said when the caller
    spoke and no words came of it. `call_tool`: an async function `(call, ctx, proceed)` around every call of a tool
    (`docs/tools.md`). `before_speech`: an async function of each `Sentence` of a model, which gives what is said in its
    place. `context_budget`: how much of the talk requests carry; None: all of it, however long.
    `redact`: what of the caller's words and of results is known by a mask alone ("card_number", "phone_number",
    "email", or a function), to models, logs and all that is kept; tools and the agent's voice get it.
    `store`: where the call is kept while it goes on, an open store or the address of one ("sqlite:///calls.db"); None:
    in memory alone. Not given: where the command keeps calls that starts the session. `agents`: those that may go on
    with a call that began in another process, or a function of an id; `userdata_codec`: how userdata is kept that is no
    dataclass, pydantic model or dictionary (`docs/resume.md`).
    `consent_timeout`: seconds of silence, 8 unless given, until the caller is asked once more whether a call may run
    whose tool says `confirm=`, and then not any more; None: without end, as in text. `consent_judge(words, asked)`: a
    coroutine function that says what the reply means; the words decide by themselves where it says nothing in 2 s.
    `must_hear`: lines that the caller must have heard (a disclosure, a recording notice). They are said first, and
    again where they were cut; before they were heard no tool runs that may change anything, and nothing is recorded.

    Events (`session.on(name, callback)`): agent_state_changed, user_state_changed, user_input_transcribed,
    agent_output_transcribed, conversation_item_added, speech_created, function_tools_executed,
    max_tool_steps_reached, tool_execution_updated, tool_dropped, tool_adopted, tool_ended, tool_outcome, tool_result,
    agent_false_interruption, user_turn_exceeded, consent_asked, consent_decided, must_hear, turn_metrics,
    context_trimmed, unbacked_claim, recording_hushed, call_answered, message_left, trace, error, close. Their objects
    are in `antiphon.events`.
    """

    _room: Any = None
    _closer: asyncio.Task[None] | None = None
    _exchange: Exchange | None = None
    _call_id, _resumes, _by_turns = "", False, False
    _parts: Mapping[str, bytes] | None = None

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
        max_silence: NotGivenOr[float | None] = NOT_GIVEN,
        fillers: Fillers | Mapping[str, Any] | None = None,
        preemptive_generation: NotGivenOr[bool] = NOT_GIVEN,
        user_away_timeout: float | None = 15.0,
        away_ladder: AwayLadder | Mapping[str, Any] | bool | None = None,
        language: Language | str = ENGLISH,
        fallback_line: NotGivenOr[str] = NOT_GIVEN,
        failure_line: NotGivenOr[str] = NOT_GIVEN,
        unheard_line: NotGivenOr[str] = NOT_GIVEN,
        max_result_chars: int = 20_000,
        max_tools: int | None = None,
        call_tool: CallHook | None = None,
        before_speech: BeforeSpeech | None = None,
        context_budget: NotGivenOr[ContextBudget | Mapping[str, Any] | None] = NOT_GIVEN,
        consent_timeout: NotGivenOr[float | None] = NOT_GIVEN,
        consent_judge: ConsentJudge | None = None,
        write_grace: float = 30.0,
        close_grace: float = 1.0,
        redact: RedactWords = (),
        store: NotGivenOr[Store | str | None] = NOT_GIVEN,
        agents: KnownAgents = (),
        userdata_codec: UserdataCodec[Userdata] | None = None,
        must_hear: Sequence[str] = (),
    ) -> None:
        from antiphon import session_options  # with the first session: who only imports names does not pay for it
        from antiphon.application.host import SessionHost, TalkRules, ToolRules

        super().__init__()
        pack = self._language = language_pack(language)
        self._lines = session_options.Lines(fallback_line, failure_line, unheard_line, fillers, away_ladder)
        self._options = SessionOptions(
            turns=session_options.turns_of(turn_handling, turn_detection, preemptive_generation),
            must_hear=session_options.must_hear_lines(must_hear),
            **session_options.limits(max_tool_steps, write_grace, close_grace),
            **self._lines.of(pack),
            **session_options.waits_of(pack, max_silence, fillers, user_away_timeout, away_ladder, consent_timeout),
        )
        self._userdata: Userdata = userdata if is_given(userdata) else cast("Userdata", {})
        models = session_options.models_of(llm, stt, tts, vad, turn_detector, turn_detection)
        rules = ToolRules(max_result_chars, max_tools, call_tool, parallel_tool_calls)
        budget, hidden = session_options.context_budget(context_budget), session_options.redaction(redact)
        talk = TalkRules(before_speech, budget, hidden, consent_judge)
        self._host = SessionHost(self, models, tools or (), rules, talk)
        self._store = CallStore(store, agents, userdata_codec)

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
        from antiphon import session_options  # was loaded when the session was made

        job = self._attached_job()
        self._host.models.choose({"stt": stt, "vad": vad, "llm": llm, "tts": tts, "turn_detector": turn_detector})
        self._room = room if room is not None else getattr(job, "room", None)
        if isinstance(room, AudioRoom):
            input = input or room.audio_input
            output = output or room.audio_output
        input, output = await session_options.cleaned(input, output, room_options, room_input_options)
        driver = await self._begun(agent, job, input, output)
        self._closer = asyncio.create_task(self._close_when_told(driver), name="session close")
        result = self._host.rest.run() if capture_run else None
        self._host.tables.setup_shared()
        driver.start(self._host.cast.current_agent_id)
        if (pack := self._store.language_before(self._language, self._host.models)) is not None:
            self._speaks(pack, self._exchanging(driver))
        self._store.go_on(self, self._host, driver)
        await self._host.tables.toolsets.wait_ready()
        await asyncio.sleep(0)  # `on_enter` has begun: what it says is said before what the application says next
        if result is not None:
            self._host.rest.look()
            await result
        if job is not None:
            job.started(self)
        return result

    async def resume(
        self,
        call_id: str = "",
        *,
        caller: str = "",
        within: float = 24 * 3600.0,
        agents: KnownAgents = (),
        room: Any = None,
        **how: Any,
    ) -> None:
        """Go on with a call whose process has ended: `start` for it, with the same options (`how`).

        `caller` alone begins a new call, of somebody whom the application has identified: what tools that write did in
        their calls of the last `within` seconds, and they have not heard, or nobody knows, the agent knows beforehand.

        The session needs the `store`. In charge is the agent of `agents` (or the constructor's) that was, by its id:
        they are a list, or a function of an id; else the first, whose `on_enter` runs then. What was heard is the
        history. What tools did is told, not done again. Raises `UsageError`, `LeaseHeld`, `StoreError`.
        """
        if self._driver is not None:
            raise UsageError("session.resume: this session was started already; make a new AgentSession for each call")
        if call_id:
            agent = await self._store.take_up(call_id, self, agents=agents)
            self._call_id = self._store.resumed or ""
        else:
            agent = await self._store.rings_again(caller, within, agents)
        try:
            await self.start(agent, room=room, **how)
        except BaseException:
            if self._driver is None:
                await self._store.give_back()
            raise

    def _attached_job(self) -> Job | None:
        """The job that the call belongs to, if there is one. It may say what the call is known by."""
        job = current_job.get()
        if job is not None and (attached := job.attach(self)) is not None and self._store.resumed is None:
            self._call_id, self._resumes, self._by_turns, self._parts = attached, job.resumes, job.by_turns, job.parts
        return job

    async def _begun(self, agent: Agent, job: Job | None, audio_in: Any, audio_out: Any) -> Driver:
        """The driver, and the call held in its store, if there is one. Where that fails, nothing stays held."""
        host = self._host
        try:
            if self._resumes:
                agent = await self._store.take_up(self._call_id, self, first=agent)
                self._call_id = self._store.resumed or self._call_id  # the job may know its beginning alone
            agent_id = host.cast.admit(agent)
            if job is not None:
                await job.prepare([agent.llm, agent.stt, agent.tts, agent.vad, host.models.get("turn_detector")])
            keeping = await self._store.hold(host, self.call_id, by_turns=self._by_turns, parts=self._parts or {})
            options = self._store.heard_before(self._options)
            driver = self._driver = await host.begin(options, agent_id, audio_in, audio_out, keeping)
            self._store.watch(host, driver)
            return driver
        except BaseException:
            await self._store.give_back()
            raise

    # -- what it is

    @property
    def is_running(self) -> bool:
        return self._driver is not None and not self._driver.is_closed

    @property
    def call_id(self) -> str:
        """What a store knows the call by, among all calls that there ever were."""
        if not self._call_id:
            self._call_id = os.urandom(8).hex()
        return self._call_id

    @property
    def store(self) -> Store | None:
        """Where the call is kept. None: nowhere but in the memory of this process."""
        return self._store.store

    @property
    def room(self) -> Any:
        return self._room if self._room is not None else getattr(current_job.get(), "room", None)

    @property
    def userdata(self) -> Userdata:
        return self._userdata

    @userdata.setter
    def userdata(self, value: Userdata) -> None:
        self._userdata = value

    # -- speaking

    def sensitive(self) -> AbstractContextManager[None]:
        return self._host.masks.sensitive()

    def keep_secret(self, value: str, kind: str) -> Secret[str]:
        return self._host.masks.secret(value, kind)

    def say(
        self,
        text: str | AsyncIterable[str],
        *,
        audio: AsyncIterable[AudioFrame] | None = None,
        allow_interruptions: NotGivenOr[bool] = NOT_GIVEN,
        add_to_chat_ctx: bool = True,
    ) -> SpeechHandle:
        def request(driver: Driver) -> SpeechHandle:
            agent = self._host.cast.current_agent_id
            needs_voice = not (isinstance(text, str) and driver.realtime.link(agent) is not None)
            if driver.playout.is_mute(agent) and audio is None and needs_voice:
                raise UsageError("session.say: the session has a loudspeaker and no voice; give a tts, or audio=")
            return self._host.handles.request(
                "say",
                (text, audio),
                interruptible=self._may_interrupt(allow_interruptions),
                record=add_to_chat_ctx,
            )

        return self._in_loop("say", request)

    def say_filler(self, text: str) -> SpeechHandle:
        def request(driver: Driver) -> SpeechHandle:
            is_heard = driver.port.has_audio_output and not driver.playout.is_mute(self._host.cast.current_agent_id)
            return self._host.handles.request(
                "filler",
                (text if is_heard else "", None),
                interruptible=self._may_interrupt(NOT_GIVEN),
                record=False,
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
        def request(driver: Driver) -> SpeechHandle:
            return self._host.handles.request(
                "reply",
                instructions=instructions,
                tool_choice=_given_or(tool_choice, None),
                interruptible=self._may_interrupt(allow_interruptions),
                user_input=user_input,
            )

        return self._in_loop("generate_reply", request)

    def _may_interrupt(self, said: NotGivenOr[bool]) -> bool:
        """Whether the caller may cut a speech: where interruption is switched off, none."""
        return _given_or(said, True) and self._options.turns.interruption.enabled

    def interrupt(self, *, force: bool = False) -> asyncio.Future[None]:
        def stop(driver: Driver) -> asyncio.Future[None]:
            run = self._host.handles.own_run()
            driver.report(InterruptRequested(None, force, None if run is None else run.id))
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
        if self._host.rest.is_awaited:
            raise UsageError("session.run: another run goes on; await it first, runs cannot be nested")
        result = self._host.rest.run(user_input)
        driver.report(UserTurnSubmitted(user_input))
        self._host.rest.look()
        return result

    def submit_user_turn(self, text: str) -> None:
        self._in_loop("submit_user_turn", lambda driver: driver.report(UserTurnSubmitted(text)))

    def answer_consent(self, yes: bool, *, text: str | None = None, call_id: str | None = None) -> None:
        said = text or (self._language.consent_lines.yes if yes else self._language.consent_lines.no)
        self._in_loop("answer_consent", lambda driver: driver.report(ConsentGiven(yes, said, call_id)))

    def commit_user_turn(self) -> None:
        def commit(driver: Driver) -> None:
            driver.recognition.flush()
            driver.report(UserTurnCommitRequested())

        self._in_loop("commit_user_turn", commit)

    def set_turn_detection(self, detection: TurnDetection) -> None:
        """Who ends the caller's turns, in the place of what the constructor was told. For shells with a key to press.

        Raises `UsageError` once the session was started.
        """
        from antiphon import session_options

        if self._driver is not None:
            raise UsageError("session.set_turn_detection: the session was started already; call it before `start`")
        turns = replace(self._options.turns, detection=session_options.detection(detection))
        self._options = replace(self._options, turns=turns)

    def clear_user_turn(self) -> None:
        def clear(driver: Driver) -> None:
            driver.realtime.clear_audio()
            driver.report(UserTurnCleared())

        self._in_loop("clear_user_turn", clear)

    async def update_models(
        self,
        *,
        stt: Any = NOT_GIVEN,
        llm: Any = NOT_GIVEN,
        tts: Any = NOT_GIVEN,
        language: NotGivenOr[Language | str] = NOT_GIVEN,
    ) -> None:
        driver = self._running("update_models")
        pack = None if isinstance(language, NotGiven) else language_pack(language)
        exchange = self._exchanging(driver)
        await exchange.models({"stt": stt, "llm": llm, "tts": tts})
        if pack is not None and not driver.is_closed:
            self._speaks(pack, exchange)

    def _exchanging(self, driver: Driver) -> Exchange:
        from antiphon.application.exchange import Exchange  # few calls need it

        self._exchange = self._exchange or Exchange(self._host, driver)
        return self._exchange

    def _speaks(self, pack: Language, exchange: Exchange) -> None:
        """This is the caller's language from here on."""
        self._language = pack
        exchange.language(pack, self._lines.options(pack))

    def update_agent(self, agent: Agent) -> None:
        def update(driver: Driver) -> None:
            driver.report(HandOffRequested(self._host.cast.admit(agent)))

        self._in_loop("update_agent", update)

    def lend_floor(self, agent: Agent, until: asyncio.Future[Any]) -> Awaitable[None]:
        self._running("lend_floor")
        return self._host.cast.lend_floor(agent, until)

    # -- waiting

    async def wait_for_idle(self) -> None:
        self._running("wait_for_idle")
        await self._wait_for_idle("wait_for_idle")

    async def wait_for_inactive(self) -> None:
        """The same as `wait_for_idle`."""
        await self.wait_for_idle()

    async def drain(self) -> None:
        if self.is_running:
            await self._wait_for_idle("drain")

    async def _wait_for_idle(self, method: str) -> None:
        self._running(method)
        if (tool := self._host.handles.awaited_tool()) is not None:
            raise UsageError(
                f"session.{method}: tool {tool!r} waits for the session, which waits for it. To wait for what"
                " was said before the call, use `await ctx.wait_for_playout()`."
            )
        await self._host.rest.wait()

    # -- the end

    def end_call(self, *, goodbye: SpeechHandle | None = None, linger: float = LINGER) -> None:
        def end(driver: Driver) -> None:
            run = self._host.handles.own_run()
            if run is not None and run.released:
                raise ToolError("The call was not ended: the caller went on.")
            said = goodbye or self.current_speech
            speech = run.speech if goodbye is None and run is not None else 0 if said is None else said.number
            driver.report(EndRequested(speech, linger if driver.port.has_audio_output else 0.0))

        self._in_loop("end_call", end)

    def shutdown(self, *, drain: bool = True, reason: CloseReason = CloseReason.USER_INITIATED) -> None:
        if self.is_running:
            hung_up = reason in (CloseReason.PARTICIPANT_DISCONNECTED, CloseReason.JOB_SHUTDOWN)
            self._in_loop("shutdown", lambda d: d.report(CloseRequested(drain, reason.value, hung_up)))

    async def aclose(self, *, reason: CloseReason = CloseReason.USER_INITIATED) -> None:
        if self._driver is None or self._closer is None:
            return
        self.shutdown(drain=False, reason=reason)
        if asyncio.current_task() is not self._closer:
            await asyncio.shield(self._closer)

    async def _close_when_told(self, driver: Driver) -> None:
        from antiphon.application.ends import told_end

        closed = await driver.wait_closed()
        self._host.end()
        await driver.aclose(CANCELLED_TASKS_GRACE)
        await self._host.tables.toolsets.close_all(self._options.close_grace)
        await self._store.aclose(lambda: told_end(self, closed))
        self.clear()

    def at_end(self, callback: Callable[[CloseEvent], Awaitable[None]]) -> None:
        """Await `callback(event)` behind `close`, while the store is open: 30 s at most. What it raises is logged."""
        self._store.at_end(callback)

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
        return driver.port.call_in_loop(lambda: action(driver))


def _given_or(value: NotGivenOr[T], default: Any) -> Any:
    return value if is_given(value) else default
