"""Calls that are made from here: one request rings once, and what came of it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from antiphon.cli.main import main
from antiphon.console.access import Limits
from antiphon.errors import UsageError
from antiphon.server.telephone import DialBusy, DialedCall, DialState
from antiphon.server.telephone.dialed import checked_number
from antiphon.server.telephone.dialing import CLAIMING
from antiphon.stores.memory import MemoryStore
from antiphon.testing import run_virtual, wait_until
from tests.console.serving import ECHO, write
from tests.telephone.carrier import Person
from tests.telephone.desk import HOST, TOKEN, Desk, desk
from tests.telephone.test_calls import heard, say

NUMBER = "+15550123456"
CALLS = f"{HOST}/telephone/twilio/calls"


def states(call: DialedCall) -> list[str]:
    return [state.value for _, state in call.states]


def made(there: Desk) -> int:
    """How many telephones rang."""
    return len(there.carrier.calls)


def dialled(person: Person, **desk_options: Any) -> tuple[DialedCall, Desk]:
    """A call to this person, when it is over."""

    async def run() -> tuple[DialedCall, Desk]:
        async with desk(people={NUMBER: person}, **desk_options) as there:
            call = await there.server.dial(NUMBER, key="k1")
            await call.over()
            await asyncio.sleep(0.1)
            assert there.calls.admission.is_open
        return call, there

    return run_virtual(run())


def test_a_person_who_answers_talks_to_the_entrypoint_that_was_asked_for() -> None:
    async def run() -> None:
        async with desk(people={NUMBER: Person()}, hears=["hello"]) as there:
            call = await there.server.dial(NUMBER, metadata={"appointment": 7}, key="reminder-7")
            assert await call.answered()
            (one,) = there.carrier.calls.values()
            await wait_until(lambda: one.far is not None and bool(there.sessions), timeout=5.0)
            await say(one)
            await asyncio.sleep(3.0)
            assert heard(one) > 0.2
            job = there.jobs[0]
            assert job.job.metadata == '{"appointment":7}'
            assert job.room.caller.attributes["sip.phoneNumber"] == NUMBER
            assert job.room.caller.attributes["telephone.direction"] == "outbound"
            assert job.job.call_id == call.call_id
            await one.hang_up()
            assert await call.over() is DialState.ENDED
            assert states(call) == ["dialing", "ringing", "answered", "ended"]

    run_virtual(run())


@pytest.mark.parametrize(
    ("answers", "state"),
    [("busy", "busy"), ("no answer", "no answer"), ("failed", "failed"), ("declined", "rejected")],
)
def test_whoever_does_not_answer_is_told(answers: str, state: str) -> None:
    call, there = dialled(Person(answers, after=3.0))
    assert states(call) == ["dialing", "ringing", state]
    assert not there.sessions


def test_a_number_that_the_carrier_refuses_is_rejected_with_its_reason() -> None:
    call, there = dialled(Person(), refuse=lambda method, place: 400 if method == "POST" else 0)
    assert states(call) == ["dialing", "rejected"]
    assert "400 refused by the test" in call.reason
    assert made(there) == 0


def test_it_rings_no_longer_than_it_may() -> None:
    call, _ = dialled(Person(after=300.0))
    assert call.state is DialState.NO_ANSWER
    assert call.states[-1][0] < 40.0


def test_a_carrier_that_lets_it_ring_for_ever_is_told_to_end_it() -> None:
    async def run() -> None:
        async with desk(people={NUMBER: Person(after=10_000.0)}) as there:
            call = await there.server.dial(NUMBER, ring_timeout=20.0)
            there.carrier.calls.clear()
            await asyncio.sleep(0.2)
            (one,) = there.carrier.calls.values()
            one._task.cancel()  # type: ignore[union-attr]
            assert await call.over() is DialState.NO_ANSWER
            assert ("POST", f"Calls/{one.sid}.json", {"Status": "completed"}) in there.carrier.requests
            assert 20.0 < call.states[-1][0] < 30.0

    run_virtual(run())


def test_one_key_is_dialled_once() -> None:
    async def run() -> None:
        async with desk(people={NUMBER: Person("busy")}) as there:
            first = await there.server.dial(NUMBER, key="k")
            assert await there.server.dial(NUMBER, key="k") is first
            await first.over()
            assert await there.server.dial(NUMBER, key="k") is first
            assert made(there) == 1
            with pytest.raises(UsageError, match=r"was given for another call, to \+15550123456"):
                await there.server.dial("+15550123457", key="k")
            await (await there.server.dial(NUMBER, key="k2")).over()
            assert made(there) == 2

    run_virtual(run())


@pytest.mark.parametrize("status", [500, 503, 408, -1])
def test_a_call_whose_making_was_not_acknowledged_is_looked_up_and_followed(status: int) -> None:
    def lose(method: str, place: str) -> int:
        return status if (method, place) == ("POST", "Calls.json") else 0

    call, there = dialled(Person("busy", after=4.0), lose=lose)
    assert made(there) == 1
    assert states(call)[0] == "dialing" and states(call)[-1] == "busy"


@pytest.mark.parametrize("status", [500, -1])
def test_a_call_that_was_not_made_is_dialled_anew_when_it_is_asked_for_again(status: int) -> None:
    trouble = [status]

    async def run() -> None:
        def refuse(method: str, place: str) -> int:
            return trouble[0] if (method, place) == ("POST", "Calls.json") else 0

        async with desk(people={NUMBER: Person("busy")}, refuse=refuse) as there:
            call = await there.server.dial(NUMBER, key="k")
            assert await call.over() is DialState.FAILED
            assert "made no such call" in call.reason
            trouble[0] = 0
            again = await there.server.dial(NUMBER, key="k")
            assert again is call
            assert await call.over() is DialState.BUSY
            assert made(there) == 1

    run_virtual(run())


def test_what_nobody_knows_stays_unknown_and_is_looked_up_before_anything_rings_again() -> None:
    is_down = [True]

    def trouble(method: str, place: str) -> int:
        return -1 if is_down[0] else 0

    async def run() -> None:
        async with desk(people={NUMBER: Person("busy", after=30.0)}, lose=trouble) as there:
            call = await there.server.dial(NUMBER, key="k", ring_timeout=60.0)
            await asyncio.sleep(25.0)
            assert call.state is DialState.UNKNOWN
            is_down[0] = False
            assert await there.server.dial(NUMBER, key="k", ring_timeout=60.0) is call
            assert await call.over() is DialState.BUSY
            assert made(there) == 1

    run_virtual(run())


def test_another_process_of_the_store_does_not_dial_it_again() -> None:
    async def run() -> None:
        async with MemoryStore() as store:
            async with desk(people={NUMBER: Person("busy")}, store=store) as first:
                assert await (await first.server.dial(NUMBER, key="k")).over() is DialState.BUSY
            async with desk(people={NUMBER: Person("busy")}, store=store) as second:
                second.carrier.calls.update(first.carrier.calls)
                call = await second.server.dial(NUMBER, key="k")
                assert await call.over() is DialState.BUSY
                assert not [one for one in second.carrier.requests if one[0] == "POST"]
                other = await second.telephone.dialing.find(call.id)
                assert other is not None and other.state is DialState.BUSY

    run_virtual(run())


def test_whoever_asks_is_told_at_once_that_an_answered_call_is_over_which_another_process_held() -> None:
    async def run() -> None:
        async with desk(people={NUMBER: Person()}) as there:
            call = await there.server.dial(NUMBER)
            assert await call.answered()
            (one,) = there.carrier.calls.values()
            one._status_url = ""  # its callbacks come to the other process
            await asyncio.sleep(CLAIMING + 3.0)
            await one.hang_up()
            before = call.state
            found = await there.telephone.dialing.find(call.id)
            assert found is call and (before, call.state) == (DialState.ANSWERED, DialState.ENDED)

    run_virtual(run())


def test_a_process_that_died_after_asking_leaves_a_call_that_is_looked_up() -> None:
    async def run() -> None:
        async with MemoryStore() as store:
            async with desk(people={NUMBER: Person("busy", after=40.0)}, store=store, lose=_post_lost) as first:
                call = await first.server.dial(NUMBER, key="k", ring_timeout=60.0)
                await wait_until(lambda: made(first) == 1, timeout=1.0)  # no answer yet, and the process is gone
                task = first.telephone.dialing._running[call.id]
                task.cancel()
                await asyncio.wait([task])
                async with desk(people={NUMBER: Person("busy")}, store=store) as second:
                    second.carrier.calls.update(first.carrier.calls)
                    again = await second.server.dial(NUMBER, key="k", ring_timeout=60.0)
                    assert await again.over() is DialState.BUSY
                    assert not [one for one in second.carrier.requests if one[:2] == ("POST", "Calls.json")]

    run_virtual(run())


def _post_lost(method: str, place: str) -> int:
    return -1 if method == "POST" else 0


@pytest.mark.parametrize("at", [0.0, 0.03, 0.08, 0.5, 2.05, 2.2, 2.5, 4.0])
def test_whoever_asked_may_hang_up_at_any_point(at: float) -> None:
    async def run() -> None:
        async with desk(people={NUMBER: Person(after=2.0)}) as there:
            call = await there.server.dial(NUMBER)
            await asyncio.sleep(at)
            call.hang_up()
            await call.over()
            await there.door.drain()
            assert all(one.is_over for one in there.carrier.calls.values())
            assert there.calls.admission.is_open
            assert not any(session.is_running for session in there.sessions)

    run_virtual(run())


def test_a_call_keeps_its_place_while_it_rings() -> None:
    async def run() -> None:
        async with desk(people={NUMBER: Person(after=5.0)}, limits=Limits(max_calls=1)) as there:
            call = await there.server.dial(NUMBER)
            with pytest.raises(DialBusy, match="would have no place here: full"):
                await there.server.dial("+15550123457")
            assert await call.answered()
            await wait_until(lambda: bool(there.sessions), timeout=5.0)
            (one,) = there.carrier.calls.values()
            await one.hang_up()
            await call.over()
            await there.door.drain()
            assert there.calls.admission.is_open

    run_virtual(run())


def test_a_server_that_stops_lets_nothing_ring_on() -> None:
    async def run() -> None:
        async with desk(people={NUMBER: Person(after=20.0)}) as there:
            call = await there.server.dial(NUMBER)
            await asyncio.sleep(1.0)
            draining = asyncio.create_task(there.calls.admission.drain(5.0))
            assert await call.over() is DialState.NO_ANSWER
            await draining
            assert all(one.is_over for one in there.carrier.calls.values())

    run_virtual(run())


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        ("+1 (555) 012-3456", r"Write \+15550123456\."),
        ("0049 171 5550123", r"Write \+491715550123\."),
        ("0171 5550123", "Begin with . and the country code"),
        ("+0155501234", "Begin with"),
        ("", "Begin with"),
        ("+1555012345678901234", "Begin with"),
    ],
)
def test_a_number_that_is_none_is_refused_with_what_to_write(number: str, remedy: str) -> None:
    with pytest.raises(UsageError, match=remedy):
        checked_number(number, "to")


def test_what_cannot_be_asked_for_is_said() -> None:
    async def run() -> None:
        async with desk() as there:
            for wish, said in (
                ({"agent_name": "nobody"}, "one of the entrypoints"),
                ({"metadata": "x" * 401}, "400 characters at most"),
                ({"ring_timeout": 500.0}, "from 5 to 120 seconds"),
                ({"from_": "555"}, "expected from as a number"),
            ):
                with pytest.raises(UsageError, match=said):
                    await there.server.dial(NUMBER, **wish)
            assert made(there) == 0

    run_virtual(run())


# -- by HTTP


def asked(talk: Callable[[Desk, httpx2.AsyncClient], Any], **options: Any) -> None:
    async def run() -> None:
        async with desk(people={NUMBER: Person("busy")}, **options) as there:
            transport = httpx2.ASGITransport(app=there.app)
            async with httpx2.AsyncClient(transport=transport, headers={"authorization": "Bearer secret"}) as client:
                await talk(there, client)

    run_virtual(run())


def test_a_call_is_asked_for_by_http_and_told() -> None:
    async def talk(there: Desk, client: httpx2.AsyncClient) -> None:
        wish = {"to": NUMBER, "metadata": {"appointment": 7}}
        for _ in range(2):
            answer = await client.post(CALLS, json=wish, headers={"idempotency-key": "k"})
            assert answer.status_code == 202
        id = answer.json()["id"]
        await asyncio.sleep(4.0)
        told = (await client.get(f"{CALLS}/{id}")).json()
        assert [one["state"] for one in told["states"]] == ["dialing", "ringing", "busy"]
        assert made(there) == 1
        assert (await client.get(f"{CALLS}/nonsense")).status_code == 404

    asked(talk)


def test_whoever_has_no_token_has_nothing_made() -> None:
    async def talk(there: Desk, client: httpx2.AsyncClient) -> None:
        for headers in ({"authorization": "Bearer wrong"}, {"authorization": ""}):
            answer = await client.post(CALLS, json={"to": NUMBER, "key": "k"}, headers=headers)
            assert answer.status_code == 401
        assert made(there) == 0

    asked(talk)


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"to": "0171"}, "expected to as a number"),
        ({"to": NUMBER, "ringtime": 3}, "Leave it out"),
        ({"to": 15550123}, "expected 'to' to be str"),
        ({"to": NUMBER, "agent": "x"}, "one of the entrypoints"),
        ([], "expected a JSON object"),
    ],
)
def test_what_is_wrong_with_a_request_is_said(wish: Any, said: str) -> None:
    async def talk(there: Desk, client: httpx2.AsyncClient) -> None:
        answer = await client.post(CALLS, json=wish, headers={"idempotency-key": "k"})
        assert answer.status_code == 400
        assert said in answer.json()["error"]
        assert made(there) == 0

    asked(talk)


def test_a_request_without_a_key_is_refused() -> None:
    async def talk(there: Desk, client: httpx2.AsyncClient) -> None:
        answer = await client.post(CALLS, json={"to": NUMBER})
        assert answer.status_code == 400 and "Idempotency-Key" in answer.json()["error"]

    asked(talk)


# -- by the command


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["0171 5550123", "--public-url", HOST], "Begin with"),
        ([NUMBER], "Give --public-url"),
        ([NUMBER, "--public-url", HOST, "--telephone", "acme"], "expected twilio or telnyx"),
        ([NUMBER, "--public-url", HOST, "--from", "Me"], "expected from as a number"),
    ],
)
def test_the_command_says_what_is_wrong_before_anything_rings(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in (("ACCOUNT_SID", "AC1"), ("AUTH_TOKEN", TOKEN), ("PHONE_NUMBER", "+15550100")):
        monkeypatch.setenv(f"TWILIO_{name}", value)
    file = write(tmp_path, ECHO)
    with pytest.raises(SystemExit) as exit:
        main(["dial", str(file), *arguments, "--port", "0", "--no-store", "--llm", "standin"])
    assert exit.value.code == 2
    assert said in capsys.readouterr().err
