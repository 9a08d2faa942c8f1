"""A JSON schema compiled to rules, once, in time that grows with its size.

Above: `raw`, the tools that bring a schema of their own. Below: `checking`, which applies the rules, and `patterns`. A
schema may come from a stranger: nothing is fetched, references that lead nowhere or in a circle are cut, and what
cannot be checked is left out, with the reason in words (`Compiled.unchecked`).

A schema is taken to be well formed (`wellformed`): no keyword has a value of another kind than it should.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from antiphon.tools.arguments import identity
from antiphon.tools.checking import ANY, Edge, Enough, Failure, Node, Rule, Run, Schema
from antiphon.tools.patterns import NotLinear, Pattern, compile_pattern

_MAX_CHAIN: Final = 64
"""References and combinations that may apply to one value, one inside the other."""
_MAX_PATTERN_WEIGHT: Final = 10_000
"""Of all patterns of a schema together: 150 ms to compile."""


class Compiled:
    """A schema, ready to check values. Compiling takes time in proportion to the size of the schema."""

    def __init__(self, schema: Schema) -> None:
        compiler = _Compiler(schema)
        self._root = compiler.compile()
        self.unchecked: tuple[str, ...] = tuple(dict.fromkeys(compiler.unchecked))
        """What is not checked, and why."""

    def failures(self, value: Any) -> list[Failure]:
        """What is wrong with `value`, the first `MAX_FAILURES` things. Raises `TooMuch`."""
        run = Run()
        try:
            if not run.holds(self._root, value) and not run.failures:
                raise AssertionError("a check failed without saying why")
        except Enough:
            pass
        return run.failures


class _Compiler:
    def __init__(self, root: Schema) -> None:
        self._root = root
        self._nodes: dict[int, Node] = {}
        self._todo: list[tuple[Schema, Node]] = []
        self._patterns: dict[str, Pattern | None] = {}
        self._weight = 0
        self.unchecked: list[str] = []

    def compile(self) -> Node:
        root = self.node(self._root)
        while self._todo:
            schema, node = self._todo.pop()
            self._fill(schema, node)
        if _cut_circles(self._nodes.values()):
            self.unchecked.append("a reference (it leads back to itself, or over too many others)")
        return root

    def node(self, schema: Any) -> Node:
        """The node of a schema, to be filled later: each is compiled once, however many refer to it."""
        if not isinstance(schema, Mapping):
            return ANY if schema is not False else self.node(_NEVER)
        node = self._nodes.get(id(schema))
        if node is None:
            node = self._nodes[id(schema)] = Node()
            self._todo.append((schema, node))
        return node

    def edge(self, owner: Node, schema: Any) -> Edge:
        """To a schema that applies to the same value as `owner`."""
        edge = Edge(self.node(schema))
        owner.edges.append(edge)
        return edge

    def pattern(self, text: str) -> Pattern | None:
        """None if it cannot be checked; said once."""
        if text not in self._patterns:
            try:
                pattern = compile_pattern(text)
                self._weight += pattern.weight
                if self._weight > _MAX_PATTERN_WEIGHT:
                    raise NotLinear("there are too many patterns")
                self._patterns[text] = pattern
            except NotLinear as error:
                self._patterns[text] = None
                self.unchecked.append(f"the pattern {text[:80]!r} ({error})")
        return self._patterns[text]

    def target(self, reference: str) -> Any:
        """What a reference inside the schema leads to; True, with a word, if that is nothing."""
        found: Any = self._root
        if reference not in ("#", ""):
            parts = reference[2:].split("/") if reference.startswith("#/") else [None]
            for part in parts:
                found = _member(found, part)
        if isinstance(found, (Mapping, bool)):
            return found
        self.unchecked.append(f"the reference {reference[:80]!r} (it leads out of the schema, or nowhere)")
        return True

    def _fill(self, schema: Schema, node: Node) -> None:
        for keyword in schema:
            build = _BUILDERS.get(keyword)
            if build is not None and (rule := build(self, node, schema)) is not None:
                node.rules.append(rule)
            elif keyword in _UNSUPPORTED:
                self.unchecked.append(f"{keyword} (it is not supported)")
        if "type" in schema:
            node.kinds = _kinds(schema["type"])


_UNDER_WAY: Final = 1_000_000


def _cut_circles(nodes: Iterable[Node]) -> bool:
    """Leave out what leads back to the same value, for ever, or goes on for too long. Whether there was any."""
    heights: dict[Node, int] = {}
    cut = False
    for start in nodes:
        path = [] if start in heights else [(start, iter(start.edges))]
        heights.setdefault(start, _UNDER_WAY)
        while path:
            node, edges = path[-1]
            inner = next((edge for edge in edges if edge.node not in heights), None)
            if inner is not None:
                heights[inner.node] = _UNDER_WAY
                path.append((inner.node, iter(inner.node.edges)))
                continue
            path.pop()
            for edge in node.edges:
                if heights[edge.node] >= _MAX_CHAIN:
                    edge.node, cut = ANY, True
                    heights.setdefault(ANY, 0)
            heights[node] = 1 + max((heights[edge.node] for edge in node.edges), default=0)
    return cut


_NEVER: Final[Schema] = {"not": {}}


def _member(found: Any, part: str | None) -> Any:
    if part is None:
        return None
    part = part.replace("~1", "/").replace("~0", "~")
    if isinstance(found, Mapping):
        return found.get(part)
    if isinstance(found, list) and part.isdecimal() and len(part) < 9 and int(part) < len(found):
        return found[int(part)]
    return None


# -- keywords: what each makes of its schema; None where it has nothing to check by itself

Builder: TypeAlias = "Callable[[_Compiler, Node, Schema], Rule | None]"


def _kinds(kinds: str | Sequence[str]) -> frozenset[str]:
    named = {kinds} if isinstance(kinds, str) else set(kinds)
    return frozenset(named | {"integer"}) if "number" in named else frozenset(named)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _type(_compiler: _Compiler, _node: Node, schema: Schema) -> Rule:
    kinds = _kinds(schema["type"])
    return lambda value, run: _kind(value) in kinds or run.fail("type", value, schema)


def _enum(_compiler: _Compiler, _node: Node, schema: Schema) -> Rule:
    allowed = frozenset(map(identity, schema["enum"]))
    return lambda value, run: run.identity(value) in allowed or run.fail("enum", value, schema)


def _const(_compiler: _Compiler, _node: Node, schema: Schema) -> Rule:
    allowed = identity(schema["const"])
    return lambda value, run: run.identity(value) == allowed or run.fail("const", value, schema)


def _limit(rule: str, applies: Callable[[Any], bool], holds: Callable[[Any, Any], bool]) -> Builder:
    def build(_compiler: _Compiler, _node: Node, schema: Schema) -> Rule:
        limit = schema[rule]
        return lambda value, run: not applies(value) or holds(value, limit) or run.fail(rule, value, schema)

    return build


def _is_multiple(value: float, of: float) -> bool:
    if isinstance(value, int) and isinstance(of, int):
        return value % of == 0
    try:
        times = value / of
    except OverflowError:
        return False
    return math.isfinite(times) and abs(times - round(times)) < 1e-9


def _pattern(compiler: _Compiler, _node: Node, schema: Schema) -> Rule | None:
    pattern = compiler.pattern(schema["pattern"])
    if pattern is None:
        return None
    return lambda value, run: (
        not isinstance(value, str) or run.matches(pattern, value) or run.fail("pattern", value, schema)
    )


def _unique(_compiler: _Compiler, _node: Node, schema: Schema) -> Rule | None:
    def rule(value: Any, run: Run) -> bool:
        if not isinstance(value, list):
            return True
        run.spend(len(value))
        seen = {run.identity(item) for item in value}
        return len(seen) == len(value) or run.fail("uniqueItems", value, schema)

    return rule if schema["uniqueItems"] else None


def _items(compiler: _Compiler, _node: Node, schema: Schema) -> Rule | None:
    if "items" not in schema and "prefixItems" not in schema:
        return None
    first, rest = schema.get("prefixItems", []), schema.get("items", True)
    if isinstance(rest, list):  # as it was written before 2020
        first, rest = rest, schema.get("additionalItems", True)
    nodes, others = [compiler.node(one) for one in first], compiler.node(rest)

    def rule(value: Any, run: Run) -> bool:
        if not isinstance(value, list):
            return True
        results = [run.at(i, nodes[i] if i < len(nodes) else others, item) for i, item in enumerate(value)]
        return all(results)

    return rule


def _prefix_items(compiler: _Compiler, node: Node, schema: Schema) -> Rule | None:
    return None if "items" in schema else _items(compiler, node, schema)


def _contains(compiler: _Compiler, _node: Node, schema: Schema) -> Rule:
    wanted = compiler.node(schema["contains"])
    least, most = schema.get("minContains", 1), schema.get("maxContains", math.inf)

    def rule(value: Any, run: Run) -> bool:
        if not isinstance(value, list):
            return True
        found = sum(run.would_hold(wanted, item) for item in value)
        return least <= found <= most or run.fail("contains", value, schema)

    return rule


def _required(_compiler: _Compiler, _node: Node, schema: Schema) -> Rule:
    names = schema["required"]

    def rule(value: Any, run: Run) -> bool:
        if not isinstance(value, dict):
            return True
        run.spend(len(names))
        return all(name in value for name in names) or run.fail("required", value, schema)

    return rule


def _properties(compiler: _Compiler, _node: Node, schema: Schema) -> Rule:
    nodes = {name: compiler.node(one) for name, one in schema["properties"].items()}

    def rule(value: Any, run: Run) -> bool:
        if not isinstance(value, dict):
            return True
        results = [run.at(name, nodes[name], item) for name, item in value.items() if name in nodes]
        return all(results)

    return rule


def _patterned(compiler: _Compiler, schema: Schema) -> list[tuple[Pattern | None, Node]]:
    """The patterns of property names. None: one that is not checked."""
    named = schema.get("patternProperties", {})
    return [(compiler.pattern(pattern), compiler.node(one)) for pattern, one in named.items()]


def _pattern_properties(compiler: _Compiler, _node: Node, schema: Schema) -> Rule:
    patterned = [(pattern, node) for pattern, node in _patterned(compiler, schema) if pattern is not None]

    def rule(value: Any, run: Run) -> bool:
        fits = True
        for name, item in value.items() if isinstance(value, dict) else ():
            run.spend(len(patterned))
            for pattern, node in patterned:
                if run.matches(pattern, name) and not run.at(name, node, item):
                    fits = False
        return fits

    return rule


def _additional(compiler: _Compiler, _node: Node, schema: Schema) -> Rule | None:
    known, rest = schema.get("properties", {}), schema["additionalProperties"]
    patterns = [pattern for pattern, _ in _patterned(compiler, schema)]
    if rest is True or None in patterns:
        return None  # where a pattern is not checked, any name may be one of its
    node = compiler.node(rest)

    def rule(value: Any, run: Run) -> bool:
        fits = True
        for name, item in value.items() if isinstance(value, dict) else ():
            run.spend(1 + len(patterns))
            if name in known or any(run.matches(pattern, name) for pattern in patterns if pattern is not None):
                continue
            if rest is False:
                fits = run.fail("additionalProperties", value, schema)
                break
            fits = run.at(name, node, item) and fits
        return fits

    return rule


def _property_names(compiler: _Compiler, _node: Node, schema: Schema) -> Rule:
    names = compiler.node(schema["propertyNames"])

    def rule(value: Any, run: Run) -> bool:
        results = [run.at(name, names, name) for name in value] if isinstance(value, dict) else ()
        return all(results)

    return rule


def _dependent_required(_compiler: _Compiler, _node: Node, schema: Schema) -> Rule:
    needs = schema["dependentRequired"]

    def rule(value: Any, run: Run) -> bool:
        for name in value if isinstance(value, dict) else ():
            wanted = needs.get(name, ())
            run.spend(1 + len(wanted))
            if not all(other in value for other in wanted):
                return run.fail("dependentRequired", value, schema)
        return True

    return rule


def _dependent_schemas(compiler: _Compiler, node: Node, schema: Schema) -> Rule:
    edges = {name: compiler.edge(node, one) for name, one in schema["dependentSchemas"].items()}

    def rule(value: Any, run: Run) -> bool:
        names = [name for name in value if name in edges] if isinstance(value, dict) else ()
        results = [run.holds(edges[name].node, value) for name in names]
        return all(results)

    return rule


def _all_of(compiler: _Compiler, node: Node, schema: Schema) -> Rule:
    edges = [compiler.edge(node, one) for one in schema["allOf"]]

    def rule(value: Any, run: Run) -> bool:
        results = [run.holds(edge.node, value) for edge in edges]
        return all(results)

    return rule


def _any_of(compiler: _Compiler, node: Node, schema: Schema) -> Rule:
    edges = [compiler.edge(node, one) for one in schema["anyOf"]]
    return lambda value, run: (
        any(run.would_hold(edge.node, value) for edge in edges) or _none_fits("anyOf", edges, value, run, schema)
    )


def _one_of(compiler: _Compiler, node: Node, schema: Schema) -> Rule:
    edges = [compiler.edge(node, one) for one in schema["oneOf"]]

    def rule(value: Any, run: Run) -> bool:
        fitting = sum(run.would_hold(edge.node, value) for edge in edges)
        if fitting > 1:
            return run.fail("oneOf", value, schema)
        return fitting == 1 or _none_fits("oneOf", edges, value, run, schema)

    return rule


def _none_fits(rule: str, edges: Sequence[Edge], value: Any, run: Run, schema: Schema) -> bool:
    """Of several alternatives the one that is meant, if its type tells, says what is wrong."""
    kind = _kind(value)
    meant = [edge.node for edge in edges if edge.node.kinds is None or kind in edge.node.kinds]
    return run.holds(meant[0], value) if len(meant) == 1 else run.fail(rule, value, schema)


def _not(compiler: _Compiler, node: Node, schema: Schema) -> Rule:
    edge = compiler.edge(node, schema["not"])
    return lambda value, run: not run.would_hold(edge.node, value) or run.fail("not", value, schema)


def _if(compiler: _Compiler, node: Node, schema: Schema) -> Rule | None:
    condition = compiler.edge(node, schema["if"])
    then, other = (compiler.edge(node, schema.get(branch, True)) for branch in ("then", "else"))
    return lambda value, run: run.holds((then if run.would_hold(condition.node, value) else other).node, value)


def _reference(compiler: _Compiler, node: Node, schema: Schema) -> Rule:
    edge = compiler.edge(node, compiler.target(schema["$ref"]))
    return lambda value, run: run.refer(edge, value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _at_least(value: Any, limit: Any) -> bool:
    return bool(len(value) >= limit)


def _at_most(value: Any, limit: Any) -> bool:
    return bool(len(value) <= limit)


_BUILDERS: Final[Mapping[str, Builder]] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "minimum": _limit("minimum", _is_number, lambda value, limit: value >= limit),
    "maximum": _limit("maximum", _is_number, lambda value, limit: value <= limit),
    "exclusiveMinimum": _limit("exclusiveMinimum", _is_number, lambda value, limit: value > limit),
    "exclusiveMaximum": _limit("exclusiveMaximum", _is_number, lambda value, limit: value < limit),
    "multipleOf": _limit("multipleOf", _is_number, _is_multiple),
    "minLength": _limit("minLength", _is_text, _at_least),
    "maxLength": _limit("maxLength", _is_text, _at_most),
    "minItems": _limit("minItems", _is_list, _at_least),
    "maxItems": _limit("maxItems", _is_list, _at_most),
    "minProperties": _limit("minProperties", _is_object, _at_least),
    "maxProperties": _limit("maxProperties", _is_object, _at_most),
    "pattern": _pattern,
    "uniqueItems": _unique,
    "items": _items,
    "prefixItems": _prefix_items,
    "contains": _contains,
    "required": _required,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional,
    "propertyNames": _property_names,
    "dependentRequired": _dependent_required,
    "dependentSchemas": _dependent_schemas,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "if": _if,
    "$ref": _reference,
}
_UNSUPPORTED: Final = frozenset({"unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef"})
