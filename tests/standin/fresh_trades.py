"""Five more agents of other trades, written after the stand-in was mended by the ten of `trades`."""

from __future__ import annotations

import datetime as dt
import enum
from typing import Literal

from antiphon import Agent, ToolError, function_tool

from .trades import Trade

# -- an insurer


class Insurer(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You are the claims line of an insurance company. Be calm.")

    @function_tool
    async def report_claim(
        self, policy_number: str, happened_on: dt.date, what_happened: str, witnesses: list[str] | None = None
    ) -> dict[str, object]:
        """Report a claim.

        Args:
            policy_number: The number of the policy, e.g. "P-20418".
            happened_on: The day on which it happened.
            what_happened: What happened, in the caller's words.
            witnesses: The names of those who saw it, if any.
        """
        return {
            "claim_uuid": "0d9a2c1e-77aa-4b0e-9a55-1f7b6f0a2c33",
            "claim_number": 5521,
            "answer": "within five days",
        }

    @function_tool
    async def claim_status(self, claim_number: int) -> str:
        """Say how far a claim is.

        Args:
            claim_number: The number of the claim.
        """
        if claim_number < 5000:
            raise ToolError(f"There is no claim {claim_number}.")
        return f"Claim {claim_number} is being looked at by an assessor."

    @function_tool
    async def withdraw_claim(self, claim_number: int) -> str:
        """Withdraw a claim.

        Args:
            claim_number: The number of the claim.
        """
        return f"Claim {claim_number} is withdrawn."

    @function_tool
    async def emergency_phone(self) -> str:
        """Give the number of the emergency line."""
        return "The emergency line is 0800 55 11, day and night."


# -- a bicycle rental


class BikeKind(enum.Enum):
    CITY = "city bike"
    MOUNTAIN = "mountain bike"
    ELECTRIC = "electric bike"


class Bikes(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You rent out bicycles.")

    @function_tool
    async def bikes_left(self, kind: BikeKind, day: dt.date) -> int:
        """Tell how many bikes of a kind are left on a day.

        Args:
            kind: Which kind.
            day: The day.
        """
        return 4

    @function_tool
    async def rent_bike(self, kind: BikeKind, pick_up: dt.datetime, hours: int, name: str, helmets: int = 0) -> str:
        """Rent a bike to a customer.

        Args:
            kind: Which kind.
            pick_up: Day and time at which it is picked up.
            hours: For how many hours.
            name: The customer's full name.
            helmets: How many helmets are wanted.
        """
        if hours > 12:
            raise ToolError("Bikes are rented for 12 hours at most.")
        return f"One {kind.value} for {name}, {pick_up:%A %H:%M}, {hours} hours."

    @function_tool
    async def extend_rental(self, name: str, hours: int) -> str:
        """Extend a rental that is under way.

        Args:
            name: The customer's full name.
            hours: By how many hours.
        """
        return f"{name} may keep the bike for {hours} more hours."

    @function_tool
    async def lock_bike(self, bike_number: int) -> str:
        """Lock a bike from afar.

        Args:
            bike_number: The number on the frame.
        """
        return f"Bike {bike_number} is locked."

    @function_tool
    async def unlock_bike(self, bike_number: int) -> str:
        """Unlock a bike from afar.

        Args:
            bike_number: The number on the frame.
        """
        return f"Bike {bike_number} is unlocked."


# -- an estate agent


class Estate(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You answer for an estate agency.")

    @function_tool
    async def find_flats(
        self, area: Literal["old town", "harbour", "university"], rooms: int, max_rent: int | None = None
    ) -> list[dict[str, object]]:
        """Find flats to rent.

        Args:
            area: The part of the town.
            rooms: How many rooms.
            max_rent: The highest rent in euros a month, if the caller has a limit.
        """
        return [
            {"listing_id": "lst_8812ab", "street": "Quay Street", "rent": 950},
            {"listing_id": "lst_7741cd", "street": "Mill Row", "rent": 1100},
        ]

    @function_tool
    async def arrange_viewing(self, street: str, when: dt.datetime, visitor: str, phone: str) -> str:
        """Arrange a viewing of a flat.

        Args:
            street: The street of the flat.
            when: Day and time of the viewing.
            visitor: The full name of the visitor.
            phone: A telephone number of the visitor.
        """
        if when.weekday() == 6:
            raise ToolError("There are no viewings on Sundays.")
        return f"{visitor} can see the flat in {street} on {when:%A at %H:%M}."

    @function_tool
    async def cancel_viewing(self, street: str, visitor: str) -> str:
        """Cancel a viewing.

        Args:
            street: The street of the flat.
            visitor: The full name of the visitor.
        """
        return f"The viewing in {street} is cancelled."

    @function_tool
    async def office_hours(self) -> str:
        """Tell the opening hours of the office."""
        return "The office is open on weekdays from 9 to 5."


# -- an energy supplier


class Energy(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You are the service line of an energy supplier.")

    @function_tool
    async def submit_reading(self, meter_number: str, reading: int, read_on: dt.date) -> str:
        """Submit the reading of a meter.

        Args:
            meter_number: The number of the meter, e.g. "M40771".
            reading: What the meter shows, in kilowatt hours.
            read_on: The day on which it was read.
        """
        return f"We have noted {reading} kilowatt hours for meter {meter_number}."

    @function_tool
    async def monthly_payment(self) -> dict[str, object]:
        """Tell what the caller pays each month."""
        return {"contract_id": "ct-99-1a2b", "amount": "86 euros", "due": "2026-05-01"}

    @function_tool
    async def change_payment(self, euros: int) -> str:
        """Change what the caller pays each month.

        Args:
            euros: The new amount, from 40 to 300 euros.
        """
        if not 40 <= euros <= 300:
            raise ToolError("The monthly payment can be between 40 and 300 euros.")
        return f"From next month on you pay {euros} euros."

    @function_tool
    async def report_outage(self, street: str, since: dt.time) -> str:
        """Report that there is no power.

        Args:
            street: The street.
            since: The time since which there is no power.
        """
        return f"Thank you. Our people are on their way to {street}."


# -- a canteen


class Canteen(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You take orders for the canteen of an office.")

    @function_tool
    async def menu(self, day: dt.date) -> list[str]:
        """List the dishes of a day.

        Args:
            day: The day.
        """
        return ["lentil soup", "fish pie", "mushroom risotto"]

    @function_tool
    async def order_lunch(self, dishes: list[str], day: dt.date, at: dt.time, employee: str) -> str:
        """Order lunch for somebody.

        Args:
            dishes: The dishes, one entry each.
            day: The day.
            at: When it is collected.
            employee: The full name of the employee.
        """
        if not dt.time(11) <= at <= dt.time(14):
            raise ToolError(f"Lunch is served from 11:00 to 14:00, not at {at:%H:%M}.")
        return f"{' and '.join(dishes)} for {employee}, {day:%A} at {at:%H:%M}."

    @function_tool
    async def cancel_lunch(self, employee: str, day: dt.date) -> str:
        """Cancel a lunch that was ordered.

        Args:
            employee: The full name of the employee.
            day: The day.
        """
        return f"The lunch of {employee} on {day:%A} is cancelled."

    @function_tool
    async def pause_orders(self) -> str:
        """Pause the orders: nothing is taken until they are resumed."""
        return "Orders are paused."

    @function_tool
    async def resume_orders(self) -> str:
        """Resume the orders."""
        return "Orders are taken again."


TRADES: tuple[Trade, ...] = (
    Trade("insurer", Insurer, frozenset({"report_claim", "withdraw_claim"}), frozenset({"0d9a2c1e"})),
    Trade("bikes", Bikes, frozenset({"rent_bike", "extend_rental", "lock_bike", "unlock_bike"})),
    Trade(
        "estate",
        Estate,
        frozenset({"arrange_viewing", "cancel_viewing"}),
        frozenset({"lst_8812ab", "8812ab", "7741cd"}),
    ),
    Trade(
        "energy", Energy, frozenset({"submit_reading", "change_payment", "report_outage"}), frozenset({"ct-99-1a2b"})
    ),
    Trade("canteen", Canteen, frozenset({"order_lunch", "cancel_lunch", "pause_orders", "resume_orders"})),
)
