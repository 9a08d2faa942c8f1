"""What follows from what a tool's author said: how long a call may take, beside what it may run, who may cancel it.

The one place where an effect turns into numbers: the session reads a `ToolPolicy`.
"""

from __future__ import annotations

import functools
from typing import Final

from antiphon.options import Effect, ToolPolicy, is_given
from antiphon.tools.function import AnyFunctionTool, ToolFlag, ToolOptions

_TIMEOUTS: Final[dict[Effect, float]] = {"reads": 30.0, "unsaid": 30.0, "writes": 60.0, "irreversible": 60.0}
"""Seconds. A write gets longer: abandoning it leaves its outcome unknown."""

_BACKGROUND_TIMEOUT: Final = 600.0
"""Seconds that a call gets once it works in the background."""


def policy_of(tool: AnyFunctionTool, expected: float | None = None) -> ToolPolicy:
    """How calls of `tool` are treated, and how many seconds they are expected to take.

    The same object for the same options and expectation.
    """
    return _policy(tool.options, expected)


@functools.lru_cache(maxsize=128)  # what is expected changes with each call
def _policy(options: ToolOptions, expected: float | None) -> ToolPolicy:
    return ToolPolicy(
        effect=options.effect,
        # Whoever approves it has a time of their own.
        timeout=(_TIMEOUTS[options.effect] if options.timeout is None else options.timeout)
        + (0.0 if options.approve is None else options.approve_timeout),
        background_timeout=_BACKGROUND_TIMEOUT if options.background_timeout is None else options.background_timeout,
        # Writes of one step happen in the order in which the model asked for them, what is irreversible alone.
        parallel=options.parallel if is_given(options.parallel) else not options.writes,
        cancellable=ToolFlag.CANCELLABLE in options.flags,
        on_duplicate=options.on_duplicate if is_given(options.on_duplicate) else None,
        duplicate_scope=options.duplicate_scope,
        repeat=options.repeat,
        undo=options.undo,
        on_interrupt=options.on_interrupt if is_given(options.on_interrupt) else None,
        confirm=options.asks_first,
        filler=options.filler,
        expected=expected,
    )
