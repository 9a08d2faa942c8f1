"""The words of a text: where they are, what they are without punctuation, and sentences put together again."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WIDE = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN = re.compile(rf"[{_WIDE}][^\w\s]*|[^\s{_WIDE}]+")
_WIDE_END = re.compile(rf"[{_WIDE}　-〿！-｠]")  # noqa: RUF001


def word_spans(text: str) -> list[tuple[int, int]]:
    """Where the words of `text` are, as (start, end), with the punctuation that clings to them.

    What white space separates is a word; in scripts that do without it, each ideograph or kana is one.
    """
    return [match.span() for match in _TOKEN.finditer(text)]


def words(text: str) -> list[str]:
    """The words of `text` without the punctuation around them. What has neither letter nor digit is no word."""
    found = []
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token.isalnum():
            found.append(token)
            continue
        begin, end = 0, len(token)
        while begin < end and not token[begin].isalnum():
            begin += 1
        while end > begin and not token[end - 1].isalnum():
            end -= 1
        if begin < end:
            found.append(token[begin:end])
    return found


def join(pieces: Iterable[str]) -> str:
    """Sentences put together again: with a space between them, except in scripts that have none."""
    joined = ""
    for piece in pieces:
        if not piece:
            continue
        if joined and not joined[-1].isspace() and not piece[0].isspace():
            joined += "" if _WIDE_END.match(joined[-1]) and _WIDE_END.match(piece[0]) else " "
        joined += piece
    return joined
