"""Agents that a call would make, as far as their making is in plain sight: `Agent(instructions="...", tools=[look])`.

Above: `reading`. Below: the syntax of the file, and what its module holds. Nothing of it is run but classes of tools of
ours with plain arguments (`EndCallTool()`).
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from antiphon.agent import Agent
from antiphon.errors import pass_on
from antiphon.lint.source import Sources
from antiphon.tools.tool import Tool
from antiphon.tools.toolset import Toolset


@dataclass(slots=True, frozen=True)
class StaticAgent:
    """What an expression that makes an agent says of it."""

    name: str
    instructions: str
    tools: tuple[Any, ...]
    unseen: tuple[str, ...]
    file: str = ""
    line: int = 0


def agents_in(tree: ast.Module, module: ModuleType) -> Iterator[StaticAgent]:
    """Each `Agent(...)` in a function of a module. Those at module level are there to be looked at."""
    for function in ast.walk(tree):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and _value(node.func, vars(module)) is Agent:
                instructions, tools, unseen = _given(node, vars(module))
                name = f"Agent in {function.name}"
                yield StaticAgent(name, instructions, tools, unseen, str(module.__file__), node.lineno)


def made_by(cls: type[Agent], sources: Sources) -> StaticAgent:
    """What the `super().__init__(...)` of a class says, or of the nearest base that has one."""
    for base in cls.__mro__:
        init = vars(base).get("__init__")
        if base is Agent or not inspect.isfunction(init):
            continue
        found = sources.function(init)
        for node in ast.walk(found[0]) if found is not None else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("__init__"):
                instructions, tools, unseen = _given(node, init.__globals__)
                return StaticAgent(cls.__name__, instructions, tools, unseen)
    return StaticAgent(cls.__name__, "", (), ("its instructions and further tools are given where it is made",))


def _given(call: ast.Call, known: Mapping[str, Any]) -> tuple[str, tuple[Any, ...], tuple[str, ...]]:
    said = {one.arg: one.value for one in call.keywords}
    unseen: list[str] = []
    text = said.get("instructions", call.args[0] if call.args else None)
    instructions = "" if text is None else _text(text, known)
    if text is not None and not instructions:
        unseen.append(f"its instructions are made in the call (line {text.lineno})")
    tools: list[Any] = []
    listed = said.get("tools")
    if listed is not None:
        parts = listed.elts if isinstance(listed, (ast.List, ast.Tuple)) else [listed]
        for part in parts:
            found = _tools(part, known)
            tools += found
            if not found:
                unseen.append(f"tools that {ast.unparse(part)} gives (line {part.lineno})")
    if None in said:
        unseen.append(f"what ** gives (line {call.lineno})")
    return instructions, tuple(tools), tuple(unseen)


def _text(node: ast.expr, known: Mapping[str, Any]) -> str:
    """A text, with what is filled in left open."""
    match node:
        case ast.Constant(str(text)):
            return text
        case ast.JoinedStr(values):
            return "".join(str(one.value) if isinstance(one, ast.Constant) else "{...}" for one in values)
        case ast.BinOp(left, ast.Add(), right):
            return _text(left, known) + _text(right, known)
        case ast.Call(_, [first, *_]):
            return _text(first, known)
        case ast.Call(ast.Attribute(inner, "format" | "strip" | "format_map"), _):
            return _text(inner, known)
    found = _value(node, known)
    return found if isinstance(found, str) else ""


def _tools(node: ast.expr, known: Mapping[str, Any]) -> list[Any]:
    if isinstance(node, ast.Starred):
        return _tools(node.value, known)
    found = _value(node, known)
    if isinstance(found, (Tool, Toolset)):
        return [found]
    if isinstance(found, (list, tuple)) and all(isinstance(one, (Tool, Toolset)) for one in found):
        return list(found)
    if isinstance(node, ast.Call):
        cls = _value(node.func, known)
        if isinstance(cls, type) and issubclass(cls, (Tool, Toolset)) and cls.__module__.startswith("antiphon"):
            return _built(cls, node, known)
    return []


def _built(cls: type, node: ast.Call, known: Mapping[str, Any]) -> list[Any]:
    try:
        arguments = [_plain(one, known) for one in node.args]
        return [cls(*arguments, **{one.arg: _plain(one.value, known) for one in node.keywords if one.arg})]
    except BaseException as error:
        pass_on(error)
        return []


def _plain(node: ast.expr, known: Mapping[str, Any]) -> Any:
    """A literal, a value of the module, or a list of these. Raises `ValueError` for anything else."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_plain(one, known) for one in node.elts]
    if (found := _value(node, known)) is not None:
        return found
    return ast.literal_eval(node)


def _value(node: ast.expr, known: Mapping[str, Any]) -> Any:
    match node:
        case ast.Name(name):
            return known.get(name)
        case ast.Attribute(inner, name):
            base = _value(inner, known)
            return getattr(base, name, None) if isinstance(base, (ModuleType, type)) else None
    return None
