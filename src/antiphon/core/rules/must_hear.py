"""What must be heard is said first, and again until it was heard; calls that write wait for it, or are told why not.

Above: the conversation. Below: `core.must_hear`, which knows how far it is.
"""

from __future__ import annotations

from antiphon.core import texts
from antiphon.core.floor import Floor
from antiphon.core.must_hear import Duty
from antiphon.core.notices import MustHearSettled
from antiphon.core.stages import Gate, Kind, Rank
from antiphon.core.state import OpenCall, Speech


def advance(floor: Floor) -> bool:
    """Say the line at hand, or note what became of it. True if something moved."""
    duty = floor.must_hear
    if duty.speech is None:
        return duty.duty is Duty.DUE and _say(floor)
    duty.sounds()
    if not duty.speech.finished:
        return False
    settled = duty.is_said(floor.history.wall)
    if settled is not None:
        floor.out.send(MustHearSettled(settled.text, settled.heard_at, settled.begun))
    return True


def _say(floor: Floor) -> bool:
    """It is said as soon as the caller lets the agent speak."""
    if floor.closing.ends_speech or floor.line.is_stopping:
        return False
    is_theirs = floor.turn.speaking if holds_up_turns(floor) else floor.caller_has_floor or floor.is_turn_due
    if is_theirs:
        return False
    if floor.top.leaving is not None or floor.debts.turns.judged is not None:
        return False
    duty = floor.must_hear
    if duty.waits_for_voice and floor.dead_voice.since is not None and floor.out.now < floor.dead_voice.retry_at:
        return False
    speech = Speech(floor.out.new_id(), Kind.SAY, floor.top, Rank.NOTICE, floor.out.now, interruptible=duty.may_be_cut)
    floor.speeches.admit(speech)
    duty.said_by(speech)
    floor.speeches.begin(speech, say=duty.line.text)
    return True


def holds_up_turns(floor: Floor) -> bool:
    """A turn waits for what waits for this: for the hand-off that it belongs behind, or for what cannot be cut."""
    return floor.top.is_handing_over or floor.shielding() is not None


def keeps_back(floor: Floor, open_call: OpenCall) -> bool:
    """Whether a call waits until everything was heard. One that can wait for nothing is told why it does not run."""
    if floor.must_hear.duty is not Duty.UNSAYABLE:
        return True
    open_call.close(texts.must_hear_unsayable(open_call.call.name), is_error=True)
    return False


def give_up(floor: Floor) -> None:
    """The call ends: what waited is told why it did not run."""
    if floor.must_hear.duty is Duty.HEARD:
        return
    for call in _waiting(floor):
        call.close(texts.must_hear_unheard(call.call.name), is_error=True)


def _waiting(floor: Floor) -> list[OpenCall]:
    """The calls that wait for it."""
    return [
        call
        for speech in floor.speeches.unfinished.values()
        if speech.step is not None and not speech.interrupted
        for call in speech.step.calls
        if call.gate is Gate.WAITING and not floor.must_hear.lets_run(call.policy)
    ]
