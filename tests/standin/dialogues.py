"""What callers say to the three agents, and the calls that should follow: thirty dialogues, data only.

What is expected follows from the tools' descriptions and from what had been said by then. Where good agents may
differ, the expectation leaves room: `OneOf` for values, `optional` for calls, `earlier` for a call that may have been
made already.
"""

from __future__ import annotations

import datetime
import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias


class Missing(enum.Enum):
    """The type of `ABSENT`."""

    ABSENT = "ABSENT"


ABSENT: Final = Missing.ABSENT
"""The argument is left out."""


@dataclass(frozen=True, slots=True)
class OneOf:
    """Any of these values; `ABSENT` among them allows leaving the argument out."""

    values: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Named:
    """This name, in any capitalisation: speech has none."""

    name: str


@dataclass(frozen=True, slots=True)
class Saying:
    """Free text that contains these words, in any capitalisation."""

    words: str


@dataclass(frozen=True, slots=True)
class Anything:
    """Any value, or none."""


Expected: TypeAlias = str | int | bool | OneOf | Named | Saying | Anything


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that should follow a turn."""

    tool: str
    arguments: Mapping[str, Expected]
    optional: bool = False
    """May be made or not."""
    earlier: bool = False
    """Also right if it was made in an earlier turn already, and is not made again."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What the caller says, and what should be called before the agent's answer ends."""

    caller: str
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Dialogue:
    """One call, from the caller's first words to the last."""

    name: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Domain:
    """The dialogues with one agent, all on one day."""

    agent: str
    now: datetime.datetime
    weekday: str
    dialogues: tuple[Dialogue, ...]


NO: Final = OneOf((False, ABSENT))
UNSAID: Final = OneOf((None, ABSENT))

# -- the gym; today is Wednesday, 11 March 2026


def classes(day: str, kind: Expected = UNSAID) -> Call:
    return Call("list_classes", {"day": day, "kind": kind})


def book(class_name: str, day: str, start_time: str, member: str, guest: Expected = NO) -> Call:
    return Call(
        "book_class",
        {
            "class_name": class_name,
            "day": day,
            "start_time": start_time,
            "member_name": Named(member),
            "bring_guest": guest,
        },
    )


def cancel(code: str) -> Call:
    return Call("cancel_booking", {"booking_code": code, "sure": True})


def unsure(code: str) -> Call:
    return Call("cancel_booking", {"booking_code": code, "sure": False}, optional=True)


