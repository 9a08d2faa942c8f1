"""Callers who say the digits that they could have pressed."""

from __future__ import annotations

from antiphon.tasks import GetDtmfResult, GetDtmfTask
from tests.tasks.dialogue import Dialogue

YES = ("yes", "confirm")


def digits(user_input: str) -> GetDtmfResult:
    return GetDtmfResult(user_input)


def asking(count: int = 4) -> GetDtmfTask:
    return GetDtmfTask(count, ask_for_confirmation=True)


DIALOGUES = [
    Dialogue("digit by digit", [("one two three four", "one two three four")], digits("1234")),
    Dialogue("written", [("1234", "1234")], digits("1234")),
    Dialogue("with spaces", [("4 2 5 5", "4 2 5 5")], digits("4255")),
    Dialogue("double", [("four two double five", "four two double five")], digits("4255")),
    Dialogue("triple", [("nine triple zero", "nine triple zero")], digits("9000")),
    Dialogue("oh", [("oh oh seven one", "oh oh seven one")], digits("0071")),
    Dialogue("it's", [("it's 7 7 0 1", "7 7 0 1")], digits("7701")),
    Dialogue("my code is", [("my code is 9081", "9081")], digits("9081")),
    Dialogue("pairs", [("twelve thirty four", "twelve thirty four")], digits("1234")),
    Dialogue("six of them", [("six five four three two one", "654321")], digits("654321"), lambda: GetDtmfTask(6)),
    Dialogue("too few", [("one two three", "one two three"), ("one two three four", "1234")], digits("1234")),
    Dialogue("too many", [("12345", "12345"), ("1234", "1234")], digits("1234")),
    Dialogue("confirmed", [("five six seven eight", "5678"), YES], digits("5678"), asking),
    Dialogue(
        "a digit corrected",
        [("5 6 7 8", "5678"), ("no, 5 6 7 9", "5679"), ("that's right", "confirm")],
        digits("5679"),
        asking,
    ),
    Dialogue(
        "two corrections",
        [("1111", "1111"), ("no, 1112", "1112"), ("no, it's 1113", "1113"), YES],
        digits("1113"),
        asking,
    ),
    Dialogue(
        "no, and then the digits",
        [("three four five six", "3456"), ("no", ""), ("three four six five", "3465"), ("yes", "confirm")],
        digits("3465"),
        asking,
    ),
    Dialogue(
        "a long one, confirmed",
        [("4 0 7 7 1 2 9 0", "40771290"), ("yes, correct", "confirm")],
        digits("40771290"),
        lambda: asking(8),
    ),
    Dialogue("one digit", [("3", "3")], digits("3"), lambda: GetDtmfTask(1)),
    Dialogue("not known", [("I don't know my code", "decline")], None),
    Dialogue("not wanted", [("I don't want to give my code", "decline")], None),
]
