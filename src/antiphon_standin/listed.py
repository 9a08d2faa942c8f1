"""Things said one after the other: "apples, milk and two loaves of bread".

Below: `understand`, `slots`. Above: `freetext`.
"""

from __future__ import annotations

from antiphon_standin.slots import Slot, ToolView
from antiphon_standin.understand import Kind, Utterance
from antiphon_standin.words import act_phrases, is_stop, phrases, stem, thesaurus

_BEGINS = frozenset("need want like have get also plus too take with invite includes including add put".split())
_ENDS = frozenset(phrases("ends a list"))
_PARTICLES = frozenset("out off up away me us in".split())
_ARTICLES = frozenset("a an the some my our your any please also".split())


def listed(slot: Slot, tool: ToolView, said: Utterance) -> tuple[list[str], frozenset[int]] | None:
    """What a turn lists for a slot that takes several, with the tokens it takes; None if it lists nothing."""
    start = _start(slot, tool, said)
    if start is None:
        return None
    items: list[list[int]] = [[]]
    when = {k for m in said.mentions if m.kind is not Kind.NUMBER for k in range(m.start, m.end)}
    end = start
    for k in range(start, len(said.tokens)):
        token = said.tokens[k]
        if k in when or (token.low in _ENDS and items[-1]) or token.low in ("please", "thanks", "then"):
            break
        end = k + 1
        if token.low in ("and", "or", "plus"):
            items.append([])
        elif items[-1] or token.low not in (*_ARTICLES, *_PARTICLES):
            items[-1].append(k)
        if token.tail[:1] == ",":
            items.append([])
        elif token.tail[:1] in tuple(".?!;") and token.tail:
            break
    found = [ks for ks in items if any(not is_stop(said.tokens[k].low) for k in ks)]
    if not found or all(tool.vocabulary.get(stem(said.tokens[ks[-1]].low), 0) >= 0.5 for ks in found):
        return None
    return [" ".join(said.tokens[k].text for k in ks) for ks in found], frozenset(range(start, end))


def _start(slot: Slot, tool: ToolView, said: Utterance) -> int | None:
    """Where a list begins: behind the verb of the request, or behind "with" for those who come along."""
    lows = said.lows
    if not slot.required:
        begun = [k for k, low in enumerate(lows[:-1]) if low in ("with", "invite", "including") and k not in said.taken]
        people = begun and said.tokens[begun[-1] + 1].text[:1].isupper()
        return begun[-1] + 1 if begun and people else None
    acts, phrased = thesaurus().acts, act_phrases(said.tokens)
    own = {stem(token.low) for token in tool.own_words}
    for k, low in enumerate(lows[:-1]):
        verb = (stem(low),) in acts or low in _BEGINS or k in phrased or stem(low) in own
        if verb and k + 1 not in phrased and lows[k + 1] not in ("to", "you", "i", "like"):
            return k + 1
    if slot.name and any(token.tail[:1] == "," for token in said.tokens[:-1]) and not said.question:
        return 0
    return None
