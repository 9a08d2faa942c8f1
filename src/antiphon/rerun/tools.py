"""The tools of a call that is made again: what they gave, they give again. Nothing is run that could book anything.

A call that is the same by name and arguments gets the recorded result, after as long as it took then; what the tool had
the session say, it has it say again. Any other call is refused, in words that the model reads. Tools that change the
call itself (hand-offs, tasks, its end) are run, unless they say that they write.

Above: `running`. Below: `stand_in_for_tools`, and the recorded results.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from antiphon.rerun.call import Gives, Spoke
from antiphon.run_context import RunContext
from antiphon.tools.function import OutcomeUnknown, ToolError

NOT_RECORDED = (
    "`{name}` was not run: this call was not made in the recording, and a replay runs no tools (--run-tools)."
)


class Tools(Mapping[str, Callable[..., Any]]):
    """What stands in for tools, by name. `runs`: names (or patterns) of those that run for real."""

    def __init__(self, given: Sequence[Gives], *, runs: Iterable[str] = ()) -> None:
        self._given = list(given)
        self._used: set[int] = set()
        self._runs = tuple(runs)
        self._functions: dict[str, Callable[..., Any]] = {}
        self.not_recorded: list[str] = []
        """Calls that the recording does not have."""

    def __contains__(self, name: object) -> bool:
        return not any(fnmatchcase(str(name), pattern) for pattern in self._runs)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        if name not in self:
            raise KeyError(name)
        if name not in self._functions:
            self._functions[name] = self._function(name)
        return self._functions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __bool__(self) -> bool:
        return True  # it has a function for whatever is asked for

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = None  # type: ignore[assignment]

    def _function(self, name: str) -> Callable[..., Any]:
        async def call(replayed_ctx: RunContext[Any]) -> Any:
            given = self._find(name, replayed_ctx.function_call.arguments)
            if given is None:
                self.not_recorded.append(f"{name}({replayed_ctx.function_call.arguments})")
                raise ToolError(NOT_RECORDED.format(name=name))
            return await _again(given, replayed_ctx)

        return call

    def _find(self, name: str, arguments: str) -> Gives | None:
        """The result of this very call: the next one, or the last that there was."""
        passed = _passed(arguments)
        same = [n for n, one in enumerate(self._given) if one.tool == name and dict(one.arguments) == passed]
        if not same:
            return None
        number = next((n for n in same if n not in self._used), same[-1])
        self._used.add(number)
        return self._given[number]


async def _again(given: Gives, ctx: RunContext[Any]) -> Any:
    loop = asyncio.get_running_loop()
    began = loop.time()
    for one in given.spoke:
        if (left := began + one.after - loop.time()) > 0:
            await asyncio.sleep(left)
        await _say_again(one, ctx)
    if given.never:
        await loop.create_future()
    if (left := began + given.after - loop.time()) > 0:
        await asyncio.sleep(left)
    output = given.output or ""
    match given.failed:
        case "refused":
            raise ToolError(output)
        case "unknown":
            raise OutcomeUnknown(output)
        case "broke":
            raise RuntimeError("the tool raised, as in the recorded call")
        case _:
            return given.output


async def _say_again(spoke: Spoke, ctx: RunContext[Any]) -> None:
    session: Any = ctx.session
    update = getattr(ctx, "update", None)
    if spoke.is_update:
        if update is not None:
            await update(spoke.text, silent=not spoke.interruptible, _template="{message}")
        return
    if spoke.is_reply:
        more = {} if spoke.instructions is None else {"instructions": spoke.instructions}
        handle = session.generate_reply(allow_interruptions=spoke.interruptible, **more)
    else:
        handle = session.say(spoke.text, allow_interruptions=spoke.interruptible)
    if spoke.waited:
        await handle


def _passed(arguments: str) -> dict[str, Any]:
    try:
        passed = json.loads(arguments or "{}")
    except ValueError:
        return {"raw": arguments}
    return passed if isinstance(passed, dict) else {"raw": arguments}
