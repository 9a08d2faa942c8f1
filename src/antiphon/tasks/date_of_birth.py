"""`GetDOBTask`: a date of birth, read back with the month in words."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from antiphon.errors import UsageError
from antiphon.run_context import RunContext
from antiphon.tasks.capture import CaptureTask, Words
from antiphon.text import spoken
from antiphon.tools.function import ToolError, ToolResult, function_tool

__all__ = ["GetDOBResult", "GetDOBTask"]


@dataclass(slots=True, frozen=True)
class GetDOBResult:
    """What `GetDOBTask` found out."""

    date_of_birth: dt.date


class GetDOBTask(CaptureTask[GetDOBResult]):
    """Asks for a date of birth. See `CaptureTask` for the other options.

    Dates before `earliest` or after `latest` (by default today) are asked for again. Raises `UsageError` if no date
    lies between them.
    """

    words = Words("date_of_birth", "date of birth", "What is your date of birth, with the year?")
    rules = (
        "Write the date as YYYY-MM-DD. The year must have been said, in two digits or four: never add one yourself."
        ' Take "eighty four" for 1984. If day and month could be meant either way, ask which is the month.'
    )

    def __init__(
        self, *, earliest: dt.date = dt.date(1900, 1, 1), latest: dt.date | None = None, **options: Any
    ) -> None:
        super().__init__(**options)
        self.earliest = earliest
        self.latest = latest or dt.date.today()
        if self.earliest > self.latest:
            raise UsageError(f"GetDOBTask: expected earliest <= latest, got {self.earliest} and {self.latest}")

    def essence(self, value: GetDOBResult) -> str:
        return self.have(spoken.say_date(value.date_of_birth, self.language.spoken))

    @function_tool
    async def update_date_of_birth(self, ctx: RunContext[Any], date_of_birth: str) -> ToolResult:
        """Note the date of birth that the user gives, or corrects.

        Args:
            ctx: The call.
            date_of_birth: The date of birth, with the year that the user said, in the form YYYY-MM-DD.
        """
        try:
            date = dt.datetime.strptime(date_of_birth.strip(), "%Y-%m-%d").date()
        except ValueError:
            raise ToolError(
                f"{date_of_birth!r} is not a date in the form YYYY-MM-DD. Ask the user for their date of birth."
            ) from None
        if not self.earliest <= date <= self.latest:
            where = "before" if date < self.earliest else "after"
            limit = self.earliest if date < self.earliest else self.latest
            raise ToolError(
                f"{date_of_birth} is {where} {limit}, so it cannot be their date of birth. Ask the user for their date"
                " of birth, with the year."
            )
        return self.captured(ctx, GetDOBResult(date))
