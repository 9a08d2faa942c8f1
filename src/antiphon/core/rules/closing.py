"""The end of a session: what it takes to come to it.

Above: the conversation. Below: `core.closing`, which knows how far it is.
"""

from __future__ import annotations

from antiphon.core import facts as f
from antiphon.core.closing import Phase
from antiphon.core.commands import Close, RunHook
from antiphon.core.floor import Floor
from antiphon.core.notices import Closed
from antiphon.core.rules import must_hear
from antiphon.core.state import Run, Speech

LASTING = 3.0
"""Seconds of a voice after which words would have come. A shorter one is waited for where a noise is expected."""

USER_AWAY = "user_away"
"""Why a call ends whose caller has fallen silent."""

# -- facts


def end_requested(floor: Floor, fact: f.EndRequested) -> None:
    """The call is to end with a goodbye."""
    speech = floor.speeches.get(fact.speech)
    if speech is not None:
        speech.is_goodbye()
    floor.closing.end_after(fact.speech, fact.linger, fact.reason)


def end_after(floor: Floor, speech: Speech | None, linger: float, reason: str) -> None:
    """The call ends with this goodbye of the session's own, or at once if there is none."""
    if speech is None:
        request(floor, drain=True, reason=reason)
        return
    speech.is_goodbye()
    floor.closing.end_after(speech.id, linger, reason)


def close_requested(floor: Floor, fact: f.CloseRequested) -> None:
    """The session is to end."""
    request(floor, drain=fact.drain, reason=fact.reason, hung_up=fact.hung_up)


def request(floor: Floor, *, drain: bool, reason: str, hung_up: bool = False) -> None:
    """The session is to end. A second request can only hasten it."""
    closing, now, options = floor.closing, floor.out.now, floor.options
    if floor.accepts_turns:
        closing.drain(reason, now + options.drain_timeout, now + options.write_grace)
    if drain:
        return
    if not hung_up:
        _hasten(floor)
    if closing.phase is Phase.DRAINING:
        _begin(floor)


def _hasten(floor: Floor) -> None:
    """What writes has `close_grace`, and not longer."""
    grace = floor.options.close_grace
    floor.closing.hasten(floor.out.now + grace)
    if floor.closing.phase is Phase.CLOSING:
        for run in _writing(floor):
            floor.out.rearm(run.id, 0.9 * grace)


def agree(floor: Floor) -> None:
    """The caller said goodbye, too."""
    request(floor, drain=True, reason=floor.closing.reason)


# -- rules


def advance(floor: Floor) -> bool:
    """Go to the next phase if it is time."""
    closing = floor.closing
    if closing.is_ending:
        return _linger_on(floor)
    overdue = closing.deadline is not None and floor.out.now >= closing.deadline
    if closing.phase is Phase.DRAINING and (overdue or _is_drained(floor)):
        _begin(floor)
        return True
    if closing.phase is Phase.CLOSING and (overdue or _is_quiet(floor)):
        _end(floor)
        return True
    return False


def _linger_on(floor: Floor) -> bool:
    """The goodbye was said: a moment for the caller, then the end. Who speaks gets as long as they need."""
    closing = floor.closing
    if floor.speeches.get(closing.goodbye) is not None or _has_more(floor):
        closing.goes_on()
    else:
        closing.lingers(floor.out.now)
        if floor.turn.speaking and floor.out.now < floor.turn.voice_began_at + LASTING:
            closing.waits_until(floor.turn.voice_began_at + LASTING)
    if closing.deadline is not None and floor.out.now >= closing.deadline:
        agree(floor)
        return True
    return False


def _has_more(floor: Floor) -> bool:
    """The caller, or somebody for them, goes on. Where they were taken to be away, only their words tell."""
    if floor.closing.reason != USER_AWAY:
        return floor.turn.has_floor or floor.is_busy
    has_said = bool(floor.turn.text) and not floor.turn.passed_by
    return has_said or floor.debts.turns.are_pending or floor.is_occupied


def _begin(floor: Floor) -> None:
    grace, hook = floor.options.close_grace, floor.out.new_id()
    left = floor.closing.grace_until - floor.out.now if _writing(floor) else 0.0
    floor.closing.close(hook, floor.out.now + max(left + 0.1 * grace, grace))
    floor.debts.clear()
    must_hear.give_up(floor)
    for frame in reversed(floor.frames):
        for speech in list(frame.speeches):
            floor.speeches.interrupt(speech, force=True)
        frame.stays()
    for run in reversed(list(floor.runs)):  # whatever a run waits for was started later
        if not run.active:
            floor.runs.forget(run)
        elif run.keeps:
            floor.out.rearm(run.id, max(left, 0.9 * grace))
        else:
            floor.runs.cancel(run)
    floor.debts.turns.give_up(floor.top.agent)
    _keep_words(floor)
    floor.out.promise(hook, f.HookReturned(hook), 0.9 * grace)
    floor.out.send(RunHook(hook, "on_exit", floor.top.agent))


def _keep_words(floor: Floor) -> None:
    """What the caller said and nobody will answer is in the history all the same."""
    if floor.turn.text:
        floor.history.say(floor.turn.take(), floor.top.agent)


def _is_drained(floor: Floor) -> bool:
    turns, debts = floor.debts.turns, floor.debts
    if turns.judged is not None or turns.owed or floor.line.segments or floor.speeches.unfinished:
        return False
    return not _writing(floor) and not debts.owed_in(floor.top)


def _writing(floor: Floor) -> list[Run]:
    """What works, and must not be undone."""
    return [run for run in floor.runs if run.active and run.keeps]


def _is_quiet(floor: Floor) -> bool:
    if floor.closing.awaits_hook or floor.line.segments:
        return False
    if floor.turn.awaits_words or floor.debts.turns.late_words.are_to_come:
        return False
    return not any(run.active for run in floor.runs)


def _end(floor: Floor) -> None:
    for segment in list(floor.line.segments):
        floor.line.finished(segment.id, segment.heard)
        floor.speeches.segment_gone(segment)
        floor.speeches.finish_if_over(segment.speech)
    floor.debts.turns.give_up(floor.top.agent)
    _keep_words(floor)
    floor.debts.turns.late_words.forget()
    floor.closing.end()
    floor.out.send(Closed(floor.closing.reason))
    floor.out.send(Close(floor.closing.reason, floor.ledger.unheard()))
