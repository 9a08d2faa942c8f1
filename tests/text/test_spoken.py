"""Spelling, out of speech and into it."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.language import GERMAN
from antiphon.text import spoken as spoken_forms


@pytest.mark.parametrize(
    ("spoken", "written"),
    [
        ("five five five oh one two three", "5550123"),
        ("double five, triple zero", "55000"),
        ("twenty five forty", "2540"),
        ("eight hundred", "800"),
        ("one for two", "142"),
        ("plus four seven, two two", "+4722"),
        ("+1 (212) 555-0123", "+12125550123"),
        ("it's my number, nine nine", "99"),
        ("double 0 7", "007"),
    ],
)
def test_digits_come_in_any_grouping(spoken: str, written: str) -> None:
    assert spoken_forms.digits(spoken) == written


def test_a_word_that_is_no_part_of_a_number_is_named() -> None:
    with pytest.raises(ValueError, match="'banana'"):
        spoken_forms.digits("five banana")


@pytest.mark.parametrize(("spoken", "pressed"), [("star one pound", "*1#"), ("*1#", "*1#"), ("hash", "#")])
def test_keys_have_names(spoken: str, pressed: str) -> None:
    assert spoken_forms.keys(spoken) == pressed


@pytest.mark.parametrize(
    ("spoken", "written"),
    [
        ("j o h n dot doe at example dot com", "john.doe@example.com"),
        ("J-O-H-N at example dot com", "john@example.com"),
        ("jane underscore smith at example dot org", "jane_smith@example.org"),
        ("harry with double r", "harrywithrr"),
        ("h a double r y at g mail dot com", "harry@gmail.com"),
        ("n as in Nancy, m for mike at example dot com", "nm@example.com"),
        ("november oscar at example dot com", "no@example.com"),
        ("sam four twenty at example dot com", "sam420@example.com"),
        ("it's ann all lower case at example dot com", "ann@example.com"),
        ("you reach me at ann at example dot com", "ann@example.com"),
        ("info dash desk plus news at example dot com", "info-desk+news@example.com"),
        ("Ann.Lee@Example.com.", "ann.lee@example.com"),
        ("ann @ example.com", "ann@example.com"),
        ("no address in here", "noaddressinhere"),
    ],
)
def test_addresses_are_spoken_in_many_ways(spoken: str, written: str) -> None:
    assert spoken_forms.email(spoken) == written


@pytest.mark.parametrize(
    ("spoken", "written"),
    [
        ("S-M-I-T-H", "Smith"),
        ("s m i double t", "Smitt"),
        ("P as in Papa, a, d, e, l", "Padel"),
        ("van der Berg", "van der Berg"),
        (" Ann ", "Ann"),
    ],
)
def test_spelled_letters_make_a_word(spoken: str, written: str) -> None:
    assert spoken_forms.spelled(spoken) == written


@pytest.mark.parametrize(
    ("street", "written"),
    [
        ("twelve Oak Street", "12 Oak Street"),
        ("one forty two Lake Drive", "142 Lake Drive"),
        ("one oh five Elm", "105 Elm"),
        ("12 Oak Street", "12 Oak Street"),
        ("Double Street", "Double Street"),
        ("Springfield", "Springfield"),
    ],
)
def test_a_house_number_is_written_in_digits(street: str, written: str) -> None:
    assert spoken_forms.house_number(street) == written


@pytest.mark.parametrize("spoken", ["no", "No.", "no, that's wrong", "nope, not right"])
def test_a_no_may_say_nothing_else(spoken: str) -> None:
    assert spoken_forms.is_bare_no(spoken)


@pytest.mark.parametrize("spoken", ["no, it's 5", "yes", "that's right", "right", "no thanks", ""])
def test_a_no_with_more_in_it_is_not_bare(spoken: str) -> None:
    assert not spoken_forms.is_bare_no(spoken)


def test_an_address_is_spelled_where_the_ear_needs_it() -> None:
    assert spoken_forms.spell_email("jo_2@acme.co.uk") == "J, O, underscore, two, at, A, C, M, E, dot, C, O, dot, U, K"
    assert spoken_forms.spell_email("jo@example.com") == "J, O, at, example, dot, com"


def test_numbers_are_said_in_their_groups() -> None:
    assert spoken_forms.say_digits("+1 555-012") == "plus one, five five five, zero one two"


@pytest.mark.parametrize(
    ("day", "said"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (23, "23rd")]
)
def test_dates_are_said_with_the_month_in_words(day: int, said: str) -> None:
    assert spoken_forms.say_date(dt.date(1984, 3, day)) == f"March {said}, 1984"


@given(st.text("0123456789", min_size=1, max_size=15))
def test_what_is_said_of_a_number_is_understood_as_that_number(number: str) -> None:
    assert spoken_forms.digits(spoken_forms.say_digits(number)) == number


@given(st.from_regex(r"[a-z][a-z0-9_]{0,8}(\.[a-z0-9]{1,6})?@[a-z]{3,9}\.(com|org|co\.uk)", fullmatch=True))
def test_what_is_said_of_an_address_is_understood_as_that_address(address: str) -> None:
    assert spoken_forms.email(spoken_forms.spell_email(address)) == address


# -- another language


@pytest.mark.parametrize(
    ("spoken", "written"),
    [
        ("null vier null", "040"),
        ("plus neunundvierzig, achthundert", "+49800"),
        ("doppel fünf, zwo", "552"),
        ("Meine Nummer ist ein und siebzig", "170"),
        ("einundsiebzig", "71"),
        ("acht hundert", "800"),
    ],
)
def test_numbers_are_understood_as_german_says_them(spoken: str, written: str) -> None:
    assert spoken_forms.digits(spoken, GERMAN.spoken) == written


@pytest.mark.parametrize(
    ("spoken", "written"),
    [
        ("j o Punkt meyer at beispiel Punkt de", "jo.meyer@beispiel.de"),
        ("Das ist b wie Berta, anton at-Zeichen web Strich mail Punkt de", "ba@web-mail.de"),
        ("anna, alles kleingeschrieben, at beispiel punkt de", "anna@beispiel.de"),
    ],
)
def test_addresses_are_understood_as_german_says_them(spoken: str, written: str) -> None:
    assert spoken_forms.email(spoken, GERMAN.spoken) == written


def test_a_house_number_may_come_last() -> None:
    assert spoken_forms.house_number("Am Markt zwei", GERMAN.spoken) == "Am Markt 2"
    assert spoken_forms.house_number("Straße des 17. Juni", GERMAN.spoken) == "Straße des 17. Juni"


def test_a_no_is_one_in_its_language() -> None:
    assert spoken_forms.is_bare_no("Nein, das stimmt nicht.", GERMAN.spoken)
    assert not spoken_forms.is_bare_no("Nein, mit Doppel-L.", GERMAN.spoken)
    assert not spoken_forms.is_bare_no("Nein.")
