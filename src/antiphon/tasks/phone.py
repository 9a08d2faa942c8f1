"""`GetPhoneNumberTask`: a telephone number, read back in its groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from antiphon.errors import UsageError, missing_package
from antiphon.language import ENGLISH, SpokenForms
from antiphon.run_context import RunContext
from antiphon.tasks.capture import CaptureTask, Words
from antiphon.text import spoken
from antiphon.tools.function import ToolError, ToolResult, function_tool

__all__ = ["GetPhoneNumberResult", "GetPhoneNumberTask"]


@dataclass(slots=True, frozen=True)
class GetPhoneNumberResult:
    """What `GetPhoneNumberTask` found out."""

    phone_number: str
    """In the international form without spaces (E.164), for example "+12125550123"."""
    extension: str = ""
    """Digits to dial afterwards."""


class GetPhoneNumberTask(CaptureTask[GetPhoneNumberResult]):
    """Asks for a telephone number. Needs the extra `tasks`. See `CaptureTask` for the other options.

    `default_region` is the country (two letters, ISO 3166) that numbers without a country code belong to.
    Raises `UsageError` if there is no such region.
    """

    words = Words("phone_number", "phone number", "What is your phone number, with the area code?")
    rules = (
        'Digits may come in words: "oh" is zero, "double five" is 55, "twenty five" is 25. Pass all of them on in'
        " order, with a plus only if it was said. Do not add an area code or a country code that was not said."
    )

    def __init__(self, *, default_region: str = "US", **options: Any) -> None:
        if default_region not in _library().SUPPORTED_REGIONS:
            raise UsageError(
                f"GetPhoneNumberTask: expected default_region= to be a country like 'US', got {default_region!r}"
            )
        super().__init__(**options)
        self.default_region = default_region

    def essence(self, value: GetPhoneNumberResult) -> str:
        library = _library()
        number = library.parse(value.phone_number)
        home = number.country_code == library.country_code_for_region(self.default_region)
        form = library.PhoneNumberFormat.NATIONAL if home else library.PhoneNumberFormat.INTERNATIONAL
        forms = self.language.spoken
        said = spoken.say_digits(library.format_number(number, form), forms)
        if not value.extension:
            return self.have(said)
        extension = spoken.say_digits(value.extension, forms)
        return self.have(self.language.captures.extension.format(value=said, extension=extension))

    @function_tool
    async def update_phone_number(self, ctx: RunContext[Any], phone_number: str) -> ToolResult:
        """Note the phone number that the user gives, or corrects.

        Args:
            ctx: The call.
            phone_number: The whole phone number, area code included. Digits, or the words as the user said them.
        """
        return self.captured(ctx, valid_phone_number(phone_number, self.default_region, self.language.spoken))


def valid_phone_number(said: str, region: str, forms: SpokenForms = ENGLISH.spoken) -> GetPhoneNumberResult:
    """The number in its written form. Raises `ToolError`, for the model, if there can be no such number."""
    library = _library()
    main, extension = spoken.split_extension(said, forms)
    try:
        dialled = spoken.digits(main, forms)
        extension = spoken.digits(extension, forms) if extension.strip() else ""
        number = library.parse(dialled, region)
    except (ValueError, library.NumberParseException) as error:
        raise ToolError(
            f"{said!r} is not a phone number. Ask the user for their phone number, digit by digit."
        ) from error
    if library.is_possible_number_with_reason(number) == library.ValidationResult.IS_POSSIBLE_LOCAL_ONLY:
        raise ToolError(f"{dialled} lacks its area code. Ask the user for their phone number with the area code.")
    if not library.is_valid_number(number):
        raise ToolError(
            f"{dialled} is not a valid phone number: the {len(dialled.strip('+'))} digits are too few, too many, or"
            " begin wrongly. Ask the user for their phone number, digit by digit."
        )
    return GetPhoneNumberResult(library.format_number(number, library.PhoneNumberFormat.E164), extension)


def _library() -> Any:
    try:
        import phonenumbers
    except ImportError:
        raise missing_package("GetPhoneNumberTask", "phonenumbers", "tasks") from None
    return phonenumbers
