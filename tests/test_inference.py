from __future__ import annotations

import asyncio

import pytest

from antiphon import inference
from antiphon.chat import ChatContext
from antiphon.errors import ProviderError
from antiphon.providers import cartesia, deepgram, openai


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for vendor in ("OPENAI", "DEEPGRAM", "CARTESIA"):
        monkeypatch.delenv(f"{vendor}_API_KEY", raising=False)


def test_a_language_model_is_one_of_openai() -> None:
    llm = inference.LLM("openai/gpt-4.1-mini", extra_kwargs={"parallel_tool_calls": False})
    assert isinstance(llm, openai.LLM)
    assert (llm.model, llm.label, llm.parallel_tool_calls) == ("gpt-4.1-mini", "inference.LLM", False)
    assert llm.unusable() == "no OPENAI_API_KEY"


def test_an_endpoint_of_yours_gets_the_whole_name() -> None:
    llm = inference.LLM("meta/llama-3", base_url="http://localhost:8080/v1")
    assert (llm.model, llm.unusable()) == ("meta/llama-3", None)


def test_a_model_of_a_vendor_that_nothing_speaks_to_can_be_named_but_not_used() -> None:
    llm = inference.LLM("google/gemini-2.5-flash")
    assert llm.unusable() == "no provider for 'google/gemini-2.5-flash'"

    async def use() -> None:
        with pytest.raises(ProviderError, match=r"pydantic_ai\.LLM\('google:gemini-2\.5-flash'\)"):
            await llm.chat(chat_ctx=ChatContext()).collect()

    asyncio.run(use())
    for model in (inference.STT("assemblyai/universal"), inference.TTS("rime/arcana")):
        assert "no provider" in str(model.unusable())
    with pytest.raises(ProviderError, match="deepgram"):
        inference.STT("assemblyai/universal").stream()


def test_recognisers_and_voices_are_chosen_by_the_vendor_in_the_name() -> None:
    stt = inference.STT("deepgram/nova-3:de").behind
    assert isinstance(stt, deepgram.STT)
    assert (stt.model, stt.language) == ("nova-3", "de")
    tts = inference.TTS("cartesia/sonic-3:voice-1")
    assert (tts.streaming, tts.unusable()) == (True, "no CARTESIA_API_KEY")
    assert isinstance(tts.behind, cartesia.TTS)
    assert (tts.behind.model, tts.behind.voice) == ("sonic-3", "voice-1")
    assert isinstance(inference.STT("openai/whisper-1", language="en").behind, openai.STT)
    assert isinstance(inference.TTS("openai/tts-1", voice="alloy").behind, openai.TTS)
    assert isinstance(inference.TTS("deepgram/aura-2-andromeda-en").behind, deepgram.TTS)
