"""What callers say to the agents of ten trades, and what should come of it: fifty dialogues, data only.

Each turn says which calls should be made; every other write is wrong. `says` are words of which the answer needs one;
`unable` marks a wish that no tool of the agent grants: the answer then says so or asks. Today is Wednesday,
15 April 2026, ten in the morning.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from .dialogues import ABSENT, Anything, Call, Named, OneOf, Saying

NOW = dt.datetime(2026, 4, 15, 10, 0)


@dataclass(frozen=True, slots=True)
class Turn:
    """What the caller says, what should be called, and what the answer should say."""

    caller: str
    calls: tuple[Call, ...] = ()
    says: tuple[str, ...] = ()
    unable: bool = False


@dataclass(frozen=True, slots=True)
class Held:
    """One dialogue with the agent of a trade."""

    trade: str
    name: str
    turns: tuple[Turn, ...]


def do(tool: str, **arguments: object) -> Call:
    """A call that should be made."""
    return Call(tool, arguments)  # type: ignore[arg-type]


def may(tool: str, **arguments: object) -> Call:
    """A call that may be made or not."""
    return Call(tool, arguments, optional=True)  # type: ignore[arg-type]


def say(caller: str, *calls: Call, says: str = "", unable: bool = False) -> Turn:
    return Turn(caller, calls, tuple(says.split("|")) if says else (), unable)


def held(trade: str, name: str, *turns: Turn) -> Held:
    return Held(trade, name, turns)


class Items:
    """These things in a list, in any order and capitalisation; articles and "some" count for nothing."""

    def __init__(self, *items: str) -> None:
        self.items = {item.casefold() for item in items}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, list):
            return NotImplemented
        return self.items == {_bare(item) for item in other}

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Items{tuple(sorted(self.items))}"


def _bare(item: object) -> str:
    words = str(item).casefold().split()
    return " ".join(word for word in words if word not in ("a", "an", "the", "some", "my", "our"))


class Device:
    """A device, with or without an article."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and _bare(other) == self.name

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Device({self.name!r})"


FRIDAY, MONDAY, TUESDAY = "2026-04-17", "2026-04-20", "2026-04-21"
TOMORROW = "2026-04-16"
NONE = OneOf((None, ABSENT))

VET = (
    held(
        "vet",
        "asks first, then books",
        say("Hello, do you have anything free on Friday?", do("find_free_times", day=FRIDAY), says="11:30|11 30|half"),
        say(
            "Half past eleven would be good. My name is Laura Stein, and my cat is called Momo.",
        ),
        say(
            "She has been limping since yesterday.",
            do(
                "book_visit",
                pet_name=Named("Momo"),
                owner_name=Named("Laura Stein"),
                day=FRIDAY,
                at=OneOf(("11:30", "11:30:00")),
                reason=Saying("limping"),
            ),
            says="booked",
        ),
        say("Yes, that's correct. And when are you open on Saturdays?", do("opening_hours"), says="8 to 6"),
        say("Thank you, goodbye."),
    ),
    held(
        "vet",
        "a time that is taken",
        say(
            "I need a visit for my dog Rex next Tuesday at 10 am, I'm Paul Brandt, he needs his vaccination.",
            do(
                "book_visit",
                pet_name=Named("Rex"),
                owner_name=Named("Paul Brandt"),
                day=TUESDAY,
                at=OneOf(("10:00", "10:00:00")),
                reason=Saying("vaccination"),
            ),
            says="taken|free",
        ),
        say(
            "Then 4 pm.",
            do(
                "book_visit",
                pet_name=Named("Rex"),
                owner_name=Named("Paul Brandt"),
                day=TUESDAY,
                at=OneOf(("16:00", "16:00:00")),
                reason=Saying("vaccination"),
            ),
            says="booked",
        ),
        say("Great, bye."),
    ),
    held(
        "vet",
        "cancels one visit and asks about another",
        say("I'd like to cancel Rex's visit tomorrow.", do("cancel_visit", pet_name=Named("Rex"), day=TOMORROW)),
        say("Could I come on Friday instead? What is free then?", do("find_free_times", day=FRIDAY), says="16"),
        say("I'll think about it."),
    ),
    held(
        "vet",
        "orders medicine twice",
        say(
            "Can you order two packs of Bravecto for Bella?",
            do("order_medicine", pet_name=Named("Bella"), medicine=Saying("bravecto"), packs=2),
            says="tomorrow|noon",
        ),
        say(
            "And one pack of Milbemax for Oscar please.",
            do("order_medicine", pet_name=Named("Oscar"), medicine=Saying("milbemax"), packs=OneOf((1, ABSENT))),
        ),
        say("When can I pick it up?", may("opening_hours")),
        say("Thanks!"),
    ),
    held(
        "vet",
        "wants what they do not do",
        say("Do you also sell dog food?", unable=True),
        say("What time do you close?", do("opening_hours"), says="6"),
        say("Can you tell me how much a vaccination costs?", unable=True),
        say("Okay, never mind. Bye."),
    ),
)

