"""The caller's turns: when they are taken, and that they are answered."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from antiphon.chat import ChatMessage
from antiphon.core import commands as do
from antiphon.core import facts as f
from antiphon.core import notices as told
from tests.core.fuzz.listener import on
from tests.core.fuzz.promises.promise import Promise, asks_presence, only_listens
from tests.core.fuzz.trace import EPSILON, Speech, Step, Trace, serials


class ATurnIsTakenWhenItIsOver(Promise):
    """A spoken turn was silent for as long as endpointing asks, or is too long, or the application ends it (facts).

    One that a model hears is over when that is told so, also where it is looked at later.
    """

    def start(self) -> None:
        self._committed: set[int] = set()
        """Turns that models were told are over."""
        self._is_excused = False
        """The application ended the turn, or it is too long."""
        self._was_over = False
        """It was, before the fact at hand."""
        self._late: int | None = None
        """The version of the turn for which the detector's opinion came too late."""

    @on(f.UserTurnCommitRequested, told.TurnExceeded)
    def excused(self, _: object) -> None:
        self._is_excused = True

    @on(f.UserTurnCleared)
    def cleared(self, _: f.UserTurnCleared) -> None:
        self._is_excused = False

    @on(f.EndOfTurnPredicted)
    def predicted(self, fact: f.EndOfTurnPredicted) -> None:
        if self._was_over:
            self._late = fact.version

    @on(do.CommitAudio)
    def ended(self, command: do.CommitAudio) -> None:
        self._committed.add(command.turn)
        self._check(command)

    @on(do.RunHook)
    def taken(self, command: do.RunHook) -> None:
        if command.kind != "on_user_turn_completed" or command.text in self.trace.given:
            return
        is_of_gate = not command.hook and self.options.model_hears  # when it was over the model was told so
        if command.heard_as not in self._committed and not is_of_gate:
            self._check(command)

    def _check(self, command: do.CommitAudio | do.RunHook) -> None:
        excused, self._is_excused = self._is_excused, False
        since, endpointing = self.trace.silent_since, self.options.turns.endpointing
        if excused or since is None or self.options.turns.detection == "realtime_llm":
            return
        probability = None if self._late == self.trace.version else self.trace.probability
        is_unlikely = probability is not None and probability < endpointing.unlikely
        delay = endpointing.max_delay if is_unlikely else endpointing.min_delay
        if self.trace.now - since < delay - EPSILON:
            self.broken(f"{command} after {self.trace.now - since:.2f} s of silence, not {delay}")

    def settled(self) -> None:
        trace = self.trace
        since = trace.silent_since if trace.probability is None else None
        self._was_over = since is not None and trace.now >= since + self.options.turns.endpointing.min_delay - EPSILON


class TurnsAreTakenOneByOne(Promise):
    """While a turn hook runs the next turn waits; during a hand-off it waits for the next agent (design 1)."""

    @on(do.RunHook)
    def taken(self, command: do.RunHook) -> None:
        if command.kind != "on_user_turn_completed":
            return
        is_leaving = command.agent in self.trace.leaving
        if is_leaving and [agent for _, agent in self.trace.frames].count(command.agent) > 1:
            return  # it has two frames: which of them it leaves cannot be told
        if command.agent != self.trace.agent or is_leaving:
            self.broken(f"{command} in the middle of a hand-off: {self.trace.frames}")
        if any(hook.kind == command.kind for hook in self.trace.hooks.values()):
            self.broken(f"{command} beside the hook of another turn")


class AListenerInterruptsNoTool(Promise):
    """A backchannel never interrupts a call (tool loop 5)."""

    def start(self) -> None:
        self._released = self._listens = self._was_paused = False

    @on(do.ReleaseRun)
    def released(self, _: do.ReleaseRun) -> None:
        self._released = True

    @on(do.RunHook)
    def taken(self, command: do.RunHook) -> None:
        self._listens = self._listens or only_listens(command.text)

    def settled(self) -> None:
        released, listens, self._released, self._listens = self._released, self._listens, False, False
        trace, was_paused = self.trace, self._was_paused
        self._was_paused = trace.is_paused
        if was_paused and trace.is_speaking and trace.fact is None:
            return  # their voice lasts: that interrupts, whatever they said before it
        if released and listens and not isinstance(trace.fact, (f.InterruptRequested, f.AgentTaskFinished)):
            self.broken("a turn that only says that the caller listens takes a tool its call")


