"""A read-back: its words, its values, and where they stand. Replies are held against it.

Above: `language.consent`, which decides. Below: the tables of the language. It does not know what a reply amounts to.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from antiphon.language.consent_tables import Tables, Tag
from antiphon.language.consent_values import Value, tokens


class ReadBack:
    """The read-back: its words, its values, and where they stand."""

    __slots__ = ("_after", "_atoms", "_before", "_pairs", "_prepositions", "_words", "acts", "is_offer")

    def __init__(self, text: str, values: Sequence[str], tables: Tables) -> None:
        self._atoms: set[tuple[str, str]] = set()
        self._pairs: set[tuple[tuple[str, str], ...]] = set()
        self._words: set[str] = set()
        self._prepositions: dict[tuple[str, str], set[str]] = {}
        self._after: dict[tuple[str, str], set[tuple[str, str]]] = {}
        self._before: dict[tuple[str, str], set[tuple[str, str]]] = {}
        for part in (text, *values):
            words = tokens(part)
            # What it denies cannot be repeated without the "no".
            self._words.update(
                word for at, word in enumerate(words) if tables.negating.isdisjoint(words[max(at - 2, 0) : at])
            )
            self._learn(list(tables.values.atoms(words)), tables)
        if days := {atom for part in values for atom in tables.values.atoms(tokens(part)) if atom[0] == "day"}:
            # A read-back may name what is not to be: "from Thursday to Friday".
            self._atoms = {atom for atom in self._atoms if atom[0] != "day"} | days
        self.acts = _acts(text, tables)
        asks = tokens(re.split(r"[.!;:]\s+", text)[-1])
        self.is_offer = any(tables.offers.at(asks, at) for at in range(len(asks)))

    def _learn(self, atoms: list[tuple[str, str]], tables: Tables) -> None:
        self._atoms.update(atoms)
        denied = [("word", word) for word in tables.negating]
        self._pairs.update(
            (first, then)
            for at, (first, then) in enumerate(pairwise(atoms))
            if first in denied or not any(atom in denied for atom in atoms[max(at - 1, 0) : at + 1])
        )
        preposition, since = "", 0
        for kind, text in atoms:
            since += 1
            if kind == "word" and text in tables.prepositions:
                preposition, since = tables.prepositions[text], 0
            elif kind == "word" and text in tables.joining and preposition in tables.ranges:
                preposition, since = tables.ranges[preposition], 0
            elif since <= 4:
                self._prepositions.setdefault((kind, text), set()).add(preposition)
        bare = [atom for atom in atoms if not _is_small(atom, tables)]
        for first, then in pairwise(bare):
            self._after.setdefault(first, set()).add(then)
            self._before.setdefault(then, set()).add(first)

    def has_word(self, word: str) -> bool:
        """It, or its plural or singular."""
        return word in self._words or f"{word}s" in self._words or (word.endswith("s") and word[:-1] in self._words)

    def has(self, value: Value) -> bool:
        """The same value in any of its forms."""
        if (value.kind, value.text) in self._atoms:
            return True
        return value.kind == "number" and all(("number", part) in self._atoms for part in value.parts)

    def has_any(self, kind: str) -> bool:
        """A value of this kind."""
        return any(atom[0] == kind for atom in self._atoms)

    def has_pair(self, words: Sequence[str], at: int, tables: Tables) -> bool:
        """Whether the two words or values at `at` stand side by side in it."""
        return tables.values.pair(words, at) in self._pairs

    def fits(self, preposition: str, atom: tuple[str, str]) -> bool:
        """Whether what is repeated stood behind this preposition: "for seven" is another thing than "at seven"."""
        there = self._prepositions.get(atom)
        return not there or preposition in there or there == {""} or atom[0] in ("day", "month")

    def agrees(self, first: tuple[str, str], then: tuple[str, str]) -> bool:
        """False where it has another value of that kind there: "nine people" where it has "six people at nine"."""
        for atom, beside, there in (
            (then, first, self._after.get(first, set())),
            (first, then, self._before.get(then, set())),
        ):
            if beside[0] != atom[0] != "word" and atom not in there and any(other[0] == atom[0] for other in there):
                return False
        return True


def _is_small(atom: tuple[str, str], tables: Tables) -> bool:
    """A word that says nothing by itself."""
    if atom[0] != "word":
        return False
    known = tables.phrases.at((atom[1],), 0)
    return atom[1] in tables.prepositions or (known is not None and known[0] is Tag.NEUTRAL)


def _acts(text: str, tables: Tables) -> frozenset[str]:
    """The verbs of the last sentence that has one: "You may cancel until Friday. Shall I book it?" asks to book."""
    confirming: frozenset[str] = frozenset()
    for sentence in reversed(re.split(r"[.!?;:]\s+", text)):
        starts: dict[str, list[str]] = {}
        for word in tokens(sentence):
            starts.setdefault(word[:2], []).append(word)
        found = {
            act
            for start, words in starts.items()
            for act in tables.acts_by_start.get(start, ())
            if any(_is_form(word, act) for word in words)
        }
        if found & tables.confirming:
            confirming = tables.confirming
        if found := found - tables.confirming:
            return confirming.union(*(tables.acts[act] for act in found))
    return confirming | next(iter(tables.acts.values()), frozenset())


def _is_form(word: str, act: str) -> bool:
    """Whether `word` is a form of the verb: "cancelling", "reserved"."""
    if len(act) <= 3:
        return word == act or word in (f"{act}s", f"{act}ing", f"{act}{act[-1]}ing")
    return word.startswith(act.removesuffix("e")) and len(word) <= len(act) + 4


@lru_cache(maxsize=64)
def read_back_of(text: str, values: tuple[str, ...], tables: Tables) -> ReadBack:
    """The read-back, looked through once."""
    return ReadBack(text, values, tables)
