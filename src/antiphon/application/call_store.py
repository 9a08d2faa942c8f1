"""Where the call of a session is kept: a store of the application's, or one that is opened and closed for it.

Above: the session. Below: the contract of stores; `resuming`, for a call that began in another process.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from antiphon.agent import Agent
from antiphon.application.userdata import FieldsCodec, userdata_of
from antiphon.errors import UsageError, pass_on
from antiphon.events import CloseEvent
from antiphon.language import Language
from antiphon.options import NotGivenOr, SessionOptions, is_given
from antiphon.protocols import UserdataCodec, call_store
from antiphon.store import Store, open_store

if TYPE_CHECKING:
    from antiphon.application.earlier_calls import EarlierCalls
    from antiphon.application.host import SessionHost
    from antiphon.application.models import Models
    from antiphon.application.resuming import KeptCall, KnownAgents
    from antiphon.runtime.driver import Driver
    from antiphon.runtime.keeping import Keeping
    from antiphon.session_api import Session

logger = logging.getLogger("antiphon")

END_LIMIT = 30.0
"""Seconds for which those who watch the end of a call are waited for. What they do goes on behind that."""


class CallStore:
    """The store of one session. `given`: it, or its address; None: none; not given: the command's that runs it.

    `agents`: those that may have been in charge of a call that goes on here; `codec`: how its userdata is kept.
    """

    __slots__ = (
        "_agents",
        "_by_turns",
        "_caller",
        "_codec",
        "_earlier",
        "_endings",
        "_given",
        "_keeping",
        "_own",
        "_resumed",
        "store",
    )

    def __init__(
        self,
        given: NotGivenOr[Store | str | None],
        agents: KnownAgents = (),
        codec: UserdataCodec[Any] | None = None,
    ) -> None:
        self._given = given
        self.store = given if isinstance(given, Store) else None
        """Once it is open. None: the call is kept nowhere but in the memory of the process."""
        self._own: Store | None = None
        self._agents = agents
        self._codec = codec or FieldsCodec()
        self._by_turns = False
        self._caller = ""
        self._earlier: EarlierCalls | None = None
        self._resumed: KeptCall | None = None
        self._keeping: Keeping | None = None
        self._endings: list[Callable[[CloseEvent], Awaitable[None]]] = []

    async def open(self) -> Store | None:
        """Open it, if there is one. A second time: no effect. Raises `StoreError`."""
        if not is_given(self._given):
            find = call_store.get()
            self._given = None if find is None else await find()
        if isinstance(self._given, str) and self._own is None:
            self._own = self.store = await open_store(self._given).__aenter__()
        elif isinstance(self._given, Store):
            self.store = self._given
        return self.store

    # -- a call that began in another process

    @property
    def resumed(self) -> str | None:
        """The id of the call that goes on here."""
        return None if self._resumed is None else self._resumed.stored.info.id

    async def take_up(
        self, call: str, session: Session[Any], *, agents: KnownAgents = (), first: Agent | None = None
    ) -> Agent:
        """Hold a call whose process has ended. Returns the agent that goes on with it: `first` if none is known by id.

        Raises `UsageError`, `LeaseHeld` and `StoreError`; then nothing is held.
        """
        from antiphon.application.resuming import Candidates, held_call

        try:
            store = await self._needed()
            candidates = Candidates(first, agents or self._agents)
            async with held_call(store, call) as kept:
                agent = await kept.taken_up_by(candidates)
                if (given := userdata_of(session)) is not None:
                    session.userdata = kept.userdata(self._codec, given)
                self._resumed = kept
                return agent
        except BaseException:
            await self._close()
            raise

    async def rings_again(self, caller: str, window: float, agents: KnownAgents) -> Agent:
        """A new call of somebody who may have called before. Returns the agent that it begins with, who knows of it.

        Raises `UsageError` and `StoreError`.
        """
        from antiphon.application.earlier_calls import earlier_calls, first_of

        if not caller:
            raise UsageError("session.resume: expected the id of a call (antiphon calls), or caller=, got neither")
        try:
            agent = first_of(agents or self._agents)
            if agent is None:
                raise UsageError("session.resume: expected an agent or more, got none. Give agents=[...].")
            self._caller, self._earlier = caller, await earlier_calls(await self._needed(), caller, window)
            await self._earlier.told_to(agent)
            return agent
        except BaseException:
            await self._close()
            raise

    async def _needed(self) -> Store:
        store = await self.open()
        if store is None:
            raise UsageError("session.resume: expected a store. Give AgentSession(store=) the one that the call is in.")
        return store

    def language_before(self, now: Language, models: Models) -> Language | None:
        """The language that the call was in before it went on here, if it was changed. None: the session's own."""
        if self._resumed is None:
            return None
        from antiphon.application.exchange import compare, language_before

        kept = self._resumed.at_work.models
        compare(kept, models)
        return language_before(kept.get("language", ""), now)

    def heard_before(self, options: SessionOptions) -> SessionOptions:
        """The options, with what the caller heard of `must_hear` before the call went on here."""
        if self._resumed is None:
            return options
        heard = {line.text: line for line in self._resumed.at_work.heard_lines}
        return replace(options, must_hear=tuple(heard.get(line.text, line) for line in options.must_hear))

    def go_on(self, session: Session[Any], host: SessionHost, driver: Driver) -> None:
        """What the other process left is taken over, if there was one. It comes before all that happens here."""
        kept = self._resumed
        if kept is not None and self._keeping is not None:
            line = "" if self._by_turns else session.language.resumed_line
            host.take_over(kept, self._keeping, driver, line)
            if kept.owes_turn:
                session.generate_reply()

    # -- while it goes on

    async def hold(self, host: SessionHost, call: str, *, by_turns: bool, parts: Mapping[str, bytes]) -> Keeping | None:
        """Hold the call; None: there is no store. `by_turns`: it is no news that it goes on in another process.

        `parts` are kept with it, for whoever goes on with it. Raises `LeaseHeld`, `StoreError`.
        """
        self._by_turns = by_turns
        store = await self.open()
        if store is None:
            return None
        stored = None if self._resumed is None else self._resumed.stored
        self._keeping = host.keeping(store, call, stored, self._caller, by_turns=by_turns)
        for name, data in parts.items():
            self._keeping.put(name, data)
        await self._keeping.open()
        return self._keeping

    def watch(self, host: SessionHost, driver: Driver) -> None:
        """Keep what the application wants to be kept of its own."""
        if self._keeping is not None:
            host.keep_snapshots(self._keeping, self._codec, driver)
        if self._earlier is not None and self._earlier.rows:
            from antiphon.application.earlier_calls import Telling

            driver.observe(Telling(driver.port.mark, self._earlier.close, driver.port.spawn))

    async def give_back(self) -> None:
        """The call does not begin here: nothing stays held, and any process may try it."""
        if self._keeping is not None:
            await self._keeping.give_back()
        elif self._resumed is not None and self.store is not None:
            self.store.release(self._resumed.lease)
        self._keeping = self._resumed = None
        await self._close()

    def at_end(self, callback: Callable[[CloseEvent], Awaitable[None]]) -> None:
        """Await `callback(event)` when the call is over and all of it is kept, while its store is still open."""
        self._endings.append(callback)

    async def aclose(self, tell: Callable[[], CloseEvent]) -> None:
        """The call is over. `tell` says so, once all of it is kept."""
        if self._keeping is not None:
            await self._keeping.aclose()
        event, endings = tell(), self._endings
        self._endings = []
        if endings:
            watching = asyncio.ensure_future(_await_each(endings, event))
            if not (await asyncio.wait([watching], timeout=END_LIMIT))[0]:
                logger.warning("who watches the end of a call took longer than %g s; it is not waited for", END_LIMIT)
        await self._close()

    async def _close(self) -> None:
        """Close it if it was opened here. Behind that, `open` opens it anew."""
        own, self._own = self._own, None
        if own is not None:
            await own.aclose()


async def _await_each(endings: Sequence[Callable[[CloseEvent], Awaitable[None]]], event: CloseEvent) -> None:
    for callback in endings:
        try:
            await callback(event)
        except BaseException as error:
            pass_on(error)
            logger.exception("who watches the end of a call raised")
