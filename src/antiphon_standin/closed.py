"""Closed lists and flags: which of the listed values was said, and whether yes or no.

Below: `understand`, `slots`. Above: `fill`.
"""

from __future__ import annotations

from typing import Any

from antiphon_standin import moments
from antiphon_standin.situation import Situation
from antiphon_standin.slots import Slot
from antiphon_standin.typed import pick_of
from antiphon_standin.understand import Kind, Utterance
from antiphon_standin.words import (
    alike,
    is_stop,
    stem,
    tokenize,
)


def _negated(said: Utterance, k: int) -> bool:
    if k > 1 and said.tokens[k - 1].low == "no" and not said.tokens[k - 1].tail:
        return True
    return any(
        t.low in ("not", "without", "don't", "doesn't", "isn't", "never") and t.tail not in (",", ".")
        for t in said.tokens[max(0, k - 3) : k]
    )


def choice_of(slot: Slot, said: Utterance, at: Situation) -> Any | None:
    """The value of a closed list that was said: its words, near synonyms, or nearly its spelling."""
    asked = slot.name in at.asked
    best: tuple[float, int, Any] | None = None
    stems = [stem(t.low) for t in said.tokens]
    for choice in slot.choices:
        parts = [stem(t.low) for t in tokenize(str(choice).replace("_", " ").replace("-", " "))]
        if not parts:
            continue
        scores, where = [], 0
        for part in parts:
            near, k = max(
                ((alike(part, word), k) for k, word in enumerate(stems) if not _negated(said, k)), default=(0.0, 0)
            )
            scores.append(near)
            where = max(where, k)
        score = min(scores)
        if score < 0.6 and len(parts) > 1 and max(scores) == 1.0 and (asked or sum(scores) >= 1.6):
            # "the silver one" for "silver plan": part of a name, when nothing else competes.
            heads = [p for p, s in zip(parts, scores, strict=True) if s == 1.0]
            if not any(
                h in [stem(t.low) for t in tokenize(str(o).replace("_", " "))]
                for h in heads
                for o in slot.choices
                if o != choice
            ):
                score = 0.7
        if score < 0.6 and asked and len(said.tokens) <= 4:
            from rapidfuzz.fuzz import ratio

            plain = " ".join(t.low for t in said.tokens if not is_stop(t.low))
            if plain and ratio(plain, str(choice).lower().replace("_", " ")) >= 75:
                score = 0.65
        if score >= 0.6 and (best is None or (score, len(parts), where) > (best[0], 0, best[1])):
            best = (score, where, choice)
    if best is not None:
        return best[2]
    return _typed_choice(slot, said, at) if best is None else None


def _typed_choice(slot: Slot, said: Utterance, at: Situation) -> Any | None:
    lower = {str(c).lower(): c for c in slot.choices}
    for mention in said.of(Kind.DATE):
        if isinstance(mention.value, moments.Day):
            name = moments.WEEKDAYS[mention.value.date.weekday()].lower()
            for form in (name, name[:3]):
                if form in lower and (mention.value.weekday or slot.required):
                    return lower[form]
    times = {moments.times_in(str(c))[0]: c for c in slot.choices if moments.times_in(str(c))}
    for mention in said.of(Kind.TIME):
        if times and isinstance(mention.value, moments.Clock):
            resolved = mention.value.resolved(tuple(times))
            if resolved in times:
                return times[resolved]
    for mention in said.of(Kind.NUMBER):
        if mention.value in slot.choices and slot.name in at.asked:
            return mention.value
        if str(mention.value) in lower and slot.name in at.asked:
            return lower[str(mention.value)]
    if slot.name in at.asked:
        picked = pick_of(said, len(slot.choices))
        if picked is not None:
            return slot.choices[picked]
    return None


_BLAND = frozenset(
    stem(w)
    for w in "is has have need needs want include includes with require requires should wants the a flag option".split()
)


def flag_of(slot: Slot, said: Utterance, at: Situation) -> bool | None:
    """Whether a flag was set by naming it or by answering, None if neither."""
    names = slot.name_stems - _BLAND
    stems = [stem(t.low) for t in said.tokens]
    where = -1
    if names:
        places = [max(((alike(n, w), k) for k, w in enumerate(stems)), default=(0.0, -1)) for n in names]
        if all(score >= 0.8 for score, _ in places):
            where = min(k for _, k in places)
        elif len(names) > 1 and max(places)[0] >= 0.8 and at.addressed:
            # Part of the name, if that part is not what every tool is about.
            score, k = max(places)
            where = k if score == 1.0 and not is_stop(said.tokens[k].low) and len(said.tokens[k].low) > 5 else -1
    if where >= 0:
        return not _negated(said, where)
    if slot.name in at.asked and (said.consents or said.polarity == "no"):
        return said.consents
    return None
