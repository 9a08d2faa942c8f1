"""What the caller must have heard before anything is done, or kept, of the call: a disclosure, a recording notice.

    DUE --the floor is the agent's--> SAYING --heard whole, by the playout clock--> HEARD, and the next line is due
    SAYING --cut, or less was heard--> DUE
    SAYING --the voice broke, so often--> UNSAYABLE: nothing that writes runs in this call

The lines are said one after another, first of all, by the voice directly. A line that was cut twice is protected: the
caller can speak over it, and is answered behind it. What was heard before another process went on with the call counts.

Above: `rules.must_hear`, which says them; the tool loop, which asks whether a call may run. Below: the lines.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import replace

from antiphon.core.stages import Sound
from antiphon.core.state import Segment, Speech
from antiphon.options import MustHearLine, ToolPolicy

MOST_CUTS = 2
"""How often a line may be cut; then it is protected."""

MOST_BREAKS = 3
"""How often the voice may break in a line; then nothing can say it."""


class Duty(enum.Enum):
    """How far the line at hand is."""

    DUE = enum.auto()
    SAYING = enum.auto()
    HEARD = enum.auto()
    """All of them were."""
    UNSAYABLE = enum.auto()


class MustHear:
    """What must be heard in one call."""

    __slots__ = ("_at", "_breaks", "_broke", "_cuts", "_segment", "duty", "is_open", "lines", "speech")

    def __init__(self, lines: Sequence[MustHearLine]) -> None:
        self.lines = tuple(lines)
        """The proof: what, when it was heard, how often it was begun."""
        self.speech: Speech | None = None
        """Says the line at hand."""
        self._segment: Segment | None = None
        """What of it was given to the line last."""
        self._broke = False
        """The voice broke in it: nobody knows what was heard."""
        self._at = self._cuts = self._breaks = 0
        self._next()

    def _next(self) -> None:
        """The first line that was not heard is at hand."""
        unheard = [at for at, line in enumerate(self.lines) if line.heard_at is None]
        self._enter(Duty.DUE if unheard else Duty.HEARD)
        self._at = unheard[0] if unheard else 0
        self._cuts = self._breaks = 0

    def _enter(self, duty: Duty) -> None:
        self.duty = duty
        self.is_open = duty is Duty.DUE or duty is Duty.SAYING
        """Something is still to be heard, and can be said. Asked for with every fact, it is looked up once."""

    @property
    def line(self) -> MustHearLine:
        """The line at hand. Only asked while one is."""
        return self.lines[self._at]

    @property
    def may_be_cut(self) -> bool:
        """It was not cut too often."""
        return self._cuts < MOST_CUTS

    @property
    def waits_for_voice(self) -> bool:
        """The voice broke in it more than once: it gets a moment."""
        return self._breaks > 1

    def lets_run(self, policy: ToolPolicy) -> bool:
        """Whether a call may run now: all was heard, or its tool says that it only reads."""
        return self.duty is Duty.HEARD or policy.effect == "reads"

    def precedes(self, speech: Speech) -> bool:
        """It is heard before this speech is."""
        return self.is_open and speech is not self.speech

    def said_by(self, speech: Speech) -> None:
        """This speech says the line at hand."""
        self.speech, self._segment, self._broke = speech, None, False
        self._enter(Duty.SAYING)
        self._line_is(begun=self.line.begun + 1)

    def sounds(self) -> None:
        """It may be said once more, in another stretch: the voice gave no sound."""
        if self.speech is not None and self.speech.step is not None:
            if self._segment is not self.speech.step.segment:
                self._segment, self._broke = self.speech.step.segment, False

    def voice_broke(self, segment: Segment) -> None:
        """The voice failed in this segment, whatever of it was heard."""
        self._broke |= segment is self._segment

    def is_said(self, at: float) -> MustHearLine | None:
        """The speech is over, at that time (seconds since the epoch). Returns the line if it is settled by that."""
        speech, self.speech = self.speech, None
        assert speech is not None  # it was said by it
        segment = self._segment
        was_heard = (
            segment is not None
            and not self._broke
            and segment.sound is Sound.GONE
            and not segment.was_cut
            and bool(segment.heard)
        )
        if was_heard:
            settled = self._line_is(heard_at=at)
            self._next()
            return settled
        self._enter(Duty.DUE)
        if speech.interrupted:
            self._cuts += 1
            return None
        self._breaks += 1
        if self._breaks < MOST_BREAKS:
            return None
        self._enter(Duty.UNSAYABLE)
        return self.line

    def _line_is(self, *, begun: int | None = None, heard_at: float | None = None) -> MustHearLine:
        old = self.line
        new = replace(old, begun=old.begun if begun is None else begun, heard_at=heard_at)
        self.lines = (*self.lines[: self._at], new, *self.lines[self._at + 1 :])
        return new
