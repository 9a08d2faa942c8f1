"""What an agent can do, for those who show it: its tools, and what each of them promises.

Above: shells, which say it before and during a call. Below: the tools' own options.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from antiphon.options import Effect
from antiphon.session import AgentSession
from antiphon.store import Store
from antiphon.tools.function import AnyFunctionTool
from antiphon.tools.guarantees import Guarantee, guarantee_of
from antiphon.tools.toolset import ToolContext


@dataclass(slots=True, frozen=True)
class OfferedTool:
    """A tool, as people are told of it."""

    name: str
    description: str
    effect: Effect
    guarantee: Guarantee | None
    """How often it takes effect for one wish; None: it does not say that it writes."""
    is_read_back: bool
    """The caller is asked before each call."""
    is_approved: bool
    """Somebody else is."""


def offered(tools: Sequence[Any], *, has_transactions: bool) -> list[OfferedTool]:
    """Tools, and those of toolsets, in order. What cannot be offered is left out."""
    table, _ = ToolContext.leaving_out_unusable(tools)
    return [_offered(tool, has_transactions=has_transactions) for tool in table.function_tools.values()]


def offered_by(session: AgentSession[Any]) -> list[OfferedTool]:
    """What the agent in charge of a session can do."""
    return offered([*session.current_agent.tools, *session.tools], has_transactions=has_transactions(session))


def has_transactions(session: AgentSession[Any]) -> bool:
    """Whether a tool can settle in its own transaction where the calls of the session are kept."""
    store = session.store
    return store is not None and type(store).transaction is not Store.transaction


def _offered(tool: AnyFunctionTool, *, has_transactions: bool) -> OfferedTool:
    options = tool.options
    return OfferedTool(
        tool.name,
        tool.description,
        options.effect,
        guarantee_of(tool, has_transactions=has_transactions),
        is_read_back=options.asks_first,
        is_approved=options.approve is not None,
    )
