"""What callers say becomes typed values, in the noise of real transcripts."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from antiphon_standin.moments import Clock, Day
from antiphon_standin.people import PersonName
from antiphon_standin.results import speakable
from antiphon_standin.understand import Intent, Kind, understand

TODAY = dt.date(2026, 11, 21)  # a Saturday


def heard(text: str, kind: Kind, *asked: Kind) -> list[Any]:
    values = [m.value for m in understand(text, TODAY, frozenset(asked)).of(kind)]
    return [v.text if isinstance(v, PersonName) else v for v in values]


@pytest.mark.parametrize(
    ("text", "words", "date"),
    [
        ("anything next Tuesday?", "next Tuesday", "2026-11-24"),
        ("on the fifteenth of march", "the fifteenth of March", "2027-03-15"),
        ("march 15th please", "march 15th", "2027-03-15"),
        ("tomorrow morning", "tomorrow", "2026-11-22"),
        ("the day after tomorrow", "the day after tomorrow", "2026-11-23"),
        ("a week from Tuesday", "a week from Tuesday", "2026-12-01"),
        ("in two weeks", "in two weeks", "2026-12-05"),
        ("friday the 27th", "Friday the 27th", "2026-11-27"),
        ("to-morrow", "tomorrow", "2026-11-22"),
    ],
)
def test_a_date_keeps_its_words_and_knows_its_day(text: str, words: str, date: str) -> None:
    (day,) = heard(text, Kind.DATE)
    assert isinstance(day, Day)
    assert day.text.lower() == words.lower()
    assert day.date.isoformat() == date


def test_a_past_year_that_the_recogniser_made_up_is_dropped() -> None:
    (day,) = heard("the 2nd of December 2021", Kind.DATE)
    assert (day.text, day.date.isoformat()) == ("the 2nd of December", "2026-12-02")


@pytest.mark.parametrize(
    ("text", "hour", "minute"),
    [
        ("at 2 PM", 14, 0),
        ("2pm works", 14, 0),
        ("two p.m. please", 14, 0),
        ("two o'clock", 14, 0),
        ("half past two", 14, 30),
        ("half three", 15, 30),
        ("quarter to three", 14, 45),
        ("at ten in the morning", 10, 0),
        ("ten fifteen a.m.", 10, 15),
        ("the four thirty one", 16, 30),
        ("at 14:00", 14, 0),
        ("noon", 12, 0),
        ("I'd like 11:30.", 11, 30),
    ],
)
def test_a_time_is_understood(text: str, hour: int, minute: int) -> None:
    (clock,) = heard(text, Kind.TIME)
    assert isinstance(clock, Clock)
    assert clock.resolved() == (hour, minute)


def test_digits_without_a_colon_are_a_time_only_where_one_is_expected() -> None:
    assert [c.resolved() for c in heard("1015", Kind.TIME, Kind.TIME)] == [(10, 15)]
    assert heard("1015", Kind.TIME) == []


def test_an_uncertain_time_is_the_one_that_was_offered() -> None:
    (clock,) = heard("at seven", Kind.TIME)
    assert clock.resolved() == (19, 0)
    assert clock.resolved([(7, 0)]) == (7, 0)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("My name is Sarah Chen.", "Sarah Chen"),
        ("this is jordan park and i would like to cancel", "Jordan Park"),
        ("It's for Alex Rivera.", "Alex Rivera"),
        ("my name's siobhan o'neill", "Siobhan O'Neill"),
        ("under the name of Ludwig van Beethoven", "Ludwig van Beethoven"),
        ("my name is spelled S H A N E", "Shane"),
        ("hi, Jordan Park here", "Jordan Park"),
        ("my name is will young", "Will Young"),
    ],
)
def test_a_name_is_found_and_capitalised(text: str, name: str) -> None:
    assert heard(text, Kind.PERSON) == [name]


@pytest.mark.parametrize("text", ["I'm looking for something", "it's fine", "this is urgent", "I am sorry", "for two"])
def test_other_words_after_i_am_are_no_name(text: str) -> None:
    assert heard(text, Kind.PERSON) == []


def test_a_bare_name_counts_when_asked_for() -> None:
    assert heard("uh sarah chen", Kind.PERSON, Kind.PERSON) == ["Sarah Chen"]
    assert heard("sarah chen", Kind.PERSON) == []


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("it's john dot doe at example dot com", Kind.EMAIL, "john.doe@example.com"),
        ("Sarah.Chen@gmail.com", Kind.EMAIL, "sarah.chen@gmail.com"),
        ("my number is oh five five five double two nine eight one", Kind.PHONE, "055522981"),
        ("call me on 555-123-4567", Kind.PHONE, "5551234567"),
        ("the code is R dash eighteen forty two", Kind.CODE, "R-1842"),
        ("order number 5512", Kind.CODE, "5512"),
        ("it is P K one two three four", Kind.CODE, "PK1234"),
    ],
)
def test_spelled_contacts_and_codes(text: str, kind: Kind, value: str) -> None:
    assert heard(text, kind) == [value]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("Tuesday, no, Wednesday", Kind.DATE, "Wednesday"),
        ("not Tuesday but Wednesday", Kind.DATE, "Wednesday"),
        ("at three, sorry, four", Kind.TIME, "four"),
    ],
)
def test_a_value_taken_back_in_the_same_breath_is_gone(text: str, kind: Kind, value: str) -> None:
    assert [v.text for v in heard(text, kind)] == [value]


@pytest.mark.parametrize(
    ("text", "number"), [("for twenty three people", 23), ("a table for to", 2), ("just me", 1), ("a couple of us", 2)]
)
def test_numbers_in_words_and_their_homophones(text: str, number: int) -> None:
    assert heard(text, Kind.NUMBER) == [number]


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("No, that's everything. Thanks.", Intent.FAREWELL),
        ("Sorry, can you repeat that?", Intent.REPEAT),
        ("what can you do", Intent.HELP),
        ("hold on a second", Intent.WAIT),
        ("please try again", Intent.RETRY),
    ],
)
def test_what_a_turn_does_in_the_conversation(text: str, intent: Intent) -> None:
    assert understand(text, TODAY).intent is intent


@pytest.mark.parametrize(
    ("text", "polarity"),
    [("yes that's right", "yes"), ("no, wednesday", "no"), ("um yeah go ahead", "yes"), ("that's not right", "no")],
)
def test_yes_and_no(text: str, polarity: str) -> None:
    assert understand(text, TODAY).polarity == polarity


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("no, lisa at example dot org", "lisa@example.org"),
        ("oh sorry, lisa at example dot org", "lisa@example.org"),
        ("no dot reply at example dot com", "no.reply@example.com"),
        ("no it's with two b's, b o b b at example dot com", "bobb@example.com"),
        ("h a double r y at example dot com", "harry@example.com"),
        ("m as in Mike, n as in Nancy, at example dot com", "mn@example.com"),
        ("b for bravo o b at example dot com", "bob@example.com"),
    ],
)
def test_an_address_is_told_from_what_leads_in_to_it_and_what_spells_it(text: str, address: str) -> None:
    assert heard(text, Kind.EMAIL, Kind.EMAIL) == [address]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("no it's 415 555 0198", "4155550198"),
        ("oh, 415 555 0123", "4155550123"),
        ("no, the last digit is four, 415 555 0124", "4155550124"),
        ("212 555 0123 extension four two", "2125550123 extension 42"),
    ],
)
def test_a_number_is_told_from_what_leads_in_to_it(text: str, number: str) -> None:
    assert heard(text, Kind.PHONE, Kind.PHONE) == [number]


def test_a_month_is_no_letter_of_a_code() -> None:
    (day,) = heard("November 8, 1999", Kind.DATE)
    assert (day.year, day.date.month, day.date.day) == (1999, 11, 8)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("no, john smyth", ["John Smyth"]),
        ("no that's wrong, it's john smyth", ["John Smyth"]),
        ("no, it's P A T E L", ["Patel"]),
        ("no, the last name is L E E", ["Lee"]),
    ],
)
def test_a_corrected_name_is_understood(text: str, name: list[str]) -> None:
    assert heard(text, Kind.PERSON, Kind.PERSON) == name


def test_it_is_introduces_a_full_name_and_not_a_state() -> None:
    assert heard("It's Velour Bennet, about my order", Kind.PERSON) == ["Velour Bennet"]
    assert heard("It's pretty urgent", Kind.PERSON) == []
    assert heard("It's Park Road, I think", Kind.PERSON) == []


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("2026-11-22T01:52:21+01:00", "Sunday, November 22 at 1:52 AM"),
        ("2026-11-22 14:30", "Sunday, November 22 at 2:30 PM"),
        ("2026-11-22T00:05:00Z", "Sunday, November 22 at 12:05 AM"),
    ],
)
def test_a_machines_moment_is_spoken_as_one(written: str, spoken: str) -> None:
    assert speakable(written) == spoken
