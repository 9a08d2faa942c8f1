"""What is typed while the screen moves."""

from __future__ import annotations

import pytest

from antiphon.cli.keys import LINE_LIMIT, Key, Line, LineEditor


def typed(*pieces: str) -> tuple[list[object], str]:
    """What came of it, and the line that is left."""
    editor = LineEditor()
    return [one for piece in pieces for one in editor.feed(piece)], editor.text


def test_enter_gives_the_line_and_begins_the_next() -> None:
    assert typed("hello\rand") == ([Line("hello")], "and")


def test_an_empty_line_is_nothing() -> None:
    assert typed("\r\n  \x7f\x7f\r") == ([Key.TALK, Key.TALK], "")


@pytest.mark.parametrize(
    ("keys", "left"),
    [
        ("tabel\x7f\x7fle", "table"),
        ("one two\x15three", "three"),
        ("one two three\x17", "one two "),
        ("one\x17two", "two"),
        ("größer\x7f\x7f", "größ"),
    ],
)
def test_a_line_can_be_mended(keys: str, left: str) -> None:
    assert typed(keys) == ([], left)


@pytest.mark.parametrize("sequence", ["\x1b[D", "\x1b[1;5C", "\x1bOP", "\x1b[3~", "\x1bx", "\x1b[200~"])
def test_arrows_and_function_keys_leave_no_letters(sequence: str) -> None:
    assert typed("a", sequence, "b") == ([], "ab")
    assert typed("a", *sequence, "b") == ([], "ab")


def test_other_control_characters_are_ignored() -> None:
    assert typed("a\x01\x02\tb") == ([], "ab")


def test_ctrl_d_ends_on_an_empty_line_only() -> None:
    assert typed("\x04") == ([Key.END], "")
    assert typed("a\x04") == ([], "a")


def test_space_is_a_key_on_an_empty_line_and_a_letter_in_it() -> None:
    assert typed(" ") == ([Key.TALK], "")
    assert typed("a b") == ([], "a b")


def test_the_microphone_can_be_switched_while_a_line_is_typed() -> None:
    assert typed("ab\x14c") == ([Key.MUTE], "abc")


def test_a_line_has_an_end() -> None:
    assert len(typed("x" * (LINE_LIMIT + 50))[1]) == LINE_LIMIT
