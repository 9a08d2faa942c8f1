"""What a session says itself while the caller waits, and what the ready tasks ask and read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from antiphon.record import record


@record
class Fillers:
    """What is said while the caller would otherwise wait in silence: a ladder, one rung at a time.

    Each rung has one or several lines, none of which is said twice in a row; three or more for progress never come
    round in the same order. A tool's own `filler=` comes before the first rung. All rounds of tools behind a turn are
    one ladder.
    """

    short: tuple[str, ...] = ("One moment.", "Just a second.")
    """The first line of a wait."""
    long: tuple[str, ...] = ("One moment, this may take a little while.",)
    """The first line where the tools at work are known to take `long_after` seconds or more."""
    progress: tuple[str, ...] = ("Still working on it.", "I'm still on it.", "Bear with me, it is not done yet.")
    """Every further line."""
    offer: str = "This is taking longer than usual. I can also call you back."
    """Said once, when the wait has lasted `offer_after` seconds, or is known to. Empty: never. As it is heard it stands
    in the history, so that the model knows what the caller was offered."""
    long_after: float = 4.0
    offer_after: float = 10.0


@record
class AwayLadder:
    """What is said to a caller who has fallen silent, and when: they are asked, asked again, and the call ends.

    Times are seconds in which it is the caller's turn: since they or the agent said something, nothing is being done
    for them, and nothing is owed to them. Words begin it anew, at any step; noises do not. An empty line is not said.
    """

    ask: str = "Are you still there?"
    again: str = "I can't hear you. If you are still there, please say something."
    goodbye: str = "I still can't hear you, so I will end the call now. Goodbye."
    """Behind it the call ends (`CloseReason.USER_AWAY`), unless the caller says something within two seconds."""
    ask_after: float = 10.0
    """From the last words of either side to `ask`."""
    again_after: float = 8.0
    """From the end of `ask` to `again`."""
    goodbye_after: float = 8.0
    """From the end of `again` to `goodbye`."""


@record
class ConsentLines:
    """What is asked before a call that must not be made by mistake. Braces are filled in."""

    check: str = "Shall I go ahead?"
    """Behind what is read back, unless that ends with a question itself."""
    again: str = "{read_back} Please say yes or no. {check}"
    """Asks once more."""
    another: str = "This was done before. Once more:"
    """Before what was done already, and is to be done again."""
    unknown: str = "I still don't know whether that went through. To try it again:"
    """Before what may have been done, and is to be tried again."""
    what: str = "{what}: {values}."
    """What is read back where the tool does not say: what it does, and its arguments."""
    value: str = "{name} {value}"
    """One of these."""
    between: str = ", "
    """Between two of them."""
    yes: str = "yes"
    no: str = "no"
    """Arguments that are true or false."""


@record
class ValueLines:
    """What is said about one value that a task captures."""

    question: str
    """Asks for it."""
    again: str
    """Asks for it after the caller said that the value read back was wrong."""
    check: str
    """Asks whether the value just read back is right."""


@dataclass(slots=True, frozen=True, eq=False, repr=False)
class CaptureLines:
    """What a task says to the caller that captures a value (`CaptureTask`). Braces are filled in."""

    values: Mapping[str, ValueLines] = field(default_factory=dict)
    """By the value's part in tool names ("email_address"). Any other is asked for in the task's own words."""
    again: str = "Sorry. What is your {noun}, then?"
    """`ValueLines.again` for the others; {noun} is the task's own."""
    check: str = "Is that {noun} right?"
    """`ValueLines.check` for the others."""
    read_back: str = "I have {value}"
    """Comes before the check."""
    spelled: str = "{value}, spelled {letters}"
    """A name, with the letters of each of its words."""
    then: str = ", then "
    """Between the letters of two words."""
    extension: str = "{value}, extension {extension}"
    """A telephone number that has one."""
    street: str = "{value}, with the street spelled {letters}"
    """An address whose street is spelled, too."""
    card: str = "the card ending in {ending}, valid until {expiry}"
    """A payment card."""
    expiry: str = "And until when is it valid, month and year?"
    """Asks for what is missing of one."""
    code: str = "What is your code of {digits} digits? You may enter it on your keypad, or say it."
    """Asks for keys of a telephone."""
    too_few: str = "I got {pressed} of {digits} digits. {question}"
    """Too few keys were pressed."""
