"""`Run`: one execution of a tool.

Above: the runner that executes it, and the tool's own context. Below: the port. A run outlives the call that it was
begun for: an equal call may take it over.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from antiphon.chat import FunctionCall
from antiphon.core.facts import Call, InterruptionsDisallowed, RunCancelRequested, RunResumed, RunSuspended, ToolUpdated
from antiphon.options import ToolPolicy
from antiphon.runtime.port import Port
from antiphon.tools.function import AnyFunctionTool, ToolError
from antiphon.tools.results import render_result

logger = logging.getLogger("antiphon")

CANCEL_GRACE = 1.0
"""Seconds that a cancelled tool has before it is abandoned."""


def _no_fence() -> None:
    """There is no store."""


@dataclass(slots=True, eq=False)
class Run:
    """One execution of a tool. `call` and `speech` are those it serves now: adoption changes them."""

    port: Port
    runs: Mapping[int, Run]
    """All that run in the call, itself included, oldest first."""
    id: int
    call: Call
    speech: int
    gen: int
    agent: str
    tool: AnyFunctionTool
    kwargs: dict[str, Any]
    max_result_chars: int
    """Longer results are cut, whatever the tool allows."""
    make_key: Callable[[], str]
    make_wish_key: Callable[[], str]
    do_once: Callable[[Run, str, Callable[..., Any]], Awaitable[Any]]
    begin_transaction: Callable[[Run], AbstractAsyncContextManager[Any]] | None
    """None: there is no store."""
    number: int = 0
    """Of a tool that writes: with the wish, what its key is made of. 0: it leaves no row in a store."""
    turn: int = 0
    """The turn of the caller whose wish it is, counted from 1 on."""
    policy: ToolPolicy = field(default_factory=ToolPolicy)
    fence: Callable[[], int | None] = _no_fence
    """The epoch under which its call is held; None: there is no store."""
    until: float = math.inf
    """When it has ended at the latest, by the clock of the loop. Later if it waits for the caller."""
    task: asyncio.Task[None] | None = None
    in_background: bool = False
    """It reported progress (`ctx.update`): its call has its output, its speech goes on without it."""
    protected: bool = False
    """It asked not to be interrupted."""
    released: bool = False
    """Its call was dropped: what it says is not spoken, what it returns is ignored."""
    kept: bool = False
    """Its speech is over: if its call was not dropped, it works in the background."""
    waits: int = 0
    """How many of its coroutines wait for the caller or for a speech of its own."""
    waited: bool = False
    """It has waited so: what it took says nothing about the next run."""
    entered: bool = False
    """The tool's function was entered."""
    ended: bool = False
    """The tool has returned. Tasks that it began and left behind are not it any more."""
    awaited: list[int] = field(default_factory=list)
    """Speeches that its coroutines wait for."""

    _item: FunctionCall | None = None
    made_key: str = ""
    """Its key, once somebody has asked for it."""
    committed: bool = False
    """What it wrote is there for good, together with its row."""

    @property
    def function_call(self) -> FunctionCall:
        """The call that it serves, as applications see it: one object, whoever asks."""
        if self._item is None or self._item.call_id != self.call.call_id:
            self._item = FunctionCall(call_id=self.call.call_id, name=self.call.name, arguments=self.call.arguments)
        return self._item

    @property
    def key(self) -> str:
        """What a backend may know its wish by: the same whatever call it serves. Made when first asked for."""
        if not self.made_key:
            self.made_key = self.make_key()
        return self.made_key

    @property
    def wish_key(self) -> str:
        """The same for all runs of one wish, those after one that failed included."""
        return self.make_wish_key()

    # -- what becomes of it

    def commits(self) -> None:
        """What it wrote is there for good."""
        self.committed = True

    def begin(self, task: asyncio.Task[None]) -> None:
        """It runs as this task."""
        self.task = task
        self._has_time()

    def _has_time(self) -> None:
        """Its time begins, or goes on: that of its policy at most, and what a cancelled tool has."""
        limit = self.policy.background_timeout if self.in_background else self.policy.timeout
        self.until = self.port.loop.time() + limit + CANCEL_GRACE

    def enters(self) -> None:
        """The tool's function is entered now."""
        self.entered = True

    def end(self) -> None:
        """The tool has returned, or was cancelled."""
        self.ended = True
        self.task = None  # its context knows the run, too: nothing is left for the garbage collector to find

    def adopted(self, call: Call, speech: int, gen: int) -> None:
        """It serves another call now."""
        self.call, self.speech, self.gen, self.released, self.kept = call, speech, gen, False, False

    def dropped(self) -> None:
        """It lost its call."""
        self.released = True

    def speech_over(self) -> None:
        """The speech that it serves was interrupted, or is done."""
        self.kept = True

    # -- what it asks for

    def protect(self) -> None:
        """Nothing that the caller says interrupts it from now on."""
        self.protected = True
        self.port.call_in_loop(lambda: self.port.report(InterruptionsDisallowed(self.id)))

    def progress(self, message: str, *, silent: bool, told: str | None) -> None:
        """It goes on in the background, and the model reads `message`; `told` is that in the tool's own words."""
        if not self.in_background:
            self.in_background = True
            self._has_time()
        self.port.report(ToolUpdated(self.id, message, silent, told))

    def cancel(self) -> None:
        """Have the core stop it."""
        self.port.call_in_loop(lambda: self.port.report(RunCancelRequested(self.id)))

    async def stopped(self) -> None:
        """Until the cancelled tool has ended or is abandoned."""
        if self.task is not None:
            await asyncio.wait([self.task], timeout=CANCEL_GRACE)

    # -- waiting

    @property
    def holds(self) -> bool:
        """Its speech, and with it the session, is not over before it has returned."""
        return not (self.in_background or self.released or self.kept or self.ended)

    def blocks(self, speech: int) -> bool:
        """A speech is not over before it has returned: its own, or one whose tool waits for its own, and so on."""
        holding: Run | None = self
        for _ in range(len(self.runs) + 1):
            if holding is None or not holding.holds:
                return False
            own = holding.speech
            if own == speech:
                return True
            holding = next((other for other in self.runs.values() if own in other.awaited), None)
        return False

    @contextmanager
    def awaiting(self, speech: int | None) -> Iterator[None]:
        """While the block runs the tool waits for a speech; None: for one of another session.

        In the background it may do so without being suspended.
        """
        if self.in_background:
            yield
            return
        own = [] if speech is None else [speech]
        self.awaited = self.awaited + own
        try:
            with self.suspended():
                yield
        finally:
            for one in own:
                self.awaited.remove(one)

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """While the block runs the tool waits for the caller: its clock stands, no turn interrupts it."""
        self.waits += 1
        self.waited = True
        if self.waits == 1:
            self.port.report(RunSuspended(self.id))
        try:
            yield
        finally:
            self.waits -= 1
            if self.waits == 0:
                self._has_time()
                self.port.report(RunResumed(self.id))

    def rendered(self, value: object) -> str:
        """A value as the model reads it, cut where the tool's limit or the session's is. Raises `ToolError`."""
        try:
            return render_result(value, max_chars=min(self.tool.options.max_result_chars, self.max_result_chars))
        except ToolError as error:
            logger.error("tool %r returned what no model can read: %s", self.call.name, error)
            raise
