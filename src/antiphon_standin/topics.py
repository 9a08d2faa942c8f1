"""What questions are about although no word of it falls: "where are you?" is about an address.

Below: `words`. Above: `understand`.
"""

from __future__ import annotations

import re
from functools import cache

from antiphon_standin.words import stem, table


@cache
def _topics() -> tuple[tuple[re.Pattern[str], frozenset[str]], ...]:
    return tuple((re.compile(asked), frozenset(map(stem, about))) for asked, about in table("topics"))


def topics(lows: list[str]) -> frozenset[str]:
    """The stems of what a question is about, by its form."""
    text = " ".join(lows)
    return frozenset().union(*(about for asked, about in _topics() if asked.search(text)))
