"""Which model answers is said at the start of every command; whoever has another one is told of it by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_main import AGENT, run

BARE = "from antiphon import Agent\n\nagent = Agent(instructions='Be brief.')\n"


async def one_offer() -> list[str]:
    return ["Ollama runs on this machine. To have it answer: --llm ollama/llama3.2"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("antiphon.cli.introduce.offers", one_offer)


def test_an_agent_without_a_model_is_told_which_there_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "agent.py").write_text(BARE)
    assert run("call", "--say", "Hi") == 0
    out = capsys.readouterr().out
    assert "Running with standin.StandInLLM (rule-based, not a language model)." in out
    assert "To have it answer: --llm ollama/llama3.2, or ANTIPHON_LLM in .env" in out


def test_an_agent_with_a_model_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    assert run("call", "--say", "Hi") == 0
    out = capsys.readouterr().out
    assert "Running with fakes.FakeLLM" in out
    assert "ollama" not in out


def test_a_turn_of_a_shell_tells_it_beside_the_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "agent.py").write_text(BARE)
    assert run("say", "new", "Hi") == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["models"] == "standin.StandInLLM (rule-based, not a language model)"
    assert "--llm ollama/llama3.2" in shown.err


def test_a_model_may_be_named_in_the_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "agent.py").write_text(BARE)
    monkeypatch.setenv("ANTIPHON_LLM", "groq")
    assert run("call", "--say", "Hi") == 2
    assert "groq/MODEL" in capsys.readouterr().err
