"""Answers of a chat completions endpoint, as OpenAI documents them."""

from __future__ import annotations

import json
from typing import Any

from tests.providers.http_double import Answer, pieces

USAGE = {"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 8}}


def event(**fields: Any) -> bytes:
    """A chunk of a streamed answer."""
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-test", **fields}
    return f"data: {json.dumps(chunk)}\n\n".encode()


def delta(finish_reason: str | None = None, **fields: Any) -> bytes:
    return event(choices=[{"index": 0, "delta": fields, "finish_reason": finish_reason}])


def call(index: int, *, id: str | None = None, name: str | None = None, arguments: str = "") -> bytes:
    function = {"arguments": arguments} | ({"name": name} if name else {})
    one = {"index": index, "function": function} | ({"id": id, "type": "function"} if id else {})
    return delta(tool_calls=[one])


def words(text: str) -> list[bytes]:
    return [delta(content=word + " ") for word in text.split()]


DONE = b"data: [DONE]\n\n"


def sse(*events: bytes, then: str = "end") -> Answer:
    """A streamed answer of these events and nothing else."""
    return pieces(*events, content_type="text/event-stream", then=then)


def text(said: str) -> Answer:
    """A complete answer in words."""
    return sse(delta(role="assistant", content=""), *words(said), *ending("stop"))


def calls(*events: bytes) -> Answer:
    """A complete answer of tool calls."""
    return sse(delta(role="assistant"), *events, *ending("tool_calls"))


def ending(finish_reason: str) -> list[bytes]:
    return [delta(finish_reason), event(choices=[], usage=USAGE), DONE]
