"""Processes that are told to end: they do, and keep what there is of a call, whatever the agent's code does."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from antiphon.replay import read
from antiphon.testing import speech
from antiphon.visible import visible
from tests.cli.terminal import Terminal

ANTIPHON = (sys.executable, "-c", "from antiphon.cli.main import main; main()")

AGENT = """
import asyncio, sys, threading, time
from antiphon import Agent, AgentServer, AgentSession, JobContext, RunContext, function_tool
from antiphon.testing import FakeLLM, FakeSTT, FakeTTS, FakeVAD, Reply

server = AgentServer()

@function_tool
async def search(context: RunContext) -> str:
    '''Search.'''
    await context.update("searching")
    await asyncio.Event().wait()

@server.rtc_session
async def entrypoint(context: JobContext):
    llm = FakeLLM({"searching": "I am on it.", "": Reply(calls=[("search", {})])})
    voice = {"stt": FakeSTT(["Search"]), "tts": FakeTTS(seconds_per_character=0.01), "vad": FakeVAD()}
    await AgentSession().start(
        agent=Agent(instructions="", tools=[search]), room=context.room, llm=llm, turn_detector=None, **voice
    )
"""
WAITS = "    await asyncio.Event().wait()"


def ignoring(*signals: signal.Signals) -> Callable[[], None]:
    """What a process does before it becomes another program, such as `nohup`."""

    def prepare() -> None:
        for number in signals:
            signal.signal(number, signal.SIG_IGN)

    return prepare


def hearing() -> None:
    """So it is even where the tests themselves run under `nohup`."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@contextlib.contextmanager
def running(
    folder: Path, *arguments: str, agent: str = AGENT, ready: str = "I am on it.", **options: Any
) -> Iterator[subprocess.Popen[str]]:
    """A command that has written `ready` to standard error."""
    (folder / "agent.py").write_text(agent)
    pipe = subprocess.PIPE
    command = [*ANTIPHON, arguments[0], "agent.py", *arguments[1:]]
    options.setdefault("preexec_fn", hearing)
    with subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True, **options) as process:
        try:
            stream = process.stdout if ready == "Running with" else process.stderr
            assert stream is not None
            seen = []
            for line in stream:
                seen.append(line)
                if ready in line:
                    break
            else:
                raise AssertionError("".join(seen))
            yield process
        finally:
            process.kill()


def ended(process: subprocess.Popen[str], *, within: float = 15.0) -> tuple[int, str, str]:
    began = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - began < within, err
    return process.returncode, out, err


CALL = ("call", "--say", "Search", "--json")
ENDS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]


@pytest.mark.parametrize("by_voice", [True, False], ids=["voice", "text"])
@pytest.mark.parametrize(("told", "code"), ENDS)
def test_a_call_that_is_told_to_end_keeps_what_there_is(
    tmp_path: Path, by_voice: bool, told: signal.Signals, code: int
) -> None:
    said = speech(0.4)
    soundfile.write(tmp_path / "turn.wav", np.frombuffer(said.data, np.int16), said.sample_rate)
    turns = ["--caller", "turn.wav", "--out", "call.wav"] if by_voice else ["--say", "Search"]
    with running(tmp_path, "call", *turns, "--report", "call.html", "--journal", "call.json", "--json") as process:
        process.send_signal(told)
        left, out, err = ended(process)
    assert left == code, err
    assert "Interrupted: the call ends" in err
    assert [turn["text"] for turn in json.loads(out)["turns"]] == ["Search", "I am on it."]
    assert '"I am on it."' in (tmp_path / "call.html").read_text()
    assert read(tmp_path / "call.json").lost is None
    assert not by_voice or soundfile.info(tmp_path / "call.wav").channels == 2


def test_ctrl_c_ends_a_call_that_began_with_interrupts_ignored(tmp_path: Path) -> None:
    with running(tmp_path, *CALL, preexec_fn=ignoring(signal.SIGINT)) as process:
        process.send_signal(signal.SIGINT)
        assert ended(process)[0] == 130


def test_ctrl_c_twice_ends_a_process_that_threads_keep(tmp_path: Path) -> None:
    agent = AGENT + "    threading.Thread(target=time.sleep, args=(30,)).start()\n"
    with running(tmp_path, *CALL, agent=agent) as process:
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        assert process.stdout.readline()  # the call is put away
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        left, _, err = ended(process, within=2.0)
    assert left == 130
    assert "Traceback" not in err


