"""Effects within a tool, each of which is started once for a wish, however often the tool is: `ctx.once`.

Above: the contexts of tools. Below: the rows of the store, if there is one. A tool that failed behind an effect runs
again for the same wish; what it did before is not done again, and gives what it gave.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from antiphon.core.texts import unknown_outcome
from antiphon.errors import UsageError, pass_on
from antiphon.runtime.kept_rows import KeptRows, NotStarted
from antiphon.runtime.keys import derived
from antiphon.runtime.run import Run
from antiphon.store import RowState
from antiphon.tools.function import OutcomeUnknown, ToolError
from antiphon.tools.results import render_result
from antiphon.vault import hide, hide_in

logger = logging.getLogger("antiphon")

_LONGEST = 20_000

_STATES_BEFORE: Mapping[RowState, Literal["done", "failed", "unknown"]] = {
    RowState.INTENDED: "failed",
    RowState.STARTED: "unknown",
    RowState.UNKNOWN: "unknown",
    RowState.SUCCEEDED: "done",
    RowState.FAILED: "failed",
}


@dataclass(slots=True)
class _Effect:
    key: str
    state: Literal["started", "done", "failed", "unknown"] = "started"
    value: Any = None
    over: asyncio.Event | None = None

    def ended(self, state: Literal["done", "failed", "unknown"], value: Any = None) -> None:
        """What came of it is known, or that nobody knows it."""
        self.state, self.value = state, value
        if self.over is not None:
            self.over.set()


class Effects:
    """Of one session."""

    def __init__(self, rows: KeptRows | None) -> None:
        self._rows = rows
        self._effects: dict[tuple[str, str], list[_Effect]] = {}

    async def once(self, run: Run, name: str, function: Callable[..., Any]) -> Any:
        """Do it, or give what it gave before. Raises `OutcomeUnknown` if nobody knows, and what `function` raises."""
        if not name:
            raise UsageError('ctx.once: expected a name for the effect, as in ctx.once("charge", ...), got "".')
        done = self._effects.get((run.wish_key, name))
        if done is None:
            done = self._effects[run.wish_key, name] = self._before(run.wish_key, name)
        if done and done[-1].over is not None and done[-1].state == "started":
            await done[-1].over.wait()
        last = done[-1] if done else None
        if last is not None and last.state == "done":
            return last.value
        if last is not None and last.state != "failed":
            raise OutcomeUnknown(unknown_outcome(name))
        effect = _Effect(_key(run.wish_key, name, len(done) + 1), over=asyncio.Event())
        done.append(effect)
        return await self._do(run, name, effect, function)

    def _before(self, wish: str, name: str) -> list[_Effect]:
        """What processes before this one did of it."""
        found: list[_Effect] = []
        while self._rows is not None:
            row = self._rows.effect_before(_key(wish, name, len(found) + 1))
            if row is None:
                break
            found.append(_Effect(row.key, _STATES_BEFORE[row.state], row.extra.get("value", row.output or None)))
        return found

    async def _do(self, run: Run, name: str, effect: _Effect, function: Callable[..., Any]) -> Any:
        rows = self._rows
        if rows is not None:
            rows.intend_effect(run, name, effect.key)
            try:
                await rows.start_effect(run, effect.key)
            except BaseException as error:
                self._ended(effect, "failed", "It was not started.")
                if isinstance(error, NotStarted):
                    raise ToolError(f"`{name}` was not started: {error}. It was not done.") from error
                raise
        try:
            value = function(effect.key) if _takes_key(function) else function()
            if inspect.isawaitable(value):
                value = await value
        except BaseException as error:
            is_known = isinstance(error, ToolError) and not isinstance(error, OutcomeUnknown)
            self._ended(effect, "failed" if is_known else "unknown", str(error))
            if is_known or isinstance(error, (OutcomeUnknown, asyncio.CancelledError)):
                raise
            pass_on(error)
            logger.exception("%r, an effect of tool %r, raised", name, run.call.name)
            raise OutcomeUnknown(unknown_outcome(name)) from error
        self._ended(effect, "done", _shown(value), value)
        return value

    def _ended(
        self, effect: _Effect, state: Literal["done", "failed", "unknown"], output: str, value: Any = None
    ) -> None:
        effect.ended(state, value)
        if self._rows is not None:
            states = {"done": RowState.SUCCEEDED, "failed": RowState.FAILED, "unknown": RowState.UNKNOWN}
            self._rows.settle_effect(effect.key, states[state], hide(output), _data(value))


def _takes_key(function: Callable[..., Any]) -> bool:
    """Whether it wants to be given its key: it has a parameter without a default."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return any(one.kind in positional and one.default is one.empty for one in parameters)


def _key(wish: str, name: str, number: int) -> str:
    return derived(wish, f"{name} {number}")


def _data(value: Any) -> Any:
    """What a store keeps of it, to be given again by another process. None: it is no JSON data; its text is given."""
    try:
        is_data = json.loads(json.dumps(value)) == value
    except (TypeError, ValueError, RecursionError):
        return None
    return hide_in(value) if is_data else None


def _shown(value: Any) -> str:
    """What a store keeps of what it gave."""
    try:
        return "" if value is None else render_result(value, max_chars=_LONGEST)
    except ToolError:
        return f"({type(value).__name__})"
