"""Ten agents of ten trades, as their owners would write them, none of whom knows what model will drive them.

Their tools take and give what tools take and give: dates and times as types, choices, lists, numbers, dictionaries with
numbers that nobody wants to hear. What they were asked to do is in the history of the call; they keep no state but what
a dialogue needs.
"""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from antiphon import Agent, RunContext, ToolError, function_tool


@dataclass(frozen=True, slots=True)
class Trade:
    """An agent, and what must be known of its tools to judge a call."""

    name: str
    agent: Callable[[], Agent]
    writes: frozenset[str]
    """The tools that change something."""
    unspoken: frozenset[str] = field(default_factory=frozenset)
    """Numbers and keys in results that are nothing for a caller's ears."""


def _writes(*names: str) -> frozenset[str]:
    return frozenset(names)


# -- a veterinary practice


class Vet(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You answer the telephone of a veterinary practice. Be kind and brief.")

    @function_tool
    async def find_free_times(self, day: dt.date) -> list[str]:
        """Find the times at which the vet can still see an animal on a day.

        Args:
            day: The day to look at.
        """
        return [] if day.weekday() == 6 else ["09:00", "11:30", "16:00"]

    @function_tool
    async def book_visit(self, pet_name: str, owner_name: str, day: dt.date, at: dt.time, reason: str) -> str:
        """Book a visit for a pet.

        Args:
            pet_name: The name of the animal.
            owner_name: The full name of the owner.
            day: The day of the visit.
            at: The time of the visit.
            reason: Why the animal is brought in, in the caller's words.
        """
        if at not in (dt.time(9), dt.time(11, 30), dt.time(16)):
            raise ToolError(f"{at:%H:%M} is taken. Free are 09:00, 11:30 and 16:00.")
        return f"{pet_name} is booked for {day:%A, %d %B} at {at:%H:%M}."

    @function_tool
    async def cancel_visit(self, pet_name: str, day: dt.date) -> str:
        """Cancel a visit that was booked.

        Args:
            pet_name: The name of the animal.
            day: The day of the visit.
        """
        return f"The visit of {pet_name} on {day:%A, %d %B} is cancelled."

    @function_tool
    async def order_medicine(self, pet_name: str, medicine: str, packs: int = 1) -> dict[str, object]:
        """Order medicine for a pet, to be collected at the practice.

        Args:
            pet_name: The name of the animal.
            medicine: The name of the medicine.
            packs: How many packs.
        """
        return {"order_id": "ord_7f3a91c2", "medicine": medicine, "packs": packs, "ready": "tomorrow at noon"}

    @function_tool
    async def opening_hours(self) -> str:
        """Tell when the practice is open."""
        return "We are open Monday to Saturday from 8 to 6."


# -- a garage


class Garage(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You work at the desk of a car repair shop. Help callers with their cars.")

    @function_tool
    async def check_repair_status(self, license_plate: str) -> dict[str, object]:
        """Check how far the repair of a car is.

        Args:
            license_plate: The license plate, e.g. "KX21 ABC".
        """
        return {"job_id": "9b1d7c", "status": "waiting for parts", "ready_by": "2026-04-17"}

    @function_tool
    async def book_service(
        self,
        license_plate: str,
        service: Literal["oil change", "inspection", "tyre change", "brake check"],
        when: dt.datetime,
    ) -> str:
        """Book a car in for a service.

        Args:
            license_plate: The license plate, e.g. "KX21 ABC".
            service: What is to be done.
            when: Day and time at which the car is brought in.
        """
        return f"Booked: {service} for {license_plate} on {when:%A %d %B} at {when:%H:%M}."

    @function_tool
    async def add_work(self, license_plate: str, work: list[str]) -> str:
        """Add work to the job of a car that is with us already.

        Args:
            license_plate: The license plate, e.g. "KX21 ABC".
            work: The things to be done as well, one entry each.
        """
        return f"Added to the job: {', '.join(work)}."

    @function_tool
    async def approve_quote(self, quote_number: int) -> str:
        """Approve a quote, so that the repair starts.

        Args:
            quote_number: The number of the quote.
        """
        if quote_number < 1000:
            raise ToolError(f"There is no quote with the number {quote_number}. Quotes have four digits.")
        return f"Quote {quote_number} is approved. We start today."

    @function_tool
    async def garage_address(self) -> str:
        """Give the address of the garage."""
        return "We are at 14 Mill Lane, behind the station."


# -- a bank


class Bank(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You are the telephone service of a bank. Be exact.")

    @function_tool
    async def get_balance(self, account: Literal["checking", "savings"] = "checking") -> dict[str, object]:
        """Get the balance of one of the caller's accounts.

        Args:
            account: Which account.
        """
        return {"account_id": "acc_55d0e1f7", "balance": 1240.5 if account == "checking" else 8800, "currency": "EUR"}

    @function_tool
    async def transfer_money(self, amount: float, recipient: str, reference: str | None = None) -> str:
        """Transfer money to somebody.

        Args:
            amount: How much, in euros.
            recipient: The full name of who gets the money.
            reference: What it is for, if the caller says so.
        """
        if amount > 1000:
            raise ToolError("By telephone we transfer up to 1000 euros. Ask the caller for a smaller amount.")
        return f"{amount:g} euros were sent to {recipient}."

    @function_tool
    async def block_card(self, last_digits: str) -> str:
        """Block a card.

        Args:
            last_digits: The last four digits of the card.
        """
        return f"The card ending in {last_digits} is blocked."

    @function_tool
    async def unblock_card(self, last_digits: str) -> str:
        """Unblock a card that was blocked.

        Args:
            last_digits: The last four digits of the card.
        """
        return f"The card ending in {last_digits} works again."

    @function_tool
    async def list_payments(self, since: dt.date) -> list[dict[str, object]]:
        """List the payments made since a day.

        Args:
            since: The first day to list.
        """
        return [
            {"id": "tx-00981", "to": "City Energy", "amount": 84.2, "date": "2026-04-10"},
            {"id": "tx-00977", "to": "Bookshop Ltd", "amount": 19.9, "date": "2026-04-08"},
        ]


# -- a smart home

Room = Literal["kitchen", "bedroom", "living room", "bathroom"]


class Home(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You control a home by voice. Do what you are told, and say what you did.")

    @function_tool
    async def turn_on(self, device: str) -> str:
        """Turn on a device.

        Args:
            device: The device, e.g. "kitchen light" or "fan".
        """
        return f"The {device} is on."

    @function_tool
    async def turn_off(self, device: str) -> str:
        """Turn off a device.

        Args:
            device: The device, e.g. "kitchen light" or "fan".
        """
        return f"The {device} is off."

    @function_tool
    async def set_temperature(self, room: Room, degrees: int) -> str:
        """Set the temperature of a room.

        Args:
            room: Which room.
            degrees: The temperature in degrees Celsius, from 10 to 28.
        """
        if not 10 <= degrees <= 28:
            raise ToolError("The heating goes from 10 to 28 degrees.")
        return f"The {room} is set to {degrees} degrees."

    @function_tool
    async def lock_door(self, door: Literal["front", "back", "garage"]) -> str:
        """Lock a door.

        Args:
            door: Which door.
        """
        return f"The {door} door is locked."

    @function_tool
    async def open_blinds(self, room: Room) -> str:
        """Open the blinds of a room.

        Args:
            room: Which room.
        """
        return f"The blinds of the {room} are open."

    @function_tool
    async def list_devices(self) -> list[str]:
        """List the devices of the home and whether they are on."""
        return ["kitchen light: on", "fan: off", "coffee machine: off"]


# -- a theatre


class Show(enum.Enum):
    HAMLET = "Hamlet"
    SEAGULL = "The Seagull"
    CABARET = "Cabaret"


class Theatre(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You sell tickets for a theatre. Today's callers are in a hurry.")

    @function_tool(effect="reads")
    async def whats_on(self, day: dt.date) -> str:
        """Tell what is played on a day.

        Args:
            day: The day.
        """
        return f"On {day:%A} we play Hamlet at 7 pm and Cabaret at 9 pm."

    @function_tool(effect="reads")
    async def ticket_price(self, category: Literal["stalls", "balcony"]) -> str:
        """Tell what a ticket costs.

        Args:
            category: Where the seat is.
        """
        return "A seat in the stalls costs 40 euros." if category == "stalls" else "A balcony seat costs 25 euros."

    @function_tool(effect="writes")
    async def reserve_tickets(
        self, show: Show, day: dt.date, tickets: int, category: Literal["stalls", "balcony"], name: str
    ) -> str:
        """Reserve tickets for a show.

        Args:
            show: Which show.
            day: The day of the show.
            tickets: How many tickets.
            category: Where the seats are.
            name: The name that the tickets are kept under.
        """
        if tickets > 8:
            raise ToolError("One caller can reserve at most 8 tickets.")
        return f"{tickets} tickets for {show.value} on {day:%A} are kept under the name {name}."

    @function_tool(effect="writes")
    async def cancel_tickets(self, name: str, show: Show) -> str:
        """Cancel tickets that were reserved.

        Args:
            name: The name that the tickets are kept under.
            show: Which show.
        """
        return f"The tickets for {show.value} under the name {name} are cancelled."


# -- an IT help desk


class Priority(enum.Enum):
    LOW = "low"
    NORMAL = "normal"
    URGENT = "urgent"


class HelpDesk(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You are the IT help desk of a company. Solve it, or open a ticket.")

    @function_tool
    async def open_ticket(self, problem: str, priority: Priority = Priority.NORMAL) -> dict[str, object]:
        """Open a ticket for a problem.

        Args:
            problem: What does not work, in the caller's words.
            priority: How urgent it is.
        """
        return {"ticket": 4812, "queue_id": "q-77ab", "answer_within": "four hours"}

    @function_tool
    async def close_ticket(self, number: int) -> str:
        """Close a ticket that is solved.

        Args:
            number: The number of the ticket.
        """
        return f"Ticket {number} is closed."

    @function_tool
    async def ticket_status(self, number: int) -> str:
        """Look up what became of a ticket.

        Args:
            number: The number of the ticket.
        """
        return f"Ticket {number} is with Priya from the network team."

    @function_tool
    async def reset_password(self, username: str) -> str:
        """Reset the password of a user.

        Args:
            username: The name that the user logs in with.
        """
        if not username.islower():
            raise ToolError(f"There is no user {username}. User names are lower case.")
        return f"A new password is on its way to the phone of {username}."

    @function_tool
    async def start_service(self, service: Literal["vpn", "mail", "printing"]) -> str:
        """Start a service again.

        Args:
            service: Which service.
        """
        return f"The {service} service is starting."

    @function_tool
    async def stop_service(self, service: Literal["vpn", "mail", "printing"]) -> str:
        """Stop a service.

        Args:
            service: Which service.
        """
        return f"The {service} service is stopped."


# -- a grocer who delivers


class Grocer(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You take orders for a grocery delivery. Keep it short.")

    @function_tool
    async def add_to_basket(self, items: list[str]) -> str:
        """Add groceries to the basket.

        Args:
            items: What to add, one entry for each thing.
        """
        return f"In the basket: {', '.join(items)}."

    @function_tool
    async def remove_from_basket(self, items: list[str]) -> str:
        """Remove groceries from the basket.

        Args:
            items: What to take out, one entry for each thing.
        """
        return f"Taken out: {', '.join(items)}."

    @function_tool
    async def show_basket(self) -> dict[str, object]:
        """Tell what is in the basket and what it costs."""
        return {"basket_id": "b7d1-22f0", "items": ["apples", "milk"], "total": "7.40 euros"}

    @function_tool
    async def choose_delivery(self, day: dt.date, start: dt.time) -> str:
        """Choose when the groceries are delivered.

        Args:
            day: The day of the delivery.
            start: When the delivery window begins.
        """
        if start < dt.time(8):
            raise ToolError("We deliver from 8 in the morning. Ask the caller for a later time.")
        return f"We deliver on {day:%A} from {start:%H:%M}."

    @function_tool
    async def delivery_fee(self) -> str:
        """Tell what the delivery costs."""
        return "Delivery costs 3 euros, and nothing from 50 euros up."


# -- the waste service of a town

Bin = Literal["paper", "glass", "garden", "household"]


class Waste(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You are the telephone of the town's waste service.")

    @function_tool
    async def next_collection(self, street: str, kind: Bin) -> str:
        """Tell when a bin is emptied next in a street.

        Args:
            street: The street.
            kind: Which bin.
        """
        return f"The {kind} bin in {street} is emptied on Friday."

    @function_tool
    async def report_missed_bin(self, street: str, house_number: int, kind: Bin) -> str:
        """Report a bin that was not emptied.

        Args:
            street: The street.
            house_number: The number of the house.
            kind: Which bin.
        """
        return f"Reported: {kind} bin, {street} {house_number}. Somebody comes within two days."

    @function_tool
    async def order_bulky_pickup(self, items: list[str], day: dt.date, phone: str | None = None) -> str:
        """Order the collection of bulky waste, such as furniture.

        Args:
            items: What is to be collected, one entry for each thing.
            day: The day of the collection.
            phone: A telephone number for the driver, if the caller gives one.
        """
        if day.weekday() > 4:
            raise ToolError("Bulky waste is collected on weekdays only.")
        return f"We collect {', '.join(items)} on {day:%A, %d %B}."

    @function_tool
    async def recycling_centre(self) -> str:
        """Say where the recycling centre is."""
        return "The recycling centre is at 3 Harbour Road."


# -- a language school


class School(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You are the front office of a language school.")

    @function_tool
    async def list_courses(self, language: Literal["Spanish", "French", "Italian"]) -> str:
        """List the courses in a language.

        Args:
            language: Which language.
        """
        return f"{language}: beginners on Mondays, advanced on Thursdays."

    @function_tool
    async def enrol_student(
        self,
        student: str,
        language: Literal["Spanish", "French", "Italian"],
        level: Literal["beginner", "advanced"],
        start: dt.date,
        email: str | None = None,
    ) -> str:
        """Enrol a student in a course.

        Args:
            student: The full name of the student.
            language: Which language.
            level: Which level.
            start: The day of the first lesson.
            email: Where to send the papers, if the caller wants them sent.
        """
        return f"{student} is enrolled in {language}, {level}, from {start:%d %B}."

    @function_tool
    async def move_lesson(self, student: str, new_time: dt.datetime) -> str:
        """Move the next private lesson of a student.

        Args:
            student: The full name of the student.
            new_time: Day and time of the lesson from now on.
        """
        return f"The lesson of {student} is now on {new_time:%A, %d %B at %H:%M}."

    @function_tool
    async def leave_course(self, student: str, reason: str | None = None) -> str:
        """Take a student out of a course.

        Args:
            student: The full name of the student.
            reason: Why, if the caller says so.
        """
        return f"{student} is no longer on the list."


# -- a secretary who keeps the calendar


class Secretary(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You keep the caller's calendar.")

    @function_tool
    async def list_events(self, day: dt.date) -> list[dict[str, object]]:
        """List what is in the calendar on a day.

        Args:
            day: The day.
        """
        return [{"event_id": "evt_0c9f", "title": "Budget review", "starts": "14:00"}]

    @function_tool
    async def add_event(
        self, title: str, starts: dt.datetime, guests: list[str] | None = None, minutes: int = 30
    ) -> str:
        """Add an event to the calendar.

        Args:
            title: What the event is called.
            starts: Day and time at which it starts.
            guests: The names of who is invited, if any.
            minutes: How long it takes.
        """
        return f"{title} is in the calendar: {starts:%A %d %B, %H:%M}."

    @function_tool
    async def delete_event(self, title: str, day: dt.date) -> str:
        """Delete an event from the calendar.

        Args:
            title: What the event is called.
            day: The day it is on.
        """
        return f"{title} on {day:%A} is deleted."

    @function_tool
    async def enable_quiet_hours(self) -> str:
        """Enable quiet hours: no calls are put through."""
        return "Quiet hours are enabled."

    @function_tool
    async def disable_quiet_hours(self, context: RunContext[Any]) -> str:
        """Disable quiet hours: calls are put through again."""
        return "Quiet hours are disabled."


TRADES: tuple[Trade, ...] = (
    Trade("vet", Vet, _writes("book_visit", "cancel_visit", "order_medicine"), frozenset({"ord_7f3a91c2"})),
    Trade("garage", Garage, _writes("book_service", "add_work", "approve_quote"), frozenset({"9b1d7c"})),
    Trade(
        "bank",
        Bank,
        _writes("transfer_money", "block_card", "unblock_card"),
        frozenset({"acc_55d0e1f7", "tx-00981", "tx-00977"}),
    ),
    Trade("home", Home, _writes("turn_on", "turn_off", "set_temperature", "lock_door", "open_blinds")),
    Trade("theatre", Theatre, _writes("reserve_tickets", "cancel_tickets")),
    Trade(
        "help desk",
        HelpDesk,
        _writes("open_ticket", "close_ticket", "reset_password", "start_service", "stop_service"),
        frozenset({"q-77ab"}),
    ),
    Trade(
        "grocer", Grocer, _writes("add_to_basket", "remove_from_basket", "choose_delivery"), frozenset({"b7d1-22f0"})
    ),
    Trade("waste", Waste, _writes("report_missed_bin", "order_bulky_pickup")),
    Trade("school", School, _writes("enrol_student", "move_lesson", "leave_course")),
    Trade(
        "secretary",
        Secretary,
        _writes("add_event", "delete_event", "enable_quiet_hours", "disable_quiet_hours"),
        frozenset({"evt_0c9f"}),
    ),
)
