"""Sentences, words and speakable text: right cuts, and never dependent on how the text arrived."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.text import SentenceSplitter, SpeechText, join, speakable, word_spans, words


def sentences(text: str, *, max_length: int = 200, first_clause: int | None = None) -> list[str]:
    splitter = SentenceSplitter(max_length=max_length, first_clause=first_clause)
    return splitter.push(text) + splitter.flush()


def squeezed(text: str) -> str:
    return "".join(text.split())


def cut(text: str, at: list[int]) -> list[str]:
    points = sorted({min(p, len(text)) for p in at} | {0, len(text)})
    return [text[a:b] for a, b in itertools.pairwise(points)]


FRAGMENTS = [
    "Hello",
    "Dr.",
    "p.m.",
    "2:00",
    "e.g.",
    "U.S.",
    "J.",
    "3.5",
    ".",
    "...",
    "…",
    "!",
    "?!",
    '."',
    ",",
    "We",
    "the",
    "No.",
    "1.",
    "\n",
    "\n\n",
    " ",
    "  ",
    "你好。",
    "、",
    "a@b.co.",
    "https://x.org/a.b?c=d.",
    "**",
    "*",
    "_",
    "__",
    "`",
    "```",
    "~~~",
    "~~",
    "# ",
    "- ",
    "* ",
    "1) ",
    "> ",
    "|",
    "---",
    "[",
    "]",
    "(",
    ")",
    "![",
    "\\",
    "😊",
    "👩\u200d💻",
    "\u200d",
    "x" * 30,
]
TEXTS = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=4), max_size=25).map("".join)
CUTS = st.lists(st.integers(0, 120), max_size=30)


@pytest.mark.parametrize(
    "kept",
    [
        "We meet at 2:00 p.m. on Tuesday.",
        "We meet at 2:00 p.m. Tuesday.",
        "Dr. Smith and Mrs. Jones will see you.",
        "It costs 3.5 dollars, or 1,200.50 in all.",
        "Bring a document, e.g. Your passport.",
        "He lives in the U.S. Virgin Islands.",
        "It was written by J. R. R. Tolkien.",
        "Write to anna.b@example.co.uk or see https://www.example.com/a.b?c=d.e for more.",
        "Your reservation #R-1842.7 is confirmed.",
        "Well... I am not sure … Perhaps tomorrow.",
        '"Really?" he asked.',
        "See No. 5 in Fig. 3 for it.",
        "1. Take the first street.",
        "Come on Jan. 5 at noon.",
    ],
)
def test_these_are_one_sentence(kept: str) -> None:
    assert sentences(kept) == [kept]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello. How are you?", ["Hello.", "How are you?"]),
        ("Is it? Yes! Good.", ["Is it?", "Yes!", "Good."]),
        ('She said "No." Then she left.', ['She said "No."', "Then she left."]),
        ("Your number is #R-1842. See you then.", ["Your number is #R-1842.", "See you then."]),
        ("We open at 9 a.m. Would that suit you?", ["We open at 9 a.m.", "Would that suit you?"]),
        ("Go to www.example.com. Then call.", ["Go to www.example.com.", "Then call."]),
        ("It is 3.5. That is all.", ["It is 3.5.", "That is all."]),
        ("Eggs\n\nMilk", ["Eggs", "Milk"]),
        ("One line\nand the next. End.", ["One line\nand the next.", "End."]),
        ("你好。今天好吗？很好", ["你好。", "今天好吗？", "很好"]),  # noqa: RUF001
        ("¿Qué tal? ¡Bien!", ["¿Qué tal?", "¡Bien!"]),
        ("No. We are closed.", ["No.", "We are closed."]),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(TEXTS, CUTS, st.sampled_from([None, 1, 10]), st.sampled_from([5, 40, 200]))
def test_sentences_do_not_depend_on_how_the_text_arrived(
    text: str, at: list[int], first_clause: int | None, max_length: int
) -> None:
    splitter = SentenceSplitter(max_length=max_length, first_clause=first_clause)
    arrived = [s for piece in cut(text, at) for s in splitter.push(piece)] + splitter.flush()
    assert arrived == sentences(text, max_length=max_length, first_clause=first_clause)


@given(TEXTS, st.sampled_from([None, 10]), st.sampled_from([5, 40, 200]))
def test_joined_sentences_are_the_text_but_for_white_space(
    text: str, first_clause: int | None, max_length: int
) -> None:
    found = sentences(text, max_length=max_length, first_clause=first_clause)
    assert squeezed("".join(found)) == squeezed(text)
    assert all(s == s.strip() != "" for s in found)
    assert all(len(s) <= max_length + len(text) - len(text.lstrip()) + 60 for s in found)


def test_a_sentence_is_released_as_soon_as_the_next_one_begins() -> None:
    splitter = SentenceSplitter()
    assert splitter.push("Sure.") == []
    assert splitter.push(" I") == ["Sure."]


def test_a_long_sentence_is_cut_behind_a_clause() -> None:
    first = "This is a rather long clause that goes on for quite some time,"
    assert sentences(f"{first} and then there is a lot more of it without any stop", max_length=80)[0] == first


def test_a_long_sentence_without_clauses_is_cut_between_words() -> None:
    found = sentences("word " * 100, max_length=50)
    assert all(len(s) <= 50 and set(s.split()) == {"word"} for s in found)


def test_an_endless_word_is_cut_in_the_end() -> None:
    assert [len(s) for s in sentences("x" * 450)] == [200, 200, 50]


def test_the_first_sentence_may_end_at_a_clause_and_only_the_first() -> None:
    text = "Let me look at the calendar for you, one moment. It is free on Monday and Tuesday, and also later."
    assert sentences(text, first_clause=30) == [
        "Let me look at the calendar for you,",
        "one moment.",
        "It is free on Monday and Tuesday, and also later.",
    ]


def test_a_flushed_splitter_begins_afresh() -> None:
    splitter = SentenceSplitter(first_clause=5)
    for _ in range(2):
        assert splitter.push("Well now, yes") == ["Well now,"]
        assert splitter.flush() == ["yes"]


# -- words


def test_words_leave_punctuation_behind() -> None:
    assert words("Uh, hi -- I'm at #R-1842, O'Hara's…") == ["Uh", "hi", "I'm", "at", "R-1842", "O'Hara's"]


def test_each_ideograph_is_a_word() -> None:
    assert words("你好。OK") == ["你", "好", "OK"]


@given(TEXTS)
def test_word_spans_hold_everything_but_white_space(text: str) -> None:
    spans = word_spans(text)
    assert squeezed("".join(text[a:b] for a, b in spans)) == squeezed(text)
    assert all(a < b for a, b in spans)


def test_joined_sentences_have_a_space_between_them_where_the_script_has() -> None:
    assert join(["Hello.", "", "How are you?"]) == "Hello. How are you?"
    assert join(["你好。", "很好。"]) == "你好。很好。"


# -- speakable


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("This is **bold**, *italic*, __bold__, _it_ and ***both***.", "This is bold, italic, bold, it and both."),
        ("# Heading\nText", "Heading\n\nText"),
        ("See [our site](https://example.com/a_(b)) now", "See our site now"),
        ("A ![cat](cat.png)!", "A cat!"),
        ("[**Bold** link](x)", "Bold link"),
        ("Run `make test` now", "Run make test now"),
        ("You need:\n- eggs\n- [x] milk\n* bread\n", "You need:\n\neggs\n\nmilk\n\nbread\n\n"),
        ("1. One\n2. Two", "1. One\n\n2. Two"),
        ("> quoted\n> text", "quoted\ntext"),
        ("Before\n```python\nprint(1)\n```\nAfter", "Before\n\nAfter"),
        ("| Day | Time |\n|-----|:----:|\n| Mon | **9** |\n", "Day, Time\n\nMon, 9\n\n"),
        ("One\n\n---\n\nTwo", "One\n\nTwo"),
        ("Fine 😊 thanks", "Fine thanks"),
        ("I'm a 👩\u200d💻!", "I'm a !"),
        ("~~wrong~~ right, ~5 minutes", "wrong right, ~5 minutes"),
        (r"Five \* six", "Five * six"),
    ],
)
def test_markup_and_emoji_are_not_spoken(written: str, spoken: str) -> None:
    assert speakable(written) == spoken


@pytest.mark.parametrize(
    "plain",
    [
        "3 * 4 is 12, and 2*3 is 6.",
        "The file is my_long_name.txt",
        "Your reservation #R-1842 is fine!",
        "#R-1842 is yours",
        "-5 degrees",
        "24 people [sic] came (really)",
        "a < b and C:\\new",
        "12",
        "क्\u200dष",
        "",
    ],
)
def test_ordinary_text_passes_unchanged(plain: str) -> None:
    assert speakable(plain) == plain


@given(TEXTS, CUTS)
def test_speakable_text_does_not_depend_on_how_the_text_arrived(text: str, at: list[int]) -> None:
    speech = SpeechText()
    arrived = "".join(speech.push(piece) for piece in cut(text, at)) + speech.flush()
    assert arrived == speakable(text)


@given(st.text(alphabet="abc XYZ.,?;:'\"0123éß你", max_size=60).map(str.lstrip))
def test_text_without_marks_is_untouched(text: str) -> None:
    assert speakable(f"a{text}") == f"a{text}"


def test_ordinary_deltas_are_not_held_back() -> None:
    speech = SpeechText()
    assert [speech.push(delta) for delta in ["Hello", " there", ",", " friend"]] == ["Hello", " there", ",", " friend"]


def test_a_flushed_filter_begins_afresh() -> None:
    speech = SpeechText()
    assert speech.push("```\ncode") + speech.flush() == ""
    assert speech.push("Text") + speech.flush() == "Text"
