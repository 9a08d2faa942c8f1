"""Where the tools of a call do what they do: each start is counted, and has its faults.

What a start came to has a word of its own, its receipt: so it shows what was told, to the model and to the caller.

Above: a call with faults, and the worlds that make tools. Below: tools.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from antiphon.run_context import RunContext
from antiphon.testing.chaos.errand import NOTE, Bench, Key, Wish
from antiphon.tools.function import ToolError, function_tool

if TYPE_CHECKING:
    from collections.abc import Callable

    from antiphon.testing.chaos.errand import World
    from antiphon.testing.chaos.faults import Faults, Kind
    from antiphon.testing.chaos.keeping import FaultyStore
    from antiphon.tools.function import RawFunctionTool

SLOW: Final = 8.0
"""Seconds that a slow tool takes."""
LATE: Final = 90.0
"""Seconds after which a tool returns for which nobody waits any more."""
LIMIT: Final = 60.0
"""Seconds that a tool has in the background."""
USUAL: Final = 0.2
"""Seconds that a tool takes before its effect, and after it."""
_SHOWN = 200


@dataclass(slots=True)
class Start:
    """One start of a tool."""

    number: int
    """Among all of the call, from 1 on."""
    wish: Wish
    """What it does."""
    writes: bool
    done: bool = False
    """It had its effect."""
    call_id: str = ""
    """Of the model's call; "": it is not known."""
    is_written: bool = True
    """A store knew that it was about to begin, if there is one."""
    over: bool = False
    """It returned, raised or was cancelled."""
    outcome: str = ""
    """The word by which what came of it is told; "": nobody can know."""

    @property
    def key(self) -> Key:
        """What it does, to be compared."""
        return self.wish.key

    def was_written(self, is_written: bool) -> None:
        """Whether the store knew of it when it began."""
        self.is_written = is_written

    def had_its_effect(self) -> None:
        """What it does was done."""
        self.done = True

    def came_to(self, what: str) -> str:
        """It is known what came of it. Returns the word for that."""
        self.outcome = f"{what}{self.number}"
        return self.outcome

    def forgotten(self) -> None:
        """Its process ended before what came of it was written down: nobody can know."""
        self.outcome = ""

    def ended(self) -> None:
        """Nothing of it works any more."""
        self.over = True


class CountingBench(Bench):
    """Performs the calls of tools in a world, and keeps book.

    `killed()` ends its process. `before`: the bench of the process before, whose book goes on.
    """

    def __init__(
        self,
        world: World,
        faults: Faults,
        store: FaultyStore | None = None,
        *,
        killed: Callable[[], None] | None = None,
        before: CountingBench | None = None,
    ) -> None:
        self.world = world
        self.store = store
        self.starts: list[Start] = [] if before is None else before.starts
        """In order."""
        self.effects: list[Start] = [] if before is None else before.effects
        """Those that had their effect, in the order of effects."""
        self._faults = faults
        self._killed = killed
        self._own: list[Start] = []
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_gone = False

    def stops(self) -> None:
        """Its process was killed: nothing of it goes on."""
        self._is_gone = True
        for task in self._tasks:
            task.cancel()

    def forgets(self, settled: Collection[str]) -> None:
        """Its process has ended, and only of these calls it stands in the store what came of them."""
        for start in self._own:
            if start.writes and start.call_id not in settled:
                start.forgotten()

    def _is_alive(self) -> None:
        if self._is_gone:
            raise asyncio.CancelledError

    async def perform(self, tool: str, arguments: Mapping[str, Any], *, call_id: str = "") -> str:
        self._is_alive()
        own = {name: value for name, value in arguments.items() if name != NOTE}
        start = Start(len(self.starts) + 1, Wish(tool, own), self.world.writes(tool), call_id=call_id)
        self.starts.append(start)
        self._own.append(start)
        if start.writes and self.store is not None:
            start.was_written(await self.store.starts() >= sum(one.writes for one in self.starts))
        kinds = self._faults.meet("start")
        for kind in kinds:
            self._faults.has_come(kind, start.number)
        task = asyncio.current_task()
        assert task is not None, "tools run in tasks"
        self._tasks.add(task)
        try:
            return await self._run(start, kinds)
        finally:
            self._tasks.discard(task)
            start.ended()

    async def _run(self, start: Start, kinds: tuple[Kind, ...]) -> str:
        await asyncio.sleep(SLOW if "slow" in kinds else USUAL)
        self._fail_before(start, kinds)
        self._is_alive()
        start.had_its_effect()
        self.effects.append(start)
        value = await self.world.act(start.wish.tool, start.wish.arguments)
        await asyncio.sleep(USUAL)
        await self._fail_after(kinds)
        self._is_alive()
        return f"{start.came_to('receipt')} {json.dumps(value, default=str)[:_SHOWN]}"

    def _fail_before(self, start: Start, kinds: tuple[Kind, ...]) -> None:
        if "killed-before" in kinds and self._killed is not None:
            self._killed()
        if "refused" in kinds:
            raise ToolError(f"{start.came_to('refusal')}: nothing was done. Call again.")
        if "crashed" in kinds:
            raise RuntimeError("the connection was lost")

    async def _fail_after(self, kinds: tuple[Kind, ...]) -> None:
        if "killed-after" in kinds and self._killed is not None:
            self._killed()
        if "crashed-after" in kinds:
            raise RuntimeError("the answer was lost")
        if "timed-out" in kinds:
            await asyncio.get_running_loop().create_future()
        if "late" in kinds:
            await _not_to_be_stopped(LATE)

    def tool(self, name: str, *, description: str, parameters: Mapping[str, Any], effect: str) -> RawFunctionTool[Any]:
        async def run(ctx: RunContext[Any], raw_arguments: dict[str, object]) -> str:
            return await self.perform(name, raw_arguments, call_id=ctx.function_call.call_id)

        properties = {**parameters.get("properties", {}), NOTE: {"type": "string", "description": "Anything else."}}
        schema = {"name": name, "description": description, "parameters": {**parameters, "properties": properties}}
        return _defined(run, schema, effect)


async def _not_to_be_stopped(seconds: float) -> None:
    """As long as it takes: what was sent off goes on, whoever stops waiting for it."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        await asyncio.sleep(until - loop.time())


def _defined(run: Callable[..., Any], schema: dict[str, Any], effect: str) -> RawFunctionTool[Any]:
    options: dict[str, Any] = {"raw_schema": schema, "effect": effect, "background_timeout": LIMIT}
    if effect != "reads":
        options["identity"] = _wish_of
    if effect == "irreversible":
        options["confirm"] = False  # nobody is asked: what is proven is the ledger below the gate
    made: RawFunctionTool[Any] = function_tool(run, **options)
    return made


def _wish_of(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in arguments.items() if name != NOTE}