class ATurnSilencesWhatWaits(Promise):
    """What was to be said when the caller took a turn is not said after it: of no agent on the stack (tool loop 4, 5).

    But for what is protected, bridges the wait, or was asked for while they spoke.
    """

    def start(self) -> None:
        self._begun: set[int] = set()
        """Generations whose text has begun."""
        self._outdated: set[Step] = set()

    @on(f.TextStarted)
    def begun(self, fact: f.TextStarted) -> None:
        self._begun.add(fact.gen)

    @on(do.RunHook)
    def taken(self, command: do.RunHook) -> None:
        if not command.hook:  # a reply to what was read back: it silences that alone
            return
        trace = self.trace
        if command.kind != "on_user_turn_completed" or only_listens(command.text):
            return
        if asks_presence(command.text) and command.heard_as is None and trace.making is not None:
            return
        for step in trace.steps.values():
            waits = (
                step.gen in self._begun and not (step.is_held or step.is_over or step.is_filler) and step.played is None
            )
            if waits and not trace.is_protected(step.speech):
                self._outdated.add(step)

    @on(do.Play)
    def played(self, command: do.Play) -> None:
        step = self.trace.segments.get(command.segment)
        if step in self._outdated:
            self.broken(f"{command}, which waited when the caller took a turn")


class WhatIsAskedForOverTheCallerIsSaid(Promise):
    """What the application asks for while the caller speaks is not what they speak over: it comes behind (tool loop 5).

    So does what a tool in the background asks for.
    """

    def start(self) -> None:
        self._asked: set[Speech] = set()

    @on(f.SpeechRequested)
    def requested(self, fact: f.SpeechRequested) -> None:
        run = self.trace.live_run(fact.run)
        is_by_itself = fact.run is None or (run is not None and run.is_updated)
        if self.trace.is_speaking and not self.trace.is_overruled and fact.interruptible and is_by_itself:
            self._asked.add(self.trace.speech(fact.speech))

    @on(told.SpeechInterrupted)
    def interrupted(self, notice: told.SpeechInterrupted) -> None:
        trace, speech = self.trace, self.trace.speech(notice.speech)
        if speech not in self._asked or speech.steps or speech.is_goodbye or speech.is_filler or trace.ends:
            return
        if not isinstance(trace.fact, (f.InterruptRequested, f.AgentTaskFinished, f.SpeechRequested)):
            self.broken(f"{notice}, which the caller cannot have spoken over")


class OneReplyAnswersBoth(Promise):
    """One reply answers what a protected tool came to, and what the caller said meanwhile (tool loop 5)."""

    def start(self) -> None:
        self._added: dict[Speech, set[str]] = {}
        self._is_handing_over = False
        """Another agent is to answer what the caller says now."""

    @on(f.HandOffRequested, f.ToolReturned)
    def requested(self, fact: f.HandOffRequested | f.ToolReturned) -> None:
        self._is_handing_over |= isinstance(fact, f.HandOffRequested) or fact.handoff is not None

    @on(do.RunHook)
    def entered(self, command: do.RunHook) -> None:
        self._is_handing_over &= command.previous is None

    def _protecting(self) -> Speech | None:
        trace = self.trace
        return next(
            (run.speech for run in trace.live_runs
             if run.is_protected and run.is_attached and not run.waits and run.made.step.agent == trace.agent), None
        )  # fmt: skip

    @on(told.TurnCommitted)
    def committed(self, notice: told.TurnCommitted) -> None:
        speech = self._protecting()
        if speech is not None and notice.text:
            self._added.setdefault(speech, set()).add(notice.text)

    @on(do.Generate)
    def asked(self, command: do.Generate) -> None:
        trace, speech = self.trace, self.trace.speech(command.speech)
        missing = self._added.pop(speech, set()) - trace.turns_before(command)
        if missing:
            self.broken(f"{command} does not know {sorted(missing)}")
        calls = speech.steps[-1].calls if speech.steps else []
        is_protected = any(made.run is not None and made.run.is_protected for made in calls)
        if is_protected and not speech.interruptible and trace.is_speaking and not trace.is_overruled:
            if command.agent == trace.agent and not (trace.ends or self._is_handing_over):
                self.broken(f"{command}, while the caller adds to it")


