"""Half of a surrogate pair, and arguments that are no JSON: whoever brings them, each later request can be sent."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from antiphon import Agent, RunContext, ToolError, function_tool
from antiphon.chat import ChatContext, ChatMessage, FunctionCall, FunctionCallOutput
from antiphon.core.facts import Transcribed, UserTurnSubmitted
from antiphon.core.well_formed import well_formed_fact
from antiphon.errors import ProviderError, ProviderStatusError
from antiphon.llm import ChatRequest
from antiphon.providers.openai_format import wire_messages, wire_tools
from antiphon.testing import Fail, FakeLLM, Reply, run_virtual
from tests.calls import VoiceCall, converse, outputs

HALF = "ca\ud83dfe"
WHOLE = "ca\ufffdfe"


class Careless(Agent):
    """Its tools and instructions hold what no text can carry."""

    def __init__(self) -> None:
        super().__init__(instructions=f"You are {HALF}.")

    @function_tool
    async def result(self) -> dict[str, str]:
        """A result."""
        return {"name": HALF}

    @function_tool
    async def refusal(self) -> str:
        """An error."""
        raise ToolError(HALF)

    @function_tool
    async def update(self, ctx: RunContext[Any]) -> str:
        """An update, and words."""
        await ctx.update(HALF)
        ctx.session.say(HALF)
        return "done"


def sent(request: ChatRequest) -> str:
    """What goes to an endpoint. Raises if it cannot be encoded."""
    body = {"messages": wire_messages(request.chat_ctx), "tools": wire_tools(request.tools, strict=False)}
    return json.dumps(body, ensure_ascii=False, allow_nan=False).encode().decode()


@pytest.mark.parametrize("call", ["result", "refusal", "update"])
def test_what_a_tool_tells_can_be_sent(call: str) -> None:
    llm = FakeLLM([Reply(calls=[(call, {})]), *["Well."] * (3 if call == "update" else 2)])
    run_virtual(converse(Careless(), "go", "and then", llm=llm))

    assert WHOLE in sent(llm.requests[-1])
    assert all(WHOLE in sent(request) for request in llm.requests)  # in the instructions


def test_what_a_caller_types_and_a_model_writes_can_be_sent() -> None:
    llm = FakeLLM([HALF, "Yes."])
    session = run_virtual(converse(Agent(), HALF, "and then", llm=llm))

    assert [message.text_content for message in session.history.messages()][:2] == [WHOLE, WHOLE]
    assert sent(llm.requests[-1]).count(WHOLE) == 2


def test_what_a_recogniser_hears_and_an_application_says_can_be_sent() -> None:
    llm = FakeLLM(["Well.", "Yes."])

    async def main() -> None:
        async with VoiceCall(llm, [HALF, "and then"]) as call:
            await call.begin(Agent())
            await call.session.say(HALF)
            for _ in range(2):
                await call.microphone.speak(1.0)
                await asyncio.sleep(1.0)
                await call.session.wait_for_idle()

    run_virtual(main())
    assert sent(llm.requests[-1]).count(WHOLE) == 2


@pytest.mark.parametrize("arguments", ['{"city": ', "[1]", "null", '["\ud83d"]', "<html>" * 1000])
def test_refused_arguments_stay_as_an_object_that_tells_of_them(arguments: str) -> None:
    @function_tool
    async def weather(city: str) -> str:
        """Look up the weather."""
        return "sunny"

    llm = FakeLLM([Reply(calls=[("weather", arguments)]), "Well."])
    session = run_virtual(converse(Agent(tools=[weather]), "go", llm=llm))

    (call,) = (item for item in session.history.items if isinstance(item, FunctionCall))
    assert list(json.loads(call.arguments)) == ["malformed"]
    assert len(call.arguments) < 600
    assert len(outputs(session)) == 1
    sent(llm.requests[-1])


@pytest.mark.parametrize("arguments", ["{}", '{"a": [1, "\\ud55c"]}', '{"a":\n 1}'])
def test_arguments_that_are_an_object_stay_as_they_are(arguments: str) -> None:
    assert FunctionCall(call_id="1", name="f", arguments=arguments).arguments == arguments


def test_items_of_an_application_are_well_formed() -> None:
    chat_ctx = ChatContext(
        [
            ChatMessage("user", [HALF, HALF]),
            FunctionCall(call_id="1", name=HALF, arguments=""),
            FunctionCallOutput(call_id="1", name=HALF, output=HALF),
        ]
    )

    again = ChatContext.from_dict(chat_ctx.to_dict())

    assert again.is_equivalent(chat_ctx)
    sent(ChatRequest(again))


def test_facts_are_well_formed_and_not_copied_for_it() -> None:
    fact = Transcribed("héllo 👍", final=True)

    assert well_formed_fact(fact) is fact
    assert well_formed_fact(UserTurnSubmitted(HALF)) == UserTurnSubmitted(WHOLE)


def test_an_error_page_of_megabytes_is_cut_wherever_it_is_told(caplog: pytest.LogCaptureFixture) -> None:
    page = "<html>" + "x" * 10_000_000
    error = ProviderStatusError(f"openai.LLM: answered 502: {page}", status=502, body=page, provider="openai.LLM")
    told: list[Any] = []

    async def main() -> None:
        async with VoiceCall(FakeLLM([Fail(error), Fail(RuntimeError(page))]), ["hello", "hello"]) as call:
            call.session.on("error", told.append)
            await call.begin(Agent())
            for _ in range(2):
                await call.microphone.speak(1.0)
                await asyncio.sleep(1.0)
                await call.session.wait_for_idle()

    run_virtual(main())

    assert "... (10,000,0" in error.message
    assert len(str(error.body)) < 2_100
    assert told
    assert max(len(record.getMessage()) for record in caplog.records) < 5_000


def test_what_a_provider_says_is_well_formed() -> None:
    assert ProviderError(HALF).message == WHOLE
