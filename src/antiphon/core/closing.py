"""The end of a session.

    OPEN --a goodbye is asked for--> ENDING --said, and nobody speaks for a while--> DRAINING
    ENDING --the caller has more to say--> OPEN         ENDING --the caller says goodbye, too--> DRAINING
    OPEN --drain--> DRAINING --nothing said or done any more, or time--> CLOSING --all quiet, or time--> CLOSED
    OPEN --close--> CLOSING

Draining finishes what was begun and takes no more turns. Closing stops everything: children before their parents,
tools that may be stopped at once, tools that write after a grace in which they may still finish. It waits for
`close_grace` and not longer.
"""

from __future__ import annotations

import enum

from antiphon.core.commands import Close, RunHook
from antiphon.core.facts import HookReturned
from antiphon.core.floor import Floor


class Phase(enum.Enum):
    """How far the end is."""

    OPEN = enum.auto()
    ENDING = enum.auto()
    """A goodbye is being said; the caller may still change their mind."""
    DRAINING = enum.auto()
    CLOSING = enum.auto()
    CLOSED = enum.auto()


class Closing:
    """Moves a session to its end."""

    __slots__ = ("_goodbye", "_hook", "_linger", "_reason", "deadline", "phase")

    def __init__(self) -> None:
        self.phase = Phase.OPEN
        self.deadline: float | None = None
        """When the phase ends whatever is still going on."""
        self._hook: int | None = None
        self._reason = ""
        self._goodbye: int | None = None
        self._linger = 0.0

    @property
    def ends_speech(self) -> bool:
        """Speech that is asked for now would not be heard."""
        return self.phase in (Phase.CLOSING, Phase.CLOSED)

    @property
    def is_ending(self) -> bool:
        """A goodbye is being said, or was a moment ago."""
        return self.phase is Phase.ENDING

    @property
    def said_goodbye(self) -> bool:
        """The end was asked for with a goodbye, and the caller had nothing more to say."""
        return self._goodbye is not None

    def end_after(self, speech: int, linger: float, reason: str) -> None:
        """End the call when that speech is over, unless the caller goes on."""
        self._goodbye = speech
        if self.phase in (Phase.OPEN, Phase.ENDING):
            self.phase = Phase.ENDING
            self.deadline = None
            self._linger, self._reason = linger, reason

    def go_on(self) -> None:
        """The caller has more to say: the call does not end."""
        if self.phase is Phase.ENDING:
            self.phase = Phase.OPEN
            self.deadline = self._goodbye = None

    def agree(self, floor: Floor) -> None:
        """The caller said goodbye, too."""
        if self.phase is Phase.ENDING:
            self.request(floor, drain=True, reason=self._reason)

    def request(self, floor: Floor, *, drain: bool, reason: str) -> None:
        """The session is to end. A second request can only hasten it."""
        if self.phase in (Phase.OPEN, Phase.ENDING):
            self._reason = reason
            floor.accepts_turns = False
            self.phase = Phase.DRAINING
            self.deadline = floor.out.now + floor.options.drain_timeout
        if self.phase is Phase.DRAINING and not drain:
            self._begin(floor)

    def hook_returned(self, hook: int) -> bool:
        """`on_exit` of the last agent ran. True if it was this hook."""
        if hook != self._hook:
            return False
        self._hook = None
        return True

    def advance(self, floor: Floor) -> bool:
        """Go to the next phase if it is time. True if something moved."""
        if self.phase is Phase.ENDING:
            return self._linger_on(floor)
        overdue = self.deadline is not None and floor.out.now >= self.deadline
        if self.phase is Phase.DRAINING and (overdue or _is_drained(floor)):
            self._begin(floor)
            return True
        if self.phase is Phase.CLOSING and (overdue or self._is_quiet(floor)):
            self._end(floor)
            return True
        return False

    def _linger_on(self, floor: Floor) -> bool:
        """The goodbye was said: a moment for the caller, then the end. Who speaks gets as long as they need."""
        if floor.speech(self._goodbye) is not None or floor.turn.has_floor or floor.is_busy:
            self.deadline = None
        elif self.deadline is None:
            self.deadline = floor.out.now + self._linger
        if self.deadline is not None and floor.out.now >= self.deadline:
            self.request(floor, drain=True, reason=self._reason)
            return True
        return False

    def _begin(self, floor: Floor) -> None:
        self.phase = Phase.CLOSING
        grace = floor.options.close_grace
        self.deadline = floor.out.now + grace
        floor.offers.clear()
        for frame in reversed(floor.frames):
            for speech in list(frame.speeches):
                floor.interrupt(speech, force=True)
            frame.pending = None
        for run in reversed(list(floor.runs)):  # whatever a run waits for was started later
            if not run.active:
                floor.runs.forget(run)
            elif run.keeps:
                floor.out.rearm(run.id, 0.9 * grace)
            else:
                floor.runs.cancel(run)
        self._keep_words(floor)
        self._hook = floor.out.new_id()
        floor.out.promise(self._hook, HookReturned(self._hook), 0.9 * grace)
        floor.out.send(RunHook(self._hook, "on_exit", floor.top.agent))

    @staticmethod
    def _keep_words(floor: Floor) -> None:
        """What the caller said and nobody will answer is in the history all the same."""
        words: list[str] = []
        if floor.judged is not None:
            floor.out.withdraw(floor.judged.id)
            words.append(floor.judged.text)
            floor.judged = None
        words += floor.typed
        floor.typed.clear()
        words += [taken.text for taken in floor.unasked.taken if taken.text]
        floor.unasked.taken.clear()
        if floor.turn.text:
            words.append(floor.turn.take())
        for text in words:
            floor.history.say(text, floor.top.agent)

    def _is_quiet(self, floor: Floor) -> bool:
        return self._hook is None and not floor.line.segments and not any(run.active for run in floor.runs)

    def _end(self, floor: Floor) -> None:
        for segment in list(floor.line.segments):
            floor.line.finished(segment.id, segment.heard)
            floor.segment_gone(segment)
            floor.finish_if_over(segment.speech)
        floor.unasked.forget_words()
        self.phase = Phase.CLOSED
        self.deadline = None
        floor.emit("closed", value=self._reason)
        floor.out.send(Close(self._reason))


def _is_drained(floor: Floor) -> bool:
    return floor.judged is None and not floor.owed and not floor.line.segments and next(floor.speeches(), None) is None
