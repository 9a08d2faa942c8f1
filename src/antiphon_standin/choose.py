"""Which tool an utterance asks for, if any.

A tool is matched by what it does (acts: "cancel" against "call off"), by the words it shares with the utterance, and by
whether it has slots for the values that were said. The score is a sum of these; `aim` weighs it against the course of
the conversation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from antiphon_standin.opposites import agrees, contrary
from antiphon_standin.situation import Fill
from antiphon_standin.slots import SPECIFIC, ToolView
from antiphon_standin.understand import Kind, Utterance, in_address
from antiphon_standin.words import acts_of, alike, thesaurus, tokenize


@dataclass(slots=True, frozen=True)
class Match:
    """How well a tool fits an utterance."""

    tool: ToolView
    act: float
    """By what is to be done."""
    words: float
    """By shared topic words, rarer ones weighing more."""
    values: float
    """By slots for the values said."""
    coverage: float = 0.0
    """The part of the utterance's topic words that the tool speaks of."""

    @property
    def total(self) -> float:
        """The sum."""
        return self.act + self.words + self.values

    @property
    def asked_for(self) -> bool:
        """True if the utterance asks for this tool by itself, without help from the conversation before."""
        return (
            self.act >= 1.0
            or (self.act >= 0.8 and self.words > 0)
            or (self.words >= 0.9 and self.act >= 0)
            or (self.words >= 0.55 and self.act >= 0 and self.coverage >= 0.5)
            or (self.words >= 0.5 and self.act > 0)
        )


_VAGUE = frozenset({"check", "retrieve", "obtain"})
_TYPED = (Kind.DATE, Kind.TIME, Kind.PERSON, Kind.EMAIL, Kind.PHONE, Kind.CODE, Kind.NUMBER)


def match(tools: Sequence[ToolView], said: Utterance, new: Mapping[str, Mapping[str, Fill]]) -> list[Match]:
    """All tools with their scores, best first. `new` holds what the utterance fills in each tool."""
    found = [
        _match(tool, tools, said, new.get(tool.name, {}))
        for tool in tools
        if not tool.ends_call and not forbidden(tool, said)
    ]
    found.sort(key=lambda m: -m.total)
    return found


def forbidden(tool: ToolView, said: Utterance) -> bool:
    """True if a turn can never be what makes this tool run: it asks for the opposite, or only to be told something."""
    if tool.reads:
        return False
    return (
        said.inquires or contrary(said.tokens, tool.own_words) or (_begins_with_cancelling(said) and not _undoes(tool))
    )


def _begins_with_cancelling(said: Utterance) -> bool:
    """True for a request that begins with "cancel", "delete" or their like."""
    rest = [token for token in said.tokens if token.low not in _OPENINGS]
    return acts_of(rest[:1]) == {"cancel"} or acts_of(rest[:2]) == {"cancel"} == acts_of(rest[1:2])


_OPENINGS = frozenset(
    "please and also but so now then okay ok yes no can could would you i want need to like i'd".split()
)


def _undoes(tool: ToolView) -> bool:
    return bool(tool.wide_acts & {"cancel", "refund", "change", "transfer"}) or agrees(
        tokenize("remove"), tool.own_words
    )