GYM = Domain(
    agent="gym",
    now=datetime.datetime(2026, 3, 11, 10, 0),
    weekday="Wednesday",
    dialogues=(
        Dialogue(
            "asks for a day, then books",
            (
                Turn("Hi there, what classes do you have on Friday?", (classes("2026-03-13"),)),
                Turn(
                    "Great, put me down for the yoga at 6 pm please. The name is Maria Lopez.",
                    (book("yoga", "2026-03-13", "18:00", "Maria Lopez"),),
                ),
                Turn("No, that's all, thank you. Bye!"),
            ),
        ),
        Dialogue(
            "all in one sentence, no punctuation",
            (
                Turn(
                    "hi id like to book spin tomorrow at seven in the morning my name is tom becker",
                    (book("spin", "2026-03-12", "07:00", "Tom Becker"),),
                ),
                Turn("thanks bye"),
            ),
        ),
        Dialogue(
            "piece by piece",
            (
                Turn("I'd like to book a class."),
                Turn("Pilates"),
                Turn("On Monday, please."),
                Turn(
                    "Half past nine in the morning. Oh, and it's for Aisha Khan.",
                    (book("pilates", "2026-03-16", "09:30", "Aisha Khan"),),
                ),
                Turn("Perfect, thanks."),
            ),
        ),
        Dialogue(
            "corrects the day, then asks for another",
            (
                Turn("What's on this Saturday, no wait, sorry, Sunday?", (classes("2026-03-15"),)),
                Turn(
                    "Then please book boxing at eleven in the morning for Peter Novak.",
                    (book("boxing", "2026-03-15", "11:00", "Peter Novak"),),
                ),
                Turn("And what classes are there on Saturday?", (classes("2026-03-14"),)),
                Turn("No, that's fine. Goodbye."),
            ),
        ),
        Dialogue(
            "the class is full",
            (
                Turn(
                    "Can you book me into spin on Thursday at six in the evening? I'm Olivia Grant.",
                    (book("spin", "2026-03-12", "18:00", "Olivia Grant"),),
                ),
                Turn(
                    "Then the quarter past twelve one, please.",
                    (book("spin", "2026-03-12", "12:15", "Olivia Grant"),),
                ),
                Turn("That's all, cheers."),
            ),
        ),
        Dialogue(
            "cancels",
            (
                Turn("I need to cancel my booking."),
                Turn("The code is B4821.", (unsure("B4821"),)),
                Turn("Yes, I'm sure.", (cancel("B4821"),)),
                Turn("Thanks a lot, bye."),
            ),
        ),
        Dialogue(
            "thinks better of cancelling",
            (
                Turn("please cancel booking b seven seven oh two", (unsure("B7702"),)),
                Turn("hmm no actually leave it as it is"),
                Turn("what boxing classes are there on tuesday then", (classes("2026-03-17", "boxing"),)),
                Turn("ok thanks"),
            ),
        ),
        Dialogue(
            "name first, brings a guest",
            (
                Turn("Hello, um, my name is Samuel Osei and I'd like to book a yoga class."),
                Turn(
                    "On the twentieth of March at ten fifteen in the morning, and I'll bring a guest.",
                    (book("yoga", "2026-03-20", "10:15", "Samuel Osei", True),),
                ),
                Turn("Nope, we're good. See you then!"),
            ),
        ),
        Dialogue(
            "odd order, then a second booking",
            (
                Turn("Hi, can I book a class?"),
                Turn(
                    "For Nina Petrova, March 18th, 5:30 pm, pilates.",
                    (book("pilates", "2026-03-18", "17:30", "Nina Petrova"),),
                ),
                Turn(
                    "And could you also book me boxing on the nineteenth at 7 am?",
                    (book("boxing", "2026-03-19", "07:00", "Nina Petrova"),),
                ),
                Turn("That's everything, thank you very much."),
            ),
        ),
        Dialogue(
            "small talk and time to think",
            (
                Turn("Hello?"),
                Turn("How are you today?"),
                Turn("Do you have any spin classes tomorrow?", (classes("2026-03-12", "spin"),)),
                Turn("hmm ok let me think about it"),
                Turn(
                    "alright book me in for the seven fifteen pm one the name's leo martin",
                    (book("spin", "2026-03-12", "19:15", "Leo Martin"),),
                ),
                Turn("great thank you bye bye"),
            ),
        ),
    ),
)

# -- the restaurant; today is Monday, 1 June 2026


def check(date: str, party_size: int, meal: str, *, optional: bool = False) -> Call:
    return Call("check_availability", {"date": date, "party_size": party_size, "meal": meal}, optional=optional)


def alternatives(date: str, spoken: str, party_size: int, *, optional: bool = False) -> Call:
    """The tool documents no form for its date: the caller's own words are as good as the ISO form."""
    said = OneOf((date, spoken, f"this {spoken}"))
    return Call("find_alternatives", {"date": said, "party_size": party_size}, optional=optional, earlier=not optional)


def reserve(date: str, time: str, party_size: int) -> Call:
    return Call("book_reservation", {"date": date, "time": time, "party_size": party_size, "read_back": True})


def reminder(date: str, time: str, party_size: int) -> Call:
    """The tool answers a call without read-back with a reminder, so that such a call does no harm."""
    return Call(
        "book_reservation",
        {"date": date, "time": time, "party_size": party_size, "read_back": False},
        optional=True,
    )


