"""The application code that runs now: a tool or a hook of an agent, and whatever that began, threads included.

Above: the application, which asks whose code it is that speaks, waits or awaits a task. Below: `Run`. A session's own
tasks belong to nobody's code.
"""

from __future__ import annotations

import contextvars
from contextvars import ContextVar
from dataclasses import dataclass

from antiphon.core.commands import HookKind
from antiphon.runtime.port import Port
from antiphon.runtime.run import Run


@dataclass(slots=True, frozen=True)
class HookScope:
    """One execution of a hook."""

    port: Port
    agent: str
    kind: HookKind


current: ContextVar[Run | HookScope | None] = ContextVar("antiphon_scope", default=None)
"""What the running code belongs to."""


def current_run() -> Run | None:
    """The run that the running code belongs to. It may have ended."""
    scope = current.get()
    return scope if isinstance(scope, Run) else None


def outside() -> contextvars.Context:
    """The context of the caller, without the tool or hook it may run in."""
    context = contextvars.copy_context()
    context.run(current.set, None)
    return context
