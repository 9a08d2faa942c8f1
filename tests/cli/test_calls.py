"""Where commands keep calls, and what `antiphon calls` says of them; processes that are killed in the middle."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from antiphon.calls.where import AGENT_MODULE
from antiphon.cli.main import main
from antiphon.store import Row, acknowledged, open_store
from tests.console.page import Page

ANTIPHON = (sys.executable, "-c", "from antiphon.cli.main import main; main()")

AGENT = """
import os, signal, sys, time
from pathlib import Path
from antiphon import Agent, AgentServer, AgentSession, function_tool
from antiphon.testing import FakeLLM, Reply

server = AgentServer()
HERE = Path(__file__).parent

@function_tool(effect="writes")
def pay(amount: int) -> str:
    '''Pay.'''
    with open(HERE / "paid", "a") as file:
        file.write(f"{amount}\\n")
    if amount == 13:
        print("entered", flush=True)
        time.sleep(60)
    return f"paid {amount}"

@server.rtc_session
async def entrypoint(session: AgentSession):
    pay_5, pay_13 = Reply(calls=[("pay", {"amount": 5})]), Reply(calls=[("pay", {"amount": 13})])
    llm = FakeLLM({"paid": "It is paid.", "13": pay_13, "pay": pay_5, "": "Hello."}, ttft=0.01)
    await session.start(agent=Agent(instructions="", tools=[pay], id="desk"), room=session.room, llm=llm)
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


ASKED = """
from antiphon import Agent, DidNotHappen, Happened, function_tool

async def find(key, arguments):
    with open(__file__ + ".asked", "a") as file:
        print(key, arguments["amount"], file=file)
    return {ANSWER}

class Desk(Agent):
    def __init__(self):
        super().__init__(instructions="", id="desk")

    @function_tool(effect="writes", reconcile=find)
    def pay(self, amount: int) -> str:
        '''Pay.'''
        return "paid"
"""


def kept_unknown(folder: Path, *, deadline: float) -> None:
    """A process is gone that had started to pay."""

    async def work() -> None:
        async with open_store(str(folder / ".antiphon" / "calls.db")) as store:
            lease = await store.lease("call-1", "gone")
            row = Row("k" * 32, f"{AGENT_MODULE}agent.Desk.pay@desk", arguments='{"amount": 13}')
            row = replace(row, extra={"name": "pay"}).started(time.time() - 60, deadline=deadline)
            await acknowledged(store.start(lease, row))

    asyncio.run(work())


