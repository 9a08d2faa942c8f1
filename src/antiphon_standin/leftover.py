"""The words of a turn that nothing accounts for: they may well be a value, and nobody knows for what.

Below: `slots`, `understand`. Above: `known`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from antiphon_standin import numbers
from antiphon_standin.slots import ToolView
from antiphon_standin.understand import Utterance
from antiphon_standin.words import act_phrases, alike, is_stop, phrases, stem, thesaurus

_COMMON = frozenset(stem(word) for word in phrases("says nothing of its own"))


def leftover(said: Utterance, tool: ToolView, values: Iterable[object]) -> list[str]:
    """The words that are none of the tool's own, of a request's in general, and of no value in `values`."""
    told = {stem(word) for value in values for word in re.findall(r"[^\W_]+(?:'[^\W_]+)?", str(value).lower())}
    acts, phrased = thesaurus().acts, act_phrases(said.tokens)
    return [
        token.low
        for k, token in enumerate(said.tokens)
        if k not in said.taken and k not in phrased
        and not is_stop(token.low) and not token.low.isdigit() and token.low not in numbers.NUMBER_WORDS
        and (word := stem(token.low)) not in told and (word,) not in acts and word not in _COMMON
        and not any(alike(word, own) >= 0.8 for own in tool.vocabulary)
    ]  # fmt: skip
