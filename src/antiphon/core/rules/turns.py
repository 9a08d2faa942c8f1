"""The caller's turns: from voice, words and typing to a turn that the application allowed.

Above: the conversation. Below: `user_turn`, which knows when a turn is over; `core.turns`, which keeps those that are.
"""

from __future__ import annotations

from collections.abc import Callable

from antiphon.core import facts as f
from antiphon.core.commands import CommitAudio, PredictEndOfTurn
from antiphon.core.floor import Floor
from antiphon.core.notices import TurnCommitted, TurnExceeded, TurnVetoed, WordsLost
from antiphon.core.rules import ahead, barge_in, closing, consent, handoff
from antiphon.core.stages import Kind, Stage
from antiphon.core.state import Speech
from antiphon.core.turn import Turn
from antiphon.core.user_turn import UserTurn

ROUNDING = 0.001
"""Seconds that a duration may be off which was reckoned from two times."""

# -- facts


def silent(floor: Floor, fact: f.UserSpeechEnded) -> None:
    """The caller's voice stopped."""
    floor.turn.speech_ended(floor.out.now, fact.silence)
    floor.line.doubt.fell_silent(floor.out.now, fact.silence)


def predicted(floor: Floor, fact: f.EndOfTurnPredicted) -> None:
    """A detector judged the turn."""
    floor.turn.predicted(fact.version, fact.probability)


def ended(floor: Floor, _: f.UserTurnCommitRequested) -> None:
    """The application ends the turn."""
    floor.turn.commit(floor.out.now)


def cleared(floor: Floor, _: f.UserTurnCleared) -> None:
    """The application throws the turn away."""
    floor.turn.clear()


def submitted(floor: Floor, fact: f.UserTurnSubmitted) -> None:
    """A whole turn was typed."""
    floor.turn.typed_behind()
    floor.debts.turns.waits(Turn(fact.text))


def taken(floor: Floor, fact: f.TurnTaken) -> None:
    """The model ended the caller's turn."""
    over_agent = floor.turn.over_agent if floor.turn.has_floor else floor.line.sounding is not None
    floor.turn.clear()
    floor.debts.turns.taken_by_model(fact, floor.top.agent, over_agent=over_agent)


def transcribed(floor: Floor, fact: f.TurnTranscribed) -> None:
    """The words of a turn that the model heard."""
    floor.debts.turns.transcribed(fact.turn, fact.text)


def hook_returned(floor: Floor, fact: f.HookReturned) -> None:
    """Application code ran: `on_user_turn_completed`, or a hook that somebody else waits for."""
    turns = floor.debts.turns
    turn = turns.judged
    if turn is None or fact.hook != turn.hook:
        if not floor.closing.hook_returned(fact.hook):
            handoff.hook_returned(floor, fact.hook)
        return
    if fact.context_changed or fact.text is not None:
        ahead.spoil(floor)
    if fact.text is not None:
        turn.reworded(fact.text)
    emptied = not turn.text.strip() and (fact.text is not None or turn.heard_as is None)
    if fact.veto or emptied:
        if not emptied:
            turns.record(turn, floor.top.agent)
        turns.drop(turn)
        floor.out.send(TurnVetoed(turn.text))
        return
    floor.ledger.turn_taken()
    floor.out.send(TurnCommitted(turn.text))
    if turn.joins and not floor.options.language.asks_presence(turn.text):  # the hook changed the words
        turn.stands_alone()
        barge_in.interrupt_top(floor, fillers=False)
    shield = floor.shielding()
    if turn.joins and turn.over is not None:
        _join(floor, turn, turn.over)
    elif shield is not None and shield.step is not None and shield.step.calls:
        turns.hold(turn, shield)
    elif turn.over is not None and not (turn.over.interrupted or turn.over.finished):
        turns.hold(turn, turn.over)
    else:
        turns.commit(turn, floor.top.agent)


