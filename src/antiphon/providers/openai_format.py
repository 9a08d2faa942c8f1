"""The chat completions format: our history, tools and responses as OpenAI's protocol writes them, and back.

Above: `antiphon.providers.openai`. Pure: nothing here knows a network or a client.

What an item looks like on the wire never changes, so it is made once and kept on the item (`item.wire["openai"]`); a
request of thousands of items is a walk that collects what is there. Where the format wants more order than our
history has, the walk supplies it: calls of one response share one assistant message (`group_id`), also with the text
that was said before them, and their outputs follow it; a call without an output, or an output without a call, is left
out, because endpoints refuse the whole request for it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from antiphon.chat import (
    AgentConfigUpdate,
    ChatContext,
    ChatItem,
    ChatMessage,
    FunctionCall,
    FunctionCallOutput,
    ImageContent,
    new_id,
)
from antiphon.errors import UsageError
from antiphon.llm import FunctionToolCall
from antiphon.tools.function import AnyFunctionTool, FunctionTool, RawFunctionTool, Tool
from antiphon.tools.schema import strict_parameters, validator_for
from antiphon.tools.signature import REQUIRED, Parameter
from antiphon.visible import well_formed, well_formed_data

Message: TypeAlias = dict[str, Any]

FORMAT = "openai"
"""The key of `item.wire`."""
STRICT_FORMAT = "openai strict"
"""The same for tools whose schemas the endpoint enforces."""

ERROR_MARK = "[error] "
"""Before the output of a call that failed: the format has no other place for it."""

MAX_ARGUMENTS = 1_000_000
"""Characters of arguments in one response."""
_MAX_ID = 40
"""Characters that OpenAI allows in a call id."""
_MAX_NAME = 64
"""The same for the name of a function."""
_DERIVED = re.compile(r"/(finished|update_\d+)\b")
_DERIVED_ON_WIRE = re.compile(r"--(finished|update_\d+)$")
_ALLOWED_IN_IDS = re.compile(r"[^A-Za-z0-9_-]")


# -- call ids


def wire_call_id(call_id: str) -> str:
    """A call id that every endpoint takes: letters, digits, "_" and "-", at most 40 of them."""
    mapped = _ALLOWED_IN_IDS.sub("-", _DERIVED.sub(r"--\1", call_id))
    if len(mapped) <= _MAX_ID:
        return mapped
    return "call_" + hashlib.sha256(call_id.encode()).hexdigest()[:32]


def wire_name(name: str) -> str:
    """A name of a called function that every endpoint takes. Models also call what there is not, under any name."""
    return _ALLOWED_IN_IDS.sub("_", name)[:_MAX_NAME] or "unnamed"


def own_call_id(call_id: str) -> str:
    """The id of ours behind one on the wire: "call_7--finished" is "call_7/finished"."""
    return _DERIVED_ON_WIRE.sub(r"/\1", call_id)


# -- history


def wire_messages(chat_ctx: ChatContext) -> list[Message]:
    """The messages of a request. The dicts are shared with later requests: do not change them."""
    items = chat_ctx.items
    messages: list[Message] = []
    group: list[tuple[FunctionCall, FunctionCallOutput]] = []
    before: ChatItem | None = None
    for at, item in enumerate(items):
        if isinstance(item, FunctionCall):
            output = _output_of(item, items, at + 1)
            if output is not None:
                if group and not _belongs(item, [call for call, _ in group], before):
                    _close_group(group, messages)
                group.append((item, output))
        elif not isinstance(item, FunctionCallOutput):
            kept = item.wire
            message = (kept and kept.get(FORMAT)) or item.wired(FORMAT, _made)
            if message:
                if group:
                    _close_group(group, messages)
                messages.append(message)
        before = item
    if group:
        _close_group(group, messages)
    return messages


def _output_of(call: FunctionCall, items: Sequence[ChatItem], start: int) -> FunctionCallOutput | None:
    """The next output of a call's id: of several calls of one id, which merged histories may have, each has its own."""
    call_id = call.call_id
    for at in range(start, len(items)):  # in histories of ours it is the first
        item = items[at]
        if isinstance(item, FunctionCallOutput):
            if item.call_id == call_id:
                return item
        elif isinstance(item, FunctionCall) and item.call_id == call_id:
            break
    return None


