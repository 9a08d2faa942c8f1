"""Cards and PINs: what is taken, what is refused, and what is said."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, AgentSession
from antiphon.server.room import Room
from antiphon.tasks import CaptureTask, GetCreditCardResult, GetCreditCardTask, GetPinResult, GetPinTask
from antiphon.testing import FakeLLM, Reply, run_virtual, wait_until
from antiphon.text.findings import is_card_number
from tests.tasks.dialogue import Ended, Host, hold, stand_in

CARD = "4111111111111111"


def taken(ended: Ended) -> tuple[str, ...]:
    match ended.result:
        case GetPinResult(pin=pin):
            return (pin.reveal(),)
        case GetCreditCardResult(card_number=number, expiry=expiry):
            return number.reveal(), expiry.reveal()
    return ()


def card_model(*calls: Any) -> FakeLLM:
    script = [Reply(calls=[call]) if isinstance(call, tuple) else call for call in calls]
    return FakeLLM(script)


def test_a_pin_that_is_said_is_taken_and_its_text_is_a_mask() -> None:
    llm = card_model(("update_pin", {"pin": "[digits_1]"}))
    ended = run_virtual(hold(GetPinTask(), llm, ["it's four eight two one"]))
    assert taken(ended) == ("4821",)
    assert str(ended.result) == "GetPinResult(pin=[pin_1])"
    assert "4821" not in "".join(ended.lines)


def test_a_card_is_read_back_by_its_last_digits() -> None:
    llm = card_model(
        ("update_credit_card", {"card_number": "[digits_1]", "expiry": "[digits_2]"}),
        ("confirm_credit_card", {}),
    )
    words = ["four one one one 1111 1111 1111, expiring 05 33", "yes"]
    ended = run_virtual(hold(GetCreditCardTask(), llm, words))
    assert taken(ended) == (CARD, "2033-05")
    assert any(
        "I have the card ending in [card_ending_1], valid until [card_expiry_1]." in line for line in ended.lines
    )


@pytest.mark.parametrize("expiry", ["May 2033", "May thirty three", "05/33", "5 33", "0533", "05 2033"])
def test_an_expiry_is_said_in_many_ways(expiry: str) -> None:
    given = {"card_number": CARD, "expiry": expiry}
    llm = card_model(("update_credit_card", given), ("confirm_credit_card", {}))
    assert taken(run_virtual(hold(GetCreditCardTask(), llm, ["here it is", "yes"]))) == (CARD, "2033-05")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"card_number": "4111111111111112", "expiry": "0533"}, "cannot be a card number"),
        ({"card_number": CARD}, "The expiry is missing"),
        ({"expiry": "0533"}, "The number of the card is missing"),
        ({"card_number": CARD, "expiry": "0519"}, "has expired"),
        ({"card_number": CARD, "expiry": "0599"}, "No card is valid for so long"),
        ({"card_number": CARD, "expiry": "1333"}, "not a month and a year"),
    ],
)
def test_what_cannot_be_right_is_refused_in_words_that_do_not_repeat_it(given: dict[str, str], told: str) -> None:
    llm = card_model(("update_credit_card", given), "Once more, please.")
    ended = run_virtual(hold(GetCreditCardTask(), llm, ["here it is"]))
    assert ended.result is ...
    text = "".join(ended.lines)
    assert told in text
    assert "41111111" not in text


def test_a_card_is_entered_by_keys() -> None:
    host = Host(GetCreditCardTask())
    room = Room()

    async def call() -> tuple[str, ...]:
        async with AgentSession[Any](llm=FakeLLM([])) as session:
            await session.start(host, room=room)
            await session.wait_for_idle()
            for keys in (f"{CARD}#", "0533#", "#"):
                for key in keys:
                    room.receive_dtmf(key)
                await asyncio.sleep(0.1)
                await session.wait_for_idle()
            await wait_until(lambda: host.result is not ..., timeout=10.0)
            said = [message.text_content for message in session.history.messages()]
            assert "And until when is it valid, month and year?" in said
            return taken(Ended(host.result, []))

    assert run_virtual(call()) == (CARD, "2033-05")


@pytest.mark.parametrize(
    ("task", "words", "expected"),
    [
        (GetPinTask(), ["four eight two one"], ("4821",)),
        (GetPinTask(), ["my pin is 4821"], ("4821",)),
        (GetPinTask(ask_for_confirmation=True), ["double four two one", "yes"], ("4421",)),
    ],
    ids=["words", "digits", "confirmed"],
)
def test_the_stand_in_takes_a_pin(task: CaptureTask[Any], words: list[str], expected: tuple[str, ...]) -> None:
    ended = run_virtual(hold(task, stand_in(), words))
    assert taken(ended) == expected, "\n".join(ended.lines)


def test_a_pin_is_asked_for_in_the_language_of_the_caller() -> None:
    llm = card_model(("update_pin", {"pin": "[digits_1]"}))
    ended = run_virtual(hold(GetPinTask(), llm, ["vier acht zwei eins"], language="de"))
    assert taken(ended) == ("4821",)
    assert any("Wie lautet Ihre PIN?" in line for line in ended.lines)


def test_card_numbers_have_a_check_digit() -> None:
    assert is_card_number(CARD)
    assert not is_card_number("4111111111111112")
    assert not is_card_number("0")


def test_a_secret_of_a_form_is_kept_by_the_session() -> None:
    async def call() -> str:
        async with AgentSession[Any](llm=FakeLLM(["It is hunter2-and-more, isn't it?"])) as session:
            await session.start(Agent(instructions=""))
            assert str(session.keep_secret("hunter2-and-more", "password")) == "[password_1]"
            await session.run(user_input="What is hunter2-and-more?")
            return repr(session.history.to_dict())

    history = run_virtual(call())
    assert "hunter2" not in history
    assert history.count("[password_1]") == 2