class WordsBecomeTurns(Promise):
    """What the caller says is never discarded (tool loop 5), and becomes one turn, not two."""

    @on(do.RunHook)
    def taken(self, command: do.RunHook) -> None:
        twice = serials(command.text) & self.trace.taken_words
        if twice:
            self.broken(f"{command} takes for the second time {sorted(twice)}")

    def unfinished(self) -> Iterable[str]:
        if self.options.turns.detection != "manual":
            for word in self.trace.words:
                yield f"word {word}"


class ATaskIsNotDeaf(Promise):
    """User turns belong to the child (tool loop 4): where only the end of a task is waited for, its agent has them."""

    def start(self) -> None:
        self._said_to: dict[str, int] = {}
        """Turns that are committed and not in the history, and the task in charge when they were."""

    @on(told.TurnCommitted)
    def committed(self, notice: told.TurnCommitted) -> None:
        if serials(notice.text):
            self._said_to[notice.text] = self.trace.frames[-1][0]

    @on(do.Record)
    def recorded(self, command: do.Record) -> None:
        self._said_to.pop(getattr(command.item, "text_content", None) or "", None)

    def settled(self) -> None:
        trace = self.trace
        if trace.deadline is not None or not trace.tasks or trace.is_speaking or trace.ends:
            return
        asking = {task.run for task in trace.tasks.values()}
        if trace.is_held_by_the_caller or any(run.waits and run.number not in asking for run in trace.live_runs):
            return  # what waits begins a task, or has just ended one, or waits for what it says
        deaf_to = [text for text, task in self._said_to.items() if task == trace.frames[-1][0]]
        if self.options.turns.detection != "manual":
            deaf_to += trace.words
        if deaf_to:
            self.broken(f"{trace.agent} is deaf to {deaf_to}: it waits for the end of its own task")


class AReplyInTheMakingAnswersHello(Promise):
    """A turn that only asks whether somebody is there does not cut a reply of which nothing has sounded (tool loop 5).

    It enters the history, before that reply, which answers both.
    """

    def start(self) -> None:
        self._cut: set[Speech] = set()
        """Replies in the making that the caller's latest words cut."""
        self._before: dict[Speech, str] = {}
        """What is to be in the history before any word of these replies."""

    @on(f.UserSpeechStarted)
    def voice_began(self, _: f.UserSpeechStarted) -> None:
        self._cut.clear()

    @on(told.SpeechInterrupted)
    def interrupted(self, notice: told.SpeechInterrupted) -> None:
        speech = self.trace.speech(notice.speech)
        fact, language = self.trace.fact, self.options.language
        text = fact.text if isinstance(fact, f.Transcribed | f.UserTurnSubmitted) else ""
        is_others = self.trace.agent in self.trace.leaving or (fact is None and self._is_decided_on())
        is_theirs = fact is None or language.asks_presence(text, so_far=True)
        if speech is self.trace.making and is_theirs and not is_others:
            self._cut.add(speech)
        self._before.pop(speech, None)

    def _is_decided_on(self) -> bool:
        """A turn before is: it is that which counts, when time has passed."""
        return any(hook.kind == "on_user_turn_completed" for hook in self.trace.hooks.values())

    @on(do.RunHook)
    def taken(self, command: do.RunHook) -> None:
        if command.kind == "on_exit":  # who hands over makes way for whoever is to answer
            self._cut.clear()
        if command.kind != "on_user_turn_completed":
            return
        cut, self._cut = self._cut, set()
        if not asks_presence(command.text) or command.heard_as is not None:
            return
        if cut:
            self.broken(f"{command} cuts {[speech.number for speech in cut]}, of which nothing has sounded")
        reply = self.trace.making
        if reply is not None:
            self._before[reply] = command.text

    @on(told.TurnCommitted, told.TurnVetoed)
    def decided(self, notice: told.TurnCommitted | told.TurnVetoed) -> None:
        if isinstance(notice, told.TurnVetoed) or self.trace.answers_as_well(notice.text) is None:
            self._before.clear()

    @on(do.Record)
    def recorded(self, command: do.Record) -> None:
        item = command.item
        if not isinstance(item, ChatMessage) or command.carried:
            return
        for speech, text in list(self._before.items()):
            if item.role == "user" and (item.text_content == text or isinstance(self.trace.fact, f.HookReturned)):
                del self._before[speech]
            elif item.id in {do.message_id(step.segment, self.trace.mark) for step in speech.steps}:
                if speech.steps[-1].agent != self.trace.agent:
                    continue  # another agent has it
                self.broken(f"{command} stands before {text!r}, which it answers")


