"""The shell around the conversation core: facts in, commands out, one timer.

Above: the application, which is the driver's host (`host.py`). Below: the pure core, and one performer for each kind
of command: `generation`, `playout`, `tool_runner`, `hooks`, `realtime`, `recognition`. The driver takes no decision and
waits for nothing: `report` is a plain call. A fact reported while commands are being performed is queued behind them,
never re-entered. Performers know the driver by its `port` alone, which does not keep it.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from antiphon.before_speech import BeforeSpeech
from antiphon.core.commands import (
    Adopt,
    CancelTool,
    Close,
    Command,
    CommitAudio,
    Decline,
    Discard,
    Generate,
    JudgeReply,
    PausePlayout,
    Play,
    PredictEndOfTurn,
    RebindRun,
    Record,
    Release,
    ReleaseRun,
    ResumePlayout,
    RunHook,
    RunTool,
    Speak,
    StopGenerating,
    StopPlayout,
)
from antiphon.core.conversation import Conversation
from antiphon.core.facts import (
    Fact,
    GenerationFailed,
    HookReturned,
    ModelsChanged,
    PlayoutFinished,
    ReplyJudged,
    StoodStill,
    ToolReturned,
)
from antiphon.core.ledger import tool_of
from antiphon.core.notices import HookOverdue, SpeechDone, SpeechInterrupted, WordsLost, WriteEnded
from antiphon.core.well_formed import well_formed_fact
from antiphon.errors import pass_on
from antiphon.language import ENGLISH
from antiphon.language.claims import ClaimPhrases
from antiphon.language.pack import Language
from antiphon.options import ConsentJudge, MustHearLine, SessionOptions
from antiphon.runtime.callers_voice import CallersVoice
from antiphon.runtime.context_window import ContextWindow
from antiphon.runtime.deeds import Deeds
from antiphon.runtime.generation import Generation
from antiphon.runtime.hooks import Hooks
from antiphon.runtime.host import Host
from antiphon.runtime.judge import Judge
from antiphon.runtime.keeping import Keeping
from antiphon.runtime.masks import Masks
from antiphon.runtime.observers import Observer, show
from antiphon.runtime.playout import Playout
from antiphon.runtime.port import Port
from antiphon.runtime.realtime import Realtime
from antiphon.runtime.recognition import Recognition
from antiphon.runtime.requests import Requests
from antiphon.runtime.responses import Responses
from antiphon.runtime.run import Run
from antiphon.runtime.scope import outside
from antiphon.runtime.scrutiny import Scrutiny
from antiphon.runtime.tool_calls import INTERNAL_ERROR, ToolCalls
from antiphon.runtime.tool_runner import ToolRunner
from antiphon.store import Row, RowState
from antiphon.timer import catch_up
from antiphon.transport import AudioInput, AudioOutput
from antiphon.turn_detector import TurnDetector
from antiphon.vad import VAD

logger = logging.getLogger("antiphon")


class Driver:
    """One running conversation. Create it on the event loop that will run it."""

    def __init__(
        self,
        host: Host,
        options: SessionOptions,
        agent: str,
        *,
        audio_input: AudioInput | None = None,
        audio_output: AudioOutput | None = None,
        vad: VAD | None = None,
        turn_detector: TurnDetector | None = None,
        consent_judge: ConsentJudge | None = None,
        masks: Masks | None = None,
        keeping: Keeping | None = None,
        language: Language = ENGLISH,
    ) -> None:
        self._events = host.events
        self._speeches = host.speeches
        self._context = outside()
        mark = f"{os.urandom(4).hex()}_"
        masks = self._masks = masks or Masks(ENGLISH)
        has_output = audio_output is not None
        self.port = port = Port(self, options, self._context, mark=mark, masks=masks, has_audio_output=has_output)
        """What those are given who work for it."""
        self.loop = port.loop
        self._clock = port.clock
        self._conversation = Conversation(options, agent, port.epoch, mark)
        self._facts: list[Fact] = []
        self._performing = False
        self._now = self.began = self._clock()
        """When the call began."""
        self._observers: tuple[Observer, ...] = ()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = 0.0
        self._excused = float("-inf")
        """What falls due until then had its excuse."""
        self._closed: asyncio.Future[Close] = self.loop.create_future()
        agents, tools, speeches, events = host.agents, host.tools, host.speeches, host.events
        self.playout = Playout(port, agents, events, audio_output)
        self._calls = ToolCalls(agents, events, masks, language, silence_is_bridged=options.silence is not None)
        self._responses = Responses(port, agents, self.playout, self._calls)
        voice = CallersVoice(port, self.playout.tell_progress, has_detector=vad is not None)
        self.realtime = Realtime(port, agents, tools, events, voice, self._calls)
        window = ContextWindow(port, agents, tools, events)
        self._requests = Requests(agents, tools, events, masks, window, self.playout.written, self.port.clock)
        self._generation = Generation(
            agents, speeches, self._requests, self._responses, self._calls, self.playout, self.realtime
        )
        rows = None if keeping is None else keeping.rows
        self._tools = ToolRunner(port, agents, tools, speeches, events, self._calls, rows)
        self._hooks = Hooks(port, agents, tools, events, self._requests, self.realtime)
        self._judge = Judge(port, events, consent_judge)
        self.recognition = Recognition(
            port, agents, speeches, events, voice, self.realtime.push, audio_input, vad, turn_detector
        )

        if keeping is not None:
            keeping.begins(agent, port)
            self.observe(keeping)

    @property
    def options(self) -> SessionOptions:
        """What it runs with now."""
        return self._conversation.options

    @property
    def must_hear(self) -> tuple[MustHearLine, ...]:
        """What the caller must hear, and the proof of what they heard."""
        return self._conversation.must_hear

    def observe(self, observer: Observer) -> None:
        """Show it everything that happens from now on."""
        self._observers = (*self._observers, observer)

    def look_at_words(self, claims: ClaimPhrases, before: BeforeSpeech | None) -> None:
        """Have what models write looked at before it is spoken, from now on. A second time: no effect."""
        if self._responses.scrutiny is None:
            deeds = Deeds()
            self.observe(deeds)
            self._responses.look_at(Scrutiny(self.port, self._responses.agents, self._events, deeds, claims, before))

    def models_changed(self, fact: ModelsChanged, language: Language | None) -> None:
        """Other models serve from now on; `language` is spoken, None: the one before."""
        if language is not None:
            self._masks.tongue.changes(language)
            self._calls.speaks(language)
            if self._responses.scrutiny is not None:
                self._responses.scrutiny.speaks(language.claims)
        self.report(fact)
        if fact.stt:
            self.recognition.changes()

    # -- facts

    def start(self, agent: str) -> None:
        """Begin the conversation, and to listen for `agent`."""
        self._now = max(self._now, self._clock())
        self._span("time", self._now)
        self._conversation.start(self._now)
        self.playout.start()
        self._go_on()
        self.realtime.listen_for(agent)
        self.recognition.start(agent)

    def report(self, fact: Fact) -> None:
        """Tell the core what happened and perform what it decides, before this returns.

        Called while commands are being performed, it queues the fact behind them.
        """
        fact = well_formed_fact(fact)
        self._facts.append(self._masks.masked(fact) if self._masks.is_active else fact)
        if not self._performing:
            self._hear()

    def resumed(self, rows: Sequence[Row], numbers: Mapping[str, int], agent: str) -> None:
        """The core knows these rows, which are from before this process; `agent` is in charge."""
        self._tools.resumed(rows, numbers, agent)
        for row in rows:
            if row.state in (RowState.STARTED, RowState.UNKNOWN):
                self._calls.left_in_doubt(row.tool)

    def new_id(self) -> int:
        """A number for a speech, a task, a turn or a response that the core did not begin."""
        self._span("number", self._now)
        return self._conversation.new_id()

    def span(self, name: str, **data: object) -> None:
        """Tell observers of something that the core does not hear of."""
        if self._observers:
            self._span(name, max(self._now, self._clock()), **data)

    def _span(self, name: str, at: float, **data: object) -> None:
        for observer in self._observers:
            try:
                observer.span(name, at, **data)
            except BaseException as error:
                self._drop(observer, error, name)

    @property
    def idle(self) -> bool:
        """Nothing is owed, said, done or decided, and nothing reported is still unheard."""
        return not self._facts and self._conversation.idle

    @property
    def said_goodbye(self) -> bool:
        """The call ends, or has ended, with a goodbye that the caller had nothing to add to."""
        return self._conversation.said_goodbye

    def error_of(self, gen: int) -> BaseException | None:
        """What made a response fail. Told once, while its speech is not over."""
        return self._responses.take_error(gen)

    def runs(self) -> list[Run]:
        """The runs of tools that have not ended, oldest first."""
        return self._tools.running()

    def listen_for(self, agents: Sequence[str]) -> None:
        """The caller speaks to the last of these agents now, and to the others again later."""
        self.realtime.listen_for(agents[-1], agents)
        self.recognition.listen_for(agents[-1])

    @property
    def is_closed(self) -> bool:
        """The core has closed the conversation: nothing is performed any more."""
        return self._closed.done()

    async def wait_closed(self) -> Close:
        """Until the core closes the conversation: the reason it was given, and what the caller has not heard."""
        return await asyncio.shield(self._closed)

    def _go_on(self) -> None:
        """Perform what the core decided without a fact, and whatever follows from that."""
        self._performing = True
        try:
            self._perform_decided()
        finally:
            self._performing = False
        self._hear()

    def _hear(self) -> None:
        """Tell the core what was reported and perform what it decides, until nothing more is reported."""
        self._performing = True
        facts = self._facts
        try:
            while facts:
                self._receive(facts.pop(0))
                self._perform_decided()
        finally:
            self._performing = False
        self._arm()

    def _perform_decided(self) -> None:
        commands = self._conversation.take_commands()
        if self._observers:
            self._show(commands)
        for command in commands:
            try:
                perform = _PERFORM.get(type(command))
                if perform is None:
                    self._events.notify(command)  # type: ignore[arg-type]  # the table has all that are no notices
                else:
                    perform(self, command)
            except BaseException as error:
                self._failed(command, error)

    def _failed(self, command: Command, error: BaseException) -> None:
        pass_on(error)
        logger.error("performing %s failed", type(command).__name__, exc_info=error)
        self._events.failed(error, "runtime")
        closing = _closing_fact(command)
        if closing is not None:
            self._facts.append(closing)

    def _show(self, commands: list[Command]) -> None:
        for observer in self._observers:
            try:
                for command in commands:
                    show(observer, self._now, command)
            except BaseException as error:
                self._drop(observer, error, commands)

    def _receive(self, fact: Fact) -> None:
        now = self._clock()
        if now > self._now:
            self._now = now
        if now > self._timer_due:
            self._excuse()
        self._take(fact)

    def _excuse(self) -> None:
        """Tell the core that everything stood still: what stands ready is to come before what fell due meanwhile.

        Once for each deadline: where the loop is always late, time goes on all the same.
        """
        due = self._conversation.deadline if catch_up(self._now - self._timer_due) else None
        if due is not None and due > self._excused and (wait := catch_up(self._now - due)):
            self._excused = self._now + wait
            self._take(StoodStill(self._excused - due))

    def _take(self, fact: Fact) -> None:
        now = self._now
        for observer in self._observers:
            try:
                observer.fact(now, fact)
            except BaseException as error:
                self._drop(observer, error, fact)
        try:
            self._conversation.receive(fact, now)
        except BaseException as error:
            pass_on(error)
            # Never expected. Whoever reported the fact (a tool, a microphone) is not to blame and must not be hit.
            logger.exception("the conversation could not take %r", fact)
            self._events.failed(error, "core")

    def _drop(self, observer: Observer, error: BaseException, what: object) -> None:
        pass_on(error)
        # Never expected. The call is worth more than its figures and its log.
        name = type(observer).__name__
        logger.error("%r could not be shown to the %s, which is shown nothing more", what, name, exc_info=error)
        self._observers = tuple(one for one in self._observers if one is not observer)
        self._events.failed(error, name)

    # -- time

    def _arm(self) -> None:
        # A timer that fires too early re-arms itself, or stays away: cheaper than one cancelled timer for each fact.
        deadline = None if self._closed.done() else self._conversation.deadline
        if self._timer is not None:
            if deadline is None or self._timer_due <= deadline:
                return
            self._timer.cancel()
            self._timer = None
        if deadline is not None:
            self._timer_due = deadline
            self._timer = self.loop.call_at(deadline, self._on_timer, context=self._context)

    def _on_timer(self) -> None:
        self._timer = None
        self._now = max(self._now, self._clock(), self._timer_due)  # the loop may fire one clock tick early
        if not self._performing:
            self._excuse()
            self._span("time", self._now)
            self._conversation.advance(self._now)
            self._go_on()

    # -- commands

    def _record(self, command: Record) -> None:
        self.realtime.recorded(command)
        raw = self.playout.raw_text(command)
        self._speeches.record(command, self._masks.mask(raw) if raw else raw)

    def _stop_playout(self, command: StopPlayout) -> None:
        if command.at_word:
            self.playout.fade(command.segment)
        else:
            self.playout.stop(command.segment)

    def _speech_done(self, notice: SpeechDone) -> None:
        speech = notice.speech
        self._generation.forget(speech)
        self.playout.forget(speech)
        self.realtime.speech_done(speech)
        self._tools.speech_over(speech)
        self._events.notify(notice)

    def _speech_interrupted(self, notice: SpeechInterrupted) -> None:
        self._tools.speech_over(notice.speech)
        self._events.notify(notice)

    def _words_lost(self, notice: WordsLost) -> None:
        self.recognition.words_lost()
        self._events.notify(notice)

    def _write_ended(self, notice: WriteEnded) -> None:
        self._tools.write_ended(notice)
        if notice.outcome == "unknown":
            self._calls.left_in_doubt(tool_of(notice.call))
        self._events.notify(notice)

    def _hook_overdue(self, notice: HookOverdue) -> None:
        self._hooks.overdue(notice.hook)
        self._events.notify(notice)

    # -- the end

    def _close(self, command: Close) -> None:
        if not self._closed.done():
            self._closed.set_result(command)
        self.halt()

    def halt(self) -> None:
        """Silence everything and cancel every task. Waits for nothing."""
        if not self._closed.done():
            self._closed.set_result(Close("error"))
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._responses.halt()
        self.playout.halt()
        self.recognition.halt()
        self.realtime.halt()
        self.port.cancel_tasks()

    async def aclose(self, grace: float) -> None:
        """Wait at most `grace` seconds for the cancelled tasks, then release the audio.

        Tasks that stay deaf are abandoned.
        """
        await self.port.wait_for_tasks(grace)
        await self.recognition.aclose()
        await self.playout.aclose()


_PERFORM: dict[type[Command], Callable[[Driver, Any], None]] = {
    Record: Driver._record,
    Generate: lambda driver, command: driver._generation.generate(command),
    Adopt: lambda driver, command: driver._generation.adopt(command),
    Speak: lambda driver, command: driver._generation.speak(command),
    StopGenerating: lambda driver, command: driver._generation.stop(command.gen),
    Release: lambda driver, command: driver._generation.release(command),
    Discard: lambda driver, command: driver._generation.discard(command),
    Decline: lambda driver, command: driver.realtime.decline(command.response),
    CommitAudio: lambda driver, command: driver.realtime.commit_audio(command.turn),
    Play: lambda driver, command: driver.playout.play(command.segment, first=command.first),
    StopPlayout: Driver._stop_playout,
    PausePlayout: lambda driver, _: driver.playout.pause(),
    ResumePlayout: lambda driver, _: driver.playout.resume(),
    RunTool: lambda driver, command: driver._tools.run(command),
    CancelTool: lambda driver, command: driver._tools.cancel(command.run),
    RebindRun: lambda driver, command: driver._tools.rebind(command),
    ReleaseRun: lambda driver, command: driver._tools.release(command.run),
    RunHook: lambda driver, command: driver._hooks.run(command),
    JudgeReply: lambda driver, command: driver._judge.ask(command),
    PredictEndOfTurn: lambda driver, command: driver.recognition.predict(command.version, command.text),
    Close: Driver._close,
    SpeechDone: Driver._speech_done,
    SpeechInterrupted: Driver._speech_interrupted,
    WordsLost: Driver._words_lost,
    HookOverdue: Driver._hook_overdue,
    WriteEnded: Driver._write_ended,
}
"""What performs each kind of command, and the notices that performers heed. All other notices are only told."""


def _closing_fact(command: Command) -> Fact | None:
    """What a command that could not be performed closes with."""
    match command:
        case Generate() | Adopt() | Speak():
            return GenerationFailed(command.gen, "the runtime failed")
        case RunTool():
            return ToolReturned(command.run, INTERNAL_ERROR, is_error=True)
        case RunHook():
            return HookReturned(command.hook)
        case JudgeReply():
            return ReplyJudged(command.judgement)
        case Play() | StopPlayout():
            return PlayoutFinished(command.segment, "")
        case _:
            return None
