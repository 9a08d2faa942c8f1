"""Which of many tools a text is about: an index of tools in the manner of BM25F.

Above: `search`, which offers what was found to a model. Below: nothing but a stemmer; no I/O, no state after it is
built. Names, descriptions, parameters and the values that parameters allow are fields of their own, each with its
weight: a word in the name of a tool says more about it than one in a parameter's description. Names are cut into words
(`getUserInfo`, `get_user_info` and `user-info` have words in common), words are reduced to their stems, and two
neighbouring words count once more as a pair, so that "order status" finds the status of orders before orders.

Each score that a word can add to a tool is computed when the index is built; a query only adds them up.
"""

from __future__ import annotations

import functools
import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, TypeAlias

from antiphon.errors import missing_package
from antiphon.tools.spec import ToolSpec

_WEIGHTS: Final = {"name": 2.5, "parameters": 1.5, "values": 1.5, "description": 1.0, "details": 0.5}
"""How much a word counts, by where it stands: `values` are those of enums, `details` describe parameters."""
_PAIRED: Final = frozenset({"name", "parameters", "description"})
"""The fields whose neighbouring words count as pairs."""
_PAIR_WEIGHT: Final = 0.5
_SATURATION: Final = 1.0
"""BM25's k1: how soon more of the same word adds nothing."""
_LENGTH: Final = 0.5
"""BM25's b: how much a long field weakens each of its words."""

_MAX_QUERY_WORDS: Final = 100
"""Words of a query beyond these are not looked at: what it is about has been said by then."""
_MAX_WORD: Final = 60
"""Characters of a word beyond these are not looked at: finding its stem would take seconds for a long one."""
_MAX_DEPTH: Final = 6
"""Levels of nested objects whose parameters are read."""

_CHUNK = re.compile(r"[^\W_]+")
_SEAM = re.compile(
    r"(?<=[^\W\d_A-Z])(?=[A-Z])"  # userInfo
    r"|(?<=[A-Z])(?=[A-Z][a-z])"  # HTTPServer
    r"|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])"  # sha256sum
    r"|(?<=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])(?=.)"  # scripts without spaces: each sign is a word
)
_STOP_WORDS: Final = frozenset(
    "a an and are as at be by can could do does for from has have how i if in into is it its me my of on or our please "
    "should so that the their them then there these this to us was we were what when which who will with would you "
    "your d m s t ll ve re".split()
)

Term: TypeAlias = "str | tuple[str, str]"
"""A stem, or a pair of neighbouring stems."""


class ToolIndex:
    """An index over tools. Tools are known by their place in `specs`.

    Building takes about half a millisecond a tool, a search the same among a thousand tools.
    """

    def __init__(self, specs: Sequence[ToolSpec]) -> None:
        fields = [{field: words(text) for field, text in _fields(spec)} for spec in specs]
        self._scores = _term_scores(fields)

    def search(self, query: str, limit: int) -> list[int]:
        """The places of at most `limit` tools that share a word with `query`, best first."""
        stems = words(query)[:_MAX_QUERY_WORDS]
        totals: dict[int, float] = {}
        for term in dict.fromkeys(stems):
            self._add(totals, term, 1.0)
        for pair in dict.fromkeys(pairwise(stems)):
            self._add(totals, pair, _PAIR_WEIGHT)
        # Of equals the earlier one: the order of tools is their author's.
        best = heapq.nsmallest(limit, totals.items(), key=lambda item: (-item[1], item[0]))
        return [place for place, _ in best]

    def _add(self, totals: dict[int, float], term: Term, weight: float) -> None:
        for place, score in self._scores.get(term, ()):
            totals[place] = totals.get(place, 0.0) + weight * score


def words(text: str) -> list[str]:
    """The stems of the words in `text`, those inside compound names included; words that say nothing are left out."""
    parts = (part[:_MAX_WORD].lower() for chunk in _CHUNK.findall(text) for part in _SEAM.split(chunk) if part)
    return [_stem(part) for part in parts if part not in _STOP_WORDS]


def _term_scores(fields: Sequence[Mapping[str, Sequence[str]]]) -> dict[Term, list[tuple[int, float]]]:
    """What each term adds to the score of each tool that has it."""
    frequencies: dict[Term, dict[int, float]] = {}
    usual = {field: sum(len(one[field]) for one in fields) / max(len(fields), 1) or 1.0 for field in _WEIGHTS}
    for place, texts in enumerate(fields):
        for field, weight in _WEIGHTS.items():
            stems = texts[field]
            share = weight / (1 - _LENGTH + _LENGTH * len(stems) / usual[field])
            _count(frequencies, place, Counter[Term](stems), share)
            if field in _PAIRED:
                _count(frequencies, place, Counter[Term](pairwise(stems)), share * _PAIR_WEIGHT)
    return {
        term: [(place, _rarity(len(places), len(fields)) * _saturated(f)) for place, f in places.items()]
        for term, places in frequencies.items()
    }


def _count(frequencies: dict[Term, dict[int, float]], place: int, terms: Counter[Term], share: float) -> None:
    for term, times in terms.items():
        places = frequencies.setdefault(term, {})
        places[place] = places.get(place, 0.0) + share * times


def _rarity(having: int, of: int) -> float:
    """BM25's idf: a term that few tools have tells them apart."""
    return math.log(1 + (of - having + 0.5) / (having + 0.5))


def _saturated(frequency: float) -> float:
    return frequency * (_SATURATION + 1) / (frequency + _SATURATION)


def _fields(spec: ToolSpec) -> Iterator[tuple[str, str]]:
    """The texts of a tool by field, in the terms of `_WEIGHTS`."""
    parameters = list(_parameters(spec.parameters, _MAX_DEPTH))
    yield "name", spec.name
    yield "description", spec.description
    yield "parameters", " ".join(name for name, _ in parameters)
    yield "details", " ".join(str(schema.get("description", "")) for _, schema in parameters)
    yield "values", " ".join(str(value) for _, schema in parameters for value in _allowed_values(schema))


def _parameters(schema: Any, depth: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Names and schemas of the properties of an object, of objects inside it, and of those in its lists."""
    if not isinstance(schema, Mapping) or depth == 0:
        return
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        for name, inner in properties.items():
            if isinstance(inner, Mapping):
                yield str(name), inner
                yield from _parameters(inner, depth - 1)
    yield from _parameters(schema.get("items"), depth - 1)


def _allowed_values(schema: Mapping[str, Any]) -> Sequence[Any]:
    items = schema.get("items")
    values = schema.get("enum") or (items.get("enum") if isinstance(items, Mapping) else None)
    return values if isinstance(values, list) else ()


@functools.lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    return _stemmer()(word)


@functools.cache
def _stemmer() -> Callable[[str], str]:
    try:
        import snowballstemmer
    except ModuleNotFoundError:
        raise missing_package("the search for tools", "snowballstemmer", "search") from None
    stem: Callable[[str], str] = snowballstemmer.stemmer("english").stemWord
    return stem
