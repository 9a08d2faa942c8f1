"""`antiphon calls --reconcile FILE`: what nobody knows is asked of the backends, by the tools of an agent file.

Above: `calls.py`. Below: agent files, the answers of `function_tool(reconcile=)`, the contract of stores. A call that
goes on asks by itself, and is left alone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from antiphon.agent import Agent
from antiphon.errors import StoreConflict
from antiphon.server.agent_file import load_agent_file
from antiphon.store import CallInfo, Row, RowState, Store
from antiphon.tools.function import is_function_tool, is_raw_function_tool
from antiphon.tools.identity import arguments_of, tool_named
from antiphon.tools.reconciling import DidNotHappen, Happened, asked
from antiphon.tools.results import render_result
from antiphon.tools.toolset import ToolContext, Toolset


@dataclass(frozen=True, slots=True)
class Answered:
    """A row, and what is known of it now."""

    info: CallInfo
    row: Row
    said: str
    """In words."""


async def reconcile(store: Store, file: Path, unknown: Sequence[tuple[CallInfo, Row]]) -> list[Answered]:
    """Ask about each of these rows, one after the other. Raises `AgentFileError` and `StoreError`."""
    load_agent_file(file)
    return [Answered(info, *await _answer(store, info, row)) for info, row in unknown]


async def _answer(store: Store, info: CallInfo, row: Row) -> tuple[Row, str]:
    if info.is_held:
        return row, "its call goes on, and asks by itself"
    tool = tool_named(row.tool, _tools_of(row.tool))
    if tool is None:
        return row, f"the file has no tool {row.tool}"
    if tool.options.reconcile is None:
        return row, "its tool has no reconcile="
    match await asked(row.name, tool.options.reconcile, row.key, arguments_of(tool, row.arguments)):
        case Happened(output):
            state, text = RowState.SUCCEEDED, render_result(output, max_chars=tool.options.max_result_chars)
        case DidNotHappen() if time.time() >= (row.deadline or 0.0):
            state, text = RowState.FAILED, "It did not happen."
        case DidNotHappen():
            return row, "not done yet, but it may still be at work: ask again in a minute"
        case _:
            return row, "its backend does not know yet"
    try:
        row = await store.resolve(info.id, row.key, state, text, time.time(), attempt=row.attempt)
    except StoreConflict as conflict:
        return row, str(conflict)
    return row, "it happened" if state is RowState.SUCCEEDED else "it did not happen"


def _tools_of(name: str) -> list[object]:
    """Tools of the module that a row's tool was defined in."""
    modules = [module for module in list(sys.modules.values()) if name.startswith(f"{_name_of(module)}.")]
    return [tool for module in modules for tool in _tools_in(module)]


def _name_of(module: ModuleType) -> str:
    return str(getattr(module, "__name__", ""))


def _tools_in(module: ModuleType) -> Iterator[object]:
    for value in list(vars(module).values()):
        if is_function_tool(value) or is_raw_function_tool(value):
            yield value
        elif isinstance(value, (Agent, Toolset)):
            yield from ToolContext(value.tools).flatten()
        elif isinstance(value, type):
            yield from (one for one in vars(value).values() if is_function_tool(one) or is_raw_function_tool(one))
