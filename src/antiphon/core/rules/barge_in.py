"""The caller over the agent: what their voice, their words, and the application may cut.

Above: the conversation, the turns. Below: the line, which pauses and doubts; the floor, which interrupts.
"""

from __future__ import annotations

from antiphon.core import facts as f
from antiphon.core.floor import Floor
from antiphon.core.stages import Bond, Kind

# -- facts


def voice_started(floor: Floor, fact: f.UserSpeechStarted) -> None:
    """The caller's voice: the line falls silent until it is clear what it means."""
    turn, sounding = floor.turn, floor.line.sounding
    turn.speech_started(floor.out.now, fact.voice, over_agent=sounding is not None)
    if sounding is not None and not floor.is_protected(sounding.speech):
        floor.line.suspect()


def words(floor: Floor, fact: f.Transcribed) -> None:
    """The caller's words, which cut what sounds if they mean to."""
    turn, sounding = floor.turn, floor.line.sounding
    turn.transcribed(fact.text, final=fact.final, now=floor.out.now, over_agent=sounding is not None)
    if sounding is None or turn.overruled:
        return
    is_new = turn.speaking or floor.line.doubt.is_open or not turn.is_voiced
    is_late = sounding.speech.kind is Kind.FILLER and not is_new  # words of a voice before the filler
    if not is_late and _means_to_interrupt(floor, turn.text):
        interrupt_top(floor)


def _means_to_interrupt(floor: Floor, text: str) -> bool:
    interruption = floor.options.turns.interruption
    return (
        interruption.enabled
        and floor.accepts_turns
        and len(text.split()) >= max(1, interruption.min_words)
        and not floor.options.language.is_backchannel(text)
        and not (floor.closing.is_ending and floor.options.language.is_farewell(text))
    )


def requested(floor: Floor, fact: f.InterruptRequested) -> None:
    """The application interrupts a speech, or all that may be interrupted."""
    wanted = list(floor.speeches.unfinished.values()) if fact.speech is None else [floor.speeches.get(fact.speech)]
    for speech in wanted:
        if speech is not None and not speech.interrupted and (fact.force or not floor.is_shielded(speech)):
            floor.debts.silenced(speech)
            floor.speeches.interrupt(speech, force=fact.force)


def disallowed(floor: Floor, fact: f.InterruptionsDisallowed) -> None:
    """A tool must not be interrupted any more."""
    run = floor.runs.get(fact.run)
    if run is None:
        return
    run.protect()
    sounding = floor.line.sounding
    if sounding is not None and floor.is_protected(sounding.speech):
        floor.line.clear_doubt()
    if run.bond is Bond.ORPHAN:
        floor.rounds.take_up(run, floor.frames.home(run).agent)


# -- time


def tick(floor: Floor) -> None:
    """A voice may have lasted long enough to cut; a tool that came back may have had its moment."""
    if floor.line.paused and floor.line.advance(floor.out.now):
        interrupt_top(floor)
        floor.line.clear_doubt()
        floor.turn.won_the_floor()
    for speech in floor.shields.expired(floor.out.now):
        if not floor.is_shielded(speech):
            floor.speeches.interrupt(speech)


def interrupt_top(floor: Floor, *, fillers: bool = True) -> None:
    """The caller wants the word: what may be interrupted in the top frame is.

    `fillers=False`: a line that bridges the wait for this very turn to be over is no answer that it outdates.
    """
    for speech in list(floor.top.speeches):
        if not floor.is_shielded(speech) and (fillers or speech.kind is not Kind.FILLER):
            floor.speeches.interrupt(speech)
    sounding = floor.line.sounding
    if not fillers and sounding is not None and sounding.speech.kind is Kind.FILLER:
        if not floor.turn.speaking:
            floor.line.clear_doubt()
        return
    if sounding is not None and sounding.speech.frame is not floor.top and not floor.is_protected(sounding.speech):
        floor.line.stop(sounding)
    if sounding is None or floor.line.sounding is None:
        floor.line.clear_doubt()
