from __future__ import annotations

import asyncio
import threading

import pytest

from antiphon.providers.local.worker import Abandoned, Ticket, Worker


def test_jobs_run_one_after_another_in_one_thread_that_is_not_the_loops() -> None:
    async def main() -> set[str]:
        worker = Worker("test")
        names = await asyncio.gather(*(worker.run(lambda _: threading.current_thread().name) for _ in range(5)))
        return set(names)

    names = asyncio.run(main())
    assert len(names) == 1
    assert threading.current_thread().name not in names


def test_the_jobs_exception_reaches_the_caller() -> None:
    def job(ticket: Ticket) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(Worker("test").run(job))


def test_a_cancelled_job_ends_at_its_next_check() -> None:
    running, given_up = threading.Event(), threading.Event()

    def job(ticket: Ticket) -> None:
        running.set()
        try:
            while True:
                ticket.check()
        except Abandoned:
            given_up.set()
            raise

    async def main() -> bool:
        worker = Worker("test")
        task = asyncio.create_task(worker.run(job))
        await asyncio.to_thread(running.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await worker.run(lambda _: given_up.is_set())

    assert asyncio.run(main())


def test_a_job_cancelled_before_its_turn_never_starts() -> None:
    async def main() -> list[str]:
        worker, release, done = Worker("test"), threading.Event(), list[str]()
        first = asyncio.create_task(worker.run(lambda _: release.wait(5)))
        await asyncio.sleep(0)
        second = asyncio.create_task(worker.run(lambda _: done.append("second")))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait({second})
        release.set()
        await first
        await worker.run(lambda _: done.append("third"))
        return done

    assert asyncio.run(main()) == ["third"]
