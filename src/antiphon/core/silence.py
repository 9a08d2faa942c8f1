"""The silence budget: while the agent owes something, the line is never silent for long.

    WAIT --shortly before it is due--> PREPARED --due, still silent--> SAID --over--> WAIT, one rung higher
    PREPARED --somebody is heard, or nothing is owed--> discarded       SAID --something better--> ends at a word

*Silence*: neither side is audible. It begins with the end of the caller's sound (so endpointing counts), or of the
agent's. It counts while work is *pending*: words that are no turn yet, a hook, a model, a voice, or a call that is
neither in the background nor waiting for the caller. What bridges it is a ladder of lines, one at a time: a tool's own
filler, a short line, progress, once an offer. The sound of a line is made before it is due. A result that is in beats
a filler that is due: the reply then gets a grace to begin. Fillers stay out of the history: they are the line's words,
not the model's, which would take to saying them itself.

Above: the conversation, which asks after every fact and at `deadline`. Below: the floor.
"""

from __future__ import annotations

from antiphon.core.floor import Floor
from antiphon.core.line import Sound, Voice
from antiphon.core.speech import Gate, Kind, OpenCall, Speech, Stage
from antiphon.options import SilenceBudget

LAST_MOMENT = 0.3
"""Seconds before a filler is due in which no other one is prepared: its sound would not be there in time."""


