"""The conformance suite passes what keeps the contract, and names what does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from antiphon.plugins import openai
from antiphon.realtime import (
    InputCommitted,
    RealtimeCapabilities,
    RealtimeEvent,
    RealtimeSetup,
    ResponseDone,
    ResponseStarted,
)
from antiphon.testing import FakeRealtimeModel, FakeRealtimeSession, check_realtime, run_virtual
from tests.providers.openai_realtime_double import RealtimeDouble
from tests.providers.websocket_double import WebSocketDouble

SCRIPT = ["Hello there, how are you today?"] * 12


@pytest.mark.parametrize(
    "capabilities",
    [
        RealtimeCapabilities(),
        RealtimeCapabilities(auto_reply=False),
        RealtimeCapabilities(turn_detection=False, auto_reply=False),
        RealtimeCapabilities(user_transcription=False, message_truncation=False),
        RealtimeCapabilities(audio_output=False),
    ],
)
def test_the_scripted_model_keeps_it(capabilities: RealtimeCapabilities) -> None:
    run_virtual(check_realtime(lambda: FakeRealtimeModel(SCRIPT, capabilities=capabilities)))


@pytest.mark.parametrize("options", [{}, {"turn_detection": None}, {"modalities": ["text"]}])
def test_openai_keeps_it(options: dict[str, Any]) -> None:
    async def main() -> None:
        service = RealtimeDouble(SCRIPT, hears=["hello"])
        async with WebSocketDouble(service) as server:
            await check_realtime(
                lambda: openai.realtime.RealtimeModel(api_key="k", base_url=server.url, **options), timeout=5.0
            )

    asyncio.run(main())


Break = Callable[[RealtimeEvent], list[RealtimeEvent]]


def _broken(change: Break) -> FakeRealtimeModel:
    class Session(FakeRealtimeSession):
        async def __aiter__(self) -> AsyncIterator[RealtimeEvent]:
            async for event in super().__aiter__():
                for changed in change(event):
                    yield changed

    class Model(FakeRealtimeModel):
        def session(self, setup: RealtimeSetup) -> FakeRealtimeSession:
            return Session(self, setup)

    return Model(SCRIPT)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda e: [] if isinstance(e, ResponseDone) else [e], "the response to generate_reply"),
        (lambda e: [e, e] if isinstance(e, ResponseStarted) else [e], "began within"),
        (lambda e: [e, e] if isinstance(e, ResponseDone) else [e], "ended while"),
        (lambda e: [ResponseStarted(e.response_id)] if isinstance(e, ResponseStarted) else [e], "generate_reply"),
        (lambda e: [InputCommitted(e.item_id)] if isinstance(e, InputCommitted) else [e], "auto_reply=True"),
    ],
)
def test_a_broken_promise_is_named(change: Break, complaint: str) -> None:
    async def main() -> None:
        with pytest.raises(AssertionError, match=complaint):
            await check_realtime(lambda: _broken(change))

    run_virtual(main())
