"""Calls by voice in the terminal, on the null device: with fakes, and as people run it."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from antiphon import Agent, AgentServer, AgentSession, JobContext
from antiphon.calls.models import ModelChoice
from antiphon.cli import talk as module
from antiphon.cli.main import main
from antiphon.cli.screen import Screen
from antiphon.cli.talk import TalkOptions, talk
from antiphon.errors import AntiphonError, UsageError
from antiphon.testing import FakeLLM, FakeSTT, FakeTTS, FakeVAD
from antiphon.transports import devices
from antiphon.transports.terminal import TerminalAudio
from tests.cli.terminal import Terminal

NO_SOUND = ("--null-audio", "--no-processing")
"""Processing makes faint noise of silence, which the fake detector takes for a voice."""

FILE = """
from antiphon import Agent, AgentServer, AgentSession, JobContext, function_tool
from antiphon.testing import FakeLLM, FakeSTT, FakeTTS, FakeVAD, Reply

server = AgentServer()


class Host(Agent):
    def __init__(self):
        super().__init__(instructions="")

    @function_tool
    async def find_table(self, day: str) -> str:
        "Find a table."
        return f"A table on {day}"


@server.rtc_session
async def entrypoint(ctx: JobContext):
    llm = FakeLLM({
        "a table on": "There is one.",
        "tuesday": Reply(calls=[("find_table", {"day": "Tuesday"})]),
        "hello": "Good evening. What can I do for you on this fine day?",
    })
    session = AgentSession(llm=llm, stt=FakeSTT(), tts=FakeTTS(), vad=FakeVAD())
    await session.start(Host(), room=ctx.room)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "agent.py"
    path.write_text(FILE)
    return path


def run(*arguments: str | Path, text: str = "") -> subprocess.CompletedProcess[str]:
    code = "import sys; from antiphon.cli.main import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)


# -- without a terminal


def test_through_a_pipe_every_thing_said_and_done_is_one_line(file: Path) -> None:
    ran = run("console", file, *NO_SOUND, text="hello\nTuesday\n")
    assert ran.returncode == 0, ran.stderr
    lines = [re.sub(r"\d:\d\d  ", "", line).strip() for line in ran.stdout.splitlines()]
    assert lines[2:6] == [
        "Caller  hello",
        "Agent   Good evening. What can I do for you on this fine day?",
        "Caller  Tuesday",
        'Tool    find_table(day="Tuesday")',
    ]
    assert any(line == "Agent   There is one." for line in lines)
    assert "\x1b" not in ran.stdout


# -- on a terminal


@pytest.fixture
def terminal(file: Path) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def open(*arguments: str | Path) -> Terminal:
        opened.append(Terminal("console", file, *NO_SOUND, *arguments))
        return opened[-1]

    yield open
    for one in opened:
        one.close()


def test_on_a_terminal_one_types_sees_captions_and_tools_and_hangs_up(terminal: Callable[..., Terminal]) -> None:
    screen = terminal()
    screen.wait_for("type, or just talk")
    screen.press("hel")
    screen.wait_for("> hel")
    screen.press("lo\r")
    screen.wait_for("Caller hello")
    screen.wait_for("Agent Good evening. What can")  # a caption, while it is spoken
    screen.wait_for("What can I do for you on this fine day?")
    screen.press("Tuesday\r")
    screen.wait_for('find_table(day="Tuesday")')
    screen.press("\x14")
    screen.wait_for("microphone off")
    screen.press("\x04")
    assert screen.end() == 0
    assert screen.restored


def test_what_is_typed_while_the_models_load_is_answered_when_they_are(terminal: Callable[..., Terminal]) -> None:
    screen = terminal()
    screen.wait_for("Loading the models")
    screen.press("hello\r")
    screen.wait_for("Caller hello")
    screen.wait_for("What can I do for you on this fine day?")
    screen.press("\x04")
    assert screen.end() == 0


def test_ctrl_c_hangs_up_and_leaves_the_terminal_as_it_was(terminal: Callable[..., Terminal]) -> None:
    screen = terminal()
    screen.wait_for("type, or just talk")
    assert not screen.restored
    screen.interrupt()
    assert screen.end() == 130
    assert screen.restored