RESTAURANT = Domain(
    agent="restaurant",
    now=datetime.datetime(2026, 6, 1, 9, 0),
    weekday="Monday",
    dialogues=(
        Dialogue(
            "checks, picks a time, confirms",
            (
                Turn("Hi, do you have a table for three on Friday for dinner?", (check("2026-06-05", 3, "dinner"),)),
                Turn("Seven thirty sounds good, can you book it?", (reminder("2026-06-05", "19:30", 3),)),
                Turn("Yes, that's correct.", (reserve("2026-06-05", "19:30", 3),)),
                Turn("No, thanks. Bye."),
            ),
        ),
        Dialogue(
            "the meal is missing",
            (
                Turn("Do you have a table for 3 on Friday?"),
                Turn("Lunch, please.", (check("2026-06-05", 3, "lunch"),)),
                Turn("The one at twelve, please.", (reminder("2026-06-05", "12:00", 3),)),
                Turn("yes please", (reserve("2026-06-05", "12:00", 3),)),
                Turn("great thank you"),
            ),
        ),
        Dialogue(
            "books straight away, no punctuation",
            (
                Turn(
                    "id like to book a table for four tomorrow at eight pm",
                    (check("2026-06-02", 4, "dinner", optional=True), reminder("2026-06-02", "20:00", 4)),
                ),
                Turn("yes thats right", (reserve("2026-06-02", "20:00", 4),)),
                Turn("thanks bye"),
            ),
        ),
        Dialogue(
            "corrects the read-back",
            (
                Turn(
                    "Book a table for two on Wednesday at 7 pm, please.",
                    (check("2026-06-03", 2, "dinner", optional=True), reminder("2026-06-03", "19:00", 2)),
                ),
                Turn(
                    "No, make it three people.",
                    (check("2026-06-03", 3, "dinner", optional=True), reminder("2026-06-03", "19:00", 3)),
                ),
                Turn("Yes, perfect.", (reserve("2026-06-03", "19:00", 3),)),
                Turn("That's it, thanks."),
            ),
        ),
        Dialogue(
            "refuses at the read-back",
            (
                Turn(
                    "hi i want to reserve a table for five people on june twelfth at six pm",
                    (check("2026-06-12", 5, "dinner", optional=True), reminder("2026-06-12", "18:00", 5)),
                ),
                Turn("Hmm, no, forget it."),
                Turn("Sorry, bye."),
            ),
        ),
        Dialogue(
            "full, so another date",
            (
                Turn(
                    "Do you have anything for dinner this Saturday for two?",
                    (check("2026-06-06", 2, "dinner"), alternatives("2026-06-06", "Saturday", 2, optional=True)),
                ),
                Turn("Are there any other dates nearby?", (alternatives("2026-06-06", "Saturday", 2),)),
                Turn(
                    "Please book Sunday at seven thirty in the evening then.",
                    (check("2026-06-07", 2, "dinner", optional=True), reminder("2026-06-07", "19:30", 2)),
                ),
                Turn("Yes.", (reserve("2026-06-07", "19:30", 2),)),
                Turn("no thats all thank you"),
            ),
        ),
        Dialogue(
            "hesitates, facts one at a time",
            (
                Turn("um hello i'd like to know if uh you have a table available for six of us"),
                Turn("for lunch"),
                Turn("on the uh fourteenth of june", (check("2026-06-14", 6, "lunch"),)),
                Turn("great then book half past one please", (reminder("2026-06-14", "13:30", 6),)),
                Turn("correct", (reserve("2026-06-14", "13:30", 6),)),
                Turn("bye"),
            ),
        ),
        Dialogue(
            "changes number, day and time",
            (
                Turn(
                    "Can I get a table for four, no, for five, on Thursday for dinner? Is anything available?",
                    (check("2026-06-04", 5, "dinner"),),
                ),
                Turn("And what about Friday?", (check("2026-06-05", 5, "dinner"),)),
                Turn("OK, Friday at nine pm, please book that.", (reminder("2026-06-05", "21:00", 5),)),
                Turn("Actually, make that six o'clock.", (reminder("2026-06-05", "18:00", 5),)),
                Turn("Yes, go ahead.", (reserve("2026-06-05", "18:00", 5),)),
                Turn("thank you goodbye"),
            ),
        ),
        Dialogue(
            "too many guests",
            (
                Turn(
                    "Do you have space for fifteen people on Tuesday for dinner?",
                    (check("2026-06-02", 15, "dinner", optional=True),),
                ),
                Turn("Then for twelve.", (check("2026-06-02", 12, "dinner"),)),
                Turn("No, never mind, thanks."),
            ),
        ),
        Dialogue(
            "polite questions around a booking",
            (
                Turn("Good morning."),
                Turn("What can you do for me?"),
                Turn(
                    "I'd like a reservation for the 20th of June, 12:30, two people.",
                    (check("2026-06-20", 2, "lunch", optional=True), reminder("2026-06-20", "12:30", 2)),
                ),
                Turn("Yes, please.", (reserve("2026-06-20", "12:30", 2),)),
                Turn("Is lunch available on the twenty first too, for two?", (check("2026-06-21", 2, "lunch"),)),
                Turn("No thanks, we're fine. Have a nice day!"),
            ),
        ),
    ),
)

# -- the parcel service; today is Thursday, 15 October 2026


def track(code: str) -> Call:
    return Call("track_parcel", {"tracking_code": code})


def move(code: str, new_date: str) -> Call:
    return Call("change_delivery_date", {"tracking_code": code, "new_date": new_date})


