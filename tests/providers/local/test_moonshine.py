from __future__ import annotations

from antiphon.providers.local.moonshine import is_latin, loops, read_tokens


def test_tokens_have_lengths_of_one_or_two_bytes() -> None:
    long = b"x" * 300
    assert read_tokens(b"\x02ab" + bytes([300 % 128 + 128, 300 // 128]) + long + b"\x01c") == [b"ab", long, b"c"]


def test_words_said_over_and_over_are_a_loop() -> None:
    assert loops([9, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3])


def test_a_telephone_number_is_not_a_loop() -> None:
    assert not loops([5, 5, 5, 5, 5, 5, 0, 1, 4, 2])


def test_other_scripts_are_told_from_english() -> None:
    assert all(is_latin(token.encode()) for token in ("\u2581the", "caf\u00e9", "\u2019s", "<s>"))
    assert not any(is_latin(token.encode()) for token in ("\u6211\u4eec", "\u0431\u044b"))
