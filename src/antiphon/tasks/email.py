"""`GetEmailTask`: an e-mail address, spelled back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from antiphon.errors import missing_package
from antiphon.language import ENGLISH, SpokenForms
from antiphon.run_context import RunContext
from antiphon.tasks.capture import CaptureTask, Words
from antiphon.text import spoken
from antiphon.tools.function import ToolError, ToolResult, function_tool

__all__ = ["GetEmailResult", "GetEmailTask"]


@dataclass(slots=True, frozen=True)
class GetEmailResult:
    """What `GetEmailTask` found out."""

    email_address: str
    """In lower case, syntactically valid; whether it receives mail was not tried."""


class GetEmailTask(CaptureTask[GetEmailResult]):
    """Asks for an e-mail address. Needs the extra `tasks`. See `CaptureTask` for the options."""

    words = Words("email_address", "email address", "What is your email address?")
    rules = (
        'Marks come as words: "dot", "at", "underscore", "dash", "plus". Do not guess a domain that was not said, and'
        " do not put right what looks unusual."
    )

    def essence(self, value: GetEmailResult) -> str:
        return self.have(spoken.spell_email(value.email_address, self.language.spoken))

    @function_tool
    async def update_email_address(self, ctx: RunContext[Any], email: str) -> ToolResult:
        """Note the email address that the user gives, or corrects.

        Args:
            ctx: The call.
            email: The whole email address, for example "john.doe@example.com". As the user said it, if unsure.
        """
        return self.captured(ctx, GetEmailResult(valid_email(email, self.language.spoken)))


def valid_email(said: str, forms: SpokenForms = ENGLISH.spoken) -> str:
    """The address in its written form. Raises `ToolError`, for the model, if it cannot be one."""
    try:
        from email_validator import EmailNotValidError, validate_email
    except ImportError:
        raise missing_package("GetEmailTask", "email-validator", "tasks") from None
    address = spoken.email(said, forms)
    try:
        # Test names are let through: what counts here is what the caller said.
        checked = validate_email(address, check_deliverability=False, test_environment=True)
    except EmailNotValidError:
        raise ToolError(f"{address} is not a valid email address. Ask the user to spell it.") from None
    return checked.normalized.lower()