@pytest.mark.parametrize(
    ("answer", "deadline", "said"),
    [
        ("Happened('receipt 7')", -1.0, "it happened"),
        ("DidNotHappen()", -1.0, "it did not happen"),
        ("DidNotHappen()", 60.0, "may still be at work"),
        ("None", -1.0, "does not know yet"),
    ],
)
def test_backends_are_asked_about_what_a_process_left_that_is_gone(
    tmp_path: Path, answer: str, deadline: float, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "agent.py"
    path.write_text(ASKED.replace("{ANSWER}", answer))
    kept_unknown(tmp_path, deadline=time.time() + deadline)
    assert run("calls", "--store", path, "--unknown", "--reconcile", path) == 0
    assert said in capsys.readouterr().out
    assert Path(f"{path}.asked").read_text() == f"{'k' * 32} 13\n"
    assert run("calls", "--store", path, "--unknown", "--json") == 0
    left = json.loads(capsys.readouterr().out)
    assert (left == []) is said.startswith("it ")


def killed_while_it_pays(agent_file: Path) -> None:
    """A process is killed by the operating system while its tool pays 13."""
    command = (*ANTIPHON, "call", str(agent_file), "--say", "hi", "pay 13")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if "entered" in line:
                break
        time.sleep(0.6)  # what was said has a second to be on disk
        os.kill(process.pid, signal.SIGKILL)
    finally:
        process.kill()
        process.wait(10)
        process.stdout.close()
    assert process.returncode == -signal.SIGKILL


def listed(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Any:
    capsys.readouterr()
    assert run("calls", *arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)


def test_a_call_is_kept_beside_its_agent_file_and_shown(agent_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("call", agent_file, "--say", "pay") == 0
    said = capsys.readouterr().out
    assert "Tools that write: pay at most once." in said
    place = agent_file.parent / ".antiphon"
    assert f"{place.name}/calls.db" in said.splitlines()[0] and "antiphon calls" in said.splitlines()[0]
    assert (place.stat().st_mode & 0o777, (place / "calls.db").stat().st_mode & 0o777) == (0o700, 0o600)
    (call,) = listed(capsys, "--store", agent_file)
    assert (call["agents"], [row["outcome"] for row in call["rows"]]) == (["desk"], ["done"])
    assert run("calls", "--store", agent_file) == 0
    assert "1 done" in capsys.readouterr().out
    assert run("calls", "show", call["id"][:8], "--store", agent_file) == 0
    shown = capsys.readouterr().out
    assert "Caller  pay" in shown and "the caller was told" in shown and "paid 5" in shown


def test_a_call_can_be_kept_elsewhere_or_nowhere(agent_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("call", agent_file, "--say", "hi", "--no-store") == 0
    assert "kept in memory alone" in capsys.readouterr().out
    assert not (agent_file.parent / ".antiphon").exists()
    other = agent_file.parent / "other.db"
    assert run("call", agent_file, "--say", "hi", "--store", other) == 0
    assert len(listed(capsys, "--store", other)) == 1
    assert run("call", agent_file, "--say", "hi", "--store", "nosuch://x") == 2


def test_a_process_that_is_killed_leaves_its_call_and_what_is_not_known(
    agent_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    killed_while_it_pays(agent_file)
    (call,) = listed(capsys, "--store", agent_file)
    assert call["state"] in ("cut off", "goes on")  # its lease runs out within two seconds
    (row,) = call["rows"]
    assert row["state"] == "started"
    history = listed(capsys, "show", call["id"], "--store", agent_file)["history"]
    assert [item["item"]["content"] for item in history[:2]] == [["hi"], ["Hello."]]
    assert (agent_file.parent / "paid").read_text() == "13\n"


def test_what_nobody_knows_is_listed_and_a_person_says_what_it_was(
    agent_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    killed_while_it_pays(agent_file)
    deadline = time.monotonic() + 5
    while not (found := listed(capsys, "--unknown", "--store", agent_file)):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert [(row["extra"]["name"], row["arguments"]) for row in found] == [("pay", '{"amount": 13}')]
    assert run("call", agent_file, "--say", "hi") == 0
    assert "Nobody knows what came of one thing" in capsys.readouterr().out
    assert run("calls", "resolve", "nothing", "--happened", "--store", agent_file) == 2
    assert (
        run("calls", "resolve", found[0]["key"][:6], "--happened", "--output", "receipt 7", "--store", agent_file) == 0
    )
    assert listed(capsys, "--unknown", "--store", agent_file) == []
    rows = [row for call in listed(capsys, "--store", agent_file) for row in call["rows"]]
    assert [(row["outcome"], row["output"]) for row in rows] == [("done", "receipt 7")]
    assert run("calls", "resolve", found[0]["key"], "--did-not", "--store", agent_file) == 2


def test_where_no_calls_are_kept_it_says_how_to_find_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("calls") == 2
    assert "--store" in capsys.readouterr().err
    assert run("calls", "--store", tmp_path / "none.db") == 2


def test_a_page_whose_server_was_killed_goes_on_with_its_call_at_the_next_one(agent_file: Path) -> None:
    async def check() -> None:
        with serving(agent_file) as (process, url):
            async with Page(url, audio=False) as page:
                call = (await page.wait_for("ready"))["call"]
                assert await page.asks("hi") == "Hello."
                await asyncio.sleep(0.6)
                process.kill()
        with serving(agent_file) as (_, url):
            async with Page(url, audio=False, resume=call) as page:
                assert (await page.wait_for("ready", timeout=20.0))["call"] == call
                await page.wait_for("message", text="Sorry, we were cut off for a moment.")
                assert await page.asks("pay") == "It is paid."

    asyncio.run(check())


@contextlib.contextmanager
def serving(agent_file: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The page of an agent file, served by a process of its own."""
    command = (*ANTIPHON, "dev", str(agent_file), "--port", "0", "--no-reload")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        while not (found := re.search(r"http://[0-9.]+:[0-9]+", process.stdout.readline())):
            assert process.poll() is None
        yield process, found[0]
    finally:
        process.kill()
        process.wait(10)
        process.stdout.close()
