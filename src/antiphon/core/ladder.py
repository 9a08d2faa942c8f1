"""What is said during a wait: a tool's own line, a short one, progress, once an offer.

The waits of one chain of tools are one climb: what the agent says between two rounds does not begin it anew. No line
is said twice in a row, and the lines of progress never come round: of three or more no stretch is heard twice in a
row, however long it is (Thue's square-free sequence).

Above: the silence budget, which says when. Below: the lines (`Fillers`), and the calls at work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from antiphon.core.state import OpenCall
from antiphon.options import Fillers


@dataclass(slots=True, frozen=True)
class Filler:
    """One line: a first one, unless it says of itself what it is."""

    text: str
    """Empty: there is none for this rung."""
    call: str | None = None
    """The call whose own line it is; it is said for no other."""
    is_progress: bool = False
    is_offer: bool = False
    """It offers the caller something: the model must know of it."""


class Ladder:
    """Goes from rung to rung, and back to the lowest when the chain is over."""

    __slots__ = ("_began", "_fillers", "_firsts", "_last", "_offered", "_own_said", "_progressed", "rung")

    def __init__(self, fillers: Fillers) -> None:
        self._fillers = fillers
        self.rung = 0
        """Lines of this chain so far."""
        self._began: float | None = None
        """When its first wait began that had a line."""
        self._offered = False
        self._firsts = 0
        """First lines of the session so far, which take turns."""
        self._progressed = 0
        """The same of progress."""
        self._last = ""
        """What was said last in this chain."""
        self._own_said: set[str] = set()
        """Calls whose own line was said in this chain."""

    def speaks(self, fillers: Fillers) -> None:
        """These lines are said, from the next on."""
        self._fillers = fillers

    def next(self, calls: Sequence[OpenCall], began: float, due: float) -> Filler:
        """What to say when it is due, in a wait that began then, with these calls at work."""
        fillers = self._fillers
        for call in calls:
            line = call.policy.filler
            if line and call.call.call_id not in self._own_said and line != self._last:
                return Filler(line, call.call.call_id)
        waited = due - (began if self._began is None else self._began)
        expected = max((call.policy.expected or 0.0 for call in calls), default=0.0)
        is_long = waited >= fillers.offer_after or (self.rung > 0 and expected >= fillers.offer_after)
        if calls and is_long and fillers.offer and not self._offered:
            return Filler(fillers.offer, is_offer=True)
        if self.rung:
            return Filler(self._progress(), is_progress=True)
        lines = fillers.long if expected >= fillers.long_after else fillers.short
        return Filler(lines[self._firsts % len(lines)] if lines else "")

    def _progress(self) -> str:
        lines, said = self._fillers.progress, self._progressed
        if len(lines) < 3:
            others = (line for line in (*lines, *self._fillers.short) if line != self._last)
            return next(others, lines[0]) if lines else ""
        groups = [lines[first::3] for first in range(3)]
        group = _square_free(said)
        before = sum(_square_free(earlier) == group for earlier in range(said))
        return groups[group][before % len(groups[group])]

    def said(self, filler: Filler, calls: Sequence[OpenCall], began: float) -> None:
        """This line was said, in a wait that began then."""
        if self._began is None:
            self._began = began
        if filler.is_progress:
            self._progressed += 1
        elif filler.call is None and not filler.is_offer:
            self._firsts += 1
        self.rung += 1
        self._last = filler.text
        self._offered = self._offered or filler.is_offer
        # Calls beside it with the same line have had theirs, too.
        self._own_said.update(call.call.call_id for call in calls if call.policy.filler == filler.text)

    def reset(self) -> None:
        """The chain is over."""
        self.rung = 0
        self._began = None
        self._last = ""
        self._offered = False
        self._own_said.clear()


def _square_free(at: int) -> int:
    """0, 1 or 2: the differences of the Thue-Morse sequence, in which no stretch comes twice in a row."""
    return (1 - (at + 1).bit_count() % 2 + at.bit_count() % 2) % 3
