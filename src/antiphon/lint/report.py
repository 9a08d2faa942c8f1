"""What was found, for people and as data: agents with what they cost, tools with what they promise, findings.

Above: `antiphon lint`. Below: descriptions and findings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from antiphon.lint.checking import Finding
from antiphon.lint.description import AgentView, ToolView


def as_lines(agents: Sequence[AgentView], findings: Sequence[Finding]) -> list[str]:
    """As people read it."""
    lines: list[str] = []
    for agent in agents:
        lines.append(
            f"{agent.name} ({agent.place}): instructions {agent.instruction_tokens} tokens,"
            f" {_count(len(agent.tools), 'tool')} {agent.tool_tokens} tokens of each request, as estimated"
        )
        width = max((len(tool.name) for tool in agent.tools), default=0)
        lines += [f"  {tool.name:<{width}}  {tool.tokens:>4} tokens  {_promise(tool)}" for tool in agent.tools]
        lines += [f"  not looked at: {one}" for one in agent.unseen]
    for finding in findings:
        lines += ["", str(finding), f"  {finding.why}", f"  {finding.mend}"]
    return [*lines, "", _sum(findings)]


def as_json(agents: Sequence[AgentView], findings: Sequence[Finding]) -> dict[str, Any]:
    """As data."""
    return {
        "agents": [
            {
                "name": agent.name,
                "file": agent.place.file,
                "line": agent.place.line,
                "instruction_tokens": agent.instruction_tokens,
                "tool_tokens": agent.tool_tokens,
                "not_looked_at": list(agent.unseen),
                "tools": [
                    {
                        "name": tool.name,
                        "file": tool.place.file,
                        "line": tool.place.line,
                        "tokens": tool.tokens,
                        "effect": tool.options.effect,
                        "guarantee": tool.guarantee,
                        "guarantee_with_transactions": tool.best_guarantee,
                    }
                    for tool in agent.tools
                ],
            }
            for agent in agents
        ],
        "findings": [finding.to_json() for finding in findings],
    }


def _promise(tool: ToolView) -> str:
    if tool.guarantee is None:
        return {"reads": "reads", "unsaid": "does not say what it does"}[tool.options.effect]
    better = f" ({tool.best_guarantee} with --store postgresql://...)" if tool.best_guarantee != tool.guarantee else ""
    return f"{tool.options.effect}, {tool.guarantee}{better}"


def _sum(findings: Sequence[Finding]) -> str:
    counts = {level: sum(one.level == level for one in findings) for level in ("error", "warning", "advice")}
    if not findings:
        return "Nothing found."
    return f"{_count(counts['error'], 'error')}, {_count(counts['warning'], 'warning')}, {counts['advice']} of advice"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
