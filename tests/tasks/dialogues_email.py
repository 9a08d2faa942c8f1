"""Callers who give their e-mail addresses."""

from __future__ import annotations

from antiphon.tasks import GetEmailResult, GetEmailTask
from tests.tasks.dialogue import Dialogue

YES = ("yes", "confirm")


def at(address: str) -> GetEmailResult:
    return GetEmailResult(address)


DIALOGUES = [
    Dialogue(
        "said in words",
        [("john dot doe at example dot com", "john dot doe at example dot com"), YES],
        at("john.doe@example.com"),
    ),
    Dialogue(
        "spelled",
        [("it's j o h n at gmail dot com", "j o h n at gmail dot com"), ("yes that's right", "confirm")],
        at("john@gmail.com"),
    ),
    Dialogue(
        "written", [("maria.garcia@example.org", "maria.garcia@example.org"), YES], at("maria.garcia@example.org")
    ),
    Dialogue(
        "capitals",
        [("My email is Anna.Lee@Example.com", "Anna.Lee@Example.com"), ("correct", "confirm")],
        at("anna.lee@example.com"),
    ),
    Dialogue(
        "an underscore",
        [("jane underscore smith at example dot org", "jane_smith@example.org"), YES],
        at("jane_smith@example.org"),
    ),
    Dialogue(
        "a dash",
        [("it's info dash desk at example dot net", "info dash desk at example dot net"), YES],
        at("info-desk@example.net"),
    ),
    Dialogue(
        "digits",
        [("sam four two at yahoo dot com", "sam four two at yahoo dot com"), ("yep", "confirm")],
        at("sam42@yahoo.com"),
    ),
    Dialogue(
        "a subdomain",
        [("k lee at mail dot example dot co dot uk", "k lee at mail dot example dot co dot uk"), YES],
        at("klee@mail.example.co.uk"),
    ),
    Dialogue(
        "as in",
        [
            ("m as in Mike, n as in Nancy, at example dot com", "m as in Mike, n as in Nancy, at example dot com"),
            YES,
        ],
        at("mn@example.com"),
    ),
    Dialogue(
        "a double letter",
        [("h a double r y at example dot com", "h a double r y at example dot com"), YES],
        at("harry@example.com"),
    ),
    Dialogue(
        "g mail",
        [("tom dot baker at g mail dot com", "tom dot baker at g mail dot com"), YES],
        at("tom.baker@gmail.com"),
    ),
    Dialogue(
        "the name corrected",
        [
            ("john at example dot com", "john@example.com"),
            ("no, it's jon at example dot com", "jon@example.com"),
            ("that's right", "confirm"),
        ],
        at("jon@example.com"),
    ),
    Dialogue(
        "the domain corrected",
        [
            ("lisa at example dot com", "lisa@example.com"),
            ("no, lisa at example dot org", "lisa@example.org"),
            YES,
        ],
        at("lisa@example.org"),
    ),
    Dialogue(
        "two corrections",
        [
            ("steven at example dot com", "steven@example.com"),
            ("No, stephen at example dot com", "stephen@example.com"),
            ("no, s t e p h a n at example dot com", "s t e p h a n at example dot com"),
            ("yes, perfect", "confirm"),
        ],
        at("stephan@example.com"),
    ),
    Dialogue(
        "no, and then the address",
        [
            ("kate at example dot com", "kate@example.com"),
            ("no that's wrong", ""),
            ("cate at example dot com", "cate@example.com"),
            YES,
        ],
        at("cate@example.com"),
    ),
    Dialogue(
        "half an address",
        [
            ("rosa at example", "rosa at example"),
            ("rosa at example dot com", "rosa@example.com"),
            YES,
        ],
        at("rosa@example.com"),
    ),
    Dialogue(
        "without confirmation",
        [("you can use omar at example dot com", "omar@example.com")],
        at("omar@example.com"),
        lambda: GetEmailTask(require_confirmation=False),
    ),
    Dialogue(
        "a lead-in",
        [("sure, my email address is priya dot shah at outlook dot com", "priya.shah@outlook.com"), YES],
        at("priya.shah@outlook.com"),
    ),
    Dialogue("no address", [("I don't have an email address", "decline")], None),
    Dialogue("not wanted", [("I'd rather not give my email", "decline")], None),
]
