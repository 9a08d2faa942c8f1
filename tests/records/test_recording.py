"""A call that has ended becomes a record: whole or not at all, and what stands in the way is told."""

from __future__ import annotations

import errno
import gc
import json
import os
import re
import signal
import subprocess
import sys
import time
import weakref
from pathlib import Path
from typing import Any

import pytest

from antiphon import Agent, AgentServer, AgentSession
from antiphon.calls.start import start_session
from antiphon.errors import UsageError
from antiphon.records import Records, call_records, read
from antiphon.records.current import NOWHERE, Said
from antiphon.records.format import FORMAT, RecordError
from antiphon.records.places import place_of
from antiphon.replay import read as read_journal
from antiphon.replay import replay
from antiphon.server.room import Room
from antiphon.testing import FakeLLM, run_virtual
from tests.records.recorded import BOOKS, agent, call, head_of, laid, recorded

FILES = {"record.json", "metrics.json", "history.json", "requests.jsonl", "journal.jsonl"}


def test_a_call_becomes_one_folder_with_all_that_is_known_of_it(tmp_path: Path) -> None:
    record = recorded(tmp_path)
    folder = tmp_path / record.name
    assert {path.name for path in folder.iterdir()} == FILES
    assert record.head["record"] == FORMAT and record.head["agents"] == ["desk"] and record.head["missing"] == []
    assert [turn["text"] for turn in record.head["turns"]] == ["A table on Friday", "You are booked."]
    (made,) = record.head["tool_calls"]
    assert (made["name"], made["status"], made["output"]) == ("book", "done", "Booked for 4 on Friday.")
    assert [item["type"] for item in record.history][:2] == ["message", "function_call"]
    assert record.metrics["metrics"]["tools"] == 1 and len(record.metrics["replies"]) == 1
    assert record.check() == []


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    record = recorded(tmp_path / "records")
    folder = tmp_path / "records" / record.name
    assert (tmp_path / "records").stat().st_mode & 0o777 == folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_its_journal_replays_the_call(tmp_path: Path) -> None:
    record = recorded(tmp_path)
    again = replay(read_journal(tmp_path / record.name / "journal.jsonl"))
    assert again.difference is None
    assert len(again.history) == len(record.history)


def test_what_was_changed_is_seen(tmp_path: Path) -> None:
    record = recorded(tmp_path)
    (tmp_path / record.name / "history.json").write_text("{}")
    (tmp_path / record.name / "journal.jsonl").unlink()
    assert sorted(record.check()) == ["history.json was changed", "journal.jsonl is missing"]


def test_it_has_the_ledger_of_the_store_that_its_call_was_kept_in(tmp_path: Path) -> None:
    records = Records(tmp_path / "records")
    made = call(*BOOKS, server=AgentServer(records=records))
    assert records.place.record(records.place.names()[0]).ledger == []

    async def kept() -> None:
        session = AgentSession[Any](llm=FakeLLM(list(BOOKS)), store=f"sqlite:///{tmp_path / 'calls.db'}")
        records.follow(session)
        async with session:
            await session.start(agent())
            await session.run(user_input="A table on Friday")

    run_virtual(kept())
    (row,) = next(r.ledger for name in records.place.names() if made not in name and (r := records.place.record(name)))
    assert (row["state"], row["output"]) == ("succeeded", "Booked for 4 on Friday.")


def test_a_session_of_its_own_is_recorded_when_it_is_followed(tmp_path: Path) -> None:
    async def held() -> None:
        async with Records(tmp_path) as records:
            session = AgentSession[Any](llm=FakeLLM(["Hello."]))
            records.follow(session)
            async with session:
                await session.start(Agent(instructions="", id="alone"))
                await session.run(user_input="Hi")
            assert len(records.place.names()) == 1  # by the time that the session is closed

    run_virtual(held())


