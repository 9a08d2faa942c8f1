"""The journal is written while the call goes on: before anything is done, and never at the call's expense."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from antiphon import Agent, function_tool
from antiphon.chat import ChatMessage
from antiphon.core.commands import Play, RunTool
from antiphon.core.facts import SpeechRequested, ToolCalled, Transcribed
from antiphon.events import JournalEvent
from antiphon.options import SessionOptions
from antiphon.replay import Head, JournalWriter, read, replay, writer
from antiphon.session import AgentSession
from antiphon.testing import FakeLLM, Reply, run_virtual

HEAD = Head(SessionOptions(), "desk")


def begun(path: Path) -> JournalWriter:
    made = JournalWriter(path, about="A call")
    made.begin(HEAD)
    made.fact(1.0, None)
    return made


def test_a_tool_runs_when_the_fact_that_asked_for_it_is_with_the_writer(tmp_path: Path) -> None:
    path = tmp_path / "call.jsonl"
    journal = JournalWriter(path)
    found: list[Any] = []

    @function_tool
    async def book() -> str:
        """Book."""
        journal.flush()
        entries = read(path).entries
        found.extend(entry.fact.call.name for entry in entries if isinstance(entry.fact, ToolCalled))
        found.extend(one.call.name for entry in entries for one in entry.commands if isinstance(one, RunTool))
        return "booked"

    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM([Reply(calls=[("book", {})]), "It is booked."])) as session:
            journal.listen(session)
            await session.start(Agent(tools=[book]))
            await session.run(user_input="Book it")

    run_virtual(main())
    journal.close()
    assert found == ["book", "book"]
    assert replay(read(path)).difference is None


def test_a_second_session_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "call.jsonl"
    journal = JournalWriter(path)

    async def main() -> None:
        for text in ("One.", "Two."):
            async with AgentSession[Any](llm=FakeLLM([text])) as session:
                journal.listen(session)
                await session.start(Agent())
                await session.run(user_input="a")

    run_virtual(main())
    journal.close()
    said = [one.text_content for one in replay(read(path)).history if isinstance(one, ChatMessage)]
    assert said == ["a", "One."]


def test_who_wants_facts_only_gets_them(tmp_path: Path) -> None:
    made = JournalWriter(tmp_path / "call.jsonl", commands=False)
    made.begin(HEAD)
    made.fact(1.0, None)
    made.command(1.0, Play(1))
    made.close()
    journal = read(made.path)
    assert (journal.head.commands, journal.entries[0].commands) == (False, ())


def test_handing_over_takes_microseconds(tmp_path: Path) -> None:
    made = begun(tmp_path / "call.jsonl")
    costs = []
    for _ in range(5):
        before = time.thread_time()
        for _ in range(1_000):
            made.fact(1.0, Transcribed("I would like a table for two", final=True))
        costs.append((time.thread_time() - before) / 1_000)
    made.close()
    assert min(costs) < 100e-6
    assert len(read(made.path).entries) == 5_001


def test_a_disk_that_does_not_keep_up_ends_the_journal_and_not_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(writer, "MOST_WAITING", 10_000)
    monkeypatch.setattr(writer, "EVERY", 60.0)
    made = begun(tmp_path / "call.jsonl")
    for number in range(1_000):
        made.fact(1.0 + number, Transcribed("hello", final=True))
    made.close()
    journal = read(made.path)
    assert journal.lost == "the disk did not keep up: more than 10,000 characters waited for it"
    assert 50 < len(journal.entries) < 200
    assert [record.message for record in caplog.records].count(
        f"the journal {made.path} ends before its call does: {journal.lost}"
    ) == 1


def test_a_file_that_cannot_be_written_is_told_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    made = begun(tmp_path / "file" / "call.jsonl")
    for _ in range(10):
        made.fact(1.0, Transcribed("hello", final=True))
    with pytest.raises(OSError, match="file"):
        made.close()
    made.close()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_disk_that_hangs_is_waited_for_a_few_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "CLOSING_LIMIT", 0.1)
    os.mkfifo(tmp_path / "pipe")  # nobody reads: opening it waits
    made = begun(tmp_path / "pipe")
    with pytest.raises(TimeoutError, match=r"took nothing for 0\.1 s"):
        made.close()
    os.close(os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK))


def test_what_has_no_form_ends_the_journal_and_not_the_call(tmp_path: Path) -> None:
    class Odd:
        def __str__(self) -> str:
            raise RuntimeError

    made = begun(tmp_path / "call.jsonl")
    choice: Any = {"function": Odd()}
    made.fact(1.0, SpeechRequested(1, "reply", tool_choice=choice))
    made.fact(2.0, Transcribed("later", final=True))
    made.close()
    journal = read(made.path)
    assert len(journal.entries) == 1
    assert journal.lost == "what was to be written had no form: RuntimeError"


def test_a_journal_that_nobody_began_is_no_file(tmp_path: Path) -> None:
    made = JournalWriter(tmp_path / "call.jsonl")
    made.close()
    assert list(tmp_path.iterdir()) == []


def test_events_carry_what_a_head_needs() -> None:
    told: list[JournalEvent] = []

    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM(["One."])) as session:
            session.on("journal", told.append)
            await session.start(Agent(id="desk"))
            await session.run(user_input="a")

    run_virtual(main())
    assert {(event.agent, event.mark) for event in told} == {("desk", told[0].mark)}
    assert told[0].mark
    assert told[0].fact is None
    assert told[0].command is None
    assert told[1].command is not None
    assert told[0].epoch + told[0].at == pytest.approx(told[0].created_at, abs=1.0)


CALLED = """
import asyncio, json, os, signal, sys, time
from antiphon import Agent, AgentServer, AgentSession, function_tool
from antiphon.testing import FakeLLM, Reply