class TheHookDecides(Promise):
    """`HookReturned`: `text` replaces the caller's words; `veto` drops the reply (facts)."""

    @on(told.TurnCommitted, told.TurnVetoed)
    def decided(self, notice: told.TurnCommitted | told.TurnVetoed) -> None:
        fact = self.trace.fact
        if type(fact) is f.HookReturned and self.trace.returned is not None:
            is_sound = self.trace.returned.heard_as is not None  # a turn that the model heard needs no words
            may_be_answered = not fact.veto and (is_sound if fact.text is None else bool(fact.text))
            if may_be_answered is not (type(notice) is told.TurnCommitted) and (fact.veto or is_sound):
                self.broken(f"{notice}, and the application said {'no' if fact.veto else 'yes'}")
            if fact.text is not None and notice.text != fact.text:
                self.broken(f"{notice}, and the application said {fact.text!r}")


@dataclass(slots=True)
class Owed:
    """A turn of the caller that was committed."""

    text: str
    heard_as: int | None = None
    """The id under which a model heard it."""
    heard_by: str = ""
    """The agent whose model that is."""
    carriers: list[Speech] = field(default_factory=list)
    """The speeches whose requests had it before them."""


class TurnsAreAnswered(Promise):
    """A committed user turn is answered, or the application said not to; also over a hand-off (design 1).

    It is owed until a speech with it in context was heard, or ended without being interrupted by the caller. What an
    agent's model heard no other agent has in context before its words are known.
    """

    def start(self) -> None:
        self._owed: list[Owed] = []
        self._words_due: dict[int, float] = {}
        """By turn that a model heard: when its words must have come."""
        self._heard_by: dict[int, str] = {}
        """By turn: the agent whose model heard it."""

    @on(f.TurnTaken, do.CommitAudio)
    def heard(self, what: f.TurnTaken | do.CommitAudio) -> None:
        self._words_due[what.turn] = self.trace.now + self.options.words_timeout
        self._heard_by[what.turn] = self.trace.agent

    @on(f.TurnTranscribed)
    def worded(self, fact: f.TurnTranscribed) -> None:
        if self.trace.now >= self._words_due.pop(fact.turn, 0.0) - EPSILON:
            return
        for turn in self._owed:
            if turn.heard_as == fact.turn:
                turn.text = fact.text.strip()

    @on(told.TurnCommitted)
    def committed(self, notice: told.TurnCommitted) -> None:
        hook = self.trace.returned
        heard_as = None if hook is None else hook.heard_as
        turn = Owed(notice.text, heard_as, self._heard_by.get(heard_as or 0, ""))
        reply = self.trace.answers_as_well(notice.text)
        if reply is not None:
            turn.carriers.append(reply)
        if reply is None or not reply.done:
            self._owed.append(turn)

    @on(do.Generate, do.Adopt, do.Release)
    def asked(self, command: do.Generate | do.Adopt | do.Release) -> None:
        if not self._owed:
            return
        knows, speech = known_turns(self.trace, command), self.trace.speech(command.speech)
        for turn in self._owed:
            if not self._is_strange_to(turn, command) and (knows is None or not turn.text or turn.text in knows):
                turn.carriers.append(speech)

    def _is_strange_to(self, turn: Owed, command: do.Generate | do.Adopt | do.Release) -> bool:
        """Its words are not known yet, and who is asked did not hear it."""
        if turn.text or turn.heard_as is None or isinstance(command, do.Release):
            return False
        return turn.heard_by != command.agent and self.trace.now < self._words_due.get(turn.heard_as, 0.0) - EPSILON

    @on(told.SpeechDone)
    def done(self, notice: told.SpeechDone) -> None:
        speech = self.trace.speech(notice.speech)
        if is_answer(speech):
            self._owed = [turn for turn in self._owed if speech not in turn.carriers]

    def unfinished(self) -> Iterable[str]:
        return [f"turn {turn.text!r}" for turn in self._owed]


def known_turns(trace: Trace, command: do.Generate | do.Adopt | do.Release) -> set[str] | None:
    """The texts of the turns that a request has before it; None: all of them."""
    asked = trace.steps[command.gen].asked if isinstance(command, do.Release) else command
    if isinstance(asked, do.Generate):
        return set() if asked is command and command.ahead else trace.turns_before(asked)
    if isinstance(asked, do.Adopt) and trace.responses[asked.response].turn is not None:
        return None  # the model heard them itself
    return set()


