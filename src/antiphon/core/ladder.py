"""What is said during a wait: a tool's own line, a short one, progress, once an offer.

Above: the silence budget, which says when. Below: the lines (`Fillers`), and the calls at work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from antiphon.core.state import OpenCall
from antiphon.options import Fillers


@dataclass(slots=True, frozen=True)
class Filler:
    """One line."""

    text: str
    """Empty: there is none for this rung."""
    call: str | None = None
    """The call whose own line it is; it is said for no other."""


class Ladder:
    """Goes from rung to rung, and back to the lowest when the wait is over."""

    __slots__ = ("_fillers", "_offered", "_own_said", "_said", "rung")

    def __init__(self, fillers: Fillers) -> None:
        self._fillers = fillers
        self.rung = 0
        """Lines of this wait so far."""
        self._offered = False
        self._said = 0
        """Lines of the session so far: those of a rung take turns."""
        self._own_said: set[str] = set()
        """Calls whose own line was said in this wait."""

    def next(self, calls: Sequence[OpenCall], waited: float) -> Filler:
        """What to say `waited` seconds into the wait, with these calls at work."""
        fillers = self._fillers
        for call in calls:
            if call.policy.filler and call.call.call_id not in self._own_said:
                return Filler(call.policy.filler, call.call.call_id)
        expected = max((call.policy.expected or 0.0 for call in calls), default=0.0)
        is_long = waited >= fillers.offer_after or (self.rung > 0 and expected >= fillers.offer_after)
        if calls and is_long and fillers.offer and not self._offered:
            return Filler(fillers.offer)
        if self.rung:
            lines = fillers.progress
        else:
            lines = fillers.long if expected >= fillers.long_after else fillers.short
        return Filler(lines[self._said % len(lines)] if lines else "")

    def said(self, filler: Filler, calls: Sequence[OpenCall]) -> None:
        """This line was said."""
        self.rung += 1
        self._said += 1
        self._offered = self._offered or filler.text == self._fillers.offer
        # Calls beside it with the same line have had theirs, too.
        self._own_said.update(call.call.call_id for call in calls if call.policy.filler == filler.text)

    def reset(self) -> None:
        """The wait is over."""
        self.rung = 0
        self._offered = False
        self._own_said.clear()
