"""About how many tokens a text is. Every model counts in its own way; what counts exactly is what it reports."""

from __future__ import annotations

_BYTES_OF_PROSE = 4.0
"""In a token of speech written down. In UTF-8, which fits what has more letters than English, too."""
_BYTES_OF_DATA = 3.0
"""The same for JSON, numbers and ids."""


def tokens_of(text: str, *, is_data: bool = False) -> int:
    """An estimate, made without looking at the words."""
    size = len(text) if text.isascii() else len(text.encode(errors="replace"))
    return int(size / (_BYTES_OF_DATA if is_data else _BYTES_OF_PROSE)) + 1
