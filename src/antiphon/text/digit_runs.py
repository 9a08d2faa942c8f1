"""Where digits are in what people say: "my card is four one double one, 1111" has two runs, or one.

Above: what masks digits. Below: the language's tables, and `spoken`, which knows what the words mean.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from antiphon.language.spoken import SpokenForms
from antiphon.record import record
from antiphon.text import spoken

_TOKEN = re.compile(r"\d+|[^\W\d_]+(?:'[^\W\d_]+)?")
_GAP = re.compile(r"[\s,.;:/()\-\u2010-\u2015]*")


@record
class DigitRun:
    """Digits in a row, written or said."""

    start: int
    """Where it begins in the text."""
    end: int
    digits: str


def digit_runs(text: str, forms: SpokenForms) -> list[DigitRun]:
    """The runs of a text, in order. Pauses and "and" do not end one; a lone "oh" is none."""
    runs: list[DigitRun] = []
    row: list[re.Match[str]] = []
    for token in _TOKEN.finditer(text):
        if row and not _goes_on(text, row[-1], token, forms):
            _end(text, row, runs, forms)
            row = []
        if _is_digit(token[0].lower(), forms, begins=not row):
            row.append(token)
    _end(text, row, runs, forms)
    return runs


def _goes_on(text: str, last: re.Match[str], token: re.Match[str], forms: SpokenForms) -> bool:
    return _GAP.fullmatch(text, last.end(), token.start()) is not None and _is_digit(
        token[0].lower(), forms, begins=False
    )


def _is_digit(word: str, forms: SpokenForms, *, begins: bool) -> bool:
    known = word.isdecimal() or word in forms.numbers or word in forms.tens or word in forms.times
    if known or word in forms.zero:
        return True
    return not begins and (word in forms.hundred or word in forms.heard_as)


def _end(text: str, row: Sequence[re.Match[str]], runs: list[DigitRun], forms: SpokenForms) -> None:
    tokens = list(row)
    while tokens and tokens[-1][0].lower() in forms.times:
        tokens.pop()
    if not tokens or all(one[0].lower() in forms.zero and len(tokens) == 1 for one in tokens):
        return
    start, end = tokens[0].start(), tokens[-1].end()
    try:
        digits = spoken.digits(text[start:end], forms)
    except ValueError:  # a word that only counts behind another
        digits = re.sub(r"\D", "", text[start:end])
    if digits:
        runs.append(DigitRun(start, end, digits))
