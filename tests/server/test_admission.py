"""Who is let in: places, those who wait for one, those who say nothing, and the end of it all."""

from __future__ import annotations

import asyncio

import pytest

from antiphon.server.admission import PLACE_PATIENCE, Admission, NotAdmitted, Reason
from antiphon.testing import now, run_virtual


def admission(max_calls: int = 1, max_silent: int = 2) -> Admission:
    return Admission(max_calls=max_calls, max_silent=max_silent)


async def call(door: Admission, seconds: float) -> Reason | None:
    """A call of so many seconds. Why it was not let in, if it was not."""
    try:
        with door.guest():
            async with door.place():
                await asyncio.sleep(seconds)
    except NotAdmitted as refused:
        return refused.reason
    return None


def test_who_finds_no_place_waits_a_little_and_is_refused() -> None:
    async def calls() -> None:
        door = admission()
        held = asyncio.create_task(call(door, 60.0))
        await asyncio.sleep(1.0)
        assert not door.is_open
        assert await call(door, 1.0) is Reason.FULL
        assert now() == pytest.approx(1.0 + PLACE_PATIENCE)
        assert await held is None
        assert door.is_open

    run_virtual(calls())


def test_a_place_that_becomes_free_goes_to_who_has_waited_longest() -> None:
    async def calls() -> None:
        door, order = admission(), []

        async def one(name: str) -> None:
            if await call(door, 0.3) is None:
                order.append(name)

        async with asyncio.TaskGroup() as group:
            for name in ("first", "second", "third"):
                group.create_task(one(name))
        assert order == ["first", "second", "third"]

    run_virtual(calls())


def test_a_call_that_fails_or_is_cancelled_gives_its_place_back() -> None:
    async def calls() -> None:
        door = admission()
        with pytest.raises(ZeroDivisionError):
            async with door.place():
                raise ZeroDivisionError
        for wait in (0.0, 0.5):  # while it is held, and while another one waits for the place
            held = asyncio.create_task(call(door, 60.0))
            waiting = asyncio.create_task(call(door, 60.0))
            await asyncio.sleep(wait)
            waiting.cancel()
            held.cancel()
            await asyncio.wait([held, waiting])
        assert await call(door, 0.0) is None

    run_virtual(calls())


def test_of_too_many_who_say_nothing_the_first_is_given_up() -> None:
    async def calls() -> None:
        door = admission(max_silent=2)
        guests = [asyncio.create_task(door.first_word(asyncio.sleep(30.0, number))) for number in range(3)]
        await asyncio.sleep(1.0)
        assert [guest.done() for guest in guests] == [True, False, False]
        with pytest.raises(NotAdmitted) as refused:
            await guests[0]
        assert refused.value.reason is Reason.SILENT
        assert await asyncio.gather(*guests[1:]) == [1, 2]

    run_virtual(calls())


def test_draining_lets_calls_come_to_their_end_and_no_new_one_in() -> None:
    async def calls() -> None:
        door = admission()
        held = asyncio.create_task(call(door, 5.0))
        waiting = asyncio.create_task(call(door, 5.0))
        silent = asyncio.create_task(door.first_word(asyncio.sleep(30.0)))
        await asyncio.sleep(0.5)
        assert not await door.drain(2.0)
        assert await waiting is Reason.DRAINING
        assert isinstance((await asyncio.gather(silent, return_exceptions=True))[0], NotAdmitted)
        assert await call(door, 1.0) is Reason.DRAINING
        assert await door.drain(10.0)
        assert now() == pytest.approx(5.0)
        assert await held is None

    run_virtual(calls())


def test_a_place_that_becomes_free_while_draining_is_given_to_nobody() -> None:
    async def calls() -> None:
        door = admission()
        held = asyncio.create_task(call(door, 1.0))
        await asyncio.sleep(0.5)
        waiting = asyncio.create_task(call(door, 60.0))
        await asyncio.sleep(0.1)
        assert await door.drain(5.0)
        assert (await held, await waiting) == (None, Reason.DRAINING)
        assert now() == pytest.approx(1.0)

    run_virtual(calls())


def test_a_client_has_so_many_places_and_others_have_the_rest() -> None:
    async def main() -> None:
        refused: list[str] = []
        admission = Admission(max_calls=3, max_silent=1, max_per_client=1, refused=refused.append)
        async with admission.place("one"):
            with pytest.raises(NotAdmitted) as told:
                async with admission.place("one"):
                    pass
            assert told.value.reason is Reason.CLIENT
            async with admission.place("other"):
                pass
        async with admission.place("one"):
            pass
        assert refused == ["client"]

    run_virtual(main())


def test_it_tells_when_a_place_is_taken_and_when_it_is_free() -> None:
    async def main() -> None:
        admission = Admission(max_calls=1, max_silent=1)
        told: list[bool] = []
        admission.on_change(lambda: told.append(admission.is_open))
        async with admission.place():
            pass
        assert told == [False, True]

    run_virtual(main())
