"""Rules on what keeps every call of the process waiting.

Above: the table. Below: what the source of tools and hooks shows.
"""

from __future__ import annotations

from collections.abc import Iterator

from antiphon.lint.description import AgentView
from antiphon.lint.rules.results import sources
from antiphon.lint.rules.spot import Asked, Spot


def blocking_call(agent: AgentView, asked: Asked) -> Iterator[Spot]:
    """A call in a coroutine function that keeps the event loop waiting."""
    for tool, code in sources(agent):
        for seen in code.blocking:
            yield Spot(f"{tool.name}: {seen.what} blocks the event loop", tool, seen.place, mend=seen.remedy)
    for hook in agent.hooks:
        for seen in hook.blocking:
            yield Spot(f"{hook.name}: {seen.what} blocks the event loop", None, seen.place, mend=seen.remedy)