def test_push_to_talk_begins_with_the_microphone_off(terminal: Callable[..., Terminal]) -> None:
    screen = terminal("--push-to-talk")
    screen.wait_for("press Space and talk")
    assert "microphone off" in screen.output
    screen.press(" ")
    screen.wait_for("Space done talking")
    screen.press(" ")
    screen.wait_for("Space talk")
    screen.press("\x04")
    assert screen.end() == 0


# -- what goes wrong


def test_options_of_sound_without_sound_are_refused(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["console", str(file), "--device", "2"])
    assert left.value.code == 2
    assert "Add --audio" in capsys.readouterr().err


def test_a_transport_is_the_only_line(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["console", str(file), "--transport", "mine", "--null-audio"])
    assert left.value.code == 2
    assert "--transport names the line. Leave out --audio" in capsys.readouterr().err


def test_a_transport_that_nobody_brings_is_an_error_with_those_that_there_are(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["console", str(file), "--transport", "mine/5"])
    assert left.value.code == 2
    assert "expected one of those installed (terminal), got 'mine'. Install what brings it." in capsys.readouterr().err


LINE = """
from antiphon.errors import AntiphonError
from antiphon.testing import FakeMicrophone, FakeSpeaker
from antiphon.transport import Transport

class Line(Transport):
    def __init__(self, address="nowhere"):
        self.input, self.output, self.address = FakeMicrophone(), FakeSpeaker(), address

    async def wait_failed(self):
        raise AntiphonError(f"the line to {self.address} is down.")
"""


def test_a_call_is_made_over_a_strangers_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], stranger: Callable[..., None]
) -> None:
    stranger("[antiphon.transports]\nmine = strangers_line:Line\n", strangers_line=LINE)
    with pytest.raises(AntiphonError, match="the line to far/away is down"):
        talk_once(monkeypatch, TalkOptions(transport="mine/far/away"))
    assert "Running with fakes.FakeLLM" in capsys.readouterr().out


def test_an_unknown_device_is_an_error_with_those_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "list_devices", list)
    with pytest.raises(UsageError, match=r"no sound device 'headset'\. There are: none"):
        talk_once(monkeypatch, TalkOptions(devices=["headset"]))


def server() -> AgentServer:
    made = AgentServer()

    @made.rtc_session
    async def entrypoint(ctx: JobContext) -> None:
        session = AgentSession[Any](llm=FakeLLM(["Hi."]), stt=FakeSTT(), tts=FakeTTS(), vad=FakeVAD())
        await session.start(Agent(instructions=""), room=ctx.room)

    return made


def talk_once(monkeypatch: pytest.MonkeyPatch, options: TalkOptions) -> None:
    monkeypatch.setattr(sys, "stdin", open(os.devnull, encoding="utf-8"))
    try:
        asyncio.run(talk(server(), options=options, models=ModelChoice(voice=True), screen=Screen()))
    finally:
        sys.stdin.close()


def test_a_device_that_fails_ends_the_call_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(TerminalAudio):
        async def wait_failed(self) -> None:
            raise AntiphonError("the sound device has stopped.")

    monkeypatch.setattr(module, "TerminalAudio", Failing)
    with pytest.raises(AntiphonError, match="the sound device has stopped"):
        talk_once(monkeypatch, TalkOptions(null=True))


@pytest.mark.parametrize("asked", [None, True])
def test_processing_that_is_missing_is_an_error_only_if_asked_for(
    asked: bool | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def missing(_: object) -> None:
        raise UsageError("cleaning the microphone needs livekit. Install it with: pip install 'antiphon[processing]'")

    monkeypatch.setattr("antiphon.transports.processing.AudioProcessing.prepare", missing)
    options = TalkOptions(null=True, processing=asked)
    if asked:
        with pytest.raises(UsageError, match=r"antiphon\[processing\]"):
            talk_once(monkeypatch, options)
    else:
        talk_once(monkeypatch, options)
        assert "use headphones" in capsys.readouterr().out
