"""Rules on what the agent is told: that what it names is there, and what it costs.

Above: the table. Below: words.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from antiphon.lint.description import NO_AGENT, AgentView
from antiphon.lint.rules.spot import Asked, Spot

MOST_TOKENS = 4_000
"""Of instructions and tools, in each request."""

_SNAKE = re.compile(r"(?<![\w{./@-])([a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?![\w}/@-])")
_CALLED = re.compile(
    r"(?:\b(?:use|call|calling|using|invoke|run|via|tool|tools|function|with|to)\s+(?:the\s+)?[`'\"]?)$", re.I
)
_FOLLOWED = re.compile(r"^[`'\"]?(?:\(|\s+(?:tool|function|to\b))", re.I)
NEAR = 0.8
"""From this likeness on, a name is a tool's, misspelt."""


def absent_tool(agent: AgentView, asked: Asked) -> Iterator[Spot]:
    """Instructions, or a description, that name a tool which is not there."""
    if agent.name == NO_AGENT:
        return
    names = {tool.name for tool in agent.tools}
    known = names | {
        word for tool in agent.tools for one in tool.parameters for word in (one.name, *map(str, one.values))
    }
    for found in _named(agent.instructions, known, names, is_whole=not agent.unseen):
        yield Spot(f"the instructions name {found}, which is none of its tools{_meant(found, names)}")
    for tool in agent.tools:
        if tool.is_own:
            for found in _named(tool.description, known, names, is_whole=not agent.unseen):
                text = f"the description of {tool.name} names {found}, which is no tool beside it{_meant(found, names)}"
                yield Spot(text, tool)


def dear_prompt(agent: AgentView, asked: Asked) -> Iterator[Spot]:
    """Instructions and tools that cost every answer time and money."""
    tokens = agent.instruction_tokens + agent.tool_tokens
    if tokens > MOST_TOKENS and agent.name != NO_AGENT:
        yield Spot(
            f"instructions ({agent.instruction_tokens} tokens) and tools ({agent.tool_tokens}) are about {tokens}"
            f" tokens of each request, expected {MOST_TOKENS} at most"
        )


def _named(text: str, known: set[str], tools: set[str], *, is_whole: bool) -> Iterator[str]:
    """Names in a text that stand where a tool's would. If not all tools are known: only misspelt ones."""
    told: set[str] = set()
    for match in _SNAKE.finditer(text):
        name = match[1]
        if name in known or name in told:
            continue
        before, after = text[: match.start()], text[match.end() :]
        is_called = bool(_CALLED.search(before) or _FOLLOWED.match(after))
        if (is_whole and is_called) or difflib.get_close_matches(name, tools, 1, NEAR):
            told.add(name)
            yield name


def _meant(name: str, tools: set[str]) -> str:
    close = difflib.get_close_matches(name, tools, 1, NEAR)
    return f". Is {close[0]} meant?" if close else ""
