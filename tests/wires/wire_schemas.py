"""The JSON schema of a tool, as a server writes it, and the arguments that a model writes for it.

Half of the schemas are sound and small: what fits them must be what `jsonschema` says fits. The others are broken or
made to harm; of these only the time counts, and that nothing but a refusal comes of them.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

import jsonschema

from antiphon.errors import ToolDefinitionError
from antiphon.tools.compiling import Compiled
from antiphon.tools.function import ToolError, ToolOptions, foreign_tool
from antiphon.tools.one_object import as_object
from antiphon.tools.raw import REFUSED_AT_TOP
from antiphon.tools.wellformed import well_formed
from tests.wires import mutate
from tests.wires.wire import Finding, Wire
from tests.wires.wire import well_formed as encodable

Given = tuple[bool, dict[str, Any], Any]
"""Whether the schema is sound; the schema; the arguments."""

NAMES = ("a", "b", "c", "x1")
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, 1.0, 2, -3, 2.5, 10, "", "a", "b", "ab", "x1", [], {}, [1], {"a": 1},
)  # fmt: skip
KINDS = ("string", "integer", "number", "boolean", "array", "object", "null")
PATTERNS = ("^a", "b$", "^[a-z][0-9]?$", "a|b", "^(a|b)*$", "x[0-9]{1,2}")
HOSTILE_PATTERNS = (
    r"^([a-zA-Z0-9]+)*@x$", r"(x+x+)+y", r"(\w{1,20}){1,20}!", r"(a?){500}a{500}", "(" * 500 + ")" * 500, r"(?=a)b",
    r"(.)\1", r"\p{L}{1,9}", "[[]", "[^]", "a{1,999999999}", "((a{99}){99}){99}", "(?P<n>a)(?P<n>b)", r"[\d-x]",
    "*", "\\", r"(\W|\s|.)*$",
)  # fmt: skip
LONG = ("a" * 50_000, "a" * 190_000, "ab " * 3_000, "x" * 20_000 + "@", "\\" * 999)


# -- sound schemas


def sound(random: Random, depth: int = 3) -> Any:
    """A schema of everything that is checked, references that go down included."""
    if depth <= 0 or random.random() < 0.1:
        return random.choice(
            (True, {}, {"type": random.choice(KINDS)}, {"$ref": "#/$defs/leaf"}, {"const": value(random, 1)})
        )
    schema: dict[str, Any] = {}
    for _ in range(random.randrange(1, 4)):
        schema |= _words(random, depth - 1)
    return schema


def _words(random: Random, depth: int) -> dict[str, Any]:
    number = random.choice((0, 1, 2, 2.5))
    match random.randrange(17):
        case 0 | 1:
            return {"type": random.choice((*KINDS, ["string", "null"], ["integer", "array", "object"]))}
        case 2:
            return {"enum": random.choices(VALUES, k=random.randrange(1, 4))}
        case 3:
            return {random.choice(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")): number}
        case 4:
            return {"multipleOf": random.choice((1, 2, 0.5))}
        case 5:
            return {random.choice(("minLength", "maxLength", "minItems", "maxItems")): random.randrange(3)}
        case 6:
            return {"pattern": random.choice(PATTERNS)}
        case 7 | 8:
            return {"properties": {name: sound(random, depth) for name in random.sample(NAMES, 2)}}
        case 9:
            return {"required": random.sample(NAMES, random.randrange(3))}
        case 10:
            return {"additionalProperties": random.choice((False, sound(random, depth)))}
        case 11:
            return {"patternProperties": {random.choice(PATTERNS): sound(random, depth)}}
        case 12:
            return random.choice(
                ({"items": sound(random, depth)}, {"prefixItems": [sound(random, depth)], "items": False})
            )
        case 13:
            return {"uniqueItems": True, "contains": sound(random, depth), "minContains": random.randrange(2)}
        case 14:
            return {
                random.choice(("anyOf", "oneOf", "allOf")): [
                    sound(random, depth) for _ in range(random.randrange(1, 4))
                ]
            }
        case 15:
            return {"if": sound(random, depth), "then": sound(random, depth), "else": sound(random, depth)}
        case _:
            return random.choice(
                (
                    {"not": sound(random, depth)},
                    {"propertyNames": {"pattern": random.choice(PATTERNS)}, "maxProperties": 2},
                    {"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"b": sound(random, depth)}},
                    {"properties": {"c": {"$ref": "#"}}},
                )
            )


def value(random: Random, depth: int = 3) -> Any:
    """A value that has a chance to fit."""
    kind = random.randrange(4)
    if kind == 0 and depth > 0:
        return [value(random, depth - 1) for _ in range(random.randrange(4))]
    if kind <= 2 and depth > 0:
        return {name: value(random, depth - 1) for name in random.sample(NAMES, random.randrange(4))}
    return random.choice(VALUES)


# -- schemas that harm


def hostile(random: Random) -> Any:
    """A schema of a stranger who means ill."""
    match random.randrange(9):
        case 0:
            word, levels = random.choice(("anyOf", "allOf", "oneOf")), random.choice((5, 28, 60, 500))
            doubling: dict[str, Any] = {f"a{i}": {word: [{"$ref": f"#/$defs/a{i + 1}"}] * 2} for i in range(levels)}
            last = sound(random, 1)
            return _anywhere(random, {"$ref": "#/$defs/a0"}) | {"$defs": {**doubling, f"a{levels}": last, "leaf": {}}}
        case 1:
            pattern = random.choice(
                (*HOSTILE_PATTERNS, mutate.long(random, ("a", "(", ")*", "+", "\\w", "[^x]"))[:3_000])
            )
            return _anywhere(random, random.choice(({"pattern": pattern}, {"patternProperties": {pattern: False}})))
        case 2:
            return _anywhere(
                random, {"uniqueItems": True, "items": {"uniqueItems": True, "items": {"uniqueItems": True}}}
            )
        case 3:
            many = [{"properties": {name: {"const": i}}, "required": [name]} for i in range(900) for name in "ab"]
            return {random.choice(("anyOf", "oneOf", "allOf")): many}
        case 4:
            return _anywhere(random, {"enum": [[i, {"a": i}] for i in range(3_000)]})
        case 5:
            return _anywhere(random, {"$ref": random.choice(("#", "#/properties/x", "#/x", "http://x/y", "", "#a"))})
        case 6:
            schema: Any = {"type": "object"}
            for _ in range(random.choice((20, 60, 70, 400))):
                word = random.choice(("properties", "items", "not", "allOf"))
                schema = {word: {"x": schema} if word == "properties" else [schema] if word == "allOf" else schema}
            return schema
        case 7:
            return {"allOf": [{"properties": {"x": {"title": str(i)}}} for i in range(random.choice((3, 300)))]}
        case _:
            return mutate.changed(random, sound(random), 6)


def _anywhere(random: Random, schema: dict[str, Any]) -> dict[str, Any]:
    return random.choice(
        (
            {"properties": {"x": schema}},
            {"additionalProperties": schema},
            {"anyOf": [schema, {"required": ["x"]}]},
            schema,
        )
    )


def big(random: Random) -> Any:
    """Arguments that are much to look at."""
    return random.choice(
        (
            {"x": random.choice(LONG)},
            {"x": [{"a": i} for i in range(random.choice((100, 5_000, 20_000)))]},
            {"x": [i * (2**61 - 1) for i in range(5_000)]},
            {str(i): i for i in range(10_000)},
            {"x": [None] * 30_000},
            {"x": mutate.deep(random)},
        )
    )


# -- the wire


def make(random: Random) -> Given:
    if random.random() < 0.6:
        schema = sound(random)
        schema = schema if isinstance(schema, dict) else {}
        return True, {**schema, "$defs": {"leaf": {"enum": [1, "a", None]}}}, value(random)
    schema = hostile(random)
    arguments = random.choice((big, value, mutate.value))(random)
    return (
        False,
        schema if isinstance(schema, dict) else {"x": schema},
        {"x": arguments} if random.random() < 0.3 else arguments,
    )


def feed(given: Given) -> None:
    is_sound, schema, arguments = given
    if is_sound:
        _compare(schema, arguments)
    told = as_object(schema, name="f")
    tool = foreign_tool(_never, name="f", description="", parameters=told, options=ToolOptions())
    parameters = tool.spec.parameters
    json.dumps(parameters, allow_nan=False)
    if parameters.keys() & {*REFUSED_AT_TOP}:
        raise Finding(f"endpoints refuse {parameters!r}")
    try:
        prepared = tool.prepare(arguments if isinstance(arguments, dict) else json.dumps(arguments))
    except ToolError as error:
        encodable(error.message, "the refusal")
        if len(error.message) > 8_000:
            raise Finding(f"a refusal of {len(error.message)} characters") from error
    else:
        encodable(prepared.canonical, "the arguments")


def _never(raw_arguments: dict[str, Any]) -> None: ...


def _compare(schema: dict[str, Any], arguments: Any) -> None:
    compiled = Compiled(well_formed(schema, name="f").schema)
    expected = jsonschema.Draft202012Validator(schema)
    if compiled.unchecked:
        return
    try:
        fits = expected.is_valid(arguments)
    except RecursionError:
        return  # a circle that it follows for ever
    if fits != (not compiled.failures(arguments)):
        raise Finding(f"expected fits={fits} of {arguments!r} for {schema!r}")


WIRE = Wire("schemas", make, feed, declared=(ToolDefinitionError,), share=0.4, slow=0.6)
