"""The check of a value against a compiled schema, in counted steps.

Above: `compiling`, which makes the nodes and the rules in them. A check takes at most `MAX_STEPS` steps and then
refuses; a reference is followed with one value once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from antiphon.tools.arguments import Steps, identity
from antiphon.tools.patterns import Pattern

MAX_STEPS: Final = 50_000
"""Steps that one check may take: some 30 ms."""
MAX_FAILURES: Final = 10
"""More of what is wrong is not looked for."""
_MATCHED_IN_A_STEP: Final = 5_000
"""Characters, times the weight of the pattern."""
_COMPARED_IN_A_STEP: Final = 50
"""Characters of a value as JSON."""

Schema: TypeAlias = Mapping[str, Any]
Path: TypeAlias = "tuple[str | int, ...]"
Rule: TypeAlias = "Callable[[Any, Run], bool]"


@dataclass(slots=True, frozen=True)
class Failure:
    """What is wrong with a part of a value."""

    path: Path
    rule: str
    """The keyword that it breaks."""
    expected: Any
    """What stands behind the keyword."""
    value: Any
    schema: Schema
    """Where the keyword stands."""


class Enough(Exception):
    """As many failures are known as anybody wants to read."""


class Node:
    """A schema of the schema."""

    __slots__ = ("edges", "kinds", "rules")

    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.edges: list[Edge] = []
        """To what applies to the same value."""
        self.kinds: frozenset[str] | None = None
        """The types that it allows; None: any."""


class Edge:
    """From a schema to another that applies to the same value."""

    __slots__ = ("node",)

    def __init__(self, node: Node) -> None:
        self.node = node


ANY: Final = Node()
"""What every value fits."""


class Run:
    """One check of one value."""

    def __init__(self) -> None:
        self.failures: list[Failure] = []
        self.path: list[str | int] = []
        self.spend = Steps(MAX_STEPS).spend
        self._silent = 0
        self._known: dict[tuple[int, int], bool] = {}
        """By reference and value: references are the one way to the same question twice."""

    def holds(self, node: Node, value: Any) -> bool:
        """Whether `value` fits. Notes what does not, unless that is only tried."""
        self.spend(1 + len(node.rules))
        fits = True
        for rule in node.rules:
            if not rule(value, self):
                if self._silent:
                    return False
                fits = False
        return fits

    def at(self, place: str | int, node: Node, value: Any) -> bool:
        """The same for a part of the value that is looked at."""
        self.path.append(place)
        fits = self.holds(node, value)
        self.path.pop()
        return fits

    def would_hold(self, node: Node, value: Any) -> bool:
        """Whether `value` fits; nothing is noted."""
        self._silent += 1
        fits = self.holds(node, value)
        self._silent -= 1
        return fits

    def refer(self, edge: Edge, value: Any) -> bool:
        """Whether `value` fits what a reference leads to."""
        key = (id(edge.node), id(value))
        known = self._known.get(key)
        if known or (known is False and self._silent):
            return known
        fits = self._known[key] = self.holds(edge.node, value)
        return fits

    def identity(self, value: Any) -> str:
        """The same text for equal values only."""
        text = identity(value)
        self.spend(len(text) // _COMPARED_IN_A_STEP)
        return text

    def matches(self, pattern: Pattern, text: str) -> bool:
        """Whether a part of `text` fits."""
        self.spend(len(text) * pattern.weight // _MATCHED_IN_A_STEP)
        return pattern.matches(text)

    def fail(self, rule: str, value: Any, schema: Schema) -> bool:
        """Note that `value` breaks a rule. Always False."""
        if not self._silent:
            self.failures.append(Failure(tuple(self.path), rule, schema.get(rule), value, schema))
            if len(self.failures) >= MAX_FAILURES:
                raise Enough
        return False
