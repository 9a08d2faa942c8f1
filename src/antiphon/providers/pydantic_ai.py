"""Every model that pydantic-ai knows (Anthropic, Google, Bedrock, Groq, Mistral, ...) as an `LLM`.

Above: whoever gives a session its model. Below: `pydantic_ai.direct`, and with it the vendors' own SDKs. A request goes
through the chat completions format (`openai_format`): that settles pairs, groups and call ids, and its pieces are kept
on the items.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from antiphon import llm
from antiphon.chat import FunctionCall, new_id
from antiphon.errors import (
    MissingKey,
    ProviderConnectionError,
    ProviderError,
    ProviderStatusError,
    ProviderTimeout,
    ToolRefused,
    UsageError,
)
from antiphon.options import NOT_GIVEN, NotGivenOr, ToolChoice, is_given
from antiphon.providers.openai_format import is_json, own_call_id, wire_messages, wire_response_format, wire_tools
from antiphon.providers.refusals import naming_refusals
from antiphon.tools.wellformed import inlined_size

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelRequestPart, ModelResponsePart, UserContent
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.tools import ToolDefinition

_LARGEST_SCHEMA = 20_000
"""Values; pydantic-ai gives up at 250,000, after two seconds."""

_NOBODY_SPOKE = "(The user has not said anything new.)"
"""Closes a request that does not end with the user or with a result: most vendors refuse it otherwise."""

_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9_]*_(?:API_KEY|TOKEN)\b")


class LLM(llm.LLM):
    """A language model of pydantic-ai.

    Args:
        model: One of its models, or a name: "anthropic:claude-sonnet-4-5", "google-gla:gemini-2.5-flash".
        settings: Its `ModelSettings`, for example `{"temperature": 0.2}`.
        parallel_tool_calls: Whether one response may hold several calls.
        tool_choice: For requests that do not say.
        timeout: Seconds that the vendor may take, as far as its SDK has such a limit. None: 20, for models that reason
            60.
    """

    def __init__(
        self,
        model: Model | str,
        *,
        settings: Mapping[str, Any] | None = None,
        parallel_tool_calls: NotGivenOr[bool] = NOT_GIVEN,
        tool_choice: NotGivenOr[ToolChoice] = NOT_GIVEN,
        timeout: float | None = None,
    ) -> None:
        self.model = model if isinstance(model, str) else model.model_name
        self.parallel_tool_calls = parallel_tool_calls
        self.tool_choice = tool_choice
        self._model = model
        if llm.does_reason(self.model):
            self.first_chunk_timeout = llm.REASONING_TIMEOUT
        self._settings = {"timeout": max(20.0, self.first_chunk_timeout) if timeout is None else timeout}
        self._settings.update(settings or {})

    async def generate(self, request: llm.ChatRequest) -> AsyncGenerator[llm.ChatChunk, None]:
        model = self._resolved()
        from pydantic_ai.direct import model_request_stream

        messages = _messages(wire_messages(request.chat_ctx))
        parameters = self._parameters(request)
        response = _Response(request)
        with naming_refusals(request.tools), self._translated_errors():
            async with model_request_stream(
                model, messages, model_settings=self._request_settings(request), model_request_parameters=parameters
            ) as stream:
                async for event in stream:
                    # Without a delta: reasoning, a piece of a call. It is at work.
                    yield llm.ChatChunk(response.id, response.read(event))
            finish_reason, usage = stream.get().finish_reason, stream.usage
        for call in response.calls:
            if finish_reason == "length" and not is_json(call.arguments):
                raise ProviderError(
                    f"{self.label}: the response was cut inside a call of {call.name!r}: it reached the limit of"
                    " tokens. Raise max_tokens in settings.",
                    provider=self.label,
                    retryable=False,
                )
            yield llm.ChatChunk(response.id, llm.ChoiceDelta(tool_calls=(call,)))
        counts = usage() if callable(usage) else usage
        yield llm.ChatChunk(
            response.id,
            usage=llm.CompletionUsage(counts.input_tokens, counts.output_tokens, counts.cache_read_tokens),
        )

    def _resolved(self) -> Model:
        """The model itself. Raises `ProviderError` where the package, the vendor's SDK or the key is missing."""
        if not isinstance(self._model, str):
            return self._model
        try:
            from pydantic_ai.models import infer_model
        except ImportError as error:
            raise ProviderError(
                f"{self.label} needs the package 'pydantic_ai'. Install it: pip install 'antiphon[pydantic-ai]'",
                provider=self.label,
                retryable=False,
            ) from error
        try:
            with self._translated_errors():
                self._model = infer_model(self._model)
        except ImportError as error:  # it names the package to install
            raise ProviderError(f"{self.label}: {error}", provider=self.label, retryable=False) from error
        return self._model

    def _request_settings(self, request: llm.ChatRequest) -> ModelSettings:
        settings = {**self._settings, **request.extra_kwargs}
        parallel = request.parallel_tool_calls if is_given(request.parallel_tool_calls) else self.parallel_tool_calls
        choice = request.tool_choice if is_given(request.tool_choice) else self.tool_choice
        if request.tools:
            if is_given(parallel):
                settings["parallel_tool_calls"] = parallel
            if is_given(choice):
                settings["tool_choice"] = choice if isinstance(choice, str) else [choice["function"]["name"]]
        return settings  # type: ignore[return-value]  # a TypedDict that vendors extend

    def _parameters(self, request: llm.ChatRequest) -> ModelRequestParameters:
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.output import OutputObjectDefinition

        tools = _tool_definitions(wire_tools(request.tools, strict=False))
        for tool in tools:
            if "$defs" in (schema := tool.parameters_json_schema) or "definitions" in schema:
                self._check_references(tool)
        if not is_given(request.response_format):
            return ModelRequestParameters(function_tools=tools)
        wire = wire_response_format(request.response_format)
        if "json_schema" not in wire:
            raise UsageError(f"{self.label}: expected a class or a JSON schema as response_format, got {wire!r}")
        schema = wire["json_schema"]
        wanted = OutputObjectDefinition(schema["schema"], name=schema["name"], strict=schema.get("strict"))
        return ModelRequestParameters(function_tools=tools, output_mode="native", output_object=wanted)

    def _check_references(self, tool: ToolDefinition) -> None:
        """Raises `ToolRefused`: to replace references that double would hold up every call, for seconds."""
        if inlined_size(tool.parameters_json_schema) > _LARGEST_SCHEMA:
            raise ToolRefused(
                f"{self.label}: its schema has more than {_LARGEST_SCHEMA} values with all references replaced.",
                tool=tool.name,
                status=400,
                provider=self.label,
            )

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        from pydantic_ai import exceptions

        try:
            yield
        except exceptions.ModelHTTPError as error:
            hint = " Check the key." if error.status_code in (401, 403) else ""
            raise ProviderStatusError(
                f"{self.label}: {self.model} answered {error.status_code}: {error.message}.{hint}",
                status=error.status_code,
                body=error.body,
                provider=self.label,
            ) from error
        except exceptions.ModelAPIError as error:
            kind = ProviderTimeout if isinstance(error, exceptions.ModelTimeoutError) else ProviderConnectionError
            raise kind(f"{self.label}: {self.model}: {error.message}", provider=self.label) from error
        except exceptions.UserError as error:
            if variable := _VARIABLE.search(str(error)):
                raise MissingKey(self.label, variable.group()) from error
            raise ProviderError(f"{self.label}: {error}", provider=self.label, retryable=False) from error
        except (ProviderError, UsageError, ImportError, AssertionError):
            raise
        except Exception as error:  # of whatever SDK the vendor has
            raise ProviderConnectionError(
                f"{self.label}: {self.model} failed: {type(error).__name__}: {error}", provider=self.label
            ) from error


