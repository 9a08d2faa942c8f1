"""`GetDtmfTask` and `GetPinTask`: digits, pressed on the telephone or said.

Above: agents on a telephone line. Below: `CaptureTask`, and the room, which reports keys (`KeypadRoom`). Keys and words
fill the same value; with the first key the agent stops speaking, as people expect of menus.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from antiphon.errors import UsageError
from antiphon.protocols import DtmfReceived, KeypadRoom
from antiphon.run_context import RunContext
from antiphon.secret import Secret
from antiphon.tasks.capture import CaptureTask, Words
from antiphon.text import spoken
from antiphon.tools.function import ToolError, ToolResult, function_tool

__all__ = ["GetDtmfResult", "GetDtmfTask", "GetPinResult", "GetPinTask", "KeyedTask"]

T = TypeVar("T")


@dataclass(slots=True, frozen=True)
class GetDtmfResult:
    """What `GetDtmfTask` found out."""

    user_input: str
    """The keys in order, without the stop key: "0042"."""


@dataclass(slots=True, frozen=True)
class GetPinResult:
    """What `GetPinTask` found out."""

    pin: Secret[str]
    """The digits in order; `pin.reveal()` gives them."""


class KeyedTask(CaptureTask[T]):
    """Asks for `num_digits` digits, which may be pressed. What `GetDtmfTask` and `GetPinTask` share."""

    rules = 'Digits may come in words: "oh" is zero, "double five" is 55. Pass all of them on in order.'

    def __init__(
        self,
        num_digits: int,
        *,
        ask_for_confirmation: bool = False,
        dtmf_input_timeout: float = 4.0,
        dtmf_stop_event: str = "#",
        question: str | None = None,
        **options: Any,
    ) -> None:
        if num_digits < 1:
            raise UsageError(f"{type(self).__name__}: expected num_digits of at least 1, got {num_digits}")
        if len(dtmf_stop_event) != 1 or dtmf_stop_event not in "0123456789*#ABCD":
            raise UsageError(
                f"{type(self).__name__}: expected dtmf_stop_event to be a key like '#', got {dtmf_stop_event!r}"
            )
        super().__init__(require_confirmation=ask_for_confirmation, question=question, **options)
        self.num_digits = num_digits
        self.dtmf_input_timeout = dtmf_input_timeout
        self.dtmf_stop_event = dtmf_stop_event
        self._pressed = ""
        self._timer: asyncio.TimerHandle | None = None
        self._room: KeypadRoom | None = None

    def __await__(self) -> Generator[Any, None, T]:
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

    @abstractmethod
    def result_of(self, digits: str) -> T:
        """All the digits, as the task's result."""

    def digits_of(self, said: str) -> str:
        """The digits of what was said. Raises `ToolError` if they are not all there."""
        try:
            digits = spoken.keys(said, self.language.spoken).rstrip(self.dtmf_stop_event)
        except ValueError as error:
            why = "These are not digits alone" if self.sensitive else str(error)
            raise ToolError(f"{why}. Ask the user for the {self.num_digits} digits, one by one.") from None
        if len(digits) != self.num_digits:
            raise ToolError(
                f"That was {len(digits)} digits instead of {self.num_digits}. Ask the user for all"
                f" {self.num_digits} digits."
            )
        self._forget_keys()
        return digits

    # -- keys

    def _on_key(self, event: DtmfReceived) -> None:
        if self.done():
            return
        if event.digit == self.dtmf_stop_event:
            if self._pressed:
                self._entered()
            elif (back := self.read_back) is not None and back.heard():
                self.finished(back.value)
            return
        if not self._pressed and self.asking is not None:
            self.asking.interrupt(force=True)  # that, and not the answer to what the caller said meanwhile
        self._pressed += event.digit
        self._stop_timer()
        if len(self._pressed) == self.num_digits:
            self._entered()
        else:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self.dtmf_input_timeout, self._entered)

    def _entered(self) -> None:
        pressed = self._pressed
        self._forget_keys()
        if len(pressed) == self.num_digits:
            self.read_aloud(self.result_of(pressed))
        else:
            too_few = self.language.captures.too_few
            self.asking = self.session.say(
                too_few.format(pressed=len(pressed), digits=self.num_digits, question=self.question)
            )

    def _forget_keys(self) -> None:
        self._stop_timer()
        self._pressed = ""

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class GetDtmfTask(KeyedTask[GetDtmfResult]):
    """Asks for `num_digits` digits. See `CaptureTask` for the other options.

    The digits are complete when there are `num_digits`, when `dtmf_stop_event` is pressed, or when no key came for
    `dtmf_input_timeout` seconds; too few are asked for again. `ask_for_confirmation`: they are read back, and the
    caller says yes or presses the stop key. Without a keypad on the line they can only be said.

    Raises `UsageError` if `num_digits` is not positive or the stop key is no key.
    """

    words = Words("code", "code", "What is your code?")

    def default_question(self) -> str:
        return self.language.captures.code.format(digits=self.num_digits)

    def result_of(self, digits: str) -> GetDtmfResult:
        return GetDtmfResult(digits)

    def essence(self, value: GetDtmfResult) -> str:
        return self.have(spoken.say_digits(value.user_input, self.language.spoken))

    @function_tool
    async def update_code(self, ctx: RunContext[Any], code: str) -> ToolResult:
        """Note the digits of the code that the user says, or corrects.

        Args:
            ctx: The call.
            code: All the digits in order.
        """
        return self.captured(ctx, self.result_of(self.digits_of(code)))


class GetPinTask(KeyedTask[GetPinResult]):
    """Asks for a PIN of `num_digits` digits, by voice or by keys. Nothing of it is kept, not even its sound.

    The options are those of `GetDtmfTask`. Read back, it is said aloud: leave that to lines that nobody overhears.
    """

    words = Words("pin", "PIN", "What is your PIN? You may enter it on your keypad, or say it.")
    sensitive = True

    def __init__(self, num_digits: int = 4, **options: Any) -> None:
        super().__init__(num_digits, **options)

    def result_of(self, digits: str) -> GetPinResult:
        return GetPinResult(self.session.keep_secret(digits, "pin"))

    def essence(self, value: GetPinResult) -> str:
        return self.have(str(value.pin))

    @function_tool
    async def update_pin(self, ctx: RunContext[Any], pin: Secret[str]) -> ToolResult:
        """Note the digits of the PIN that the user says, or corrects.

        Args:
            ctx: The call.
            pin: All the digits in order, or what stands for them.
        """
        return self.captured(ctx, self.result_of(self.digits_of(pin.reveal())))
