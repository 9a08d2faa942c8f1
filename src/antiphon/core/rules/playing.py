"""What sounds next, and what becomes of what sounded.

Above: the conversation. Below: the line; `dead_voice`, which counts how long nothing is heard.
"""

from __future__ import annotations

from antiphon.core import facts as f
from antiphon.core import texts
from antiphon.core.floor import Floor
from antiphon.core.notices import SaidAside, SpeechStarted, VoiceGivenUp
from antiphon.core.rules import closing, must_hear, steps
from antiphon.core.stages import Kind, Sound, Stage
from antiphon.core.state import Segment

_FILLER = Kind.FILLER
"""Asked for in every turn; before Python 3.12 the member of an enum is long in being found."""

# -- facts


def progressed(floor: Floor, fact: f.PlayoutProgressed) -> None:
    """A segment sounds on."""
    floor.line.progressed(fact.segment, fact.heard)
    if fact.heard:
        floor.dead_voice.heard()


def finished(floor: Floor, fact: f.PlayoutFinished) -> None:
    """A segment sounds no more."""
    gone = floor.line.finished(fact.segment, fact.heard, failed=fact.failed)
    if gone is None:
        return
    floor.speeches.segment_gone(gone)
    if fact.failed or fact.unsaid:
        gone.speech.trouble.voice_failed(fact.unsaid)
        floor.must_hear.voice_broke(gone)
    if fact.heard:
        floor.dead_voice.heard()
        if not gone.speech.record:
            floor.out.send(SaidAside(fact.segment, fact.heard))
    elif fact.failed or fact.unsaid:
        _voice_failed(floor, gone)
    steps.end_if_over(floor, gone.speech)


def _voice_failed(floor: Floor, gone: Segment) -> None:
    """A segment broke. If nothing was heard for long, however often it was tried, the call ends."""
    if gone.speech.kind is Kind.FILLER or not floor.closing.is_open:
        return
    seconds = floor.dead_voice.lost(floor.out.now)
    if seconds >= floor.options.dead_voice_timeout:
        floor.out.send(VoiceGivenUp(texts.dead_voice(seconds)))
        closing.request(floor, drain=False, reason="error")


def ready(floor: Floor, fact: f.SoundReady) -> None:
    """There is sound of a segment."""
    floor.speeches.sound_ready(fact.segment)


def started(floor: Floor, fact: f.PlayoutStarted) -> None:
    """A segment is heard."""
    _sounds(floor, fact.segment)


def _sounds(floor: Floor, segment_id: int) -> None:
    segment = floor.line.started(segment_id)
    if segment is not None:
        floor.out.send(SpeechStarted(segment.speech.id))


def starved(floor: Floor, fact: f.PlayoutStarved) -> None:
    """A segment fell silent before its end."""
    segment = floor.line.find(fact.segment)
    if segment is not None:
        segment.ran_dry()


# -- rules


def try_voice(floor: Floor) -> bool:
    """What was to be heard was lost, and nobody has anything else to say: the voice is tried with an apology."""
    line = floor.options.failure_line
    if floor.out.now < floor.dead_voice.retry_at or not line or not floor.accepts_turns or floor.is_busy:
        return False
    floor.speeches.say(line)
    return True


def play(floor: Floor) -> bool:
    """What is next on the line is given to the loudspeaker."""
    if floor.line.paused:
        return False
    floor.line.fade()
    segment = floor.line.next_to_play()
    if segment is None or floor.closing.ends_speech:
        return False
    if segment.speech.kind is _FILLER:
        if floor.turn.speaking:
            return False
    elif segment.speech.interruptible and floor.caller_has_floor and not _turn_must_wait(floor, segment):
        return False
    if segment.speech.kind is not _FILLER and floor.must_hear.precedes(segment.speech):
        return False
    if _is_preceded(floor, segment):
        return False
    floor.line.play(segment)
    if floor.options.is_read:
        _sounds(floor, segment.id)
    return True


def _turn_must_wait(floor: Floor, segment: Segment) -> bool:
    """A turn that is over belongs to the next agent: what this one must still say (protected) comes before it."""
    if segment.speech is floor.must_hear.speech and must_hear.holds_up_turns(floor):
        return not floor.turn.speaking
    return floor.top.is_handing_over and floor.turn.ready and not floor.turn.speaking


def _is_preceded(floor: Floor, segment: Segment) -> bool:
    """An older speech of no lower right is about to begin to speak, and this one is not part of it."""
    speech = segment.speech
    for before in speech.frame.speeches:
        if before is speech:
            return False
        if speech.parent is not None and speech.parent.speech is before:
            continue
        if floor.consent.is_read_in(segment) and floor.consent.is_for(before):
            continue  # what it has said before the call stands on the line already
        step = before.step
        about_to = before.stage is Stage.GENERATING and step is not None and step.segment.sound is Sound.OPEN
        if about_to and before.kind is not Kind.FILLER and before.rank <= speech.rank:
            return True
    return False
