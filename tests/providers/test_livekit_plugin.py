"""Plugins of LiveKit's package as providers of ours: the contract suites, on doubles of three vendors' services."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from antiphon import Agent, AgentSession, function_tool
from antiphon.chat import ChatContext
from antiphon.errors import ProviderStatusError, UsageError
from antiphon.providers import livekit_plugin
from antiphon.testing import transcript
from antiphon.testing.contract import check_llm, check_stt, check_tts

pytest.importorskip("livekit.agents", reason="needs livekit-agents: pip install livekit-agents")
pytest.importorskip("livekit.plugins.openai", reason="needs the package livekit-plugins-openai")
pytest.importorskip("livekit.plugins.deepgram", reason="needs the package livekit-plugins-deepgram")

from tests.providers.http_double import HTTPDouble, pieces, status
from tests.providers.openai_double import call, calls, text
from tests.providers.websocket_double import WebSocketDouble

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection


openai: Any = importlib.import_module("livekit.plugins.openai")
deepgram: Any = importlib.import_module("livekit.plugins.deepgram")


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("DEEPGRAM_API_KEY", "test")


def heard(said: str, *, is_final: bool) -> str:
    word = {"word": said, "start": 0.0, "end": 0.5, "confidence": 0.9, "punctuated_word": said, "speaker": 0}
    return json.dumps(
        {
            "type": "Results",
            "channel_index": [0, 1],
            "start": 0.0,
            "duration": 0.5,
            "is_final": is_final,
            "speech_final": is_final,
            "channel": {"alternatives": [{"transcript": said, "confidence": 0.9, "words": [word]}]},
            "metadata": {"request_id": "r"},
        }
    )


async def listener(connection: ServerConnection) -> None:
    """Hears two words: a little later than they were said, and finally when it is told that no more will come."""
    begun = False
    async for message in connection:
        if isinstance(message, bytes) and not begun:
            begun = True
            await connection.send(heard("hello", is_final=False))
        elif isinstance(message, str) and json.loads(message)["type"] in ("Finalize", "CloseStream"):
            if begun:
                await connection.send(heard("hello there", is_final=True))
            if json.loads(message)["type"] == "CloseStream":
                return


def test_a_language_model_keeps_the_promises_of_one() -> None:
    async def main() -> None:
        async with HTTPDouble(text("Hello, how are you?")) as double:
            await check_llm(lambda: livekit_plugin.LLM(openai.LLM(base_url=double.url)))

    asyncio.run(main())


def test_a_voice_keeps_the_promises_of_one() -> None:
    async def main() -> None:
        sound = pieces(*[bytes(4800)] * 4, content_type="audio/pcm")
        async with HTTPDouble(sound) as double:
            await check_tts(lambda: livekit_plugin.TTS(openai.TTS(base_url=double.url, response_format="pcm")))

    asyncio.run(main())


def test_a_recogniser_keeps_the_promises_of_one() -> None:
    async def main() -> None:
        async with WebSocketDouble(listener) as double:
            await check_stt(lambda: livekit_plugin.STT(deepgram.STT(base_url=double.url)), expect="hello there")

    asyncio.run(main())


class Host(Agent):
    @function_tool
    async def book(self, day: str) -> str:
        """Book a table."""
        return f"Booked for {day}."


def test_an_agent_of_ours_calls_its_tools_by_a_plugins_model() -> None:
    async def main() -> tuple[list[str], list[Any]]:
        answers = calls(call(0, id="c1", name="book", arguments='{"day": "Friday"}')), text("You are booked.")
        async with HTTPDouble(*answers) as double:
            session: AgentSession[Any] = AgentSession(llm=livekit_plugin.LLM(openai.LLM(base_url=double.url)))
            await session.start(Host(instructions="Be brief."))
            await session.run(user_input="A table on Friday")
            await session.aclose()
            return transcript(session.history), [request.json for request in double.requests]

    lines, requests = asyncio.run(main())
    assert any("Booked for Friday." in line for line in lines)
    assert lines[-1].strip() == "assistant: You are booked."
    assert [tool["function"]["name"] for tool in requests[0]["tools"]] == ["book"]
    assert [message["role"] for message in requests[1]["messages"]] == ["system", "user", "assistant", "tool"]


def test_an_error_of_a_plugin_is_one_of_ours() -> None:
    async def main() -> None:
        async with HTTPDouble(status(401, {"error": {"message": "bad key"}})) as double:
            model = livekit_plugin.LLM(openai.LLM(base_url=double.url))
            asked = ChatContext.empty()
            asked.add_message(role="user", content="Hello")
            with pytest.raises(ProviderStatusError, match=r"answered 401: .*Check the key"):
                await model.chat(chat_ctx=asked).collect()
            await model.aclose()

    asyncio.run(main())


def test_a_client_that_does_not_open_is_told_to_all_who_wait_and_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    http_context = importlib.import_module("livekit.agents.utils.http_context")
    opened, opens = http_context.open, [OSError("no descriptors left")]

    def open_once_in_vain() -> Any:
        if opens:
            raise opens.pop()
        return opened()

    async def main() -> None:
        monkeypatch.setattr(http_context, "open", open_once_in_vain)
        voice = livekit_plugin.TTS(openai.TTS(base_url="http://127.0.0.1:9"))
        first = await asyncio.gather(voice.prewarm(), voice.prewarm(), return_exceptions=True)
        assert ["no descriptors left" in str(error) for error in first] == [True, True]
        await voice.prewarm()
        await voice.aclose()

    asyncio.run(asyncio.wait_for(main(), 10))


def test_what_is_no_plugin_is_refused() -> None:
    with pytest.raises(UsageError, match=r"expected a TTS of livekit\.agents, got LLM"):
        livekit_plugin.TTS(openai.LLM(api_key="x"))


@pytest.fixture
def written_for_livekit() -> Iterator[None]:
    compat = importlib.import_module("antiphon.compat.livekit")
    compat.install()
    yield
    compat.uninstall()


@pytest.mark.usefixtures("written_for_livekit")
def test_in_a_file_that_is_written_for_livekit_there_are_no_plugins_of_its_own() -> None:
    with pytest.raises(UsageError, match="Antiphon's, because the agent file is written for LiveKit"):
        livekit_plugin.LLM(object())
