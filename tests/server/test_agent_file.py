"""Which agent a file holds, and what is said when it holds none."""

from __future__ import annotations

from pathlib import Path

import pytest

from antiphon.calls.start import raise_error
from antiphon.errors import AgentFileError
from antiphon.server.agent_file import load_agent_file
from antiphon.server.entrypoint import AgentServer
from antiphon.server.room import Room
from antiphon.testing import run_virtual

HEAD = "from antiphon import Agent, AgentServer, AgentSession\nfrom antiphon.testing import FakeLLM\n"
AGENT = "Agent(instructions='x', llm=FakeLLM(['Hello!']))"
CLASS = """
class Desk(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="x", llm=FakeLLM(["Hello!"]))
"""
SERVER = f"""
server = AgentServer()

@server.rtc_session
async def entrypoint(session: AgentSession) -> None:
    await session.start(agent={AGENT}, room=session.room)
"""


def load(tmp_path: Path, text: str, name: str = "desk.py") -> AgentServer:
    path = tmp_path / name
    path.write_text(HEAD + text)
    return load_agent_file(path)


def answer(server: AgentServer) -> str | None:
    async def call() -> str | None:
        async with server.job(Room()) as job:
            session = await job.wait_for_session()
            assert session is not None, job.error
            await session.run(user_input="Hi")
            return session.history.messages()[-1].text_content

    return run_virtual(call())


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(SERVER, id="server"),
        pytest.param(f"agent = {AGENT}\n", id="agent"),
        pytest.param(CLASS, id="class"),
        pytest.param(f"{CLASS}desk = Desk()\n", id="class and agent"),
        pytest.param(f"{CLASS}{SERVER}spare = {AGENT}\n", id="the server goes before agents"),
        pytest.param(f"{SERVER}again = server\n", id="one server under two names"),
        pytest.param(
            f"{CLASS}class Other(Agent):\n    def __init__(self, x): ...\n", id="only one class needs nothing"
        ),
        pytest.param(f"{SERVER}server.run()\n", id="an unguarded run() is not obeyed"),
        pytest.param(
            f"agent = {AGENT}\nif __name__ == '__main__':\n    raise SystemExit('run as a program')\n", id="main"
        ),
    ],
)
def test_an_agent_file_can_be_called(tmp_path: Path, text: str) -> None:
    assert answer(load(tmp_path, text)) == "Hello!"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", r"desk\.py holds no agent"),
        ("server = AgentServer()\n", "its AgentServer has no entrypoint"),
        (f"{SERVER}{SERVER.replace('server', 'second')}", "expected one AgentServer with an entrypoint, got 2"),
        (f"a = {AGENT}\nb = {AGENT}\n", "expected one agent at module level, got 2"),
        (f"{CLASS}{CLASS.replace('Desk', 'Till')}", "expected one Agent class, got Desk, Till"),
        ("class Desk(Agent):\n    def __init__(self, name): ...\n", "Desk needs arguments"),
        ("def broken(:\n", r"desk\.py:3: syntax error"),
        ("x = 1\nimport no_such_package\n", r"desk\.py:4: ModuleNotFoundError: No module named 'no_such_package'"),
        ("def f():\n    return {}['key']\nf()\n", r"desk\.py:4: KeyError: 'key'"),
        ("raise SystemExit(3)\n", r"desk\.py:3: SystemExit: 3"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line_that_names_it(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(AgentFileError, match=message) as raised:
        load(tmp_path, text)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["agent = Agent(instruction='x')\n", "import json\njson.dumps(set())\n"])
def test_the_line_is_named_also_where_the_path_is_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    (tmp_path / "desk.py").write_text(HEAD + text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AgentFileError, match=rf"^desk\.py:{2 + text.count(chr(10))}: TypeError: "):
        load_agent_file(Path("desk.py"))


def test_what_the_entrypoint_raises_names_the_line(tmp_path: Path) -> None:
    server = load(tmp_path, SERVER.replace("session.room)", "session.room, modell='x')"))

    async def call() -> None:
        async with server.job(Room()) as job:
            await job.wait_for_session()
            raise_error(job)

    with pytest.raises(AgentFileError, match=r"desk\.py:8: the entrypoint raised TypeError: .*modell"):
        run_virtual(call())


@pytest.mark.parametrize(
    "line", ["from antiphon.plugins import elevenlabs", "from antiphon.plugins.elevenlabs import TTS"]
)
def test_a_vendor_that_is_not_there_is_told_with_what_helps(tmp_path: Path, line: str) -> None:
    expected = r"desk\.py:3: .*no 'elevenlabs', but cartesia, deepgram, openai, silero\. .*base_url=.*class of your own"
    with pytest.raises(AgentFileError, match=expected):
        load(tmp_path, f"{line}\n")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(AgentFileError, match="no such agent file"):
        load_agent_file(tmp_path / "none.py")


def test_a_file_that_is_not_python_is_named(tmp_path: Path) -> None:
    with pytest.raises(AgentFileError, match=r"desk\.txt is not a Python file"):
        load(tmp_path, "", name="desk.txt")


def test_a_file_may_import_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "neighbour_of_desk.py").write_text("NAME = 'x'\n")
    server = load(tmp_path, f"from neighbour_of_desk import NAME\nagent = {AGENT}\n")
    assert answer(server) == "Hello!"


def test_an_agent_at_module_level_is_made_anew_for_each_further_call(tmp_path: Path) -> None:
    server = load(tmp_path, f"agent = {AGENT}\n")
    assert [answer(server), answer(server)] == ["Hello!", "Hello!"]
