"""A restaurant's reservation agent, with a backend of its own.

    antiphon call examples/reservations.py --say "Is there a table for four next Friday, for dinner?" "Book it for 7 PM" "yes"
    antiphon call examples/reservations.py --say "Is there a table for two next Sunday, for dinner?" "What about other days?"
    antiphon dev examples/reservations.py

Watch: the booking is read back, and made after a yes. Sundays are full: the agent bridges the search for other days
with a sentence of its own. Try: speak over the read-back, or answer it with "yes, but at 6 PM".
"""

import asyncio
import datetime as dt
from typing import Literal

from antiphon import Agent, RunContext, ToolError, function_tool


class Backend:
    """Stands for your reservation system: it takes its time, and Sundays are full."""

    def __init__(self) -> None:
        self.booked: dict[str, str] = {}

    async def free(self, date: dt.date, meal: str) -> list[str]:
        await asyncio.sleep(0.2)
        times = ["12 PM", "1 PM"] if meal == "lunch" else ["6 PM", "7 PM", "8:30 PM"]
        return [] if date.weekday() == 6 else times

    async def near(self, date: dt.date) -> list[dt.date]:
        await asyncio.sleep(2.0)
        return [date - dt.timedelta(days=1), date + dt.timedelta(days=1)]

    async def book(self, what: str, key: str) -> str:
        # The key is the same however often this wish is sent, so that a backend books it once.
        return self.booked.setdefault(key, f"R{1842 + len(self.booked)}")


backend = Backend()


def spoken(date: dt.date) -> str:
    return f"{date:%A, %B} {date.day}"


class Reservations(Agent):
    def __init__(self) -> None:
        super().__init__(
            instructions="You take reservations for Chez Antiphon. Look up what is free before you book. Be brief."
        )

    @function_tool(effect="reads", timeout=5)
    async def check_availability(self, date: dt.date, party_size: int, meal: Literal["lunch", "dinner"]) -> str:
        """Check which tables are free on a day.

        Args:
            date: The day, in YYYY-MM-DD format
            party_size: Number of guests, between 1 and 12
            meal: Must be "lunch" or "dinner"
        """
        if not 1 <= party_size <= 12:
            raise ToolError("We seat parties of 1 to 12. Ask how many would come.")
        times = await backend.free(date, meal)
        if not times:
            return f"There is no table for {meal} on {spoken(date)}. Offer to look for other days."
        return f"For {meal} on {spoken(date)} there are tables at {', '.join(times)}."

    @function_tool(effect="reads", timeout=8)
    async def find_other_days(self, ctx: RunContext, date: dt.date) -> str:
        """Find other days near a day that is full.

        Args:
            date: The day that is full, in YYYY-MM-DD format
        """
        ctx.session.say("Let me see what else is open.")
        days = await backend.near(date)
        return f"There are tables on {' and '.join(map(spoken, days))}."

    @function_tool(effect="writes", confirm="A table for {party_size} on {date} at {time}. Shall I book it?")
    async def book_reservation(self, ctx: RunContext, date: dt.date, time: str, party_size: int) -> str:
        """Book a table.

        Args:
            date: The day, in YYYY-MM-DD format
            time: The time (e.g., "7 PM")
            party_size: Number of guests, between 1 and 12
        """
        code = await backend.book(f"{party_size} on {date} at {time}", ctx.idempotency_key)
        return f"The table is booked. The confirmation code is {code}."
