"""What the moving part of the screen looks like."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

from antiphon.audio import AudioFrame
from antiphon.cli.meters import FLOOR, Level, bar
from antiphon.cli.stage import View


def tone(decibels: float, duration: float = 0.1) -> AudioFrame:
    samples = np.sin(2 * np.pi * 440 * np.arange(round(duration * 16_000)) / 16_000) * 10 ** (decibels / 20)
    return AudioFrame.from_float32(samples.astype(np.float32), 16_000)


def drawn(view: View, width: int = 80) -> list[str]:
    console = Console(width=width, file=io.StringIO(), force_terminal=True, color_system=None)
    with console.capture() as capture:
        console.print(view)
    return capture.get().splitlines()


# -- levels


@pytest.mark.parametrize("decibels", [-50.0, -20.0, -6.0])
def test_a_level_is_how_loud_it_is(decibels: float) -> None:
    level = Level()
    level.hear(tone(decibels))
    assert level.decibels == pytest.approx(decibels, abs=0.5)


def test_a_level_rises_at_once_and_falls_slowly() -> None:
    level = Level()
    level.hear(tone(-10))
    level.hear(AudioFrame.silence(0.25, 16_000))
    assert level.decibels == pytest.approx(-20, abs=0.5)
    level.hear(AudioFrame.silence(5.0, 16_000))
    assert level.decibels == FLOOR
    level.hear(tone(-10, 0.02))
    assert level.decibels == pytest.approx(-10, abs=0.5)


def test_a_microphone_that_gives_zeros_is_told_from_a_quiet_one() -> None:
    level = Level()
    level.hear(AudioFrame.silence(1.0, 16_000))
    assert not level.ever
    level.hear(AudioFrame(b"\1\0" * 160, 16_000))
    assert level.ever


@pytest.mark.parametrize("share", [0.0, 0.03, 0.5, 0.999, 1.0])
def test_a_bar_is_as_wide_as_asked_for(share: float) -> None:
    text = bar(share, 40, "green")
    assert text.cell_len == 40
    assert text.plain.count("█") == int(share * 40 + 1 / 16)


# -- the view


def full() -> View:
    view = View(doing="thinking", now=75.2, words="I have nine, ten thirty, or two in the afternoon " * 4)
    view.tools["c1"] = ("check_availability", 74.0)
    view.response = 0.8123
    view.typed = "what about Friday"
    view.caller.hear(tone(-12))
    view.agent.hear(tone(-30))
    return view


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_it_keeps_its_height_whatever_happens(width: int) -> None:
    quiet, busy = drawn(View(), width), drawn(full(), width)
    assert len(quiet) == len(busy) == (6 if width >= 100 else 7)
    assert max(map(len, busy)) <= width


def test_it_says_what_is_happening_and_for_how_long() -> None:
    head = drawn(full())[0]
    assert "Working  check_availability 1.2 s" in head
    assert "1:15" in head


def test_it_says_how_long_the_last_answer_took() -> None:
    assert "answered in 812 ms  1:15" in drawn(full(), 100)[0]


def test_of_long_words_the_last_are_shown() -> None:
    view = View(doing="speaking", words=" ".join(f"word{n}" for n in range(60)))
    first, second = drawn(view)[1:3]
    assert first.startswith("  Agent  word")
    assert second.rstrip().endswith("word59")


def test_words_of_the_caller_are_theirs() -> None:
    assert drawn(View(words="a table", speaker="user"))[1].startswith("  You    a table")


def test_of_a_long_line_the_end_is_shown() -> None:
    line = drawn(View(typed="x" * 200 + "end"))[5]
    assert line.rstrip().endswith("end") and "…" in line


def test_words_are_never_read_as_markup() -> None:
    assert "[bold]hi[/bold]" in drawn(View(words="[bold]hi[/bold]"))[1]
    assert "[red]" in drawn(View(typed="[red]"))[5]


def test_a_microphone_that_is_off_is_told_and_how_to_switch_it_on() -> None:
    lines = drawn(View(muted=True))
    assert "microphone off" in lines[0]
    assert "Ctrl-T microphone on" in lines[6]


def test_push_to_talk_names_its_key() -> None:
    assert "Space talk" in drawn(View(push_to_talk=True, muted=True))[6]
    assert "Space done talking" in drawn(View(push_to_talk=True))[6]


def test_two_moments_that_look_the_same_are_painted_once() -> None:
    one, other = View(now=3.2), View(now=3.7)
    assert one.snapshot() == other.snapshot()
    other.caller.hear(tone(-20))
    assert one.snapshot() != other.snapshot()
