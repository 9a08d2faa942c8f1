"""Callers who give their dates of birth."""

from __future__ import annotations

import datetime as dt

from antiphon.tasks import GetDOBResult, GetDOBTask
from tests.tasks.dialogue import Dialogue

YES = ("yes", "confirm")


def born(year: int, month: int, day: int) -> GetDOBResult:
    return GetDOBResult(dt.date(year, month, day))


DIALOGUES = [
    Dialogue("month first", [("March 3rd, 1984", "1984-03-03"), YES], born(1984, 3, 3)),
    Dialogue("in words", [("March third nineteen eighty four", "1984-03-03"), YES], born(1984, 3, 3)),
    Dialogue("day first", [("the 5th of June 1990", "1990-06-05"), ("that's right", "confirm")], born(1990, 6, 5)),
    Dialogue(
        "I was born on",
        [("I was born on July 21st, 1975", "1975-07-21"), ("correct", "confirm")],
        born(1975, 7, 21),
    ),
    Dialogue("in figures", [("3/4/1985", "1985-03-04"), YES], born(1985, 3, 4)),
    Dialogue("as in a form", [("1992-12-31", "1992-12-31"), YES], born(1992, 12, 31)),
    Dialogue("this century", [("October 10th, 2003", "2003-10-10"), ("yep", "confirm")], born(2003, 10, 10)),
    Dialogue("two thousand and", [("the first of May two thousand and one", "2001-05-01"), YES], born(2001, 5, 1)),
    Dialogue("a leap day", [("February 29, 1988", "1988-02-29"), YES], born(1988, 2, 29)),
    Dialogue("abbreviated", [("Sept 9, 1969", "1969-09-09"), YES], born(1969, 9, 9)),
    Dialogue(
        "a sentence",
        [("my date of birth is August 15, 1958", "1958-08-15"), ("yes it is", "confirm")],
        born(1958, 8, 15),
    ),
    Dialogue(
        "the day corrected",
        [("the 5th of June 1990", "1990-06-05"), ("no, the 6th of June 1990", "1990-06-06"), YES],
        born(1990, 6, 6),
    ),
    Dialogue(
        "the year corrected",
        [("January 12, 1981", "1981-01-12"), ("No, January 12, 1982", "1982-01-12"), ("yes, thanks", "confirm")],
        born(1982, 1, 12),
    ),
    Dialogue(
        "two corrections",
        [
            ("April 2nd, 1970", "1970-04-02"),
            ("no, April 3rd, 1970", "1970-04-03"),
            ("no, April 3rd, 1971", "1971-04-03"),
            YES,
        ],
        born(1971, 4, 3),
    ),
    Dialogue(
        "no, and then the date",
        [("November 8, 1999", "1999-11-08"), ("no", ""), ("November 18, 1999", "1999-11-18"), YES],
        born(1999, 11, 18),
    ),
    Dialogue(
        "not born yet",
        [("January 5, 2062", "2062-01-05"), ("sorry, January 5, 1962", "1962-01-05"), YES],
        born(1962, 1, 5),
    ),
    Dialogue(
        "too young",
        [("June 1, 2015", "2015-06-01"), ("June 1, 2005", "2005-06-01"), YES],
        born(2005, 6, 1),
        lambda: GetDOBTask(latest=dt.date(2008, 11, 21)),
    ),
    Dialogue(
        "without confirmation",
        [("May 6th, 1977", "1977-05-06")],
        born(1977, 5, 6),
        lambda: GetDOBTask(require_confirmation=False),
    ),
    Dialogue("not wanted", [("I'd rather not give my date of birth", "decline")], None),
    Dialogue(
        "declined at the read-back",
        [("May 7th, 1977", "1977-05-07"), ("I don't want to give my date of birth", "decline")],
        None,
    ),
]