def test_a_hang_up_that_nohup_ignores_stays_ignored(tmp_path: Path) -> None:
    with running(tmp_path, *CALL, preexec_fn=ignoring(signal.SIGHUP)) as process:
        process.send_signal(signal.SIGHUP)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)
        process.send_signal(signal.SIGTERM)
        assert ended(process)[0] == 143


def test_a_second_signal_ends_at_once_even_where_the_loop_is_blocked(tmp_path: Path) -> None:
    blocking = AGENT.replace(WAITS, "    print('blocking', file=sys.stderr)\n    time.sleep(100)")
    with running(tmp_path, *CALL, agent=blocking, ready="blocking") as process:
        process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)
        process.send_signal(signal.SIGTERM)
        assert ended(process, within=3)[0] == 143


SWALLOWS = """
    while True:
        try:
            await asyncio.sleep(3600)
        except {0}:
            pass
"""
DEAF = {
    "tool": (WAITS, SWALLOWS.format("asyncio.CancelledError")),
    "tool deaf to everything": (WAITS, SWALLOWS.format("BaseException")),
    "thread of asyncio": (WAITS, "    await asyncio.to_thread(time.sleep, 3600)"),
    "thread of its own": (WAITS, "    threading.Thread(target=time.sleep, args=(3600,)).start()\n" + WAITS),
    "task": (WAITS, "    asyncio.create_task(swallow())\n" + WAITS),
    "entrypoint": ("turn_detector=None, **voice\n    )", "turn_detector=None, **voice\n    )\n    await swallow()"),
    "callback": ("server.rtc_session\n", "server.rtc_session\n"),
    "generator": (WAITS, "    async for _ in endless(): pass"),
    "generator left open": (WAITS, "    kept.append(endless()); await anext(kept[0])\n" + WAITS),
}
HELPERS = f"""
async def swallow():
{SWALLOWS.format("BaseException")}

kept = []

async def endless():
    while True:
        try:
            yield 1
            await asyncio.sleep(3600)
        except BaseException:
            pass
"""


def deaf(what: str) -> str:
    agent = AGENT.replace("server = AgentServer()", HELPERS + "\nserver = AgentServer()").replace(*DEAF[what])
    if what == "callback":
        return agent.replace("    llm = FakeLLM(", "    context.add_shutdown_callback(swallow)\n    llm = FakeLLM(")
    return agent


@pytest.mark.parametrize("what", DEAF)
def test_code_that_does_not_let_itself_be_cancelled_cannot_keep_a_process(tmp_path: Path, what: str) -> None:
    with running(tmp_path, *CALL, agent=deaf(what)) as process:
        process.send_signal(signal.SIGTERM)
        code, out, err = ended(process, within=20 if what == "callback" else 12)
    assert code == 143, err
    assert [turn["text"] for turn in json.loads(out)["turns"]] == ["Search", "I am on it."]
    assert "Traceback" not in err


@pytest.mark.parametrize("what", ["tool deaf to everything", "thread of asyncio", "thread of its own", "generator"])
def test_nor_can_it_keep_a_process_whose_call_is_over(tmp_path: Path, what: str) -> None:
    with running(tmp_path, *CALL, "--wait", "1", agent=deaf(what)) as process:
        code, out, err = ended(process)
    assert code == 0, err
    assert json.loads(out)["turns"]


def test_the_console_ends_when_it_is_told_to(tmp_path: Path) -> None:
    with running(tmp_path, "console", ready="Running with", stdin=subprocess.PIPE) as process:
        process.send_signal(signal.SIGHUP)
        assert ended(process)[0] == 129


def test_a_terminal_is_given_back_by_a_second_ctrl_c(tmp_path: Path) -> None:
    path = tmp_path / "agent.py"
    path.write_text(AGENT.replace(WAITS, "    time.sleep(100)"))
    terminal = Terminal("console", path)
    try:
        terminal.wait_for("Ctrl-D ends the call.")
        terminal.press("Search\r")
        terminal.wait_for("search()")
        time.sleep(0.5)
        terminal.interrupt()
        time.sleep(0.5)
        terminal.interrupt()
        assert terminal.end() == 130
        assert terminal.restored
    finally:
        terminal.close()


