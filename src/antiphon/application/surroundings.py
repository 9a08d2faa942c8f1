"""Where the parts of a session's host find the session and its driver.

Above: each part of the host. Below: the session, which keeps the host, and the driver, which is given proxies of its
parts: so a call that is over is free at once.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from typing_extensions import TypeVarTuple, Unpack

from antiphon.errors import AntiphonError, SessionClosed
from antiphon.events import ErrorEvent, RecordingHushedEvent
from antiphon.runtime.driver import Driver
from antiphon.session_api import Session, current_session
from antiphon.vault import hide

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Surroundings:
    """The session, and its driver once there is one."""

    def __init__(self, session: Session[Any]) -> None:
        self._session = weakref.ref(session)
        self.listened: Callable[[object], bool] = session.callbacks.__contains__
        """Whether anybody listens to events of this name."""
        self.driver: Driver | None = None
        self._hushed = (False, False)
        """The caller's sound, and the agent's, hold what must not be recorded."""

    @property
    def session(self) -> Session[Any]:
        """The session. It keeps its host, and is kept by its own task while it runs."""
        session = self._session()
        if session is None:
            raise SessionClosed("the session has ended, and nobody kept it; keep the AgentSession you want to ask")
        return session

    @property
    def running(self) -> Driver:
        """The driver. Only asked while there is one."""
        assert self.driver is not None
        return self.driver

    def begin(self, make: Callable[[], Driver]) -> Driver:
        """Make the driver. All that it starts belongs to the session."""
        token = current_session.set(self.session)
        try:
            self.driver = make()
        finally:
            current_session.reset(token)
        return self.driver

    def spawn(self, work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        """Run `work` as a task of the session."""
        return self.running.port.spawn(work, name)

    def tell(self, name: str, event: Callable[[Unpack[Ts]], object], *of: *Ts) -> None:
        """Tell those who listen to events of this name, if anybody does. `event` makes it `of` these."""
        if self.listened(name) and (session := self._session()) is not None:
            session.emit(name, event(*of))

    def hushed(self, caller: bool, agent: bool) -> None:
        """Whose sound has something in it that must not be recorded."""
        self._hushed = (caller, agent)
        self.tell_hushed()

    def must_hear_changed(self) -> None:
        """More, or all, was heard of what must be heard before anything is recorded."""
        if all(line.heard_at is not None for line in self.running.must_hear):
            self.tell_hushed()

    def hush_until_heard(self) -> None:
        """Nothing is recorded yet: who records hears of it before there is any sound, or when they begin to listen."""
        near = weakref.proxy(self)
        self.session.when_listened("recording_hushed", lambda: near.tell_hushed())

    def tell_hushed(self) -> None:
        """Tell who records whose sound must not be recorded from now on."""
        caller, agent = self._hushed
        waits = self.driver is not None and any(line.heard_at is None for line in self.driver.must_hear)
        self.tell("recording_hushed", lambda: RecordingHushedEvent(caller=caller or waits, agent=agent or waits))

    def failed(self, error: BaseException, source: Any) -> None:
        """Something failed and the session goes on."""
        self.tell("error", lambda: ErrorEvent(error=_masked(error), source=source))


def _masked(error: BaseException) -> BaseException:
    """The error; where it says what must not be shown, its words alone, masked."""
    said = str(error)
    shown = hide(said)
    return error if shown == said else AntiphonError(f"{type(error).__name__}: {shown}")