@function_tool
async def search(what: str) -> str:
    '''Search.'''
    print("searching", flush=True)
    await asyncio.sleep(60)
    return "nothing"

server = AgentServer()

@server.rtc_session
async def entrypoint(session: AgentSession):
    llm = FakeLLM([Reply("I am on it.", calls=[("search", {"what": "tables"})])])
    await session.start(agent=Agent(instructions="", tools=[search], id="desk"), room=session.room, llm=llm)
"""

READ = """
import json, sys
from pathlib import Path
from antiphon import replay
again = replay.replay(replay.read(Path(sys.argv[1])))
print(json.dumps({
    "history": [getattr(item, "text_content", None) for item in again.history],
    "running": [call.name for call in again.state.running.values()],
    "difference": again.difference and str(again.difference),
    "loaded": [name for name in sys.modules if name.startswith("antiphon.") and name.split(".")[1] in
               ("agent", "session", "runtime", "tools", "application")],
}))
"""


def test_what_a_killed_process_leaves_is_replayed_in_another(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(CALLED)
    command = "from antiphon.cli.main import main; main()"
    given = [sys.executable, "-c", command, "call", "agent.py", "--say", "Search", "--journal", "call.jsonl"]
    with (
        open(tmp_path / "err.txt", "wb") as errors,
        subprocess.Popen(given, cwd=tmp_path, stdout=subprocess.PIPE, stderr=errors) as process,
    ):
        assert process.stdout is not None
        while b"searching" not in (line := process.stdout.readline()):
            assert line, (tmp_path / "err.txt").read_text()
        time.sleep(1.0)  # what a journal may lag behind its call
        process.send_signal(signal.SIGKILL)
    path = tmp_path / "call.jsonl"
    journal = read(path)
    assert journal.lost == "it has no end: its process ended before the call did"
    assert journal.head.about == "Call with agent.py"
    with open(path, "ab") as file:  # and if it dies while it writes
        file.write(b'{"at": 5.0, "fact": {"is": "Tra')
    assert (read(path).lost or "").startswith(f"line {len(path.read_bytes().splitlines())} is cut after 31 bytes")
    done = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told == {"history": ["Search", "I am on it."], "running": ["search"], "difference": None, "loaded": []}


def test_who_keeps_no_journal_does_not_load_what_keeps_them() -> None:
    code = "import sys; from antiphon import Agent, AgentServer, AgentSession; print('antiphon.replay' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
