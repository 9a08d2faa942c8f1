from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import BaseModel

pytest.importorskip("pydantic_ai", reason="needs pydantic-ai: pip install 'antiphon[pydantic-ai]'")

from pydantic_ai import ModelHTTPError, ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel

from antiphon.chat import ChatContext, FunctionCall, FunctionCallOutput, ImageContent
from antiphon.errors import (
    ContextOverflow,
    MissingKey,
    ProviderConnectionError,
    ProviderError,
    ProviderStatusError,
    ToolRefused,
)
from antiphon.llm import CollectedResponse, FunctionToolCall
from antiphon.providers.pydantic_ai import LLM
from antiphon.testing.contract import check_llm
from antiphon.tools.function import function_tool


@function_tool
async def book(day: str) -> str:
    """Book a table."""
    return "booked"


class Recorder:
    """A model that answers by a script, and keeps what it was asked."""

    def __init__(self, *answer: Any, error: Exception | None = None) -> None:
        self.messages: list[ModelMessage] = []
        self.info: AgentInfo | None = None
        self._answer = answer
        self._error = error

    @property
    def model(self) -> FunctionModel:
        return FunctionModel(stream_function=self.stream)

    async def stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        self.messages, self.info = messages, info
        await asyncio.sleep(0)  # a vendor's answer takes at least a turn of the loop
        for piece in self._answer:
            yield piece
        if self._error is not None:
            raise self._error


def asking(question: str = "Hi") -> ChatContext:
    chat_ctx = ChatContext()
    chat_ctx.add_message(role="system", content="Be brief.")
    chat_ctx.add_message(role="user", content=question)
    return chat_ctx


def ask(model: Any, chat_ctx: ChatContext | None = None, **chat: Any) -> CollectedResponse:
    return asyncio.run(LLM(model).chat(chat_ctx=chat_ctx or asking(), **chat).collect())


def shape(messages: list[ModelMessage]) -> list[list[str]]:
    """The kinds of parts of each message."""
    return [[part.part_kind for part in message.parts] for message in messages]


def test_text_comes_in_deltas_with_usage() -> None:
    response = ask(Recorder("Hello ", "there").model)
    assert response.text == "Hello there"
    assert response.usage is not None
    assert response.usage.completion_tokens > 0


def test_calls_come_complete_and_in_order() -> None:
    recorder = Recorder(
        {0: DeltaToolCall(name="book", json_args='{"day": ', tool_call_id="c1")},
        {0: DeltaToolCall(json_args='"Monday"}')},
        {1: DeltaToolCall(name="book", json_args='{"day": "Tuesday"}', tool_call_id="c2")},
    )
    assert ask(recorder.model, tools=[book]).tool_calls == [
        FunctionToolCall("book", '{"day": "Monday"}', "c1"),
        FunctionToolCall("book", '{"day": "Tuesday"}', "c2"),
    ]


def test_tools_are_offered_with_their_schema() -> None:
    recorder = Recorder("ok")
    ask(recorder.model, tools=[book], tool_choice={"type": "function", "function": {"name": "book"}})
    assert recorder.info is not None
    assert [(tool.name, tool.description) for tool in recorder.info.function_tools] == [("book", "Book a table.")]
    assert recorder.info.function_tools[0].parameters_json_schema["required"] == ["day"]
    settings = recorder.info.model_settings or {}
    assert settings["tool_choice"] == ["book"]


def test_history_takes_turns_and_keeps_calls_with_their_outputs() -> None:
    chat_ctx = asking("Book Monday and Tuesday")
    chat_ctx.add_message(role="assistant", content="One moment.")
    for call_id in ("c1", "c2/finished"):
        chat_ctx.append(FunctionCall(call_id=call_id, name="book", arguments="{}", group_id="g"))
        chat_ctx.append(FunctionCallOutput(call_id=call_id, name="book", output="booked"))
    recorder = Recorder("Done.")
    ask(recorder.model, chat_ctx, tools=[book])
    assert shape(recorder.messages) == [
        ["system-prompt", "user-prompt"],
        ["text", "tool-call", "tool-call"],
        ["tool-return", "tool-return"],
    ]
    ends = recorder.messages[-1].parts
    assert [(end.tool_name, end.tool_call_id, end.content) for end in ends] == [  # type: ignore[union-attr]
        ("book", "c1", "booked"),
        ("book", "c2--finished", "booked"),
    ]


