"""When a service is told of, on a clock that stands still where a test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from antiphon.runtime.realtime.session_watch import SessionWatch


class Clock:
    """An event loop as far as a watch knows it: the time, and one timer."""

    def __init__(self) -> None:
        self.now = 0.0
        self.due = float("inf")
        self.callback: Callable[[], None] = lambda: None

    def time(self) -> float:
        return self.now

    def call_later(self, seconds: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        self.due, self.callback = self.now + seconds, callback
        return cast("asyncio.TimerHandle", self)

    def cancel(self) -> None:
        self.due = float("inf")

    def until(self, moment: float) -> None:
        """Time passes, and the timer is called whenever it is due."""
        while self.due <= moment:
            self.now, self.due = self.due, float("inf")
            self.callback()
        self.now = moment

    def stands_still_until(self, moment: float) -> None:
        """Time passes in which nothing is called."""
        self.now = moment
        if self.due <= moment:
            self.due = float("inf")
            self.callback()


class Service:
    """What is watched: it shows that it is there until `gone_at`."""

    def __init__(self, clock: Clock, *, gone_at: float) -> None:
        self.clock = clock
        self.gone_at = gone_at
        self.seen_at = 0.0
        self.told: list[tuple[str, float]] = []
        self.is_owed = False

    @property
    def silence(self) -> float | None:
        return self.clock.now - (self.seen_at or min(self.clock.now, self.gone_at))

    def fell_silent(self, seconds: float) -> None:
        self.told.append(("silent", self.clock.now))

    def hung(self, seconds: float) -> None:
        self.told.append(("hung", self.clock.now))


def watched(*, gone_at: float) -> tuple[Clock, Service, SessionWatch]:
    clock = Clock()
    service = Service(clock, gone_at=gone_at)
    watch = SessionWatch(cast("Any", clock), 6.0, service)
    watch.stir()
    return clock, service, watch


def test_a_service_that_is_gone_is_told_and_given_up() -> None:
    clock, service, _ = watched(gone_at=4.0)
    clock.until(20.0)
    assert service.told == [("silent", 6.5), ("hung", 10.0)]


def test_a_service_that_stays_is_never_told() -> None:
    clock, service, _ = watched(gone_at=float("inf"))
    clock.until(1_000.0)
    assert service.told == []


def test_a_program_that_stood_still_itself_reads_what_came_before_it_blames_the_service() -> None:
    clock, service, _ = watched(gone_at=1.0)
    clock.until(2.0)
    clock.stands_still_until(12.0)
    assert service.told == []
    clock.until(12.2)
    service.seen_at = 12.2  # its answer to the last ping, read now
    clock.until(14.0)
    assert service.told == []
    clock.until(20.0)
    assert service.told == [("silent", 14.7), ("hung", 18.2)]