def _tool_definitions(tools: Sequence[Mapping[str, Any]]) -> list[ToolDefinition]:
    from pydantic_ai.tools import ToolDefinition

    return [
        ToolDefinition(
            name=function["name"],
            description=function["description"],
            parameters_json_schema=function["parameters"],
        )
        for function in (tool["function"] for tool in tools)
    ]


# -- history


def _messages(wire: Sequence[Mapping[str, Any]]) -> list[ModelMessage]:
    """Messages in pydantic-ai's terms: what the model is told and what it says, taking turns."""
    from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, UserPromptPart

    messages: list[ModelMessage] = []
    names: dict[str, str] = {}

    def told(*parts: ModelRequestPart) -> None:
        if messages and isinstance(messages[-1], ModelRequest):
            messages[-1] = ModelRequest([*messages[-1].parts, *parts])
        else:
            messages.append(ModelRequest(list(parts)))

    def said(*parts: ModelResponsePart) -> None:
        if messages and isinstance(messages[-1], ModelResponse):
            messages[-1] = ModelResponse([*messages[-1].parts, *parts])
        else:
            messages.append(ModelResponse(list(parts)))

    for message in wire:
        match message["role"]:
            case "system":
                told(SystemPromptPart(message["content"]))
            case "user":
                told(UserPromptPart(_user_content(message["content"])))
            case "tool":
                told(_tool_return(message, names))
            case _:
                names |= {call["id"]: call["function"]["name"] for call in message.get("tool_calls", ())}
                said(*_response_parts(message))
    last = messages[-1].parts[-1] if messages else None
    if last is None or last.part_kind not in ("user-prompt", "tool-return"):
        asked = any(part.part_kind == "user-prompt" for message in messages for part in message.parts)
        # A system note behind the user's words asks for an answer to both.
        if not asked or (messages and isinstance(messages[-1], ModelResponse)):
            told(UserPromptPart(_NOBODY_SPOKE))
    return messages