def is_answer(speech: Speech) -> bool:
    """What it was to answer is answered by it; or the application, which silenced it, wants no answer."""
    return speech.heard or speech.silenced or not speech.interrupted


class EveryReplyAnswersSomebody(Promise):
    """A reply that nobody asked for answers turns that no other one answers, and not in silence (tool loop 4)."""

    def start(self) -> None:
        self._owed: list[str] = []
        self._answering: dict[Speech, list[str]] = {}
        self._is_wordless = False
        """Turns were committed before their words were known: nobody can tell which of them a request knows."""

    @on(told.TurnCommitted)
    def committed(self, notice: told.TurnCommitted) -> None:
        reply = self.trace.answers_as_well(notice.text)
        if reply is None:
            self._owed.append(notice.text)
        elif not reply.done:
            self._answering.setdefault(reply, []).append(notice.text)
        self._is_wordless = self._is_wordless or not notice.text

    @on(do.Generate, do.Adopt, do.Release)
    def asked(self, command: do.Generate | do.Adopt | do.Release) -> None:
        trace, speech = self.trace, self.trace.speech(command.speech)
        is_new = not any(step.is_asked for step in speech.steps)
        if speech.is_filler or (is_new and speech.request is not None):
            return
        if isinstance(command, do.Generate) and (command.ahead or command.delivery):
            if command.delivery and not command.unheard:
                self.broken(f"delivery {command.speech} has nothing to tell")
            return
        if isinstance(command, do.Adopt) and trace.responses[command.response].turn is None:
            return
        knows = known_turns(trace, command)
        if is_new:
            answers = [text for text in self._owed if knows is None or not text or text in knows]
            if not answers and not self._is_wordless:
                self.broken(f"reply {speech.number} answers nobody")
        else:  # turns came since its latest request
            answers = [text for text in self._owed if text and text in (knows or ())]
        self._answering.setdefault(speech, []).extend(answers)
        self._owed = [text for text in self._owed if text not in answers]

    @on(told.SpeechDone)
    def done(self, notice: told.SpeechDone) -> None:
        speech = self.trace.speech(notice.speech)
        answers = self._answering.pop(speech, [])
        if answers and not is_answer(speech):
            self._owed += answers
        elif answers and not (self.trace.ends or speech.interrupted or speech.rounds):
            if not any(step.has_begun or step.text for step in speech.steps):
                self.broken(f"speech {speech.number} ended in silence")


class LostWordsAreTold(Promise):
    """That the caller was not heard is said when the recogniser understood nothing, or is told that it lost words.

    It is said later where the reply that would have made good for it comes to nothing.
    """

    def start(self) -> None:
        self._are_lost = False
        """Observers were told so, and no words came since."""
        self._nothing = False
        """The recogniser said so."""

    @on(f.Transcribed)
    def transcribed(self, fact: f.Transcribed) -> None:
        self._nothing = (self._nothing and not fact.text) or (fact.final and not fact.text)
        self._are_lost = self._are_lost and not fact.text

    @on(told.WordsLost)
    def lost(self, _: told.WordsLost) -> None:
        self._are_lost = True

    @on(do.Speak)
    def spoken(self, command: do.Speak) -> None:
        if not command.text or command.text != self.options.unheard_line or self.trace.speech(command.speech).steps:
            return
        if not (self._are_lost or self._nothing):
            self.broken(f"{command}, and nobody is told that words are lost")
        self._are_lost = False


