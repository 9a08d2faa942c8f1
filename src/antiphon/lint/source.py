"""The source of a function: where it stands, what is left out by comments, and what its code shows.

Above: `reading`. Below: `names`, `blocking` and `returned`, which look at one thing each. Files are read once.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from antiphon.agent import Agent
from antiphon.calls.where import as_typed
from antiphon.lint.blocking import blocking_calls
from antiphon.lint.description import Code, Place, Seen
from antiphon.lint.names import Function, Names, chain_of, own_nodes
from antiphon.lint.returned import returned
from antiphon.tools.signature import context_parameters, innermost
from antiphon.tools.tool import OutcomeUnknown, StopResponse, ToolError

IGNORE: Final = re.compile(r"#\s*antiphon:\s*ignore(?:\[([\w\-, ]+)\])?")
_CONTEXTS: Final = ("ctx", "context", "run_ctx", "session", "self")
_SENDING: Final = ("post", "put", "patch", "delete")


class Sources:
    """The files that functions and classes stand in."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[list[str], ast.Module | None]] = {}

    def lines(self, file: str) -> list[str]:
        """Of a file; none if it cannot be read."""
        return self._file(file)[0]

    def tree(self, file: str) -> ast.Module | None:
        """Of a file; None if it cannot be read."""
        return self._file(file)[1]

    def _file(self, file: str) -> tuple[list[str], ast.Module | None]:
        if file not in self._files:
            try:
                text = Path(file).read_text(encoding="utf-8")
                self._files[file] = (text.splitlines(), ast.parse(text))
            except (OSError, SyntaxError, ValueError):
                self._files[file] = ([], None)
        return self._files[file]

    def function(self, function: Callable[..., Any]) -> tuple[Function, Callable[[ast.AST], Place]] | None:
        """The node of a function, and what says where a node of it stands; None without source."""
        code = getattr(innermost(function), "__code__", None)
        if code is None or (tree := self.tree(code.co_filename)) is None:
            return None
        file = as_typed(code.co_filename)
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                if code.co_firstlineno in (first, node.lineno):
                    return node, partial(_place, file, node.lineno)
        return None

    def ignored(self, file: str, node: ast.AST) -> frozenset[str]:
        """The rules that a comment at a definition leaves out: above it, and down to where its body begins."""
        lines = self.lines(file)
        decorators = getattr(node, "decorator_list", [])
        first = min([getattr(node, "lineno", 1), *(one.lineno for one in decorators)])
        body = getattr(node, "body", None)
        last = body[0].lineno if isinstance(body, list) and body else getattr(node, "end_lineno", first)
        above = first - 1
        while above > 0 and lines[above - 1 : above] and lines[above - 1].strip().startswith("#"):
            above -= 1
        return frozenset().union(*(ignored_in(line) for line in lines[above : max(last - 1, first)]))


def _place(file: str, line: int, node: ast.AST) -> Place:
    return Place(file, getattr(node, "lineno", line))


def ignored_in(line: str) -> frozenset[str]:
    """The rules that a line's comment leaves out; "*" is all."""
    if (found := IGNORE.search(line)) is None:
        return frozenset()
    return frozenset(name.strip() for name in found[1].split(",") if name.strip()) if found[1] else frozenset({"*"})


def code_of(function: Callable[..., Any], sources: Sources, owner: type | None) -> Code | None:
    """What the source of a function shows; None without source."""
    plain = innermost(function)
    if (found := sources.function(plain)) is None:
        return None
    node, place = found
    names = Names(plain, node, owner)
    is_async = isinstance(node, ast.AsyncFunctionDef)
    payloads, ids = returned(node, names, place)
    raises, bare = _raises(node, names, place)
    return Code(
        is_async=is_async,
        blocking=tuple(blocking_calls(plain, node, place, owner=owner, find=sources.function)) if is_async else (),
        payloads=payloads,
        ids=ids,
        raises=raises,
        bare_errors=bare,
        reaches_out=any(_reaches_out(one, names, plain, is_async=is_async) for one in own_nodes(node)),
        has_gate=any(_is_gate(one, names) for one in own_nodes(node)),
        shields=any(_shields(one) for one in own_nodes(node)),
        has_timeout=any(_bounds(one) for one in own_nodes(node)),
        sends=tuple(_sends(node, place)),
    )


