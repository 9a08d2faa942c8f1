"""What the studio shows, in a real browser: the list, a call, figures; for everybody, and every text as text."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from tests.console.page_browser import faults_of, watched
from tests.console.test_page_views import axe_faults, wait_text
from tests.records.recorded import head_of, laid, recorded, tool_call
from tests.studio.conftest import studio_of
from tests.studio.test_server import EVIL, with_sound

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Open: TypeAlias = "Callable[..., Page]"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "records"
    folder.mkdir()
    return folder


@pytest.fixture
def open_studio(browser: Browser, place: Path) -> Iterator[Open]:
    with studio_of(place) as url:
        contexts = []

        def open_studio(where: str = "", **options: Any) -> Page:
            context = browser.new_context(**options)
            contexts.append(context)
            page = watched(context.new_page())
            page.goto(f"{url}/studio/{where}")
            return page

        yield open_studio
        for context in contexts:
            context.close()


def reply_at(at: float, delay: float, number: int = 1) -> dict[str, Any]:
    """A reply of `metrics.json`, that came after so many seconds."""
    stage = {"kind": "model", "name": "model", "started": at, "ended": at + delay}
    response = {
        "by_model": True, "asked": at, "first_token": at + 0.1, "first_text": at + 0.1, "first_byte": at + delay,
        "first_audio": at + delay, "done": at + delay, "characters": 20, "calls": 0, "filler": False, "failed": False,
    }  # fmt: skip
    return {
        "turn": number, "origin": "caller", "asked": at, "rounds": 0, "responses": [response], "tools": [],
        "waiting_since": at, "first_audio": at + delay, "first_answer": at + delay, "ended": at + delay + 2,
        "decided": at, "interrupted_at": None, "response_delay": delay, "answer_delay": delay, "dead_air": delay,
        "silences": [{"started": at, "ended": at + delay}], "sound": [{"started": at + delay, "ended": at + delay + 2}],
        "stages": [stage], "path": [stage],
    }  # fmt: skip


def figures(*replies: dict[str, Any]) -> dict[str, Any]:
    delays = sorted(one["response_delay"] for one in replies)
    sums = {"median_response_delay": delays[len(delays) // 2], "p95_response_delay": delays[-1], "dead_air": 0.0}
    return {"metrics": sums, "replies": list(replies)}


def test_the_list_is_searched_and_going_back_goes_back(open_studio: Open, place: Path) -> None:
    for number in range(3):
        laid(place, head_of(number))
    page = open_studio()
    wait_text(page, ".count", "3 calls")
    page.fill("input[name=said]", "number 2")
    page.press("input[name=said]", "Enter")
    wait_text(page, ".count", "1 of 3 calls")
    assert page.locator("#ended li").count() == 1
    page.click("#ended a")
    wait_text(page, ".said", "A table for number 2, please")
    page.go_back()
    wait_text(page, ".count", "1 of 3 calls")
    assert page.input_value("input[name=said]") == "number 2"
    assert faults_of(page) == []


def test_a_call_is_listed_when_it_has_ended_and_gone_when_it_is_erased_without_a_reload(
    open_studio: Open, place: Path
) -> None:
    page = open_studio()
    wait_text(page, ".count", "No calls have ended yet.")
    name = laid(place, head_of(1))
    wait_text(page, ".count", "1 call")
    shutil.rmtree(place / name)
    wait_text(page, ".count", "No calls have ended yet.")


def test_the_input_of_a_step_is_shown_with_what_is_new_in_it(open_studio: Open, place: Path) -> None:
    with ThreadPoolExecutor() as beside:  # Playwright has a loop in this thread
        record = beside.submit(recorded, place).result()
    page = open_studio(f"#/call/{record.name}")
    wait_text(page, ".step", "results of tools")
    page.click("#step2 > summary")
    wait_text(page, "#step2", "The whole input: 4 parts, 2 tools")
    page.click("#step2 .inside > details > summary")
    assert page.locator("#step2 .items .new").count() == 2
    told = page.inner_text("#step2")
    for words in ("You take reservations.", "Booked for 4 on Friday.", "tool book", "You are booked."):
        assert words in told
    assert axe_faults(page) == []


def test_where_requests_are_not_recorded_that_is_said(open_studio: Open, place: Path) -> None:
    name = laid(place, head_of(1), figures(reply_at(1.0, 0.6)))
    page = open_studio(f"#/call/{name}")
    page.click("#step1 > summary")
    wait_text(page, "#step1", "Not recorded.")


def test_an_answer_took_the_same_on_every_page(open_studio: Open, place: Path) -> None:
    name = laid(place, head_of(1, voice=True), figures(reply_at(0.2, 0.617)))
    page = open_studio()
    wait_text(page, "#ended .slow", "617 ms")
    page.click("#ended a")
    wait_text(page, ".figure", "617 ms")
    assert page.inner_text(".took .total b") == "617 ms"
    assert "after 617 ms" in page.inner_text(".said")
    assert "617 ms" in (page.locator(".line svg").text_content() or "")
    page.click("#to-figures")
    wait_text(page, ".big", "617 ms")
    assert name


def test_a_moment_is_heard_where_it_is_pressed_and_read_where_there_is_no_sound(open_studio: Open, place: Path) -> None:
    name = with_sound(place)
    page = open_studio(f"#/call/{name}")
    page.wait_for_function("() => document.querySelector('audio')?.readyState > 0", timeout=10_000)
    page.click(".said li:nth-child(1) .at")
    page.wait_for_function("() => document.querySelector('audio').played.length > 0", timeout=10_000)
    (place / name / "audio.wav").unlink()
    page.reload()
    wait_text(page, ".silent", "no sound")
    page.click(".said li:nth-child(1) .at")
    assert faults_of(page) == []


def test_nothing_of_a_call_becomes_markup(open_studio: Open, place: Path) -> None:
    call = tool_call("book", 1.0, arguments={EVIL: EVIL}, output=EVIL, consent={
        "asked": EVIL, "times": 1, "decision": EVIL, "heard": EVIL, "by": EVIL})  # fmt: skip
    turn = head_of(1)["turns"][0] | {"text": EVIL}
    shown = {"title": EVIL, "agents": [EVIL], "caller": EVIL, "models": EVIL, "reason": EVIL, "errors": [EVIL]}
    name = laid(place, head_of(1, turns=[turn], tool_calls=[call], userdata={EVIL: EVIL}, **shown))
    broken = laid(place, head_of(2))
    (place / broken / "record.json").write_text(json.dumps(head_of(2) | {"record": EVIL}))
    page = open_studio()
    wait_text(page, "#ended", "<img")
    wait_text(page, ".notice", "<img")
    page.goto(page.url.partition("#")[0] + f"#/call/{name}")
    wait_text(page, ".said", "<img")
    page.click("#to-figures")
    wait_text(page, "table", "book")
    assert page.locator("main img").count() == 0
    assert page.evaluate("window.pwned") is None
    assert faults_of(page) == []


def test_what_cannot_be_shown_is_told(open_studio: Open, place: Path) -> None:
    laid(place, head_of(1))
    page = open_studio("#/call/20260101-000000-nobody")
    wait_text(page, "h1", "There is no such call")
    page.click(".notice a")
    wait_text(page, ".count", "1 call")
    page.goto(page.url.partition("#")[0] + "#/?slower=soon")
    wait_text(page, ".notice", "expected seconds")


def test_a_wrong_token_is_told(browser: Browser, place: Path) -> None:
    with studio_of(place, token="right") as url:
        page = browser.new_page()
        page.goto(url.replace("right", "wrong").replace("/?", "/studio/?"))
        wait_text(page, ".notice", "the token is missing or wrong")
        page.goto(url)
        wait_text(page, ".count", "No calls have ended yet.")
        page.close()


def test_two_thousand_findings_and_two_hours_of_a_call_are_shown_bit_by_bit(open_studio: Open, place: Path) -> None:
    bad = {"status": "error", "is_error": True, "output": "Error parsing arguments for `book`: day: required"}
    calls = [tool_call("book", 3.5 * n, **bad) for n in range(2000)]
    turns = [head_of(1)["turns"][n % 2] | {"started": 5.0 * n, "ended": 5.0 * n + 4} for n in range(1400)]
    replies = [reply_at(10.0 * n, 0.5 + n % 7 / 10, n) for n in range(700)]
    head = head_of(1, duration=7200.0, turns=turns, tool_calls=calls)
    name = laid(place, head, figures(*replies))
    page = open_studio(f"#/call/{name}")
    wait_text(page, ".findings .more", "Show all 2,000")
    assert page.locator(".finding").count() == 30
    page.click(".findings .more")
    assert page.locator(".finding").count() == 2000
    assert "2:00:00" in page.inner_text("header .sub")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert faults_of(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_no_serious_fault(open_studio: Open, place: Path, scheme: str, width: int) -> None:
    consent = {"asked": "A table?", "times": 2, "decision": "yes", "heard": "yes", "by": "words"}
    calls = [
        tool_call(
            "book", 1.0, consent=consent, status="error", is_error=True, output="Error parsing arguments for `x`: y"
        )
    ]
    turns = [*head_of(1)["turns"], head_of(1)["turns"][1] | {"interrupted": True, "unheard": "more", "aside": True}]
    head = head_of(1, turns=turns, tool_calls=calls, errors=["E: no"], userdata={"a": 1}, missing=["x"], voice=True)
    name = laid(place, head, figures(reply_at(0.2, 0.6), reply_at(4.0, 2.0, 2)))
    page = open_studio(color_scheme=scheme, viewport={"width": width, "height": 800}, reduced_motion="reduce")
    home = page.url.partition("#")[0]
    wait_text(page, ".count", "1 call")
    page.click(".search summary")
    assert axe_faults(page) == []
    page.goto(home + f"#/call/{name}")
    wait_text(page, ".stored", "What failed")
    assert axe_faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.goto(home + "#/figures")
    wait_text(page, "table", "book")
    assert axe_faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_everything_is_reached_by_the_keyboard(open_studio: Open, place: Path) -> None:
    laid(place, head_of(1, tool_calls=[tool_call("book", 1.0)]), figures(reply_at(0.2, 0.6)))
    page = open_studio()
    wait_text(page, ".count", "1 call")
    page.focus("#ended a")
    page.keyboard.press("Enter")
    page.locator("svg [role=button]").first.wait_for()
    page.focus("svg [aria-label^='Model step 1']")
    page.keyboard.press("Enter")
    wait_text(page, "#step1", "Asked at")
    page.focus("svg [aria-label^='book']")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement.closest('#tool0') !== null")
