"""`ctx.idempotency_key`: what a backend knows one wish by."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import Any

from antiphon import Agent, AgentSession, RunContext, ToolError, function_tool
from antiphon.core.commands import RunTool, Undoes
from antiphon.core.facts import Call
from antiphon.options import ToolPolicy
from antiphon.runtime.keys import Keys, derived
from antiphon.testing import FakeLLM, Reply, run_virtual

PAY = Reply(calls=[("pay", {"amount": 5})])


def command(arguments: str = "{}", *, number: int = 1, run: int = 7, name: str = "pay", **call: Any) -> RunTool:
    made = Call("c1", name, arguments, arguments, **call)
    return RunTool(run, made, ToolPolicy(effect="writes"), 1, 2, "desk", number)


async def keys_of(session: AgentSession[Any], tool: Any, keys: list[str], turns: int) -> list[str]:
    await session.start(Agent(instructions="You take payments.", tools=[tool]))
    for number in range(turns):
        await session.run(user_input=f"Please, {number}")
    return keys


def test_a_new_wish_has_a_new_key_and_nobody_can_read_it() -> None:
    keys: list[str] = []

    @function_tool(effect="writes")
    async def pay(ctx: RunContext[Any], amount: int) -> str:
        """Pay."""
        keys.append(ctx.idempotency_key)
        assert ctx.idempotency_key == keys[-1]
        return "paid"

    async def test() -> None:
        async with AgentSession[Any](llm=FakeLLM([PAY, "Paid.", PAY, "Paid again."])) as session:
            await keys_of(session, pay, keys, 2)

    run_virtual(test())
    assert len(set(keys)) == 2
    assert all(re.fullmatch("[0-9a-f]{32}", key) for key in keys)


def test_a_write_that_failed_is_tried_again_with_another_key() -> None:
    keys: list[str] = []

    @function_tool(effect="writes")
    async def pay(ctx: RunContext[Any], amount: int) -> str:
        """Pay."""
        keys.append(ctx.idempotency_key)
        raise ToolError("The card was refused.")

    async def test() -> None:
        async with AgentSession[Any](llm=FakeLLM([PAY, PAY, "It was refused."])) as session:
            await keys_of(session, pay, keys, 1)

    run_virtual(test())
    assert len(set(keys)) == 2


def test_tools_that_do_not_write_and_functions_in_threads_have_keys_too() -> None:
    keys: list[str] = []

    @function_tool(effect="reads")
    def pay(ctx: RunContext[Any], amount: int) -> str:
        """Pay."""
        keys.append(ctx.idempotency_key)
        return "looked up"

    async def test() -> None:
        async with AgentSession[Any](llm=FakeLLM([PAY, PAY, "Done."])) as session:
            await keys_of(session, pay, keys, 1)

    run_virtual(test())
    assert len(set(keys)) == 2


def test_a_run_that_an_equal_call_takes_over_keeps_its_key() -> None:
    keys: list[str] = []

    @function_tool
    async def pay(ctx: RunContext[Any], amount: int) -> str:
        """Pay."""
        keys.append(ctx.idempotency_key)
        await asyncio.sleep(5)
        keys.append(ctx.idempotency_key)
        return "paid"

    async def test() -> None:
        async with AgentSession[Any](llm=FakeLLM([PAY, PAY, "Paid."])) as session:
            await session.start(Agent(instructions="You take payments.", tools=[pay]))
            speech = session.generate_reply(user_input="Pay.")
            await asyncio.sleep(1)
            speech.interrupt()
            await session.run(user_input="Pay, I said.")

    run_virtual(test())
    assert len(keys) == 2 and len(set(keys)) == 1


def test_equal_wishes_of_one_session_alone_have_equal_keys() -> None:
    keys = Keys()
    assert keys.of(command(run=7)) == keys.of(command(run=8))
    assert Keys().of(command()) != Keys().of(command())


def test_a_wish_of_a_call_has_one_key_in_every_process_that_has_the_secret() -> None:
    def keys(call: str = "call-1", secret: bytes = b"of the store") -> Keys:
        return Keys(lambda: secret, call)

    assert keys().of(command()) == keys().of(command())
    assert keys().of_wish(command()) == keys().of_wish(command())
    assert len({keys().of(command()), keys("call-2").of(command()), keys(secret=b"another").of(command())}) == 3


def test_two_runs_that_are_no_wishes_have_two_keys_in_two_processes() -> None:
    one, other = (Keys(lambda: b"of the store", "call-1") for _ in range(2))
    assert one.of(command(number=0)) != other.of(command(number=0))


def test_whatever_tells_wishes_apart_is_in_the_key() -> None:
    keys = Keys()
    others = [
        command(),
        command(number=2),
        command('{"amount": 5}'),
        command(name="refund"),
        command(origin="shop.pay#2"),
        command(identity="5"),
        command(number=0),
        command(number=0, run=8),
    ]
    assert len({keys.of(other) for other in others}) == len(others)


def test_what_the_arguments_leave_out_of_the_wish_is_not_in_the_key() -> None:
    keys = Keys()
    assert keys.of(command("1", identity="x")) == keys.of(command("2", identity="x"))


def test_an_effect_within_a_call_has_a_key_of_its_own() -> None:
    key = Keys().of(command())
    assert len({key, derived(key, "charge"), derived(key, "mail")}) == 3
    assert derived(key, "charge") == derived(key, "charge")


def test_the_key_of_what_undoes_a_write_comes_of_the_key_of_that_write() -> None:
    keys, first = Keys(), command('{"amount":5}')
    refund = command('{"amount":5}', name="refund")

    def undoing(number: int, *, attempt: int = 1) -> str:
        return keys.of(replace(refund, number=attempt, undoes=Undoes(first.call, number)))

    assert undoing(1) == undoing(1)
    assert len({undoing(1), undoing(2), undoing(1, attempt=2), keys.of(refund), keys.of(first)}) == 5
