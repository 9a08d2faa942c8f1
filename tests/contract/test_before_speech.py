"""What the agent is about to say: claims that no tool backs are told, and the application may hold or change it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from antiphon import Agent, AgentSession, ErrorEvent, ToolError, TurnMetricsEvent, UnbackedClaimEvent, function_tool
from antiphon.before_speech import BeforeSpeech, Sentence
from antiphon.language import ENGLISH, GERMAN
from antiphon.language.claims import Action, ClaimPhrases
from antiphon.testing import FakeLLM, Reply, SimulatedCall, run_virtual


@function_tool(effect="writes")
async def book_table(people: int) -> str:
    """Book a table."""
    if people > 12:
        raise ToolError("Too many.")
    return f"Table for {people}, number 4711."


@function_tool(effect="reads")
async def find_booking() -> str:
    """Find a booking."""
    return "One for Friday."


@function_tool
async def finish(people: int) -> str:
    """Finish what the user asked for."""
    return "ok"


BOOK: tuple[str, dict[str, Any]] = ("book_table", {"people": 4})
TOO_MANY: tuple[str, dict[str, Any]] = ("book_table", {"people": 40})
CLAIM = "I've booked your table."


class Call:
    """A session in text that says a script, with what was told of it."""

    def __init__(self, *script: Reply | str, tools: Any = (book_table, find_booking), **options: Any) -> None:
        self.session = AgentSession[Any](llm=FakeLLM(list(script)), **options)
        self.agent = Agent(instructions="You book tables.", tools=list(tools))
        self.claims: list[UnbackedClaimEvent] = []
        self.errors: list[ErrorEvent] = []
        self.session.on("error", self.errors.append)

    async def listening(self, turns: int) -> None:
        async with self.session as session:
            await session.start(self.agent)
            for _ in range(turns):
                await session.run(user_input="go")

    def runs(self, turns: int = 1) -> list[str]:
        """What the agent said."""
        run_virtual(self.listening(turns))
        said = [item for item in self.session.history.messages() if item.role == "assistant"]
        return [item.text_content or "" for item in said]

    def claimed(self, turns: int = 1) -> list[str]:
        """What it claimed, and no tool had done."""
        self.session.on("unbacked_claim", self.claims.append)
        self.runs(turns)
        return [claim.done for claim in self.claims]


# -- claims


def test_a_claim_that_no_tool_backs_is_told_and_said_all_the_same() -> None:
    call = Call(f"{CLAIM} Anything else?")
    assert call.claimed() == ["booked"]
    (claim,) = call.claims
    assert claim.sentence == CLAIM and claim.speech_id.startswith("speech_")
    assert call.session.history.messages()[-1].text_content == f"{CLAIM} Anything else?"


def test_a_claim_that_a_tool_backs_is_none() -> None:
    assert Call(Reply(calls=[BOOK]), CLAIM).claimed() == []


def test_what_was_done_in_an_earlier_turn_backs_a_claim() -> None:
    assert Call(Reply(calls=[BOOK]), "Done.", "As I said, I've booked it.").claimed(turns=2) == []


def test_what_failed_backs_nothing() -> None:
    assert Call(Reply(calls=[TOO_MANY]), CLAIM).claimed() == ["booked"]


def test_what_another_tool_did_backs_nothing() -> None:
    assert Call(Reply(calls=[("find_booking", {})]), "I've cancelled your booking.").claimed() == ["cancelled"]


def test_how_things_are_may_have_been_found_out() -> None:
    assert Call(Reply(calls=[("find_booking", {})]), "Your table is booked.").claimed() == []
    assert Call("Your table is booked.").claimed() == ["booked"]


def test_a_tool_whose_name_says_nothing_may_have_done_anything() -> None:
    assert Call(Reply(calls=[("finish", {"people": 4})]), CLAIM, tools=[finish]).claimed() == []


def test_a_claim_before_the_call_is_too_early() -> None:
    assert Call(Reply("I've booked it. ", [BOOK]), "So it is.").claimed() == ["booked"]


def test_what_was_done_in_an_earlier_call_that_the_agent_knows_backs_a_claim() -> None:
    first = Call(Reply(calls=[BOOK]), "Done.")
    first.runs()
    second = Call("You know, I've booked it.")
    second.agent = Agent(instructions="", tools=[book_table], chat_ctx=first.session.history.copy())
    assert second.claimed() == []


def test_claims_are_read_in_the_language_of_the_session() -> None:
    assert Call("Ich habe den Tisch gebucht.", language=GERMAN).claimed() == ["gebucht"]
    assert Call("Ich habe den Tisch gebucht.").claimed() == []


def test_what_the_application_says_is_not_looked_at() -> None:
    call = Call("Well.")
    call.session.on("unbacked_claim", call.claims.append)

    async def test() -> None:
        async with call.session as session:
            await session.start(call.agent)
            await session.say(CLAIM)

    run_virtual(test())
    assert call.claims == []


def test_phrases_that_cannot_be_read_lose_nothing() -> None:
    broken = replace(ENGLISH, claims=ClaimPhrases(actions=(Action("book", "booked"),), did=("(",)))
    call = Call(f"{CLAIM} Anything else?", language=broken)
    assert call.claimed() == []
    assert call.session.history.messages()[-1].text_content == f"{CLAIM} Anything else?"
    assert len(call.errors) == 1


def test_claims_are_counted_where_replies_are_measured() -> None:
    call, measured = Call(CLAIM), list[TurnMetricsEvent]()
    call.session.on("turn_metrics", measured.append)
    call.runs()
    assert measured[-1].call.unbacked_claims == 1
    assert [response.unbacked_claims for response in measured[-1].metrics.responses] == [1]


# -- what is said in the place of a sentence


def said(hook: BeforeSpeech, *script: Reply | str, **options: Any) -> list[str]:
    return Call(*script, before_speech=hook, **options).runs()


def test_a_sentence_may_be_changed_left_out_or_left_as_it_is() -> None:
    async def hook(sentence: Sentence) -> str | None:
        return {"One.": "Eins.", "Two.": ""}.get(sentence.text)

    assert said(hook, "One. Two. Three.") == ["Eins. Three."]


def test_the_hook_sees_what_was_done_and_what_is_claimed() -> None:
    seen: list[Sentence] = []

    async def hook(sentence: Sentence) -> str | None:
        seen.append(sentence)
        return "Let me see to that." if sentence.unbacked else None

    assert said(hook, Reply(f"{CLAIM} ", [TOO_MANY]), "I could not do that.") == [
        "Let me see to that.",
        "I could not do that.",
    ]
    first, second = seen
    assert first.unbacked == ("booked",) and first.deeds == () and first.agent_id and first.speech_id
    (deed,) = second.deeds
    assert (deed.name, deed.state, deed.output, deed.effect) == ("book_table", "failed", "Too many.", "writes")


def test_a_claim_that_was_changed_is_not_told() -> None:
    async def hook(sentence: Sentence) -> str | None:
        return "One moment." if sentence.unbacked else None

    assert Call(CLAIM, before_speech=hook).claimed() == []


def test_what_follows_is_asked_with_what_was_said() -> None:
    async def hook(sentence: Sentence) -> str | None:
        return "Hello."

    call = Call("One.", "Two.", before_speech=hook)
    call.runs(turns=2)
    told = call.session.llm.requests[-1].chat_ctx.messages()
    assert [item.text_content for item in told if item.role == "assistant"] == ["Hello."]


@pytest.mark.parametrize("failure", [ValueError("no"), asyncio.CancelledError()])
def test_a_hook_that_raises_loses_nothing(failure: BaseException) -> None:
    async def hook(sentence: Sentence) -> str | None:
        raise failure

    call = Call("One. Two.", before_speech=hook)
    assert call.runs() == ["One. Two."]
    assert len(call.errors) == 2


def test_a_hook_that_gives_no_text_loses_nothing() -> None:
    async def hook(sentence: Sentence) -> Any:
        return 7

    call = Call("One.", before_speech=hook)
    assert call.runs() == ["One."]
    assert "expected a text" in str(call.errors[0].error)


def test_a_sentence_is_held_for_two_seconds_at_most() -> None:
    async def hook(sentence: Sentence) -> str | None:
        await asyncio.sleep(1.9 if sentence.text == "One." else 60)
        return "never" if sentence.text == "Two." else "held"

    call = Call("One. Two.", before_speech=hook)
    assert call.runs() == ["held Two."]
    assert "held a sentence for 2 s" in str(call.errors[0].error)


def test_text_of_a_node_that_gives_one_string_passes_too() -> None:
    class Own(Agent):
        async def llm_node(self, chat_ctx: Any, tools: Any, model_settings: Any) -> Any:
            return "One. Two."

    async def hook(sentence: Sentence) -> str | None:
        return sentence.text.upper()

    call = Call("", before_speech=hook)
    call.agent = Own(instructions="")
    assert call.runs() == ["ONE. TWO."]


def test_of_a_response_that_breaks_what_came_is_said() -> None:
    class Own(Agent):
        async def llm_node(self, chat_ctx: Any, tools: Any, model_settings: Any) -> AsyncIterator[str]:
            yield "One. Tw"
            raise ConnectionResetError

    async def hook(sentence: Sentence) -> str | None:
        return "Eins."

    call = Call("", before_speech=hook)
    call.agent = Own(instructions="")
    assert call.runs()[0] == "Eins. Tw"


def test_by_voice_the_changed_sentence_is_heard() -> None:
    async def hook(sentence: Sentence) -> str | None:
        return "Let me book that." if sentence.unbacked else None

    async def test() -> None:
        llm = FakeLLM([f"{CLAIM} It is by the window."])
        async with SimulatedCall(llm, before_speech=hook, max_silence=None) as call:
            await call.start(Agent(instructions="You book tables."))
            await call.caller.says("A table please.")
            await call.settled()
            texts = [m.text_content for m in call.session.history.messages() if m.role == "assistant"]
            assert texts == ["Let me book that. It is by the window."]

    run_virtual(test())
