"""A call, tried again where its tool may be.

Above: the tool runner. Below: the tool, and `retries`, which says after what and how often. The core knows nothing of
attempts: to it they are one run, within one time limit. What was begun once is not said twice: an attempt that reported
progress, or had the caller speak, is the last.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from antiphon.errors import pass_on
from antiphon.runtime.call_hooks import Reached
from antiphon.runtime.kept_rows import NotStarted
from antiphon.runtime.run import Run
from antiphon.tools.retries import attempts_of, is_named, is_tried_again, wait_before
from antiphon.tools.tool import OutcomeUnknown, StopResponse, ToolError

logger = logging.getLogger("antiphon")


class Attempts:
    """The attempts of one run. `limit`: seconds that it has in all."""

    def __init__(self, run: Run, clock: Callable[[], float], limit: float) -> None:
        self._run = run
        self._clock = clock
        self._until = clock() + limit
        self._left = attempts_of(run.tool.options)
        self._tried = 0
        self._in_doubt = False
        """An attempt of a write failed, and nobody knows whether it did what it was for: no later one can tell."""

    async def value(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """What the tool returns. Raises what its last attempt raised."""
        while True:
            self._tried += 1
            try:
                return await call()
            except (StopResponse, OutcomeUnknown, NotStarted):
                raise
            except Exception as error:
                if not self._may_go_on(error):
                    raise
                wait = wait_before(self._tried + 1)
                logger.info("tool %r raised %r; it is tried again in %g s", self._run.call.name, error, wait)
            await asyncio.sleep(wait)

    def reached(self, error: BaseException) -> Reached:
        """How far a call came whose last attempt raised this."""
        if isinstance(error, StopResponse) or self._run.committed:
            return Reached.DONE
        if self._in_doubt or isinstance(error, OutcomeUnknown) or not isinstance(error, Exception):
            return Reached.UNKNOWN
        did_nothing = isinstance(error, ToolError) or self._asked(is_named, error)
        return Reached.FAILED if did_nothing else Reached.UNKNOWN

    def _may_go_on(self, error: Exception) -> bool:
        run, options = self._run, self._run.tool.options
        is_last = self._tried >= self._left or run.waited or run.in_background or run.committed
        if is_last or not self._asked(is_tried_again, error):
            return False
        if self._clock() + wait_before(self._tried + 1) >= self._until:
            return False
        if options.writes and not self._asked(is_named, error):
            self._in_doubt = True
        return True

    def _asked(self, question: Callable[[Any, Exception], bool], error: Exception) -> bool:
        """What `retry_on` says of an error: it may be the application's function."""
        try:
            return question(self._run.tool.options, error)
        except BaseException as failure:
            pass_on(failure)
            logger.exception("retry_on of tool %r raised", self._run.call.name)
            return False