@pytest.mark.parametrize("piped", [b"caf\xe9 \xff\n" * 2, b"x" * 9_000 + b"\n"])
def test_a_piped_console_takes_any_bytes(tmp_path: Path, piped: bytes) -> None:
    (tmp_path / "agent.py").write_text(AGENT.replace(WAITS, "    pass"))
    command = [*ANTIPHON, "console", "agent.py"]
    done = subprocess.run(command, cwd=tmp_path, input=piped, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(b"Caller") == 2


def test_a_console_without_any_input_ends(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    script = f"{shlex.join(ANTIPHON)} console agent.py <&-"
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr


# -- files that cannot be written

VOICE = ("call", "--caller", "turn.wav", "--out", "{out}", "--report", "{report}", "--journal", "{journal}", "--json")


@pytest.mark.parametrize("broken", ["out", "report", "journal"])
@pytest.mark.parametrize("how", ["full", "file for a folder"])
def test_one_file_that_cannot_be_written_costs_no_other(tmp_path: Path, broken: str, how: str) -> None:
    said = speech(0.4)
    soundfile.write(tmp_path / "turn.wav", np.frombuffer(said.data, np.int16), said.sample_rate)
    (tmp_path / "file").touch()
    paths = {name: name for name in ("out", "report", "journal")}
    paths[broken] = "/dev/full" if how == "full" else "file/x"
    with running(tmp_path, *(one.format(**paths) for one in VOICE)) as process:
        process.send_signal(signal.SIGINT)
        code, out, err = ended(process)
    assert code == 2, err
    assert json.loads(out)["turns"]
    (told,) = [line for line in err.splitlines() if "cannot write" in line]
    assert told.startswith(
        f"antiphon: cannot write {paths[broken]}: " if how == "full" else "antiphon: cannot write file"
    )
    assert ("No space left" if how == "full" else "exists") in told or "Not a directory" in told
    assert "Traceback" not in err
    assert all((tmp_path / name).stat().st_size for name in paths if name != broken)


def test_standard_output_that_is_full_costs_no_file(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    command = [*ANTIPHON, "call", "agent.py", "--say", "Hi", "--wait", "0", "--json", "--report", "r.html"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 2, done.stderr
    assert "cannot write to standard output: No space left on device" in done.stderr
    assert (tmp_path / "r.html").stat().st_size


def test_a_reader_that_goes_away_costs_no_call(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    command = [*ANTIPHON, "call", "agent.py", "--say", "Hi", "--wait", "0", "--report", "r.html"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writing)
    assert (tmp_path / "r.html").stat().st_size, done.stderr
    assert "Traceback" not in done.stderr


# -- what strangers write

HOSTILE = r"""
import math
from antiphon import Agent, AgentServer, AgentSession, RunContext, function_tool
from antiphon.testing import FakeLLM, Reply

server = AgentServer()
ACTS = "\x1b]0;owned\x07\x9b2J\r\u202e\u2028end"

@function_tool
async def look(context: RunContext, what: str, much: float = 0.0) -> dict:
    '''Look.'''
    context.session.userdata = {"much": math.nan, ACTS: math.inf}
    return {"text": ACTS, "much": -math.inf}

@function_tool
async def fail() -> str:
    '''Fail.'''
    raise ValueError(ACTS)

@server.rtc_session
async def entrypoint(session: AgentSession):
    llm = FakeLLM([
        Reply(calls=[("look", '{"what": "' + "\\u001b[2J" + '", "much": 1}')]), Reply(calls=[("fail", {})]),
        Reply(calls=[("no" + ACTS, {"x": math.nan})]), "Done " + ACTS,
    ])
    await session.start(agent=Agent(instructions="", tools=[look, fail]), room=session.room, llm=llm)
"""


def refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


@pytest.mark.parametrize("command", ["json", "screen", "console"])
def test_nothing_that_acts_reaches_the_terminal_or_a_file(tmp_path: Path, command: str) -> None:
    (tmp_path / "agent.py").write_text(HOSTILE)
    said = "Hi \x1b[2J\x9b"
    files = ["--report", "r.html", "--journal", "j.json"]
    call = ["call", "agent.py", "--say", said, *files, *(["--json"] if command == "json" else [])]
    given = [*ANTIPHON, *(["console", "agent.py"] if command == "console" else call)]
    done = subprocess.run(given, cwd=tmp_path, input=said, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done.stderr  # a tool of it raises
    written = [done.stdout, done.stderr]
    if command != "console":
        written += [(tmp_path / name).read_text() for name in ("r.html", "j.json")]
        for line in written[-1].splitlines():
            json.loads(line, parse_constant=refuse)
    for text in written:
        assert visible(text) == text
    if command == "json":
        told = json.loads(done.stdout, parse_constant=refuse)
        assert told["userdata"]["much"] == "NaN"
        assert told["turns"][0]["text"] == said
    else:
        assert "Done \\x1b]0;owned\\x07" in done.stdout


@pytest.mark.parametrize("closed", ["0", "1", "2"])
def test_a_call_of_a_program_without_a_standard_stream_is_made(tmp_path: Path, closed: str) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    arguments = ["call", "agent.py", "--say", "Search", "--wait", "0", "--json", "--report", "call.html"]
    command = ["sh", "-c", f'exec "$@" {closed}>&-', "sh", *ANTIPHON, *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert (tmp_path / "call.html").is_file()
    assert closed == "1" or json.loads(done.stdout)["turns"]


@pytest.mark.parametrize(
    ("given", "variable", "token"),
    [([], "of the environment", "of%20the%20environment"), (["--token", "mine"], "other", "mine"), ([], "", "")],
)
def test_the_token_of_a_server_may_come_from_the_environment(
    tmp_path: Path, given: list[str], variable: str, token: str
) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    command = [*ANTIPHON, "dev", "agent.py", "--port", "0", *given]
    environment = {**os.environ, "ANTIPHON_TOKEN": variable, "COLUMNS": "200", "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            address = next(line for line in process.stdout if "http://127.0.0.1" in line).split()[-1]
            assert address.partition("?token=")[2] == token
        finally:
            process.terminate()


# -- what writes

BOOKS = (
    AGENT.replace("@function_tool\nasync def search", "@function_tool(effect='writes')\nasync def search")
    .replace(WAITS, "    await asyncio.sleep(3)\n    return 'booked 4711'")
    .replace("await AgentSession().start(", "async with AgentSession() as session:\n     await session.start(")
    + "     await asyncio.Event().wait()\n"
)


@pytest.mark.parametrize(("told", "code"), ENDS)
def test_a_tool_that_writes_ends_before_its_call_and_standard_error_says_so(
    tmp_path: Path, told: signal.Signals, code: int
) -> None:
    with running(tmp_path, *CALL, agent=BOOKS) as process:
        process.send_signal(told)
        left, out, err = ended(process)
    assert left == code, err
    (line,) = [line for line in err.splitlines() if "waits" in line]
    assert "waits up to 30 s for search(). Told once more, it waits for 1 s." in line
    assert json.loads(out)["tool_calls"][-1]["output"] == "booked 4711"


def test_a_second_signal_hastens_a_tool_that_writes_and_keeps_the_call(tmp_path: Path) -> None:
    with running(tmp_path, *CALL, agent=BOOKS.replace("sleep(3)", "sleep(3600)")) as process:
        process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(2)
        process.send_signal(signal.SIGTERM)
        code, out, err = ended(process, within=6)
    assert code == 143, err
    assert "It is unknown whether `search` happened" in json.loads(out)["tool_calls"][-1]["output"]
    assert "Traceback" not in err


def test_a_third_signal_ends_at_once(tmp_path: Path) -> None:
    stubborn = BOOKS.replace("    await asyncio.sleep(3)", SWALLOWS.format("BaseException"))
    with running(tmp_path, *CALL, agent=stubborn) as process:
        for _ in range(3):
            process.send_signal(signal.SIGINT)
            time.sleep(0.3)
        code, out, _ = ended(process, within=1)
    assert (code, out) == (130, "")


def test_a_console_waits_for_a_tool_that_writes(tmp_path: Path) -> None:
    with running(tmp_path, "console", agent=BOOKS, ready="Running with", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write("Search\n")
        process.stdin.flush()
        assert process.stdout is not None
        assert any("I am on it." in line for line in process.stdout)
        process.send_signal(signal.SIGTERM)
        code, out, err = ended(process)
    assert code == 143, err
    assert "waits up to 30 s for search()" in err
    assert "booked 4711" in out
