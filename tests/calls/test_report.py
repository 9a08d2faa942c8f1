"""The page of a call: self-contained, with nothing that was said taken for markup."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from antiphon.audio import AudioFrame
from antiphon.calls.record import CallReport, ToolCallRecord, Turn, percentiles
from antiphon.calls.report import Answer, Sound, answers, write_report
from antiphon.metrics import ResponseMetrics, Stretch, ToolMetrics, TurnMetrics
from antiphon.transports.recorder import Cut, Span, StereoRecorder
from antiphon.visible import visible

HOSTILE = "</script><img src=x onerror=alert(1)><!-- & \u2028"


def tone(duration: float, rate: int) -> AudioFrame:
    return AudioFrame.from_float32(np.full(round(duration * rate), 0.5, np.float32), rate)


def recorded() -> StereoRecorder:
    """The caller speaks 1-2 s and 4-5 s, with trailing silence; the agent answers 2.5-3.5 s and 5.8-6.3 s."""
    recorder = StereoRecorder()
    for silence, sound in ((1.0, 1.0), (2.0, 1.0), (1.5, 0.0)):
        recorder.hear_caller(AudioFrame.silence(silence, 16_000))
        recorder.hear_caller(tone(sound, 16_000))
    recorder.hear_agent(round(2.5 * 24_000), tone(1.0, 24_000).data)
    recorder.hear_agent(round(5.8 * 24_000), tone(0.5, 24_000).data)
    return recorder


TURNS = [Span(1.0, 2.2), Span(4.0, 5.2)]


def reply(**changes: Any) -> TurnMetrics:
    """The caller stopped at 2.0 s, a tool ran, and the answer sounded from 2.5 s on, and was cut."""
    responses = (
        ResponseMetrics(True, 2.1, first_token=2.15, done=2.15, calls=1),
        ResponseMetrics(True, 2.2, 2.3, 2.3, 2.4, first_byte=2.5, first_audio=2.5),
    )
    values: dict[str, Any] = {
        "speech_ended": 2.0,
        "decided": 2.1,
        "responses": responses,
        "tools": (ToolMetrics(f"look_up {HOSTILE}", "c1", 2.15, 2.2, "done"),),
        "interrupted_at": 3.5,
        "sound": (Stretch(2.5, 3.5),),
        "silences": (Stretch(2.0, 2.5),),
    }
    return TurnMetrics(1, "caller", "speech_1", 2.1, 3.5, **(values | changes))


def report(**changes: Any) -> CallReport:
    values: dict[str, Any] = {
        "turns": [
            Turn("user", f"Hi {HOSTILE}", 1.0, 2.0),
            Turn("assistant", "Hello there", 2.5, 3.5, interrupted=True, unheard="friend", latency_ms=500.0),
        ],
        "tool_calls": [ToolCallRecord("c1", "look_up", {"day": HOSTILE}, "nine", False, "done", 2.0, 2.2)],
        "userdata": {"note": HOSTILE},
        "latency": {"voice_to_voice_ms": percentiles([500.0])},
        "history": [],
        "duration": 6.5,
        "replies": [reply()],
    }
    return CallReport(**(values | changes))


def data_of(page: Path) -> dict[str, Any]:
    found = re.search(r'<script id="call" type="application/json">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_answers_are_measured_from_the_last_sound_not_from_the_end_of_the_file() -> None:
    assert answers(recorded(), TURNS) == [Answer(2.0, 2.5), Answer(5.0, 5.8)]


def test_an_agent_that_goes_on_talking_has_not_answered() -> None:
    recorder = StereoRecorder()
    recorder.hear_caller(AudioFrame.silence(1.0, 16_000))
    recorder.hear_caller(tone(1.0, 16_000))
    recorder.hear_agent(24_000, tone(3.0, 24_000).data)
    assert answers(recorder, [Span(1.0, 2.0)]) == [None]


def test_an_answer_after_the_callers_next_turn_is_not_for_the_one_before() -> None:
    recorder = recorded()
    assert answers(recorder, [Span(1.0, 2.0), Span(2.2, 2.4)])[0] is None


def test_the_page_holds_the_call(tmp_path: Path) -> None:
    page = tmp_path / "new" / "call.html"
    sound = Sound(recorded(), TURNS, [Cut(3.5, 0.2)], tmp_path / "new" / "a call.wav")
    write_report(page, report(), title="Call with x.py", models="llm x", sound=sound)
    data = data_of(page)
    assert data["turns"][0]["text"] == visible(f"Hi {HOSTILE}")
    assert data["tools"][0]["name"] == "look_up"
    assert data["audio"] == "a%20call.wav"
    assert data["gaps"] == [{"from": 2.0, "to": 2.5}, {"from": 5.0, "to": 5.8}]
    assert data["cuts"] == [{"at": 3.5, "lost": 0.2}]
    assert data["agentSpans"][0] == {"start": 2.5, "end": 3.5}
    assert [stage["kind"] for stage in data["replies"][0]["path"]] == ["turn_end", "model", "tool", "model", "voice"]
    assert data["metrics"]["dead_air"] == 0.5
    assert max(data["peaks"]["caller"]) == 100
    assert data["peaks"]["agent"][:100] == [0] * 100


def test_the_page_needs_nothing_but_itself(tmp_path: Path) -> None:
    page = tmp_path / "call.html"
    write_report(page, report(), title="Call", models="")
    text = page.read_text().replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://|<link|@import|src=[\"']", text)


def test_a_page_ends_each_wait_where_it_ended(tmp_path: Path) -> None:
    page = tmp_path / "call.html"
    silent = reply(responses=(), tools=(), sound=(), decided=None, interrupted_at=None)
    write_report(page, report(replies=[silent]), title="Call", models="")
    assert data_of(page)["replies"][0]["path"] == []


def test_the_page_of_a_typed_call_has_no_time_line(tmp_path: Path) -> None:
    page = tmp_path / "call.html"
    write_report(page, report(), title="Call", models="")
    assert data_of(page)["peaks"] is None


def test_a_browser_draws_the_page_and_runs_nothing_that_was_said(tmp_path: Path) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs the program chromium")
    recorder = recorded()
    recorder.save(tmp_path / "call.wav")
    page = tmp_path / "call.html"
    sound = Sound(recorder, TURNS, [Cut(3.5, 0.2)], tmp_path / "call.wav")
    write_report(page, report(), title="Call", models="", sound=sound)
    flags = (
        "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
        " --disable-component-update --disable-sync --virtual-time-budget=3000 --dump-dom"
    )
    done = subprocess.run(
        [chromium, *flags.split(), f"--user-data-dir={tmp_path / 'profile'}", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    dom = done.stdout[done.stdout.index("<main") : done.stdout.index("</main>")]
    assert "<img" not in dom
    assert dom.count("&lt;img src=x onerror") >= 3
    assert dom.count("<path") >= 3  # two waves, and the answer to a turn
    assert "Where the time went" in dom
    assert dom.count('class="stage"') == 5
    assert "dead air in all" not in dom  # all of it was the wait for answers, which says it already
    assert "answer, median" in dom
    assert "What the tools stored" in dom  # the last part: nothing failed before it
