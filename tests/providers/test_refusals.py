"""An endpoint that refuses a request for one tool's sake: the session goes on without that tool."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon import Agent, AgentSession, ErrorEvent, function_tool
from antiphon.adapters.fallback.llm import FallbackLLM
from antiphon.errors import ProviderStatusError, ToolRefused
from antiphon.llm import LLM as AnyLLM
from antiphon.providers.openai import LLM
from antiphon.providers.refusals import naming_refusals, refused_tool
from antiphon.testing import FakeLLM, run_virtual, transcript

pytest.importorskip("openai", reason="needs the openai package: pip install 'antiphon[openai]'")

from tests.providers.http_double import HTTPDouble, status
from tests.providers.openai_double import sse, text

NAMES = ["book", "look_up", "send"]


@pytest.mark.parametrize(
    ("said", "tool"),
    [
        ("Invalid schema for function 'look_up': schema must be a JSON Schema of 'type: \"object\"'", "look_up"),
        ("{'param': 'tools[2].function.parameters', 'code': 'invalid_function_parameters'}", "send"),
        (
            "tools.1.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf",
            "look_up",
        ),
        (
            "* GenerateContentRequest.tools[0].function_declarations[2].parameters: should be non-empty",
            "send",
        ),
        ("[{'loc': ['body', 'tools', 1, 'function', 'name'], 'msg': 'bad'}]", "look_up"),
        ("Tool `send` has an invalid schema", "send"),
        ("Invalid schema for function 'other'", None),
        ("tools[7].function.name: too long", None),
        ("messages[2].tool_calls[1].id: too long", None),
        ("Invalid value for tool_choice: function 'send' is not there", None),
        ("This model's maximum context length is 8192 tokens", None),
    ],
)
def test_the_tool_that_an_endpoint_complains_about_is_found(said: str, tool: str | None) -> None:
    assert refused_tool(said, NAMES) == tool


def test_a_failure_of_another_kind_stays_what_it_is() -> None:
    @function_tool
    async def book(day: str) -> None: ...

    with pytest.raises(ProviderStatusError) as caught, naming_refusals([book]):
        raise ProviderStatusError("function 'book' broke", status=500)
    assert not isinstance(caught.value, ToolRefused)


class Host(Agent):
    @function_tool
    async def book(self, day: str) -> str:
        """Book a table."""
        return f"Booked for {day}."

    @function_tool
    async def look_up(self, day: str) -> str:
        """Look a booking up."""
        return "Nothing."


def refusal(index: int, name: str) -> Any:
    message = f"Invalid schema for function '{name}': schema must not have 'anyOf' at the top level."
    return status(400, {"error": {"message": message, "param": f"tools[{index}].function.parameters"}})


async def conversation(llm: AnyLLM, *turns: str) -> tuple[list[str], list[Any]]:
    errors: list[Any] = []
    session: AgentSession[Any] = AgentSession(llm=llm)
    session.on("error", lambda event: errors.append(event))
    await session.start(Host())
    for turn in turns:
        await session.run(user_input=turn)
    await session.aclose()
    await llm.aclose()
    return [line.rstrip() for line in transcript(session.history)], errors


def offered(double: HTTPDouble) -> list[list[str]]:
    return [[tool["function"]["name"] for tool in request.json.get("tools", ())] for request in double.requests]


def test_a_tool_that_is_refused_is_dropped_told_and_the_turn_is_answered() -> None:
    async def main() -> None:
        async with HTTPDouble(refusal(0, "book"), text("Hello."), text("Yes.")) as double:
            lines, errors = await conversation(LLM(base_url=double.url, max_retries=0), "Hello?", "Still there?")
        assert offered(double) == [["book", "look_up"], ["look_up"], ["look_up"]]
        assert [line for line in lines if line.startswith("assistant")] == ["assistant: Hello.", "assistant: Yes."]
        (event,) = errors
        assert isinstance(event, ErrorEvent)
        assert isinstance(event.error, ToolRefused) and event.error.tool == "book"
        assert "correct its schema or its name, or leave it out" in str(event.error)

    run_virtual(main(), timeout=60)


def test_a_refusal_inside_of_an_answer_that_began_well_drops_the_tool() -> None:
    async def main() -> None:
        refused = b'data: {"error": {"message": "Invalid schema for function \'book\'", "code": 400}}\n\n'
        async with HTTPDouble(sse(refused), text("Hello.")) as double:
            lines, errors = await conversation(LLM(base_url=double.url, max_retries=0), "Hello?")
        assert offered(double) == [["book", "look_up"], ["look_up"]]
        assert lines[-1] == "assistant: Hello."
        assert [event.error.tool for event in errors] == ["book"]

    run_virtual(main(), timeout=60)


def test_each_refusal_drops_a_tool_so_that_asking_again_ends() -> None:
    async def main() -> None:
        answers = (refusal(1, "look_up"), refusal(0, "book"), text("Hello."))
        async with HTTPDouble(*answers) as double:
            lines, errors = await conversation(LLM(base_url=double.url, max_retries=0), "Hello?")
        assert offered(double) == [["book", "look_up"], ["book"], []]
        assert lines[-1] == "assistant: Hello."
        assert [event.error.tool for event in errors] == ["look_up", "book"]

    run_virtual(main(), timeout=60)


def test_a_refusal_of_a_tool_that_was_not_offered_is_an_error_of_the_response() -> None:
    async def main() -> None:
        async with HTTPDouble(refusal(9, "other"), text("Hello.")) as double:
            _, errors = await conversation(LLM(base_url=double.url, max_retries=0), "Hello?")
        assert len(double.requests) == 1 and len(errors) == 1

    run_virtual(main(), timeout=60)


def test_behind_a_fallback_the_first_model_is_asked_again() -> None:
    async def main() -> None:
        async with HTTPDouble(refusal(0, "book"), text("Hello.")) as double:
            first = LLM(base_url=double.url, max_retries=0)
            lines, _ = await conversation(FallbackLLM([first, FakeLLM([])]), "Hello?")
        assert offered(double) == [["book", "look_up"], ["look_up"]]
        assert lines[-1] == "assistant: Hello."

    run_virtual(main(), timeout=60)


# -- requests that are longer than the model can read

OVERFLOWS = [
    status(
        400,
        {
            "error": {
                "message": "This model's maximum context length is 300 tokens. However, you requested 420 tokens.",
                "code": "context_length_exceeded",
                "param": "messages",
            }
        },
    ),
    status(
        400,
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size, try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 420,
                "n_ctx": 300,
            }
        },
    ),
    sse(b'data: {"error": {"message": "request (420 tokens) exceeds the available context size (300 tokens)"}}\n\n'),
]
"""OpenAI and vLLM; llama.cpp; and inside of an answer that began well."""


@pytest.mark.parametrize("overflow", OVERFLOWS)
@pytest.mark.parametrize("behind_fallback", [False, True])
def test_a_request_that_is_too_long_is_asked_again_with_less(overflow: Any, behind_fallback: bool) -> None:
    async def main() -> None:
        answers = (text("First. " * 100), text("Second."), overflow, text("Third."))
        async with HTTPDouble(*answers) as double:
            llm: AnyLLM = LLM(base_url=double.url, max_retries=2)
            lines, errors = await conversation(FallbackLLM([llm, FakeLLM([])]) if behind_fallback else llm, *"ABC")
        assert lines[-1] == "assistant: Third."
        assert not errors
        *_, refused, asked = [request.json["messages"] for request in double.requests]
        assert len(double.requests) == 4
        assert len(asked) < len(refused)
        assert asked[-1] == refused[-1] == {"role": "user", "content": "C"}

    run_virtual(main(), timeout=60)
