"""When the agent begins to speak: answers to turns, what was asked for, results that nobody waits for.

Above: the conversation. Below: the debts, which know what is owed; the floor, which opens and begins speeches.
"""

from __future__ import annotations

from antiphon.core import facts as f
from antiphon.core.commands import StopGenerating
from antiphon.core.floor import Floor
from antiphon.core.notices import SpeechProtected
from antiphon.core.rules import ahead
from antiphon.core.stages import Bond, Kind, Rank, Stage
from antiphon.core.state import Frame, Speech

_SAY, _REPLY, _FILLER = Kind.SAY, Kind.REPLY, Kind.FILLER
_WAITING, _ANNOUNCEMENT = Stage.WAITING, Rank.ANNOUNCEMENT
"""Asked for in every turn; before Python 3.12 the member of an enum is long in being found."""
_KINDS = {"say": _SAY, "reply": _REPLY, "filler": _FILLER}

AN_INSTANT = 0.01
"""Seconds in which results come together: those that nothing lies between but the work of telling them."""

# -- facts


def requested(floor: Floor, fact: f.SpeechRequested) -> None:
    """The application asks for a speech. One that nobody would hear is refused."""
    place = None if floor.closing.ends_speech else _place(floor, fact)
    if place is None:
        floor.speeches.refuse(fact)
        return
    frame, rank = place
    kind, parent = _KINDS[fact.kind], floor.runs.get(fact.run)
    is_by_tool = parent is not None and kind is _REPLY and fact.tool_choice is None
    floor.speeches.admit(
        Speech(
            fact.speech,
            kind,
            frame,
            Rank.FILLER if kind is _FILLER else rank,
            interruptible=fact.interruptible,
            over_caller=rank is _ANNOUNCEMENT and floor.caller_has_floor,
            parent=parent,
            instructions=fact.instructions,
            tool_choice="none" if is_by_tool else fact.tool_choice,
            record=fact.record and kind is not _FILLER,
            user_input=fact.user_input,
            on_enter=fact.agent is not None and fact.agent == frame.agent and frame.entering is not None,
        )
    )


def _place(floor: Floor, request: f.SpeechRequested) -> tuple[Frame, Rank] | None:
    """The frame and the rank of a speech that is asked for; None if nobody would hear it."""
    if request.run is not None:
        run = floor.runs.get(request.run)
        if run is None or run.bond is Bond.ORPHAN:
            return None
        if run.bond is Bond.ATTACHED and run.speech.frame in floor.frames:
            return run.speech.frame, Rank.REPLY
    elif request.agent is not None:
        frame = floor.frames.of_agent(request.agent)
        if frame.entering is not None and frame.carries_turn and frame.agent == request.agent:
            return None
        return frame, _ANNOUNCEMENT
    return floor.top, _ANNOUNCEMENT


def interruptibility_changed(floor: Floor, fact: f.InterruptibilityChanged) -> None:
    """The application says whether a speech may be interrupted. What a tool of it protects is so to its end."""
    speech = floor.speeches.get(fact.speech)
    if speech is None:
        return
    speech.may_be_cut(fact.interruptible)
    if fact.interruptible and speech.is_protected:
        floor.out.send(SpeechProtected(speech.id))


# -- rules


def answer(floor: Floor) -> bool:
    """Owed turns are answered, all by one reply, as soon as the caller lets the agent speak."""
    turns = floor.debts.turns
    if floor.closing.ends_speech:
        return False
    if turns.judged is not None or floor.is_turn_waiting or floor.caller_has_floor or floor.line.is_stopping:
        return False
    if floor.top.is_handing_over or floor.shielding() is not None:
        return False
    if len(turns.answerable_by(floor.top.agent)) < len(turns.owed):
        return False
    response = floor.unasked.answer_to(turns.owed, floor.top.agent)
    if response is None and turns.answer_due is not None:
        return False
    speech = ahead.take(floor)
    if speech is not None:
        floor.speeches.release(speech)
        floor.debts.answered_by(speech)
        return True
    speech = floor.speeches.open(Kind.REPLY, floor.top)
    floor.debts.answered_by(speech, unasked=response is not None)
    floor.speeches.begin(speech, tools=floor.options.max_tool_steps > 0, response=response)
    return True


def begin(floor: Floor) -> bool:
    """Speeches that were asked for begin, behind the answer to a turn."""
    moved = False
    for speech in floor.frames.top.speeches:
        if speech.stage is _WAITING and _may_begin(floor, speech):
            floor.speeches.begin(speech, tools=floor.options.max_tool_steps > 0)
            moved = True
    return moved


def _may_begin(floor: Floor, speech: Speech) -> bool:
    """Text to say is synthesized at once; replies are made one after another, so that each knows the one before."""
    kind = speech.kind
    if kind is _FILLER:
        return True
    if floor.waits_for_turn(speech) and (floor.hears_more or floor.debts.turns.owed):
        return False
    if kind is _SAY:
        return True
    if floor.line.is_stopping:  # How much was heard of what was cut is not known yet.
        return False
    if speech.rank is Rank.REPLY:
        return True
    before = True
    for other in speech.frame.speeches:
        if other is speech:
            if not speech.over_caller:
                return True
            before = False  # the answer to the caller was asked for later, and is made first
        elif other.kind not in (Kind.SAY, Kind.FILLER) and not floor.waits_for_turn(other):
            if other.stage in (Stage.GENERATING, Stage.TOOLS) or (before and other.stage is Stage.WAITING):
                return False
    return True


def deliver(floor: Floor) -> bool:
    """Results from the background are told when the line is free, all in one speech."""
    debts = floor.debts
    if floor.closing.ends_speech:
        return False
    if floor.top.speeches:
        return _deliver_with(floor, floor.top.speeches[0])
    if floor.is_busy or not debts.owed_in(floor.top):
        return False
    speech = floor.speeches.open(Kind.DELIVERY, floor.top)
    is_final = debts.told_by(speech)
    floor.speeches.begin(speech, tools=is_final and floor.options.max_tool_steps > 0)
    return True


def _deliver_with(floor: Floor, speech: Speech) -> bool:
    """What comes up in the instant in which a delivery began is told by it: the model is asked for it anew."""
    if speech.kind is not Kind.DELIVERY or floor.out.now - speech.opened > AN_INSTANT:
        return False
    step = speech.step
    if step is None or speech.interrupted or speech.rounds or step.begun or step.generated or step.calls:
        return False
    if not floor.debts.news_for(speech):
        return False
    floor.out.withdraw(step.gen)
    floor.out.send(StopGenerating(step.gen))
    floor.speeches.text_complete(speech, "")
    is_final = floor.debts.told_by(speech) and floor.options.max_tool_steps > 0
    floor.speeches.begin(speech, tools=step.tools or is_final)
    return True
