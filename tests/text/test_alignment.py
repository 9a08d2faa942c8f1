"""The playout ledger: what was heard is a prefix of the text that grows with the samples played."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.errors import UsageError
from antiphon.text import words
from antiphon.text.alignment import PlayoutLedger
from antiphon.tts import WordTiming

RATE = 1000


def ledger(*stretches: tuple[str, int], ended: bool = True, pace: float = 15.0) -> PlayoutLedger:
    made = PlayoutLedger(RATE, pace=pace)
    for text, samples in stretches:
        made.add_text(text)
        made.add_audio(samples)
    if ended:
        made.end()
    return made


SENTENCES = st.lists(st.sampled_from(["one", "two,", "three.", "O'Hara", "你好。", "—", "x"]), max_size=6).map(" ".join)
TIMINGS = st.lists(
    st.builds(
        WordTiming,
        st.sampled_from(["one", "TWO", "three", "", "O", "'Hara", "absent"]),
        st.floats(0, 3),
        st.floats(0, 3),
    ),
    max_size=5,
)


@st.composite
def ledgers(draw: st.DrawFn, ended: bool | None = None) -> PlayoutLedger:
    made = PlayoutLedger(RATE, pace=draw(st.sampled_from([5.0, 15.0])))
    for text in draw(st.lists(SENTENCES, max_size=4)):
        made.add_text(text)
        for samples in draw(st.lists(st.integers(1, 1500), min_size=1, max_size=3)):
            made.add_audio(samples)
        made.add_words(draw(TIMINGS))
    if draw(st.booleans()) if ended is None else ended:
        made.end()
    return made


@given(ledgers(), st.integers(-5, 9000), st.integers(0, 3000))
def test_what_was_heard_grows_with_the_samples(made: PlayoutLedger, played: int, more: int) -> None:
    assert made.heard(played + more).startswith(made.heard(played))


@given(ledgers(), st.integers(0, 9000))
def test_what_was_heard_is_a_prefix_of_the_text_in_words(made: PlayoutLedger, played: int) -> None:
    heard = made.heard(played)
    assert made.text.startswith(heard)
    assert words(made.text)[: len(words(heard))] == words(heard)


@given(ledgers(ended=True))
def test_all_is_heard_when_all_was_played(made: PlayoutLedger) -> None:
    assert made.samples == 0 or made.heard(made.samples) == made.text


@given(ledgers())
def test_nothing_is_heard_before_the_first_sample(made: PlayoutLedger) -> None:
    assert made.heard(0) == ""


@given(ledgers(), st.integers(0, 9000))
def test_a_cut_word_begins_before_the_cut_and_resuming_there_is_stable(made: PlayoutLedger, played: int) -> None:
    start = made.word_start(played)
    assert 0 <= start <= played
    assert made.word_start(start) <= start


@given(ledgers(), st.integers(0, 9000), st.integers(0, 3000))
def test_resuming_never_goes_back_further_for_a_later_cut(made: PlayoutLedger, played: int, more: int) -> None:
    assert made.word_start(played) <= made.word_start(played + more)


def test_whole_stretches_and_the_words_of_the_current_one_were_heard() -> None:
    made = ledger(("Hello there.", 1000), ("aaaa bbbb cccc dddd", 1900))
    assert made.heard(1000) == "Hello there."
    assert made.heard(1000 + 1000) == "Hello there. aaaa bbbb"


def test_a_word_counts_as_heard_when_more_than_half_of_it_sounded() -> None:
    made = ledger(("aaaa bbbb", 900))
    assert made.heard(700) == "aaaa"
    assert made.heard(701) == "aaaa bbbb"


def test_word_timings_go_before_proportion() -> None:
    made = PlayoutLedger(RATE)
    made.add_text("one two three")
    made.add_audio(3000)
    made.add_words([WordTiming("One", 0.0, 0.2), WordTiming("two", 2.0, 2.4), WordTiming("three", 2.4, 2.8)])
    assert made.heard(1999) == "one"
    assert made.heard(2201) == "one two"


def test_words_without_timings_lie_between_those_that_have_them() -> None:
    made = PlayoutLedger(RATE)
    made.add_text("aa 22 bb")
    made.add_audio(3000)
    made.add_words([WordTiming("aa", 0.0, 1.0), WordTiming("twenty-two", 1.0, 2.0), WordTiming("bb", 2.0, 3.0)])
    assert made.heard(1400) == "aa"
    assert made.heard(1600) == "aa 22"


def test_a_stretch_still_being_made_lasts_as_long_as_the_voice_would_take() -> None:
    made = ledger(("x" * 30, 3000), ("aaaa bbbb", 100), ended=False)
    assert made.pace == 10.0
    assert made.heard(3000 + 100) == "x" * 30
    assert made.heard(3000 + 201) == f"{'x' * 30} aaaa"


def test_the_pace_is_as_given_until_enough_was_said() -> None:
    assert ledger(("Hi.", 900), ended=True, pace=12.0).pace == 12.0


def test_a_cut_resumes_at_the_start_of_the_word() -> None:
    made = ledger(("Hello.", 1000), ("aaaa bbbb", 900))
    assert made.word_start(1000 + 800) == 1500
    assert made.word_start(1000 + 450) == 1450  # between the words
    assert made.word_start(1900) == 1900


def test_a_sentence_that_never_sounded_was_not_heard() -> None:
    made = ledger(("Hello.", 500), ("Lost sentence.", 0))
    assert made.heard(500) == "Hello."


def test_a_sentence_without_sound_counts_once_what_follows_it_sounds() -> None:
    made = ledger(("Hello.", 500), ("Lost.", 0), ("End.", 500))
    assert made.heard(500) == "Hello."
    assert made.heard(1000) == "Hello. Lost. End."


def test_sound_before_any_text_has_no_words() -> None:
    made = PlayoutLedger(RATE)
    made.add_audio(500)
    assert (made.heard(500), made.duration) == ("", 0.5)


def test_an_ended_segment_takes_nothing_more() -> None:
    made = ledger(("Hello.", 500))
    with pytest.raises(UsageError, match="new ledger"):
        made.add_audio(1)


def test_a_ledger_needs_a_rate() -> None:
    with pytest.raises(UsageError, match="0 Hz"):
        PlayoutLedger(0)
