"""What the command line says about a reply, in one line."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from antiphon.calls.record import CallReport, ToolCallRecord, Turn, percentiles
from antiphon.cli.prompt import Prompt
from antiphon.cli.screen import Screen, reply_figures, span
from antiphon.metrics import ResponseMetrics, Stretch, ToolMetrics, TurnMetrics


def reply(**moments: Any) -> TurnMetrics:
    """Waited for from 10.0 s on, heard from 10.9 s on."""
    given: dict[str, Any] = {
        "speech_ended": 10.0,
        "decided": 10.5,
        "responses": (ResponseMetrics(True, 10.5, 10.8, 10.8, 11.5, first_byte=10.9, first_audio=10.9),),
        "sound": (Stretch(10.9, 13.0),),
        "silences": (Stretch(10.0, 10.9),),
    }
    return TurnMetrics(1, "caller", "speech_1", 10.5, 13.0, **(given | moments))


WITH_A_TOOL = {
    "responses": (
        ResponseMetrics(True, 10.5, 10.8, 10.8, 10.9, first_byte=10.9, first_audio=10.9, calls=1),
        ResponseMetrics(True, 12.9, 13.0, 13.0, 13.4, first_byte=13.2, first_audio=13.2),
    ),
    "tools": (ToolMetrics("find", "c1", 10.9, 12.9, "done"),),
}


def test_an_answer_is_told_with_what_it_waited_for() -> None:
    assert reply_figures(reply()) == "answer 900 ms (end of turn 500 ms, model 300 ms, voice 100 ms)"


def test_the_first_sound_and_the_answer_are_told_apart() -> None:
    sound = (Stretch(10.9, 11.5), Stretch(13.2, 14.0))
    silences = (Stretch(10.0, 10.9), Stretch(11.5, 13.2))
    assert reply_figures(reply(**WITH_A_TOOL, sound=sound, silences=silences)) == (
        "first sound 900 ms (end of turn 500 ms, model 300 ms, voice 100 ms)"
        " · answer 3.20 s (find 2.00 s, model 100 ms, voice 200 ms) · silent 2.60 s in all"
    )


def test_an_answer_in_text_is_told_when_it_is_complete() -> None:
    response = ResponseMetrics(True, 10.0, 10.3, 10.3, 10.4)
    typed = reply(speech_ended=None, decided=10.0, responses=(response,), sound=(), silences=())
    assert reply_figures(typed) == "answer 3.00 s (model 300 ms, writing 100 ms)"


def test_an_answer_that_nobody_heard_is_told_until_it_was_cut() -> None:
    cut = reply(responses=(ResponseMetrics(True, 10.5),), sound=(), interrupted_at=11.0)
    assert reply_figures(cut) == "cut 1.00 s (end of turn 500 ms, model 500 ms)"


def test_what_answers_nobody_has_no_figures() -> None:
    assert reply_figures(TurnMetrics(0, "application", "speech_1", 1.0, 2.0)) == ""


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0004, "0 ms"), (0.62, "620 ms"), (0.9996, "1.00 s"), (3.2, "3.20 s"), (12.34, "12.3 s")]
)
def test_spans_are_told_in_three_digits(seconds: float, text: str) -> None:
    assert span(seconds) == text


def test_the_summary_tells_the_dead_air(capsys: pytest.CaptureFixture[str]) -> None:
    turns = [Turn("user", "Hi", 9.0, 10.0), Turn("assistant", "Hello", 10.9, 13.0)]
    report = CallReport(turns, [], None, {"voice_to_voice_ms": percentiles([900.0])}, [], 14.0, replies=[reply()])
    Screen().summary(report)
    out = capsys.readouterr().out
    assert "Voice to voice: median 900 ms" in out
    assert "Dead air: 900 ms in all, 900 ms at a time" in out
    assert "Tokens" not in out


def test_a_long_output_is_shown_in_short_and_in_its_column(capsys: pytest.CaptureFixture[str]) -> None:
    call = ToolCallRecord("c1", "read", {}, "one\n" + "x" * 10_000, status="done", ended=1.0)
    Screen().tool(call, "told")
    shown = capsys.readouterr().out
    assert shown.startswith(f"{'':14}-> one\n{'':17}x")
    assert "... (10,004 characters)  done, 1.00 s" in shown.replace("\n", "")
    assert len(shown) < 1000


def on_a_terminal(width: int) -> Screen:
    screen = Screen()
    screen.console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    return screen


def shown_on(screen: Screen) -> list[str]:
    assert isinstance(screen.console.file, io.StringIO)
    return screen.console.file.getvalue().splitlines()


def test_on_a_terminal_long_lines_go_on_below_their_text() -> None:
    screen = on_a_terminal(40)
    screen.turn(Turn("assistant", "There are nine seats in the first row of the balcony.", 65.0, 66.0))
    assert shown_on(screen) == [
        "1:05  Agent   There are nine seats in",
        f"{'':14}the first row of the",
        f"{'':14}balcony.",
    ]


def test_on_a_terminal_a_long_output_goes_on_below_its_own_lines() -> None:
    screen = on_a_terminal(40)
    call = ToolCallRecord("c1", "find", {}, "nine in the first row of it\nand ten", status="done", ended=1.0)
    screen.tool(call, "told")
    assert shown_on(screen) == [
        f"{'':14}-> nine in the first row",
        f"{'':17}of it",
        f"{'':17}and ten  done, 1.00 s",
    ]


def test_a_prompt_shows_all_that_was_typed() -> None:
    screen = on_a_terminal(30)
    screen.console.print(Prompt("what was typed is longer than the terminal is wide"))
    assert shown_on(screen) == ["> what was typed is longer", "  than the terminal is wide█"]