def _join(floor: Floor, turn: Turn, reply: Speech) -> None:
    """A turn only asks whether somebody is there: the reply that was in the making answers it, or the next request."""
    turns, top = floor.debts.turns, floor.top
    is_ours = reply.frame is top and reply.agent == top.agent
    if reply.interrupted or not is_ours or (reply.finished and not reply.heard):
        turns.commit(turn, floor.top.agent)
    elif reply.step is not None and reply.step.calls:
        turns.hold(turn, reply)
    else:
        turns.commit(turn, floor.top.agent, reply)


# -- time


def tick(floor: Floor) -> None:
    """The turn may have become ready, or too long."""
    if floor.turn.advance(floor.out.now):
        floor.out.send(TurnExceeded(floor.turn.text))


def predict(floor: Floor) -> None:
    """The detector is asked about each version of the turn, once."""
    if floor.accepts_turns and floor.turn.is_news():
        floor.out.send(PredictEndOfTurn(floor.turn.version, floor.turn.text))


# -- rules


def commit(floor: Floor) -> bool:
    """A turn that is over is taken, by the first of `TAKERS` that it is for."""
    turns = floor.debts.turns
    if not floor.accepts_turns or turns.judged is not None or floor.consent.is_agreed:
        return False
    if floor.top.is_handing_over:
        return _make_way(floor)
    if turns.waiting and floor.closing.is_ending and turns.late_words.are_due(turns.waiting[0]):
        return False  # whether it says goodbye to a goodbye only its words can tell
    is_taken = not turns.waiting
    if is_taken and not floor.turn.text:
        is_none: bool | None = _is_noise(floor)
    elif consent.is_asked(floor):
        is_none = consent.is_nothing(floor, _said(floor).text)
        if is_none:
            _let_go_on(floor)
    else:
        is_none = _listens(floor)
    if is_none is None:
        return False
    floor.listening.decided()
    if is_none:
        return _nobody(floor)
    turn = _spoken(floor) if is_taken else turns.waiting[0]
    for take in TAKERS:
        if take(floor, turn):
            return True
    return False


def _spoken(floor: Floor) -> Turn:
    """The turn that the caller has just finished."""
    turn = Turn(floor.turn.take())
    if floor.options.model_hears:
        turn.heard_as, turn.heard_by = floor.out.new_id(), floor.top.agent
        floor.out.send(CommitAudio(turn.heard_as))
        if not turn.text:
            floor.debts.turns.late_words.expect(turn.heard_as)
    return turn


def _is_noise(floor: Floor) -> bool:
    """A sound over the agent, too short to mean anything."""
    return floor.turn.over_agent and floor.turn.voiced_for < floor.line.doubt.long_enough - ROUNDING


def _listens(floor: Floor) -> bool | None:
    """Whether the turn that is over says only that the caller listens. None: that will show (`core.listening`)."""
    said = _said(floor)
    if not floor.is_said_in_passing(said):
        return False
    listening, now = floor.listening, floor.out.now
    listening.waits(now)
    _let_go_on(floor)
    is_sign = floor.options.language.is_backchannel(said.text)
    if is_sign and listening.was_before_a_question:
        return True
    ahead = [segment for segment in floor.line.segments if segment.speech.kind is not Kind.FILLER]
    if ahead:
        is_asked = listening.was_over_the_last_question(ahead)
        return None if is_asked or not is_sign or listening.deadline(now) is not None else True
    if floor.at_work() is not None:
        return False
    begun = [one for one in floor.top.speeches if one.stage is not Stage.WAITING and not one.interrupted]
    goes_on = any(not floor.awaits_turn(one) for one in begun)  # what waits to begin does so behind the turn
    return None if floor.top.entering is not None or goes_on else False


def _let_go_on(floor: Floor) -> None:
    """What the caller has said does not cut the agent."""
    if not floor.turn.speaking:
        floor.line.clear_doubt()


def _said(floor: Floor) -> UserTurn | Turn:
    """The turn that is over, and the first in order."""
    waiting = floor.debts.turns.waiting
    return waiting[0] if waiting else floor.turn


def _nobody(floor: Floor) -> bool:
    """A sign of listening, or a sound, over the agent: nothing follows."""
    turns = floor.debts.turns
    if turns.waiting:
        turns.drop(turns.waiting[0])
    else:
        floor.turn.take()
    _let_go_on(floor)
    return True


