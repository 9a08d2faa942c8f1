"""What the rules find in agents, without what was to be left out.

Above: `antiphon lint`, tests of users. Below: the table of rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from antiphon.lint.description import AgentView, Place, ToolView
from antiphon.lint.rules.spot import Asked, Level, Spot
from antiphon.lint.source import ignored_in
from antiphon.lint.table import RULES, Rule


@dataclass(slots=True, frozen=True)
class Finding:
    """Something that a rule found."""

    rule: str
    level: Level
    agent: str
    tool: str
    """The name of the tool; "": it is the agent's."""
    place: Place
    what: str
    why: str
    mend: str

    @property
    def counts(self) -> bool:
        """It makes the command fail: it is more than advice."""
        return self.level != "advice"

    def __str__(self) -> str:
        return f"{self.place}: {self.level}: {self.what} [{self.rule}]"

    def to_json(self) -> dict[str, Any]:
        """As data."""
        return {
            "rule": self.rule,
            "level": self.level,
            "agent": self.agent,
            "tool": self.tool or None,
            "file": self.place.file,
            "line": self.place.line,
            "what": self.what,
            "why": self.why,
            "mend": self.mend,
        }


def check(agents: Iterable[AgentView], asked: Asked | None = None) -> list[Finding]:
    """All findings, the gravest rules first. What several agents share is told once."""
    asked = asked or Asked()
    found: dict[tuple[str, Place, str], Finding] = {}
    agents = list(agents)
    for rule in RULES:
        if rule.name in asked.ignored:
            continue
        for agent in agents:
            for spot in rule.check(agent, asked):
                if not _is_ignored(rule, agent, spot):
                    finding = _finding(rule, agent, spot)
                    found.setdefault((finding.rule, finding.place, finding.what), finding)
    return list(found.values())


def _finding(rule: Rule, agent: AgentView, spot: Spot) -> Finding:
    place = spot.place or (agent.place if spot.tool is None else _place_of(spot.tool, agent))
    name = "" if spot.tool is None else spot.tool.name
    return Finding(
        rule.name, spot.level or rule.level, agent.name, name, place, spot.what, rule.why, spot.mend or rule.mend
    )


def _place_of(tool: ToolView, agent: AgentView) -> Place:
    return tool.place if tool.place.file else agent.place


def _is_ignored(rule: Rule, agent: AgentView, spot: Spot) -> bool:
    """By a comment at the tool, at the agent (what is the agent's), or on the very line."""
    ignored = agent.ignores if spot.tool is None else spot.tool.ignores
    if spot.place is not None:
        ignored |= _on_line(spot.place)
    return bool(ignored & {rule.name, "*"})


def _on_line(place: Place) -> frozenset[str]:
    try:
        lines = Path(place.file).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return frozenset()
    return ignored_in(lines[place.line - 1]) if 0 < place.line <= len(lines) else frozenset()
