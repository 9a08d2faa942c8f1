"""`GetAddressTask`: a postal address, read back with its numbers digit by digit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from antiphon.tasks import spoken_forms
from antiphon.tasks.capture import CaptureTask, Words
from antiphon.tools.function import ToolError, ToolResult, function_tool

__all__ = ["GetAddressResult", "GetAddressTask"]


@dataclass(slots=True, frozen=True)
class GetAddressResult:
    """What `GetAddressTask` found out."""

    street_address: str
    locality: str
    """The city, with state, region and postal code as far as they were said."""
    unit_number: str = ""
    """The flat, suite or floor."""
    country: str = ""
    """"" if it was not said."""

    @property
    def address(self) -> str:
        """All of it in one line."""
        return ", ".join(p for p in (self.street_address, self.unit_number, self.locality, self.country) if p)


class GetAddressTask(CaptureTask[GetAddressResult]):
    """Asks for a postal address. See `CaptureTask` for the other options.

    `verify_spelling`: the read-back also spells the street's name. Whether there is such an address is not looked up.
    """

    words = Words("address", "address", "What is your address, with the street, the number and the city?")
    rules = (
        "House numbers and postal codes may come in words: write them in digits. Ask for the street with its number and"
        " for the city if either was not said. Do not ask for the country or a flat; note them if they are given."
    )

    def __init__(self, *, verify_spelling: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.verify_spelling = verify_spelling

    def essence(self, value: GetAddressResult) -> str:
        said = f"I have {re.sub(r'[0-9]+', lambda n: spoken_forms.say_digits(n[0]), value.address)}"
        if not self.verify_spelling:
            return said
        street = re.sub(r"^[\d\W]+|\s+\d.*$", "", value.street_address)
        return f"{said}, with the street spelled {spoken_forms.spell(street)}"

    @function_tool
    async def update_address(
        self, street_address: str, locality: str, unit_number: str = "", country: str = ""
    ) -> ToolResult:
        """Note the address that the user gives, or corrects.

        Args:
            street_address: The street with the house number, for example "450 South Main Street".
            locality: The city, with state or region and postal code if they were said: "Salt Lake City, Utah 84101".
            unit_number: The flat, apartment, suite or floor, for example "Apartment 4B". Empty if there is none.
            country: The country, only if the user said it.
        """
        street = spoken_forms.house_number(street_address)
        if not re.search(r"[^\W\d]", street):
            raise ToolError(f"{street_address!r} is no street. Ask the user for their street and house number.")
        if not re.search(r"\d", street):
            raise ToolError(f"{street} lacks the house number. Ask the user for their street and house number.")
        if not re.search(r"[^\W\d]", locality):
            raise ToolError("The city is missing. Ask the user for their city.")
        return self.captured(GetAddressResult(street, locality.strip(), unit_number.strip(), country.strip()))
