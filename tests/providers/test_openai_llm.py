from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from antiphon.chat import ChatContext
from antiphon.errors import (
    MissingKey,
    ProviderConnectionError,
    ProviderError,
    ProviderStatusError,
    ProviderTimeout,
)
from antiphon.llm import ChatChunk, ChoiceDelta, CollectedResponse, CompletionUsage
from antiphon.providers.openai import LLM
from antiphon.testing.contract import check_llm
from antiphon.tools.function import function_tool

pytest.importorskip("openai", reason="needs the openai package: pip install 'antiphon[openai]'")

from tests.providers.http_double import Answer, HTTPDouble, hang_up, pieces, silence, status
from tests.providers.openai_double import call, calls, delta, ending, event, sse, text, words


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@function_tool
async def book(day: str) -> str:
    """Book a table."""
    return "booked"


def asking(question: str = "Hi") -> ChatContext:
    chat_ctx = ChatContext()
    chat_ctx.add_message(role="user", content=question)
    return chat_ctx


def with_double(
    *answers: Answer, use: Callable[[HTTPDouble, LLM], Awaitable[Any]], model: Callable[[str], LLM] | None = None
) -> HTTPDouble:
    """Run `use` against a double that answers so."""

    async def run() -> HTTPDouble:
        async with HTTPDouble(*answers) as double:
            llm = model(double.url) if model else LLM(model="gpt-test", base_url=double.url)
            try:
                async with asyncio.timeout(10):
                    await use(double, llm)
            finally:
                await llm.aclose()
        return double

    return asyncio.run(run())


def ask(*answers: Answer, model: Callable[[str], LLM] | None = None, **chat: Any) -> tuple[CollectedResponse, Any]:
    """The response, and the body of the last request."""
    responses: list[CollectedResponse] = []

    async def use(_: HTTPDouble, llm: LLM) -> None:
        responses.append(await llm.chat(chat_ctx=chat.pop("chat_ctx", asking()), **chat).collect())

    double = with_double(*answers, use=use, model=model)
    return responses[0], double.requests[-1].json


def fail(
    *answers: Answer, error: type[ProviderError], **options: Any
) -> tuple[ProviderError, HTTPDouble, list[ChatChunk]]:
    """The error, the double, and what was given before it."""
    given: list[ChatChunk] = []
    errors: list[ProviderError] = []

    async def use(_: HTTPDouble, llm: LLM) -> None:
        with pytest.raises(error) as raised:
            async for chunk in llm.chat(chat_ctx=asking()):
                if chunk.delta is not None:  # else it only shows that the model is at work
                    given.append(chunk)  # noqa: PERF401 - a comprehension would lose what came before the error
        errors.append(raised.value)

    options = {"max_retries": 0, "timeout": 5.0} | options
    double = with_double(*answers, use=use, model=lambda url: LLM(model="gpt-test", base_url=url, **options))
    return errors[0], double, given


# -- what is sent


