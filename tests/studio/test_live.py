"""Calls of `antiphon dev` in its studio, while they go on: in the list, told so far, and then as a record."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2

from antiphon.records.current import Said, call_records
from antiphon.records.keeping import Records
from tests.console.page import Page
from tests.console.serving import ECHO, run, serving, write


async def get(url: str, path: str) -> Any:
    async with httpx2.AsyncClient(timeout=20) as client:
        answer = await client.get(f"{url}/studio/api/{path}")
    return answer.json() if answer.status_code == 200 else answer.status_code


def recorded_dev(tmp_path: Path, check: Callable[[str], Awaitable[None]], **options: Any) -> None:
    """Serve an agent as `antiphon dev` does, which records calls beside it."""

    async def held() -> None:
        async with Records(tmp_path / "records") as records:
            call_records.set(Said(records))
            async with serving(write(tmp_path, ECHO), **options) as server:
                await check(server.url)

    run(held)


def test_a_call_of_the_page_is_told_while_it_goes_on_with_what_its_model_was_asked(tmp_path: Path) -> None:
    async def check(url: str) -> None:
        async with Page(url, audio=False) as page:
            await page.asks("Hello there")
            (live,) = (await get(url, "calls"))["live"]
            assert (live["state"], live["turns"]) == ("goes on", 1)
            told = await get(url, f"live?id={live['id']}")
            assert [turn["text"] for turn in told["turns"]] == ["Hello there", "You are heard."]
            (step,) = told["steps"]
            assert step["recorded"] is True
            whole = await get(url, f"step?id={live['id']}&number=1")
            assert (whole["items"][-1]["text"], whole["text"]) == ("Hello there", "You are heard.")
            assert await get(url, f"step?id={live['id']}&number=9") == 404
            await page.send("hang_up")
            await page.wait_for("ended")
        listed = await get(url, "calls")
        assert (listed["live"], [one["id"] for one in listed["calls"]]) == ([], [live["id"]])
        assert await get(url, f"live?id={live['id']}") == {"ended": True, "name": listed["calls"][0]["name"]}

    recorded_dev(tmp_path, check, for_developer=True)


def test_a_server_that_is_no_developers_shows_nobody_the_calls_of_others(tmp_path: Path) -> None:
    async def check(url: str) -> None:
        assert await get(url, "calls") == 404

    recorded_dev(tmp_path, check)