def leave(code: str, place: str, note: Expected = Anything()) -> Call:
    return Call("leave_instructions", {"tracking_code": code, "place": place, "note": note})


def updates(code: str, email: str) -> Call:
    return Call("send_updates", {"tracking_code": code, "email": email})


def callback(name: str, phone_number: str, urgent: Expected = NO) -> Call:
    return Call("request_callback", {"name": Named(name), "phone_number": phone_number, "urgent": urgent})


PARCEL = Domain(
    agent="parcel",
    now=datetime.datetime(2026, 10, 15, 14, 0),
    weekday="Thursday",
    dialogues=(
        Dialogue(
            "tracks, then moves the delivery",
            (
                Turn("Hi, where is my parcel?"),
                Turn("The tracking code is QT402913.", (track("QT402913"),)),
                Turn("Can you change the delivery to Saturday?", (move("QT402913", "2026-10-17"),)),
                Turn("Perfect, thanks."),
            ),
        ),
        Dialogue(
            "spells the code",
            (
                Turn(
                    "can you tell me where my parcel is the tracking code is q t four zero two nine one three",
                    (track("QT402913"),),
                ),
                Turn("thanks thats all"),
            ),
        ),
        Dialogue(
            "not at home",
            (
                Turn(
                    "I won't be home when it comes. Please leave parcel KL118820 in the garage.",
                    (leave("KL118820", "garage"),),
                ),
                Turn("And when will it arrive?", (track("KL118820"),)),
                Turn("OK, thank you, goodbye."),
            ),
        ),
        Dialogue(
            "wants to be called back",
            (
                Turn("Could somebody call me back?"),
                Turn(
                    "My name is Hannah Weiss and my number is 555 014 2233.",
                    (callback("Hannah Weiss", "5550142233"),),
                ),
                Turn("No, that's it. Bye."),
            ),
        ),
        Dialogue(
            "a wrong code",
            (
                Turn("I'd like to track a parcel, the code is QT999999.", (track("QT999999"),)),
                Turn("Oh sorry, it's QT 402 913.", (track("QT402913"),)),
                Turn("great thanks"),
            ),
        ),
        Dialogue(
            "updates by email",
            (
                Turn("Please send me email updates about my parcel."),
                Turn("it's d dot reyes at example dot com"),
                Turn("The code is KL118820.", (updates("KL118820", "d.reyes@example.com"),)),
                Turn("thanks a lot"),
            ),
        ),
        Dialogue(
            "cannot decide on a day",
            (
                Turn("I need to change the delivery date for MB550071."),
                Turn("Next Monday. No, sorry, Tuesday.", (move("MB550071", "2026-10-20"),)),
                Turn("Actually, can we make it the twenty third?", (move("MB550071", "2026-10-23"),)),
                Turn("Lovely, thank you, bye."),
            ),
        ),
        Dialogue(
            "many facts at once",
            (
                Turn(
                    "Leave it with the neighbor please, it's parcel QT402913, and tell the driver to ring twice.",
                    (leave("QT402913", "neighbor", Saying("ring twice")),),
                ),
                Turn(
                    "And call me back, it's urgent, my number is five five five two zero one seven seven eight eight, "
                    "name's Marco Rossi.",
                    (callback("Marco Rossi", "5552017788", True),),
                ),
                Turn("No thanks."),
            ),
        ),
        Dialogue(
            "another wish first",
            (
                Turn("Hello, I want to change my delivery date."),
                Turn("Actually no, first tell me where the parcel is. The code is MB550071.", (track("MB550071"),)),
                Turn("Okay, then please change the delivery to October 28.", (move("MB550071", "2026-10-28"),)),
                Turn("And leave it on the porch if nobody answers.", (leave("MB550071", "porch"),)),
                Turn("That is all. Thanks for your help."),
            ),
        ),
        Dialogue(
            "a worried caller, no punctuation",
            (
                Turn("hi is this the parcel service"),
                Turn("sorry i didn't hear you"),
                Turn(
                    "okay so uh i have this code here it's k l one one eight eight two oh can you track it",
                    (track("KL118820"),),
                ),
                Turn("hm it was delivered but i did not get it can someone call me back"),
                Turn(
                    "julia stone five five five nine eight zero four four one two",
                    (callback("Julia Stone", "5559804412"),),
                ),
                Turn("thank you so much bye"),
            ),
        ),
    ),
)

DOMAINS: Final = (GYM, RESTAURANT, PARCEL)