def test_a_request_carries_model_history_and_a_wish_for_usage() -> None:
    _, body = ask(text("Hello"))
    assert body == {
        "model": "gpt-test",
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_without_tools_nothing_is_said_about_tools() -> None:
    _, body = ask(
        text("Hello"),
        model=lambda url: LLM(base_url=url, parallel_tool_calls=False, tool_choice="required"),
        tool_choice="auto",
    )
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & body.keys()


@pytest.mark.parametrize("choice", ["auto", "required", "none", {"type": "function", "function": {"name": "book"}}])
def test_tool_choice_is_sent_with_tools(choice: Any) -> None:
    _, body = ask(text("Hello"), tools=[book], tool_choice=choice)
    assert body["tool_choice"] == choice
    assert body["tools"][0]["function"]["name"] == "book"


def test_options_of_the_request_outweigh_those_of_the_model() -> None:
    _, body = ask(
        text("Hello"),
        model=lambda url: LLM(base_url=url, parallel_tool_calls=True, tool_choice="required", extra_kwargs={"seed": 1}),
        tools=[book],
        tool_choice="auto",
        parallel_tool_calls=False,
        extra_kwargs={"seed": 2, "top_k": 4},
    )
    assert (body["tool_choice"], body["parallel_tool_calls"], body["seed"], body["top_k"]) == ("auto", False, 2, 4)


def test_parallel_tool_calls_among_the_extra_kwargs_are_the_models_own_option() -> None:
    llm = LLM(extra_kwargs={"parallel_tool_calls": False})
    assert llm.parallel_tool_calls is False
    _, body = ask(
        text("Hello"),
        model=lambda url: LLM(base_url=url, extra_kwargs={"parallel_tool_calls": False}),
        tools=[book],
    )
    assert body["parallel_tool_calls"] is False


def test_headers_among_the_extra_kwargs_are_sent_as_headers() -> None:
    async def use(_: HTTPDouble, llm: LLM) -> None:
        await llm.chat(chat_ctx=asking(), extra_kwargs={"extra_headers": {"x-tenant": "a"}}).collect()

    request = with_double(text("Hello"), use=use).requests[0]
    assert request.headers["x-tenant"] == "a"
    assert "extra_headers" not in request.json


def test_schemas_are_enforced_where_it_is_asked_for() -> None:
    _, body = ask(text("Hello"), model=lambda url: LLM(base_url=url, strict_tools=True), tools=[book])
    assert body["tools"][0]["function"]["strict"] is True
    _, body = ask(text("Hello"), tools=[book])
    assert "strict" not in body["tools"][0]["function"]


# -- what comes back


def test_text_comes_in_deltas_and_usage_once() -> None:
    response, _ = ask(text("Hello there"))
    assert response.text == "Hello there "
    assert response.usage == CompletionUsage(prompt_tokens=12, completion_tokens=3, prompt_cached_tokens=8)


def test_parallel_calls_come_complete_and_in_order() -> None:
    response, _ = ask(
        calls(
            call(0, id="c1", name="book", arguments=""),
            call(0, arguments='{"day": '),
            call(0, arguments='"Monday"}'),
            call(1, id="c2", name="book", arguments='{"day": "Tuesday"}'),
        ),
        tools=[book],
    )
    assert [(one.call_id, one.arguments) for one in response.tool_calls] == [
        ("c1", '{"day": "Monday"}'),
        ("c2", '{"day": "Tuesday"}'),
    ]


def test_a_call_id_that_the_history_knows_already_is_replaced() -> None:
    from antiphon.chat import FunctionCall, FunctionCallOutput

    chat_ctx = asking()
    chat_ctx.append(FunctionCall(call_id="call_0", name="book", arguments="{}"))
    chat_ctx.append(FunctionCallOutput(call_id="call_0", name="book", output="booked"))
    answer = calls(call(0, id="call_0", name="book", arguments="{}"))
    response, _ = ask(answer, chat_ctx=chat_ctx, tools=[book])
    assert response.tool_calls[0].call_id != "call_0"


def test_it_keeps_the_promises_of_a_language_model() -> None:
    async def use(_: HTTPDouble, llm: LLM) -> None:
        await check_llm(lambda: LLM(base_url=str(llm.base_url)))

    with_double(text("Hello there, how are you?"), use=use)
    with_double(calls(call(0, id="c1", name="f", arguments='{"a": 1}')), use=use)


def test_leaving_a_response_stops_the_endpoint() -> None:
    async def use(double: HTTPDouble, llm: LLM) -> None:
        async with llm.chat(chat_ctx=asking()) as stream:
            async for _ in stream:
                break
        await double.disconnected.wait()

    with_double(sse(*words("Once upon a time"), then="hang"), use=use)


# -- keys


def test_it_is_made_without_key_and_asks_for_it_at_the_first_use() -> None:
    llm = LLM()
    assert llm.unusable() == "no OPENAI_API_KEY"

    async def first_use() -> None:
        with pytest.raises(MissingKey, match="OPENAI_API_KEY"):
            await llm.chat(chat_ctx=asking()).collect()

    asyncio.run(first_use())


def test_an_endpoint_elsewhere_needs_a_key_too() -> None:
    assert LLM(base_url="https://llm.example.org/v1").unusable() == "no OPENAI_API_KEY"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8080", "[::1]", "192.168.1.7", "model.internal"])
def test_an_endpoint_nearby_needs_none(host: str) -> None:
    assert LLM(base_url=f"http://{host}/v1").unusable() is None


def test_the_key_of_the_environment_is_not_sent_to_an_endpoint_nearby(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")

    async def use(_: HTTPDouble, llm: LLM) -> None:
        await llm.chat(chat_ctx=asking()).collect()

    request = with_double(text("Hello"), use=use).requests[0]
    assert "secret" not in str(request.headers)


def test_a_client_of_yours_is_used_and_stays_open() -> None:
    from openai import AsyncOpenAI

    async def run() -> None:
        async with HTTPDouble(text("Hello")) as double, AsyncOpenAI(api_key="mine", base_url=double.url) as client:
            llm = LLM(client=client)
            assert (await llm.chat(chat_ctx=asking()).collect()).text
            await llm.aclose()
            assert not client.is_closed()
            assert double.requests[0].headers["authorization"] == "Bearer mine"

    asyncio.run(run())


def test_one_model_serves_one_event_loop_after_another() -> None:
    llm = LLM(base_url="http://127.0.0.1:1", max_retries=0)

    async def use() -> None:
        async with HTTPDouble(text("Hello")) as double:
            llm.connect_to(base_url=double.url, api_key=None, timeout=5, max_retries=0, client=None)
            assert (await llm.chat(chat_ctx=asking()).collect()).text
            await llm.aclose()

    asyncio.run(use())
    asyncio.run(use())


# -- bad days


def test_a_refused_key_is_named_and_not_tried_again() -> None:
    error, double, _ = fail(
        status(401, {"error": {"message": "Incorrect API key"}}), error=ProviderStatusError, max_retries=2
    )
    assert isinstance(error, ProviderStatusError)
    assert (error.status, error.retryable, len(double.requests)) == (401, False, 1)
    assert "openai.LLM" in str(error)
    assert "Incorrect API key" in str(error)
    assert "OPENAI_API_KEY" in str(error)


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_busy_endpoint_is_asked_again(code: int) -> None:
    busy = status(code, {"error": {"message": "busy"}}, headers="retry-after-ms: 1\r\n")
    response, _ = ask(busy, busy, text("Hello"))
    assert response.text == "Hello "


@pytest.mark.parametrize("code", [429, 500])
def test_an_endpoint_that_stays_busy_is_an_error_that_may_pass(code: int) -> None:
    busy = status(code, {"error": {"message": "busy"}}, headers="retry-after-ms: 1\r\n")
    error, double, _ = fail(busy, error=ProviderStatusError, max_retries=1)
    assert isinstance(error, ProviderStatusError)
    assert (error.status, error.retryable, len(double.requests)) == (code, True, 2)


def test_a_spent_quota_is_an_error_that_does_not_pass() -> None:
    spent = status(429, {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}})
    error, *_ = fail(spent, error=ProviderStatusError)
    assert not error.retryable


def test_a_request_that_is_refused_is_not_tried_again() -> None:
    refused = status(400, {"error": {"message": "too long", "type": "exceed_context_size_error"}})
    error, double, _ = fail(refused, error=ProviderStatusError, max_retries=2)
    assert not error.retryable
    assert len(double.requests) == 1


def test_a_connection_that_is_hung_up_is_tried_again() -> None:
    response, _ = ask(hang_up, text("Hello"))
    assert response.text == "Hello "


def test_a_response_cut_before_its_first_token_is_asked_for_again() -> None:
    response, _ = ask(sse(delta(role="assistant"), then="cut"), text("Hello"))
    assert response.text == "Hello "


def test_a_response_cut_in_the_middle_is_an_error_after_what_was_given() -> None:
    error, double, given = fail(sse(*words("Once upon"), then="cut"), error=ProviderConnectionError, max_retries=2)
    assert error.retryable
    assert len(double.requests) == 1, "text was given, so it must not be asked for again"
    assert len(given) == 2


def test_a_response_without_an_end_is_an_error() -> None:
    error, _, given = fail(sse(*words("Once upon")), error=ProviderConnectionError)
    assert "stopped in the middle" in str(error)
    assert len(given) == 2


def test_a_call_that_is_cut_is_never_given() -> None:
    cut = sse(call(0, id="c1", name="pay", arguments='{"amount": 10'), then="cut")
    _, _, given = fail(cut, error=ProviderConnectionError)
    assert given == []


def test_a_call_cut_by_the_limit_of_tokens_is_an_error_and_not_a_call() -> None:
    cut = sse(call(0, id="c1", name="pay", arguments='{"amount": 10'), *ending("length"))
    error, _, given = fail(cut, error=ProviderError, max_retries=2)
    assert not error.retryable
    assert "'pay'" in str(error)
    assert given == []


@pytest.mark.parametrize(
    "garbage",
    [
        b"data: {not json\n\n",
        b"data: 17\n\n",
        b'data: {"choices": 5}\n\n',
        b'data: {"choices": [{"delta": {"tool_calls": 3}}]}\n\n',
        b"data: \xff\xfe\n\n",
    ],
)
def test_garbled_chunks_are_a_broken_connection(garbage: bytes) -> None:
    error, _, given = fail(sse(*words("Once"), garbage, *ending("stop")), error=ProviderConnectionError)
    assert "openai.LLM" in str(error)
    assert len(given) == 1


def test_an_answer_that_is_no_stream_is_an_error() -> None:
    fail(pieces(b"<html>Bad gateway</html>", content_type="text/html"), error=ProviderConnectionError)


def test_an_error_in_the_stream_is_told_with_its_message() -> None:
    overloaded = event(error={"message": "The server is overloaded", "type": "server_error"})
    error, *_ = fail(sse(overloaded), error=ProviderError)
    assert "The server is overloaded" in str(error)


@pytest.mark.parametrize("answer", [silence, sse(*words("Once"), then="hang")])
def test_an_endpoint_that_falls_silent_is_a_timeout(answer: Answer) -> None:
    error, *_ = fail(answer, error=ProviderTimeout, timeout=0.1)
    assert "0.1 s" in str(error)


def test_an_endpoint_that_is_not_there_is_a_connection_error() -> None:
    async def run() -> None:
        llm = LLM(base_url="http://127.0.0.1:1/v1", max_retries=0)
        with pytest.raises(ProviderConnectionError, match=r"127\.0\.0\.1:1"):
            await llm.chat(chat_ctx=asking()).collect()
        await llm.aclose()

    asyncio.run(run())


def test_the_key_is_in_no_error(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "antiphon")
    error, *_ = fail(status(401, {"error": {"message": "no"}}), error=ProviderStatusError, api_key="sk-secret")
    assert "sk-secret" not in str(error) + caplog.text


def test_a_piece_of_a_call_and_reasoning_show_that_the_model_is_at_work() -> None:
    async def use(_: HTTPDouble, llm: LLM) -> None:
        chunks = [chunk async for chunk in llm.chat(chat_ctx=asking())]
        assert [chunk.delta for chunk in chunks[:2]] == [ChoiceDelta(reasoning="Hm."), None]
        assert [c.name for chunk in chunks if chunk.delta for c in chunk.delta.tool_calls] == ["pay"]

    thinks = event(choices=[{"index": 0, "delta": {"reasoning_content": "Hm."}, "finish_reason": None}])
    pays = call(0, id="c1", name="pay", arguments='{"amount": 10}')
    with_double(sse(thinks, pays, *ending("tool_calls")), use=use, model=lambda url: LLM(model="m", base_url=url))


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_what_the_model_thinks_is_no_part_of_what_it_says(field: str) -> None:
    def piece(**delta: str) -> bytes:
        return event(choices=[{"index": 0, "delta": delta, "finish_reason": None}])

    pieces = piece(**{field: "They greet. "}), piece(content="<think>Be ki"), piece(content="nd.</th")
    response, _ = ask(sse(*pieces, piece(content="ink>\n\nHello."), *ending("stop")))
    assert (response.text, response.reasoning) == ("Hello.", "They greet. Be kind.")


def test_a_model_whose_template_opens_the_thought_says_so() -> None:
    response, _ = ask(text("They greet.</think>Hello."), model=lambda url: LLM(base_url=url, reasons_first=True))
    assert (response.text.strip(), response.reasoning) == ("Hello.", "They greet.")


@pytest.mark.parametrize(
    ("model", "seconds"),
    [("o3-mini", 60.0), ("openai/gpt-5", 60.0), ("gpt-5-chat-latest", 10.0), ("gpt-4o-mini", 10.0)],
)
def test_a_model_that_reasons_has_longer_for_its_first_chunk(model: str, seconds: float) -> None:
    assert LLM(model=model).first_chunk_timeout == seconds
