"""An agent that speaks structured output, as the page on function tools prints it, over OpenAI's endpoints."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from antiphon import AgentSession
from antiphon.providers.openai import LLM, TTS
from antiphon.testing import FakeSpeaker, run_virtual
from tests.providers.http_double import HTTPDouble, pieces
from tests.providers.llama.test_real_model import needs_model, running_server
from tests.providers.openai_double import delta, ending, sse
from tests.seeds.documents import missing, run

pytest.importorskip("openai", reason="needs the openai package: pip install 'antiphon[openai]'")
pytestmark = pytest.mark.skipif(bool(missing), reason=missing)

EMOTION = {"voice_instructions": "warm and calm", "response": "All is well. Do not worry."}


async def converse(llm: LLM, voice: TTS) -> AgentSession[Any]:
    """One turn with the printed agent, to its end."""
    types = await run("ResponseEmotion")
    block = await run(
        "llm_node and tts_node",
        ResponseEmotion=types.ResponseEmotion,
        process_structured_output=types.process_structured_output,
    )
    session: AgentSession[Any] = AgentSession(llm=llm, tts=voice)
    # Words for which also a very small model finds an answer.
    agent = block.Emotional(instructions="You are a friendly assistant. Reply to the user in one sentence.")
    await session.start(agent, output=FakeSpeaker())
    await session.generate_reply(user_input="I lost my keys. Cheer me up!")
    await session.aclose()
    await llm.aclose()
    await voice.aclose()
    return session


def test_the_response_is_spoken_as_the_directive_says() -> None:
    async def main() -> None:
        written = json.dumps(EMOTION)
        chunks = [delta(content=written[at : at + 7]) for at in range(0, len(written), 7)]
        async with (
            HTTPDouble(sse(*chunks, *ending("stop"))) as chat,
            HTTPDouble(pieces(bytes(9_600), content_type="audio/pcm")) as speech,
        ):
            session = await converse(LLM(base_url=chat.url), TTS(base_url=speech.url))
        schema = chat.requests[0].json["response_format"]["json_schema"]
        assert (schema["name"], schema["strict"]) == ("ResponseEmotion", True)
        assert list(schema["schema"]["properties"]) == ["voice_instructions", "response"]
        assert " ".join(request.json["input"].strip() for request in speech.requests) == EMOTION["response"]
        assert {request.json["instructions"] for request in speech.requests} == {"warm and calm"}
        message = session.history.messages()[-1]
        assert message.text_content == EMOTION["response"]
        assert json.loads(message.extra["raw"]) == EMOTION

    run_virtual(main(), timeout=60)


@needs_model
def test_the_response_of_a_real_model_is_spoken() -> None:
    async def main(url: str) -> None:
        async with HTTPDouble(pieces(bytes(960), content_type="audio/pcm")) as speech, asyncio.timeout(60):
            llm = LLM(model="smollm2", base_url=url, temperature=0.0, extra_kwargs={"max_tokens": 400})
            session = await converse(llm, TTS(base_url=speech.url))
        message = session.history.messages()[-1]
        raw = json.loads(message.extra["raw"])
        assert set(raw) == {"voice_instructions", "response"}
        assert "".join(str(message.text_content).split()) == "".join(raw["response"].split())

    with running_server() as (url, _):
        asyncio.run(main(url))
