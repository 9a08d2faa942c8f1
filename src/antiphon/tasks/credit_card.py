"""`GetCreditCardTask`: the number of a payment card and its expiry, by voice or by keys. Nothing of them is kept."""

from __future__ import annotations

import asyncio
import datetime as dt
import re
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from antiphon.language import SpokenForms
from antiphon.protocols import DtmfReceived, KeypadRoom
from antiphon.run_context import RunContext
from antiphon.secret import Secret
from antiphon.tasks.capture import CaptureTask, Words
from antiphon.text import spoken
from antiphon.text.findings import is_card_number
from antiphon.tools.function import ToolError, ToolResult, function_tool

__all__ = ["GetCreditCardResult", "GetCreditCardTask"]

PAUSE = 4.0
"""Seconds without a key after which what was pressed is complete."""

LONGEST_VALID = 20
"""Years from now in which a card may expire."""


@dataclass(slots=True, frozen=True)
class GetCreditCardResult:
    """What `GetCreditCardTask` found out; `reveal()` gives the values."""

    card_number: Secret[str]
    """12 to 19 digits, whose check digit is right."""
    expiry: Secret[str]
    """The last month in which it is valid: "2028-05"."""


class GetCreditCardTask(CaptureTask[GetCreditCardResult]):
    """Asks for a card number and its expiry. See `CaptureTask` for the other options.

    The read-back says the last four digits and the expiry. Keys: the number and "#", then month and year as four keys.
    What the caller says, enters and is read back appears nowhere, neither as words nor as sound.
    """

    words = Words("credit_card", "card", "What is the number of your card, and until when is it valid?")
    sensitive = True
    rules = (
        "Where digits stand, you see what stands for them, such as [digits_1]: pass it on as it is, in the order in"
        " which it came. A correction of one of the two comes alone: call with that one."
    )

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._number = ""
        self._expiry = ""
        self._pressed = ""
        self._timer: asyncio.TimerHandle | None = None
        self._room: KeypadRoom | None = None

    def essence(self, value: GetCreditCardResult) -> str:
        keep = self.session.keep_secret
        ending = keep(value.card_number.reveal()[-4:], "card_ending")
        year, _, month = value.expiry.reveal().partition("-")
        expiry = keep(month + year[-2:], "card_expiry")
        return self.have(self.language.captures.card.format(ending=ending, expiry=expiry))

    @function_tool
    async def update_credit_card(
        self, ctx: RunContext[Any], card_number: Secret[str] | None = None, expiry: Secret[str] | None = None
    ) -> ToolResult:
        """Note the number or the expiry of the card that the user gives, or corrects.

        Args:
            ctx: The call.
            card_number: All the digits of the card's number, or what stands for them.
            expiry: Month and year until which it is valid, as the user said them, or what stands for them.
        """
        if card_number is not None:
            self._number, rest = _number_of(card_number.reveal(), self.language.spoken)
            if rest and expiry is None:
                self._expiry = _expiry_of(rest, self.language.spoken)
        if expiry is not None:
            self._expiry = _expiry_of(expiry.reveal(), self.language.spoken)
        if not self._number:
            raise ToolError("The number of the card is missing. Ask the user for it.")
        if not self._expiry:
            raise ToolError("The expiry is missing. Ask the user until which month and year the card is valid.")
        return self.captured(ctx, self._card())

    def _card(self) -> GetCreditCardResult:
        keep = self.session.keep_secret
        return GetCreditCardResult(keep(self._number, "card_number"), keep(self._expiry, "card_expires"))

    # -- keys

    def __await__(self) -> Generator[Any, None, GetCreditCardResult]:
        try:
            return (yield from super().__await__())
        finally:
            self._stop_timer()
            if self._room is not None:
                self._room.off("dtmf", self._on_key)

    async def on_enter(self) -> None:
        room = self.session.room
        if isinstance(room, KeypadRoom):
            self._room = room
            room.on("dtmf", self._on_key)
        await super().on_enter()

    def _on_key(self, event: DtmfReceived) -> None:
        if self.done():
            return
        if event.digit == "#":
            if self._pressed:
                self._entered()
            elif (back := self.read_back) is not None and back.heard():
                self.finished(back.value)
            return
        if not self._pressed and self.asking is not None:
            self.asking.interrupt(force=True)
        self._pressed += event.digit
        self._stop_timer()
        self._timer = asyncio.get_running_loop().call_later(PAUSE, self._entered)

    def _entered(self) -> None:
        pressed, self._pressed = self._pressed, ""
        self._stop_timer()
        try:
            if len(pressed) <= 6:
                self._expiry = _expiry_of(pressed, self.language.spoken)
            else:
                self._number, rest = _number_of(pressed, self.language.spoken)
                self._expiry = _expiry_of(rest, self.language.spoken) if rest else self._expiry
        except ToolError:
            self.asking = self.session.say(self.words.lines(self.language).again)
            return
        if self._number and self._expiry:
            self.read_aloud(self._card())
        else:
            self.asking = self.session.say(self.language.captures.expiry if self._number else self.question)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _number_of(said: str, forms: SpokenForms) -> tuple[str, str]:
    """The number, and the digits behind it if there are any. Raises `ToolError`, which does not repeat it."""
    try:
        digits = spoken.digits(said, forms)
    except ValueError:
        raise ToolError("That is not a card number. Ask the user for its digits, in groups of four.") from None
    if is_card_number(digits):
        return digits, ""
    for length in (16, 15):
        if 3 <= len(digits) - length <= 6 and is_card_number(digits[:length]):
            return digits[:length], digits[length:]
    raise ToolError(
        f"These {len(digits)} digits cannot be a card number: one is missing, too many, or wrong. Ask the user for the"
        " number again, in groups of four."
    )


def _expiry_of(said: str, forms: SpokenForms) -> str:
    """Month and year, as "2028-05". Raises `ToolError`, which does not repeat them."""
    named = next((at for at, month in enumerate(forms.months, 1) if re.search(rf"(?i)\b{month}\b", said)), 0)
    try:
        digits = spoken.digits(re.sub(rf"(?i)\b(?:{'|'.join(forms.months)})\b", "", said), forms)
    except ValueError:
        digits = "".join(re.findall(r"\d", said))
    if named:
        month, year = named, digits[-2:]
    else:
        split = 1 if len(digits) in (3, 5) else 2
        month, year = int(digits[:split] or 0), digits[split:][-2:]
    today = dt.date.today()
    if not 1 <= month <= 12 or len(year) != 2:
        raise ToolError("That is not a month and a year. Ask the user for both, as they are printed on the card.")
    expires = 2000 + int(year), month
    if expires < (today.year, today.month):
        raise ToolError("By that date the card has expired. Ask the user for the date again, or for another card.")
    if expires[0] > today.year + LONGEST_VALID:
        raise ToolError("No card is valid for so long. Ask the user for the expiry again.")
    return f"{expires[0]}-{expires[1]:02}"
