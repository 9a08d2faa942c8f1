"""`antiphon doctor --live` runs the contract suites on models that cost something, and says what that was."""

from __future__ import annotations

import asyncio
import json
import re

import pytest

from antiphon.calls.models import VENDORS
from antiphon.cli import live_models
from antiphon.cli.live_models import try_model
from antiphon.providers.endpoints import LocalServer
from antiphon.providers.openai import LLM
from antiphon.testing import Fail, FakeLLM, FakeSTT, FakeTTS
from tests.cli.test_main import refused, run
from tests.providers.http_double import HTTPDouble, status
from tests.providers.openai_double import text


@pytest.fixture(autouse=True)
def nothing_here(monkeypatch: pytest.MonkeyPatch) -> None:
    for vendor in set().union(*VENDORS.values()):
        monkeypatch.delenv(f"{vendor.upper()}_API_KEY", raising=False)

    async def none() -> list[LocalServer]:
        return []

    monkeypatch.setattr(live_models, "servers_here", none)


def test_a_model_that_keeps_its_promises_is_told_with_what_it_cost() -> None:
    async def main() -> None:
        async with HTTPDouble(text("Hello, how are you?")) as double:
            check = await try_model("llm", "openai", LLM(base_url=double.url))
            assert (check.name, check.ok) == ("live llm openai", True)
            assert check.found.startswith("keeps its promises; cost ")
            told = re.search(r"cost (\d+) requests", check.found)
            assert told is not None
            assert int(told[1]) >= len(double.requests) > 3  # one may be stopped before it is sent
            assert "tokens read and" in check.found

    asyncio.run(main())


def test_a_key_that_is_wrong_is_told_in_words() -> None:
    async def main() -> None:
        async with HTTPDouble(status(401, {"error": {"message": "Incorrect API key provided"}})) as double:
            check = await try_model("llm", "openai", LLM(base_url=double.url))
            assert not check.ok
            assert "Incorrect API key provided" in check.found and "Check the key" in check.found

    asyncio.run(main())


def test_a_model_that_breaks_a_promise_is_told_which() -> None:
    check = asyncio.run(try_model("llm", "mine", FakeLLM([Fail(ValueError("no"))])))
    assert not check.ok
    assert "expected a ProviderError, got ValueError: no" in check.found


def test_voices_and_recognisers_are_counted_in_their_own_units(monkeypatch: pytest.MonkeyPatch) -> None:
    async def tone() -> None:
        return None

    monkeypatch.setattr(live_models, "_utterance", tone)
    voice = asyncio.run(try_model("tts", "mine", FakeTTS()))
    assert "characters spoken" in voice.found
    ears = asyncio.run(try_model("stt", "mine", FakeSTT(["hello"])))
    assert "s of sound" in ears.found


def test_without_a_key_and_a_server_there_is_nothing_to_ask(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no key is set, and no server of models runs here" in refused(capsys, "doctor", "--live")


def test_a_model_is_named_for_live_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Add --live" in refused(capsys, "doctor", "--llm", "openai")


def test_the_command_fails_where_a_model_does(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        live_models, "named_model", lambda kind, name: LLM(base_url="http://127.0.0.1:9", max_retries=0)
    )
    assert run("doctor", "--live", "--llm", "llamacpp/x", "--json") == 1
    (check,) = json.loads(capsys.readouterr().out)
    assert (check["name"], check["ok"]) == ("live llm llamacpp/x", False)
    assert "the connection to http://127.0.0.1:9 broke" in check["found"]
