"""The conversation: facts in, commands out, time as an argument.

Theory of operation. A fact changes the state of one owner and nothing else. What follows is decided by `_settle`, a
short list of rules in order of right of way: it is gone through until no rule fires. A rule that may not fire now (the
caller speaks, a hook runs, a hand-off is due) fires when it may, because it looks at levels, not at edges. Timeouts
are facts too: a promise that is overdue assumes its closing fact.

Order within `receive`: the fact is admitted or refused; its owner changes; overdue promises become facts; timers of
the turn and the line run; the rules settle; then what is made ahead, and the silence budget. So facts come before
timers: speech that resumed beats the commit that was due, a result that is here beats its time limit, and the filler.

Nothing here reads a clock, awaits, or raises for anything the world can do. The list of `(now, fact or None)` that
went in is the journal of the session: replayed, it gives the same commands.
"""

from __future__ import annotations

from typing import assert_never

from antiphon.core import handoff, tool_loop
from antiphon.core.ahead import Ahead
from antiphon.core.closing import Closing, Phase
from antiphon.core.commands import (
    CancelTool,
    Command,
    CommitAudio,
    PredictEndOfTurn,
    RunHook,
    StopGenerating,
    StopPlayout,
)
from antiphon.core.facts import (
    AgentTaskFinished,
    AgentTaskStarted,
    CloseRequested,
    ContextChanged,
    EndOfTurnPredicted,
    EndRequested,
    Fact,
    GenerationFailed,
    Handoff,
    HandOffRequested,
    HookReturned,
    InterruptibilityChanged,
    InterruptionsDisallowed,
    InterruptRequested,
    PlayoutFinished,
    PlayoutProgressed,
    PlayoutStarted,
    PlayoutStarved,
    ResponseBegan,
    RunCancelRequested,
    RunResumed,
    RunSuspended,
    SoundReady,
    SpeechRequested,
    StepGenerated,
    TextStarted,
    ToolCalled,
    ToolReturned,
    ToolUpdated,
    Transcribed,
    TurnTaken,
    TurnTranscribed,
    UserSpeechEnded,
    UserSpeechStarted,
    UserTurnCleared,
    UserTurnCommitRequested,
    UserTurnSubmitted,
)
from antiphon.core.floor import Floor
from antiphon.core.line import Segment, Sound, Voice
from antiphon.core.phrases import count_words, is_backchannel, is_farewell
from antiphon.core.runs import Bond, Run
from antiphon.core.silence import Silence
from antiphon.core.speech import Kind, Speech, Stage, Turn
from antiphon.options import SessionOptions

_OPEN, _CLOSED = Phase.OPEN, Phase.CLOSED
_WAITING, _SPEAKING = Stage.WAITING, Stage.SPEAKING
"""Asked for with every fact; before Python 3.12 the member of an enum is long in being found."""

MAX_PASSES = 60
"""Rules settle in a handful of passes; more means that two of them undo each other, which is a defect."""