def _user_content(content: str | Sequence[Mapping[str, Any]]) -> str | list[UserContent]:
    from pydantic_ai.messages import BinaryContent, ImageUrl

    if isinstance(content, str):
        return content
    parts: list[UserContent] = []
    for part in content:
        if part["type"] == "text":
            parts.append(part["text"])
        else:
            url = part["image_url"]["url"]
            parts.append(BinaryContent.from_data_uri(url) if url.startswith("data:") else ImageUrl(url))
    return parts


def _tool_return(message: Mapping[str, Any], names: Mapping[str, str]) -> ModelRequestPart:
    from pydantic_ai.messages import ToolReturnPart

    call_id = message["tool_call_id"]
    return ToolReturnPart(tool_name=names[call_id], content=message["content"], tool_call_id=call_id)


def _response_parts(message: Mapping[str, Any]) -> list[ModelResponsePart]:
    from pydantic_ai.messages import TextPart, ToolCallPart

    parts: list[ModelResponsePart] = [TextPart(message["content"])] if message["content"] else []
    for call in message.get("tool_calls", ()):
        function = call["function"]
        parts.append(ToolCallPart(function["name"], function["arguments"], tool_call_id=call["id"]))
    return parts


# -- response


class _Response:
    """What is known of a response so far. Calls wait for its end, when it is known whether they are whole."""

    def __init__(self, request: llm.ChatRequest) -> None:
        self.id = new_id("response")
        self.calls: list[llm.FunctionToolCall] = []
        self._request = request

    def read(self, event: Any) -> llm.ChoiceDelta | None:
        """What an event of the stream adds."""
        match event.event_kind:
            case "part_start" if event.part.part_kind == "text" and event.part.content:
                return llm.ChoiceDelta(content=event.part.content)
            case "part_delta" if event.delta.part_delta_kind == "text" and event.delta.content_delta:
                return llm.ChoiceDelta(content=event.delta.content_delta)
            case "part_end" if event.part.part_kind == "tool-call":
                self.calls.append(self._call(event.part))
        return None

    def _call(self, part: Any) -> llm.FunctionToolCall:
        call_id = own_call_id(part.tool_call_id)
        items = self._request.chat_ctx.items
        taken = any(isinstance(item, FunctionCall) and item.call_id == call_id for item in items)
        if taken or any(call.call_id == call_id for call in self.calls):
            call_id = new_id("call")
        # As the model wrote it: the tool layer knows how to repair text, and must know what there was to repair.
        arguments = part.args if isinstance(part.args, str) else part.args_as_json_str()
        return llm.FunctionToolCall(part.tool_name, arguments or "{}", call_id)