GARAGE = (
    held(
        "garage",
        "asks how far the car is",
        say("Hi, is my car ready? The plate is KX21 ABC.", do("check_repair_status", license_plate="KX21 ABC")),
        say("When will it be done?", may("check_repair_status", license_plate="KX21 ABC"), says="17|friday"),
        say("Where are you located again?", do("garage_address"), says="mill lane"),
        say("Perfect, thanks."),
    ),
    held(
        "garage",
        "books a service",
        say(
            "I'd like to bring in my car for an oil change next Monday at 8:30 in the morning.",
        ),
        say(
            "It's LM19 XYZ.",
            do(
                "book_service",
                license_plate="LM19 XYZ",
                service="oil change",
                when=OneOf(("2026-04-20T08:30", "2026-04-20T08:30:00")),
            ),
            says="booked|monday",
        ),
        say("And could you do a brake check on my wife's car as well?"),
        say(
            "Her plate is LM20 QRS, same day at ten.",
            do(
                "book_service",
                license_plate="LM20 QRS",
                service="brake check",
                when=OneOf(("2026-04-20T10:00", "2026-04-20T10:00:00")),
            ),
        ),
        say("No, that's everything. Bye."),
    ),
    held(
        "garage",
        "adds work",
        say(
            "My car is with you, plate KX21 ABC."
            " Please also check the brakes, change the wipers and clean the interior.",
            do("add_work", license_plate="KX21 ABC", work=Anything()),
        ),
        say("How much will that be?", unable=True),
        say("Alright, thank you."),
    ),
    held(
        "garage",
        "a quote that does not exist",
        say("I want to approve quote number 381.", do("approve_quote", quote_number=381), says="no quote|four digits"),
        say("Oh sorry, it's 3810.", do("approve_quote", quote_number=3810), says="approved"),
        say("Is it approved now?"),
        say("Good, goodbye."),
    ),
    held(
        "garage",
        "asks before it decides",
        say("What happens if I don't approve the quote?", unable=True),
        say("Which services do you offer?"),
        say("Can I book an inspection for Friday?"),
        say("Actually no, leave it. I'll call again."),
    ),
)

BANK = (
    held(
        "bank",
        "two transfers in a row",
        say(
            "Please transfer 50 euros to Bob Miller.",
            do("transfer_money", amount=50, recipient=Named("Bob Miller"), reference=NONE),
        ),
        say(
            "Transfer 20 euros to Jane Doe.",
            do("transfer_money", amount=20, recipient=Named("Jane Doe"), reference=NONE),
        ),
        say("What's my balance?", do("get_balance", account=OneOf(("checking", ABSENT))), says="1240|1,240"),
        say("Thanks, bye."),
    ),
    held(
        "bank",
        "too much at once",
        say(
            "Send 1500 euros to Maria Huber for the rent.",
            do(
                "transfer_money",
                amount=1500,
                recipient=Named("Maria Huber"),
                reference=OneOf((None, ABSENT, "rent", "the rent", "for the rent")),
            ),
            says="1000|smaller",
        ),
        say(
            "Okay, then 900.",
            do(
                "transfer_money",
                amount=900,
                recipient=Named("Maria Huber"),
                reference=OneOf((None, ABSENT, "rent", "the rent", "for the rent")),
            ),
            says="900",
        ),
        say("Did that work?"),
        say("Lovely."),
    ),
    held(
        "bank",
        "a card is gone and found",
        say("I lost my card, it ends in 4471. Please block it.", do("block_card", last_digits="4471"), says="blocked"),
        say("Has it been blocked?"),
        say("Oh wait, I found it. Unblock it again please.", do("unblock_card", last_digits="4471"), says="works"),
        say("Thank you, bye bye."),
    ),
    held(
        "bank",
        "looks at payments",
        say("What did I pay since last Monday?", do("list_payments", since=Anything()), says="energy|bookshop"),
        say("And how much is in my savings account?", do("get_balance", account="savings"), says="8800|8,800"),
        say("Could I send money to my sister abroad?"),
        say("No, forget it."),
    ),
    held(
        "bank",
        "wants a loan",
        say("I'd like to apply for a mortgage.", unable=True),
        say("Can I speak to a person?", unable=True),
        say("How much money do I have?", do("get_balance", account=OneOf(("checking", ABSENT))), says="1240|1,240"),
        say("Alright, bye."),
    ),
)

