"""The caller over the agent: what their voice, their words, and the application may cut.

Above: the conversation, the turns. Below: the line, which pauses and doubts; the floor, which interrupts.
"""

from __future__ import annotations

from antiphon.core import facts as f
from antiphon.core.floor import Floor
from antiphon.core.notices import SpeechProtected
from antiphon.core.rules import consent
from antiphon.core.stages import Bond, Kind, Sound, Stage
from antiphon.core.state import Speech

# -- facts


def voice_started(floor: Floor, fact: f.UserSpeechStarted) -> None:
    """The caller's voice: the line falls silent until it is clear what it means."""
    turn, sounding = floor.turn, floor.line.sounding
    floor.listening.began(sounding)
    consent.caller_began(floor)
    turn.speech_started(floor.out.now, fact.voice, over_agent=sounding is not None)
    if sounding is not None and not floor.is_protected(sounding.speech):
        floor.line.suspect()


def words(floor: Floor, fact: f.Transcribed) -> None:
    """The caller's words, which cut what sounds if they mean to."""
    turn, sounding = floor.turn, floor.line.sounding
    if turn.is_blank:
        floor.listening.began(sounding)
        consent.caller_began(floor)
    turn.transcribed(fact.text, final=fact.final, now=floor.out.now, over_agent=sounding is not None)
    if sounding is None or turn.overruled:
        return
    if floor.consent.is_read_in(sounding):
        if consent.stops(floor, turn.text):
            floor.speeches.interrupt(sounding.speech, by_caller=True)
        return
    is_new = turn.speaking or floor.line.doubt.is_open or not turn.is_voiced
    is_late = sounding.speech.kind is Kind.FILLER and not is_new  # words of a voice before the filler
    if not is_late and _means_to_interrupt(floor, turn.text, final=fact.final):
        interrupt_top(floor)


def _means_to_interrupt(floor: Floor, text: str, *, final: bool) -> bool:
    interruption = floor.options.turns.interruption
    return (
        interruption.enabled
        and floor.accepts_turns
        and len(text.split()) >= max(1, interruption.min_words)
        and not floor.options.language.is_backchannel(text)
        and not (floor.closing.is_ending and floor.options.language.is_farewell(text))
        and not (floor.options.language.asks_presence(text, so_far=not final) and floor.in_the_making() is not None)
    )


def requested(floor: Floor, fact: f.InterruptRequested) -> None:
    """The application interrupts a speech, or all that may be interrupted."""
    served = _served_by(floor, fact.run)
    wanted = list(floor.speeches.unfinished.values()) if fact.speech is None else [floor.speeches.get(fact.speech)]
    for speech in wanted:
        if speech is None or speech.interrupted:
            continue
        consent_only = floor.consent.shields(speech) and not floor.is_protected(speech)
        if speech not in served and (fact.force or consent_only or not floor.is_shielded(speech)):
            floor.debts.silenced(speech)
            floor.speeches.interrupt(speech, force=fact.force)
        elif fact.speech is None and (fact.force or not floor.is_protected(speech)):
            _hush(floor, speech)


def _served_by(floor: Floor, run_id: int | None) -> list[Speech]:
    """The speech that a tool works for, that of the tool which waits for this one, and so on."""
    served: list[Speech] = []
    run = floor.runs.get(run_id)
    while run is not None and run.bond is Bond.ATTACHED and run.speech not in served:
        served.append(run.speech)
        run = run.speech.parent or floor.runs.get(run.speech.frame.run)
    return served


def disallowed(floor: Floor, fact: f.InterruptionsDisallowed) -> None:
    """A tool must not be interrupted any more, nor the speech that it works for, the reply to its result included."""
    run = floor.runs.get(fact.run)
    if run is None:
        return
    run.protect()
    if run.bond is Bond.ATTACHED:
        run.speech.may_be_cut(False, to_its_end=True)
        floor.out.send(SpeechProtected(run.speech.id))
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
    """The caller wants the word: what may be interrupted in the top frame is, and what sounds below it.

    `fillers=False`: a line that bridges the wait for this very turn to be over is no answer that it outdates.
    """
    for speech in list(floor.speeches.unfinished.values()):
        if (speech.kind is Kind.FILLER and not fillers) or floor.waits_for_turn(speech):
            continue
        is_over = speech.frame is floor.top or speech.stage is Stage.SPEAKING  # below, work goes on that is not shown
        if is_over and not floor.is_shielded(speech):
            floor.speeches.interrupt(speech, by_caller=True)
        elif not floor.is_protected(speech):
            _hush(floor, speech)
    sounding = floor.line.sounding
    if not fillers and sounding is not None and sounding.speech.kind is Kind.FILLER:
        if not floor.turn.speaking:
            floor.line.clear_doubt()
    elif sounding is None:
        floor.line.clear_doubt()


def _hush(floor: Floor, speech: Speech) -> None:
    """What of it sounds, or waits to, is silenced. Its tools go on, and what follows them."""
    for segment in list(speech.live):
        if segment.sound is not Sound.OPEN:
            floor.line.stop(segment)
        if segment.sound is Sound.GONE:
            floor.speeches.segment_gone(segment)
    floor.speeches.finish_if_over(speech)