def _goodbye(floor: Floor, turn: Turn) -> bool:
    """While a goodbye is said: the caller's own agrees to it, and anything else takes it back."""
    if not floor.closing.is_ending:
        return False
    agrees = floor.options.language.is_farewell(turn.text)
    if floor.closing.reason != closing.USER_AWAY:  # to a caller who was taken to be away any other word is an answer
        agrees = agrees or floor.options.language.is_backchannel(turn.text)
    if not agrees:
        floor.closing.go_on()
        return False
    floor.line.clear_doubt()
    floor.debts.turns.record(turn, floor.top.agent)
    floor.debts.turns.drop(turn)
    closing.agree(floor)
    return True


def _listening(floor: Floor, turn: Turn) -> bool:
    """A turn that only says that the caller listens interrupts no tool: the reply to its result answers both."""
    over = floor.at_work() if floor.options.language.is_backchannel(turn.text) else None
    if over is None:
        return False
    _let_go_on(floor)
    floor.debts.turns.judge(turn, floor.top.agent, over)
    return True


def _presence(floor: Floor, turn: Turn) -> bool:
    """A turn that only asks whether somebody is there does not cut a reply of which nothing has sounded.

    Where a model heard it, that has ended its response by itself.
    """
    reply = floor.in_the_making() if floor.options.language.asks_presence(turn.text) else None
    if reply is None or turn.heard_as is not None:
        return False
    _let_go_on(floor)
    floor.debts.turns.judge(turn, floor.top.agent, reply, joins=True)
    return True


def _reply(floor: Floor, turn: Turn) -> bool:
    """It replies to what was read back. What else sounds is interrupted, as by any turn."""
    if not consent.is_asked(floor):
        return False
    sounding = floor.line.sounding
    if sounding is not None and not floor.consent.is_read_in(sounding):
        barge_in.interrupt_top(floor, fillers=False)
    return consent.take(floor, turn)


def _hook(floor: Floor, turn: Turn) -> bool:
    """It interrupts what may be interrupted, and the application decides on it."""
    barge_in.interrupt_top(floor, fillers=False)
    floor.debts.turns.judge(turn, floor.top.agent, None)
    return True


TAKERS: tuple[Callable[[Floor, Turn], bool], ...] = (_goodbye, _reply, _listening, _presence, _hook)
"""Who may take a turn, in order of right of way."""


def _make_way(floor: Floor) -> bool:
    """A turn waits for the next agent: what this one would still say is cut, or both would wait for ever."""
    if not floor.debts.turns.waiting:
        if not floor.turn.text and _is_noise(floor):
            return _nobody(floor)
        if floor.is_said_in_passing(floor.turn):  # whether it is a turn shows when the next agent is in charge
            _let_go_on(floor)
            return False
    cut = [
        speech
        for speech in floor.top.speeches
        if not (speech.interrupted or speech.kind is Kind.FILLER or floor.is_shielded(speech))
        and not floor.waits_for_turn(speech)
    ]
    for speech in cut:
        floor.speeches.interrupt(speech)
    return bool(cut)


def apologise(floor: Floor) -> bool:
    """Words were lost, or not understood. Where nobody knows what the caller said, they are asked to say it again."""
    turns, turn = floor.debts.turns, floor.turn
    if turn.lost:
        floor.out.send(WordsLost())
    sounding, line = floor.line.sounding, floor.options.unheard_line
    is_heard = sounding is not None and sounding.speech.kind is not Kind.FILLER
    is_moot = not line or not floor.accepts_turns or is_heard or turn.has_floor or bool(turns.owed or turns.waiting)
    is_answering = any(speech.kind is not Kind.FILLER for speech in floor.top.speeches)
    if not turn.loss_told(made_good=is_moot or not is_answering) or is_moot or is_answering:
        return False  # what is being made answers them, too, if anything of it is heard
    if floor.away is None:
        floor.speeches.say(line)
    elif not floor.away.is_due(floor.out.now):  # else they are asked whether they are there
        floor.away.apologised(floor.speeches.say(line))
    return True
