"""What a model thinks is taken out of what it says, wherever the pieces of its answer end."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.text.thoughts import Thoughts


def parted(*pieces: str, inside: bool = False) -> tuple[str, str]:
    thoughts = Thoughts(inside=inside)
    found = [*map(thoughts.push, pieces), thoughts.end()]
    return "".join(said for said, _ in found), "".join(thought for _, thought in found)


@pytest.mark.parametrize(
    ("answer", "said", "thought"),
    [
        ("Hello there.", "Hello there.", ""),
        ("<think>They greet.</think>\n\nHello there.", "Hello there.", "They greet."),
        ("\n<think>\n\n</think>\n\nHello.", "Hello.", "\n\n"),
        ("<THINK>Hm.</Think>Yes.", "Yes.", "Hm."),
        ("<thinking>Hm.</thinking> Yes.", "Yes.", "Hm."),
        ("One moment. <think>Which day?</think> Friday?", "One moment.  Friday?", "Which day?"),
        ("<think>a</think><think>b</think> So.", "So.", "ab"),
        ("<think>It never ends, and is cut", "", "It never ends, and is cut"),
        ("So it is.</think> And more.", "So it is. And more.", ""),
        ("3 < 4, and <b>bold</b> <", "3 < 4, and <b>bold</b> <", ""),
        ("I think> so", "I think> so", ""),
        ("<think", "<think", ""),
        ("", "", ""),
    ],
)
def test_thoughts_are_taken_out(answer: str, said: str, thought: str) -> None:
    assert parted(answer) == (said, thought)
    by_letter = parted(*answer)
    assert (by_letter[0].lstrip("\n"), by_letter[1]) == (said, thought), "letter by letter"


def test_an_answer_may_begin_in_the_middle_of_a_thought() -> None:
    assert parted("They greet.", "</thi", "nk>\n\nHello.", inside=True) == ("Hello.", "They greet.")
    assert parted("They gre", inside=True) == ("", "They gre")


_TEXT = st.lists(
    st.one_of(
        st.sampled_from(["<think>", "</think>", "<", "</", "think>", " ", "\n", "<Thinking>"]), st.text(max_size=8)
    ),
    max_size=12,
).map("".join)


@given(_TEXT, st.lists(st.integers(0, 100), max_size=8), st.booleans())
def test_where_the_pieces_end_makes_no_difference(text: str, cuts: list[int], inside: bool) -> None:
    ends = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    pieces = [text[begin:end] for begin, end in pairwise(ends)]
    whole, cut = parted(text, inside=inside), parted(*pieces, inside=inside)
    assert "".join(whole[0].split()) == "".join(cut[0].split())
    assert whole[1] == cut[1]


def test_ordinary_text_is_given_on_at_once() -> None:
    thoughts = Thoughts()
    assert [thoughts.push(piece) for piece in (" Hel", "lo, ", "you.")] == [(" Hel", ""), ("lo, ", ""), ("you.", "")]
