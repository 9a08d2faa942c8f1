"""`GetAddressTask`: a postal address, read back with its numbers digit by digit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from antiphon.language import SpokenForms
from antiphon.run_context import RunContext
from antiphon.tasks.capture import CaptureTask, Words
from antiphon.text import spoken
from antiphon.tools.function import ToolError, ToolResult, function_tool

__all__ = ["GetAddressResult", "GetAddressTask"]


@dataclass(slots=True, frozen=True)
class GetAddressResult:
    """What `GetAddressTask` found out."""

    address: str
    """In one line, its parts separated by commas: street with house number, city, and what else was said."""


class GetAddressTask(CaptureTask[GetAddressResult]):
    """Asks for a postal address. See `CaptureTask` for the other options.

    `verify_spelling`: the read-back also spells the street's name. Whether there is such an address is not looked up.
    """

    words = Words("address", "address", "What is your address, with the street, the house number and the city?")
    rules = (
        "House numbers and postal codes may come in words: write them in digits. Separate the street, the flat and the"
        " city by commas. Ask for the street or the city if it was not said. Do not ask for the country or a flat; note"
        " them if they are given."
    )

    def __init__(self, *, verify_spelling: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.verify_spelling = verify_spelling

    def essence(self, value: GetAddressResult) -> str:
        forms = self.language.spoken
        said = re.sub(r"[0-9]+", lambda number: spoken.say_digits(number[0], forms), value.address)
        if not self.verify_spelling:
            return self.have(said)
        street = re.sub(r"^[\d\W]+|\s+\d.*$", "", value.address.partition(",")[0])
        return self.have(self.language.captures.street.format(value=said, letters=spoken.spell(street, forms)))

    @function_tool
    async def update_address(self, ctx: RunContext[Any], address: str) -> ToolResult:
        """Note the address that the user gives, or corrects.

        Args:
            ctx: The call.
            address: The whole address in one line: street and house number, city, and what else the user said.
        """
        forms = self.language.spoken
        parts = _parts(address, forms)
        if len(parts) == 1:
            parts = _parts(self._said_on(address), forms)
        if not any(re.search(r"[^\W\d]", part) for part in parts):
            raise ToolError(f"{address!r} is not an address. Ask the user for their address.")
        if len(parts) < 2:
            raise ToolError(
                "The street or the city is missing from the address (a comma separates them). Ask the user for their"
                " address with the street and the city."
            )
        return self.captured(ctx, GetAddressResult(", ".join(parts)))

    def _said_on(self, address: str) -> str:
        """The caller's own words from `address` on: small models pass on the street and leave out the city."""
        said = next((m.text_content or "" for m in reversed(self.chat_ctx.messages()) if m.role == "user"), "")
        at = said.lower().find(address.lower())
        return address if at < 0 else said[at:].rstrip(" .?!")


def _parts(address: str, forms: SpokenForms) -> list[str]:
    """The parts between commas, with house numbers in digits."""
    parts = [" ".join(part.split()) for part in spoken.without_lead_in(address, forms).split(",")]
    return [spoken.house_number(part, forms) for part in parts if part]