def _match(tool: ToolView, tools: Sequence[ToolView], said: Utterance, new: Mapping[str, Fill]) -> Match:
    typed = {m.kind for m in said.mentions if m.kind in _TYPED and m.strong}
    kinds = {slot.kind for slot in tool.slots}
    values = sum(0.3 if kind in kinds else -0.3 for kind in typed)
    values += 0.3 * sum(
        1 for name in new if (slot := tool.slot(name)) is not None and slot.kind in (Kind.CHOICE, Kind.FLAG)
    )
    places = [name for name in new if (slot := tool.slot(name)) is not None and slot.kind is Kind.PLACE]
    values += 0.5 * len(places) if len(places) > 1 else 0.0
    if any(low.isdigit() and in_address(said.tokens, k) for k, low in enumerate(said.lows)):
        values += 0.8 if Kind.PLACE in kinds else -0.4
    if tool.fallback:
        values -= 0.8
    words = _words(tool, tools, said)
    act = _act(tool, said)
    if tool.reads and any(tool.vocabulary.get(topic, 0.0) >= 0.9 for topic in said.topics):
        words, act = words + 1.2, max(act, 1.2)  # "where are you?" for "give the address"
    elif said.topics and any(t.vocabulary.get(one, 0.0) >= 0.9 for t in tools if t.reads for one in said.topics):
        act = min(act, 0.8)
    if said.acts <= {"retrieve", "obtain"} and said.wish and words > 0 and tool.acts & {"arrange", "obtain"}:
        act = max(act, 1.5)
    elif said.wants_one and not said.acts & SPECIFIC and tool.acts & {"arrange", "obtain"}:
        # A thing that no tool names: it must be what the only tool that provides things is for.
        if sum(1 for other in tools if other.acts & {"arrange", "obtain"}) == 1:
            act = max(act, 1.2)  # "I'd like a ...": wanting the thing is asking for what provides it
    topics = [w for w in said.content if (w,) not in thesaurus().acts]
    free = any(slot.kind in (Kind.THING, Kind.PLACE, Kind.NOTE) for slot in tool.slots)
    if (
        topics
        and not said.wants_one
        and said.acts <= _VAGUE
        and not free
        and not new
        and not any(_weight(tool, w) > 0 for w in topics)
    ):
        act *= 0.3  # "do you have parking": asks for something, but for nothing that this tool is about
    kin = thesaurus().kin
    others = [
        t for t in tools if t is not tool and any(a in t.acts or (a, b) in kin for a in said.acts for b in t.acts)
    ]
    if topics and act > 0.8 and not any(_weight(tool, w) > 0 for w in topics) and any(
            _weight(t, w) >= 0.9 for t in others for w in topics):  # fmt: skip
        act *= 0.4  # "order a ...": what is named is another tool's matter
    if any(slot.kind is Kind.THING and slot.required for slot in tool.slots) and _has_foreign(tools, said):
        values += 0.5
    covered = sum(1 for word in said.content if _weight(tool, word) > 0)
    return Match(tool, act, words, values, covered / len(said.content) if said.content else 0.0)


def _has_foreign(tools: Sequence[ToolView], said: Utterance) -> bool:
    """True if there are topic words that no tool speaks of: they may be a value themselves."""
    return any(all(_weight(tool, word) <= 0 for tool in tools) for word in said.content)


def _act(tool: ToolView, said: Utterance) -> float:
    acts = said.acts
    if not tool.reads and agrees(said.tokens, tool.own_words):
        return 2.5
    if not acts:
        return 0.0
    kin = thesaurus().kin
    wants, looking_up = acts & SPECIFIC or acts, said.inquires and tool.reads
    if acts & tool.acts:
        score = 2.5 if wants & tool.acts else 1.2
    elif wants & tool.wide_acts:
        score = 1.2
    elif any((a, b) in kin for a in wants for b in tool.acts):
        score = 0.8
    else:
        score = 0.0
    if acts & SPECIFIC and not (acts & SPECIFIC & tool.wide_acts) and score < 0.8 and not looking_up:
        score -= 2.0
    return score


def _words(tool: ToolView, tools: Sequence[ToolView], said: Utterance) -> float:
    total = 0.0
    content = set(said.content)
    for word in content:
        near = _weight(tool, word)
        if near <= 0:
            continue
        share = sum(1 for other in tools if _weight(other, word) > 0) / len(tools)
        rarity = 1.0 if len(tools) == 1 else 1.15 - 0.85 * share
        total += near * rarity
    return min(total, 2.5)


def _weight(tool: ToolView, word: str) -> float:
    exact = tool.vocabulary.get(word)
    if exact is not None:
        return exact
    return max(
        (weight * (near - 0.2) for own, weight in tool.vocabulary.items() if (near := alike(word, own)) > 0),
        default=0.0,
    )
