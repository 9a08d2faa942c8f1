"""Rules on what a tool answers: its results, and its errors.

Above: the table. Below: what the source of a tool shows.
"""

from __future__ import annotations

from collections.abc import Iterator

from antiphon.lint.description import AgentView, Code, ToolView
from antiphon.lint.rules.spot import Asked, Spot


def raw_payload(agent: AgentView, asked: Asked) -> Iterator[Spot]:
    """Data as a program has it, for a model to read aloud."""
    for tool, code in sources(agent):
        for seen in code.payloads:
            yield Spot(f"{tool.name} returns {seen.what}", tool, seen.place)


def opaque_id(agent: AgentView, asked: Asked) -> Iterator[Spot]:
    """An id that nobody can say."""
    for tool, code in sources(agent):
        for seen in code.ids:
            yield Spot(f"{tool.name} returns {seen.what}", tool, seen.place)


def untold_error(agent: AgentView, asked: Asked) -> Iterator[Spot]:
    """An exception that the model is told nothing of."""
    for tool, code in sources(agent):
        for seen in code.raises:
            yield Spot(f'{tool.name} raises {seen.what}: the model hears of "an internal error"', tool, seen.place)


def bare_error(agent: AgentView, asked: Asked) -> Iterator[Spot]:
    """A `ToolError` without a word on what to do."""
    for tool, code in sources(agent):
        for seen in code.bare_errors:
            yield Spot(
                f"{tool.name} raises {seen.what}, which says neither what is wrong nor what helps", tool, seen.place
            )


def sources(agent: AgentView) -> Iterator[tuple[ToolView, Code]]:
    """The tools whose source can be read."""
    return ((tool, tool.code) for tool in agent.tools if tool.code is not None)
