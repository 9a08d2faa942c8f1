"""A caller who falls silent is asked, asked again, and then the call ends with a goodbye (`AwayLadder`).

It is for the caller's turn alone: never while anything is said, done or owed. Words are what tells that somebody is
there. A noise is neither: the time goes on under it, it interrupts no line, and one that lasts delays none. Words cut
the line at once, and are answered, however short they are.

Above: the conversation, which asks after every fact and at `deadline`. Below: `core.away`, which keeps the time.
"""

from __future__ import annotations

from antiphon.core.away import Away
from antiphon.core.floor import Floor
from antiphon.core.rules import closing
from antiphon.core.stages import Bond, Kind, Stage
from antiphon.core.state import Speech

LINGER = 2.0
"""Seconds after the goodbye in which the caller may still go on."""


def advance(floor: Floor, away: Away) -> bool:
    """Take the step that is due. True if the rules must be asked again."""
    away.deadline = None
    turns = floor.debts.turns
    has_said = bool(floor.turn.text) and not floor.turn.passed_by
    if away.is_news(turns.came) or has_said or turns.waiting or turns.judged is not None:
        return _answered(floor, away)
    if not floor.closing.is_open or _is_attended(floor, away):
        away.attended()
        return False
    if away.line is not None and not away.line.finished:
        away.attended()
        return False
    away.callers_turn(floor.out.now)
    due = away.due
    is_apologising = away.apology is not None and not away.apology.finished
    if due is None or is_apologising or floor.line.segments or floor.turn.awaits_words:
        return False
    if floor.turn.speaking:
        due = max(due, floor.turn.voice_began_at + closing.LASTING)
    if floor.out.now < due:
        away.deadline = due
        return False
    if not _climb(floor, away):
        away.callers_turn(floor.out.now)
        away.deadline = away.due
    return True


def _answered(floor: Floor, away: Away) -> bool:
    """The caller says something."""
    line, has_asked = away.line, away.has_asked
    away.answered()
    if not has_asked:
        return False
    if floor.turn.text:
        floor.turn.won_the_floor()  # a short answer is one, and no sign of listening
    if line is None or line.interrupted or line.finished:
        return False
    floor.speeches.interrupt(line)
    return True


def _is_attended(floor: Floor, away: Away) -> bool:
    """Something is said, done or owed."""
    top = floor.top
    return bool(
        floor.debts.owed_in(top)
        or floor.debts.turns.owed
        or top.is_handing_over
        or top.entering is not None
        or floor.dead_voice.since is not None
        or any(_is_at_work(speech) for speech in top.speeches if not _tells_nothing(away, speech))
        or any(not _tells_nothing(away, segment.speech) for segment in floor.line.segments)
        or any(run.active and not run.suspended and run.bond is not Bond.ORPHAN for run in floor.runs)
    )


def _tells_nothing(away: Away, speech: Speech) -> bool:
    """It is no answer to the caller: what it bridges may be a noise, and what it asks for nobody may hear."""
    return speech.kind is Kind.FILLER or away.is_own(speech)


def _is_at_work(speech: Speech) -> bool:
    """More of it is to come, and not only from the caller."""
    if speech.stage is not Stage.TOOLS:
        return True
    return bool(speech.live) or any(call.run is None or not call.run.suspended for call in speech.open_calls())


def _climb(floor: Floor, away: Away) -> bool:
    """Ask, or end the call. True if anything is said."""
    text = away.climbs()
    speech = None
    if text:
        speech = floor.speeches.open(Kind.SAY, floor.top)
        speech.may_be_cut(False)  # by words alone, which is done here
        away.says(speech)
    if away.is_over:
        closing.end_after(floor, speech, LINGER, closing.USER_AWAY)
    if speech is not None:
        floor.speeches.begin(speech, say=text)
    return speech is not None
