"""Language models by name: vendors behind a key, servers of this machine, and addresses."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from antiphon.calls.models import named_model
from antiphon.calls.offers import describe_model, offers
from antiphon.errors import UsageError
from antiphon.providers import endpoints
from antiphon.providers.endpoints import ENDPOINTS, LLM


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for endpoint in ENDPOINTS.values():
        for variable in filter(None, (endpoint.key_variable, endpoint.place_variable)):
            monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A server that lists its models, where Ollama is; nothing where the other servers are."""

    class Listing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"data": [{"id": "llama3.2"}, {"id": "qwen3"}]}).encode())

        def log_message(self, format: str, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Listing) as server:
        port = server.server_address[1]
        near = {name: dataclasses.replace(one, port=port) for name, one in ENDPOINTS.items() if name == "ollama"}
        elsewhere = {name: one for name, one in ENDPOINTS.items() if not one.port}
        monkeypatch.setattr(endpoints, "ENDPOINTS", near | elsewhere)
        monkeypatch.setattr("antiphon.calls.offers.ENDPOINTS", near | elsewhere)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield port
        server.shutdown()
        thread.join()


def test_a_server_of_this_machine_needs_no_key() -> None:
    model = named_model("llm", "lmstudio/qwen3/8b")
    assert (model.model, model.base_url, model.unusable()) == ("qwen3/8b", "http://127.0.0.1:1234/v1", None)


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("10.0.0.5:9000", "http://10.0.0.5:9000/v1"),
        ("http://box.local:1", "http://box.local:1/v1"),
    ],
)
def test_ollama_is_where_its_own_variable_says(said: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", said)
    assert LLM("ollama/llama3.2").base_url == place


def test_a_server_is_asked_which_model_it_has(ollama: int) -> None:
    assert LLM("ollama").model == "llama3.2"


def test_a_server_that_is_not_there_needs_the_name_of_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "ENDPOINTS", {"vllm": dataclasses.replace(ENDPOINTS["vllm"], port=1)})
    with pytest.raises(UsageError, match="expected the name of a model, too: vllm/MODEL"):
        LLM("vllm")


def test_an_address_is_a_model_too() -> None:
    model = named_model("llm", "http://127.0.0.1:8080/v1#small")
    assert describe_model(model) == "openai.LLM small at http://127.0.0.1:8080/v1"
    with pytest.raises(UsageError, match="#MODEL"):
        named_model("llm", "http://127.0.0.1:8080/v1")


def test_a_vendor_has_a_key_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    model = LLM("groq/llama-3.3-70b-versatile")
    assert (model.unusable(), model.api_key) == ("no GROQ_API_KEY", None)
    monkeypatch.setenv("GROQ_API_KEY", "gsk")
    assert (model.unusable(), model.api_key) == (None, "gsk")
    with pytest.raises(UsageError, match="expected the name of a model, too: groq/MODEL"):
        LLM("groq")


def test_azure_is_where_its_resource_is(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="no AZURE_OPENAI_ENDPOINT"):
        LLM("azure/gpt-4o")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://mine.openai.azure.com/")
    assert LLM("azure/gpt-4o").base_url == "https://mine.openai.azure.com/openai/v1/"


def test_who_has_a_key_or_a_server_is_told_by_name(ollama: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "secret")
    assert asyncio.run(offers()) == [
        "GEMINI_API_KEY is set. To have it answer: --llm gemini/MODEL",
        "Ollama runs on this machine. To have it answer: --llm ollama/llama3.2",
    ]
