"""A recorded call, made again: equal with the same agent, and parted where the agent is another one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from antiphon.errors import AntiphonError, UsageError
from antiphon.records import Record, read
from antiphon.rerun import Says, Settings, compare
from antiphon.rerun.reading import recorded_call
from antiphon.scenarios.definition import Medium, Scenario
from tests.rerun.made import EXAMPLES, KINDS, Kind, record_of_call, scenarios_of

RECEPTIONIST = EXAMPLES / "receptionist.py"
SOME = [(kind, scenario) for kind in KINDS for scenario in scenarios_of(kind)[:3]]


def named(name: str) -> Scenario:
    return next(one for one in scenarios_of(KINDS[0]) if one.name == name)


@pytest.fixture(scope="module")
def booked(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """A caller books a free slot, by voice."""
    return record_of_call(RECEPTIONIST, named("books a free slot"), place=tmp_path_factory.mktemp("records"))


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """A caller speaks over the list of slots, by voice."""
    return record_of_call(
        RECEPTIONIST, named("speaks over the list of slots"), place=tmp_path_factory.mktemp("records")
    )


def changed(tmp_path: Path, *edits: tuple[str, str]) -> Path:
    """The receptionist with other lines."""
    text = RECEPTIONIST.read_text(encoding="utf-8")
    for before, after in edits:
        assert before in text
        text = text.replace(before, after)
    path = tmp_path / "changed.py"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("medium", ["text", "sound"])
@pytest.mark.parametrize(("kind", "scenario"), SOME, ids=[f"{kind.example}: {one.name}" for kind, one in SOME])
def test_with_the_same_agent_it_is_equal_step_by_step(
    kind: Kind, scenario: Scenario, medium: Medium, tmp_path: Path
) -> None:
    record = record_of_call(kind.agent, scenario, medium=medium, place=tmp_path)
    compared = compare(record, kind.agent, Settings(run_tools=kind.run_tools))
    assert compared.divergence is None
    assert compared.now.asked_instead == 0 and not compared.now.not_recorded
    assert len(compared.now.steps) == len(compared.recorded) > 5


def test_an_interruption_comes_at_the_word_at_which_it_came(interrupted: Record) -> None:
    compared = compare(interrupted, RECEPTIONIST)
    cut = [turn for turn in interrupted.head["turns"] if turn["interrupted"]]
    again = [turn for turn in compared.now.head["turns"] if turn["interrupted"]]
    assert cut and [turn["text"] for turn in again] == [turn["text"] for turn in cut]


def test_nothing_is_booked(booked: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert compare(booked, RECEPTIONIST).divergence is None
    assert not (tmp_path / ".antiphon").exists()
    compare(booked, RECEPTIONIST, Settings(run_tools=("*",)))
    assert (tmp_path / ".antiphon" / "diary.db").exists()


def test_other_instructions_are_seen_at_the_first_request(booked: Record, tmp_path: Path) -> None:
    compared = compare(booked, changed(tmp_path, ("a friendly receptionist", "a grumpy receptionist")))
    assert compared.divergence is not None
    assert (compared.divergence.kind, compared.divergence.number) == ("request", 1)
    assert compared.divergence.what == "another request: the instructions"
    assert "friendly" in str(compared.divergence.recorded) and "grumpy" in str(compared.divergence.now)
    assert compared.now.asked_instead > 0 and "StandInLLM" in compared.now.other_model


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ("async def check_availability", "async def look_for_slots", "tool check_availability is not offered"),
        ("context: RunContext, date: str)", "context: RunContext, date: int)", "the schema of tool check_availability"),
        ("Check available appointment", "Check free appointment", "the description of tool check_availability"),
    ],
)
def test_another_tool_is_named(booked: Record, tmp_path: Path, before: str, after: str, what: str) -> None:
    edits = [(before, after)]
    if "look_for_slots" in after:
        edits.append(("tools=[check_availability,", "tools=[look_for_slots,"))
    compared = compare(booked, changed(tmp_path, *edits))
    assert compared.divergence is not None and what in compared.divergence.what


def test_what_a_hook_loses_is_seen_where_it_is_lost(booked: Record, tmp_path: Path) -> None:
    lost = """

class Deaf(Agent):
    async def on_user_turn_completed(self, turn_ctx, new_message):
        if "sarah" in (new_message.text_content or "").lower():
            raise StopResponse