def test_pictures_go_along() -> None:
    chat_ctx = ChatContext()
    chat_ctx.add_message(role="user", content=["What is it?", ImageContent(image=b"png")])
    recorder = Recorder("A cat.")
    ask(recorder.model, chat_ctx)
    content: Any = recorder.messages[0].parts[0].content  # type: ignore[union-attr]
    assert content[0] == "What is it?"
    assert content[1].data == b"png"


def test_a_request_that_nobody_spoke_in_ends_with_a_word_of_the_user() -> None:
    chat_ctx = ChatContext()
    chat_ctx.add_message(role="system", content="Greet the user.")
    recorder = Recorder("Hello")
    ask(recorder.model, chat_ctx)
    assert shape(recorder.messages) == [["system-prompt", "user-prompt"]]


def test_structured_output_is_asked_for_by_its_schema() -> None:
    class Person(BaseModel):
        age: int

    recorder = Recorder('{"age": 31}')
    model = FunctionModel(stream_function=recorder.stream, profile={"supports_json_schema_output": True})
    assert Person.model_validate_json(ask(model, response_format=Person).text).age == 31
    assert recorder.info is not None
    wanted = recorder.info.model_request_parameters.output_object
    assert wanted is not None
    assert wanted.json_schema["required"] == ["age"]


def test_it_keeps_the_promises_of_a_language_model() -> None:
    asyncio.run(check_llm(lambda: LLM(Recorder("Hello ", "there").model), timeout=5))


def test_a_model_that_calls_every_tool_calls_ours() -> None:
    assert [call.name for call in ask(TestModel(), tools=[book]).tool_calls] == ["book"]


def test_a_missing_key_is_told_at_the_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(MissingKey, match="OPENAI_API_KEY"):
        ask("openai:gpt-4o-mini")


def test_an_unknown_vendor_is_an_error_at_the_first_use() -> None:
    with pytest.raises(ProviderError, match="nobody"):
        ask("nobody:model")


@pytest.mark.parametrize(("status", "retryable"), [(401, False), (429, True), (500, True)])
def test_an_error_status_is_told(status: int, retryable: bool) -> None:
    with pytest.raises(ProviderStatusError) as raised:
        ask(Recorder(error=ModelHTTPError(status, "m", {"message": "no"})).model)
    assert (raised.value.status, raised.value.retryable) == (status, retryable)


@pytest.mark.parametrize(
    "said",
    [
        "prompt is too long: 208310 tokens > 200000 maximum",
        "The input token count (208310) exceeds the maximum number of tokens allowed (200000).",
        "This model's maximum context length is 200000 tokens. However, you requested 208310 tokens",
    ],
)
def test_a_request_that_is_longer_than_a_vendors_model_can_read_is_an_overflow(said: str) -> None:
    error = ModelHTTPError(400, "m", {"error": {"type": "invalid_request_error", "message": said}})
    with pytest.raises(ContextOverflow) as caught:
        ask(Recorder(error=error).model)
    assert (caught.value.limit, caught.value.size) == (200_000, 208_310)


def test_what_breaks_in_the_middle_is_a_broken_connection() -> None:
    with pytest.raises(ProviderConnectionError, match="reset"):
        ask(Recorder("Once upon", error=ConnectionResetError("reset")).model)


def test_a_tool_whose_references_double_is_refused_before_anybody_replaces_them() -> None:
    doubling = {f"a{i}": {"anyOf": [{"$ref": f"#/$defs/a{i + 1}"}] * 2} for i in range(28)}
    schema = {"type": "object", "properties": {"x": {"$ref": "#/$defs/a0"}}, "$defs": {**doubling, "a28": {}}}
    tool = function_tool(lambda raw_arguments: None, raw_schema={"name": "f", "parameters": schema})
    with pytest.raises(ToolRefused) as caught:
        ask(TestModel(), tools=[tool])
    assert caught.value.tool == "f"


def test_a_tool_whose_references_go_in_a_circle_is_offered() -> None:
    tree = {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree"}, "right": {"$ref": "#/$defs/tree"}}}
    schema = {"type": "object", "properties": {"x": {"$ref": "#/$defs/tree"}}, "$defs": {"tree": tree}}
    tool = function_tool(lambda raw_arguments: None, raw_schema={"name": "f", "parameters": schema})
    assert ask(TestModel(call_tools=[]), tools=[tool]).text
