"""The caller is asked before a call that must not be made by mistake, and what they say decides.

Above: the conversation, and the rules of turns, which give the caller's words. Below: `core.consent`, which keeps the
question. Whatever is said stands in the history where it was said, and the reply behind the round answers it.
"""

from __future__ import annotations

from antiphon.core import facts as f
from antiphon.core import texts
from antiphon.core.commands import JudgeReply
from antiphon.core.consent import MOST_READINGS, TIMES, Question, Stage
from antiphon.core.floor import Floor
from antiphon.core.notices import ConsentDecision, DecidedBy, TurnCommitted
from antiphon.core.stages import Gate, Kind
from antiphon.core.turn import Turn
from antiphon.language.replies import Reply

_AGREES = (Reply.YES, Reply.YES_AND, Reply.BACKCHANNEL)
_VOID: dict[Reply, ConsentDecision] = {Reply.NO: "no", Reply.CHANGE: "change", Reply.QUESTION: "question"}

# -- what the caller does


def caller_began(floor: Floor) -> None:
    """The caller begins to speak, or goes on."""
    question = floor.consent.question
    if question is not None:
        question.caller_began(anew=not floor.turn.text, over_others=_others_sound(floor, question))


def stops(floor: Floor, words: str) -> bool:
    """Whether words over the read-back stop it. What they mean shows when their turn is over."""
    interruption = floor.options.turns.interruption
    if not (interruption.enabled and floor.accepts_turns) or len(words.split()) < max(1, interruption.min_words):
        return False
    return floor.consent.means(words) in _VOID


def is_asked(floor: Floor) -> bool:
    """What the caller says is for the gate."""
    question = floor.consent.question
    if question is None or question.speech.frame is not floor.top:
        return False
    question.sounds()
    return question.was_put


def is_nothing(floor: Floor, words: str) -> bool | None:
    """Whether a turn is a sign of listening before there is anything to agree to. None: that is not known yet."""
    question = floor.consent.question
    assert question is not None  # something is asked
    waiting = floor.debts.turns.waiting
    if waiting and floor.debts.turns.late_words.are_due(waiting[0]):
        return None
    if waiting and waiting[0].heard_as is None:  # typed
        question.caller_began(anew=True, over_others=_others_sound(floor, question))
    return not question.heard_before and floor.options.language.is_backchannel(words)


def take(floor: Floor, turn: Turn) -> bool:
    """The caller's turn replies to what was read back."""
    if not is_asked(floor):
        return False
    turns, question = floor.debts.turns, floor.consent.question
    assert question is not None  # something is asked
    if not turn.text and turns.late_words.are_due(turn):
        turns.waits(turn)
        return True
    floor.line.clear_doubt()
    floor.ledger.turn_taken()
    floor.out.send(TurnCommitted(turn.text))
    turns.hold(turn, question.speech, floor.top.agent)
    if question.judgement is not None:
        floor.out.withdraw(question.judgement)
        question.judged()
    words, limit = question.take_words(turn.text), floor.options.consent.judge_timeout
    if limit is None or not question.heard_before:
        _decide(floor, question, words, floor.consent.means(words), "words")
        return True
    judgement = floor.out.new_id()
    question.is_before(judgement, words)
    floor.out.promise(judgement, f.ReplyJudged(judgement), limit)
    floor.out.send(JudgeReply(judgement, words, question.asked))
    return True


def judged(floor: Floor, fact: f.ReplyJudged) -> None:
    """The judge has said what the words mean, or has not in time."""
    question = floor.consent.question
    if question is None or question.judgement != fact.judgement:
        return
    question.judged()
    if floor.caller_has_floor or floor.is_turn_waiting:
        return  # they go on: all of it is decided on together
    words = question.take_words("")
    if fact.reply is None:
        _decide(floor, question, words, floor.consent.means(words), "words")
    else:
        _decide(floor, question, words, fact.reply, "judge")


def given(floor: Floor, fact: f.ConsentGiven) -> None:
    """A key or a button answers. Like a yes it counts only when all arguments were heard."""
    question = floor.consent.question
    if not is_asked(floor) or question is None:
        return
    if fact.call_id is not None and fact.call_id != question.call.call.call_id:
        return
    if fact.yes and not question.is_heard:
        return
    floor.ledger.turn_taken()
    floor.out.send(TurnCommitted(fact.text))
    floor.debts.turns.hold(Turn(fact.text), question.speech, floor.top.agent)
    question.caller_began(anew=True, over_others=False)
    _decide(floor, question, fact.text, Reply.YES if fact.yes else Reply.NO, "key")


