"""Outcomes that nobody knows: the backend is asked, and the store, in which a person may have said what happened.

Above: the tool runner. Below: the tool's `reconcile=`, the rows of the store. What they say is a fact of the core
(`OutcomeFound`), which has the caller told. A tool that may still be at work is not asked about: it says so itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from antiphon.core.facts import OutcomeFound
from antiphon.errors import StoreError
from antiphon.record import record
from antiphon.runtime.kept_rows import KeptRows
from antiphon.runtime.keys import KEY_LIFETIME
from antiphon.runtime.port import Port
from antiphon.runtime.run import Run
from antiphon.store import RowState
from antiphon.tools.function import AnyFunctionTool
from antiphon.tools.reconciling import DidNotHappen, Happened, Reconcile, asked
from antiphon.tools.results import render_result

logger = logging.getLogger("antiphon")

FIRST_WAIT = 1.0
"""Seconds after which a backend is asked first; after each answer that it is not known, twice as many."""

LONGEST_WAIT = 60.0

FIRST_LOOK = 0.5
"""Seconds after which the store is looked into first; after each look twice as many."""

LOOK_EVERY = 2.0
"""Seconds between two looks into the store, at most."""


@record
class InDoubt:
    """A start of which nobody knows what came of it, here or in a process that is gone."""

    run: int
    name: str
    key: str
    arguments: Mapping[str, Any]
    tool: AnyFunctionTool | None
    """None: there is no such tool any more."""
    until: float
    """When it has ended, by the clock of the loop. Before that nobody can say that it did not happen."""
    max_result_chars: int
    task: asyncio.Task[None] | None = None
    """It may still be at work."""

    @classmethod
    def of(cls, run: Run) -> InDoubt:
        """A run of this process."""
        return cls(run.id, run.call.name, run.key, run.kwargs, run.tool, run.until, run.max_result_chars, run.task)

    def rendered(self, output: Any) -> str:
        """What its backend says, as the model reads it. Raises `ToolError`."""
        own = self.max_result_chars if self.tool is None else self.tool.options.max_result_chars
        return render_result(output, max_chars=min(own, self.max_result_chars))


class Reconciling:
    """Of one session. Nothing is asked for longer than a backend can be expected to know a key."""

    def __init__(self, port: Port, rows: KeptRows | None) -> None:
        self._port = port
        self._rows = rows
        self._asking: dict[int, list[asyncio.Task[None]]] = {}

    def unknown(self, doubt: InDoubt) -> None:
        """Nobody knows what came of it."""
        if doubt.run in self._asking:
            return
        work = []
        if doubt.tool is not None and doubt.tool.options.reconcile is not None:
            work.append(self._ask(doubt, doubt.tool.options.reconcile))
        if self._rows is not None:
            work.append(self._look(doubt, self._rows))
        self._asking[doubt.run] = [self._port.spawn(one, f"reconcile {doubt.name}") for one in work]

    def known(self, run: int) -> None:
        """It is known what came of it."""
        own = asyncio.current_task()
        for task in self._asking.pop(run, ()):
            if task is not own:
                task.cancel()

    async def _ask(self, doubt: InDoubt, reconcile: Reconcile) -> None:
        time = self._port.loop.time
        wait, over = FIRST_WAIT, time() + KEY_LIFETIME
        if doubt.task is not None:
            await asyncio.wait([doubt.task])
        while time() < over:
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)
            began = time()
            match await asked(doubt.name, reconcile, doubt.key, doubt.arguments):
                case Happened(output):
                    return self._found(doubt, True, doubt.rendered(output))
                case DidNotHappen() if began >= doubt.until:
                    return self._found(doubt, False, "")
                case DidNotHappen():  # what was sent may still arrive, and who was frozen may wake
                    wait = min(wait, doubt.until - began)
        logger.warning("tool %r: nobody knows what came of it, and its backend is asked no more", doubt.name)

    async def _look(self, doubt: InDoubt, rows: KeptRows) -> None:
        """Until somebody has said in the store what happened (`antiphon calls resolve`, who did not enter it)."""
        wait = FIRST_LOOK  # who was frozen before it entered wakes soon, and says so
        while True:
            await asyncio.sleep(wait)
            wait = min(2 * wait, LOOK_EVERY)
            try:
                row = await rows.stored(doubt.key)
            except StoreError:
                continue
            if row is not None and row.state in (RowState.SUCCEEDED, RowState.FAILED):
                return self._found(doubt, row.state is RowState.SUCCEEDED, row.output)

    def _found(self, doubt: InDoubt, happened: bool, output: str) -> None:
        self._port.report(OutcomeFound(doubt.run, happened, output))
