"""Callers who give their telephone numbers."""

from __future__ import annotations

from antiphon.tasks import GetPhoneNumberResult, GetPhoneNumberTask
from tests.tasks.dialogue import Dialogue

YES = ("yes", "confirm")


def number(e164: str, extension: str = "") -> GetPhoneNumberResult:
    return GetPhoneNumberResult(e164, extension)


DIALOGUES = [
    Dialogue(
        "digit by digit",
        [
            ("two one two five five five oh one two three", "two one two five five five oh one two three"),
            ("that's right", "confirm"),
        ],
        number("+12125550123"),
    ),
    Dialogue("written", [("it's 415-555-0199", "415-555-0199"), YES], number("+14155550199")),
    Dialogue("with brackets", [("(212) 555-0147", "(212) 555-0147"), YES], number("+12125550147")),
    Dialogue(
        "triple five",
        [("four one five triple five oh one double nine", "four one five triple five oh one double nine"), YES],
        number("+14155550199"),
    ),
    Dialogue(
        "double digits",
        [("my number is 206 double five five oh one eight three", "206 double five five oh one eight three"), YES],
        number("+12065550183"),
    ),
    Dialogue(
        "tens",
        [("three oh three, five fifty five, zero one forty two", "303 five fifty five zero one forty two"), YES],
        number("+13035550142"),
    ),
    Dialogue(
        "a country code",
        [("plus one 212 555 0123", "+1 212 555 0123"), ("correct", "confirm")],
        number("+12125550123"),
    ),
    Dialogue(
        "another country",
        [("plus four four two oh seven nine four six oh nine five eight", "+442079460958"), YES],
        number("+442079460958"),
    ),
    Dialogue(
        "at home in another country",
        [("020 7946 0123", "020 7946 0123"), YES],
        number("+442079460123"),
        lambda: GetPhoneNumberTask(default_region="GB"),
    ),
    Dialogue(
        "an extension",
        [("212 555 0123 extension 42", "212 555 0123 extension 42"), YES],
        number("+12125550123", "42"),
    ),
    Dialogue(
        "the area code forgotten",
        [("555 0123", "555 0123"), ("oh, 415 555 0123", "415 555 0123"), YES],
        number("+14155550123"),
    ),
    Dialogue(
        "a digit too few",
        [("212 555 012", "212 555 012"), ("212 555 0126", "212 555 0126"), ("yes it is", "confirm")],
        number("+12125550126"),
    ),
    Dialogue(
        "the last digit corrected",
        [
            ("415 555 0199", "415 555 0199"),
            ("no it's 415 555 0198", "415 555 0198"),
            YES,
        ],
        number("+14155550198"),
    ),
    Dialogue(
        "two corrections",
        [
            ("212 555 0110", "212 555 0110"),
            ("No, 212 555 0111", "212 555 0111"),
            ("no, 212 555 0112", "212 555 0112"),
            ("yes, thanks", "confirm"),
        ],
        number("+12125550112"),
    ),
    Dialogue(
        "no, and then the number",
        [("646 555 0134", "646 555 0134"), ("no", ""), ("646 555 0143", "646 555 0143"), YES],
        number("+16465550143"),
    ),
    Dialogue(
        "corrects themselves at once",
        [("it's 312 555 0100, sorry, 312 555 0101", "312 555 0101"), YES],
        number("+13125550101"),
    ),
    Dialogue(
        "without confirmation",
        [("you can reach me at 617 555 0170", "617 555 0170")],
        number("+16175550170"),
        lambda: GetPhoneNumberTask(require_confirmation=False),
    ),
    Dialogue(
        "yes with a pause",
        [("um, 503 555 0156", "503 555 0156"), ("yeah that's right", "confirm")],
        number("+15035550156"),
    ),
    Dialogue("no telephone", [("I don't have a phone number", "decline")], None),
    Dialogue("not wanted", [("I don't want to give my phone number", "decline")], None),
]
