"""What holds of every reply to a read-back, and not only of the labelled ones."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.language import ENGLISH, GERMAN, Asked, Reply, decide
from antiphon.language.consent import MAX_LENGTH
from tests.language.replies import CONSENT, Labelled, labelled

ENGLISH_REPLIES = (*labelled("consent_builds_en"), *labelled("consent_decides_en"))
GERMAN_REPLIES = (
    *labelled("consent_builds_de"),
    *labelled("consent_decides_de"),
    *labelled("consent_author_de"),
)
DECIDED = (Reply.YES, Reply.BACKCHANNEL, Reply.NO)
TABLE = Asked("Table for four on Friday at seven, shall I book it?", ("four", "Friday", "seven"))
YES = (
    "yes",
    "yes please",
    "yep go ahead",
    "that's right",
    "please do",
    "mm-hmm",
    "okay",
    "sure",
    "sounds good",
    "no no that's right",
    "Friday at seven, yes",
    "yes, and could you also send me the address",
    "I don't see why not",
)
NUMBERS = (
    "zero one two three five six eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen"
    " nineteen twenty thirty forty fifty"
).split()
DAYS = "Monday Tuesday Wednesday Thursday Saturday Sunday today tomorrow tonight".split()


def english(said: str, asked: Asked = TABLE) -> Reply:
    return decide(said, asked, ENGLISH.consent)


def consents(replies: tuple[Labelled, ...], language: str) -> list[Labelled]:
    phrases = (GERMAN if language == "de" else ENGLISH).consent
    return [one for one in replies if decide(one.said, one.asked, phrases) in CONSENT]


@pytest.mark.parametrize("polite", ["{}, please", "{}, thank you", "please, {}", "um, {}", "{}, thank you very much"])
def test_politeness_does_not_change_what_was_decided(polite: str) -> None:
    for one in ENGLISH_REPLIES:
        plain = english(one.said, one.asked)
        if plain in DECIDED:
            said = polite.format(one.said.rstrip(".!"))
            assert english(said, one.asked) is plain, said


@pytest.mark.parametrize("polite", ["{}, bitte", "{}, danke", "{}, vielen Dank"])
def test_politeness_in_german_does_not_change_it_either(polite: str) -> None:
    for one in GERMAN_REPLIES:
        plain = decide(one.said, one.asked, GERMAN.consent)
        if plain in DECIDED:
            said = polite.format(one.said.rstrip(".!"))
            assert decide(said, one.asked, GERMAN.consent) is plain, said


@pytest.mark.parametrize(
    "condition",
    [
        "but at three",
        "but only if it's quiet",
        "if it's refundable",
        "unless it rains",
        "as long as there is parking",
        "except for the name",
        "only not with him",
        "and add a child seat",
        "no wait",
        "no",
        "hold on",
        "I think",
        "maybe",
        "actually make it three",
        "what was the price",
        "he said",
    ],
)
def test_what_comes_behind_a_yes_takes_it_away(condition: str) -> None:
    for one in consents(ENGLISH_REPLIES, "en"):
        said = f"{one.said.rstrip('.!')}, {condition}"
        assert english(said, one.asked) not in CONSENT, said


@pytest.mark.parametrize(
    "condition",
    ["aber um drei", "aber nur wenn es ruhig ist", "falls es regnet", "nein", "Moment", "glaube ich", "sagt sie"],
)
def test_what_comes_behind_a_german_yes_takes_it_away(condition: str) -> None:
    for one in consents(GERMAN_REPLIES, "de"):
        said = f"{one.said.rstrip('.!')}, {condition}"
        assert decide(said, one.asked, GERMAN.consent) not in CONSENT, said


@given(
    yes=st.sampled_from(YES),
    value=st.sampled_from([*NUMBERS, *DAYS]),
    before=st.booleans(),
    of=st.sampled_from(["", "at ", "on ", "for ", "the "]),
)
def test_a_value_that_was_not_read_back_is_never_a_yes(yes: str, value: str, before: bool, of: str) -> None:
    said = f"{of}{value}, {yes}" if before else f"{yes}, {of}{value}"
    assert english(said) not in CONSENT


@given(
    yes=st.sampled_from(YES),
    number=st.integers(0, 10**12),
    form=st.sampled_from(["{}", "{}th", "${}", "{}:30", "{}%", "{} pm", "#{}"]),
)
def test_digits_that_were_not_read_back_are_never_a_yes(yes: str, number: int, form: str) -> None:
    if number not in (4, 7) and (number, form) != (100, "{}%"):  # "yes, a hundred percent"
        assert english(f"{yes}, {form.format(number)}") not in CONSENT
        assert english(f"{form.format(number)}, {yes}") not in CONSENT


@given(
    one=st.sampled_from(consents(ENGLISH_REPLIES, "en")),
    word=st.sampled_from(["zorp", "Blumenthal", "haddock", "\u0416\u0435\u043d\u044f"]),
    data=st.data(),
)
def test_a_word_that_is_not_known_is_never_part_of_a_yes(one: Labelled, word: str, data: st.DataObject) -> None:
    words = one.said.split()
    at = data.draw(st.integers(0, len(words)))
    assert english(" ".join([*words[:at], word, *words[at:]]), one.asked) not in CONSENT


@settings(max_examples=400)
@given(said=st.text(), text=st.text(), values=st.lists(st.text(), max_size=3), german=st.booleans())
def test_nothing_that_is_said_or_asked_raises(said: str, text: str, values: list[str], german: bool) -> None:
    phrases = (GERMAN if german else ENGLISH).consent
    assert decide(said, Asked(text, tuple(values)), phrases) in Reply


PIECES = st.sampled_from(
    "yes no ? ... 7:30 22nd twenty two hundred and half past quarter to . , ' - \u2026 \ud800 \u00b2 \u1369 \u0663 $"
    " 5 pm a.m. may of first thousand million oh ja halb viertel nach hundert und book it the".split()
)


@settings(max_examples=400)
@given(st.lists(PIECES, max_size=30).map(" ".join), st.lists(PIECES, max_size=30).map(" ".join), st.booleans())
def test_no_row_of_numbers_and_marks_raises(said: str, text: str, german: bool) -> None:
    assert decide(said, Asked(text), (GERMAN if german else ENGLISH).consent) in Reply


def test_a_reply_without_end_is_no_yes_and_costs_no_more_than_a_long_one() -> None:
    for word in ("yes ", "no ", "two hundred and ", "7", "?", "that's all of that is ", "-", "y-", "\ufdfa"):
        endless = word * 100_000
        began = time.process_time()
        assert english(endless) not in CONSENT
        assert time.process_time() - began < 0.2, word
    assert english("yes " * (MAX_LENGTH // 4)) in CONSENT


def test_what_is_decided_is_decided_again() -> None:
    for one in ENGLISH_REPLIES[:200]:
        assert len({english(one.said, one.asked) for _ in range(3)}) == 1