def _raises(
    node: Function, names: Names, place: Callable[[ast.AST], Place]
) -> tuple[tuple[Seen, ...], tuple[Seen, ...]]:
    """Exceptions that are no answer to the model, and answers that say nothing."""
    raised: list[Seen] = []
    bare: list[Seen] = []
    caught = {one.name for one in own_nodes(node) if isinstance(one, ast.ExceptHandler) and one.name}
    for one in own_nodes(node):
        if not isinstance(one, ast.Raise) or one.exc is None:
            continue
        kind = one.exc.func if isinstance(one.exc, ast.Call) else one.exc
        value = names.value(kind)
        if not isinstance(value, type):
            continue
        if issubclass(value, (StopResponse, OutcomeUnknown)) or not issubclass(value, Exception):
            continue
        if not issubclass(value, ToolError):
            raised.append(Seen(ast.unparse(kind), place(one)))
        elif isinstance(one.exc, ast.Call) and _says_nothing(one.exc, caught):
            bare.append(Seen(ast.unparse(one.exc), place(one)))
    return tuple(raised), tuple(bare)


def _says_nothing(call: ast.Call, caught: set[str]) -> bool:
    if not call.args:
        return True
    first = call.args[0]
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        return len(first.value.split()) < 3
    if isinstance(first, ast.Call) and chain_of(first.func) == ("str",) and first.args:
        first = first.args[0]
    return isinstance(first, ast.Name) and first.id in caught  # the error itself


def _reaches_out(node: ast.AST, names: Names, function: Callable[..., Any], *, is_async: bool) -> bool:
    """Whether a node calls what is not the session: awaited, or in a thread."""
    if isinstance(node, ast.AsyncWith):
        return any(
            isinstance(item.context_expr, ast.Call) and _outside(item.context_expr, names, function)
            for item in node.items
        )
    if isinstance(node, ast.Await) and isinstance(node.value, ast.Call):
        return _outside(node.value, names, function)
    if not is_async and isinstance(node, ast.Call):
        chain = chain_of(node.func)
        value = names.value(ast.Name(chain[0], ast.Load())) if len(chain) > 1 else None
        module = getattr(value, "__name__", "") if value is not None else ""
        return value is not None and module.partition(".")[0] not in _STANDARD and not isinstance(value, type)
    return False


def _outside(call: ast.Call, names: Names, function: Callable[..., Any]) -> bool:
    chain = chain_of(call.func)
    called = names.value(call.func)
    if isinstance(called, type) and issubclass(called, Agent):  # a task talks with the caller
        return False
    if not chain:
        inner = call.func
        while isinstance(inner, (ast.Attribute, ast.Call, ast.Await, ast.Subscript)):
            inner = inner.func if isinstance(inner, ast.Call) else inner.value
        return not (isinstance(inner, ast.Name) and inner.id in (*_CONTEXTS, "super", "asyncio"))
    if chain[0] in _CONTEXTS or chain[0] in context_parameters(function):
        return "userdata" in chain[:-1] or (chain[0] == "self" and len(chain) > 2 and chain[1] not in _OF_AGENTS)
    return names.qualified(call.func).partition(".")[0] not in _STANDARD


_OF_AGENTS: Final = ("session", "chat_ctx", "default")
_STANDARD: Final = (
    "asyncio",
    "antiphon",
    "random",
    "datetime",
    "json",
    "math",
    "logging",
    "builtins",
    "contextlib",
    "time",
)


def _is_gate(node: ast.AST, names: Names) -> bool:
    """`if not read_back: return "..."`."""
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.UnaryOp)
        and isinstance(node.test.op, ast.Not)
        and isinstance(node.test.operand, ast.Name)
        and names.is_parameter(node.test.operand.id)
        and isinstance(node.body[0], (ast.Return, ast.Raise))
    )


def _shields(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    forbids = any(
        one.arg == "allow_interruptions" and isinstance(one.value, ast.Constant) and one.value.value is False
        for one in node.keywords
    )
    return forbids or (isinstance(node.func, ast.Attribute) and node.func.attr == "disallow_interruptions")


def _bounds(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    names = ("timeout", "timeout_at", "wait_for", "fail_after", "move_on_after")
    return (chain_of(node.func) or ("",))[-1] in names or any(one.arg == "timeout" for one in node.keywords)


def _sends(node: Function, place: Callable[[ast.AST], Place]) -> Iterator[Seen]:
    for one in own_nodes(node):
        if not isinstance(one, ast.Call) or not isinstance(one.func, ast.Attribute) or one.func.attr not in _SENDING:
            continue
        first = one.args[0] if one.args else None
        text = first.values[0] if isinstance(first, ast.JoinedStr) and first.values else first
        if isinstance(text, ast.Constant) and isinstance(text.value, str) and text.value.startswith(("http", "/")):
            yield Seen(f"{ast.unparse(one.func)}({ast.unparse(one.args[0])})", place(one))
