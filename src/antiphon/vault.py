"""What must not be shown of a call, and what stands for it: the one place that decides what is masked.

A value that is kept has a placeholder, `[card_number_1]`, which says what it is. Texts go through `mask` on their way
to where they stay, and through `reveal` on their way to a tool, `voiced` on their way to a voice.

Above: the masks of a session (`runtime.masks`), logs and reports (`hide`). Below: nothing; where digits are in a text
is told by whoever makes it. A vault is never written anywhere, and is gone with its session.
"""

from __future__ import annotations

import json
import re
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeAlias

from antiphon.record import frozen

PLACEHOLDER = re.compile(r"\[[a-z][a-z0-9_]{0,60}_\d{1,6}\]")
"""What stands for something that is kept."""

SHORTEST_TEXT = 4
"""Characters of a text that is looked for wherever texts go. A shorter one is masked where it was given alone."""

SHORTEST_DIGITS = 3
"""The same for digits."""

SHORTEST_PART = 4
"""Digits in a row that are a part of a longer number, and masked as such."""


class Run(Protocol):
    """Digits in a row, written or said: `text.digit_runs` finds them."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def digits(self) -> str: ...


FindRuns: TypeAlias = Callable[[str], Sequence[Run]]


@frozen
class _Kept:
    value: str
    digits: str
    """What its digits are, if it is made of them; else ""."""
    spoken: str
    guarded: bool


class Vault:
    """Of one session. `runs` finds digits in texts; `spoken` says a value, for a voice."""

    def __init__(self, runs: FindRuns, spoken: Callable[[str], str]) -> None:
        self._runs = runs
        self._say = spoken
        self._kept: dict[str, _Kept] = {}
        """By placeholder."""
        self._known: dict[tuple[str, str], str] = {}
        """By kind and value: the placeholder."""
        self._numbers: dict[str, int] = {}
        """How many there are of each kind."""
        self._lost: set[str] = set()
        """Placeholders of what was kept in a process that has ended."""
        self._texts: list[tuple[str, str]] = []
        """What is looked for in every text, and its placeholder; the longest first."""
        self._digits: list[tuple[str, str]] = []
        _vaults.add(self)

    @property
    def is_empty(self) -> bool:
        """Nothing is kept."""
        return not self._kept

    def keep(self, value: str, kind: str, *, guarded: bool = True) -> str:
        """Keep a value. Returns its placeholder: the same for the same value of that kind.

        `guarded`: only an argument that is declared secret may have it back.
        """
        value = value.strip()
        kind = re.sub(r"[^a-z0-9]+", "_", kind.lower()).strip("_")[:50] or "secret"
        kind = kind if kind[0].isalpha() else f"secret_{kind}"
        placeholder = self._known.get((kind, value))
        if placeholder is not None:
            return placeholder
        number = self._numbers[kind] = self._numbers.get(kind, 0) + 1
        placeholder = self._known[kind, value] = f"[{kind}_{number}]"
        digits = re.sub(r"[\s.,()/-]", "", value)
        digits = digits if digits.isdecimal() else ""
        self._kept[placeholder] = _Kept(value, digits, self._say(digits) if digits else value, guarded)
        if digits and len(digits) >= SHORTEST_DIGITS:
            self._digits.append((digits, placeholder))
            self._digits.sort(key=lambda one: -len(one[0]))
        elif not digits and len(value) >= SHORTEST_TEXT:
            self._texts.append((value, placeholder))
            self._texts.sort(key=lambda one: -len(one[0]))
        return placeholder

    def last(self, kind: str) -> int:
        """The highest number that stands for something of that kind."""
        return self._numbers.get(kind, 0)

    def lost(self, placeholders: Iterable[str]) -> None:
        """These stand for what was kept in a process that has ended: nobody knows it, and others get other names."""
        for placeholder in placeholders:
            kind, _, number = placeholder[1:-1].rpartition("_")
            self._numbers[kind] = max(self._numbers.get(kind, 0), int(number))
            self._lost.add(placeholder)

    def lost_in(self, text: str) -> list[str]:
        """The placeholders in a text whose values nobody knows any more."""
        return [found for found in PLACEHOLDER.findall(text) if found in self._lost] if self._lost else []

    # -- on the way to where it stays

    def mask(self, text: str) -> str:
        """The text with placeholders for what is kept: digits also as words, spaced, and parts of a long number."""
        for value, placeholder in self._texts:
            if value in text:
                text = text.replace(value, placeholder)
            elif (escaped := json.dumps(value)[1:-1]) != value and escaped in text:
                text = text.replace(escaped, placeholder)
        return self._mask_digits(text) if self._digits else text

    def _mask_digits(self, text: str) -> str:
        masked, at = "", 0
        held = [found.span() for found in PLACEHOLDER.finditer(text)]
        for run in self._runs(text):
            if len(run.digits) < SHORTEST_DIGITS or any(start <= run.start < end for start, end in held):
                continue
            if (placeholder := self._which(run.digits)) is not None:
                masked += text[at : run.start] + placeholder
                at = run.end
        return masked + text[at:] if at else text

    def _which(self, digits: str) -> str | None:
        for known, placeholder in self._digits:
            if known in digits or (len(digits) >= SHORTEST_PART and digits in known):
                return placeholder
        return None

    # -- on the way back

    def reveal(self, text: str, *, as_json: bool = False) -> str:
        """The text with the values in place of their placeholders. `as_json`: it is JSON, and stays so."""
        if "[" not in text or not self._kept:
            return text

        def value(found: re.Match[str]) -> str:
            kept = self._kept.get(found[0])
            if kept is None:
                return found[0]
            return json.dumps(kept.value, ensure_ascii=False)[1:-1] if as_json else kept.value

        return PLACEHOLDER.sub(value, text)

    def guarded_in(self, text: str) -> str | None:
        """The placeholder of a guarded value that the text holds; None: it holds none."""
        for placeholder, kept in self._kept.items():
            if kept.guarded and len(kept.value) >= SHORTEST_DIGITS and kept.value in text:
                return placeholder
        return None

    def voiced(self, text: str) -> Iterable[tuple[str, str | None]]:
        """The text in pieces: what is written, with None; a placeholder, with the words that say what it stands for."""
        at = 0
        for found in PLACEHOLDER.finditer(text):
            kept = self._kept.get(found[0])
            if kept is not None:
                if found.start() > at:
                    yield text[at : found.start()], None
                yield found[0], kept.spoken
                at = found.end()
        if at < len(text):
            yield text[at:], None

    def says(self, text: str) -> bool:
        """Whether the text says something that is kept."""
        return self.mask(text) != text


_vaults: weakref.WeakSet[Vault] = weakref.WeakSet()


def hide(text: str) -> str:
    """The text with placeholders for whatever any call of this process keeps. For logs, errors and reports."""
    for vault in tuple(_vaults):
        if not vault.is_empty:
            text = vault.mask(text)
    return text


def is_secret(text: str) -> bool:
    """Whether a text says what some call of this process keeps: nobody may put it on a shelf."""
    return any(not vault.is_empty and vault.says(text) for vault in tuple(_vaults))


def hide_in(value: object) -> object:
    """Data made for JSON, with `hide` for every text in it, and for numbers of so many digits."""
    if not any(not vault.is_empty for vault in tuple(_vaults)):
        return value
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, dict):
        return {hide(key) if isinstance(key, str) else key: hide_in(one) for key, one in value.items()}
    if isinstance(value, list):
        return [hide_in(one) for one in value]
    if isinstance(value, int) and not isinstance(value, bool):
        shown = hide(str(value))
        return shown if shown != str(value) else value
    return value
