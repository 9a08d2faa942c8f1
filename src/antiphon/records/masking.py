"""What is taken out of the words of records: as sessions do, and as one of them found it nowhere.

Above: `Records`. Below: `text.findings`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from antiphon.language import ENGLISH
from antiphon.options import RedactWords
from antiphon.session_options import redaction


def mask_of(redact: RedactWords) -> Callable[[str], str] | None:
    """A function that puts `[phone_number]` in the place of what it finds. None: nothing is to be looked for.

    Raises `UsageError` for a name that is none.
    """
    given = redaction(redact)
    if callable(given):
        return lambda text: _replaced(text, given(text))
    if not given:
        return None
    from antiphon.text.findings import findings

    names = tuple(given)

    def mask(text: str) -> str:
        found = findings(text, names, ENGLISH.spoken)
        return _replaced(text, [(one.start, one.end, one.kind) for one in found])

    return mask


def _replaced(text: str, parts: Iterable[tuple[int, int, str]]) -> str:
    for start, end, kind in sorted(parts, reverse=True):
        text = f"{text[:start]}[{kind}]{text[end:]}"
    return text
