"""What a function returns, as its source shows it: words for a model, or data as a program has it.

Above: `source`. Below: `names`. A name is followed to what it was last given in the function; what a call gives that is
not known is nobody's business.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Final, Literal, TypeAlias

from antiphon.lint.description import Place, Seen
from antiphon.lint.names import Function, Names, chain_of, own_nodes

Kind: TypeAlias = Literal["payload", "id"]

MOST_KEYS: Final = 6
"""Of a dict that a model can still take in at a glance."""

_DUMPS: Final = frozenset("json model_dump model_dump_json to_dict to_json _asdict fetchall fetchmany fetchone".split())
_DUMPING: Final = frozenset({("json", "dumps"), ("asdict",), ("dataclasses", "asdict"), ("vars",)})
_RESPONSES: Final = frozenset({"response", "resp", "res", "reply"})
_IDS: Final = frozenset({"id", "uuid", "guid", "pk", "_id"})


def returned(
    node: Function, names: Names, place: Callable[[ast.AST], Place]
) -> tuple[tuple[Seen, ...], tuple[Seen, ...]]:
    """Payloads and ids that a function returns."""
    found: dict[Kind, list[Seen]] = {"payload": [], "id": []}
    for one in own_nodes(node):
        if isinstance(one, ast.Return) and one.value is not None:
            for kind in sorted(set(_kinds(one.value, names, 0))):
                what = ast.unparse(one.value)
                found[kind].append(Seen(what if len(what) < 80 else f"{what[:77]}...", place(one)))
    return tuple(found["payload"]), tuple(found["id"])


def _kinds(node: ast.expr, names: Names, depth: int) -> Iterator[Kind]:
    if depth > 6:
        return
    match node:
        case ast.Name(name) if (made := names.assigned(name)) is not None:
            yield from _kinds(made, names, depth + 1)
        case ast.Await(inner):
            yield from _kinds(inner, names, depth + 1)
        case ast.IfExp(_, yes, no):
            yield from _kinds(yes, names, depth + 1)
            yield from _kinds(no, names, depth + 1)
        case ast.BoolOp(_, values):
            for value in values:
                yield from _kinds(value, names, depth + 1)
        case ast.Call():
            yield from _of_call(node, names, depth)
        case ast.Attribute(inner, name):
            if name in _IDS or name.endswith("_uuid"):
                yield "id"
            elif name in ("text", "content") and (chain_of(inner) or ("",))[-1] in _RESPONSES:
                yield "payload"
        case ast.Subscript(_, ast.Constant(str(key))) if key in _IDS:
            yield "id"
        case ast.List(elements) if any(isinstance(one, (ast.Dict, ast.List)) for one in elements):
            yield "payload"
        case ast.ListComp(element, _) if isinstance(element, ast.Dict) or "payload" in _kinds(
            element, names, depth + 1
        ):
            yield "payload"
        case ast.DictComp():
            yield "payload"
        case ast.Dict(keys, values):
            yield from _of_dict(keys, values, names, depth)
        case ast.JoinedStr(values):
            yield from _of_text(values, names)
        case _:
            return


def _of_call(node: ast.Call, names: Names, depth: int) -> Iterator[Kind]:
    chain = chain_of(node.func)
    attribute = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    qualified = names.qualified(node.func)
    if qualified.startswith("uuid.uuid"):
        yield "id"
    elif chain == ("str",) and node.args:
        yield from (kind for kind in _kinds(node.args[0], names, depth + 1) if kind == "id")
    elif attribute in _DUMPS or chain in _DUMPING:
        yield "payload"


def _of_dict(keys: list[ast.expr | None], values: list[ast.expr], names: Names, depth: int) -> Iterator[Kind]:
    nested = any(isinstance(one, (ast.Dict, ast.List, ast.ListComp, ast.DictComp)) for one in values)
    if nested or len(keys) > MOST_KEYS or None in keys:
        yield "payload"
    for key, value in zip(keys, values, strict=True):
        named = isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value.lower() in _IDS
        if named and not isinstance(value, ast.Constant):
            yield "id"
        elif isinstance(value, ast.Call) and "id" in set(_kinds(value, names, depth + 1)):
            yield "id"


def _of_text(values: list[ast.expr], names: Names) -> Iterator[Kind]:
    """A text is words; one that is nothing but an id, or has one of its own making in it, is none."""
    shown = [one.value for one in values if isinstance(one, ast.FormattedValue)]
    words = "".join(str(one.value) for one in values if isinstance(one, ast.Constant)).split()
    made = (kind for one in shown if isinstance(one, ast.Call) for kind in _kinds(one, names, 3))
    if "id" in set(made) or (not words and len(shown) == 1 and "id" in set(_kinds(shown[0], names, 3))):
        yield "id"