def test_a_session_that_never_began_leaves_nothing(tmp_path: Path) -> None:
    async def held() -> None:
        session = AgentSession[Any](llm=FakeLLM(["Hello."]))
        Records(tmp_path).follow(session)
        await session.aclose()

    run_virtual(held())
    assert list(tmp_path.iterdir()) == []


def test_without_a_word_a_server_records_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    call(*BOOKS, server=AgentServer())
    assert list(tmp_path.iterdir()) == []


def test_who_asks_for_a_place_has_right_of_way_and_who_wants_none_gets_none(tmp_path: Path) -> None:
    server = AgentServer(records=tmp_path / "own")
    for said, place in (
        (Said(Records(tmp_path / "default"), is_default=True), "own"),
        (Said(Records(tmp_path / "named")), "named"),
        (NOWHERE, None),
    ):
        token = call_records.set(said)
        try:
            assert (None if server.records is None else Path(str(server.records)).name) == place
        finally:
            call_records.reset(token)


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from antiphon import Agent, AgentSession
from antiphon.records import Records, recording
from antiphon.testing import FakeLLM
import antiphon.records.recording as recording

def killed(*given, **options):
    write(*given, **options)
    if sys.argv[2] == "whole":
        return
    os.kill(os.getpid(), signal.SIGKILL)

import antiphon.records.keeping as keeping
write, keeping.write_files = keeping.write_files, killed

async def main():
    session = AgentSession(llm=FakeLLM(["Hello."]), store=f"sqlite:///{sys.argv[1]}/calls.db")
    Records(sys.argv[1] + "/records").follow(session)
    async with session:
        await session.start(Agent(instructions=""))
        await session.run(user_input="Hi")