class Silence:
    """Sees to it that a wait is bridged."""

    __slots__ = (
        "_bridged_at",
        "_budget",
        "_caller_heard_last",
        "_filler",
        "_floor",
        "_free_at",
        "_heard_since",
        "_is_of_tool",
        "_lines",
        "_offered",
        "_quiet_before",
        "_quiet_since",
        "_rung",
        "_said",
        "_text",
        "_wait_began",
        "_waiting_since",
        "deadline",
    )

    def __init__(self, floor: Floor, budget: SilenceBudget) -> None:
        self._floor = floor
        self._budget = budget
        self.deadline: float | None = None
        """When to ask again, if nothing happens before."""
        self._filler: Speech | None = None
        """Prepared, or being said."""
        self._text = ""
        self._is_of_tool = False
        """It is a tool's own line: said for no other."""
        self._quiet_since: float | None = floor.out.now
        """None: somebody is heard."""
        self._caller_heard_last = False
        self._heard_since = 0.0
        """When it was last silent before somebody was heard."""
        self._quiet_before = 0.0
        """Since when it had been silent then, or the caller had waited."""
        self._waiting_since: float | None = None
        """Since when the caller waits in silence, and work is pending; None: they do not."""
        self._free_at: float | None = None
        """When nothing was pending last."""
        self._wait_began = 0.0
        """The same for the whole wait, fillers included."""
        self._bridged_at = float("-inf")
        """When the latest filler was given to the line. One that cannot be heard is not followed by another at once."""
        self._rung = 0
        """Fillers of this wait so far."""
        self._offered = False
        self._lines = 0
        """Lines said in the session: they take turns."""
        self._said: set[str] = set()
        """Calls whose own filler was said."""

    def advance(self, *, mute: bool) -> bool:
        """Prepare a filler, or say it, whichever is due. True if the rules must be asked again.

        `mute`: nothing is to be said any more.
        """
        self.deadline = None
        floor, now = self._floor, self._floor.out.now
        if self._filler is not None and self._filler.stage is Stage.DONE:
            self._filler = None
        if mute:
            self._discard()
            return False
        if self._is_audible():
            return self._heard()
        fell_silent = self._quiet_since is None
        if self._quiet_since is None:
            self._quiet_since = self._end_of_sound(now)
        if not self._is_pending():
            self._free_at = now
            self._discard()
            return False
        if self._free_at is not None and now > self._free_at:  # else one thing passed on to the next
            self._waiting_since = None
        self._free_at = None
        if self._waiting_since is None:
            self._begin_to_wait(fell_silent)
        if self._is_outrun():
            assert self._filler is not None  # it is the one that was outrun
            floor.interrupt(self._filler)
            return True
        if self._is_being_said or floor.line.paused or floor.line.has_next:
            self._discard()
            return False
        return self._bridge(now)

    # -- what is heard

    def _is_audible(self) -> bool:
        return self._floor.turn.speaking or self._floor.line.is_audible

    def _end_of_sound(self, now: float) -> float:
        """When it fell silent."""
        if self._caller_heard_last:
            ended = self._floor.turn.voice_ended_at
            return now if ended is None else ended
        return now if now > self._heard_since else self._quiet_before  # it was cut in the instant in which it began

    def _heard(self) -> bool:
        """Somebody is heard: no wait. A filler is part of the wait that it bridges."""
        if self._quiet_since is not None:
            self._heard_since = self._floor.out.now
            self._quiet_before = self._quiet_since if self._waiting_since is None else self._waiting_since
        self._quiet_since = self._waiting_since = None
        self._caller_heard_last = self._floor.turn.speaking
        if self._is_outrun():
            assert self._filler is not None  # it is the one that was outrun
            self._floor.interrupt(self._filler)
            return True
        sounding = self._floor.line.sounding
        if not self._floor.turn.speaking and sounding is not None and sounding.speech.kind is Kind.FILLER:
            self._discard()
            return False
        self._rung = 0
        self._offered = False
        self._said.clear()
        self._discard()
        return False

    def _begin_to_wait(self, fell_silent: bool) -> None:
        """Work came up in silence, or silence fell over work."""
        turn, now = self._floor.turn, self._floor.out.now
        assert self._quiet_since is not None  # nobody is heard
        is_old = fell_silent or self._rung > 0 or turn.has_floor or turn.awaits_words or turn.ready
        self._waiting_since = self._quiet_since if is_old else now
        if self._rung == 0:
            self._wait_began = self._waiting_since

    # -- what is pending

    def _is_pending(self) -> bool:
        floor = self._floor
        turn = floor.turn
        if floor.owed or floor.judged is not None or floor.typed or turn.ready or floor.unasked.taken:
            return True
        if turn.awaits_words or (turn.has_floor and not turn.is_ended_by_application):
            return True
        return floor.top.is_handing_over or any(_is_at_work(speech) for speech in floor.top.speeches)

    def _open_calls(self) -> list[OpenCall]:
        return [
            call
            for speech in self._floor.top.speeches
            for call in speech.open_calls()
            if call.gate is Gate.RUNNING and not (call.run is not None and call.run.suspended)
        ]

    # -- fillers

    @property
    def _is_being_said(self) -> bool:
        return self._filler is not None and self._filler.stage not in (Stage.HELD, Stage.DONE)

    def _is_outrun(self) -> bool:
        """Something better can be heard before the filler, whose text was long in coming."""
        if not self._is_being_said:
            return False
        for segment in self._floor.line.segments:
            if segment.speech is self._filler:
                return False
            if segment.speech.kind is not Kind.FILLER and segment.voice is not Voice.SILENT:
                return segment.sound is Sound.PLAYING
        return False

    def _bridge(self, now: float) -> bool:
        """Prepare the filler, and say it when it is due."""
        budget = self._budget
        assert self._waiting_since is not None
        due = max(self._waiting_since, self._bridged_at, self._floor.turn.silent_since or 0.0) + budget.max_silence
        if self._results_are_in:
            due = max(due, self._floor.results_at + budget.grace)
        if now < due - budget.prepare:
            self._discard()
            self.deadline = due - budget.prepare
            return False
        self._prepare(due)
        if now < due:
            self.deadline = due
            return False
        return self._say(now)

    @property
    def _results_are_in(self) -> bool:
        """All tools have answered, and what came of it is being put into words, or these into sound."""
        return any(
            speech.rounds and (speech.stage is Stage.GENERATING or (speech.stage is Stage.SPEAKING and speech.live))
            for speech in self._floor.top.speeches
        )

    def _prepare(self, due: float) -> None:
        text = self._line(due - self._wait_began)
        held = self._filler
        if held is not None and not self._still_fits(held, text, due):
            self._discard()
            held = None
        if held is None and text:
            self._text = text
            self._is_of_tool = any(call.policy.filler == text for call in self._open_calls())
            self._filler = Speech(self._floor.out.new_id(), Kind.FILLER, self._floor.top, 0, record=False)
            self._floor.speak_ahead(self._filler, text)

    def _still_fits(self, held: Speech, text: str, due: float) -> bool:
        """What is prepared is what would be said now, by the agent in charge. At the last moment anything is better."""
        if held.frame is not self._floor.top:
            return False
        is_ready = held.step is not None and held.step.segment.voice is Voice.READY
        if is_ready and not self._is_of_tool and due - self._floor.out.now < LAST_MOMENT:
            return True
        return text == self._text and held.agent == held.frame.agent

    def _say(self, now: float) -> bool:
        self._bridged_at = now
        if self._filler is None:  # the line for it is empty
            self.deadline = now + self._budget.max_silence
            return False
        self._note_said()
        self._floor.release(self._filler)
        return True

    def _note_said(self) -> None:
        self._rung += 1
        self._lines += 1
        if self._text == self._budget.fillers.offer:
            self._offered = True
        for call in self._open_calls():
            if call.policy.filler == self._text:
                self._said.add(call.call.call_id)

    def _line(self, waited: float) -> str:
        """What to say `waited` seconds into the wait."""
        fillers, calls = self._budget.fillers, self._open_calls()
        for call in calls:
            if call.policy.filler and call.call.call_id not in self._said:
                return call.policy.filler
        expected = max((call.policy.expected or 0.0 for call in calls), default=0.0)
        is_long = waited >= fillers.offer_after or (self._rung > 0 and expected >= fillers.offer_after)
        if calls and is_long and fillers.offer and not self._offered:
            return fillers.offer
        if self._rung:
            lines = fillers.progress
        else:
            lines = fillers.long if expected >= fillers.long_after else fillers.short
        return lines[self._lines % len(lines)] if lines else ""

    def _discard(self) -> None:
        """What is prepared is not needed."""
        if self._filler is not None and self._filler.stage is Stage.HELD:
            self._floor.discard(self._filler)
            self._filler = None


def _is_at_work(speech: Speech) -> bool:
    """Something of it is still to come that nobody but this side delays."""
    match speech.stage:
        case Stage.TOOLS:
            return any(c.run is None or not c.run.suspended for c in speech.open_calls())
        case Stage.SPEAKING:
            return bool(speech.live) and speech.kind is not Kind.FILLER
        case Stage.WAITING | Stage.GENERATING:
            return speech.kind is not Kind.FILLER
        case Stage.HELD | Stage.DONE:
            return False
