"""Speeches that no turn counts against for a moment.

Above: the floor. Below: the turns.
"""

from __future__ import annotations

from antiphon.core.promises import Outbox
from antiphon.core.stages import Bond
from antiphon.core.state import Run, Speech
from antiphon.core.turns import Turns

RESUME_GRACE = 0.5
"""Seconds that a tool has to return.

Once it no longer waits for the caller, before a turn spoken meanwhile counts against it.
"""


class Shields:
    """Speeches with a tool that just came back from waiting for the caller.

    They have a moment in which no turn counts against them.
    """

    __slots__ = ("_out", "_turns", "until")

    def __init__(self, out: Outbox, turns: Turns) -> None:
        self._out = out
        self._turns = turns
        self.until: dict[Speech, float] = {}
        """When the moment of each is over."""

    def __contains__(self, speech: Speech) -> bool:
        return speech in self.until

    @property
    def deadline(self) -> float | None:
        """When the first of them is over."""
        return min(self.until.values(), default=None)

    def resumed(self, run: Run) -> None:
        """A tool goes on after it waited for the caller or its own speech.

        A turn that came meanwhile gives it a moment.
        """
        if run.bond is Bond.ATTACHED and self._turns.count_against(run.speech):
            self.until[run.speech] = self._out.now + RESUME_GRACE

    def lower(self, speech: Speech) -> None:
        """The moment is over, or no longer needed."""
        if self.until:
            self.until.pop(speech, None)

    def expired(self, now: float) -> list[Speech]:
        """Those whose moment has passed; they are not shielded any more."""
        over = [speech for speech, until in self.until.items() if now >= until]
        for speech in over:
            del self.until[speech]
        return over
