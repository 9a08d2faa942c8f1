"""Virtual time: exact, fast, and unforgiving to what would hang or leak."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
import time

import pytest

from antiphon.errors import UsageError
from antiphon.testing import CallbackFailed, Deadlock, LeakedTasks, OutOfTime, now, run_virtual, wait_until


def test_sleeping_moves_the_clock_by_exactly_that() -> None:
    async def naps() -> list[float]:
        times = []
        for delay in (0.5, 60.0, 0.02):
            await asyncio.sleep(delay)
            times.append(now())
        return times

    assert run_virtual(naps()) == [0.5, 60.5, 60.52]


def test_an_hour_of_ticks_takes_much_less_than_a_hundredth_of_it() -> None:
    async def ticks() -> None:
        for _ in range(10_000):
            await asyncio.sleep(0.02)

    began = time.process_time()
    run_virtual(ticks())
    assert time.process_time() - began < 2.0


def test_timers_fire_in_order_across_tasks() -> None:
    async def speak(log: list[str], name: str, delay: float) -> None:
        await asyncio.sleep(delay)
        log.append(name)

    async def chorus() -> list[str]:
        log: list[str] = []
        async with asyncio.TaskGroup() as group:
            for name, delay in [("c", 3), ("a", 1), ("b", 2)]:
                group.create_task(speak(log, name, delay))
        return log

    assert run_virtual(chorus()) == ["a", "b", "c"]


def test_an_exception_comes_through() -> None:
    async def fail() -> None:
        await asyncio.sleep(1)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run_virtual(fail())


def test_a_deadlock_names_the_tasks_and_where_they_wait() -> None:
    async def wait_for_godot() -> None:
        await asyncio.get_running_loop().create_future()

    async def play() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(wait_for_godot(), name="vladimir")

    with pytest.raises(Deadlock, match=r"(?s)vladimir waits in .*wait_for_godot .*test_clock.py"):
        run_virtual(play())


@pytest.mark.parametrize("ignored", [1, 5])
def test_a_task_that_ignores_cancellation_does_not_hide_the_deadlock(ignored: int) -> None:
    async def stubborn() -> None:
        for _ in range(ignored):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.get_running_loop().create_future()

    with pytest.raises(Deadlock, match=r"main waits in .*stubborn"):
        run_virtual(stubborn())


def test_a_deadlock_tells_what_failed_before_it() -> None:
    async def call() -> None:
        asyncio.get_running_loop().call_later(0.1, [].pop)
        await asyncio.get_running_loop().create_future()

    with pytest.raises(Deadlock, match=r"Before that, .*pop from empty list"):
        run_virtual(call())


def test_the_time_limit_is_virtual() -> None:
    async def tick() -> None:
        for _ in itertools.count():
            await asyncio.sleep(0.02)

    with pytest.raises(OutOfTime, match="10 s of virtual time"):
        run_virtual(tick(), timeout=10)


def test_spinning_without_time_is_found() -> None:
    async def spin() -> None:
        for _ in itertools.count():
            await asyncio.sleep(0)

    with pytest.raises(OutOfTime, match="time does not pass"):
        run_virtual(spin())


def test_a_leaked_task_is_named() -> None:
    async def leak() -> set[asyncio.Task[None]]:
        return {asyncio.create_task(asyncio.sleep(5), name="the leak")}

    with pytest.raises(LeakedTasks, match="the leak"):
        run_virtual(leak())


def test_a_callback_that_raises_fails_the_run() -> None:
    async def call() -> None:
        asyncio.get_running_loop().call_later(0.1, [].pop)
        await asyncio.sleep(1)

    with pytest.raises(CallbackFailed, match="pop from empty list"):
        run_virtual(call())


def test_the_clock_stands_still_while_a_thread_works() -> None:
    def work() -> str:
        time.sleep(0.05)
        return "done"

    async def call() -> tuple[str, float]:
        async with asyncio.timeout(10):
            return await asyncio.to_thread(work), now()

    assert run_virtual(call()) == ("done", 0.0)


def test_an_abandoned_thread_does_not_hold_the_clock() -> None:
    release, ended = threading.Event(), threading.Event()

    def wait() -> None:
        release.wait(20)
        ended.set()

    async def call() -> bool:
        waiting = asyncio.ensure_future(asyncio.to_thread(wait))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.sleep(30)
        was_waited_for = ended.is_set()
        release.set()
        return was_waited_for

    assert not run_virtual(call())


def test_sockets_still_work() -> None:
    async def call() -> bytes:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(await reader.readline())
            writer.close()
            await writer.wait_closed()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"echo\n")
            line = await reader.readline()
            writer.close()
            await writer.wait_closed()
        return line

    assert run_virtual(call()) == b"echo\n"


def test_wait_until_gives_up_with_an_error() -> None:
    with pytest.raises(OutOfTime, match="within 2 s"):
        run_virtual(wait_until(lambda: False, timeout=2))


def test_wait_until_returns_when_the_condition_holds() -> None:
    async def call() -> float:
        await wait_until(lambda: now() >= 1)
        return round(now(), 6)

    assert run_virtual(call()) == 1.0


def test_run_virtual_refuses_to_run_inside_a_loop() -> None:
    async def inner() -> None:
        """Never runs."""

    async def outer() -> None:
        with pytest.raises(UsageError, match="plain function"):
            run_virtual(inner())

    run_virtual(outer())
