"""Rules on tools that change the world: what they say of it, what makes a wish, what stands before.

A tool counts as one that writes if its author says so; if nobody says it, by its name, and only where its source calls
something outside the session. Above: the table. Below: words, and what the source of a tool shows.
"""

from __future__ import annotations

from collections.abc import Iterator

from antiphon.lint.description import AgentView, ToolView
from antiphon.lint.rules.spot import Asked, Level, Spot
from antiphon.lint.words import FREE_TEXT, GRAVE, parts_of, verb_of


def write_without_effect(agent: AgentView, asked: Asked) -> Iterator[Spot]:
    """A tool that changes the world, and does not say so."""
    for tool in agent.tools:
        if tool.options.effect != "unsaid" or not _writes_by_name(tool):
            continue
        # LiveKit's decorator cannot say it. Who holds interruptions off, or has the model ask first, knows what it is.
        guarded = tool.code is not None and (tool.code.shields or tool.code.has_gate)
        level: Level | None = "advice" if agent.dialect == "livekit" or guarded else None
        yield Spot(f"{tool.name} does not say that it writes: of it nothing is promised", tool, level=level)


def reads_that_write(agent: AgentView, asked: Asked) -> Iterator[Spot]:
    """A tool that says that it reads, and changes the world: it is cancelled, and tried again."""
    for tool in agent.tools:
        if tool.options.effect != "reads" or not tool.is_own:
            continue
        if _writes_by_name(tool):
            yield Spot(f'{tool.name} says effect="reads", and "{verb_of(tool.name)}" changes something', tool)
        elif tool.code is not None and tool.code.sends:
            seen = tool.code.sends[0]
            yield Spot(f'{tool.name} says effect="reads", and sends {seen.what}', tool, seen.place, "warning")


def write_without_identity(agent: AgentView, asked: Asked) -> Iterator[Spot]:
    """A write with a text that a model words anew each time: the same wish looks like another."""
    for tool in agent.tools:
        if not tool.options.writes or not tool.is_own or tool.options.identity is not None or tool.options.idempotent:
            continue
        free = [one.name for one in tool.parameters if one.kind == "string" and not one.values and _is_free(one.name)]
        others = [one.name for one in tool.parameters if one.name not in free]
        if free and others:
            yield Spot(
                f"{tool.name}: called again with another {free[0]}, it is another wish, and done twice",
                tool,
                mend=f"Say which parameters make the wish: identity=({', '.join(repr(name) for name in others)},).",
            )


def write_without_limit(agent: AgentView, asked: Asked) -> Iterator[Spot]:
    """A write that may hang for a minute, and is unknown then."""
    for tool in agent.tools:
        if tool.options.writes and tool.options.timeout is None and tool.code is not None:
            if tool.code.reaches_out and not tool.code.has_timeout:
                yield Spot(f"{tool.name} waits up to 60 s for its backend, and then nobody knows what it did", tool)


def grave_without_consent(agent: AgentView, asked: Asked) -> Iterator[Spot]:
    """What costs money, or cannot be taken back, is done without asking."""
    for tool in agent.tools:
        options = tool.options
        if verb_of(tool.name) not in GRAVE or options.effect == "reads" or not _writes_by_name(tool):
            continue
        if options.asks_first or options.approve is not None or (tool.code is not None and tool.code.has_gate):
            continue
        yield Spot(f'{tool.name}: nobody is asked before it, and "{verb_of(tool.name)}" is not to be taken back', tool)


def _writes_by_name(tool: ToolView) -> bool:
    if not tool.is_own or not verb_of(tool.name):
        return False
    return tool.options.writes or (tool.code is not None and tool.code.reaches_out)


def _is_free(name: str) -> bool:
    parts = parts_of(name)
    return bool(parts) and parts[-1] in FREE_TEXT