@server.rtc_session"""
    agent = changed(
        tmp_path,
        ("    ToolError,", "    StopResponse,\n    ToolError,"),
        ("\n\n@server.rtc_session", lost),
        ("agent=Agent(", "agent=Deaf("),
    )
    compared = compare(booked, agent)
    assert compared.divergence is not None
    assert compared.divergence.what == "no request to the model here"
    assert compared.divergence.recorded == "after user: It is Sarah Chen"
    assert "Yes please" in str(compared.divergence.now)
    assert "lost-turn" in [one.finding for one in compared.now.problems]


def test_without_a_model_it_ends_at_the_first_request_that_is_not_recorded(booked: Record, tmp_path: Path) -> None:
    agent = changed(tmp_path, ("a friendly receptionist", "a grumpy receptionist"))
    compared = compare(booked, agent, Settings(asks_others=False))
    assert "no model was named" in compared.now.stopped
    assert not compared.now.head["tool_calls"]


def test_a_call_that_is_not_recorded_is_not_made(booked: Record, tmp_path: Path) -> None:
    where = "async def check_availability(context: RunContext, date: str)"
    more = "async def check_availability(context: RunContext, date: str, clinic: str = 'north')"
    compared = compare(booked, changed(tmp_path, (where, more)))
    assert compared.divergence is not None
    for call in compared.now.head["tool_calls"]:
        assert call["status"] != "done" or call["arguments"] in [one["arguments"] for one in booked.head["tool_calls"]]


def test_another_ending_is_seen(booked: Record, tmp_path: Path) -> None:
    ends = """

class Hasty(Agent):
    async def on_user_turn_completed(self, turn_ctx, new_message):
        if "thank" in (new_message.text_content or "").lower():
            self.session.shutdown(drain=False)


@server.rtc_session"""
    compared = compare(booked, changed(tmp_path, ("\n\n@server.rtc_session", ends), ("agent=Agent(", "agent=Hasty(")))
    assert compared.divergence is not None
    assert "the agent ended the call" in [step.text for step in compared.now.steps]


# -- records that say less


def without(record: Record, tmp_path: Path, name: str) -> Record:
    folder = tmp_path / record.name
    source = Path(record.files.folder)  # type: ignore[attr-defined]  # a folder's
    shutil.copytree(source, folder)
    (folder / name).unlink()
    return read(folder)


def test_a_record_of_an_earlier_version_is_refused_in_words(booked: Record, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no requests of models .* earlier version"):
        compare(without(booked, tmp_path, "requests.jsonl"), RECEPTIONIST)


def test_a_record_without_its_journal_is_made_again_by_its_turns(booked: Record, tmp_path: Path) -> None:
    compared = compare(without(booked, tmp_path, "journal.jsonl"), RECEPTIONIST)
    heard = [turn["text"] for turn in compared.now.head["turns"] if turn["role"] == "user"]
    assert heard == [turn["text"] for turn in booked.head["turns"] if turn["role"] == "user"]
    assert [call["name"] for call in compared.now.head["tool_calls"]] == ["check_availability", "book_appointment"]


def test_a_journal_of_another_version_serves_as_well(booked: Record, tmp_path: Path) -> None:
    folder = tmp_path / booked.name
    shutil.copytree(Path(booked.files.folder), folder)  # type: ignore[attr-defined]  # a folder's
    lines = (folder / "journal.jsonl").read_text().splitlines()
    lines[0] = json.dumps(json.loads(lines[0]) | {"journal": 99, "antiphon": "9.0"})
    (folder / "journal.jsonl").write_text("\n".join([*lines[:-1], '{"at": 1, "fact": {"is": "OfTheFuture"}}']))
    assert compare(read(folder), RECEPTIONIST).divergence is None


def test_a_call_that_goes_on_in_another_process_is_refused(booked: Record, tmp_path: Path) -> None:
    folder = tmp_path / booked.name
    shutil.copytree(Path(booked.files.folder), folder)  # type: ignore[attr-defined]  # a folder's
    lines = (folder / "journal.jsonl").read_text().splitlines()
    lines.insert(2, json.dumps({"at": 0.0, "fact": {"is": "CallResumed", "writes": []}}))
    (folder / "journal.jsonl").write_text("\n".join(lines))
    with pytest.raises(UsageError, match="began in another process"):
        recorded_call(read(folder))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import nothing_of_that_name", "nothing_of_that_name"),
        ("def broken(:", "changed.py"),
        (
            "from antiphon import *\nfrom antiphon.testing import FakeRealtimeModel\n"
            "class A(Agent):\n    def __init__(self): super().__init__(instructions='', llm=FakeRealtimeModel())\n",
            "hears and speaks by itself",
        ),
    ],
)
def test_an_agent_that_cannot_be_called_is_told_in_words(booked: Record, tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "changed.py"
    path.write_text(text)
    with pytest.raises(AntiphonError, match=words):
        compare(booked, path)


def test_a_voice_is_as_long_as_it_was_when_it_was_noticed(tmp_path: Path) -> None:
    """Ten milliseconds decide whether a line that bridges a wait is heard before the answer."""
    scenario = named("coughs while the diary is slow")
    record = record_of_call(RECEPTIONIST, scenario, seed=1000, place=tmp_path)
    assert [one for one in recorded_call(record).caller if isinstance(one, Says) and one.silence > 0.205]
    assert compare(record, RECEPTIONIST).divergence is None
