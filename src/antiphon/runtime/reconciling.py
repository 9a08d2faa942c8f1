"""Outcomes that nobody knows: the backend is asked, and the store, in which a person may have said what happened.

Above: the tool runner. Below: the tool's `reconcile=`, the rows of the store. What they say is a fact of the core
(`OutcomeFound`), which has the caller told. A tool that may still be at work is not asked about: it says so itself.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from antiphon.core.facts import OutcomeFound
from antiphon.errors import StoreError, pass_on
from antiphon.runtime.kept_rows import KeptRows
from antiphon.runtime.keys import KEY_LIFETIME
from antiphon.runtime.port import Port
from antiphon.runtime.run import Run
from antiphon.store import RowState
from antiphon.tools.reconciling import DidNotHappen, Happened, Reconcile

logger = logging.getLogger("antiphon")

FIRST_WAIT = 1.0
"""Seconds after which a backend is asked first; after each answer that it is not known, twice as many."""

LONGEST_WAIT = 60.0

ANSWER_LIMIT = 10.0
"""Seconds that a backend has for an answer."""

LOOK_EVERY = 2.0
"""Seconds between two looks into the store."""


class Reconciling:
    """Of one session. Nothing is asked for longer than a backend can be expected to know a key."""

    def __init__(self, port: Port, rows: KeptRows | None) -> None:
        self._port = port
        self._rows = rows
        self._asking: dict[int, list[asyncio.Task[None]]] = {}

    def unknown(self, run: Run) -> None:
        """Nobody knows what came of a run."""
        if run.id in self._asking:
            return
        work = []
        if run.tool.options.reconcile is not None:
            work.append(self._ask(run, run.tool.options.reconcile))
        if self._rows is not None:
            work.append(self._look(run, self._rows))
        self._asking[run.id] = [self._port.spawn(one, f"reconcile {run.call.name}") for one in work]

    def known(self, run: int) -> None:
        """It is known what came of it."""
        own = asyncio.current_task()
        for task in self._asking.pop(run, ()):
            if task is not own:
                task.cancel()

    async def _ask(self, run: Run, reconcile: Reconcile) -> None:
        time = self._port.loop.time
        wait, until = FIRST_WAIT, time() + KEY_LIFETIME
        if run.task is not None:
            await asyncio.wait([run.task])
        while time() < until:
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)
            match await self._answer(run, reconcile):
                case Happened(output):
                    return self._found(run, True, run.rendered(output))
                case DidNotHappen():
                    return self._found(run, False, "")
        logger.warning("tool %r: nobody knows what came of it, and its backend is asked no more", run.call.name)

    async def _answer(self, run: Run, reconcile: Reconcile) -> Any:
        try:
            async with asyncio.timeout(ANSWER_LIMIT):
                answer = await reconcile(run.key, run.kwargs)
        except BaseException as error:
            pass_on(error)
            if isinstance(error, TimeoutError):
                logger.warning("reconcile of tool %r gave no answer; it is asked again", run.call.name)
            else:
                logger.exception("reconcile of tool %r raised; it is asked again", run.call.name)
            return None
        if answer is not None and not isinstance(answer, (Happened, DidNotHappen)):
            logger.error(
                "reconcile of tool %r: expected Happened, DidNotHappen or None, got %r", run.call.name, type(answer)
            )
            return None
        return answer

    async def _look(self, run: Run, rows: KeptRows) -> None:
        """Until somebody has said in the store what happened (`antiphon calls resolve`)."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            try:
                row = await rows.stored(run)
            except StoreError:
                continue
            if row is not None and row.state in (RowState.SUCCEEDED, RowState.FAILED):
                return self._found(run, row.state is RowState.SUCCEEDED, row.output)

    def _found(self, run: Run, happened: bool, output: str) -> None:
        self._port.report(OutcomeFound(run.id, happened, output))
