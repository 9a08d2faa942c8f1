"""Results that the caller has not heard yet.

    OWED --a request carries it--> carried --heard to the end--> delivered | covered     --interrupted--> OWED

What a background tool reports is in the history at once; *telling* it waits until the line is free. An update is
moot as soon as a reply built with it was heard. A final result is told exactly once: by a heard reply made for it,
or the model, asked to tell it after a reply built with it was heard, has nothing to add.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from antiphon.core.facts import Handoff
from antiphon.core.history import Note

if TYPE_CHECKING:
    from antiphon.core.floor import Frame
    from antiphon.core.speech import Speech

TRIES = 3
"""How often a delivery is made that comes to nothing, or that the application stops.

One that the caller speaks over does not count: it is made until they have heard it.
"""


@dataclass(slots=True)
class Offer:
    """Something to tell."""

    id: int
    call_id: str
    frame: Frame
    final: bool
    """The end of the tool's work, not an update on the way."""
    handoff: Handoff | None = None
    """Made once the result was told."""
    tries: int = 0
    covered: bool = False
    """A reply built with it was heard; perhaps it told it."""
    turns: list[int] = field(default_factory=list)
    """The caller's turns that it belongs to, if they are to be answered once more: that reply is made for it, too."""
    notes: list[Note] = field(default_factory=list)
    """What there is to tell, and what was heard of replies built with it: perhaps it was told there."""


class Offers:
    """All that is still to be told."""

    __slots__ = ("_owed",)

    def __init__(self) -> None:
        self._owed: dict[int, Offer] = {}

    def __bool__(self) -> bool:
        return bool(self._owed)

    def add(self, offer: Offer) -> None:
        """Something happened that the caller should hear of."""
        self._owed[offer.id] = offer

    def in_frame(self, frame: Frame) -> list[Offer]:
        """What the agent of a frame has to tell, oldest first."""
        return [offer for offer in self._owed.values() if offer.frame is frame]

    def move(self, old: Frame, new: Frame) -> None:
        """A frame ended: what it had to tell is told by another."""
        for offer in self._owed.values():
            if offer.frame is old:
                offer.frame = new

    def clear(self) -> None:
        """Nothing will be told any more."""
        self._owed.clear()

    def silenced(self, speech: Speech) -> None:
        """The application stops a speech: what it was made to tell may not be wanted."""
        for offer_id in speech.made_for:
            if offer_id in self._owed:
                self._owed[offer_id].tries += 1

    def speech_ended(self, speech: Speech) -> list[Handoff]:
        """A speech whose requests carried offers is over. Returns the hand-offs that are due now."""
        due: list[Handoff] = []
        for offer_id in speech.carried:
            offer = self._owed.get(offer_id)
            if offer is None:
                continue
            offer.notes += speech.said
            if self._is_told(offer, speech):
                del self._owed[offer_id]
                if offer.handoff is not None:
                    due.append(offer.handoff)
        return due

    @staticmethod
    def _is_told(offer: Offer, speech: Speech) -> bool:
        cut = speech.interrupted or speech.failed
        heard = speech.heard and not cut
        if not offer.final:
            return heard or (offer.id in speech.made_for and not cut)
        if offer.id not in speech.made_for:
            offer.covered = offer.covered or heard
            return False
        if heard or (offer.covered and not cut):
            return True
        if not speech.interrupted:
            offer.tries += 1
        return offer.tries >= TRIES
