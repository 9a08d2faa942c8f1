"""Endpoints that lack tools, `strict`, parallel calls or counts: known by their refusal, once, and served without."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon import Agent, AgentSession, function_tool
from antiphon.errors import ProviderStatusError
from antiphon.providers.lacking import Lacking, lacking
from antiphon.providers.openai import LLM
from antiphon.testing import run_virtual, transcript

pytest.importorskip("openai", reason="needs the openai package: pip install 'antiphon[openai]'")

from tests.providers.http_double import HTTPDouble, status
from tests.providers.openai_double import text

FULL = {
    "stream_options": {"include_usage": True},
    "parallel_tool_calls": False,
    "tools": [{"type": "function", "function": {"name": "book", "strict": True}}],
}
"""A request with all of it."""

EXTRA = "Extra inputs are not permitted"


@pytest.mark.parametrize(
    ("code", "said", "part"),
    [
        (400, "registry.ollama.ai/library/gemma3:4b does not support tools", Lacking.TOOLS),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', Lacking.TOOLS),
        (500, "tools param requires --jinja flag", Lacking.TOOLS),
        (404, "No endpoints found that support tool use. To learn more about provider routing, ...", Lacking.TOOLS),
        (400, "`tool calling` is not supported with this model", Lacking.TOOLS),
        (
            422,
            "{'detail': [{'type': 'extra_forbidden', 'loc': ['body', 'stream_options', 'include_usage'],"
            f" 'msg': '{EXTRA}'}}]}}",
            Lacking.USAGE,
        ),
        (400, "Unknown parameter: 'stream_options'.", Lacking.USAGE),
        (400, "Unsupported parameter: 'parallel_tool_calls' is not supported with this model.", Lacking.PARALLEL),
        (400, f"tools.0.custom.strict: {EXTRA}", Lacking.STRICT),
        (400, "property 'tools[0].function.strict' is unsupported", Lacking.STRICT),
        (
            400,
            "The compiled grammar is too large, which would cause performance issues. Simplify your tool schemas or"
            " reduce the number of strict tools.",
            Lacking.STRICT,
        ),
        (400, "Invalid schema for function 'book': 'additionalProperties' is required to be false", None),
        (400, "This model's maximum context length is 8192 tokens", None),
        (401, "Incorrect API key provided; stream_options is not supported", None),
        (429, "Rate limit reached for this model: it does not support tools at this rate", None),
    ],
)
def test_what_an_endpoint_lacks_is_known_by_what_it_says(code: int, said: str, part: Lacking | None) -> None:
    assert lacking(ProviderStatusError(said, status=code), FULL) is part


def test_what_was_not_asked_for_is_not_lacking() -> None:
    said = ProviderStatusError("Unknown parameter: 'stream_options'.", status=400)
    assert lacking(said, {"messages": []}) is None


class Host(Agent):
    @function_tool
    async def book(self, day: str) -> str:
        """Book a table."""
        return f"Booked for {day}."


def refuses(said: str, code: int = 400) -> Any:
    return status(code, {"error": {"message": said, "type": "invalid_request_error"}})


def asked(double: HTTPDouble) -> list[set[str]]:
    """What each request had of what may be lacking."""
    found = []
    for request in double.requests:
        has = {part.value for part in Lacking if part.value in request.json}
        strict = any(tool["function"].get("strict") for tool in request.json.get("tools", ()))
        found.append(has | ({"strict"} if strict else set()))
    return found


async def conversation(*answers: Any, turns: int = 1) -> tuple[list[set[str]], list[str]]:
    """What was asked for, and what the agent said."""
    async with HTTPDouble(*answers) as double:
        llm = LLM(base_url=double.url, strict_tools=True, parallel_tool_calls=False, max_retries=0)
        session: AgentSession[Any] = AgentSession(llm=llm)
        await session.start(Host(instructions="Be brief."))
        for _ in range(turns):
            await session.run(user_input="Hello?")
        await session.aclose()
        await llm.aclose()
    lines = [line.rstrip() for line in transcript(session.history)]
    return asked(double), [line for line in lines if line.startswith("assistant")]


ALL = {part.value for part in Lacking}


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("Unknown parameter: 'stream_options'.", ALL - {"stream_options"}),
        ("Unsupported parameter: 'parallel_tool_calls' is not supported.", ALL - {"parallel_tool_calls"}),
        (f"tools.0.custom.strict: {EXTRA}", ALL - {"strict"}),
        ("gemma3:4b does not support tools", {"stream_options"}),
    ],
)
def test_an_endpoint_is_served_without_what_it_refused_and_not_asked_for_it_again(said: str, left: set[str]) -> None:
    async def main() -> None:
        requests, lines = await conversation(refuses(said), text("Hello."), text("Yes."), turns=2)
        assert requests == [ALL, left, left]
        assert lines == ["assistant: Hello.", "assistant: Yes."]

    run_virtual(main(), timeout=60)


def test_an_endpoint_that_lacks_everything_is_served_too() -> None:
    async def main() -> None:
        refusals = (
            refuses("Unknown parameter: 'stream_options'."),
            refuses("Unsupported parameter: 'parallel_tool_calls'"),
            refuses(f"tools.0.custom.strict: {EXTRA}"),
            refuses("gemma3:4b does not support tools"),
        )
        requests, lines = await conversation(*refusals, text("Hello."))
        assert requests[-1] == set()
        assert lines == ["assistant: Hello."]

    run_virtual(main(), timeout=60)


def test_an_endpoint_that_goes_on_refusing_is_not_asked_for_ever() -> None:
    async def main() -> None:
        requests, _ = await conversation(refuses("gemma3:4b does not support tools"))
        assert len(requests) == 2

    run_virtual(main(), timeout=60)


def test_who_can_call_no_tools_is_told_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        await conversation(refuses("gemma3:4b does not support tools"), text("Hello."))

    run_virtual(main(), timeout=60)
    (told,) = [record.getMessage() for record in caplog.records if "endpoint has no" in record.getMessage()]
    assert "has no tools: the agent can call none of its tools. Choose a model" in told


@pytest.mark.parametrize(
    "said",
    [
        "This model is only supported in v1/responses and not in v1/chat/completions.",
        "This is not a chat model and thus not supported in the v1/chat/completions endpoint.",
    ],
)
def test_a_model_of_the_responses_api_alone_is_refused_in_words(said: str, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        requests, _ = await conversation(refuses(said, 404))
        assert len(requests) == 1

    run_virtual(main(), timeout=60)
    assert "The Responses API is not spoken here: choose a model of Chat Completions" in caplog.text
