"""The heartbeat that all sessions share."""

from __future__ import annotations

import asyncio

import pytest

from antiphon.runtime.ticker import PERIOD, Ticker
from antiphon.testing import now, run_virtual


def test_listeners_are_called_at_every_period() -> None:
    async def main() -> None:
        times: list[float] = []
        ticker = Ticker.of(asyncio.get_running_loop())
        listener = lambda: times.append(now())  # noqa: E731
        ticker.add(listener)
        await asyncio.sleep(5.5 * PERIOD)
        ticker.remove(listener)
        assert times == pytest.approx([PERIOD * n for n in range(1, 6)])

    run_virtual(main())


def test_it_stops_with_its_last_listener() -> None:
    async def main() -> None:
        times: list[float] = []
        loop = asyncio.get_running_loop()
        first, second = (lambda: times.append(1)), (lambda: times.append(2))
        Ticker.of(loop).add(first)
        Ticker.of(loop).add(second)
        Ticker.of(loop).remove(first)
        await asyncio.sleep(1.5 * PERIOD)
        Ticker.of(loop).remove(second)
        await asyncio.sleep(5 * PERIOD)
        assert times == [2]

    run_virtual(main())


def test_all_sessions_of_a_loop_share_one() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        ticker = Ticker.of(loop)
        assert Ticker.of(loop) is ticker
        ticker.remove(print)
        assert Ticker.of(loop) is not ticker, "one that nobody listens to is given up"

    run_virtual(main())


def test_a_listener_that_raises_keeps_nobody_else_from_being_called(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        times: list[float] = []
        ticker = Ticker.of(asyncio.get_running_loop())

        def broken() -> None:
            raise ValueError("oops")

        listener = lambda: times.append(now())  # noqa: E731
        ticker.add(broken)
        ticker.add(listener)
        await asyncio.sleep(1.5 * PERIOD)
        ticker.remove(broken)
        ticker.remove(listener)
        assert len(times) == 1

    run_virtual(main())
    assert "oops" in caplog.text


def test_ticks_missed_by_a_blocked_loop_are_not_made_up_for() -> None:
    async def main() -> None:
        times: list[float] = []
        loop = asyncio.get_running_loop()
        ticker = Ticker.of(loop)
        listener = lambda: times.append(now())  # noqa: E731
        ticker.add(listener)
        loop._virtual.now += 10 * PERIOD  # type: ignore[attr-defined]  # the loop was blocked for so long
        await asyncio.sleep(2.5 * PERIOD)
        ticker.remove(listener)
        assert len(times) <= 4

    run_virtual(main())