def _decide(floor: Floor, question: Question, heard: str, reply: Reply, by: DecidedBy) -> None:
    if reply in _VOID:
        _void(floor, question, _VOID[reply], heard, by)
    elif reply in _AGREES and question.heard_before:
        _stop_reading(floor, question)
        floor.consent.agreed(question, heard, by)
    elif reply not in _AGREES and question.stage is not Stage.READING:
        _ask_again(floor, question, "unclear", heard, by)


def _ask_again(floor: Floor, question: Question, why: ConsentDecision, heard: str, by: DecidedBy) -> None:
    """It is asked once more; then nothing is done."""
    if question.times >= TIMES:
        _void(floor, question, why, heard, by)
        return
    _stop_reading(floor, question)
    question.asked_again()


def _stop_reading(floor: Floor, question: Question) -> None:
    line = question.line
    if line is not None and not line.finished and not line.interrupted:
        floor.speeches.interrupt(line, force=True, by_caller=True)


def _void(floor: Floor, question: Question, why: ConsentDecision, heard: str, by: DecidedBy) -> None:
    _stop_reading(floor, question)
    floor.consent.void(question, why, texts.not_agreed(question.call.call, why, heard), heard, by)


# -- rules


def advance(floor: Floor) -> bool:
    """Read back what is to be agreed to, and give it up when nothing comes. True if something moved."""
    question = floor.consent.question
    assert question is not None  # the conversation looks
    if question.call.gate is not Gate.CONSENT:  # its speech was cut
        _stop_reading(floor, question)
        floor.consent.gone(question)
        return True
    moot = _is_moot(floor, question)
    if moot is not None:
        _void(floor, question, moot, "", "session")
        return True
    question.sounds()
    if question.stage is Stage.UNASKED:
        return _read(floor, question)
    if question.stage is Stage.READING:
        return _is_read(floor, question)
    return question.stage is Stage.OPEN and _wait(floor, question)


def _is_moot(floor: Floor, question: Question) -> ConsentDecision | None:
    """Why nobody can agree to it any more."""
    if not floor.accepts_turns:
        return "ending"
    if question.speech.frame.is_handing_over or question.speech.last_round:
        return "handed_over"
    return None


def _read(floor: Floor, question: Question) -> bool:
    """It is read back as soon as the caller lets the agent speak."""
    turns = floor.debts.turns
    if question.speech.frame is not floor.top or floor.caller_has_floor or floor.is_turn_due:
        return False
    if turns.judged is not None or floor.line.is_stopping or _others_sound(floor, question):
        return False
    if question.readings >= MOST_READINGS:
        _void(floor, question, "unheard", "", "session")
        return True
    text = floor.consent.text(question, again=question.readings > 0)
    line = floor.speeches.open(Kind.SAY, floor.top)
    floor.consent.read_by(question, line, text)
    floor.speeches.begin(line, say=text)
    return True


def _others_sound(floor: Floor, question: Question) -> bool:
    """Something else is heard that was asked for since: the question comes last."""
    others = (one.speech for one in floor.line.segments if one.speech is not question.line)
    return question.readings > 0 and any(speech.kind is not Kind.FILLER for speech in others)


def _is_read(floor: Floor, question: Question) -> bool:
    """The read-back is over: it was heard, or has to be said again."""
    line = question.line
    if question.speech.frame is not floor.top:
        _stop_reading(floor, question)
    if line is None or not line.finished:
        return False
    if question.is_heard:
        question.read_whole()
    else:
        question.must_be_read()
    return True


def _wait(floor: Floor, question: Question) -> bool:
    """It is the caller's turn. Silence is asked into once, and then nothing is done."""
    if question.speech.frame is not floor.top or _others_sound(floor, question):
        question.must_be_read()
        return True
    if floor.turn.unheard and question.times < TIMES:
        floor.turn.loss_told(made_good=True)
        question.asked_again()
        return True
    if not floor.is_quiet:
        question.disturbed()
        return False
    since, limit = question.quiet(floor.out.now), floor.options.consent.timeout
    if limit is None or floor.out.now < since + limit:
        return False
    _ask_again(floor, question, "unanswered", "", "time")
    return True
