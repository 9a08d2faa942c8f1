"""Speeches that no turn counts against for a moment.

Above: the floor. Below: nothing.
"""

from __future__ import annotations

from antiphon.core.state import Speech


class Shields:
    """Speeches with a tool that just came back from waiting for the caller.

    They have a moment in which no turn counts against them.
    """

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until: dict[Speech, float] = {}

    def __bool__(self) -> bool:
        return bool(self._until)

    def __contains__(self, speech: Speech) -> bool:
        return speech in self._until

    @property
    def deadline(self) -> float | None:
        """When the first of them is over."""
        return min(self._until.values()) if self._until else None

    def raise_until(self, speech: Speech, time: float) -> None:
        """Shield the speech until then."""
        self._until[speech] = time

    def lower(self, speech: Speech) -> None:
        """The moment is over, or no longer needed."""
        if self._until:
            self._until.pop(speech, None)

    def expired(self, now: float) -> list[Speech]:
        """Those whose moment has passed; they are not shielded any more."""
        if not self._until:
            return []
        over = [speech for speech, until in self._until.items() if now >= until]
        for speech in over:
            del self._until[speech]
        return over