HOME = (
    held(
        "home",
        "on and off",
        say("Turn on the kitchen light.", do("turn_on", device=Device("kitchen light")), says="on"),
        say("Now switch it off again.", do("turn_off", device=Device("kitchen light")), says="off"),
        say("Turn the fan off please.", do("turn_off", device=Device("fan"))),
        say("Which devices are on?", do("list_devices"), says="kitchen"),
    ),
    held(
        "home",
        "temperatures",
        say("Set the bedroom to 19 degrees.", do("set_temperature", room="bedroom", degrees=19)),
        say("And the living room to 35.", do("set_temperature", room="living room", degrees=35), says="28"),
        say("Make it 24 then.", do("set_temperature", room="living room", degrees=24), says="24"),
        say("Is it warm in the bathroom?", unable=True),
    ),
    held(
        "home",
        "doors that only lock",
        say("Lock the front door.", do("lock_door", door="front"), says="locked"),
        say("Unlock the front door.", unable=True),
        say("Is the back door locked?", unable=True),
        say("Lock the back door too.", do("lock_door", door="back")),
    ),
    held(
        "home",
        "blinds that only open",
        say("Open the blinds in the bedroom.", do("open_blinds", room="bedroom")),
        say("Close the blinds in the bedroom.", unable=True),
        say("Open the window in the kitchen.", unable=True),
        say("Okay thanks."),
    ),
    held(
        "home",
        "leaves the house",
        say("I'm leaving. Turn off the coffee machine.", do("turn_off", device=Device("coffee machine"))),
        say("Is the fan on?", do("list_devices"), says="off"),
        say("Could you lock the garage door?", do("lock_door", door="garage")),
        say("Order me a pizza.", unable=True),
        say("Bye!"),
    ),
)

THEATRE = (
    held(
        "theatre",
        "asks, prices, reserves",
        say("What's playing on Friday?", do("whats_on", day=FRIDAY), says="hamlet"),
        say("How much is a seat on the balcony?", do("ticket_price", category="balcony"), says="25"),
        say("Okay, three balcony tickets for Hamlet then."),
        say(
            "Under the name Greta Olsen.",
            do(
                "reserve_tickets",
                show="Hamlet",
                day=FRIDAY,
                tickets=3,
                category="balcony",
                name=OneOf(("Greta Olsen",)),
            ),
            says="kept",
        ),
        say("That's correct, thank you. Goodbye."),
    ),
    held(
        "theatre",
        "too many",
        say(
            "I'd like to reserve twelve tickets in the stalls for Cabaret tomorrow, name is Ben Frost.",
            do("reserve_tickets", show="Cabaret", day=TOMORROW, tickets=12, category="stalls", name=Named("Ben Frost")),
            says="8",
        ),
        say(
            "Then make it eight.",
            do("reserve_tickets", show="Cabaret", day=TOMORROW, tickets=8, category="stalls", name=Named("Ben Frost")),
            says="kept",
        ),
        say("Bye."),
    ),
    held(
        "theatre",
        "cancels",
        say(
            "I can't come to The Seagull. Please cancel my tickets, they are under Iris Wolf.",
            do("cancel_tickets", name=Named("Iris Wolf"), show="The Seagull"),
            says="cancelled",
        ),
        say("Do I get my money back?", unable=True),
        say("And what's on tomorrow?", do("whats_on", day=TOMORROW), says="hamlet|cabaret"),
        say("Hm, thanks."),
    ),
    held(
        "theatre",
        "reserves twice for two people",
        say(
            "Two stalls tickets for Hamlet on Saturday for Tom Reed please.",
            do(
                "reserve_tickets", show="Hamlet", day="2026-04-18", tickets=2, category="stalls", name=Named("Tom Reed")
            ),
        ),
        say(
            "And four balcony tickets for Cabaret on Sunday for Nina Park.",
            do(
                "reserve_tickets",
                show="Cabaret",
                day="2026-04-19",
                tickets=4,
                category="balcony",
                name=Named("Nina Park"),
            ),
        ),
        say("Yes, that's right. How much is a seat in the stalls?", do("ticket_price", category="stalls"), says="40"),
        say("Great, that's all."),
    ),
    held(
        "theatre",
        "does not know",
        say("Is there parking near the theatre?", unable=True),
        say("Is Hamlet any good?", unable=True),
        say("Could I reserve seats for the Seagull?"),
        say("What does a ticket cost in the stalls?", do("ticket_price", category="stalls"), says="40"),
        say("Too expensive. Bye."),
    ),
)

