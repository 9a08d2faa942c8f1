"""Tools that take secrets get the value; whatever is told or kept of the call has a mask."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from antiphon import Agent, AgentSession, Secret, ToolError, ToolProxyToolset, function_tool
from antiphon.errors import ToolDefinitionError
from antiphon.events import JournalEvent
from antiphon.testing import FakeLLM, Reply, run_virtual

CARD = "4111111111111111"


class Call:
    """A text call; `seen` is all that anybody could write down of it."""

    def __init__(self, llm: FakeLLM, *tools: Any, **options: Any) -> None:
        self.llm = llm
        self.agent = Agent(instructions="Take payments.", tools=list(tools))
        self.session: AgentSession[Any] = AgentSession(llm=llm, **options)
        self.told: list[str] = []
        for name in (
            "journal",
            "tool_execution_updated",
            "function_tools_executed",
            "conversation_item_added",
            "tool_ended",
            "tool_result",
            "error",
            "close",
        ):
            self.session.on(name, self._heard)

    def _heard(self, event: object) -> None:
        if isinstance(event, JournalEvent):
            self.told.append(f"{event.fact!r} {event.command!r}")
        else:
            self.told.append(repr(event))

    def run(self, *turns: str) -> None:
        async def call() -> None:
            async with self.session as session:
                await session.start(self.agent)
                for turn in turns:
                    await session.run(user_input=turn)

        run_virtual(call())

    @property
    def seen(self) -> str:
        return "\n".join([*self.told, repr(self.session.history.to_dict())])

    @property
    def asked(self) -> str:
        """All that the model was asked with."""
        return repr(self.llm.histories)


def test_a_tool_gets_the_value_and_history_journal_and_events_have_a_mask() -> None:
    got: list[str] = []

    @function_tool(effect="writes")
    async def pay(card_number: Secret[str], amount: int) -> str:
        got.append(card_number.reveal())
        return f"Paid {amount} with {card_number}."

    call = Call(FakeLLM([Reply(calls=[("pay", {"card_number": CARD, "amount": 5})]), "Done."]), pay)
    call.run("Pay with the card on file.")
    assert got == [CARD]
    assert CARD not in call.seen
    assert "[card_number_1]" in call.seen
    assert CARD not in call.asked


def test_the_model_is_told_of_a_string() -> None:
    @function_tool
    async def pay(card_number: Secret[str], pins: list[Secret[str]] | None = None) -> None:
        """Pay.

        Args:
            card_number: The number of the card.
        """

    assert pay.spec.parameters["properties"]["card_number"] == {
        "type": "string",
        "description": "The number of the card.",
    }
    assert pay.spec.hidden == {"card_number", "pins"}


def test_a_mask_is_turned_back_into_the_value_when_the_model_calls_with_it() -> None:
    got: list[str] = []

    @function_tool
    async def check(card_number: Secret[str]) -> str:
        got.append(card_number.reveal())
        return "Fine."

    calls: list[str | Reply] = [
        Reply(calls=[("check", {"card_number": CARD})]),
        "Fine.",
        Reply(calls=[("check", {"card_number": "[card_number_1]"})]),
        "Fine again.",
    ]
    call = Call(FakeLLM(calls), check)
    call.run("Check it.", "Check it again.")
    assert got == [CARD, CARD]
    assert CARD not in call.seen


def test_equal_secrets_are_equal_calls() -> None:
    ran: list[str] = []

    @function_tool(effect="writes")
    async def charge(card_number: Secret[str]) -> str:
        ran.append(card_number.reveal())
        return "Charged."

    both = Reply(calls=[("charge", {"card_number": CARD}), ("charge", {"card_number": f" {CARD}"})])
    call = Call(FakeLLM([both, "Done."]), charge)
    call.run("Charge it.")
    assert ran == [CARD]
    other = Reply(calls=[("charge", {"card_number": CARD}), ("charge", {"card_number": "4000000000000002"})])
    ran.clear()
    Call(FakeLLM([other, "Done."]), charge).run("Charge both.")
    assert ran == [CARD, "4000000000000002"]


def test_a_complaint_about_an_argument_does_not_repeat_a_secret() -> None:
    @function_tool
    async def enter(pin: Secret[int]) -> None:
        """Enter."""

    call = Call(FakeLLM([Reply(calls=[("enter", {"pin": "hunter2x"})]), "No."]), enter)
    call.run("Enter it.")
    assert "hunter2x" not in call.seen
    assert "[pin_1]" in call.seen


def test_what_a_tool_raises_and_logs_does_not_repeat_a_secret(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    @function_tool
    async def charge(card_number: Secret[str]) -> str:
        raise ValueError(f"no such card: {card_number.reveal()}")

    @function_tool
    async def refund(card_number: Secret[str]) -> str:
        raise ToolError(f"{card_number.reveal()} has nothing to refund.")

    calls = Reply(calls=[("charge", {"card_number": CARD}), ("refund", {"card_number": CARD})])
    call = Call(FakeLLM([calls, "No."]), charge, refund)
    call.run("Do both.")
    assert "[card_number_1] has nothing to refund." in call.seen
    assert CARD not in call.seen
    assert CARD not in caplog.text


def test_redact_masks_named_arguments_and_the_result() -> None:
    got: list[str] = []

    @function_tool(redact=("account", "return"))
    async def balance(account: str) -> str:
        got.append(account)
        return "12,340.55"

    call = Call(FakeLLM([Reply(calls=[("balance", {"account": "DE02-1203"})]), "There you are."]), balance)
    call.run("What have I got?")
    assert got == ["DE02-1203"]
    assert "DE02-1203" not in call.seen
    assert "12,340.55" not in call.seen
    assert "[balance_result_1]" in call.seen


def test_redact_may_be_a_function_of_name_and_value() -> None:
    @function_tool(redact=lambda name, value: value[-2:] if name == "account" else "a balance")
    async def balance(account: str) -> str:
        return "12,340.55"

    call = Call(FakeLLM([Reply(calls=[("balance", {"account": "DE02-1203"})]), "There you are."]), balance)
    call.run("What have I got?")
    assert "DE02-1203" not in call.seen
    assert "a balance" in call.seen
    assert "12,340.55" not in call.seen


def test_redact_names_parameters() -> None:
    @function_tool(redact=("acount",))
    async def balance(account: str) -> str:
        return account

    with pytest.raises(ToolDefinitionError, match="redact= names 'acount'"):
        Agent(instructions="", tools=[balance])


def test_what_the_session_redacts_reaches_tools_and_nobody_else() -> None:
    got: list[str] = []

    @function_tool
    async def pay(card: str) -> str:
        got.append(card)
        return f"{card} was charged."

    llm = FakeLLM([Reply(calls=[("pay", {"card": "[card_number_1]"})]), "Done."])
    call = Call(llm, pay, redact=["card_number"])
    call.run("Charge 4111 1111 1111 1111, please.")
    assert got == [CARD]
    for spelling in (CARD, "4111 1111"):
        assert spelling not in call.seen
        assert spelling not in call.asked
    assert "Charge [card_number_1], please." in call.seen
    assert "[card_number_1] was charged." in call.seen


def test_a_secret_shows_a_mask() -> None:
    secret = Secret("hunter2", "password")
    assert f"{secret} {secret!r} {[secret]}" == "[password] [password] [[password]]"
    assert secret == Secret("hunter2") != Secret("hunter3")
    assert len({secret, Secret("hunter2")}) == 1


def test_a_call_by_proxy_has_its_masks_fit_or_not() -> None:
    @function_tool
    async def enter(pin: Secret[str], times: int) -> str:
        return f"Entered {pin.reveal()} {times} times."

    calls: list[str | Reply] = [
        Reply(calls=[("call_tool", {"name": "enter", "parameters": {"pin": "hunter2x", "times": "often"}})]),
        Reply(calls=[("call_tool", {"name": "enter", "parameters": {"pin": "hunter3x", "times": 2}})]),
        "Entered.",
    ]
    call = Call(FakeLLM(calls), ToolProxyToolset([enter]))
    call.run("Enter it.")
    assert "Entered [pin_2] 2 times." in call.seen
    assert "hunter" not in call.seen
