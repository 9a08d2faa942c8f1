"""Who is in charge: the owners side by side, and the predicates that every rule asks.

Above: the rules. Below: the owners. The floor changes nothing by itself, but for the language (`speaks`).
"""

from __future__ import annotations

from dataclasses import replace

from antiphon.core.ahead import Ahead
from antiphon.core.away import Away
from antiphon.core.closing import Closing
from antiphon.core.consent import Consent
from antiphon.core.dead_voice import DeadVoice
from antiphon.core.debts import Debts
from antiphon.core.frames import Frames
from antiphon.core.history import History
from antiphon.core.ledger import Ledger
from antiphon.core.line import Line
from antiphon.core.listening import Listening
from antiphon.core.must_hear import MustHear
from antiphon.core.promises import Outbox
from antiphon.core.rounds import Rounds
from antiphon.core.runs import Runs
from antiphon.core.shields import Shields
from antiphon.core.speeches import Speeches
from antiphon.core.stages import Gate, Kind, Stage
from antiphon.core.state import Frame, Speech
from antiphon.core.turn import Turn
from antiphon.core.unasked import Unasked
from antiphon.core.user_turn import UserTurn
from antiphon.options import LanguageOptions, SessionOptions


class Floor:
    """The state that the rules share."""

    def __init__(self, options: SessionOptions, agent: str, epoch: float, mark: str) -> None:
        self.options = options
        self.out = Outbox()
        self.history = History(self.out, epoch, mark)
        self.line = Line(self.out, self.history, options)
        self.ledger = Ledger(self.out, lambda: self.caller_has_floor)
        self.runs = Runs(self.out, self.ledger)
        self.debts = Debts(self.out, self.history, options, self.ledger)
        self.rounds = Rounds(self.out, self.history, self.runs, self.debts)
        self.turn = UserTurn(options)
        self.listening = Listening()
        self.unasked = Unasked(self.out)
        self.frames = Frames(agent)
        self.consent = Consent(self.out, options.consent)
        self.shields = Shields(self.out, self.debts.turns)
        self.speeches = Speeches(
            self.out,
            options,
            history=self.history,
            line=self.line,
            frames=self.frames,
            debts=self.debts,
            ledger=self.ledger,
            rounds=self.rounds,
            unasked=self.unasked,
            shields=self.shields,
        )
        self.closing = Closing()
        preemptive = options.turns.preemptive_generation
        self.ahead = Ahead(preemptive) if preemptive.enabled and not options.model_hears else None
        self.dead_voice = DeadVoice()
        self.must_hear = MustHear(options.must_hear)
        self.away = Away(options.away_ladder) if options.away_ladder is not None else None

    def speaks(self, language: LanguageOptions) -> None:
        """From here on the session speaks this language, and hears it."""
        old = self.options
        consent = replace(old.consent, lines=language.consent_lines, phrases=language.consent_phrases)
        silence = old.silence
        if silence is not None and language.fillers is not None:
            silence = replace(silence, fillers=language.fillers)
        ladder = old.away_ladder and (language.away_ladder or old.away_ladder)
        self.options = replace(
            old,
            language=language.phrases,
            fallback_line=language.fallback_line,
            failure_line=language.failure_line,
            unheard_line=language.unheard_line,
            consent=consent,
            silence=silence,
            away_ladder=ladder,
        )
        self.consent.speaks(consent)
        if self.away is not None and ladder is not None:
            self.away.speaks(ladder)

    # -- predicates

    @property
    def top(self) -> Frame:
        """The frame in charge."""
        return self.frames.top

    def is_shielded(self, speech: Speech) -> bool:
        """The caller's turn does not interrupt it.

        Protected itself, or one of its tools must not be interrupted now.
        """
        if self.is_protected(speech) or speech in self.shields or self.consent.shields(speech):
            return True
        return any(c.run is not None and c.run.suspended for c in speech.open_calls())

    def is_protected(self, speech: Speech) -> bool:
        """What sounds of it is not cut: by an option, or because one of its tools must not be interrupted."""
        return not (speech.interruptible and self.options.turns.interruption.enabled)

    @staticmethod
    def waits_for_turn(speech: Speech) -> bool:
        """It comes behind the answer to what the caller was saying: they cannot have spoken over it."""
        return speech.over_caller and speech.stage is Stage.WAITING and speech.interruptible and not speech.ends_call

    def awaits_turn(self, speech: Speech) -> bool:
        """It must not be cut, and its results are in: what the caller says meanwhile is answered together with them."""
        step = speech.step
        if speech.interruptible or speech.frame is not self.top or step is None or not (step.generated and step.calls):
            return False
        return all(call.gate is Gate.CLOSED for call in step.calls)

    @property
    def accepts_turns(self) -> bool:
        """False once the session is to end."""
        return self.closing.accepts_turns

    @property
    def caller_has_floor(self) -> bool:
        """The caller speaks, or has said words that mean more than that they listen: nobody begins to speak."""
        turn = self.turn
        if turn.overruled:
            return False
        if turn.speaking:
            return True
        return turn.has_floor and self.accepts_turns and not self.is_said_in_passing(turn)

    def is_said_in_passing(self, turn: UserTurn | Turn) -> bool:
        """It was said over the agent, and does not cut it: a sign of listening, or fewer words than that takes."""
        words = len(turn.text.split()) if turn.over_agent else 0
        if not words or (turn is self.turn and self.turn.overruled):
            return False
        return words < self.options.turns.interruption.min_words or self.options.language.is_backchannel(turn.text)

    @property
    def is_turn_waiting(self) -> bool:
        """The caller has finished a turn that nobody has looked at."""
        return self.turn.ready or bool(self.debts.turns.waiting)

    @property
    def is_turn_due(self) -> bool:
        """The same, and it does not wait for the agent to go on, as what was said in passing does."""
        waiting = self.debts.turns.waiting
        return self.is_turn_waiting and not self.is_said_in_passing(waiting[0] if waiting else self.turn)

    @property
    def hears_more(self) -> bool:
        """The caller says, or has said, what nobody has decided on yet, and the agent in charge is to answer it."""
        if not self.accepts_turns or self.top.is_handing_over:
            return False
        return self.caller_has_floor or self.is_turn_waiting or self.debts.turns.judged is not None

    @property
    def is_busy(self) -> bool:
        """Anything is owed, said, done or decided in the top frame, or the caller's voice is heard."""
        return self.is_occupied or self._hears_a_turn

    @property
    def is_occupied(self) -> bool:
        """The same, whether or not a voice is heard that may be a noise."""
        top, turns = self.frames.top, self.debts.turns
        return bool(top.speeches or turns.owed or turns.judged is not None or self.line.segments or top.is_handing_over)

    @property
    def _hears_a_turn(self) -> bool:
        """The caller says, or has said, what is to be answered; or speaks, where no turns are taken any more."""
        turn = self.turn
        if not self.accepts_turns:
            return turn.speaking
        return turn.ready or turn.has_floor or bool(self.debts.turns.waiting)

    @property
    def is_idle(self) -> bool:
        """Nothing owed, queued, sounding, undelivered or handing over, and no speech in the top frame.

        Or the caller was asked for a yes, and nothing is to come but their answer. What was asked below the top frame
        waits for the end of the task above it.
        """
        question = self.consent.question
        if question is not None and question.speech.frame is self.top:
            return self.awaits_consent
        if self.must_hear.is_open:
            return False
        return not self.is_busy and self.top.entering is None and not self.debts.owed_in(self.top)

    @property
    def awaits_consent(self) -> bool:
        """The caller was asked for a yes: it is their turn, and theirs alone. What else is to come waits behind it."""
        speeches = self.frames.top.speeches
        is_open = self.is_quiet and any(self.consent.waits_in(speech) for speech in speeches)
        return is_open and not self.line.segments and not any(_is_at_work(speech) for speech in speeches)

    @property
    def is_quiet(self) -> bool:
        """Nobody says anything, or has said what is not decided on."""
        turn = self.turn
        is_said = any(segment.speech.kind is not Kind.FILLER for segment in self.line.segments)
        is_heard = is_said or self._hears_a_turn or turn.awaits_words
        return not (is_heard or self.debts.turns.judged is not None)

    def shielding(self) -> Speech | None:
        """A speech of the top frame that must end, or come to its next response, before a turn is answered."""
        for speech in self.top.speeches:
            if not (speech.interrupted or self.waits_for_turn(speech)) and self.is_shielded(speech):
                return speech
        return None

    def in_the_making(self) -> Speech | None:
        """A reply of the top frame that is being made, will say something, and of which nothing has sounded.

        None also while anything else sounds, but for what bridges the wait for it.
        """
        sounding = self.line.sounding
        if sounding is not None and sounding.has_sounded and sounding.speech.kind is not Kind.FILLER:
            return None
        for speech in self.top.speeches:
            is_reply = speech.kind is Kind.REPLY and speech.parent is None and speech.tool_choice != "none"
            if not is_reply or speech.stage is Stage.WAITING or speech.ends_call or speech.last_round:
                continue
            if speech.interrupted or speech.heard or any(segment.has_sounded for segment in speech.live):
                continue
            if not self.consent.shields(speech) and not any(c.run and c.run.suspended for c in speech.open_calls()):
                return speech
        return None

    def at_work(self) -> Speech | None:
        """A speech of the top frame with a call that runs."""
        for speech in self.top.speeches:
            if not speech.interrupted and any(c.gate is Gate.RUNNING for c in speech.open_calls()):
                return speech
        return None


def _is_at_work(speech: Speech) -> bool:
    """More of it is to come, whoever says anything."""
    if speech.stage is Stage.TOOLS:
        return bool(speech.live) or any(call.gate is Gate.RUNNING for call in speech.open_calls())
    return speech.stage is not Stage.WAITING
