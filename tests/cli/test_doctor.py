"""What is there, what is not, and what to do: told without a secret, and without loading anything."""

from __future__ import annotations

import asyncio
import json

import pytest

from antiphon.cli import doctor
from antiphon.cli.doctor import Check, examine
from tests.cli.test_main import run


def examined() -> dict[str, Check]:
    return {one.name: one for one in asyncio.run(examine())}


def test_each_thing_has_a_line_and_what_is_missing_a_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("DEEPGRAM_API_KEY", raising=False)
    assert run("doctor") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("ok  version                  antiphon ")
    (line,) = [line for line in lines if "stt deepgram" in line]
    assert line.startswith("--  ")
    assert line.endswith("no DEEPGRAM_API_KEY. Set DEEPGRAM_API_KEY, in the environment or in .env")


def test_a_key_is_found_and_not_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    assert run("doctor", "--json") == 0
    shown = capsys.readouterr().out
    assert "very-secret" not in shown
    told = {one["name"]: one for one in json.loads(shown)}
    assert told["llm openai"]["ok"] is True
    assert told["extra local"]["ok"] is True


def test_what_an_extra_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_is_installed", lambda package: package != "miniaudio")
    check = examined()["extra audio"]
    assert (check.ok, check.do) == (False, "pip install 'antiphon[audio]'")
    assert "no miniaudio" in check.found


async def at_a_port(answer: bytes | None) -> Check:
    """What is found of a server that answers so; None: it says nothing."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            if answer is None:
                await reader.read()
            else:
                writer.write(answer)
                await writer.drain()
        finally:
            writer.close()
            over.set()

    over = asyncio.Event()
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        found = await doctor._server("ollama", server.sockets[0].getsockname()[1])
        await over.wait()
        await asyncio.sleep(0)
        return found


def test_a_server_of_models_is_found_with_its_models() -> None:
    body = json.dumps({"object": "list", "data": [{"id": "llama3.2"}, {"id": "qwen3"}]}).encode()
    check = asyncio.run(at_a_port(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + body))
    assert check.ok
    assert check.found.endswith(": llama3.2, qwen3")
    assert check.do == "Use --llm ollama/llama3.2"


@pytest.mark.parametrize("answer", [b"HTTP/1.1 404 Not Found\r\n\r\n<html>", b"", b"SSH-2.0-OpenSSH\r\n", None])
def test_what_serves_no_models_is_none(answer: bytes | None) -> None:
    check = asyncio.run(at_a_port(answer))
    assert not check.ok
    assert "nothing that serves models" in check.found
