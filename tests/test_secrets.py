"""Secrets in addresses and command lines are not shown: in errors, in the log, in names."""

from __future__ import annotations

import asyncio
import logging
import time

import pytest

from antiphon import AntiphonError
from antiphon.errors import ProviderError
from antiphon.providers.openai import LLM
from antiphon.secrets import arguments_without_secrets, without_secrets
from antiphon.tools.mcp_servers import MCPServerHTTP, MCPServerStdio


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://anna:hunter2@host/v1", "https://***@host/v1"),
        ("connect to wss://sk-123@host:8/x?model=a failed", "connect to wss://***@host:8/x?model=a failed"),
        ("http://h/v1?api_key=abc&model=m", "http://h/v1?api_key=***&model=m"),
        ("'http://h/?model=m&access_token=abc'", "'http://h/?model=m&access_token=***'"),
        ("http://h/?X-Amz-Signature=abc#top", "http://h/?X-Amz-Signature=***#top"),
        ("Authorization: Bearer abcdefgh.ij", "Authorization: Bearer ***"),
        ("http://h/?model=gpt-4o&keyboard", "http://h/?model=gpt-4o&keyboard"),
        ("write to anna@example.com about basic maths", "write to anna@example.com about basic maths"),
        ("a bearer of news", "a bearer of news"),
    ],
)
def test_what_opens_an_endpoint_is_hidden_and_the_rest_is_shown(text: str, shown: str) -> None:
    assert without_secrets(text) == shown


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["-y", "--api-key", "abc", "--port", "1"], ["-y", "--api-key", "***", "--port", "1"]),
        (["--token=abc", "TOKEN=abc", "x"], ["--token=***", "TOKEN=***", "x"]),
        (["https://a:b@h/?key=1"], ["https://***@h/?key=***"]),
    ],
)
def test_secrets_of_a_command_line_are_hidden(arguments: list[str], shown: list[str]) -> None:
    assert arguments_without_secrets(arguments) == shown


def test_an_error_of_an_endpoint_does_not_show_what_opens_it() -> None:
    async def ask() -> str:
        model = LLM(model="m", base_url="http://anna:hunter2@127.0.0.1:9/v1?api_key=abc", max_retries=0)
        try:
            with pytest.raises(ProviderError) as raised, model.translated_errors():
                await model.client().models.list()
        finally:
            await model.aclose()
        return f"{raised.value} {raised.value.message}"

    told = asyncio.run(ask())
    assert "127.0.0.1:9" in told
    assert not any(secret in told for secret in ("anna", "hunter2", "abc"))


def test_servers_are_named_without_secrets() -> None:
    for server in (
        MCPServerHTTP("https://anna:hunter2@host/mcp?key=hunter2"),
        MCPServerStdio("/bin/server", ["--api-key", "hunter2"]),
        MCPServerStdio("env", ["API_KEY=hunter2", "server"]),
    ):
        assert "hunter2" not in server.label + repr(server)


def test_the_log_hides_them_whoever_wrote_the_line(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("antiphon")
    logger.warning("cannot open %s", "https://anna:hunter2@host/")
    try:
        raise AntiphonError("https://host/?token=hunter2")
    except AntiphonError:
        logger.exception("failed")
    assert "***@host" in caplog.text and "?token=***" in caplog.text
    assert "hunter2" not in caplog.text


@pytest.mark.parametrize("piece", ["?key", "://", "?", "a", "key", "://a:", "bearer ", "&token=", "-", "=", "@"])
def test_no_text_takes_long(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    began = time.process_time()
    without_secrets(text)
    arguments_without_secrets([text])
    assert time.process_time() - began < 2.0
