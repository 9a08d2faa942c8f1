"""Clauses by rules: "go ahead and place the order", "that is not my number". The longest one that begins at a word.

Above: `consent_tables`, which has the rules of a language read once. Below: nothing. It does not know what a clause
amounts to: the name of its rule says it.

A line is a rule: `name = alternative | alternative`. In an alternative a word stands for itself, `<name>` for a rule
(none may stand inside itself), `[...]` for what may be missing, `(a | b)` for one of several, `@flag` for every word
that has the flag, and `word@flag` for that word if it has. A line that begins with a blank goes on with the one before.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

_PARTS = re.compile(r"[\[\]()|]|<\w+>|[^\s\[\]()|]+")
_MOST_STEPS = 20_000
"""Steps that are kept ready. There are far fewer, unless somebody tries: words that no rule has are all one."""


class Grammar:
    """The rules of a language, ready to be matched word by word: the time is linear in the words."""

    __slots__ = ("_known", "_names", "_states", "_steps", "_words")

    def __init__(self, rules: str, names: Sequence[str]) -> None:
        """`names` are the rules that are looked for. Of two that match the same words the first one counts."""
        read = _Rules(rules)
        begin = _State()
        for name in names:
            if name in read.texts:
                read.rule(name, begin).onward(_State(name))
        self._names = tuple(names)
        self._words = read.words
        self._states: list[frozenset[_State]] = []
        self._known: dict[frozenset[_State], int] = {}
        self._steps: dict[tuple[int, str, frozenset[str]], int] = {}
        self._number({begin})

    def longest(
        self, words: Sequence[str], flags: Sequence[frozenset[str]], at: int, ends: Collection[int]
    ) -> tuple[str, int] | None:
        """The name of the longest clause that begins at `at`, and what is behind it: one of `ends`."""
        state, found = 0, None
        while at < len(words) and (state := self._step(state, words[at], flags[at])):
            at += 1
            if at in ends and (name := self._name(state)) is not None:
                found = name, at
        return found

    def _name(self, state: int) -> str | None:
        ready = {one.name for one in self._states[state]}
        return next((name for name in self._names if name in ready), None)

    def _step(self, state: int, word: str, flags: frozenset[str]) -> int:
        """The state behind a word; 0, where all begin, if there is none."""
        word = word if word in self._words else ""
        if (there := self._steps.get((state, word, flags))) is None:
            if len(self._steps) >= _MOST_STEPS:
                self._steps.clear()
            keys = [f"@{flag}" for flag in flags]
            keys += [word, *(f"{word}{key}" for key in keys)] if word else []
            onward = {to for one in self._states[state] for key in keys for to in one.behind(key)}
            there = self._steps[state, word, flags] = self._number(onward) if onward else 0
        return there

    def _number(self, onward: set[_State]) -> int:
        states = _closed(onward)
        if (number := self._known.get(states)) is None:
            number = self._known[states] = len(self._states)
            self._states.append(states)
        return number


class _State:
    """A place between words."""

    __slots__ = ("_moves", "name", "without")

    def __init__(self, name: str | None = None) -> None:
        self.name = name
        """Of the clause that ends here."""
        self.without: list[_State] = []
        """What follows without a word."""
        self._moves: dict[str, list[_State]] = {}

    def onward(self, to: _State, word: str = "") -> None:
        """Behind a word, or without one, comes `to`."""
        if word:
            self._moves.setdefault(word, []).append(to)
        else:
            self.without.append(to)

    def behind(self, word: str) -> Sequence[_State]:
        return self._moves.get(word, ())


def _closed(states: set[_State]) -> frozenset[_State]:
    """With all that follow without a word."""
    found, new = set(states), list(states)
    while new:
        onward = [to for to in new.pop().without if to not in found]
        found.update(onward)
        new += onward
    return frozenset(found)


class _Rules:
    """The rules, each to be read from any state on."""

    __slots__ = ("texts", "words")

    def __init__(self, rules: str) -> None:
        self.texts: dict[str, list[str]] = {}
        for line in re.sub(r"\n +", " ", rules).splitlines():
            name, equals, text = line.partition("=")
            if equals:
                self.texts[name.strip()] = _PARTS.findall(text)
            elif line.strip():
                raise ValueError(f"a rule has the form `name = words`, got {line.strip()[:40]!r}")
        self.words = frozenset(part.partition("@")[0] for text in self.texts.values() for part in text)

    def rule(self, name: str, begin: _State) -> _State:
        """A rule from a state on; gives where it ends."""
        end, behind = self._alternatives(self.texts[name], 0, begin)
        if behind != len(self.texts[name]):
            raise ValueError(f"rule {name!r}: a bracket is closed that was not opened")
        return end

    def _alternatives(self, parts: list[str], at: int, begin: _State) -> tuple[_State, int]:
        end, here = _State(), begin
        while at < len(parts) and parts[at] not in "])":
            part = parts[at]
            at += 1
            if part == "|":
                here.onward(end)
                here = begin
                continue
            there = _State()
            if part in "[(":
                here.onward(there)
                behind, at = self._alternatives(parts, at, there)
                if part == "[":
                    here.onward(behind)
                here, at = behind, at + 1
            elif part[0] == "<":
                here.onward(there)
                here = self.rule(part[1:-1], there)
            else:
                here.onward(there, part)
                here = there
        here.onward(end)
        return end, at
