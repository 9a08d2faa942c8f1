"""Three agents as an ordinary user writes them: a gym, a restaurant, a parcel service.

They know nothing of the model that will drive them. Their backends are small, fixed stubs, so that a dialogue has
one right course.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import ClassVar, Literal

from antiphon import Agent, RunContext, ToolError, function_tool

# -- a gym: tools at module level

ClassName = Literal["yoga", "spin", "pilates", "boxing"]

TIMETABLE: dict[str, list[str]] = {
    "yoga": ["10:15", "18:00"],
    "spin": ["07:00", "12:15", "18:00", "19:15"],
    "pilates": ["09:30", "17:30"],
    "boxing": ["07:00", "11:00", "20:00"],
}
FULL = {("spin", "18:00")}


@function_tool
async def list_classes(context: RunContext, day: str, kind: ClassName | None = None) -> str:
    """List the classes that take place on a given day.

    Args:
        day: The day in YYYY-MM-DD format.
        kind: Only list classes of this kind. Leave it out unless the caller names one.
    """
    chosen = [kind] if kind else list(TIMETABLE)
    return f"On {day}: " + "; ".join(f"{name} at {', '.join(TIMETABLE[name])}" for name in chosen) + "."


@function_tool
async def book_class(
    context: RunContext,
    class_name: ClassName,
    day: str,
    start_time: str,
    member_name: str,
    bring_guest: bool = False,
) -> str:
    """Book a place in a class for a member.

    Args:
        class_name: Which class to book.
        day: The day of the class in YYYY-MM-DD format.
        start_time: When the class starts, in 24-hour HH:MM format.
        member_name: The member's full name.
        bring_guest: True if the member says that they bring a guest.
    """
    free = [t for t in TIMETABLE[class_name] if (class_name, t) not in FULL]
    if start_time not in free:
        raise ToolError(f"There is no place in {class_name} at {start_time}. There are places at {', '.join(free)}.")
    guest = " with a guest" if bring_guest else ""
    return f"Booked {class_name} on {day} at {start_time} for {member_name}{guest}. The booking code is B4821."


@function_tool
async def cancel_booking(context: RunContext, booking_code: str, sure: bool) -> str:
    """Cancel a booking.

    Args:
        booking_code: The booking code, one letter and four digits (e.g., "C3057").
        sure: Set to True only after you have asked the caller whether they are sure, and they have said yes.
    """
    if not sure:
        return "Ask the caller whether they are sure first, then call this tool again."
    return f"Booking {booking_code} is cancelled."


def gym_agent() -> Agent:
    """The front desk of a gym."""
    return Agent(
        instructions=(
            "You answer the telephone of a gym. Callers ask what classes there are, book a class, or cancel a booking. "
            "Ask for what is missing before you book. Keep answers short."
        ),
        tools=[list_classes, book_class, cancel_booking],
    )


# -- a restaurant: tools as methods


@dataclass(frozen=True, slots=True)
class Booking:
    code: str


@dataclass(frozen=True, slots=True)
class NearbyDates:
    speech_summary: str


class ReservationsApi:
    """A backend that is full on one evening and has the same free times on every other."""

    full_evening = "2026-06-06"
    free: ClassVar[dict[str, list[str]]] = {"lunch": ["12:00", "12:30", "13:30"], "dinner": ["18:00", "19:30", "21:00"]}

    async def check(self, date: str, party_size: int, meal: str) -> list[str]:
        if meal == "dinner" and date == self.full_evening:
            return []
        return self.free[meal]

    async def search_nearby(self, date: str, party_size: int) -> NearbyDates:
        return NearbyDates(f"For a party of {party_size} there are tables on Friday and on Sunday.")

    async def book(self, date: str, time: str, party_size: int) -> Booking:
        return Booking(code="4417")


reservations_api = ReservationsApi()


class ReservationAgent(Agent):
    """Takes restaurant reservations."""

    def __init__(self) -> None:
        super().__init__(
            instructions=(
                "You take restaurant reservations. Confirm the date, time, and party size with the user before "
                "booking. Always read the details back before calling book_reservation."
            ),
        )

    @function_tool
    async def check_availability(self, date: str, party_size: int, meal: Literal["lunch", "dinner"]) -> str:
        """Check open reservation slots for a given date and meal.

        Call this when the user asks about availability. Don't call it until you have the date, party size, and
        meal (must be "lunch" or "dinner").

        Args:
            date: Reservation date in YYYY-MM-DD format.
            party_size: Number of guests, between 1 and 12.
            meal: Either "lunch" or "dinner".

        Returns:
            A speech-ready summary of available times.
        """
        if not 1 <= party_size <= 12:
            raise ToolError("We seat between 1 and 12 guests. Ask the user for a smaller party.")
        try:
            async with asyncio.timeout(5):
                slots = await reservations_api.check(date, party_size, meal)
        except TimeoutError as error:
            raise ToolError("Availability lookup is slow. Ask the user to try again in a moment.") from error
        if not slots:
            return f"No {meal} availability on {date} for a party of {party_size}."
        return f"{len(slots)} {meal} slots open on {date}: {', '.join(slots)}."

    @function_tool
    async def find_alternatives(self, run_ctx: RunContext, date: str, party_size: int) -> str:
        """Find nearby dates with availability when the requested date is full."""
        run_ctx.session.say("Let me check what else is open.")
        try:
            async with asyncio.timeout(8):
                result = await reservations_api.search_nearby(date, party_size)
        except TimeoutError as error:
            raise ToolError("Alternative search is slow. Ask the user to try again.") from error
        return result.speech_summary

    @function_tool
    async def book_reservation(
        self, run_ctx: RunContext, date: str, time: str, party_size: int, read_back: bool
    ) -> str:
        """Book a reservation. Only call after reading the details back to the user.

        Args:
            date: Reservation date in YYYY-MM-DD format.
            time: Reservation time in 24-hour HH:MM format.
            party_size: Number of guests, between 1 and 12.
            read_back: Set to True only after you have read the date, time,
                and party size back to the user and they have confirmed.
        """
        if not read_back:
            return "Read the date, time, and party size back to the user first, then call this tool again."
        run_ctx.disallow_interruptions()
        booking = await reservations_api.book(date, time, party_size)
        return f"Booked for {party_size} on {date} at {time}. Confirmation #{booking.code}."


# -- a parcel service: tools as methods, with a little state


class ParcelAgent(Agent):
    """Tracks parcels and takes wishes about their delivery."""

    parcels: ClassVar[dict[str, str]] = {
        "QT402913": "is in the depot and will arrive on Friday",
        "KL118820": "was delivered this morning",
        "MB550071": "is on its way and will arrive on Wednesday",
    }

    def __init__(self) -> None:
        super().__init__(instructions="You work for a parcel service. Help callers with their parcels. Be brief.")

    def _known(self, tracking_code: str) -> str:
        if tracking_code not in self.parcels:
            raise ToolError(f"There is no parcel with the code {tracking_code}. Ask the caller to check the code.")
        return self.parcels[tracking_code]

    @function_tool
    async def track_parcel(self, ctx: RunContext, tracking_code: str) -> str:
        """Look up where a parcel is and when it will arrive.

        Args:
            tracking_code: The parcel's tracking code, two letters and six digits (e.g., "ZR730164").
        """
        return f"Parcel {tracking_code} {self._known(tracking_code)}."

    @function_tool
    async def change_delivery_date(self, ctx: RunContext, tracking_code: str, new_date: str) -> str:
        """Change the date on which a parcel is delivered.

        Args:
            tracking_code: The parcel's tracking code, two letters and six digits (e.g., "ZR730164").
            new_date: The new delivery date in YYYY-MM-DD format.
        """
        self._known(tracking_code)
        return f"Parcel {tracking_code} will now be delivered on {new_date}."

    @function_tool
    async def leave_instructions(
        self,
        ctx: RunContext,
        tracking_code: str,
        place: Literal["porch", "neighbor", "garage", "locker"],
        note: str = "",
    ) -> str:
        """Tell the driver where to leave a parcel when nobody is at home.

        Args:
            tracking_code: The parcel's tracking code, two letters and six digits (e.g., "ZR730164").
            place: Where to leave the parcel.
            note: Anything else the driver should know, in the caller's own words.
        """
        self._known(tracking_code)
        return f"The driver will leave parcel {tracking_code} at this place: {place}."

    @function_tool
    async def send_updates(self, ctx: RunContext, tracking_code: str, email: str) -> str:
        """Send updates about a parcel by email.

        Args:
            tracking_code: The parcel's tracking code, two letters and six digits (e.g., "ZR730164").
            email: The email address to send them to.
        """
        self._known(tracking_code)
        return f"Updates about parcel {tracking_code} will be sent to {email}."

    @function_tool
    async def request_callback(self, ctx: RunContext, name: str, phone_number: str, urgent: bool = False) -> str:
        """Have a colleague call the customer back.

        Args:
            name: The customer's full name.
            phone_number: The number to call, digits only (e.g., "5550109988").
            urgent: True if the customer says that it is urgent.
        """
        return f"A colleague will call {name} back on {phone_number}."