class Conversation:
    """The pure core of one session.

    `agent` is the id of the first agent. `epoch` is what must be added to `now` to get seconds since the Unix
    epoch, for the `created_at` of history items. `mark` is in the ids of its history items: contexts may hold items of
    several conversations. All calls must come from one thread, with `now` never going back.
    """

    def __init__(self, options: SessionOptions, agent: str, epoch: float = 0.0, mark: str = "") -> None:
        self._floor = Floor(options, agent, epoch, mark)
        self._out = self._floor.out
        self._closing = Closing()
        preemptive = options.turns.preemptive_generation
        self._ahead = Ahead(self._floor, preemptive) if preemptive.enabled and not options.model_hears else None
        self._silence = Silence(self._floor, options.silence) if options.silence is not None else None
        self._away_at: float | None = None
        """When the caller will count as away; None: somebody speaks, or something is being done."""
        self._predicted_version = -1
        self._agent_state = "initializing"
        self._user_state = "listening"
        self._was_idle = False

    # -- the interface of the driver

    def start(self, now: float) -> None:
        """The session begins: the first agent's `on_enter` runs."""
        self._out.now = now
        handoff.enter(self._floor, self._floor.top, None)
        self._finish(now)

    def receive(self, fact: Fact, now: float) -> None:
        """Take a fact. Late, doubled and orphaned ones are refused silently. Never raises for what the world can do."""
        out = self._out
        out.now = max(now, out.now)
        if self._closing.phase is _CLOSED:
            self._refuse(fact)
            return
        if out.admits(fact):
            self._route(fact)
            if type(fact) is PlayoutProgressed and out.next_overdue() is None:
                return  # the commonest fact of a spoken turn decides nothing
        self._finish(now)

    def advance(self, now: float) -> None:
        """Time passed; to be called when `deadline` is reached. Early and late calls do no harm."""
        self._out.now = max(now, self._out.now)
        if self._closing.phase is not _CLOSED:
            self._finish(now)

    @property
    def deadline(self) -> float | None:
        """When `advance` must be called next, on the clock of `now`; None: not before the next fact."""
        floor, closing = self._floor, self._closing
        if closing.phase is _CLOSED:
            return None
        first = self._out.deadline
        timers = [floor.line.deadline, floor.shields.deadline, closing.deadline, self._away_at]
        if not floor.turn.is_blank:
            timers += (floor.turn.deadline, floor.turn.limit_deadline)
        if floor.owed:
            timers.append(self._answer_due)
        if self._silence is not None:
            timers.append(self._silence.deadline)
        for time in timers:
            if time is not None and (first is None or time < first):
                first = time
        return first

    def take_commands(self) -> list[Command]:
        """The commands given since the last call, to be performed in order."""
        return self._out.take_commands()

    def new_id(self) -> int:
        """An id for a speech or a task that the application opens."""
        return self._out.new_id()

    @property
    def idle(self) -> bool:
        """Nothing is owed, queued, sounding, undelivered or handing over. Tools in the background do not count."""
        if self._closing.phase is _CLOSED:
            return True
        return self._floor.is_idle

    @property
    def said_goodbye(self) -> bool:
        """A goodbye was asked for, and the caller has not gone on since. Also true once it has closed so."""
        return self._closing.said_goodbye

    @property
    def running(self) -> list[Run]:
        """The runs that go on in the background, oldest first. To be read only."""
        return [run for run in self._floor.runs if run.active and run.bond is Bond.BACKGROUND]

    # -- facts

    def _refuse(self, fact: Fact) -> None:
        """The session is closed: whoever asks to speak is told that it will not happen."""
        if isinstance(fact, SpeechRequested):
            self._floor.emit("speech_interrupted", speech=fact.speech)
            self._floor.emit("speech_done", speech=fact.speech)

    def _route(self, fact: Fact) -> None:
        floor = self._floor
        match fact:  # the commonest first: the cases are tried in order
            case StepGenerated(gen, text):
                speech = floor.by_gen(gen)
                if speech is not None:
                    floor.text_complete(speech, text)
            case TextStarted(gen, written):
                self._out.rearm(gen, floor.options.generation_limit)
                speech = floor.by_gen(gen)
                if speech is not None:
                    floor.text_started(speech, written)
            case ToolCalled():
                tool_loop.called(floor, fact)
            case ToolReturned():
                tool_loop.returned(floor, fact)
            case PlayoutProgressed(segment, heard):
                floor.line.progressed(segment, heard)
            case PlayoutFinished(segment_id, heard, failed):
                gone = floor.line.finished(segment_id, heard)
                if gone is not None:
                    floor.segment_gone(gone)
                    if not (failed and tool_loop.voice_failed(floor, gone)):
                        floor.finish_if_over(gone.speech)
            case SpeechRequested():
                self._speech_requested(fact)
            case HookReturned():
                self._hook_returned(fact)
            case Transcribed(text, final):
                self._words(text, final=final)
            case UserTurnSubmitted(text):
                floor.typed.append(text)
            case SoundReady(segment):
                floor.sound_ready(segment)
            case PlayoutStarted(segment):
                floor.line.made_audible(segment, Voice.SOUNDING)
                floor.line.progressed(segment, "")
                self._announce(segment)
            case PlayoutStarved(segment):
                floor.line.made_audible(segment, Voice.SILENT)
            case UserSpeechStarted():
                self._voice_started()
            case UserSpeechEnded(silence):
                floor.turn.speech_ended(self._out.now, silence)
                floor.line.doubt(silence)
            case EndOfTurnPredicted(version, probability):
                floor.turn.predicted(version, probability)
            case UserTurnCommitRequested():
                floor.turn.commit(self._out.now)
            case UserTurnCleared():
                floor.turn.clear()
            case TurnTaken():
                self._turn_taken(fact)
            case TurnTranscribed(turn_id, text):
                floor.unasked.transcribed(turn_id, text, floor.waiting_turns())
            case ResponseBegan():
                floor.unasked.began(fact)
            case GenerationFailed(gen, error, text):
                tool_loop.failed(floor, gen, error, text)
            case ToolUpdated():
                tool_loop.updated(floor, fact)
            case InterruptionsDisallowed(run_id):
                self._protect(floor.runs.get(run_id))
            case RunSuspended(run_id):
                run = floor.runs.get(run_id)
                if run is not None:
                    floor.runs.suspend(run)
            case RunResumed(run_id):
                run = floor.runs.get(run_id)
                if run is not None and floor.runs.resume(run):
                    floor.resumed(run)
            case RunCancelRequested(run_id):
                run = floor.runs.get(run_id)
                if run is not None:
                    tool_loop.cancel(floor, run)
            case InterruptRequested(speech_id, force):
                self._interrupt_requested(speech_id, force)
            case InterruptibilityChanged(speech_id, interruptible):
                speech = floor.speech(speech_id)
                if speech is not None:
                    speech.interruptible = interruptible
            case HandOffRequested(agent):
                floor.request_handoff(floor.top, Handoff(agent, agent))
            case AgentTaskStarted():
                handoff.task_started(floor, fact)
            case AgentTaskFinished(task):
                handoff.task_finished(floor, task)
            case ContextChanged(agent, item):
                floor.history.version += 1
                if item is not None:
                    item.created_at = floor.history.wall
                    floor.history.record(item, agent)
            case EndRequested(speech_id, linger, reason):
                speech = floor.speech(speech_id)
                if speech is not None:
                    speech.ends_call = True
                self._closing.end_after(speech_id, linger, reason)
            case CloseRequested(drain, reason):
                self._closing.request(floor, drain=drain, reason=reason)
            case _:
                assert_never(fact)

    def _voice_started(self) -> None:
        turn, line = self._floor.turn, self._floor.line
        sounding = line.sounding
        if not turn.has_floor:
            turn.over_agent = sounding is not None
        turn.speech_started(self._out.now)
        if sounding is not None and not self._floor.is_protected(sounding.speech):
            line.suspect()

    def _words(self, text: str, *, final: bool) -> None:
        floor, turn = self._floor, self._floor.turn
        if not turn.has_floor and not turn.is_voiced:
            turn.over_agent = floor.line.sounding is not None
        turn.transcribed(text, final=final, now=self._out.now)
        if floor.line.sounding is None or turn.overruled:
            return
        is_new = turn.speaking or floor.line.is_doubted or not turn.is_voiced
        is_late = floor.line.sounding.speech.kind is Kind.FILLER and not is_new  # words of a voice before the filler
        if not is_late and self._means_to_interrupt(turn.text):
            self._interrupt_top()

    def _turn_taken(self, fact: TurnTaken) -> None:
        floor = self._floor
        over_agent = floor.turn.over_agent if floor.turn.has_floor else floor.line.sounding is not None
        floor.turn.clear()
        floor.unasked.took(fact, floor.top.agent, over_agent=over_agent)

    def _means_to_interrupt(self, text: str) -> bool:
        interruption = self._floor.options.turns.interruption
        return (
            interruption.enabled
            and self._floor.accepts_turns
            and count_words(text) >= max(1, interruption.min_words)
            and not is_backchannel(text)
            and not (self._closing.is_ending and is_farewell(text))
        )

    def _interrupt_top(self, *, fillers: bool = True) -> None:
        """The caller wants the word: what may be interrupted in the top frame is.

        `fillers=False`: a line that bridges the wait for this very turn to be over is no answer that it outdates.
        """
        floor = self._floor
        for speech in list(floor.top.speeches):
            if not floor.is_shielded(speech) and (fillers or speech.kind is not Kind.FILLER):
                floor.interrupt(speech)
        sounding = floor.line.sounding
        if not fillers and sounding is not None and sounding.speech.kind is Kind.FILLER:
            if not floor.turn.speaking:
                floor.line.clear_doubt()
            return
        if sounding is not None and sounding.speech.frame is not floor.top and not floor.is_protected(sounding.speech):
            floor.line.stop(sounding)
        if sounding is None or floor.line.sounding is None:
            floor.line.clear_doubt()

    def _announce(self, segment_id: int) -> None:
        for segment in self._floor.line.segments:
            if segment.id == segment_id:
                self._floor.emit("speech_started", speech=segment.speech.id)

    def _protect(self, run: Run | None) -> None:
        if run is None:
            return
        run.protected = True
        sounding = self._floor.line.sounding
        if sounding is not None and self._floor.is_protected(sounding.speech):
            self._floor.line.clear_doubt()
        if run.bond is Bond.ORPHAN:
            self._floor.keep_orphan(run)

    def _speech_requested(self, fact: SpeechRequested) -> None:
        if self._closing.ends_speech:
            self._refuse(fact)
        else:
            self._floor.open(fact)

    def _interrupt_requested(self, speech_id: int | None, force: bool) -> None:
        floor = self._floor
        wanted = list(floor.speeches()) if speech_id is None else [floor.speech(speech_id)]
        for speech in wanted:
            if speech is not None and not speech.interrupted and (force or not floor.is_shielded(speech)):
                speech.turns.clear()  # whoever interrupts wants silence, not the same answer once more
                floor.offers.silenced(speech)
                floor.interrupt(speech, force=force)

    def _hook_returned(self, fact: HookReturned) -> None:
        floor = self._floor
        turn = floor.judged
        if turn is None or fact.hook != turn.id:
            if not self._closing.hook_returned(fact.hook):
                handoff.hook_returned(floor, fact.hook)
            return
        floor.judged = None
        if self._ahead is not None and (fact.context_changed or fact.text is not None):
            self._ahead.spoil()
        if fact.text is not None:
            turn.text = fact.text
        emptied = not turn.text.strip() and (fact.text is not None or turn.heard_as is None)
        if fact.veto or emptied:
            if not emptied:
                floor.record_turn(turn, floor.top.agent)
            floor.emit("turn_vetoed", value=turn.text)
            return
        floor.emit("turn_committed", value=turn.text)
        shield = floor.shielding()
        if shield is not None and shield.step is not None and shield.step.calls:
            shield.held.append(turn)
        elif turn.over is not None and not (turn.over.interrupted or turn.over.finished):
            turn.over.held.append(turn)
        else:
            floor.commit(turn, floor.top.agent)

    # -- time

    def _finish(self, now: float) -> None:
        """After the fact: overdue promises, timers, rules, and what observers should know."""
        while (assumed := self._out.next_overdue()) is not None:
            self._assume(assumed)
        floor = self._floor
        if not floor.turn.is_blank:
            floor.turn.advance(now)
            if floor.turn.exceeds(now):
                floor.emit("turn_exceeded", value=floor.turn.text)
        if floor.line.advance(now):
            self._interrupt_top()
            floor.line.clear_doubt()
            floor.turn.over_agent = False  # it has the word now: what it says is a turn, however short
        if floor.shields:
            for speech in floor.shields.expired(now):
                if not floor.is_shielded(speech):
                    floor.interrupt(speech)
        self._settle()
        if floor.accepts_turns and floor.turn.wants_prediction and floor.turn.version != self._predicted_version:
            self._predicted_version = floor.turn.version
            self._out.send(PredictEndOfTurn(floor.turn.version, floor.turn.text))
        if self._ahead is not None:
            self._ahead.advance(mute=self._closing.phase is not Phase.OPEN)
        if self._silence is not None and self._silence.advance(mute=self._closing.ends_speech):
            self._settle()
        self._observe()

    def _assume(self, fact: Fact) -> None:
        """Time is up: what was promised counts as ended, and the one who promised is told to stop."""
        if not self._out.admits(fact):
            return
        match fact:
            case ToolReturned(run):
                self._out.send(CancelTool(run))
            case GenerationFailed(gen) | StepGenerated(gen):
                self._out.send(StopGenerating(gen))
            case PlayoutFinished(segment_id, failed=failed):
                self._out.send(StopPlayout(segment_id))
                heard = next((s.heard for s in self._floor.line.segments if s.id == segment_id), "")
                fact = PlayoutFinished(segment_id, heard, failed)
            case _:
                pass
        self._route(fact)

    # -- rules

    def _settle(self) -> None:
        floor, closing = self._floor, self._closing
        turn, unasked, line = floor.turn, floor.unasked, floor.line
        for _ in range(MAX_PASSES):
            # The rules, in order of right of way; each behind a cheap look at whether it can fire at all.
            fired = bool(turn.ready or floor.typed or unasked.taken) and self._commit()
            if turn.unheard:
                fired |= self._apologise()
            if unasked.responses:
                fired |= self._judge_responses()
            if floor.owed:
                fired |= self._reply()
            if floor.has_speeches:
                fired |= self._step()
            if line.segments:
                fired |= self._play()
            if floor.frames[-1].pending is not None:
                fired |= self._hand_off()
            if floor.offers:
                fired |= self._deliver()
            if closing.phase is not _OPEN:
                fired |= closing.advance(floor)
            if not fired:
                return
        raise AssertionError(
            "the rules of the conversation do not settle: this is a defect of Antiphon, please report it"
        )

    def _commit(self) -> bool:
        """A turn that is ready, or typed, is taken.

        It interrupts what may be interrupted, and the hook decides on it. One that only says that the caller listens
        interrupts no tool: the reply to its result answers both.
        """
        floor = self._floor
        if not floor.accepts_turns or floor.judged is not None:
            return False
        if floor.top.is_handing_over:
            return self._make_way()
        turn = self._next_turn()
        if turn is None:
            return False
        if turn is self._NO_TURN:
            floor.line.clear_doubt()
            return True
        if self._closing.is_ending:
            if is_farewell(turn.text) or is_backchannel(turn.text):
                floor.line.clear_doubt()
                floor.record_turn(turn, floor.top.agent)
                self._closing.agree(floor)
                return True
            self._closing.go_on()
        if is_backchannel(turn.text):
            turn.over = floor.at_work()
        if turn.over is None:
            self._interrupt_top(fillers=False)
        elif not floor.turn.speaking:
            floor.line.clear_doubt()
        floor.judged = turn
        self._out.promise(turn.id, HookReturned(turn.id), floor.options.hook_timeout)
        self._out.send(RunHook(turn.id, "on_user_turn_completed", floor.top.agent, turn.text, heard_as=turn.heard_as))
        return True

    _NO_TURN = Turn(0, "")
    """A backchannel over the agent, or a sound too short to interrupt: it is taken, and nothing follows."""

    def _next_turn(self) -> Turn | None:
        """The turn that is to be committed now, or None."""
        floor = self._floor
        if floor.typed:
            return Turn(self._out.new_id(), floor.typed.popleft())
        if floor.unasked.taken:
            return self._taken_turn()
        if not floor.turn.ready:
            return None
        is_none = self._is_no_turn
        text = floor.turn.take()
        if is_none:
            return self._NO_TURN
        turn = Turn(self._out.new_id(), text)
        if floor.options.model_hears:
            turn.heard_as, turn.heard_by = self._out.new_id(), floor.top.agent
            self._out.send(CommitAudio(turn.heard_as))
            if not text:
                floor.unasked.expect_words(turn.heard_as)
        return turn

    @property
    def _is_no_turn(self) -> bool:
        """What the caller said over the agent is a sign of listening, or a sound too short to mean anything."""
        turn, line = self._floor.turn, self._floor.line
        too_short = not turn.text and turn.voiced_for < line.long_enough
        return turn.over_agent and (too_short or is_backchannel(turn.text))

    def _taken_turn(self) -> Turn | None:
        """A turn that the model took. Whether it says goodbye to a goodbye only its words can tell."""
        floor = self._floor
        taken = floor.unasked.taken[0]
        if self._closing.is_ending and taken.text is None:
            return None
        floor.unasked.taken.popleft()
        text = taken.text or ""
        if taken.over_agent and is_backchannel(text):
            return self._NO_TURN
        due = self._out.now + floor.options.response_timeout if taken.answered else None
        return Turn(self._out.new_id(), text, heard_as=taken.id, heard_by=taken.agent, answer_due=due)

    def _judge_responses(self) -> bool:
        """A response that the model began unasked is adopted, waits for its turn, or is declined."""
        floor = self._floor
        judged = False
        for response in list(floor.unasked.responses.values()):
            if not self._may_speak_unasked(response):
                floor.unasked.decline(response)
                for turn in (*floor.owed, *([floor.judged] if floor.judged is not None else [])):
                    if turn.heard_as == response.turn:
                        turn.answer_due = None  # it will have to be asked
                judged = True
            elif response.turn is None:
                speech = Speech(self._out.new_id(), Kind.DELIVERY, floor.top, 1)
                floor.add(speech)
                floor.begin_step(speech, tools=floor.options.max_tool_steps > 0, response=response)
                judged = True
        return judged

    def _may_speak_unasked(self, response: ResponseBegan) -> bool:
        floor, top = self._floor, self._floor.top
        if self._closing.ends_speech or not floor.accepts_turns or response.agent != top.agent or top.is_handing_over:
            return False
        if response.turn is None:
            return not response.to_results and not floor.is_busy
        if any(taken.id == response.turn for taken in floor.unasked.taken):
            return True
        if floor.judged is not None and floor.judged.heard_as == response.turn:
            return True
        # An answer that began before what is protected has ended would not know of it.
        return bool(floor.owed) and floor.owed[-1].heard_as == response.turn and floor.shielding() is None

    @property
    def _answer_due(self) -> float | None:
        """When a turn that the model was to answer unasked is given to it as a question."""
        for turn in self._floor.owed:
            if turn.answer_due is not None and turn.answer_due > self._out.now:
                return turn.answer_due
        return None

    def _make_way(self) -> bool:
        """A turn waits for the next agent: what this one would still say is cut, or both would wait for ever."""
        floor = self._floor
        if not floor.typed and not floor.turn.ready and not floor.unasked.taken:
            return False
        if floor.turn.ready and self._is_no_turn:
            floor.turn.take()
            floor.line.clear_doubt()
            return True
        cut = [
            speech
            for speech in floor.top.speeches
            if not speech.interrupted and not floor.is_shielded(speech) and speech.kind is not Kind.FILLER
        ]
        for speech in cut:
            floor.interrupt(speech)
        return bool(cut)

    def _reply(self) -> bool:
        """Owed turns are answered, all by one reply, as soon as the caller lets the agent speak."""
        floor = self._floor
        if self._closing.ends_speech:
            return False
        if floor.judged is not None or floor.turn.ready or self._caller_has_floor or floor.line.is_stopping:
            return False
        if floor.typed or floor.unasked.taken or floor.top.is_handing_over or floor.shielding() is not None:
            return False
        if any(floor.unasked.awaits_words(turn, floor.top.agent) for turn in floor.owed):
            return False
        response = floor.unasked.answer_to(floor.owed, floor.top.agent)
        if response is None and self._answer_due is not None:
            return False
        speech = self._ahead.take() if self._ahead is not None else None
        if speech is not None:
            floor.release(speech)
            floor.answer(speech)
            return True
        speech = Speech(self._out.new_id(), Kind.REPLY, floor.top, 1)
        floor.add(speech)
        floor.answer(speech)
        floor.begin_step(speech, tools=floor.options.max_tool_steps > 0, response=response)
        return True

    def _apologise(self) -> bool:
        """The caller spoke and nobody knows what they said: they are asked to say it again."""
        floor = self._floor
        floor.turn.unheard = False
        line = floor.options.unheard_line
        is_answering = any(speech.kind is not Kind.FILLER for speech in floor.top.speeches)
        if not line or not floor.accepts_turns or is_answering or floor.owed or floor.typed:
            return False
        speech = Speech(self._out.new_id(), Kind.SAY, floor.top, 1)
        floor.add(speech)
        floor.begin_step(speech, say=line)
        return True

    @property
    def _caller_has_floor(self) -> bool:
        turn = self._floor.turn
        if turn.overruled:
            return False
        if turn.speaking:
            return True
        means_more = self._floor.accepts_turns and not (turn.over_agent and is_backchannel(turn.text))
        return turn.has_floor and means_more

    def _step(self) -> bool:
        """Speeches begin, run their tools, and go from round to round."""
        floor = self._floor
        moved = False
        for speech in floor.speeches():
            if speech.stage is _WAITING:
                if self._may_begin(speech):
                    floor.begin_step(speech, tools=floor.options.max_tool_steps > 0)
                    moved = True
            elif speech.stage is not _SPEAKING:
                moved = tool_loop.advance(floor, speech) or moved
        return moved

    def _may_begin(self, speech: Speech) -> bool:
        """Text to say is synthesized at once; replies are made one after another, so that each knows the one before."""
        if speech.frame is not self._floor.top:
            return False
        if speech.kind in (Kind.SAY, Kind.FILLER):
            return True
        if self._floor.line.is_stopping:  # How much was heard of what was cut is not known yet.
            return False
        if speech.rank == 1:
            return True
        for before in speech.frame.speeches:
            if before is speech:
                return True
            if before.kind not in (Kind.SAY, Kind.FILLER) and before.stage in (
                Stage.WAITING,
                Stage.GENERATING,
                Stage.TOOLS,
            ):
                return False
        return True

    def _play(self) -> bool:
        """What is next on the line is given to the loudspeaker."""
        floor = self._floor
        if floor.line.paused:
            return False
        floor.line.fade()
        segment = floor.line.next_to_play()
        if segment is None or self._closing.ends_speech:
            return False
        if segment.speech.kind is Kind.FILLER:
            if floor.turn.speaking:
                return False
        elif segment.speech.interruptible and self._caller_has_floor and not self._turn_must_wait:
            return False
        if self._is_preceded(segment):
            return False
        floor.line.play(segment)
        return True

    @property
    def _turn_must_wait(self) -> bool:
        """A turn that is over belongs to the next agent: what this one must still say (protected) comes before it."""
        floor = self._floor
        return floor.top.is_handing_over and floor.turn.ready and not floor.turn.speaking

    @staticmethod
    def _is_preceded(segment: Segment) -> bool:
        """An older speech of no lower right is about to begin to speak, and this one is not part of it."""
        speech = segment.speech
        for before in speech.frame.speeches:
            if before is speech:
                return False
            if speech.parent is not None and speech.parent.speech is before:
                continue
            step = before.step
            about_to = before.stage is Stage.GENERATING and step is not None and step.segment.sound is Sound.OPEN
            if about_to and before.kind is not Kind.FILLER and before.rank <= speech.rank:
                return True
        return False

    def _hand_off(self) -> bool:
        if self._closing.ends_speech:
            return False
        return handoff.advance(self._floor)

    def _deliver(self) -> bool:
        """Results from the background are told when the line is free, all in one speech."""
        floor = self._floor
        if not floor.accepts_turns or floor.is_busy:
            return False
        offers = floor.offers.in_frame(floor.top)
        if not offers:
            return False
        speech = Speech(self._out.new_id(), Kind.DELIVERY, floor.top, 1, made_for=[o.id for o in offers])
        floor.add(speech)
        floor.begin_step(speech, tools=any(o.final for o in offers) and floor.options.max_tool_steps > 0)
        return True

    # -- observers

    def _observe(self) -> None:
        floor = self._floor
        if self._closing.phase is _CLOSED:
            return
        is_away = self._caller_is_away()
        user = "speaking" if floor.turn.speaking else "away" if is_away else "listening"
        if user != self._user_state:
            self._user_state = user
            floor.emit("user_state", value=user)
        agent = self._state_of_agent()
        if agent != self._agent_state:
            self._agent_state = agent
            floor.emit("agent_state", value=agent)
        idle = agent == "listening" and self.idle  # who speaks or thinks is not
        if idle and not self._was_idle:
            floor.emit("idle")
        self._was_idle = idle

    def _caller_is_away(self) -> bool:
        """Nobody has said or done anything for a long time, and it would be the caller's turn."""
        timeout, floor = self._floor.options.user_away_timeout, self._floor
        if timeout is None:
            return False
        if floor.is_busy or floor.top.entering is not None or any(run.active for run in floor.runs):
            self._away_at = None
            return False
        if self._user_state == "away":
            return True
        if self._away_at is None:
            self._away_at = self._out.now + timeout
        if self._out.now < self._away_at:
            return False
        self._away_at = None
        return True

    def _state_of_agent(self) -> str:
        floor = self._floor
        if floor.line.sounding is not None:
            return "speaking"
        if floor.owed or floor.judged is not None or floor.top.speeches:
            return "thinking"
        return "listening"