def _belongs(call: FunctionCall, group: Sequence[FunctionCall], before: ChatItem | None) -> bool:
    """True if a call comes from the same response as those before it."""
    last = group[-1]
    if any(earlier.call_id == call.call_id for earlier in group):
        return False
    if call.group_id is not None or last.group_id is not None:
        return call.group_id == last.group_id
    return before is last


def _close_group(group: list[tuple[FunctionCall, FunctionCallOutput]], messages: list[Message]) -> None:
    calls = [call.wired(FORMAT, _made_call) for call, _ in group]
    if messages and messages[-1]["role"] == "assistant" and "tool_calls" not in messages[-1]:
        messages[-1] = {**messages[-1], "tool_calls": calls}
    else:
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
    ends = [output for _, output in group]
    messages.extend(output.wired(FORMAT, _made_output) for output in ends)
    # All outputs stand directly behind their calls, so pictures wait until after the last one.
    messages.extend(output.wired(f"{FORMAT}.images", _made_images) for output in ends if output.images)
    group.clear()


def _made(item: ChatItem) -> Message | None:
    """A message or a note; None for what is not shown to a model."""
    if isinstance(item, AgentConfigUpdate):
        return {"role": "system", "content": item.note}
    if not isinstance(item, ChatMessage):
        return None
    match item.role:
        case "assistant":
            content = item.text_content
            if not item.interrupted and item.extra.get("raw"):
                content = str(item.extra["raw"])
            return {"role": "assistant", "content": content} if content else None
        case "user":
            parts = _parts(item.content) if item.images else item.text_content
            return {"role": "user", "content": parts} if parts else None
        case _:
            # Notes name calls by id: the model must find the same id in the calls.
            text = _DERIVED.sub(r"--\1", item.text_content or "")
            return {"role": "system", "content": text} if text else None


def _parts(content: Sequence[str | ImageContent]) -> str | list[dict[str, Any]]:
    if all(isinstance(part, str) for part in content):
        return "\n".join(part for part in content if isinstance(part, str))
    return [{"type": "text", "text": p} if isinstance(p, str) else _wire_image(p) for p in content if p]


def _wire_image(image: ImageContent) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": image.url, "detail": image.detail}}


def _made_call(call: FunctionCall) -> Message:
    function = {"name": wire_name(call.name), "arguments": call.arguments or "{}"}
    return {"id": wire_call_id(call.call_id), "type": "function", "function": function}


def _made_output(output: FunctionCallOutput) -> Message:
    return {"role": "tool", "tool_call_id": wire_call_id(output.call_id), "content": output_text(output)}


def output_text(output: FunctionCallOutput) -> str:
    """What a call returned, as the format can say it."""
    return ERROR_MARK + output.output if output.is_error else output.output


def _made_images(output: FunctionCallOutput) -> Message:
    note = f"Images returned by the call {wire_call_id(output.call_id)} of {output.name or 'a tool'}:"
    return {"role": "user", "content": _parts([note, *output.images])}


# -- tools


def wire_tools(tools: Iterable[Tool], *, strict: bool) -> list[dict[str, Any]]:
    """Tools as the format lists them; each is rendered once. Raises `UsageError` for tools of other providers.

    `strict` asks the endpoint to enforce the schemas of those that can be put in the strict form.
    """
    form = STRICT_FORMAT if strict else FORMAT
    return [_known(tool).get(form) or _made_tool(tool, form) for tool in tools]


def _known(tool: Tool) -> dict[str, Any]:
    if isinstance(tool, (FunctionTool, RawFunctionTool)):
        return tool.wire
    raise UsageError(
        f"chat completions: expected function tools, got {tool!r}, which runs at another provider. Leave it out."
    )


def _made_tool(tool: Any, form: str) -> dict[str, Any]:
    wire: dict[str, Any] = _wire_tool(tool, form == STRICT_FORMAT)
    _known(tool)[form] = wire
    return wire


def _wire_tool(tool: AnyFunctionTool, strict: bool) -> dict[str, Any]:
    strict_spec = tool.strict_spec if strict else None
    spec = strict_spec or tool.spec
    function: dict[str, Any] = {
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters,
    }
    if strict_spec is not None:
        function["strict"] = True
    return {"type": "function", "function": well_formed_data(function)}


# -- structured output

_response_formats: WeakKeyDictionary[type, dict[str, Any]] = WeakKeyDictionary()


