"""The command line: what goes where, and one clear line with exit code 2 for what the user can mend."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from antiphon.cli.main import main
from antiphon.core.facts import UserTurnSubmitted
from antiphon.replay import read
from antiphon.server.agent_file import load_agent_file

AGENT = """
from antiphon import Agent, AgentServer, AgentSession, RunContext, function_tool
from antiphon.plugins import openai
from antiphon.testing import FakeLLM, Reply

server = AgentServer()

@function_tool
async def note(context: RunContext, text: str) -> str:
    '''Note something.

    Args:
        text: What
    '''
    print("a tool prints")
    context.session.userdata = {"note": text}
    return "noted"

@server.rtc_session
async def entrypoint(session: AgentSession):
    script = {"noted": "I have noted it.", "note": Reply(calls=[("note", {"text": "milk"})]), "": "Hello [b]you[/b]."}
    await session.start(agent=Agent(instructions="", tools=[note]), room=session.room, llm=FakeLLM(script, ttft=0.01))

if __name__ == "__main__":
    server.run()
"""


@pytest.fixture
def agent_file(tmp_path: Path) -> Path:
    path = tmp_path / "agent.py"
    path.write_text(AGENT)
    return path


def run(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    code = left.value.code
    assert isinstance(code, int)
    return code


def refused(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """The one line with which a command is refused."""
    assert run(*arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1, captured.err
    return captured.err


# -- call


def test_a_typed_call_shows_turns_and_tools(agent_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("call", agent_file, "--say", "Hi", "Take a note") == 0
    out = capsys.readouterr().out
    assert "Caller  Hi" in out
    assert "Agent   Hello [b]you[/b]." in out
    assert 'note(text="milk")' in out
    assert "-> noted  done" in out


def test_json_alone_is_on_standard_output(agent_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("call", agent_file, "--say", "Take a note", "--json") == 0
    captured = capsys.readouterr()
    call: dict[str, Any] = json.loads(captured.out)
    assert call["userdata"] == {"note": "milk"}
    assert call["tool_calls"][0]["arguments"] == {"text": "milk"}
    assert call["tool_calls"][0]["status"] == "done"
    assert [turn["text"] for turn in call["turns"]] == ["Take a note", "I have noted it."]
    assert call["latency"]["voice_to_voice_ms"]["p50"] is None
    assert call["history"][0]["content"] == ["Take a note"]
    assert "a tool prints" in captured.err


def test_a_typed_call_can_have_a_page(agent_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("call", agent_file, "--say", "Hi", "--report", tmp_path / "call.html") == 0
    assert "Call with agent.py" in (tmp_path / "call.html").read_text()
    assert f"Open       {tmp_path / 'call.html'}" in capsys.readouterr().out


# -- console


def test_the_console_answers_what_is_piped_in(
    agent_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("Hi\n\n  Take a note"))
    assert run("console", agent_file) == 0
    out = capsys.readouterr().out
    assert "Hello [b]you[/b]." in out
    assert "I have noted it." in out
    assert out.count("Caller") == 2


def test_a_file_that_runs_its_server_is_a_command_line_of_its_own(
    agent_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [str(agent_file), "call", "--say", "Hi"])
    code = compile(agent_file.read_text(), str(agent_file), "exec")
    with pytest.raises(SystemExit) as left:
        exec(code, {"__name__": "__main__"})
    assert left.value.code == 0
    assert "Hello" in capsys.readouterr().out


def test_inside_a_running_loop_run_is_awaited(
    agent_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [str(agent_file), "call", "--say", "Hi"])

    async def program() -> int:
        return await load_agent_file(agent_file).run()

    assert asyncio.run(program()) == 0
    assert "Hello" in capsys.readouterr().out


# -- what the user can mend


def test_a_missing_agent_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no such agent file: none.py. Give the path" in refused(capsys, "call", "none.py", "--say", "Hi")


def test_a_file_without_an_agent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.py").touch()
    assert "holds no agent. Write" in refused(capsys, "console", tmp_path / "empty.py")


def test_a_missing_recording(agent_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no such recording: none.wav" in refused(capsys, "call", agent_file, "--caller", "none.wav")


def test_an_unreadable_recording(agent_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "cannot be read as audio" in refused(capsys, "call", agent_file, "--caller", agent_file)


def test_a_missing_key(agent_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    line = refused(capsys, "call", agent_file, "--say", "Hi", "--llm", "openai")
    assert "openai.LLM: no OPENAI_API_KEY. Set the environment variable" in line


def test_a_missing_key_under_strict_models(
    agent_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    agent_file.write_text(AGENT.replace("FakeLLM(script, ttft=0.01)", "openai.LLM()"))
    line = refused(capsys, "call", agent_file, "--say", "Hi", "--strict-models")
    assert "openai.LLM: no OPENAI_API_KEY" in line
    assert "--strict-models" in line


@pytest.mark.parametrize("value", ["x", "2", "2@", "0@1", "2@-1", "2@nan"])
def test_a_barge_in_that_is_none(agent_file: Path, capsys: pytest.CaptureFixture[str], value: str) -> None:
    line = refused(capsys, "call", agent_file, "--caller", "a.wav", "--barge-in", value)
    assert "expected N@SECONDS, for example 2@1.5" in line


def test_a_call_without_turns(agent_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--caller" in refused(capsys, "call", agent_file)


def test_an_unknown_model(agent_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no TTS called 'x'" in refused(capsys, "call", agent_file, "--say", "Hi", "--tts", "x")


def test_a_journal_is_written_where_asked(agent_file: Path, tmp_path: Path) -> None:
    assert run("call", agent_file, "--say", "Take a note", "--journal", tmp_path / "journal.jsonl") == 0
    journal = read(tmp_path / "journal.jsonl")
    assert journal.lost is None
    assert [entry.fact for entry in journal.entries if isinstance(entry.fact, UserTurnSubmitted)] == [
        UserTurnSubmitted("Take a note")
    ]


def test_the_json_of_a_typed_call_tells_what_each_reply_took(
    agent_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("call", agent_file, "--say", "Hi", "Take a note", "--json") == 0
    call = json.loads(capsys.readouterr().out)
    assert [(reply["turn"], reply["origin"], len(reply["tools"])) for reply in call["replies"]] == [
        (1, "typed", 0),
        (2, "typed", 1),
    ]
    assert call["metrics"]["turns"] == 2


def test_an_error_that_a_log_line_tells_is_not_told_twice(agent_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fails = """import logging
    logging.getLogger("antiphon").error("lost: gone", exc_info=KeyError("x"))
    logging.getLogger("antiphon").error("left: away", exc_info=ValueError("away"))
    raise ValueError("no paper")"""
    agent_file.write_text(AGENT.replace('return "noted"', fails))
    assert run("call", agent_file, "--say", "note milk") == 1
    logged = capsys.readouterr().err
    assert "ERROR antiphon: lost: gone: KeyError: 'x'\n" in logged
    assert "ERROR antiphon: left: away\n" in logged
