"""Callers who give their names."""

from __future__ import annotations

from antiphon.tasks import GetNameResult, GetNameTask
from tests.tasks.dialogue import Dialogue

YES = ("yes", "confirm")


def named(first: str, last: str = "", middle: str = "") -> GetNameResult:
    return GetNameResult(first, middle, last)


DIALOGUES = [
    Dialogue("the name alone", [("Shane Patel", "Shane Patel"), YES], named("Shane", "Patel")),
    Dialogue("a sentence", [("my name is Maria Garcia", "Maria Garcia"), YES], named("Maria", "Garcia")),
    Dialogue("I'm", [("Hi, I'm Jordan Park.", "Jordan Park"), ("that's right", "confirm")], named("Jordan", "Park")),
    Dialogue(
        "this is",
        [("This is Aisha Khan speaking", "Aisha Khan"), ("yes, correct", "confirm")],
        named("Aisha", "Khan"),
    ),
    Dialogue("lower case", [("it's tom baker", "tom baker"), ("yep", "confirm")], named("Tom", "Baker")),
    Dialogue(
        "the last name misheard",
        [("Shane Padel", "Shane Padel"), ("no, my last name is Patel", "Shane Patel"), YES],
        named("Shane", "Patel"),
    ),
    Dialogue(
        "the last name spelled",
        [("Shane Padel", "Shane Padel"), ("no, it's P A T E L", "Shane Patel"), YES],
        named("Shane", "Patel"),
    ),
    Dialogue(
        "the whole name corrected",
        [("Jon Smith", "Jon Smith"), ("No, John Smyth", "John Smyth"), ("Yes.", "confirm")],
        named("John", "Smyth"),
    ),
    Dialogue(
        "two corrections",
        [
            ("Karen Lea", "Karen Lea"),
            ("no, the last name is L E E", "Karen L-E-E"),
            ("no, it's Karin Lee, K A R I N", "Karin Lee"),
            ("yes, that's it", "confirm"),
        ],
        named("Karin", "Lee"),
    ),
    Dialogue("the last name later", [("Sofia", "Sofia"), ("Rossi", "Sofia Rossi"), YES], named("Sofia", "Rossi")),
    Dialogue("a small model gives the rest alone", [("Ben", "Ben"), ("Carter", "Carter"), YES], named("Ben", "Carter")),
    Dialogue(
        "particles",
        [("My name is Anna van der Berg", "Anna van der Berg"), ("right", "confirm")],
        named("Anna", "van der Berg"),
    ),
    Dialogue("a hyphen", [("I'm Claire Dubois-Martin", "Claire Dubois-Martin"), YES], named("Claire", "Dubois-Martin")),
    Dialogue("an apostrophe", [("Liam O'Connor", "Liam O'Connor"), YES], named("Liam", "O'Connor")),
    Dialogue(
        "the first name alone is wanted",
        [("It's Priya", "Priya"), YES],
        named("Priya"),
        lambda: GetNameTask(last_name=False),
    ),
    Dialogue(
        "with a middle name",
        [("Mary Jane Watson", "Mary Jane Watson"), YES],
        named("Mary", "Watson", "Jane"),
        lambda: GetNameTask(middle_name=True),
    ),
    Dialogue(
        "without confirmation",
        [("My name is Omar Haddad", "Omar Haddad")],
        named("Omar", "Haddad"),
        lambda: GetNameTask(require_confirmation=False),
    ),
    Dialogue(
        "no, and then the name",
        [("Erik Larsen", "Erik Larsen"), ("no", ""), ("Eric Larson", "Eric Larson"), YES],
        named("Eric", "Larson"),
    ),
    Dialogue("no name", [("I'd rather not give my name", "decline")], None),
    Dialogue("declined at the read-back", [("Joe Doe", "Joe Doe"), ("I don't want to give my name", "decline")], None),
]