def wire_response_format(response_format: Any) -> dict[str, Any]:
    """What to send for a TypedDict, a dataclass or a pydantic model class; a dict goes as it is.

    Raises `UsageError` for anything else, and for classes that have no JSON schema.
    """
    if isinstance(response_format, Mapping):
        return dict(response_format)
    if not isinstance(response_format, type):
        raise UsageError(
            f"response_format: expected a TypedDict or pydantic model class, or a dict, got {response_format!r}"
        )
    wire = _response_formats.get(response_format)
    if wire is None:
        wire = _response_formats[response_format] = _made_response_format(response_format)
    return wire


def _made_response_format(cls: type) -> dict[str, Any]:
    schema = class_schema(cls)
    strict = strict_parameters(schema, nullable=False)
    name = _ALLOWED_IN_IDS.sub("_", cls.__name__)[:64]
    return {
        "type": "json_schema",
        "json_schema": {"name": name, "schema": strict or schema, "strict": strict is not None},
    }


def class_schema(cls: type) -> dict[str, Any]:
    """The JSON schema of a class, self-contained, its properties in the order in which they are declared."""
    parameter = Parameter("response", cls, REQUIRED)
    whole = validator_for([parameter], {}, name=f"response_format {cls.__name__}").parameters
    schema = dict(whole["properties"]["response"])
    if "$defs" in whole:
        schema["$defs"] = whole["$defs"]
    if schema.get("type") != "object":
        raise UsageError(f"response_format: {cls.__name__} is no object in JSON. Use a TypedDict or a pydantic model.")
    return schema


# -- tool calls in a response


class _OpenCall:
    __slots__ = ("arguments", "call_id", "given", "name")

    def __init__(self, call_id: str) -> None:
        self.call_id = call_id
        self.name = ""
        self.arguments: list[str] = []
        self.given = False

    def take(self, call_id: str | None, name: str | None, arguments: Any) -> int:
        """A delta of it: how many characters of arguments came."""
        self.call_id = self.call_id or call_id or ""
        self.name = self.name or name or ""
        if not arguments:
            return 0
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        self.arguments.append(text)
        return len(text)

    def give(self) -> str:
        """It is complete: its arguments."""
        self.given = True
        return "".join(self.arguments) or "{}"


class ToolCallAssembler:
    """Puts calls together from their deltas. One for each response.

    A call is complete when another one begins behind it and its arguments are JSON, or when the response ends.
    """

    def __init__(self, taken: Callable[[], Set[str]] = frozenset) -> None:
        """`taken` tells which call ids the history uses already: some endpoints number anew in every response."""
        self._taken = taken
        self._calls: list[_OpenCall] = []
        self._by_index: dict[Any, _OpenCall] = {}
        self._ids: set[str] | None = None
        self._size = 0

    def push(self, *, index: Any, call_id: str | None, name: str | None, arguments: Any) -> Iterator[FunctionToolCall]:
        """Take a delta; gives the calls that are complete now.

        Some endpoints give every call the index 0, or none: a new id together with a name is then a new call.
        Raises `ValueError` when there is more than anybody waits for.
        """
        before = self._calls[-1] if self._calls else None
        call = self._by_index.get(index)
        if call is None or (call_id and name and call.name and call_id != call.call_id):
            call = _OpenCall(call_id or "")
            self._by_index[index] = call
            self._calls.append(call)
        self._size += call.take(call_id, name, arguments)
        if self._size > MAX_ARGUMENTS:
            raise ValueError(f"more than {MAX_ARGUMENTS:,} characters of arguments")
        last = self._calls[-1]
        # The last call may still go on. Of the others, only these can be complete by this very delta.
        for one in (before, call):
            if one is not None and one is not last and not one.given and is_json("".join(one.arguments)):
                yield self._give(one)

    def finish(self) -> Iterator[FunctionToolCall]:
        """The response has ended: the rest of the calls."""
        for call in self._calls:
            if not call.given:
                yield self._give(call)

    def unfinished(self) -> str | None:
        """The name of a call that is cut off in its arguments, or None."""
        for call in self._calls:
            if not call.given and call.arguments and not is_json("".join(call.arguments)):
                return call.name
        return None

    def _give(self, call: _OpenCall) -> FunctionToolCall:
        arguments = call.give()
        call_id = own_call_id(call.call_id)
        if self._ids is None:
            self._ids = set(self._taken())
        if not call_id or call_id in self._ids:
            call_id = new_id("call")
        self._ids.add(call_id)
        return FunctionToolCall(name=call.name, arguments=well_formed(arguments), call_id=call_id)


def is_json(text: str) -> bool:
    """Whether arguments are complete: cut ones are no JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
