"""Endpoints that speak OpenAI's chat completions, by name: vendors behind a key, and servers of this machine.

`--llm groq/llama-3.3-70b-versatile`, `--llm ollama/llama3.2`, `--llm http://127.0.0.1:8080/v1#name`.

Above: whoever makes models by name. Below: `antiphon.providers.openai`, and the ports of this machine, which are asked
for the names of their models and for nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from antiphon.errors import UsageError
from antiphon.providers import openai

PATIENCE = 0.5
"""Seconds for an answer of a server on this machine."""

_LONGEST_ANSWER = 200_000


@dataclass(slots=True, frozen=True)
class Endpoint:
    """Where models of one vendor are asked, or those of a server on this machine."""

    title: str
    base_url: str = ""
    key_variable: str = ""
    """The environment variable of its key; "": it needs none."""
    place_variable: str = ""
    """The environment variable that says where it is."""
    port: int = 0
    """Where it listens on this machine; 0: it is elsewhere."""

    def place(self) -> str:
        """Its base URL. Raises `UsageError` if the environment must say it, and does not."""
        given = os.environ.get(self.place_variable, "") if self.place_variable else ""
        if self.port:
            return f"http://{_host_and_port(given, self.port)}/v1"
        if self.place_variable and not given:
            raise UsageError(f"{self.title}: no {self.place_variable}. Set it to the address of your resource.")
        return f"{given.rstrip('/')}{self.base_url}"


ENDPOINTS: Mapping[str, Endpoint] = {
    "ollama": Endpoint("Ollama", place_variable="OLLAMA_HOST", port=11434),
    "lmstudio": Endpoint("LM Studio", port=1234),
    "llamacpp": Endpoint("llama.cpp", port=8080),
    "vllm": Endpoint("vLLM", port=8000),
    "anthropic": Endpoint("Anthropic", "https://api.anthropic.com/v1/", "ANTHROPIC_API_KEY"),
    "azure": Endpoint("Azure OpenAI", "/openai/v1/", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"),
    "gemini": Endpoint("Gemini", "https://generativelanguage.googleapis.com/v1beta/openai/", "GEMINI_API_KEY"),
    "groq": Endpoint("Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
}
"""By the name that stands before the slash."""


class LLM(openai.LLM):
    """A language model of one of `ENDPOINTS`, or of the endpoint of an address ("http://host:port/v1#name").

    Raises `UsageError` for a name without a model, except of a server on this machine: it is asked which it has.
    """

    def __init__(self, name: str) -> None:
        vendor, _, model = name.partition("/")
        if is_address(name):
            place, _, model = name.partition("#")
            self._vendor, needed = "openai", ""
        else:
            endpoint = ENDPOINTS[vendor]
            place, self._vendor, needed = endpoint.place(), vendor, endpoint.key_variable
            model = model or _first_model(endpoint)
        if not model:
            example = f"{place}#MODEL" if is_address(name) else f"{vendor}/MODEL"
            raise UsageError(f"{name}: expected the name of a model, too: {example}.")
        super().__init__(model=model, base_url=place, strict_tools=False)
        if needed:
            self.key_variable = needed

    @property
    def label(self) -> str:
        return f"{self._vendor}.LLM"


def is_named(name: str) -> bool:
    """Whether this is the name of a model of one of them."""
    return is_address(name) or name.partition("/")[0] in ENDPOINTS


def is_address(name: str) -> bool:
    """Whether a model's name is the address of an endpoint."""
    return urlsplit(name).scheme in ("http", "https")


# -- servers on this machine


@dataclass(slots=True, frozen=True)
class LocalServer:
    """A server of models that answers on this machine."""

    name: str
    """The one in `ENDPOINTS`."""
    models: tuple[str, ...]
    """Those that it lists."""


async def servers_here() -> list[LocalServer]:
    """The servers of models on this machine, within `PATIENCE` seconds. Asks only loopback addresses."""
    near = [name for name, endpoint in ENDPOINTS.items() if endpoint.port]
    asked = await asyncio.gather(*(models_at("127.0.0.1", ENDPOINTS[name].port) for name in near))
    return [LocalServer(name, models) for name, models in zip(near, asked, strict=True) if models is not None]


async def models_at(host: str, port: int) -> tuple[str, ...] | None:
    """What a server lists; None: nothing that serves models answers there in time."""
    try:
        async with asyncio.timeout(PATIENCE):
            return tuple(_listed(await _answer(host, port)))
    except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return None


async def _answer(host: str, port: int) -> bytes:
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(f"GET /v1/models HTTP/1.0\r\nHost: {host}\r\nAccept: application/json\r\n\r\n".encode())
        await writer.drain()
        answer = await reader.read(_LONGEST_ANSWER)
        while more := await reader.read(_LONGEST_ANSWER):
            answer += more
            if len(answer) > _LONGEST_ANSWER:
                raise ValueError("the answer is too long")
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
    return answer


def _listed(answer: bytes) -> Iterator[str]:
    listed = json.loads(answer.partition(b"\r\n\r\n")[2])
    if not isinstance(listed, dict) or not isinstance(listed.get("data"), list):
        raise ValueError("no list of models")
    return (str(one.get("id")) for one in listed["data"] if isinstance(one, dict))


def _first_model(endpoint: Endpoint) -> str:
    """The model that a server on this machine lists first; "" if it cannot be asked."""
    if not endpoint.port:
        return ""
    import http.client

    connection = http.client.HTTPConnection(_host_and_port("", endpoint.port), timeout=PATIENCE)
    try:
        connection.request("GET", "/v1/models")
        body = connection.getresponse().read(_LONGEST_ANSWER)
        return next(_listed(b"\r\n\r\n" + body), "")
    except (OSError, ValueError, http.client.HTTPException):
        return ""
    finally:
        connection.close()


def _host_and_port(given: str, port: int) -> str:
    """What a variable such as OLLAMA_HOST says, as one connects to it."""
    parts = urlsplit(given if "//" in given else f"//{given}")
    host = parts.hostname or "127.0.0.1"
    return f"{'127.0.0.1' if host == '0.0.0.0' else host}:{parts.port or port}"
