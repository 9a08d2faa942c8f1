"""Whether a call would do a second time what is done already.

A correction after a write ("actually, make that a van") sounds like one before it, but a tool that writes cannot be
called again for it: there would be two orders. So the caller is asked first, unless they plainly want another one.
Above: `turns`, `courtesies`. Below: `memory`, `slots`, `understand`.
"""

from __future__ import annotations

from antiphon_standin.memory import Offer, State
from antiphon_standin.slots import ToolView
from antiphon_standin.understand import Kind, Utterance
from antiphon_standin.words import phrases, tokenize

COMMITS = frozenset("arrange obtain pay refund renew report notify transfer hold cancel".split())
"""Acts of which every call counts: twice is once too many."""
_VERBS = frozenset(phrases("verbs that commit"))
_MORE = frozenset(phrases("wants one more"))


def commits(tool: ToolView) -> bool:
    """True if calling the tool twice does its work twice. Setting a value twice does not."""
    if tool.reads or "change" in tool.acts or tool.ends_call:
        return False
    first = tokenize(tool.name.replace("_", " "))[:1]
    return bool(tool.acts & COMMITS) or bool(first and first[0].low in _VERBS)


def wants_more(said: Utterance) -> bool:
    """True for "another one", "also", "and a ..."."""
    return not _MORE.isdisjoint(said.lows) or (said.lows[:1] in (["and"], ["plus"]) and not said.correction)


def would_repeat(state: State, tool: ToolView, said: Utterance | None, *, requested: bool) -> bool:
    """True if the tool has done its work and the caller does not plainly ask for it to be done once more.

    `requested`: what was said asks for this tool by itself ("book a table for Sunday").
    """
    if tool.name not in state.spent or said is None or wants_more(said):
        return False
    if said.correction and "add" in tool.acts:
        return True  # another item may follow at any time, but a correction does not ask for one
    if not commits(tool):
        return False
    if said.correction:
        return True
    if any(s.kind in (Kind.THING, Kind.CODE) and s.name in state.revised(tool) for s in tool.required):
        return False  # the next thing, not the same once more
    if not said.wants_one and {"it", "that", "this"} & set(said.lows):
        requested = False  # "book it for five then": what is booked, at another time
    offered = state.offer is Offer.TOOL and state.offered_tool == tool.name
    return not requested and not offered and state.goal != tool.name