class NoSilenceFollowsAWord(Promise):
    """Whatever the caller's words were taken for, something follows: their turn, or the agent goes on (tool loop 5).

    So with speech that the recogniser understood nothing of, unless it was over the agent: they are told.
    """

    A_BREATH = 1.4
    REAL_SPEECH = 0.8
    """Seconds."""

    def start(self) -> None:
        self._said: str | None = None
        """What nothing has followed so far."""
        self._said_at = 0.0
        self._taken = ""
        """The latest turn, if its last words had not come for good."""
        self._over: Step | None = None
        """What they were said over, and what was heard of it then."""
        self._heard = ""
        self._has_begun = False
        """What they were said over is known: a voice was heard, or words of which none was."""
        self._questions: set[Step] = set()
        """What began to sound since, and ends with a question."""
        self._was_over_agent = False
        self._spoke_at: float | None = None
        self._is_real = False
        """The voice before these words was long enough to mean something."""

    @on(f.UserSpeechStarted)
    def voice_began(self, _: f.UserSpeechStarted) -> None:
        if self._said is None and self._spoke_at is None:
            self._was_over_agent = bool(self.trace.line)
            self._begins()
        self._spoke_at = self.trace.now if self._spoke_at is None else self._spoke_at
        self._said = None if self._said == NOT_UNDERSTOOD else self._said

    @on(f.PlayoutStarted)
    def began_to_sound(self, fact: f.PlayoutStarted) -> None:
        if self._said is not None and fact.segment in self.trace.segments:
            self._questions.add(self.trace.segments[fact.segment])

    def _begins(self) -> None:
        self._has_begun, self._over = True, self._sounding()
        self._heard = "" if self._over is None else self._over.heard

    @on(f.UserSpeechEnded)
    def voice_ended(self, _: f.UserSpeechEnded) -> None:
        began, self._spoke_at = self._spoke_at, None
        since = self.trace.silent_since
        self._is_real = began is not None and since is not None and since - began >= self.REAL_SPEECH

    @on(f.Transcribed)
    def transcribed(self, fact: f.Transcribed) -> None:
        trace = self.trace
        if self.options.turns.detection not in ("vad", "stt") or not fact.final or trace.ends:
            return
        words = serials(fact.text)
        is_taken, self._taken = self._is_last_form(fact.text), ""
        if self._said is None and not self._has_begun:  # words of which no voice was heard
            self._begins()
        if fact.text and not is_taken and not (words and words <= trace.taken_words):
            self._said, self._said_at = fact.text, trace.now
            self._questions.clear()
        elif not fact.text and self._said is None and self._was_speech():
            self._said, self._said_at = NOT_UNDERSTOOD, trace.now

    def _is_last_form(self, text: str) -> bool:
        """It is what a turn took before it was understood for good, and no more."""
        words = re.findall(r"\w+", text)
        return bool(words) and re.findall(r"\w+", self._taken)[-len(words) :] == words

    def _was_speech(self) -> bool:
        trace = self.trace
        is_known = trace.is_speaking or trace.latest_word or self._was_over_agent or not self.options.unheard_line
        return self._is_real and not is_known

    @on(do.RunHook, do.Play, f.UserTurnCleared, f.CloseRequested)
    def followed(self, what: object) -> None:
        if isinstance(what, do.RunHook):
            followed = what.kind == "on_user_turn_completed"
            if followed and self._listened_before_a_question(what):
                self.broken(f"{what}, and the question was still to come")
            self._taken = what.text if followed and self.trace.is_interim else self._taken
        elif isinstance(what, do.Play):
            is_answer = not self.trace.segments[what.segment].is_filler
            followed = is_answer and self._said == NOT_UNDERSTOOD
            self._is_real = self._is_real and not is_answer
            self._was_over_agent = self._was_over_agent or is_answer
        else:
            followed = True
        self._said = None if followed else self._said
        self._has_begun &= not followed or isinstance(what, do.Play)

    def passed(self, now: float) -> None:
        if self.trace.is_put:  # what decides nothing is followed by the question
            self._said = None
        if self._said is None or now < self._said_at + self.A_BREATH or self.trace.is_paused:
            return
        if self._said == NOT_UNDERSTOOD:
            is_still_to_come = self.trace.deadline is not None and self.trace.deadline <= now + EPSILON
            if self.trace.is_idle and not (self.trace.ends or is_still_to_come):
                self.broken("the caller was not understood, and nothing follows")
        elif self._sounding() is not None and not self._was_over_a_question():
            self._said = None  # the agent goes on

    def _sounding(self) -> Step | None:
        return next((step for step in self.trace.line[:1] if step.is_playing and not step.is_filler), None)

    def _rest(self) -> list[str]:
        text = "" if self._over is None or self._over.text is None else self._over.text
        return re.split(r"(?<=[.?]) ", text.removeprefix(self._heard).strip())

    def _was_over_a_question(self) -> bool:
        rest, line = self._rest(), self.trace.line
        return line == [self._over] and len(rest) == 1 and rest[0].endswith("?")

    def _is_asked(self) -> bool:
        """A question was still to come, and was heard."""
        if any(step.text and step.text.endswith("?") and step.heard == step.text for step in self._questions):
            return True
        return self._is_asked_in_the_same_breath()

    def _is_asked_in_the_same_breath(self) -> bool:
        """It was the end of what they were said over."""
        over, rest = self._over, self._rest()
        if over is not None and over.unsaid and not over.heard:  # it gave no sound, and was said again
            over = next((step for step in over.speech.steps if getattr(step.asked, "text", None) == over.unsaid), over)
        return over is not None and over.heard == over.text and len(rest) > 1 and rest[-1].endswith("?")

    def _listened_before_a_question(self, command: do.RunHook) -> bool:
        """It is a sign of listening, and what it was said over ended with a question that was heard behind it."""
        over = self._over
        if over is None or not only_listens(command.text) or command.text != self._said or self.trace.is_overruled:
            return False
        if any(step.speech.asks_who_is_there for step in (over, *self._questions)):
            return False  # any word answers that
        return self._is_asked_in_the_same_breath()

    @on(told.BecameIdle)
    def idle(self, _: told.BecameIdle) -> None:
        if self._said == NOT_UNDERSTOOD:
            return
        said, self._said = self._said, None
        if said is not None and not self.trace.ends and not self._is_asked():
            self.broken(f"the caller said {said!r}, and nothing follows")
        since = self.trace.silent_since
        if said is not None or since is None or self.trace.now > since + self.options.transcript_timeout:
            self._has_begun, self._over = False, None  # else its words may still come


