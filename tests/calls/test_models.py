"""Which models run: the command line's, else the file's if they are usable, else the local ones."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from antiphon import inference
from antiphon.calls.models import ModelChoice, local_model, named_model
from antiphon.chat import ChatContext
from antiphon.errors import MissingKey, ProviderError, UsageError
from antiphon.options import NOT_GIVEN
from antiphon.plugins import cartesia, deepgram, openai, silero
from antiphon.protocols import ModelKind
from antiphon.providers.remote import RemoteProvider
from antiphon.testing import FakeLLM, FakeSTT, run_virtual

KEYS = ("OPENAI_API_KEY", "DEEPGRAM_API_KEY", "CARTESIA_API_KEY")
GIVEN: Mapping[ModelKind, Any] = dict.fromkeys(("llm", "stt", "tts", "vad", "turn_detector"), NOT_GIVEN)


class Cloud(FakeLLM, RemoteProvider):
    """A model behind a key."""

    key_variable = "CLOUD_KEY"


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)


def test_models_that_are_not_given_are_local_without_a_word() -> None:
    lines: list[str] = []
    chosen = ModelChoice(notice=lines.append)(GIVEN)
    assert {kind: model is local_model(kind) for kind, model in chosen.items()} == dict.fromkeys(GIVEN, True)
    assert lines == []


def test_a_model_without_a_key_gives_way_with_one_line() -> None:
    lines: list[str] = []
    choice = ModelChoice(notice=lines.append)
    for _ in range(2):
        chosen = choice({"stt": deepgram.STT(model="nova-3"), "tts": cartesia.TTS(voice="v")})
    assert chosen == {"stt": local_model("stt"), "tts": local_model("tts")}
    assert lines == [
        "deepgram.STT: no DEEPGRAM_API_KEY, using local STT",
        "cartesia.TTS: no CARTESIA_API_KEY, using local TTS",
    ]


def test_a_model_that_is_not_built_yet_gives_way_too(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setenv("CLOUD_KEY", "k")
    monkeypatch.setattr(Cloud, "built", False)
    ModelChoice(notice=lines.append)({"llm": Cloud()})
    assert lines == ["test_models.Cloud: not built yet, using local LLM"]


def test_a_usable_model_of_the_file_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUD_KEY", "k")
    llm, stt = Cloud(), FakeSTT()
    assert ModelChoice()({"llm": llm, "stt": stt}) == {"llm": llm, "stt": stt}


def test_a_model_named_on_the_command_line_goes_before_the_files() -> None:
    chosen = ModelChoice(named={"llm": "local"})({"llm": FakeLLM()})
    assert chosen["llm"] is local_model("llm")


def test_a_model_named_on_the_command_line_never_gives_way() -> None:
    with pytest.raises(MissingKey, match=r"openai\.LLM: no OPENAI_API_KEY\. Set the environment variable"):
        ModelChoice(named={"llm": "openai/gpt-4o"})


def test_strict_models_never_give_way() -> None:
    with pytest.raises(ProviderError, match=r"deepgram\.STT: no DEEPGRAM_API_KEY.*without --strict-models"):
        ModelChoice(strict=True)({"stt": deepgram.STT()})


def test_a_text_call_has_no_speech_models_and_says_nothing_of_them() -> None:
    lines: list[str] = []
    chosen = ModelChoice(voice=False, notice=lines.append)({**GIVEN, "stt": deepgram.STT()})
    assert [chosen[kind] for kind in ("stt", "tts", "vad", "turn_detector")] == [None] * 4
    assert lines == []


def test_a_model_written_as_dots_or_none_is_what_it_says() -> None:
    assert ModelChoice()({"llm": ..., "tts": None}) == {"llm": local_model("llm"), "tts": None}


def test_a_name_in_the_file_is_looked_up() -> None:
    lines: list[str] = []
    ModelChoice(notice=lines.append)({"llm": "openai/gpt-4o-mini"})
    assert lines == ["openai.LLM: no OPENAI_API_KEY, using local LLM"]


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no STT called 'x': expected local, deepgram, openai, or vendor/model"):
        named_model("stt", "x")


def test_vendor_and_model_make_that_model() -> None:
    model = named_model("llm", "openai/gpt-4o")
    assert isinstance(model, openai.LLM)
    assert model.model == "gpt-4o"


# -- the vendors' names


@pytest.mark.parametrize(
    "model",
    [
        openai.LLM(model="gpt-4o-mini"),
        openai.STT(),
        openai.TTS(),
        deepgram.STT(model="nova-3"),
        deepgram.TTS(),
        cartesia.TTS(voice="<voice-id>"),
        inference.LLM("openai/gpt-4o-mini", extra_kwargs={"parallel_tool_calls": False}),
        inference.STT("deepgram/nova-3"),
        inference.TTS("cartesia/sonic-2", voice="v"),
    ],
    ids=lambda model: f"{type(model).__module__}.{type(model).__name__}",
)
def test_a_vendors_model_needs_no_key_until_it_is_used(model: RemoteProvider) -> None:
    assert model.unusable() == f"no {model.key_variable}"

    async def use() -> None:
        match model:
            case openai.LLM() | inference.LLM():
                await model.chat(chat_ctx=ChatContext.empty()).collect()
            case openai.STT() | deepgram.STT() | inference.STT():
                model.stream()
            case openai.TTS() | deepgram.TTS() | cartesia.TTS() | inference.TTS():
                sound: AsyncIterator[Any] = model.synthesize("Hello")
                async for _ in sound:
                    pass

    with pytest.raises(MissingKey, match=model.key_variable):
        run_virtual(use())


def test_extra_arguments_that_the_session_must_hold_are_known_to_it() -> None:
    assert inference.LLM("x", extra_kwargs={"parallel_tool_calls": False}).parallel_tool_calls is False


def test_silero_is_loaded_as_agent_files_load_it() -> None:
    assert isinstance(silero.VAD.load(), silero.VAD)


class Loadable(FakeLLM):
    """Says when it is loaded."""

    def __init__(self, kind: str, loaded: list[str]) -> None:
        super().__init__([])
        self._kind = kind
        self._loaded = loaded

    async def prewarm(self) -> None:
        self._loaded.append(self._kind)
        if self._kind == "vad":
            raise ProviderError("out of memory", provider="vad", retryable=False)


def loaded_ahead(monkeypatch: pytest.MonkeyPatch, *, voice: bool) -> set[str]:
    """The kinds of local models that are loaded before any call."""
    loaded: list[str] = []
    monkeypatch.setattr("antiphon.calls.models.local_model", lambda kind: Loadable(kind, loaded))
    run_virtual(ModelChoice(voice=voice).prewarm())
    return set(loaded)


def test_without_keys_all_local_models_are_loaded_ahead_and_one_that_fails_stops_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert loaded_ahead(monkeypatch, voice=True) == set(GIVEN)


def test_where_a_vendors_key_is_set_its_kinds_are_not_loaded_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPGRAM_API_KEY", "k")
    assert loaded_ahead(monkeypatch, voice=True) == {"llm", "vad", "turn_detector"}


def test_for_calls_in_text_no_voice_is_loaded_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    assert loaded_ahead(monkeypatch, voice=False) == {"llm"}
