"""Claims: what a sentence of the agent says was done ("I've booked your table").

Above: the runtime, which asks whether any tool has done it. Below: nothing. Precise before sensitive: what may be a
question, a condition, a denial, somebody else's doing or the state of the world is no claim. A sentence is read clause
by clause. Each language has a table of one shape: `english_claims`, `german_claims`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterable

from antiphon.record import record


@record
class Action:
    """Something that tools do, in the words of a language."""

    names: str
    """How tools call it, in names and descriptions."""
    done: str
    """How somebody says that it was done: participles, and the past where it is another word."""
    things: str = ""
    """What it makes or changes, of which is said that it stands ("your booking is confirmed")."""
    is_alone: bool = True
    """Said of an agent that has no such tool it is a claim all the same."""


@record
class ClaimPhrases:
    """How a language claims that something was done. In a pattern, `{done}` stands for what was, `{thing}` for its."""

    actions: tuple[Action, ...] = ()
    did: tuple[str, ...] = ()
    """Patterns (regular expressions) that say that the agent has done it."""
    states: tuple[str, ...] = ()
    """Patterns that say that it is done: perhaps it was before, and a tool has found it so."""
    voids: str = r"(?!)"
    """What makes a clause no claim, up to the claim."""
    voids_behind: str = r"(?!)"
    """The same behind it."""
    asks: str = r"(?!)"
    """How a clause begins that asks."""
    tags: str = r"(?!)"
    """Last clauses by which a sentence asks whether it is so."""
    cuts: str = r"[,;:\u2014\u2013]"
    """Where one clause ends and the next begins."""
    participle: Callable[[str], str] | None = None
    """The participles of the verb in a tool's name that no action has; "" for what is no verb, or does nothing."""


@record
class Claim:
    """A claim that something was done."""

    words: str
    """The clause."""
    done: str
    """What was done, in its word ("booked")."""
    names: frozenset[str]
    """How tools call it."""
    is_state: bool
    """It says that it is so, and not who has done it."""
    is_alone: bool
    """It is a claim whether or not there is such a tool."""


def claims_in(sentence: str, phrases: ClaimPhrases, verbs: Iterable[str] = ()) -> list[Claim]:
    """What the sentence claims. `verbs`: what the tools do that the agent has, by the first words of their names."""
    table = _table(phrases, tuple(sorted(set(verbs))))
    if table is None:
        return []
    text = _normal(sentence)
    if table.quick.search(text) is None:
        return []
    is_question = text.endswith("?")
    clauses = [clause.strip() for clause in re.split(phrases.cuts, text)]
    if is_question and re.fullmatch(phrases.tags, clauses[-1].rstrip("?")):
        return []
    found: list[Claim] = []
    for number, clause in enumerate(clauses, 1):
        if (is_question and number == len(clauses)) or re.match(phrases.asks, clause):
            continue
        claim = table.claim(clause, phrases)
        if claim is not None:
            found.append(claim)
    return found


def _normal(sentence: str) -> str:
    text = sentence.lower().replace("\u2019", "'")
    return " ".join(re.sub(r"[\"“”„»«()*_]", " ", text).split())


class _Table:
    """The patterns of one language for one set of tools."""

    __slots__ = ("_actions", "_did", "_states", "_things", "quick")

    def __init__(self, phrases: ClaimPhrases, actions: Collection[Action]) -> None:
        self._actions = {word: action for action in actions for word in _listed(action.done)}
        self._things = {word: action for action in actions for word in _listed(action.things)}
        done, things = _any(self._actions), _any(self._things)
        self.quick = re.compile(rf"\b(?:{done}|{things})\b")
        self._did = [re.compile(_filled(one, done, things)) for one in phrases.did]
        self._states = [re.compile(_filled(one, done, things)) for one in phrases.states]

    def claim(self, clause: str, phrases: ClaimPhrases) -> Claim | None:
        for patterns, is_state in ((self._did, False), (self._states, True)):
            for pattern in patterns:
                match = pattern.search(clause)
                if match is None or _is_void(clause, match, phrases):
                    continue
                groups = match.groupdict()
                word = groups.get("done") or groups.get("thing") or ""
                action = self._actions.get(word) or self._things[word]
                return Claim(clause, word, frozenset(_listed(action.names)), is_state, action.is_alone)
        return None


def _is_void(clause: str, match: re.Match[str], phrases: ClaimPhrases) -> bool:
    return bool(
        re.search(phrases.voids, clause[: match.end()]) or re.search(phrases.voids_behind, clause[match.end() :])
    )


@functools.lru_cache(maxsize=64)
def _table(phrases: ClaimPhrases, verbs: tuple[str, ...]) -> _Table | None:
    if not phrases.actions:
        return None
    known = {name for action in phrases.actions for name in _listed(action.names)}
    made = phrases.participle
    own = [Action(verb, made(verb), is_alone=False) for verb in verbs if made is not None and verb not in known]
    return _Table(phrases, [*phrases.actions, *(action for action in own if action.done)])


def _listed(words: str) -> list[str]:
    return [word for word in words.split("|") if word]


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=lambda word: (-len(word), word))) or "(?!)"


def _filled(pattern: str, done: str, things: str) -> str:
    return pattern.replace("{done}", rf"(?P<done>{done})\b").replace("{thing}", rf"(?P<thing>{things})\b")
