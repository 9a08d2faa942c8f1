"""The page's files and the news of the agent file, over real sockets."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from websockets.asyncio.client import connect

from antiphon.console.serve import Place
from tests.console.page import socket_url
from tests.console.serving import ECHO, run, serving, write


async def fetch(url: str) -> tuple[int, dict[str, str]]:
    def get() -> tuple[int, dict[str, str]]:
        try:
            with urllib.request.urlopen(url, timeout=10) as response:
                return response.status, dict(response.headers)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, dict(error.headers)

    return await asyncio.to_thread(get)


def test_the_page_comes_with_a_policy_that_lets_it_load_its_own_files_only(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, ECHO)) as server:
            status, headers = await fetch(server.url + "/")
            assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
            policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
            assert (policy["default-src"], policy["script-src"]) == ("'none'", "'self'")
            assert policy["frame-ancestors"] == "'none'"
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"

    run(check)


@pytest.mark.parametrize(("path", "kind"), [("/main.js", "text/javascript"), ("/style.css", "text/css")])
def test_its_files_have_the_types_that_browsers_want(tmp_path: Path, path: str, kind: str) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, ECHO)) as server:
            status, headers = await fetch(server.url + path)
            assert (status, headers["content-type"].split(";")[0]) == (200, kind)

    run(check)


@pytest.mark.parametrize("path", ["/calls/unknown/report", "/calls/unknown/recording.wav", "/nothing", "/../app.py"])
def test_what_is_not_there_is_not_found(tmp_path: Path, path: str) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, ECHO)) as server:
            status, headers = await fetch(server.url + path)
            assert status == 404
            assert headers["x-content-type-options"] == "nosniff"

    run(check)


def test_a_page_without_a_call_learns_that_the_file_broke_and_that_it_was_mended(tmp_path: Path) -> None:
    async def check() -> None:
        path = write(tmp_path, ECHO)
        async with serving(path) as server, connect(socket_url(server.url, "/watch")) as news:
            path.write_text("1 +\n")
            broken = json.loads(await news.recv())
            assert (broken["type"], broken["state"]) == ("agent_file", "broken")
            assert f"{path}:1: syntax error" in broken["message"]
            path.write_text(ECHO)
            assert json.loads(await news.recv())["state"] == "loaded"

    run(check)


def test_a_page_that_is_opened_while_the_file_is_broken_learns_it_at_once(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, "1 +\n")) as server, connect(socket_url(server.url, "/watch")) as news:
            async with asyncio.timeout(5):
                assert json.loads(await news.recv())["state"] == "broken"

    run(check)


def test_a_page_that_talks_where_it_should_listen_is_told_so(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, ECHO)) as server, connect(socket_url(server.url, "/watch")) as news:
            await news.send("hello")
            await news.wait_closed()
            assert news.close_code == 4400

    run(check)


def test_the_report_of_a_call_opens_without_the_token(tmp_path: Path) -> None:
    """Its address is a secret of its own, and a link is opened without what the page knows."""

    async def check() -> None:
        from tests.console.page import Page

        async with serving(write(tmp_path, ECHO), place=Place(port=0, token="t")) as server:
            async with Page(server.url, audio=False) as page:
                await page.wait_for("ready")
                await page.send("hang_up")
                ended = await page.wait_for("ended")
                status, headers = await fetch(server.url.partition("/?")[0] + ended["report"])
                assert headers["cache-control"] == "no-store"
                assert status == 200

    run(check)