HELP_DESK = (
    held(
        "help desk",
        "opens a ticket",
        say(
            "My laptop doesn't connect to the wifi any more, please open a ticket.",
            do("open_ticket", problem=Saying("wifi"), priority=OneOf(("normal", ABSENT))),
            says="4812",
        ),
        say("What's the status of ticket 4812?", do("ticket_status", number=4812), says="priya"),
        say("It works again, you can close it.", do("close_ticket", number=4812), says="closed"),
        say("Thanks a lot."),
    ),
    held(
        "help desk",
        "resets a password",
        say("I forgot my password."),
        say("My user name is jkeller.", do("reset_password", username="jkeller"), says="phone"),
        say("Will it take long?", unable=True),
        say("Also please stop the mail service.", do("stop_service", service="mail"), says="stopped"),
        say("And start it again.", do("start_service", service="mail"), says="starting"),
    ),
    held(
        "help desk",
        "urgent",
        say(
            "I have an urgent problem: the printer on the third floor is on fire.",
            do("open_ticket", problem=Saying("printer"), priority="urgent"),
        ),
        say("Who is taking care of it?", may("ticket_status", number=4812)),
        say("Is the vpn down?", unable=True),
        say("Okay, bye."),
    ),
    held(
        "help desk",
        "two tickets",
        say("Close ticket 1200.", do("close_ticket", number=1200)),
        say("How is ticket 1300 going?", do("ticket_status", number=1300), says="1300"),
        say("Close 1300 as well.", do("close_ticket", number=1300), says="1300"),
        say("Reopen ticket 1200.", unable=True),
    ),
    held(
        "help desk",
        "not for them",
        say("I need a new phone, who do I ask?", may("open_ticket", problem=Anything(), priority=Anything())),
        say("Restart my computer.", unable=True),
        say("Stop the printing service.", do("stop_service", service="printing")),
        say("Can you enable the camera?", unable=True),
    ),
)

GROCER = (
    held(
        "grocer",
        "a list",
        say("Add apples, milk and bread.", do("add_to_basket", items=Items("apples", "milk", "bread")), says="bread"),
        say("Remove the milk.", do("remove_from_basket", items=Items("milk")), says="milk"),
        say("What's in my basket?", do("show_basket"), says="7.40"),
        say(
            "Bring it tomorrow at 5 pm.",
            do("choose_delivery", day=TOMORROW, start=OneOf(("17:00", "17:00:00"))),
            says="17|5",
        ),
        say("Yes, correct. What does delivery cost?", do("delivery_fee"), says="3"),
    ),
    held(
        "grocer",
        "too early",
        say(
            "I'd like the delivery on Saturday at six in the morning.",
            do("choose_delivery", day="2026-04-18", start=OneOf(("06:00", "06:00:00"))),
            says="8",
        ),
        say("At nine then.", do("choose_delivery", day="2026-04-18", start=OneOf(("09:00", "09:00:00"))), says="09|9"),
        say(
            "Please add a dozen eggs, two bottles of orange juice and butter.",
            do("add_to_basket", items=Items("dozen eggs", "two bottles of orange juice", "butter")),
        ),
        say("That's it, goodbye."),
    ),
    held(
        "grocer",
        "one at a time",
        say("I need cheese.", do("add_to_basket", items=Items("cheese"))),
        say("Also tomatoes and two cucumbers.", do("add_to_basket", items=Items("tomatoes", "two cucumbers"))),
        say("Take out the tomatoes.", do("remove_from_basket", items=Items("tomatoes"))),
        say("How much is it so far?", do("show_basket"), says="7.40"),
        say("Okay."),
    ),
    held(
        "grocer",
        "questions only",
        say("Do you have oat milk?", unable=True),
        say("Is there a delivery fee?", do("delivery_fee"), says="3"),
        say("Can you deliver on Sunday?"),
        say("Hmm, no. Thank you, bye."),
    ),
    held(
        "grocer",
        "changes the delivery",
        say(
            "Deliver on Friday at 10 am please.", do("choose_delivery", day=FRIDAY, start=OneOf(("10:00", "10:00:00")))
        ),
        say(
            "Sorry, Monday at noon is better.",
            do("choose_delivery", day=MONDAY, start=OneOf(("12:00", "12:00:00"))),
            says="monday",
        ),
        say("Do you take cash?", unable=True),
        say("Pay with my card.", unable=True),
    ),
)

