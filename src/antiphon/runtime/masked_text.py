"""Masked text on its way to a voice, and what was heard of it on its way back.

A model writes placeholders, in any pieces; the voice is given what they stand for; the history has the placeholders.

Above: `synthesis`. Below: the masks of the session.
"""

from __future__ import annotations

from antiphon.runtime.masks import Masks

LONGEST_PLACEHOLDER = 70
"""Characters. A bracket that is open for longer is none."""


class Unmasked:
    """The text of one segment."""

    __slots__ = ("_masks", "_said", "_segment", "held")

    def __init__(self, masks: Masks, segment: int) -> None:
        self._masks = masks
        self._segment = segment
        self._said: list[tuple[str, str]] = []
        """In the order in which they are said: placeholders, and the words in their place."""
        self.held = ""
        """The beginning of what may become a placeholder."""

    def push(self, piece: str) -> str:
        """The next piece, as the voice is given it."""
        text = self.held + piece
        self.held = ""
        at = text.rfind("[")
        if at >= 0 and "]" not in text[at:] and len(text) - at <= LONGEST_PLACEHOLDER:
            text, self.held = text[:at], text[at:]
        return self._voiced(text)

    def flush(self) -> str:
        """What is left."""
        text, self.held = self.held, ""
        return self._voiced(text)

    def _voiced(self, text: str) -> str:
        if "[" not in text:
            return text
        said = ""
        for written, spoken in self._masks.voiced(text):
            said += written if spoken is None else spoken
            if spoken is not None:
                self._said.append((written, spoken))
                self._masks.speaks(self._segment)
        return said

    def masked(self, heard: str) -> str:
        """What was heard of it, with the placeholders. One that was heard in part was not heard."""
        at = 0
        for placeholder, spoken in self._said:
            found = heard.find(spoken, at)
            if found < 0:
                return heard[:at] + _without_beginning(heard[at:], spoken)
            heard = heard[:found] + placeholder + heard[found + len(spoken) :]
            at = found + len(placeholder)
        return heard


def _without_beginning(heard: str, spoken: str) -> str:
    """The text without what it ends with of the words that say a secret."""
    for length in range(min(len(heard), len(spoken)), 0, -1):
        if heard.endswith(spoken[:length]) and (length == len(heard) or heard[-length - 1].isspace()):
            return heard[:-length].rstrip()
    return heard
