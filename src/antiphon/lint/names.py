"""What names in the source of a function stand for, as far as it is known without running it.

Above: `source`. Below: the function's module and what it holds. A name is resolved to a dotted text such as
"requests.api.get"; a value that is made in the function is named by what makes it: "requests.sessions.Session()".
"""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Names:
    """The names of one function."""

    def __init__(self, function: Callable[..., Any], node: Function, owner: type | None) -> None:
        self._globals: Mapping[str, Any] = {**getattr(function, "__globals__", {}), **_closure(function)}
        self._owner = owner
        self._imported = dict(_imports(node))
        self._parameters = {one.arg for one in _arguments(node.args)}
        self._first = next(iter(_arguments(node.args)), None)
        self._made: dict[str, ast.expr] = {}
        for one in own_nodes(node):
            if isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name):
                self._made[one.targets[0].id] = one.value
            elif isinstance(one, (ast.With, ast.AsyncWith)):
                self._made.update(
                    {i.optional_vars.id: i.context_expr for i in one.items if isinstance(i.optional_vars, ast.Name)}
                )

    def assigned(self, name: str) -> ast.expr | None:
        """The expression that a name of the function was last given; None: it is none of its own."""
        return self._made.get(name)

    def is_parameter(self, name: str) -> bool:
        """Whether it is given to the function."""
        return name in self._parameters

    def value(self, node: ast.expr) -> Any:
        """The object that an expression stands for, or None. Nothing is run but attributes of modules and classes."""
        match node:
            case ast.Name(name):
                if name in self._imported or name in self._made:
                    return None
                if self._first is not None and name == self._first.arg and name in ("self", "cls"):
                    return self._owner
                if name in self._parameters:
                    return None
                return self._globals.get(name, getattr(builtins, name, None))
            case ast.Attribute(inner, name):
                base = self.value(inner)
                return inspect.getattr_static(base, name, None) if isinstance(base, (ModuleType, type)) else None
        return None

    def qualified(self, node: ast.expr, depth: int = 0) -> str:
        """The dotted name of what an expression stands for; "": it is not known."""
        if depth > 8:
            return ""
        found = self.value(node)
        if found is not None:
            return _dotted(found)
        match node:
            case ast.Name(name) if name in self._imported:
                return self._imported[name]
            case ast.Name(name) if name in self._made:
                made = self._made[name]
                named = isinstance(made, ast.Name) and made.id == name
                return "" if named else self.qualified(made, depth + 1)
            case ast.Attribute(inner, name):
                base = self.qualified(inner, depth + 1)
                return f"{base}.{name}" if base else ""
            case ast.Call(function):
                base = self.qualified(function, depth + 1)
                return f"{base}()" if base else ""
            case ast.Await(inner):
                return ""
        return ""


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """What runs when the function does: not the bodies of functions and classes within it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        yield child
        yield from own_nodes(child)


def chain_of(node: ast.expr) -> tuple[str, ...]:
    """("self", "api", "book") of `self.api.book`; () of what is no such chain."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return (node.id, *reversed(names)) if isinstance(node, ast.Name) else ()


def _dotted(found: object) -> str:
    if isinstance(found, ModuleType):
        return found.__name__
    if isinstance(found, (staticmethod, classmethod)):
        found = found.__func__
    if callable(found) and hasattr(found, "__qualname__"):
        return f"{getattr(found, '__module__', '') or ''}.{found.__qualname__}"
    kind = type(found)
    return f"{kind.__module__}.{kind.__qualname__}()"


def _imports(node: ast.AST) -> Iterator[tuple[str, str]]:
    for one in own_nodes(node):
        if isinstance(one, ast.Import):
            for alias in one.names:
                name = alias.asname or alias.name.partition(".")[0]
                yield name, alias.name if alias.asname else name
        elif isinstance(one, ast.ImportFrom) and one.module:
            for alias in one.names:
                yield alias.asname or alias.name, f"{one.module}.{alias.name}"


def _arguments(arguments: ast.arguments) -> list[ast.arg]:
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def _closure(function: Callable[..., Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    for name, cell in zip(names, getattr(function, "__closure__", None) or (), strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found
