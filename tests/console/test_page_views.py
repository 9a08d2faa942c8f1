"""What the page shows of a call, and what a person can do: in a real browser, against a server that plays scripts."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from tests.console.page_browser import faults_of, log, phase
from tests.console.page_double import (
    CLOSING,
    ENDED,
    OPENING,
    READY,
    After,
    Close,
    Double,
    Message,
    Script,
    Until,
    state,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page

Open = Callable[..., "Page"]

TONE = b"".join((8000 if i // 50 % 2 else -8000).to_bytes(2, "little", signed=True) for i in range(24_000))
"""Half a second of a square wave at 48 kHz."""
TURN: Message = {
    "type": "turn",
    "speech_id": "s1",
    "origin": "caller",
    "waiting_since": 1.0,
    "first_audio": 1.7,
    "ended": 3.0,
    "dead_air": 0.7,
    "stages": [
        {"kind": "turn_end", "name": "end of turn", "started": 1.0, "ended": 1.4},
        {"kind": "model", "name": "model", "started": 1.4, "ended": 1.45},
        {"kind": "tool", "name": "check_availability", "started": 1.45, "ended": 1.5},
        {"kind": "voice", "name": "voice", "started": 1.5, "ended": 1.7},
    ],
}


def message(role: str, text: str, **more: Any) -> Message:
    return {"type": "message", "id": text, "role": role, "text": text, "interrupted": False, **more}


def said(text: str, segment: str = "s1", *, final: bool = False) -> Message:
    return {"type": "said", "segment": segment, "text": text, "final": final}


def heard(text: str, *, final: bool = False) -> Message:
    return {"type": "heard", "text": text, "final": final}


def tool(status: str, text: str | None = None, seconds: float | None = None, call_id: str = "t1") -> Message:
    given = {"date": "next Tuesday", "guests": 2}
    return {
        "type": "tool",
        "call_id": call_id,
        "name": "check_availability",
        "arguments": given,
        "status": status,
        "text": text,
        "seconds": seconds,
    }


BOOKING: Script = (
    state("listening", "speaking"),
    heard("Do you have", final=False),
    heard("Do you have anything next Tuesday?", final=True),
    message("user", "Do you have anything next Tuesday?"),
    state("thinking"),
    tool("started"),
    tool("done", "Available: 9:00 AM, 2:00 PM", 0.006),
    state("speaking"),
    said("I have nine", final=False),
    said("I have nine o'clock and two o'clock."),
    message("assistant", "I have nine o'clock and two o'clock."),
    TURN,
    state("listening"),
)
"""A turn with everything in it."""


def call(page: Page) -> None:
    page.click("#call")
    phase(page, "live")


def wait(page: Page, condition: str) -> None:
    page.wait_for_function(condition, timeout=10_000)


def wait_text(page: Page, selector: str, text: str) -> None:
    page.locator(selector, has_text=text).first.wait_for(timeout=10_000)


# -- what is seen


def test_one_press_calls_and_one_press_hangs_up(open_page: Open, double: Double) -> None:
    page = open_page([*OPENING, *CLOSING])
    call(page)
    page.click("#hang-up")
    phase(page, "ended")
    start, end = double.sent[0][0], double.sent[0][-1]
    assert (start["type"], start["audio"], start["transport"], start["resume"]) == ("start", True, "websocket", None)
    assert start["rate"] in (44_100, 48_000)
    assert end == {"type": "hang_up"}
    assert faults_of(page) == []


def test_interim_words_of_the_caller_are_lighter_until_they_are_final(open_page: Open) -> None:
    page = open_page([*OPENING, heard("Do you"), Until("text"), heard("Do you have time?", final=True), Until("text")])
    call(page)
    wait_text(page, ".interim", "Do you")
    soft = page.eval_on_selector(".interim", "node => getComputedStyle(node).color")
    page.fill("#say", "go on")
    page.press("#say", "Enter")
    wait_text(page, ".heard", "Do you have time?")
    assert soft != page.eval_on_selector(".user .heard", "node => getComputedStyle(node).color")
    assert page.locator("#log > li.user", has_text="Do you").count() == 1


def test_words_that_come_as_captions_and_as_a_message_are_one_entry(open_page: Open) -> None:
    page = open_page([*OPENING, *BOOKING])
    call(page)
    page.locator(".timing").wait_for()
    user, work, agent = log(page)
    assert user == "You Do you have anything next Tuesday?"
    assert work.startswith("check_availability done 6 ms date next Tuesday guests 2 → Available: 9:00 AM, 2:00 PM")
    assert agent.startswith("Agent I have nine o'clock and two o'clock.")


def test_what_the_agent_does_is_said_in_a_word(open_page: Open) -> None:
    steps = [state("listening"), state("listening", "speaking"), state("thinking"), tool("started"), state("speaking")]
    script = [step for one in steps for step in (one, Until("dtmf", {"digit": str(steps.index(one))}))]
    page = open_page([*OPENING, *script])
    call(page)
    page.click("#keypad")
    for number, word in enumerate(["Listening", "Hearing you", "Thinking", "Working", "Speaking"]):
        wait_text(page, "#state", word)
        if word == "Working":
            assert page.inner_text("#detail") == "check_availability"
        page.click(f"#keys-pad button[aria-label='{number}']")


def test_cut_words_are_shown_as_cut(open_page: Open) -> None:
    cut = message("assistant", "I have nine", interrupted=True, unheard="o'clock and ten.")
    page = open_page([*OPENING, said("I have nine"), cut])
    call(page)
    wait_text(page, ".cut", "cut by you")
    assert page.inner_text(".assistant .said") == "I have nine o'clock and ten."
    assert page.inner_text(".assistant s") == "o'clock and ten."


def test_a_running_tool_has_a_clock_and_tells_its_progress(open_page: Open) -> None:
    page = open_page(
        [*OPENING, tool("started"), tool("updated", "half of it"), Until("text"), tool("done", "all of it")]
    )
    call(page)
    wait_text(page, ".progress", "half of it")
    wait(page, "parseFloat(document.querySelector('.took').textContent) > 0.3")
    page.fill("#say", "go on")
    page.press("#say", "Enter")
    wait_text(page, ".result", "all of it")
    assert page.locator(".progress").count() == 0
    assert page.inner_text(".status") == "done"


def test_the_output_of_a_tool_may_come_after_its_end(open_page: Open) -> None:
    page = open_page([*OPENING, tool("started"), tool("done", None, 1.234), tool("done", "Two rooms", 9.0)])
    call(page)
    wait_text(page, ".result", "Two rooms")
    assert page.inner_text(".took") == "1.2 s"


def test_a_failed_tool_is_marked(open_page: Open) -> None:
    page = open_page([*OPENING, tool("started"), tool("error", "no such slot", 0.1)])
    call(page)
    wait_text(page, ".work.bad .status", "failed")


def test_a_long_result_is_folded(open_page: Open) -> None:
    page = open_page([*OPENING, tool("started"), tool("done", "word " * 400, 0.1)])
    call(page)
    wait_text(page, "details.result summary", "2,000 characters")
    long = page.locator("details.result > code")
    assert not long.is_visible()
    page.click("details.result summary")
    assert long.is_visible()


def test_a_turn_tells_where_its_time_went(open_page: Open) -> None:
    page = open_page([*OPENING, *BOOKING])
    call(page)
    page.locator(".timing").wait_for()
    assert page.inner_text(".total") == "700 ms"
    assert page.locator(".figures li").all_inner_texts() == [
        "end of turn 400 ms",
        "model 50 ms",
        "check_availability 50 ms",
        "voice 200 ms",
    ]
    widths = page.eval_on_selector_all(".strip i", "all => all.map(one => one.getBoundingClientRect().width)")
    assert widths[0] / widths[3] == pytest.approx(2, rel=0.05)
    wait_text(page, "#summary", "700 ms")


def test_what_is_said_is_never_markup(open_page: Open) -> None:
    evil = "<img src=x onerror='window.pwned = true'>"
    shown = [
        heard(evil, final=True),
        said(evil),
        tool("started"),
        tool("done", evil),
        {"type": "handoff", "agent": evil},
    ]
    page = open_page([*OPENING, *shown, {"type": "error", "message": evil, "fatal": False}])
    call(page)
    wait_text(page, ".note", "<img")
    assert page.locator("main img").count() == 0
    assert page.evaluate("window.pwned") is None


def test_a_hand_off_and_an_error_are_told_in_their_place(open_page: Open) -> None:
    error = {"type": "error", "message": "STT: timed out", "fatal": False}
    page = open_page([*OPENING, said("One."), {"type": "handoff", "agent": "Billing"}, error])
    call(page)
    wait_text(page, ".bad .note", "STT: timed out")
    assert log(page) == ["Receptionist One.", "Handed over to Billing", "STT: timed out"]


def test_a_long_call_does_not_grow_without_end(open_page: Open) -> None:
    page = open_page([*OPENING, *(message("user", f"turn {number}") for number in range(420))])
    call(page)
    wait_text(page, "#log > li", "turn 419")
    assert page.locator("#log > li").count() == 300
    assert page.inner_text("#earlier") == "120 earlier entries are in the report of the call."


def test_the_list_stays_where_its_reader_went(open_page: Open) -> None:
    more = [message("user", f"more {number}") for number in range(5)]
    page = open_page([*OPENING, *(message("user", f"turn {number}") for number in range(60)), Until("text"), *more])
    call(page)
    wait_text(page, "#log > li", "turn 59")
    wait(page, "document.getElementById('scroll').scrollTop > 200")
    page.evaluate("document.getElementById('scroll').scrollTop = 0")
    page.wait_for_function(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
    )
    page.fill("#say", "go on")
    page.press("#say", "Enter")
    page.locator("#latest").wait_for()
    assert page.evaluate("document.getElementById('scroll').scrollTop") == 0
    page.click("#latest")
    wait(page, "document.getElementById('scroll').scrollTop > 200")
    assert page.locator("#latest").is_hidden()


def test_after_the_call_there_are_figures_the_recording_and_the_report(open_page: Open) -> None:
    ended = {**ENDED, "report": "/calls/c1/report", "recording": "/calls/c1/recording.wav"}
    page = open_page([*OPENING, *BOOKING, Until("hang_up"), ended, Close()])
    call(page)
    page.locator(".timing").wait_for()
    page.click("#hang-up")
    phase(page, "ended")
    assert page.locator("#summary audio").get_attribute("src") == "/calls/c1/recording.wav"
    assert page.locator("#summary a").get_attribute("href") == "/calls/c1/report"
    figures = dict(
        zip(page.locator(".sums dt").all_inner_texts(), page.locator(".sums dd").all_inner_texts(), strict=True)
    )
    assert figures == {"turn": "1", "tool call": "1", "median answer": "700 ms"}


def test_the_token_of_the_page_goes_wherever_the_page_goes(open_page: Open) -> None:
    ended = {**ENDED, "report": "/calls/c1/report"}
    page = open_page([*OPENING, Until("hang_up"), ended, Close()], query="?token=a%26b")
    sockets: list[str] = []
    page.on("websocket", lambda socket: sockets.append(socket.url))
    call(page)
    page.click("#hang-up")
    phase(page, "ended")
    assert {url.partition("?")[2] for url in sockets} == {"token=a%26b"}
    assert page.locator("#summary a").get_attribute("href") == "/calls/c1/report?token=a%26b"


# -- what goes wrong


@pytest.mark.parametrize(
    ("error", "title"),
    [
        ("NotAllowedError", "The microphone is not allowed"),
        ("NotFoundError", "No microphone was found"),
        ("NotReadableError", "The microphone could not be opened"),
    ],
)
def test_without_a_microphone_the_remedy_is_told_and_typing_goes(
    open_page: Open, double: Double, error: str, title: str
) -> None:
    refuse = f"navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('no', '{error}'))"
    page = open_page([*OPENING, message("assistant", "Hello.")], before=refuse)
    page.click("#call")
    wait_text(page, "[role=alert]", title)
    page.get_by_role("button", name="Go on by typing").click()
    phase(page, "live")
    assert double.sent[0][0]["audio"] is False
    assert page.locator("#mute").is_hidden()
    assert page.evaluate("document.activeElement.id") == "say"


def test_a_page_that_is_not_secure_says_what_helps(open_page: Open) -> None:
    page = open_page(before="Object.defineProperty(navigator, 'mediaDevices', {value: undefined})")
    page.click("#call")
    wait_text(page, "[role=alert]", "antiphon dev --tls")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (4401, "Open the address that antiphon dev printed"),
        (4404, "Call again: the agent will not know"),
        (4429, "Wait a little"),
        (4500, "Look at the terminal"),
        (4503, "Mend and save it"),
    ],
)
def test_a_refusal_tells_the_servers_reason_and_the_remedy(open_page: Open, code: int, words: str) -> None:
    page = open_page([Until("start"), Close(code, "expected this, got that")])
    page.click("#call")
    wait_text(page, "[role=alert]", words)
    wait_text(page, "[role=alert] pre", "expected this, got that")
    assert page.get_attribute("html", "data-phase") == "idle"


def test_a_call_comes_back_when_the_server_does(open_page: Open, double: Double) -> None:
    again = [Until("start", {"resume": "c1"}), {**READY, "call": "c2"}, message("assistant", "Where were we?")]
    page = open_page([*OPENING, message("assistant", "Hello."), Close(1012)], [Close(1012)], again)
    page.click("#call")
    wait_text(page, "#log", "Where were we?")
    assert log(page) == ["Agent Hello.", "The server is back", "Agent Where were we?"]
    assert page.locator("[role=alert]").count() == 0
    assert len(double.sent) == 3


def test_a_lost_call_can_be_given_up(open_page: Open) -> None:
    page = open_page([*OPENING, Close(1012)])
    page.click("#call")
    wait_text(page, "[role=alert]", "The server is gone")
    page.click("#hang-up")
    phase(page, "ended")


def test_a_call_comes_back_with_the_new_agent_file(open_page: Open, double: Double) -> None:
    loaded = {"type": "agent_file", "state": "loaded", "message": ""}
    first = [*OPENING, message("user", "Hello?"), loaded, {**ENDED, "reason": "the agent file was reloaded"}, Close()]
    page = open_page(first, [Until("start", {"resume": "c1"}), READY, message("assistant", "New here.")])
    page.click("#call")
    wait_text(page, "#log", "New here.")
    assert log(page) == ["You Hello?", "Agent file reloaded", "Agent New here."]
    assert page.locator("#mute").is_visible()
    assert page.inner_text("#server") == "Agent file reloaded"


def test_a_broken_agent_file_is_told_until_it_is_mended(open_page: Open, double: Double) -> None:
    page = open_page()
    wait(page, "document.getElementById('server').dataset.there === 'true'")
    double.tell({"type": "agent_file", "state": "broken", "message": "agent.py:12: SyntaxError: invalid syntax"})
    wait_text(page, "[role=alert] pre", "agent.py:12: SyntaxError: invalid syntax")
    double.tell({"type": "agent_file", "state": "loaded", "message": ""})
    page.locator("[role=alert]").wait_for(state="detached")
    assert page.inner_text("#server") == "Agent file reloaded"


def test_a_call_waits_for_a_broken_file_to_be_mended(open_page: Open, double: Double) -> None:
    page = open_page([*OPENING, Close(1012)], [Close(4503, "agent.py:1: NameError")], [*OPENING, said("Back.")])
    page.click("#call")
    phase(page, "waiting")
    double.tell({"type": "agent_file", "state": "loaded", "message": ""})
    phase(page, "live")
    wait_text(page, "#log", "Back.")


# -- what a person does


def test_a_typed_turn_is_sent_and_seen_once(open_page: Open, double: Double) -> None:
    page = open_page([*OPENING, Until("text"), message("user", "Two o'clock."), said("Fine.")])
    call(page)
    page.fill("#say", "  Two o'clock. ")
    page.press("#say", "Enter")
    wait_text(page, "#log", "Fine.")
    assert log(page) == ["You typed Two o'clock.", "Agent Fine."]
    assert {"type": "text", "text": "Two o'clock."} in double.sent[0]
    assert page.input_value("#say") == ""


def test_typing_without_a_call_begins_one_without_voice(open_page: Open, double: Double) -> None:
    page = open_page([*OPENING, Until("text"), said("Hello.")])
    page.fill("#say", "Hello?")
    page.press("#say", "Enter")
    wait_text(page, "#log", "Hello.")
    assert double.sent[0][0]["audio"] is False
    assert double.sent[0][1] == {"type": "text", "text": "Hello?"}
    assert double.peaks == []


def test_mute_sends_silence_and_the_clock_goes_on(open_page: Open, double: Double) -> None:
    page = open_page([*OPENING])
    call(page)
    page.click("#mute")
    assert page.get_attribute("#mute", "aria-pressed") == "true"
    page.wait_for_timeout(100)  # what was under way
    before = len(double.peaks)
    page.wait_for_timeout(1500)
    assert set(double.peaks[before:]) == {0}
    assert len(double.peaks) - before == pytest.approx(75, abs=15)
    page.click("#mute")
    page.wait_for_timeout(1200)
    assert max(double.peaks) > 1000


def test_push_to_talk_by_the_space_bar(open_page: Open, double: Double) -> None:
    page = open_page([*OPENING])
    page.check("#push-to-talk")
    call(page)
    assert double.sent[0][0]["push_to_talk"] is True
    page.wait_for_timeout(1200)
    assert set(double.peaks) == {0}
    page.keyboard.down(" ")
    assert page.get_attribute("#push", "aria-pressed") == "true"
    page.wait_for_timeout(1200)
    page.keyboard.up(" ")
    assert max(double.peaks) > 1000
    page.wait_for_timeout(100)
    assert [one["down"] for one in double.sent[0] if one["type"] == "push"] == [True, False]


def test_push_to_talk_by_the_button(open_page: Open, double: Double) -> None:
    page = open_page([*OPENING], query="?push_to_talk")
    call(page)
    page.hover("#push")
    page.mouse.down()
    page.mouse.move(5, 5)  # the finger slips off: it still holds
    page.wait_for_timeout(50)
    page.mouse.up()
    page.wait_for_timeout(100)
    assert [one["down"] for one in double.sent[0] if one["type"] == "push"] == [True, False]


def test_a_space_in_typed_words_is_a_space(open_page: Open, double: Double) -> None:
    page = open_page([*OPENING], query="?push_to_talk")
    call(page)
    page.focus("#say")
    page.keyboard.type("two o'clock")
    assert page.input_value("#say") == "two o'clock"
    assert all(one["type"] != "push" for one in double.sent[0])


def test_the_keypad_sends_digits(open_page: Open, double: Double) -> None:
    page = open_page([*OPENING, Until("dtmf", {"digit": "#"}), said("Thanks.")])
    call(page)
    assert page.locator("#keys-pad").is_hidden()
    page.click("#keypad")
    for digit in "42#":
        page.click(f"#keys-pad button[aria-label='{digit}']")
    wait_text(page, "#log", "Thanks.")
    assert [one["digit"] for one in double.sent[0] if one["type"] == "dtmf"] == ["4", "2", "#"]


def test_a_whole_call_by_keyboard_alone(open_page: Open) -> None:
    page = open_page([*OPENING, *CLOSING], [*OPENING])
    focused = "document.activeElement.id"
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate(focused) == "call":
            break
    page.keyboard.press("Enter")
    phase(page, "live")
    wait(page, focused + " === 'mute'")  # what was pressed is gone; a second press must not hang up
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == "hang-up"
    page.keyboard.press("Enter")
    phase(page, "ended")
    wait(page, focused + " === 'call'")
    page.keyboard.press("Enter")
    phase(page, "live")


# -- the sound


def test_what_sounds_is_reported_sample_by_sample(open_page: Open, double: Double) -> None:
    page = open_page(
        [*OPENING, *(TONE[at : at + 1920] for at in range(0, len(TONE), 1920)), Until("played", {"samples": 24_000})]
    )
    call(page)
    wait(page, "true")
    page.wait_for_timeout(1000)
    played = [one["samples"] for one in double.sent[0] if one["type"] == "played"]
    assert played == sorted(played)
    assert played[-1] == 24_000
    assert len(played) > 15  # about every 20 ms


def test_a_pause_stops_the_count_and_a_resume_goes_on(open_page: Open, double: Double) -> None:
    orders: Script = (
        TONE,
        After(0.2),
        {"type": "pause"},
        After(0.5),
        {"type": "resume"},
        Until("played", {"samples": 24_000}),
    )
    page = open_page([*OPENING, *orders, said("Done.")])
    call(page)
    wait_text(page, "#log", "Done.")
    played = [one["samples"] for one in double.sent[0] if one["type"] == "played"]
    assert played == sorted(played)


def test_a_clear_throws_away_what_is_queued_and_begins_an_epoch(open_page: Open, double: Double) -> None:
    clear = {"type": "clear", "epoch": 1}
    page = open_page(
        [*OPENING, TONE, After(0.2), clear, TONE[:9600], Until("played", {"epoch": 1, "samples": 4800}), said("Done.")]
    )
    call(page)
    wait_text(page, "#log", "Done.")
    played = [one for one in double.sent[0] if one["type"] == "played"]
    before = [one["samples"] for one in played if one["epoch"] == 0]
    assert 0 < before[-1] < 24_000
    assert [one["epoch"] for one in played] == sorted(one["epoch"] for one in played)


def test_the_level_meter_moves_with_the_microphone(open_page: Open) -> None:
    page = open_page([*OPENING])
    call(page)
    wait(page, "Number(document.getElementById('meter').getAttribute('aria-valuenow')) > 20")


# -- for everybody


def axe_faults(page: Page) -> list[str]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
    violations = axe.Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {node['html']}"
        for one in violations
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_no_serious_fault(open_page: Open, scheme: str, width: int) -> None:
    error = {"type": "error", "message": "STT: timed out", "fatal": False}
    cut = message("assistant", "I have nine", interrupted=True, unheard="o'clock and ten.")
    end = [Until("hang_up"), {**ENDED, "report": "/r", "recording": "/r.wav"}, Close()]
    script = [
        *OPENING,
        *BOOKING,
        tool("started", call_id="t2"),
        tool("error", "word " * 100, 0.1, "t2"),
        error,
        cut,
        heard("And"),
        *end,
    ]
    page = open_page(script, color_scheme=scheme, viewport={"width": width, "height": 800}, reduced_motion="reduce")
    assert axe_faults(page) == []
    call(page)
    wait_text(page, ".interim", "And")
    page.click("#keypad")
    assert axe_faults(page) == []
    page.click("#hang-up")
    phase(page, "ended")
    assert axe_faults(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault_in_a_notice(open_page: Open, scheme: str) -> None:
    page = open_page([Until("start"), Close(4500, "RuntimeError: no")], color_scheme=scheme)
    page.click("#call")
    page.locator("[role=alert]").wait_for()
    assert axe_faults(page) == []


def test_a_screen_reader_is_told_what_is_final_and_no_more(open_page: Open) -> None:
    page = open_page([*OPENING, *BOOKING])
    call(page)
    page.locator(".timing").wait_for()
    assert page.locator("#announcer p").all_inner_texts() == [
        "You: Do you have anything next Tuesday?",
        "Tool check_availability runs",
        "Tool check_availability: done",
        "Agent: I have nine o'clock and two o'clock.",
    ]


@pytest.mark.parametrize("width", [360, 390, 1280])
def test_nothing_moves_by_itself_while_a_call_goes_on(open_page: Open, width: int) -> None:
    watch = """
        window.shifts = [];
        new PerformanceObserver(list => window.shifts.push(...list.getEntries())).observe({type: 'layout-shift'});
    """
    again = [step for step in BOOKING if step != TURN]
    script = [Until("start"), After(0.7), READY, After(0.7), *BOOKING, After(0.3), *again, said("End.", "s9")]
    page = open_page(script, before=watch, viewport={"width": width, "height": 780})
    page.click("#call")
    pressed = page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    wait_text(page, "#log", "End.")
    page.wait_for_timeout(200)
    moved = "at => window.shifts.filter(one => one.startTime > at).reduce((sum, one) => sum + one.value, 0)"
    assert page.evaluate(moved, pressed) < 0.005
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("at", ["idle", "live", "ended"])
def test_what_is_pressed_is_large_enough_for_a_thumb(open_page: Open, at: str) -> None:
    page = open_page([*OPENING, *CLOSING], viewport={"width": 360, "height": 740}, has_touch=True)
    if at != "idle":
        call(page)
        page.click("#keypad")
    if at == "ended":
        page.click("#hang-up")
        phase(page, "ended")
    sizes = page.eval_on_selector_all(
        "button, .options label, #say",
        "all => all.filter(one => one.checkVisibility()).map(one => [one.id, one.getBoundingClientRect()])",
    )
    small = {name: (box["width"], box["height"]) for name, box in sizes if min(box["width"], box["height"]) < 44}
    assert small == {}


def test_who_asked_for_less_motion_gets_none(open_page: Open) -> None:
    page = open_page([*OPENING, tool("started"), said("Words that sound now")], reduced_motion="reduce")
    call(page)
    wait_text(page, "#log", "Words that sound now")
    assert page.evaluate("document.getAnimations().length") == 0


def test_the_theme_can_be_chosen_and_is_kept(open_page: Open) -> None:
    page = open_page(color_scheme="light")
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.click("#theme")
    assert page.evaluate(background) == light
    page.click("#theme")
    dark = page.evaluate(background)
    assert dark != light
    page.reload()
    assert page.evaluate(background) == dark
    assert page.get_attribute("#theme", "aria-label") == "Theme: dark"


# -- choices, without a call


@pytest.mark.parametrize(
    ("host", "transport"),
    [
        ("localhost", "websocket"),
        ("127.0.0.1", "websocket"),
        ("[::1]", "websocket"),
        ("192.168.1.20", "websocket"),
        ("172.20.0.1", "websocket"),
        ("172.32.0.1", "webrtc"),
        ("desk.local", "websocket"),
        ("203.0.113.5", "webrtc"),
        ("agents.example.org", "webrtc"),
    ],
)
def test_the_sound_goes_by_websocket_near_and_by_webrtc_far(open_page: Open, host: str, transport: str) -> None:
    page = open_page()
    choose = "async place => (await import('/place.js')).chooseTransport(place)"
    assert page.evaluate(choose, {"hostname": host, "search": ""}) == transport
    assert page.evaluate(choose, {"hostname": host, "search": "?transport=webrtc"}) == "webrtc"
    assert page.evaluate(choose, {"hostname": host, "search": "?transport=websocket"}) == "websocket"


PLAYOUT = """async steps => {
    const { Playout } = await import('/playout.js');
    const playout = new Playout(48000);
    const quanta = [];
    for (const [what, value] of steps) {
        if (what === 'append') playout.append(new Int16Array(value).fill(16384));
        else if (what === 'render') for (let i = 0; i < value; i++) {
            const out = new Float32Array(128);
            playout.render(out);
            quanta.push([...out]);
        }
        else playout[what](value);
    }
    const { played, epoch, underruns, overflow, mode, queued } = playout;
    return { quanta, played, epoch, underruns, overflow, mode, queued };
}"""


def playout(page: Page, *steps: tuple[str, int]) -> dict[str, Any]:
    result: dict[str, Any] = page.evaluate(PLAYOUT, [list(step) for step in steps])
    return result


def loud(quantum: list[float]) -> bool:
    return any(abs(sample) > 1e-6 for sample in quantum)


def test_the_playout_gathers_40_ms_first(open_page: Open) -> None:
    page = open_page()
    early = playout(page, ("append", 960), ("render", 3))
    assert not any(map(loud, early["quanta"]))
    assert playout(page, ("append", 960), ("append", 960), ("render", 1))["played"] == 128


def test_a_sound_shorter_than_the_prebuffer_is_played_all_the_same(open_page: Open) -> None:
    done = playout(open_page(), ("append", 480), ("render", 30))
    assert done["played"] == 480
    assert done["mode"] == "empty"


@pytest.mark.parametrize("order", ["pause", "clear"])
def test_silence_comes_within_3_ms_and_without_a_click(open_page: Open, order: str) -> None:
    done = playout(open_page(), ("append", 9600), ("render", 10), (order, 1), ("render", 3))
    samples = [sample for quantum in done["quanta"][9:] for sample in quantum]
    assert max(map(abs, samples[128 + 144 :])) == 0
    assert max(abs(a - b) for a, b in pairwise(samples)) < 0.005
    assert done["played"] == (1280 + 144 if order == "pause" else 0)


def test_a_resume_goes_on_where_the_pause_stopped(open_page: Open) -> None:
    done = playout(
        open_page(), ("append", 4800), ("render", 5), ("pause", 0), ("render", 9), ("resume", 0), ("render", 60)
    )
    assert done["played"] == 4800


def test_sound_that_comes_too_late_is_counted(open_page: Open) -> None:
    page = open_page()
    late = [("append", 2400), ("render", 40), ("append", 2400), ("render", 40)]
    assert playout(page, *late)["underruns"] == 1
    much_later = [("append", 2400), ("render", 120), ("append", 2400), ("render", 40)]
    assert playout(page, *much_later)["underruns"] == 0


def test_the_queue_is_bounded(open_page: Open) -> None:
    full = playout(open_page(), *[("append", 48_000)] * 12)
    assert (full["queued"], full["overflow"]) == (480_000, 96_000)


def test_a_queue_that_grows_too_long_is_played_a_little_faster(open_page: Open) -> None:
    page = open_page()
    assert playout(page, ("append", 48_000), ("render", 100))["played"] == pytest.approx(12_864, abs=3)
    assert playout(page, ("append", 24_000), ("render", 100))["played"] == 12_800


def test_the_page_loads_nothing_from_elsewhere(open_page: Open, double: Double) -> None:
    page = open_page([*OPENING, *CLOSING])
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    call(page)
    assert asked
    assert all(re.match(r"(http|ws)://127\.0\.0\.1:", url) for url in asked)
