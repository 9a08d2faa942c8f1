"""What the page shows of consent, fillers, claims and agents, before a call and inside it: in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from antiphon.calls.report import Sound, write_report
from antiphon.transports.recorder import Cut
from tests.calls.test_report import TURNS, recorded, report
from tests.console.page_browser import faults_of, log, phase
from tests.console.page_double import CLOSING, OPENING, READY, Close, Double, Message, Script, Until
from tests.console.test_page_views import TURN, axe_faults, call, heard, message, said, wait_text

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

    from tests.console.conftest import Open

ASKED = "A table for two on Friday. Shall I book it?"
OFFERED: Message = {
    "name": "book",
    "description": "Book a table.",
    "effect": "writes",
    "guarantee": "effectively once",
    "is_read_back": True,
    "is_approved": False,
}
ABOUT: Message = {
    "agent": "Host",
    "language": "de",
    "models": {"llm": "openai.LLM", "tts": "local.HibariTTS"},
    "tools": [OFFERED],
    "phrases": ["A table for two, please"],
}


def consent(decision: str = "", heard: str = "", by: str = "", call_id: str = "b1") -> Message:
    given = {"type": "consent", "call_id": call_id, "name": "book", "arguments": {"people": 2}, "asked": ASKED}
    return {**given, "times": 1, "decision": decision, "heard": heard, "by": by}


def booked(status: str, text: str | None = None) -> Message:
    given = {"type": "tool", "call_id": "b1", "name": "book", "arguments": {"people": 2}, "status": status}
    return {**given, "text": text, "seconds": 0.5, "guarantee": "effectively once"}


def aside(text: str, segment: str) -> Message:
    return {"type": "aside", "segment": segment, "text": text, "agent": "Receptionist"}


def test_a_button_answers_what_is_read_back_and_the_page_tells_what_was_heard_and_decided(
    open_page: Open, double: Double
) -> None:
    page = open_page(
        [
            *OPENING,
            consent(),
            Until("consent", {"call_id": "b1", "yes": True}),
            consent("yes", "Yes", "key"),
            booked("started"),
            booked("done", "Booked, number 4711."),
        ]
    )
    call(page)
    wait_text(page, ".asked", ASKED)
    assert page.inner_text(".status") == "asks first"
    assert axe_faults(page) == []
    page.click(".answer button:has-text('Yes')")
    wait_text(page, ".result", "4711")
    assert page.inner_text(".decided") == "heard “Yes” · yes (decided by a key or a button)"
    assert page.inner_text(".guarantee") == "effectively once"
    assert not page.is_visible(".answer")
    assert page.locator("#log > li").count() == 1


def test_what_was_not_agreed_to_is_not_done(open_page: Open) -> None:
    declined = booked("error", "It was not done: the caller wants something else.")
    page = open_page([*OPENING, consent(), consent("change", "Yes, but at three", "words"), declined])
    call(page)
    wait_text(page, ".decided", "heard “Yes, but at three” · something else was wanted (decided by what was said)")
    wait_text(page, ".result", "It was not done")
    assert page.inner_text(".status") == "not done"
    assert page.locator(".work.bad").count() == 0
    assert not page.is_visible(".answer")


def test_a_filler_is_written_where_it_was_heard_and_what_follows_stands_beside_it(open_page: Open) -> None:
    script: Script = [
        said("Let me look.", "f1", final=True),
        aside("Let me look.", "f1"),
        said("Nine is free.", "s2", final=True),
        message("assistant", "Nine is free.", id="s2"),
    ]
    page = open_page([*OPENING, *script])
    call(page)
    wait_text(page, ".said", "Nine is free.")
    assert log(page) == ["Agent filler Let me look.", "Agent Nine is free."]


def test_who_speaks_is_named_once_there_were_two(open_page: Open) -> None:
    hello = message("assistant", "Hello.", agent="Receptionist")
    page = open_page(
        [
            *OPENING,
            {"type": "handoff", "agent": "Receptionist"},  # the first agent takes the floor
            hello,
            Until("text"),
            {"type": "handoff", "agent": "Billing"},
            message("assistant", "Billing here.", agent="Billing"),
        ]
    )
    call(page)
    wait_text(page, ".assistant", "Hello.")
    assert log(page) == ["Agent Hello."]
    page.fill("#say", "Billing, please")
    page.press("#say", "Enter")
    wait_text(page, ".assistant", "Billing here.")
    assert [line for line in log(page) if not line.startswith("You")] == [
        "Receptionist Hello.",
        "Handed over to Billing",
        "Billing Billing here.",
    ]


def test_a_claim_that_no_tool_backs_is_marked_where_it_is_said(open_page: Open) -> None:
    claim = {"type": "claim", "sentence": "I have booked it.", "done": "booked"}
    page = open_page(
        [*OPENING, claim, said("Sure. I have", "s1"), message("assistant", "Sure. I have booked it.", id="s1")]
    )
    call(page)
    wait_text(page, ".assistant .claim", "claims “booked”, and no tool has done it")


def test_dead_air_is_told_only_where_it_says_more_than_the_answer(open_page: Open) -> None:
    page = open_page([*OPENING, heard("Hi", final=True), message("assistant", "Hello."), TURN, Until("text"), *CLOSING])
    call(page)
    page.locator(".timing").wait_for()
    assert page.locator(".figures .dead").count() == 0
    assert "dead air" not in page.inner_text("#summary")
    again = open_page([*OPENING, message("assistant", "Hello."), {**TURN, "dead_air": 1.9}])
    call(again)
    wait_text(again, ".figures .dead", "dead air 1,900 ms")
    wait_text(again, "#summary", "dead air")


def test_before_a_call_the_page_says_whom_one_calls_and_what_one_might_say(open_page: Open, double: Double) -> None:
    double.about = ABOUT
    page = open_page([*OPENING, Until("text", {"text": "A table for two, please"}), message("assistant", "For when?")])
    wait_text(page, "#welcome", "Book a table.")
    told = page.inner_text("#welcome")
    for words in ("Host", "openai.LLM", "German", "book", "writes", "effectively once", "asks first"):
        assert words in told
    assert page.inner_text("#models") == "openai.LLM, local.HibariTTS"
    assert axe_faults(page) == []
    page.click(".try")
    wait_text(page, ".assistant", "For when?")
    assert double.sent[0][0]["audio"] is False


def test_one_can_look_inside_the_agent(open_page: Open, double: Double) -> None:
    double.about = ABOUT
    called = {"type": "function_call", "name": "book", "arguments": '{"people": 2}'}
    asked = {"type": "message", "role": "system", "content": ["Be <b>kind</b>."]}
    inspection = {
        "type": "inspection",
        "agent": "Host",
        "instructions": "Be kind.\n    Be brief.",
        "tools": [OFFERED],
        "history": [called],
        "request": {"agent": "host", "items": [asked], "tools": ["book"]},
    }
    page = open_page([*OPENING, Until("inspect"), inspection])
    call(page)
    page.click("#inspect")
    wait_text(page, "#inspector pre", "Be kind.\nBe brief.")
    for fold in page.locator("#inspector summary").all()[1:]:
        fold.click()
    told = page.inner_text("#inspector")
    for words in ("Book a table.", 'book({"people": 2})', "Be <b>kind</b>.", "It may call: book"):
        assert words in told
    assert axe_faults(page) == []
    page.keyboard.press("Escape")
    assert not page.is_visible("#inspector")
    assert faults_of(page) == []


def test_where_nobody_may_look_inside_there_is_no_button(open_page: Open) -> None:
    page = open_page([*OPENING])
    call(page)
    assert not page.is_visible("#inspect")


def test_a_page_that_is_loaded_anew_in_a_call_comes_back_to_it(open_page: Open, double: Double) -> None:
    second: list[Any] = [Until("start"), {**READY, "call": "c2"}, message("assistant", "Where were we?"), *CLOSING]
    page = open_page([*OPENING, message("user", "Hello"), message("assistant", "Hi there.")], second)
    call(page)
    wait_text(page, ".assistant", "Hi there.")
    page.reload()
    phase(page, "live")
    wait_text(page, ".assistant", "Where were we?")
    assert (double.sent[1][0]["resume"], double.sent[1][0]["audio"]) == ("c1", True)
    assert log(page) == ["You Hello", "Agent Hi there.", "The page was loaded anew", "Agent Where were we?"]
    page.click("#hang-up")
    phase(page, "ended")
    page.reload()
    page.wait_for_timeout(300)
    assert page.get_attribute("html", "data-phase") == "idle"  # what was hung up stays so
    assert len(double.sent) == 2


def test_a_call_that_cannot_be_come_back_to_says_so(open_page: Open) -> None:
    page = open_page([*OPENING, message("user", "Hello")], [Until("start"), Close(4404, "the call has ended")])
    call(page)
    wait_text(page, ".user", "Hello")
    page.reload()
    wait_text(page, "[role=alert]", "the call has ended")


def test_the_letters_come_along_and_hanging_up_is_not_the_loudest(open_page: Open) -> None:
    page = open_page([*OPENING])
    call(page)
    page.evaluate("document.fonts.ready")
    assert page.evaluate("document.fonts.check('16px Inter')")
    colours = page.evaluate(
        "['#hang-up', '#mute'].map((id) => getComputedStyle(document.querySelector(id)).backgroundColor)"
    )
    assert colours[0] == colours[1]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_axe_finds_no_serious_fault_in_a_report(browser: Browser, tmp_path: Path, scheme: Any, width: int) -> None:
    path = tmp_path / "call.html"
    sound = Sound(recorded(), TURNS, [Cut(3.5, 0.2)], tmp_path / "call.wav")
    write_report(path, report(), title="Call", models="", sound=sound)
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
    page = context.new_page()
    page.goto(path.as_uri())
    assert axe_faults(page) == []
    assert page.evaluate("document.fonts.load('16px Inter').then((found) => found.length)") == 1
    context.close()