asyncio.run(main())
"""


@pytest.mark.parametrize(("how", "left"), [("whole", 1), ("killed", 0)])
def test_a_process_that_is_killed_while_it_writes_leaves_no_half_of_a_record(
    how: str, left: int, tmp_path: Path
) -> None:
    program = KILLED.replace("from antiphon.records import Records, recording", "from antiphon.records import Records")
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path), how], timeout=60, check=False)
    assert done.returncode == (0 if how == "whole" else -signal.SIGKILL)
    place = place_of(tmp_path / "records")
    assert len(place.names()) == left
    from antiphon.cli.main import main

    with pytest.raises(SystemExit) as code:
        main(["calls", "--store", str(tmp_path / "calls.db")])
    assert code.value.code == 0  # the store knows it


def test_what_a_killed_process_left_is_removed_when_it_is_old(tmp_path: Path) -> None:
    recorded(tmp_path)
    young, old = tmp_path / ".writing-young", tmp_path / ".writing-old"
    for path in (young, old):
        path.mkdir()
    os.utime(old, (time.time() - 200_000, time.time() - 200_000))
    assert len(place_of(tmp_path).names()) == 1
    assert young.exists() and not old.exists()


def test_a_full_disk_loses_no_record_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from antiphon.records import keeping
    from antiphon.records.recording import write_files as write

    tries: list[Path] = []

    def full(draft: Any, folder: Path, **options: Any) -> None:
        tries.append(folder)
        if len(tries) == 1:
            raise OSError(errno.ENOSPC, "No space left on device", str(folder))
        write(draft, folder, **options)

    monkeypatch.setattr(keeping, "write_files", full)
    record = recorded(tmp_path)
    assert "No space left" in caplog.text
    assert record.head["turns"] and tries[1].parent != tmp_path  # it was made elsewhere, and brought


def test_a_disk_that_takes_nothing_anywhere_ends_no_call_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from antiphon.records import keeping

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(keeping, "write_files", full)
    made = call(*BOOKS, server=AgentServer(records=Records(tmp_path)))
    assert f"call {made} has no record" in caplog.text


def test_a_place_that_fsspec_reaches_holds_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    records = Records(f"memory://{tmp_path.name}/calls")
    call(*BOOKS, server=AgentServer(records=records))
    (name,) = records.place.names()
    record = records.place.record(name)
    assert [turn["text"] for turn in record.head["turns"]] == ["A table on Friday", "You are booked."]
    assert record.check() == []
    assert records.index.path.is_relative_to(tmp_path)
    import fsspec

    copy = tmp_path / f"{name}.zip"
    fsspec.filesystem("memory").get_file(f"/{tmp_path.name}/calls/{name}.zip", str(copy))
    assert read(copy).id == record.id
    assert records.remove(name) and records.place.names() == []


def test_a_place_that_cannot_be_reached_loses_no_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    records = Records(f"memory://{tmp_path.name}/late")
    put = type(records.place).put

    def unreachable(*_: Any) -> None:
        raise OSError("no route to host")

    monkeypatch.setattr(type(records.place), "put", unreachable)
    made = call(*BOOKS, server=AgentServer(records=records))
    assert "no route to host" in caplog.text and records.place.names() == []
    (waits,) = records.waiting()
    assert made in waits
    monkeypatch.setattr(type(records.place), "put", put)

    async def next_process() -> None:
        async with Records(f"memory://{tmp_path.name}/late") as again:
            assert again.place.names() == [waits] and again.waiting() == []

    run_virtual(next_process())


@pytest.mark.parametrize("address", ["", "nosuch://place"])
def test_an_address_that_is_none_is_refused_in_words(address: str) -> None:
    with pytest.raises(UsageError, match="records"):
        place_of(address)


@pytest.mark.parametrize("change", [{"record": 99}, {"record": "1"}, {"turns": None}, {"id": 7}])
def test_what_is_no_record_is_refused_in_words(change: dict[str, Any], tmp_path: Path) -> None:
    name = laid(tmp_path, head_of(1))
    head = json.loads((tmp_path / name / "record.json").read_text())
    (tmp_path / name / "record.json").write_text(json.dumps(head | change))
    with pytest.raises(RecordError, match="record"):
        read(tmp_path / name)


def test_a_call_id_of_any_kind_gives_a_file_name(tmp_path: Path) -> None:
    name = laid(tmp_path, head_of(1, id="../../etc/\x00 \u2028 passwd" + "x" * 300))
    assert place_of(tmp_path).names() == [name] and len(name) < 120


def test_words_are_taken_out_that_records_must_not_have(tmp_path: Path) -> None:
    says = ("I am ann@example.com, call me at 0171 2345678",)
    record = recorded(tmp_path, "Thank you.", says=says, redact=("email", "phone_number"))
    kept = b"".join(path.read_bytes() for path in (tmp_path / record.name).iterdir())
    assert b"ann@" not in kept and b"2345678" not in kept and b"[email]" in kept
    assert not (tmp_path / record.name / "journal.jsonl").exists()


def test_what_is_taken_out_of_a_ledger_leaves_its_numbers_whole(tmp_path: Path) -> None:
    def threes(text: str) -> list[tuple[int, int, str]]:
        return [(found.start(), found.end(), "digits") for found in re.finditer("[0-9]{3,}", text)]

    records = Records(tmp_path / "records", redact=threes)

    async def kept() -> None:
        session = AgentSession[Any](llm=FakeLLM(list(BOOKS)), store=f"sqlite:///{tmp_path / 'calls.db'}")
        records.follow(session)
        async with session:
            await session.start(agent())
            await session.run(user_input="A table on Friday")

    run_virtual(kept())
    (row,) = records.place.record(records.place.names()[0]).ledger
    assert row["output"] == "Booked for 4 on Friday." and row["started_at"] > 1_000_000_000


def test_records_are_kept_for_as_long_as_was_said(tmp_path: Path) -> None:
    old = laid(tmp_path, head_of(1, began=time.time() - 40 * 86_400))
    young = laid(tmp_path, head_of(2, began=time.time() - 20 * 86_400))
    record = recorded(tmp_path, days=30)
    assert place_of(tmp_path).names() == sorted([young, record.name])
    assert not (tmp_path / old).exists()


def test_the_sound_is_kept_by_choice(tmp_path: Path) -> None:
    from antiphon.calls.models import ModelChoice
    from antiphon.cli.call import voice_call
    from antiphon.cli.screen import Screen
    from antiphon.testing import speech
    from tests.cli.test_call import script, server

    for audio in (True, False):
        place = tmp_path / str(audio)
        token = call_records.set(Said(Records(place, audio=audio)))
        try:
            made = server(script(), heard=["On Tuesday"], greeting="Welcome to the desk.")
            screen = Screen(to_stderr=True)
            run_virtual(voice_call(made, [speech(1.0)], models=ModelChoice(), screen=screen, barge_in={}), timeout=300)
        finally:
            call_records.reset(token)
        (name,) = place_of(place).names()
        record = place_of(place).record(name)
        assert record.head["voice"] and record.sound["duration"] > 1.0
        assert record.metrics["latency"]["voice_to_voice_ms"]["values"]
        assert (place / name / "audio.wav").exists() is audio


def test_the_store_keeps_of_recorded_calls_that_ended_a_while_ago_the_ledger_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from antiphon.records import keeping
    from antiphon.store import HISTORY, open_store

    monkeypatch.setattr(keeping, "LIGHTEN_EVERY", 0.0)
    address = f"sqlite:///{tmp_path / 'calls.db'}"
    records = Records(tmp_path / "records")

    async def held(*, is_recorded: bool) -> str:
        session = AgentSession[Any](llm=FakeLLM(list(BOOKS)), store=address)
        if is_recorded:
            records.follow(session)
        async with session:
            await session.start(agent())
            await session.run(user_input="A table on Friday")
        return session.call_id

    first, unrecorded = run_virtual(held(is_recorded=True)), run_virtual(held(is_recorded=False))
    monkeypatch.setattr(keeping, "LIVE", -1000.0)  # as if both had ended long ago
    last = run_virtual(held(is_recorded=True))

    async def left(call: str) -> tuple[int, int, int]:
        async with open_store(address) as store:
            stored = await store.load(call)
            assert stored is not None
            return len(stored.rows), len(stored.parts), len(await store.entries(call, HISTORY))

    assert run_virtual(left(first)) == run_virtual(left(last)) == (1, 0, 0)
    rows, _, entries = run_virtual(left(unrecorded))
    assert rows == 1 and entries > 0


def test_what_has_just_ended_stays_whole_in_the_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from antiphon.store import open_store

    address = f"sqlite:///{tmp_path / 'calls.db'}"

    async def held() -> None:
        session = AgentSession[Any](llm=FakeLLM(["Hello."]), store=address)
        Records(tmp_path / "records").follow(session)
        async with session:
            await session.start(agent())
            await session.run(user_input="Hi")
        async with open_store(address) as store:
            stored = await store.load(session.call_id)
            assert stored is not None and sum(stored.lengths.values()) > 0

    run_virtual(held())


def test_nothing_of_a_recorded_call_waits_for_the_garbage_collector(tmp_path: Path) -> None:
    server, left = AgentServer(records=tmp_path), list[weakref.ref[Any]]()

    @server.rtc_session
    async def entrypoint(session: AgentSession) -> None:
        await session.start(agent=agent(), room=session.room, llm=FakeLLM(list(BOOKS)))

    async def held() -> None:
        room = Room()
        async with server.job(room) as job:
            session = await start_session(job)
            left.extend([weakref.ref(session), weakref.ref(room), weakref.ref(job)])
            await session.run(user_input="A table on Friday")

    gc.collect()
    gc.disable()
    try:
        run_virtual(held())
        assert [kept() for kept in left] == [None, None, None]
    finally:
        gc.enable()
