"""Who waits until the session rests: `wait_for_idle`, and the `session.run()` that gathers what happens until then.

Above: the session. Below: the driver, which knows whether it is idle.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from antiphon.application.surroundings import Surroundings
from antiphon.chat import AgentHandoff, ChatItem, FunctionCall
from antiphon.run_result import RunResult


class Rest:
    """Those who wait, in one session."""

    def __init__(self, here: Surroundings) -> None:
        self._here = here
        self._run: RunResult | None = None
        self._waiters: list[asyncio.Future[None]] = []
        self._told: list[str] = []
        """Ids of calls that a run was told of before they entered the history."""

    async def wait(self) -> None:
        """Until nothing is owed, said or done. Work in the background does not count."""
        while not self._here.running.idle:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter

    def look(self) -> None:
        """Whether the session rests now."""
        if self._here.driver is not None and self._here.driver.idle:
            self.came()

    def came(self) -> None:
        """It rests: nobody waits any more."""
        run, self._run = self._run, None
        if run is not None:
            run.finish()
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    # -- a run

    @property
    def is_awaited(self) -> bool:
        """A run goes on."""
        return self._run is not None

    def run(self, user_input: str | None = None) -> RunResult:
        """A run that gathers what happens from now on, until the session rests."""
        self._run = RunResult(user_input=user_input)
        return self._run

    def gathers(self, item: ChatItem, agents: Mapping[str, Any]) -> None:
        """Something entered the history."""
        if self._told and isinstance(item, FunctionCall) and item.call_id in self._told:
            self._told.remove(item.call_id)
        elif self._run is not None:
            self._run.record(item, agents)

    def calls(self, call: FunctionCall, agents: Mapping[str, Any]) -> None:
        """A tool waits for an agent that is lent the floor: its call enters the history when it has returned."""
        if self._run is not None and call.call_id not in self._told:
            self._told.append(call.call_id)
            self._run.record(call, agents)

    def hands_over(self, old: str, new: str, agents: Mapping[str, Any]) -> None:
        """The floor was lent, or given back. The history does not say so."""
        if self._run is not None:
            self._run.record(AgentHandoff(old_agent_id=old, new_agent_id=new), agents)

    def concludes(self, outcome: Any) -> None:
        """A task was completed."""
        if self._run is not None:
            self._run.conclude(outcome)
