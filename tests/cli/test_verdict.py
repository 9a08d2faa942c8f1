"""Exit codes mean something, each error is told once with the line of the user's code, and callers need no files."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
import soundfile

from antiphon.calls.record import CallReport, Turn
from antiphon.calls.verdict import shortcomings
from antiphon.metrics import ResponseMetrics, TurnMetrics
from tests.cli.test_main import AGENT, run

RAISES = AGENT.replace('print("a tool prints")', 'raise KeyError("shelf")')
"""Its tool has a defect."""
SILENT = AGENT.replace("llm=FakeLLM(script, ttft=0.01)", "llm=FakeLLM([Fail(ValueError('no'))] * 9)").replace(
    "from antiphon.testing import FakeLLM, Reply", "from antiphon.testing import Fail, FakeLLM, Reply"
)
"""Its model answers nothing."""


def written(folder: Path, text: str) -> Path:
    path = folder / "agent.py"
    path.write_text(text)
    return path


def line_of(text: str, what: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if what in line)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_tool_that_raises_is_told_with_its_line_and_the_command_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, RAISES)
    assert run("call", "--say", "Take a note") == 1
    shown = capsys.readouterr()
    where = f"(agent.py:{line_of(RAISES, 'raise KeyError')})"
    assert [line for line in (shown.out + shown.err).splitlines() if "shelf" in line] == [
        f"ERROR antiphon: tool 'note' raised: KeyError: 'shelf' {where}"
    ]
    assert "The call did not go well: the tool note raised." in shown.out


def test_a_tool_that_refuses_with_a_tool_error_has_not_failed(tmp_path: Path) -> None:
    refuses = AGENT.replace('print("a tool prints")', 'raise ToolError("noted before")')
    written(tmp_path, refuses.replace("RunContext, function_tool", "RunContext, ToolError, function_tool"))
    assert run("call", "--say", "Take a note") == 0


def test_a_call_without_a_reply_of_the_model_fails_and_tells_why_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, SILENT)
    assert run("call", "--say", "Hi", "--json") == 1
    shown = capsys.readouterr()
    assert json.loads(shown.out)["failed"] == ["no reply succeeded"]
    assert shown.err.count("the response failed") == 1


def test_lines_from_a_pipe_without_a_reply_fail_the_console(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("Hi\n"))
    written(tmp_path, SILENT)
    assert run("console") == 1
    assert "did not go well: no reply succeeded." in capsys.readouterr().out


def report(*turns: Turn, replies: list[TurnMetrics] | None = None) -> CallReport:
    return CallReport(list(turns), [], None, {}, [], 1.0, replies=replies or [])


def test_a_caller_of_whom_nothing_was_heard_is_no_call_that_went_well() -> None:
    greeting = Turn("assistant", "Hello.", 0.0, 1.0)
    assert shortcomings(report(greeting), has_spoken=True) == ["nothing was heard of what the caller said"]
    assert shortcomings(report(greeting), has_spoken=False) == []


def test_an_agent_that_says_nothing_is_no_call_that_went_well() -> None:
    assert shortcomings(report(Turn("user", "Hi", 0.0, 1.0)), has_spoken=True) == ["the agent said nothing"]


@pytest.mark.parametrize(("answers", "well"), [([True, False], True), ([True], False), ([False], True)])
def test_a_model_that_answers_in_the_end_has_answered(answers: list[bool], well: bool) -> None:
    tried = tuple(ResponseMetrics(True, 0.0, done=1.0, failed=failed) for failed in answers)
    apology = ResponseMetrics(False, 1.0, done=1.0)
    reply = TurnMetrics(1, "typed", "s", 0.0, 2.0, responses=(*tried, apology))
    said = report(Turn("user", "Hi", 0.0, 1.0), Turn("assistant", "Sorry.", 1.0, 2.0), replies=[reply])
    assert shortcomings(said, has_spoken=True) == ([] if well else ["no reply succeeded"])


def test_an_error_of_a_module_beside_the_agent_file_names_that_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "shelves.py").write_text("def look():\n    return {}['nine']\n")
    written(tmp_path, AGENT.replace('print("a tool prints")', "import shelves; shelves.look()"))
    assert run("call", "--say", "Take a note") == 1
    assert "KeyError: 'nine' (shelves.py:2)" in capsys.readouterr().err
    sys.modules.pop("shelves")


@pytest.mark.timeout(60)
def test_a_call_by_voice_needs_no_recordings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path, "from antiphon import Agent\n\nagent = Agent(instructions='Be brief.')\n")
    assert run("call", "--say", "Hello there.", "--out", "call.wav") == 0
    assert "Caller  Hello there" in capsys.readouterr().out
    assert soundfile.info(tmp_path / "call.wav").channels == 2


def test_what_no_voice_can_say_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path, "from antiphon import Agent\n\nagent = Agent(instructions='Be brief.')\n")
    assert run("call", "--say", " ", "--out", "call.wav") == 2
    assert "nothing in it that a voice could say" in capsys.readouterr().err
