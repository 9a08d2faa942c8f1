"""Rules on the tools of an agent together: how many, how alike, what of a kind.

Above: the table. Below: words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

from antiphon.lint.description import NO_AGENT, AgentView, ToolView
from antiphon.lint.rules.spot import Asked, Spot
from antiphon.lint.words import READING, WHEN, content_of, parts_of, stem

MOST_TOOLS = 10
TOO_MANY = 20
ALIKE = 0.75
"""The share of words in common from which on two descriptions are one."""
_LISTING = ("list", "all", "dump")
_ENDPOINT_WORDS = frozenset({"api", "endpoint", "crud", "http", "put", "patch", "rest", "graphql"})
_VERSION = re.compile(r"v\d+")
_ENDPOINT_PARAMETERS = frozenset({"method", "path", "url", "endpoint", "body", "payload", "headers"})
_JOINING = frozenset({"by", "with", "from", "for", "via", "using", "per"})


def too_many_tools(agent: AgentView, asked: Asked) -> Iterator[Spot]:
    """More tools than a model chooses among reliably."""
    count = len(agent.tools)
    if count > MOST_TOOLS and agent.name != NO_AGENT:
        worse = f"; past {TOO_MANY} a model often takes the wrong one" if count > TOO_MANY else ""
        yield Spot(f"{count} tools, expected {MOST_TOOLS} at most{worse}")


def unfiltered_server(agent: AgentView, asked: Asked) -> Iterator[Spot]:
    """A server whose tools nobody has chosen among."""
    for server in agent.servers:
        if not server.is_filtered:
            yield Spot(f"all tools of the server {server.id!r} are offered, however many it has")


def similar_names(agent: AgentView, asked: Asked) -> Iterator[Spot]:
    """Two tools whose names say the same."""
    for one, other in _pairs(agent):
        if why := _same_name(one.name, other.name):
            yield Spot(f"{one.name} and {other.name} {why}", other)


def similar_descriptions(agent: AgentView, asked: Asked) -> Iterator[Spot]:
    """Two tools whose descriptions say the same."""
    for one, other in _pairs(agent):
        mine, theirs = content_of(one.description), content_of(other.description)
        if min(len(mine), len(theirs)) < 3:
            continue
        if len(mine & theirs) / len(mine | theirs) >= ALIKE:
            yield Spot(f"{one.name} and {other.name} are described in nearly the same words", other)


def no_boundary(agent: AgentView, asked: Asked) -> Iterator[Spot]:
    """Two tools for the same things, and nothing says which when."""
    for one, other in _pairs(agent):
        if _same_name(one.name, other.name) or not _near(one.name, other.name):
            continue
        if not any(_draws_a_line(tool, by) for tool, by in ((one, other), (other, one))):
            yield Spot(f"nothing says when to call {other.name}, and when {one.name}", other)


def no_when(agent: AgentView, asked: Asked) -> Iterator[Spot]:
    """In a long list, a description that does not say when to call."""
    if len(agent.tools) <= MOST_TOOLS // 2 or agent.name == NO_AGENT:
        return
    for tool in agent.tools:
        if tool.is_own and tool.description and not WHEN.search(tool.description):
            yield Spot(f"{tool.name}, one of {len(agent.tools)} tools, does not say when to call it, or when not", tool)


def endpoint_not_action(agent: AgentView, asked: Asked) -> Iterator[Spot]:
    """A tool that hands the model an endpoint, or a whole list."""
    for tool in agent.tools:
        if not tool.is_own:
            continue
        parts, names = parts_of(tool.name), {one.name for one in tool.parameters}
        if not names and len(parts) > 1 and any(word in parts[:2] for word in _LISTING):
            yield Spot(f"{tool.name} takes nothing that narrows it: the model gets the whole list to read", tool)
        elif "all" in parts[1:2] and parts[0] in READING:
            yield Spot(f"{tool.name} gives everything there is", tool)
        elif found := [part for part in parts if part in _ENDPOINT_WORDS or _VERSION.fullmatch(part)]:
            yield Spot(f"{tool.name} is named after an interface ({found[0]}), not after what it does", tool)
        elif len(found := sorted(names & _ENDPOINT_PARAMETERS)) > 1:
            yield Spot(f"{tool.name} has the model write a request ({', '.join(found)})", tool)


def _pairs(agent: AgentView) -> Iterator[tuple[ToolView, ToolView]]:
    return combinations([tool for tool in agent.tools if tool.is_own], 2)


def _same_name(one: str, other: str) -> str:
    """Why two names say the same; "": they do not."""
    mine, theirs = _things(one), _things(other)
    if one == other:
        return ""
    if mine == theirs:
        return "differ in nothing but an ending"
    if sorted(mine) == sorted(theirs):
        return "have the same words in another order"
    if mine[1:] == theirs[1:] and mine[1:] and {mine[0], theirs[0]} <= READING:
        return f'differ only in "{mine[0]}" and "{theirs[0]}", which mean the same'
    head = next((n for n, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), min(len(mine), len(theirs)))
    if head > 1 and mine[head - 1] in _JOINING and len(mine) > head and len(theirs) > head:
        return "do the same thing, found in two ways"
    return ""


def _things(name: str) -> tuple[str, ...]:
    return tuple(stem(part) for part in parts_of(name))


def _near(one: str, other: str) -> bool:
    """The same verb, or two that read, and the things of one are among those of the other."""
    mine, theirs = _things(one), _things(other)
    if len(mine) < 2 or len(theirs) < 2 or not (mine[0] == theirs[0] or {mine[0], theirs[0]} <= READING):
        return False
    few, many = sorted((set(mine[1:]), set(theirs[1:])), key=len)
    return few <= many


def _draws_a_line(tool: ToolView, other: ToolView) -> bool:
    return bool(WHEN.search(tool.description)) or other.name in tool.description
