"""What tools do in the place of running: return, refuse, break, take their time, never come back.

Above: cases and scenarios. Below: `mock_tools`, which puts functions in the place of tools, for one session.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from antiphon.agent import Agent
from antiphon.evaluation.reading import Strict
from antiphon.run_result import mock_tools
from antiphon.session import AgentSession
from antiphon.tools.function import ToolError


def _as_range(said: Any) -> Any:
    """A number is a range, too."""
    return (said, said) if isinstance(said, (int, float)) and not isinstance(said, bool) else said


Moment = Annotated[float, Field(ge=0, le=86_400)]
"""Seconds."""
Seconds = Annotated[tuple[Moment, Moment], BeforeValidator(_as_range)]
"""So many, or [least, most]: then the seed says how many."""


class Mock(Strict):
    """One tool. Without a key of these, a value in a file is what the tool returns."""

    returns: Any = None
    """What comes back."""
    error: str | None = None
    """It refuses, as with `ToolError`, in these words."""
    crash: str | None = None
    """It breaks: it raises what is no `ToolError`."""
    chance: float = Field(default=1.0, ge=0, le=1)
    """How often `error` or `crash` happens; else it returns."""
    delay: Seconds = (0.0, 0.0)
    """Seconds until then."""
    hangs: bool = False
    """It never comes back."""
    each: tuple[Mock, ...] = ()
    """Call by call; the last one stays."""

    @model_validator(mode="before")
    @classmethod
    def _may_be_a_value(cls, said: Any) -> Any:
        if isinstance(said, Mapping) and said and set(said) <= set(cls.model_fields):
            return said
        return said if isinstance(said, Mock) else {"returns": said}

    @property
    def may_crash(self) -> bool:
        """Whether it breaks, at some call."""
        return self.crash is not None or any(one.may_crash for one in self.each)

    def function(self, rng: random.Random) -> Callable[[], Awaitable[Any]]:
        """What is called in the tool's place."""
        calls = 0

        async def call() -> Any:
            nonlocal calls
            one = self.each[min(calls, len(self.each) - 1)] if self.each else self
            calls += 1
            return await one.answer(rng)

        return call

    async def answer(self, rng: random.Random) -> Any:
        """Do once what it does."""
        if (seconds := rng.uniform(*sorted(self.delay))) > 0:
            await asyncio.sleep(seconds)
        if self.hangs:
            await asyncio.get_running_loop().create_future()
        if self.chance >= 1 or rng.random() < self.chance:
            if self.error is not None:
                raise ToolError(self.error)
            if self.crash is not None:
                raise RuntimeError(self.crash)
        return self.returns


def put_mocks(session: AgentSession[Any], mocks: Mapping[str, Mock], rng: random.Random) -> None:
    """Have the tools of every agent of this session do what these say."""
    if not mocks:
        return
    functions = {name: mock.function(rng) for name, mock in mocks.items()}
    classes: set[type[Any]] = {Agent, *_subclasses(Agent)}
    for cls in classes:
        mock_tools(cls, functions, session=session)


def _subclasses(cls: type[Any]) -> Iterator[type[Any]]:
    for one in cls.__subclasses__():
        yield one
        yield from _subclasses(one)
