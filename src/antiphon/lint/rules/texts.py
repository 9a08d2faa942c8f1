"""Rules on what the model reads of a tool: its description, and its parameters.

Above: the table. Below: words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from antiphon.lint.description import AgentView, Parameter, ToolView
from antiphon.lint.rules.spot import Asked, Level, Spot
from antiphon.lint.words import EXAMPLE, FORMATTED, VAGUE, is_echo, is_generic, parts_of, stem


def unusable_tool(agent: AgentView, asked: Asked) -> Iterator[Spot]:
    """No model can be offered it."""
    for tool in agent.tools:
        if tool.problem:
            yield Spot(tool.problem, tool, mend="Do what it says.")


def no_description(agent: AgentView, asked: Asked) -> Iterator[Spot]:
    """The model is told nothing but a name."""
    for tool in agent.tools:
        if tool.is_own and not tool.problem and not tool.description.strip():
            yield Spot(f"{tool.name} has no description", tool)


def vague_description(agent: AgentView, asked: Asked) -> Iterator[Spot]:
    """A description that would fit any tool."""
    for tool in agent.tools:
        text = tool.description.strip()
        if not tool.is_own or not text:
            continue
        if is_generic(text):
            yield Spot(f'{tool.name}: "{text}" fits any tool: it says neither what it does nor when to call it', tool)
        elif is_echo(text, tool.name):
            yield Spot(f'{tool.name}: "{text}" says no more than its name', tool, level="advice")


def undocumented_parameter(agent: AgentView, asked: Asked) -> Iterator[Spot]:
    """A parameter of which the model has nothing but the name."""
    for tool, parameter in _parameters(agent):
        if parameter.description or parameter.kind == "boolean" or parameter.values or _is_told(tool, parameter):
            continue
        if not _elsewhere(agent, parameter):
            is_telling = len(parameter.name) > 2 and parts_of(parameter.name)[-1] not in VAGUE
            level: Level | None = "advice" if is_telling else None
            yield Spot(f"{tool.name}: nothing says what {parameter.name} is", tool, level=level)


def undocumented_format(agent: AgentView, asked: Asked) -> Iterator[Spot]:
    """A text whose format no type can say, and no words do."""
    for tool, parameter in _parameters(agent):
        if parameter.kind != "string" or parameter.values or parameter.schema.get("pattern"):
            continue
        if not parts_of(parameter.name) or parts_of(parameter.name)[-1] not in FORMATTED:
            continue
        if parameter.schema.get("format") or EXAMPLE.search(parameter.description):
            continue
        if EXAMPLE.search(tool.description) and _is_told(tool, parameter):
            continue
        if not _elsewhere(agent, parameter, in_format=True):
            yield Spot(f"{tool.name}: nothing says in which format {parameter.name} is to be given", tool)


def values_only_in_type(agent: AgentView, asked: Asked) -> Iterator[Spot]:
    """Values, or limits, that the type allows and no words name."""
    for tool, parameter in _parameters(agent):
        said = f"{tool.description} {parameter.description}".lower()
        words = re.sub(r"[_\-]", " ", said)
        unsaid = [one for one in parameter.values if not _names(one, said) and not _names(one, words)]
        if unsaid:
            listed = ", ".join(unsaid[:5]) + (", ..." if len(unsaid) > 5 else "")
            yield Spot(f"{tool.name}: {parameter.name} may be {listed}, which only its type says", tool)
        bounds = [
            one for one in parameter.bounds if one != "0" and not re.search(rf"(?<!\d){re.escape(one)}(?!\d)", said)
        ]
        if bounds:
            yield Spot(f"{tool.name}: {parameter.name} has a limit of {bounds[0]}, which only its type says", tool)


def _parameters(agent: AgentView) -> Iterator[tuple[ToolView, Parameter]]:
    for tool in agent.tools:
        if tool.is_own:
            yield from ((tool, parameter) for parameter in tool.parameters if not parameter.name.startswith("_"))


def _is_told(tool: ToolView, parameter: Parameter) -> bool:
    """The description of the tool has a word of its name."""
    said = {stem(word) for word in re.findall(r"[a-z]+", tool.description.lower())}
    return any(stem(part) in said for part in parts_of(parameter.name))


def _elsewhere(agent: AgentView, parameter: Parameter, *, in_format: bool = False) -> bool:
    """Another tool of the agent documents a parameter of this name: the model reads both."""
    return any(
        bool(EXAMPLE.search(other.description) if in_format else other.description)
        for tool in agent.tools
        for other in tool.parameters
        if other.name == parameter.name and other.kind == parameter.kind
    )


def _names(value: str, text: str) -> bool:
    wanted = re.sub(r"[_\-]", " ", value.lower())
    return value.lower() in text or wanted in text