NOT_UNDERSTOOD = "something that was not understood"


class ALongTurnIsTaken(Promise):
    """A turn that is too long is taken while the caller speaks on, and none before (notices)."""

    def start(self) -> None:
        self._began: float | None = None
        self._taken: list[str] = []

    @on(f.UserSpeechStarted, f.Transcribed)
    def begun(self, fact: f.UserSpeechStarted | f.Transcribed) -> None:
        if self._began is None and not (isinstance(fact, f.Transcribed) and not fact.text):
            self._began = self.trace.now

    @on(do.RunHook)
    def taken(self, command: do.RunHook) -> None:
        if command.kind == "on_user_turn_completed" and command.text not in self.trace.given:
            self._taken = command.text.split()
            self._began = self.trace.now if self.trace.is_speaking else None

    @on(told.TurnExceeded)
    def exceeded(self, notice: told.TurnExceeded) -> None:
        limit = self.options.turns.user_turn_limit
        lasted = 0.0 if self._began is None else self.trace.now - self._began
        is_wordy = limit.max_words is not None and len(notice.text.split()) >= limit.max_words
        if not is_wordy and (limit.max_duration is None or lasted < limit.max_duration - EPSILON):
            self.broken(f"{notice} after {lasted:.2f} s, with the limit {limit}")

    def settled(self) -> None:
        trace, limit = self.trace, self.options.turns.user_turn_limit.max_words
        if limit is None or type(trace.fact) is not f.Transcribed or not trace.is_speaking or trace.is_overruled:
            return
        words = trace.fact.text.split()
        known = next((n for n in range(len(words), 0, -1) if self._taken[-n:] == words[:n]), 0)
        if len(words) - known >= limit and not trace.is_closing:
            self.broken(f"{trace.fact.text!r} has more than {limit} words, and is not taken")


class ResponsesAreJudgedOnce(Promise):
    """A response that the model began unasked is adopted or declined, once, and spoken into nothing (design 1).

    It waits while the caller speaks; of its own accord the model speaks only where nothing sounds.
    """

    @on(do.Decline)
    def declined(self, command: do.Decline) -> None:
        if command.response not in self.trace.responses:
            self.broken(f"{command} of a response that did not begin, or was judged before")

    @on(do.Adopt)
    def adopted(self, command: do.Adopt) -> None:
        trace = self.trace
        response = trace.responses.get(command.response)
        if response is None:
            self.broken(f"{command} of a response that did not begin, or was judged before")
        if response.agent != command.agent or command.agent != trace.agent:
            self.broken(f"{command} of a response of {response.agent}; in charge is {trace.agent}")
        if response.turn is None and response.to_results:
            self.broken(f"{command}, which answers results that wanted no answer")
        if response.turn is None and any(step.is_playing and not step.is_filler for step in trace.line):
            self.broken(f"{command} while {trace.line[0].segment} sounds")

    def unfinished(self) -> Iterable[str]:
        return [f"response {number}" for number in self.trace.responses]