WASTE = (
    held(
        "waste",
        "asks and reports",
        say(
            "When is the paper bin collected in Birch Street?",
            do("next_collection", street=Saying("birch street"), kind="paper"),
            says="friday",
        ),
        say(
            "The glass bin wasn't emptied last week. I live at Birch Street 12.",
            do("report_missed_bin", street=Saying("birch street"), house_number=12, kind="glass"),
            says="reported|two days",
        ),
        say("Thanks, that's all."),
    ),
    held(
        "waste",
        "bulky waste",
        say(
            "I have an old sofa, a mattress and two chairs to get rid of. Can you pick them up on Friday?",
            do("order_bulky_pickup", items=Items("old sofa", "mattress", "two chairs"), day=FRIDAY, phone=NONE),
        ),
        say("Great. Where is the recycling centre?", do("recycling_centre"), says="harbour road"),
        say("When does it open?", unable=True),
        say("Okay, bye."),
    ),
    held(
        "waste",
        "not on a weekend",
        say(
            "Please collect a fridge on Saturday.",
            do("order_bulky_pickup", items=Items("fridge"), day="2026-04-18", phone=NONE),
            says="weekdays",
        ),
        say(
            "Then on Tuesday.",
            do("order_bulky_pickup", items=Items("fridge"), day=TUESDAY, phone=NONE),
            says="collect|tuesday",
        ),
        say("Is that free of charge?", unable=True),
        say("Fine, thanks."),
    ),
    held(
        "waste",
        "asks twice with other words",
        say("Where can I take my old paint?", may("recycling_centre")),
        say("What's the address of the recycling centre?", do("recycling_centre"), says="harbour road"),
        say(
            "And the garden bin in Mill Road, when is that emptied?",
            do("next_collection", street=Saying("mill road"), kind="garden"),
            says="friday",
        ),
        say("What about the household bin?", do("next_collection", street=Saying("mill road"), kind="household")),
    ),
    held(
        "waste",
        "two reports",
        say(
            "My household bin at 5 Station Road was not emptied.",
            do("report_missed_bin", street=Saying("station road"), house_number=5, kind="household"),
        ),
        say(
            "Neither was the paper bin at 7 Station Road.",
            do("report_missed_bin", street=Saying("station road"), house_number=7, kind="paper"),
        ),
        say("How long does that take?", unable=True),
        say("I want a bigger bin.", unable=True),
    ),
)

