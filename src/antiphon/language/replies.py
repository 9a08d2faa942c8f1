"""What a caller is asked before something is done, and what a reply to that may mean.

Above: options, facts and commands, which carry them. Below: nothing. How a reply is read is `consent`'s, whose tables
are loaded with the first session, not with the names.
"""

from __future__ import annotations

import enum

from antiphon.record import record


class Reply(enum.Enum):
    """What was said in reply to a read-back."""

    YES = "yes"
    """Yes, to exactly these arguments."""
    YES_AND = "yes and"
    """The same, and something besides that does not touch them: "yes, and text me the address"."""
    NO = "no"
    """No, or not now: "nope", "hold on"."""
    CHANGE = "change"
    """An argument is to be another, or a condition is made: "yes, but at three"."""
    QUESTION = "question"
    """The caller wants to know something before they decide."""
    BACKCHANNEL = "backchannel"
    """"Okay", "mm-hmm": a yes once the whole read-back was heard; while it sounds, a sign of listening."""
    UNCLEAR = "unclear"
    """None of these, or not surely: to be asked again. While the read-back sounds it decides nothing."""


@record
class Asked:
    """What the caller was asked."""

    text: str
    """The read-back, as spoken: "Table for four on Friday at seven, shall I book it?"."""
    values: tuple[str, ...] = ()
    """Its arguments as spoken: "four", "Friday", "seven". Those that `text` has need not stand here."""
