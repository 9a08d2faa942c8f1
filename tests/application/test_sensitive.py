"""What the caller is asked for under `ctx.sensitive()` appears nowhere, neither as words nor as sound."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from antiphon import Agent, AgentSession, RunContext, Secret, function_tool
from antiphon.language import ENGLISH
from antiphon.runtime.masks import LATE_WORDS, Masks
from antiphon.testing import (
    Caller,
    CallerSTT,
    FakeLLM,
    FakeRealtimeModel,
    FakeTTS,
    Reply,
    SimulatedCall,
    run_virtual,
    transcript,
    wait_until,
)
from tests.application.test_secrets_of_tools import Call

PIN = "4821"


def test_the_model_reads_a_placeholder_for_the_digits_and_all_others_a_mask() -> None:
    got: list[str] = []

    @function_tool
    async def enter(pin: Secret[str]) -> str:
        got.append(pin.reveal())
        return "Entered."

    llm = FakeLLM(["Go on.", Reply(calls=[("enter", {"pin": "[digits_1]"})]), "Thanks."])
    call = Call(llm, enter)

    async def talk() -> None:
        async with call.session as session:
            await session.start(call.agent)
            await session.run(user_input="I want to enter my PIN")
            with session.sensitive():
                await session.run(user_input="It is four eight two one, okay?")

    run_virtual(talk())
    assert got == [PIN]
    assert "It is [digits_1], okay?" in call.asked
    assert "[sensitive_1]" in call.seen
    assert "I want to enter my PIN" in call.seen
    for word in (PIN, "four eight", "It is"):
        assert word not in call.seen
    assert "four eight" not in call.asked


def test_a_value_that_was_asked_for_goes_to_no_argument_that_is_not_declared_secret() -> None:
    got: list[str] = []

    @function_tool
    async def send(text: str) -> str:
        got.append(text)
        return "Sent."

    llm = FakeLLM([Reply(calls=[("send", {"text": "The PIN is [digits_1]"})]), "No."])
    call = Call(llm, send)

    async def talk() -> None:
        async with call.session as session:
            await session.start(call.agent)
            with session.sensitive():
                await session.run(user_input="4821")

    run_virtual(talk())
    assert got == []
    assert "only an argument that is declared secret may have" in call.seen
    assert PIN not in call.seen


def test_a_tool_asks_under_its_context() -> None:
    @function_tool
    async def ask(ctx: RunContext[Any]) -> str:
        with ctx.sensitive():
            assert ctx.session is call.session
        return "Asked."

    call = Call(FakeLLM([Reply(calls=[("ask", {})]), "Done."]), ask)
    call.run("Ask me.")
    assert "Asked." in call.seen


@pytest.mark.parametrize("words", ["mm-hmm", "okay", "Bye!"])
def test_signs_of_listening_and_goodbyes_are_what_they_are(words: str) -> None:
    masks = Masks(ENGLISH)
    with masks.sensitive():
        assert masks.words(words, final=True) == words
        assert masks.words("one", final=True) == "[sensitive_1]"
        assert masks.words("later for one", final=True) == "[sensitive_2]"


def test_what_was_said_under_it_is_masked_for_the_rest_of_the_call_however_it_is_written() -> None:
    masks = Masks(ENGLISH)
    with masks.sensitive():
        masks.words("four one one one, double one double one, one one one one one one one one", final=True)
    for text in (
        "4111111111111111",
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        "four one one one one one one one one one one one one one one one",
        "double one double one",
    ):
        assert masks.mask(f"it was {text}.") == "it was [digits_1]."
    assert masks.mask("room 12, 3 people") == "room 12, 3 people"


def test_a_text_is_masked_only_once() -> None:
    masks = Masks(ENGLISH)
    with masks.sensitive():
        once = masks.words("four eight two one", final=True)
        assert masks.words(once, final=True) == once


def test_sessions_without_secrets_are_not_looked_at() -> None:
    session: AgentSession[Any] = AgentSession(llm=FakeLLM(["Hello."]))

    async def talk() -> None:
        async with session:
            await session.start(Agent(instructions=""))
            await session.run(user_input="Hello, 4111111111111111")
            assert not session._host.masks.is_active

    run_virtual(talk())


CARD_IN_WORDS = "four one one one one one one one one one one one one one one one"


def test_what_a_session_redacts_is_masked_in_words_that_are_not_final_and_said_by_the_voice() -> None:
    async def call() -> tuple[SimulatedCall, list[str]]:
        llm = FakeLLM(["Your number is [card_number_1], is it?"])
        async with SimulatedCall(llm, redact=["card_number"]) as line:
            seen: list[str] = []
            for name in ("user_input_transcribed", "agent_output_transcribed", "conversation_item_added"):
                line.session.on(name, lambda event: seen.append(repr(event)))
            await line.start(Agent(instructions=""))
            line.caller.says(f"my number is {CARD_IN_WORDS}")
            await line.settled()
            return line, seen

    line, seen = run_virtual(call())
    text = "\n".join(seen)
    assert "four one one one" not in text
    assert "my number is [card_number_1]" in text
    assert "Your number is [card_number_1], is it?" in text
    voice = line.session.tts
    assert isinstance(voice, FakeTTS)
    assert CARD_IN_WORDS in " ".join(voice.said)


def test_what_was_heard_of_a_masked_reply_that_was_cut_has_no_part_of_the_secret() -> None:
    async def call() -> str:
        llm = FakeLLM([f"I have [card_number_1], and that is {'a very long story ' * 9}.", "Sorry."])
        async with SimulatedCall(llm, redact=["card_number"]) as line:
            await line.start(Agent(instructions=""))
            await line.caller.says(f"my number is {CARD_IN_WORDS}")
            await wait_until(lambda: line.session.agent_state == "speaking", timeout=10.0)
            await asyncio.sleep(2.0)
            line.caller.says("stop it")
            await line.settled()
            return "\n".join(transcript(line.session.history))

    history = run_virtual(call())
    assert "one" not in history
    assert "I have" in history
    assert "a very long story a very long story a" not in history


def test_the_words_of_a_model_that_hears_by_itself_are_masked_too() -> None:
    got: list[str] = []

    @function_tool
    async def enter(pin: Secret[str]) -> str:
        got.append(pin.reveal())
        return "Entered."

    async def call() -> str:
        caller = Caller()
        model = FakeRealtimeModel([Reply(calls=[("enter", {"pin": "4821"})]), "Thank you."], hears=caller)
        async with SimulatedCall(model, caller=caller) as line:
            seen: list[str] = []
            for name in ("user_input_transcribed", "conversation_item_added", "function_tools_executed", "journal"):
                line.session.on(name, lambda event: seen.append(repr(event)))
            await line.start(Agent(instructions="", tools=[enter]))
            with line.session.sensitive():
                line.caller.says("it is four eight two one")
                await line.settled()
            return "\n".join(seen)

    seen = run_virtual(call())
    assert got == ["4821"]
    assert "[sensitive_1]" in seen
    assert "four eight" not in seen
    assert "4821" not in seen


def test_words_that_come_after_it_was_asked_are_masked_too_and_later_ones_are_not() -> None:
    async def call() -> list[str]:
        caller = Caller()
        llm = FakeLLM(["Thanks."] * 5)
        async with SimulatedCall(llm, caller=caller, stt=CallerSTT(caller, delay=1.5)) as line:
            await line.start(Agent(instructions=""))
            with line.session.sensitive():
                await caller.says("it is four eight two one")
            await line.settled()
            await caller.says("and now to something else")
            await line.settled(quiet=3.0)
            await caller.says("which you may know")
            await line.settled()
            return [message.text_content or "" for message in line.session.history.messages() if message.role == "user"]

    first, *_, last = run_virtual(call())
    assert first == "[sensitive_1]"
    assert last == "which you may know"


def test_a_secret_that_is_read_back_for_consent_is_said_aloud_and_is_a_mask_to_all_others() -> None:
    got: list[tuple[str, str]] = []

    @function_tool(effect="writes", confirm=True, redact=("account",))
    async def pay(card: Secret[str], account: str) -> str:
        """Pay.

        Args:
            card: The number of the card.
            account: Where to.
        """
        got.append((card.reveal(), account))
        return "Paid."

    async def call() -> tuple[str, list[str]]:
        given = {"card": "4111111111111111", "account": "70012345678"}
        llm = FakeLLM([Reply(calls=[("pay", given)]), "It is paid."])
        async with SimulatedCall(llm) as line:
            seen: list[str] = []
            for name in ("agent_output_transcribed", "conversation_item_added", "function_tools_executed"):
                line.session.on(name, lambda event: seen.append(repr(event)))
            line.session.on("journal", lambda event: seen.append(f"{event.fact!r} {event.command!r}"))
            await line.start(Agent(instructions="", tools=[pay]))
            await line.caller.says("pay it please")
            await line.settled(quiet=0.5)
            await line.caller.says("yes")
            await line.settled()
            voice = line.session.tts
            assert isinstance(voice, FakeTTS)
            return "\n".join(seen), voice.said

    seen, said = run_virtual(call())
    assert got == [("4111111111111111", "70012345678")]
    assert "four one one one" in " ".join(said)
    assert "seven zero zero one" in " ".join(said)
    for spelling in ("41111", "70012", "four one", "seven zero"):
        assert spelling not in seen
    assert "[card_1]" in seen


def test_who_corrects_a_secret_in_its_read_back_says_no_digits_to_anybody_else() -> None:
    got: list[str] = []

    @function_tool(effect="writes", confirm=True)
    async def enter(pin: Secret[str]) -> str:
        got.append(pin.reveal())
        return "Entered."

    llm = FakeLLM(
        [
            Reply(calls=[("enter", {"pin": "4821"})]),
            Reply(calls=[("enter", {"pin": "[digits_1]"})]),
            "It is entered.",
        ]
    )
    call = Call(llm, enter)
    call.run("Enter it.", "No, it is four eight two two.", "yes")
    assert got == ["4822"]
    assert "No, it is [digits_1]." in call.seen
    assert "four eight" not in call.seen


@pytest.mark.parametrize("said", ["no, it is four eight two two", "yes"])
def test_the_sound_of_who_answers_the_read_back_of_a_secret_is_not_recorded_until_their_words_are_in(said: str) -> None:
    @function_tool(effect="writes", confirm=True)
    async def enter(pin: Secret[str]) -> str:
        return "Entered."

    async def call() -> tuple[list[tuple[bool, float]], float, float]:
        given = Reply(calls=[("enter", {"pin": "4821"})])
        async with SimulatedCall(FakeLLM([given, "Is that all?", "Fine."])) as line:
            time, hushed = asyncio.get_running_loop().time, list[tuple[bool, float]]()
            line.session.on("recording_hushed", lambda event: hushed.append((event.caller, time())))
            await line.start(Agent(instructions="", tools=[enter]))
            await line.caller.says("enter it")
            await line.settled(quiet=0.5)
            began = time()
            await line.caller.says(said)
            ended = time()
            await line.settled()
            await asyncio.sleep(LATE_WORDS + 1.0)
            return hushed, began, ended

    hushed, began, ended = run_virtual(call())
    assert [caller for caller, at in hushed if at < began][-1] is True
    assert [caller for caller, at in hushed if began <= at <= ended] == []
    assert hushed[-1][0] is False