SCHOOL = (
    held(
        "school",
        "asks and enrols",
        say("What Spanish courses do you have?", do("list_courses", language="Spanish"), says="monday|thursday"),
        say("I'd like to enrol my son in the beginner course. His name is Leo Martin."),
        say(
            "From next Monday.",
            do(
                "enrol_student",
                student=Named("Leo Martin"),
                language="Spanish",
                level="beginner",
                start=MONDAY,
                email=NONE,
            ),
            says="enrolled",
        ),
        say(
            "Yes that's correct, and which French courses are there?",
            do("list_courses", language="French"),
            says="french",
        ),
        say("Okay, thanks, bye."),
    ),
    held(
        "school",
        "moves a lesson",
        say(
            "Can you move my lesson to Friday at 3 pm? I'm Eva Lind.",
            do("move_lesson", student=Named("Eva Lind"), new_time=OneOf(("2026-04-17T15:00", "2026-04-17T15:00:00"))),
        ),
        say(
            "No wait, Monday at 4 pm.",
            do("move_lesson", student=Named("Eva Lind"), new_time=OneOf(("2026-04-20T16:00", "2026-04-20T16:00:00"))),
        ),
        say("Who is my teacher?", unable=True),
        say("See you then."),
    ),
    held(
        "school",
        "enrols two",
        say(
            "Please enrol Anna Berg in advanced French from May 4.",
            do(
                "enrol_student",
                student=Named("Anna Berg"),
                language="French",
                level="advanced",
                start="2026-05-04",
                email=NONE,
            ),
        ),
        say(
            "And enrol Jonas Berg in beginner Italian from May 5.",
            do(
                "enrol_student",
                student=Named("Jonas Berg"),
                language="Italian",
                level="beginner",
                start="2026-05-05",
                email=NONE,
            ),
        ),
        say("How much do they cost?", unable=True),
        say("Alright."),
    ),
    held(
        "school",
        "leaves",
        say(
            "I want to leave my course.",
        ),
        say("Martin Kern.", do("leave_course", student=Named("Martin Kern"), reason=NONE)),
        say("Am I still enrolled?", unable=True),
        say("Bye."),
    ),
    held(
        "school",
        "only asks",
        say("Do you teach Japanese?", unable=True),
        say("Could I enrol my daughter in Italian?"),
        say("Are there courses for children?", unable=True),
        say("No thanks, I'll call back."),
    ),
)

SECRETARY = (
    held(
        "secretary",
        "asks and adds",
        say("What do I have tomorrow?", do("list_events", day=TOMORROW), says="budget"),
        say(
            "Add a dentist appointment on Friday at 9 am.",
            do(
                "add_event",
                title=Saying("dentist"),
                starts=OneOf(("2026-04-17T09:00", "2026-04-17T09:00:00")),
                guests=NONE,
                minutes=OneOf((30, ABSENT)),
            ),
        ),
        say(
            "Delete the budget review tomorrow.",
            do("delete_event", title=Saying("budget review"), day=TOMORROW),
            says="deleted",
        ),
        say("Thanks."),
    ),
    held(
        "secretary",
        "with guests",
        say(
            "Put a planning meeting in my calendar for Monday at 2 pm with Anna, Ben and Chris.",
            do(
                "add_event",
                title=Saying("planning meeting"),
                starts=OneOf(("2026-04-20T14:00", "2026-04-20T14:00:00")),
                guests=Items("anna", "ben", "chris"),
                minutes=OneOf((30, ABSENT)),
            ),
        ),
        say("What's on Monday?", do("list_events", day=MONDAY)),
        say("Is Anna free then?", unable=True),
        say("Okay, bye."),
    ),
    held(
        "secretary",
        "quiet hours",
        say("Disable quiet hours.", do("disable_quiet_hours"), says="disabled"),
        say("Enable them again.", do("enable_quiet_hours"), says="enabled"),
        say("Are quiet hours on?", unable=True),
        say("Switch quiet hours off.", do("disable_quiet_hours")),
    ),
    held(
        "secretary",
        "two events",
        say(
            "Add lunch with my brother tomorrow at noon.",
            do(
                "add_event",
                title=Saying("lunch"),
                starts=OneOf(("2026-04-16T12:00", "2026-04-16T12:00:00")),
                guests=Anything(),
                minutes=OneOf((30, ABSENT)),
            ),
        ),
        say(
            "Add a phone call with the lawyer on Tuesday at 10 am.",
            do(
                "add_event",
                title=Saying("phone call"),
                starts=OneOf(("2026-04-21T10:00", "2026-04-21T10:00:00")),
                guests=Anything(),
                minutes=OneOf((30, ABSENT)),
            ),
        ),
        say("Do I have time on Tuesday afternoon?", may("list_events", day=TUESDAY)),
        say("Remind me to buy milk.", unable=True),
    ),
    held(
        "secretary",
        "changes its mind",
        say("Delete the team lunch on Friday.", do("delete_event", title=Saying("team lunch"), day=FRIDAY)),
        say("What did I just delete?"),
        say("Should I delete the planning meeting too?"),
        say("No. Send an e-mail to Ben.", unable=True),
    ),
)

DIALOGUES: tuple[Held, ...] = (
    *VET,
    *GARAGE,
    *BANK,
    *HOME,
    *THEATRE,
    *HELP_DESK,
    *GROCER,
    *WASTE,
    *SCHOOL,
    *SECRETARY,
)
