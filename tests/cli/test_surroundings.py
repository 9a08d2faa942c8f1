"""What a command finds where it is run: the agent file of the folder, how it is written, and the settings of `.env`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.cli.surroundings import agent_file, is_written_for_livekit, mixes_frameworks, read_settings
from antiphon.compat import livekit
from antiphon.errors import AgentFileError, UsageError
from tests.cli.test_main import AGENT, refused, run

FOR_LIVEKIT = """
from livekit.agents import Agent, AgentServer, AgentSession, JobContext

server = AgentServer()

@server.rtc_session()
async def entrypoint(ctx: JobContext):
    import importlib
    testing = importlib.import_module("antiphon.testing")  # a model that needs no key
    llm = testing.FakeLLM({"": "Hello from the room."}, ttft=0.0)
    await AgentSession(llm=llm).start(Agent(instructions=""), room=ctx.room)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder that commands are run in; the environment is as before afterwards."""
    monkeypatch.chdir(tmp_path)
    before = dict(os.environ)
    yield tmp_path
    os.environ.clear()
    os.environ.update(before)


def test_python_m_antiphon_is_the_command() -> None:
    said = subprocess.run([sys.executable, "-m", "antiphon", "--version"], capture_output=True, text=True, timeout=60)
    assert said.returncode == 0
    assert said.stdout.startswith("antiphon ") and "Python 3." in said.stdout


def test_without_a_file_the_agent_file_of_the_folder_is_called(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "agent.py").write_text(AGENT)
    assert run("call", "--say", "Hi") == 0
    assert "Hello [b]you[/b]." in capsys.readouterr().out


def test_without_a_file_and_without_one_in_the_folder_it_says_so(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no agent.py in this folder" in refused(capsys, "call", "--say", "Hi")
    with pytest.raises(AgentFileError):
        agent_file(None)


def test_a_file_written_for_livekit_runs_as_such_and_one_line_says_so(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "agent.py").write_text(FOR_LIVEKIT)
    try:
        assert run("call", "--say", "Hi") == 0
    finally:
        livekit.uninstall()
    out = capsys.readouterr().out
    assert "Hello from the room." in out
    assert out.count("written for LiveKit") == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from livekit import agents", True),
        ("from livekit.agents import Agent", True),
        ("import livekit.agents as lk", True),
        ("def later():\n    from livekit.agents import llm", True),
        ("from livekit import rtc", False),
        ("from livekit.agents import Agent\nimport antiphon", False),
        ("from livekit.agents import Agent\nfrom antiphon.testing import FakeLLM", False),
        ("import antiphonal\nimport livekit.agents", True),
        ("from .livekit import agents", False),
        ("# from livekit.agents import Agent", False),
        ("from livekit.agents import (", False),
        ("", False),
    ],
)
def test_what_a_file_imports_says_what_it_is_written_for(tmp_path: Path, text: str, expected: bool) -> None:
    file = tmp_path / "agent.py"
    file.write_text(text)
    assert is_written_for_livekit(file) is expected


def test_a_file_that_is_not_there_or_not_python_is_written_for_nobody(tmp_path: Path) -> None:
    (tmp_path / "sound.py").write_bytes(b"\x00\xff\xfe")
    assert not is_written_for_livekit(tmp_path / "sound.py")
    assert not is_written_for_livekit(tmp_path / "none.py")
    assert not is_written_for_livekit(tmp_path)


def test_settings_beside_the_agent_file_are_read_and_named_without_their_values(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "project").mkdir()
    (folder / "project" / ".env").write_text("ONE_KEY='kept secret'\nTWO_KEY=other # why\n\nexport SET_KEY=no\n")
    monkeypatch.setenv("SET_KEY", "yes")
    lines: list[str] = []
    read_settings(folder / "project", lines.append)
    assert (os.environ["ONE_KEY"], os.environ["TWO_KEY"], os.environ["SET_KEY"]) == ("kept secret", "other", "yes")
    assert len(lines) == 1
    assert lines[0].endswith(".env: ONE_KEY, TWO_KEY")
    read_settings(folder / "project", lines.append)
    assert len(lines) == 1, "what is set already is no news"


def test_settings_that_cannot_be_read_are_told_with_the_remedy(folder: Path) -> None:
    (folder / ".env").write_bytes(b"KEY=\xff\xfe\x00\n")
    with pytest.raises(UsageError, match=r"\.env.*Mend it"):
        read_settings(folder, print)


def test_the_settings_are_there_when_the_agent_file_is_loaded(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / ".env").write_text("GREETING_OF_THE_TEST=hello\n")
    (folder / "agent.py").write_text("import os\nassert os.environ['GREETING_OF_THE_TEST'] == 'hello'\n" + AGENT)
    assert run("call", "--say", "Hi", "--json") == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("{")
    assert "GREETING_OF_THE_TEST" in captured.err


@pytest.mark.parametrize(
    ("imports", "mixed"),
    [
        ("from livekit.agents import Agent\nfrom antiphon import function_tool\n", True),
        ("import antiphon, livekit.agents\n", True),
        ("from livekit.agents import Agent\n", False),
        ("from antiphon.providers import livekit_plugin\nfrom livekit.plugins import openai\n", False),
        ("from antiphon.compat import livekit\nfrom livekit.agents import Agent\n", False),
    ],
)
def test_a_file_for_two_frameworks_is_known_by_its_imports(folder: Path, imports: str, mixed: bool) -> None:
    (folder / "agent.py").write_text(imports)
    assert mixes_frameworks(folder / "agent.py") is mixed


def test_a_file_for_two_frameworks_is_told_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = f"try:\n    import livekit.agents\nexcept ImportError:\n    pass\n{AGENT}"
    (folder / "agent.py").write_text(both)
    assert run("call", "--say", "Hi") == 0
    assert "agent.py imports antiphon and livekit.agents: it runs as Antiphon's" in capsys.readouterr().out
