"""The streamed answer of a chat completions endpoint: server-sent events, and errors of any form."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from random import Random
from typing import Any

import httpx2
import openai

from antiphon.chat import ChatContext
from antiphon.errors import ProviderError
from antiphon.llm import ChatChunk
from antiphon.providers.openai import LLM
from antiphon.testing import run_virtual
from tests.wires import mutate
from tests.wires.wire import Finding, Wire, well_formed

USAGE = {"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 8}}


def _piece(finish_reason: str | None = None, **delta: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": None,
    }


def _call(index: int, arguments: str, **more: Any) -> dict[str, Any]:
    name = {"name": more.pop("name")} if more else {}
    return _piece(tool_calls=[{"index": index, "function": {"arguments": arguments, **name}, **more}])


SEEDS = (
    _piece(role="assistant", content=""),
    _piece(content="One moment, "),
    _piece(content="please."),
    _call(0, "", id="call_1", type="function", name="book"),
    _call(0, '{"day": '),
    _call(0, '"Friday"}'),
    _call(1, '{"day": "Monday"}', id="call_2", type="function", name="book"),
    _piece("tool_calls"),
    {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], "usage": USAGE},
    _piece("stop"),
    _piece("length"),
    _piece(refusal="I will not."),
    {"error": {"message": "overloaded", "type": "server_error", "code": 503, "param": None}},
)


ODD = (b": ping\n\n", b"event: error\n", b"\xff\n\n", b"data\n\n", b"\n" * 9)


@dataclass
class Answered:
    """An answer of the endpoint."""

    status: int
    kind: str
    pieces: list[bytes]


def make(random: Random) -> Answered:
    if random.random() < 0.05:
        body = random.choice((mutate.written(random, mutate.value(random)), "<html>" + "no " * 50_000))
        return Answered(random.choice((200, 204, 302, 400, 401, 404, 418, 429, 500, 503)), "text/html", [_bytes(body)])
    pieces = [b"data: " + _bytes(said) + b"\n\n" for said in mutate.talk(random, SEEDS, most=10)]
    if random.random() < 0.8:
        pieces += [b"data: " + _bytes(json.dumps(one)) + b"\n\n" for one in SEEDS[7:9]]
        pieces.append(b"data: [DONE]\n\n")
    if random.random() < 0.2:
        at = random.randrange(len(pieces))
        pieces[at] = mutate.torn(random, pieces[at])
    if random.random() < 0.1:
        pieces.insert(random.randrange(len(pieces)), random.choice(ODD))
    return Answered(200, random.choice(("text/event-stream", "application/json")), pieces)


def _bytes(said: str) -> bytes:
    return said.encode("utf-8", "surrogatepass")


class _Transport(httpx2.AsyncBaseTransport):
    """Gives the answer that was put in."""

    answered = Answered(200, "", [])

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        given = self.answered
        return httpx2.Response(given.status, headers={"content-type": given.kind}, content=_spoken(given.pieces))


async def _spoken(pieces: list[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


_transport = _Transport()
_client = openai.AsyncOpenAI(api_key="k", max_retries=0, http_client=httpx2.AsyncClient(transport=_transport))


def feed(given: Answered) -> None:
    _transport.answered = given
    run_virtual(_ask(), timeout=120)


async def _ask() -> None:
    chat_ctx = ChatContext.empty()
    chat_ctx.add_message(role="user", content="Hello")
    try:
        async with LLM(client=_client, max_retries=0).chat(chat_ctx=chat_ctx) as stream:
            async for chunk in stream:
                _check(chunk)
    finally:
        for _ in range(20):  # the loop closes the generators that the SDK leaves
            await asyncio.sleep(0)


def _check(chunk: ChatChunk) -> None:
    if chunk.usage is not None:
        used = (chunk.usage.prompt_tokens, chunk.usage.completion_tokens, chunk.usage.prompt_cached_tokens)
        if not all(type(count) is int for count in used):
            raise Finding(f"expected counts: {chunk.usage}")
    if chunk.delta is None:
        return
    texts = [chunk.delta.content or ""]
    for call in chunk.delta.tool_calls:
        texts += (call.name, call.call_id, call.arguments)
    for text in texts:
        if not isinstance(text, str):
            raise Finding(f"expected texts: {chunk}")
        well_formed(text, "a response")


WIRE = Wire("openai_chat", make, feed, declared=(ProviderError,), share=0.6)
