"""What the studio's server answers, on a port, and whom it answers nothing."""

from __future__ import annotations

import asyncio
import json
import shutil
import struct
import time
import wave
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from antiphon.cli.main import main
from antiphon.records.places import archived
from antiphon.store import Store, open_store
from tests.records.recorded import head_of, laid, recorded, tool_call
from tests.studio.conftest import studio_of

EVIL = "<img src=x onerror='window.pwned = true'></script>"


class Api:
    """Asks a studio."""

    def __init__(self, url: str) -> None:
        self.url, _, self._token = url.partition("/?")
        self.client = httpx2.Client(timeout=20)

    def answer(self, path: str, **headers: str) -> httpx2.Response:
        token = ("&" if "?" in path else "?") + self._token if self._token else ""
        return self.client.get(f"{self.url}/studio/api/{path}{token}", headers=headers)

    def __call__(self, path: str) -> Any:
        answer = self.answer(path)
        assert answer.status_code == 200, answer.text
        return answer.json()


@contextmanager
def asked(folder: Path | None, **options: Any) -> Iterator[Api]:
    with studio_of(folder, **options) as url:
        api = Api(url)
        with api.client:
            yield api


def test_calls_are_listed_the_latest_first_and_searched_as_the_command_line_searches(tmp_path: Path) -> None:
    for number in range(5):
        laid(tmp_path, head_of(number))
    laid(tmp_path, head_of(7, caller="Ann", tool_calls=[tool_call("book", 1.0, status="error", is_error=True)]))
    with asked(tmp_path) as ask:
        listed = ask("calls")
        assert [one["id"] for one in listed["calls"]] == ["call-00007", *(f"call-0000{n}" for n in (4, 3, 2, 1, 0))]
        assert (listed["count"], listed["all"], listed["live"]) == (6, 6, [])
        assert [one["id"] for one in ask("calls?said=number+3")["calls"]] == ["call-00003"]
        assert [one["id"] for one in ask("calls?tool=book&outcome=error")["calls"]] == ["call-00007"]
        assert [one["id"] for one in ask("calls?error=any&caller=Ann")["calls"]] == ["call-00007"]
        few = ask("calls?most=2&said=table")
        assert (len(few["calls"]), few["count"], few["all"]) == (2, 6, 6)
        assert ask("words") == {"tools": ["book"], "agents": ["desk"], "outcomes": ["error"], "findings": []}


@pytest.mark.parametrize(("query", "words"), [("slower=soon", "expected seconds"), ("since=once", "expected a time")])
def test_what_cannot_be_looked_for_is_told_with_what_was_expected(tmp_path: Path, query: str, words: str) -> None:
    with asked(tmp_path) as ask:
        refused = ask.answer(f"calls?{query}")
        assert refused.status_code == 400
        assert words in refused.text


def test_an_erased_record_is_gone_from_the_list_and_cannot_be_opened(tmp_path: Path) -> None:
    name = laid(tmp_path, head_of(1))
    with asked(tmp_path) as ask:
        assert ask(f"call?name={name}")["id"] == "call-00001"
        assert ask("calls")["count"] == 1
        shutil.rmtree(tmp_path / name)
        assert ask("calls")["count"] == 0
        assert ask.answer(f"call?name={name}").status_code == 404


def test_a_record_that_comes_while_one_looks_is_listed(tmp_path: Path) -> None:
    with asked(tmp_path / "later") as ask:
        assert ask("calls")["all"] == 0  # the folder is not even there
        assert not (tmp_path / "later").exists()  # and looking does not make it
        laid(tmp_path / "later", head_of(1))
        assert ask("calls")["all"] == 1


def test_a_broken_record_is_told_and_the_others_are_listed(tmp_path: Path) -> None:
    laid(tmp_path, head_of(1))
    broken, newer, odd = (laid(tmp_path, head_of(number)) for number in (2, 3, 4))
    (tmp_path / broken / "record.json").write_text("{")
    (tmp_path / newer / "record.json").write_text(json.dumps(head_of(3) | {"record": 99}))
    (tmp_path / odd / "record.json").write_text(json.dumps(head_of(4) | {"turns": [7]}))
    with asked(tmp_path) as ask:
        listed = ask("calls")
        assert [one["id"] for one in listed["calls"]] == ["call-00001"]
        assert {one["name"] for one in listed["broken"]} == {broken, newer, odd}
        for name in (broken, newer, odd):
            refused = ask.answer(f"call?name={name}")
            assert refused.status_code == 422
            assert "record" in refused.text


@pytest.mark.parametrize("name", ["", "..", "../../etc", "20260101-000000-..", "20260101-000000-nobody"])
def test_a_name_that_is_no_records_opens_nothing(tmp_path: Path, name: str) -> None:
    laid(tmp_path, head_of(1))
    with asked(tmp_path) as ask:
        assert ask.answer(f"call?name={name}").status_code == 404
        assert ask.answer(f"sound?name={name}").status_code == 404


def test_the_story_of_a_call_has_its_words_tools_ledger_and_the_exact_input_of_each_step(tmp_path: Path) -> None:
    record = recorded(tmp_path)
    with asked(tmp_path) as ask:
        told = ask(f"call?name={record.name}")
        assert told["turns"][0]["text"] == "A table on Friday"
        assert told["tools"][0]["name"] == "book"
        first, second = told["steps"][:2]
        assert (first["recorded"], first["is_first"], first["calls"]) == (True, True, 1)
        assert [part["kind"] for part in first["gained"]] == ["instructions", "user"]
        assert [part["kind"] for part in second["gained"]] == ["call", "output"]
        whole = ask(f"step?name={record.name}&number=2")
        assert [part["kind"] for part in whole["items"]] == ["instructions", "user", "call", "output"]
        assert [part["is_new"] for part in whole["items"]] == [False, False, True, True]
        assert {tool["name"] for tool in whole["tools"]} == {"book", "look"}
        assert whole["text"] == "You are booked."
        assert ask.answer(f"step?name={record.name}&number=99").status_code == 404
        assert ask.answer(f"step?name={record.name}&number=x").status_code == 400


def test_of_a_record_without_requests_it_is_said_that_they_are_not_there(tmp_path: Path) -> None:
    response = {"by_model": True, "asked": 0.5, "first_token": 0.7, "done": 0.9, "characters": 12}
    reply = {"origin": "caller", "asked": 0.5, "rounds": 0, "responses": [response], "response_delay": 0.6}
    name = laid(tmp_path, head_of(1), {"metrics": {}, "replies": [reply]})
    with asked(tmp_path) as ask:
        (step,) = ask(f"call?name={name}")["steps"]
        assert (step["recorded"], step["outcome"], step["first_token"]) == (False, "done", 0.7)
        refused = ask.answer(f"step?name={name}&number=1")
        assert (refused.status_code, refused.text) == (404, "Not recorded: there is no such request.")


def test_the_same_wait_is_one_figure_in_the_list_the_story_and_the_sums(tmp_path: Path) -> None:
    for number, delay in enumerate((0.4, 0.6, 1.9)):
        reply = {"origin": "caller", "asked": 1.0, "rounds": 0, "responses": [], "response_delay": delay}
        laid(tmp_path, head_of(number), {"metrics": {"median_response_delay": delay}, "replies": [reply]})
    with asked(tmp_path) as ask:
        slowest = ask("calls?slower=1.5")["calls"]
        assert [one["worst"] for one in slowest] == [1.9]
        assert ask(f"call?name={slowest[0]['name']}")["replies"][0]["response_delay"] == 1.9
        waits = ask("figures")["waits"]
        assert (waits["p50"], waits["max"], waits["count"]) == (0.6, 1.9, 3)
        assert waits["slowest"][0]["name"] == slowest[0]["name"]
        assert ask("figures?slower=1.5")["waits"]["p50"] == 1.9


def test_tools_are_named_by_how_slow_they_are_and_how_often_their_arguments_were_wrong(tmp_path: Path) -> None:
    bad = {"status": "error", "is_error": True, "output": "Error parsing arguments for `book`: day: required"}
    calls = [tool_call("book", 1.0, **bad), tool_call("book", 2.0, ended=3.5), tool_call("look", 4.0)]
    laid(tmp_path, head_of(1, tool_calls=calls))
    with asked(tmp_path) as ask:
        book, look = ask("figures")["by_tool"]
        assert (book["tool"], book["calls"], book["wrong"], book["wrong_rate"]) == ("book", 2, 1, 0.5)
        assert book["seconds"]["max"] == 1.5
        assert (look["tool"], look["wrong_rate"]) == ("look", 0.0)


def test_cost_is_summed_over_the_calls_whose_prices_were_known(tmp_path: Path) -> None:
    for number, cost in enumerate((0.02, 0.04, None)):
        figures: dict[str, Any] = {"metrics": {}, "replies": [], "usage": {"tokens": 100}}
        laid(tmp_path, head_of(number), figures if cost is None else figures | {"cost": {"total": cost}})
    with asked(tmp_path) as ask:
        told = ask("figures")
        assert (told["tokens"], told["priced"], told["calls"]) == (300, 2, 3)
        assert told["cost"] == pytest.approx(0.06)
        assert told["cost_of_a_call"]["p50"] == pytest.approx(0.03)


def test_a_call_whose_requests_cannot_be_read_is_shown_without_them(tmp_path: Path) -> None:
    record = recorded(tmp_path)
    (tmp_path / record.name / "requests.jsonl").write_text('{"requests": 99}')
    with asked(tmp_path) as ask:
        told = ask(f"call?name={record.name}")
        assert [step["recorded"] for step in told["steps"]] == [False, False]
        assert "format" in told["missing"][-1]
        assert ask.answer(f"step?name={record.name}&number=1").status_code == 422


# -- sound


def with_sound(place: Path) -> str:
    """A record with a second of sound. Returns its name."""
    head = head_of(1, voice=True)
    name = laid(place, head)
    path = place / name / "audio.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(8_000)
        file.writeframes(struct.pack("<h", 1000) * 16_000)
    files = {"audio.wav": {"bytes": path.stat().st_size, "sha256": ""}}
    (place / name / "record.json").write_text(json.dumps(head | {"files": files}))
    return name


@pytest.mark.parametrize("is_archive", [False, True])
def test_sound_is_sent_piece_by_piece_from_a_folder_and_from_an_archive(tmp_path: Path, is_archive: bool) -> None:
    name = with_sound(tmp_path)
    content = (tmp_path / name / "audio.wav").read_bytes()
    if is_archive:
        (tmp_path / f"{name}.zip").write_bytes(archived(tmp_path / name))
        shutil.rmtree(tmp_path / name)
    with asked(tmp_path) as ask:
        assert ask(f"call?name={name}")["sounds"] is True
        whole = ask.answer(f"sound?name={name}")
        assert (whole.status_code, whole.content) == (200, content)
        assert whole.headers["cache-control"] == "no-store"
        piece = ask.answer(f"sound?name={name}", range="bytes=100-199")
        assert (piece.status_code, piece.content) == (206, content[100:200])
        assert piece.headers["content-range"] == f"bytes 100-199/{len(content)}"
        last = ask.answer(f"sound?name={name}", range="bytes=-50")
        assert last.content == content[-50:]
        assert ask.answer(f"sound?name={name}", range=f"bytes={len(content)}-").status_code == 416


def test_a_record_whose_sound_is_missing_says_so(tmp_path: Path) -> None:
    name = with_sound(tmp_path)
    (tmp_path / name / "audio.wav").unlink()
    with asked(tmp_path) as ask:
        told = ask(f"call?name={name}")
        assert told["sounds"] is False
        assert "audio.wav is missing" in told["silent"]
        assert ask.answer(f"sound?name={name}").status_code == 404


# -- who may ask


@pytest.mark.parametrize(
    "what", ["calls", "figures", "words", "call?name=x", "step?name=x", "live?id=x", "sound?name=x"]
)
def test_whoever_has_no_token_or_a_wrong_one_learns_nothing(tmp_path: Path, what: str) -> None:
    laid(tmp_path, head_of(1))
    with asked(tmp_path, token="right") as ask:
        assert ask("calls")["count"] == 1
        mark = "&" if "?" in what else "?"
        for token in ("", f"{mark}token=wrong"):
            refused = ask.client.get(f"{ask.url}/studio/api/{what}{token}")
            assert refused.status_code == 401
            assert "call-00001" not in refused.text


def test_pages_of_elsewhere_and_other_names_of_this_machine_are_refused(tmp_path: Path) -> None:
    laid(tmp_path, head_of(1))
    with asked(tmp_path) as ask:
        assert ask.answer("calls", origin="https://example.com").status_code == 403
        assert ask.answer("calls", host="example.com").status_code == 403


def test_nobody_on_the_way_keeps_what_was_said_and_the_page_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    name = laid(tmp_path, head_of(1))
    with asked(tmp_path) as ask:
        for what in ("calls", f"call?name={name}", "figures", "call?name=no"):
            assert ask.answer(what).headers["cache-control"] == "no-store"
        page = ask.client.get(f"{ask.url}/studio/")
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert "http" not in page.text.replace("xmlns", "")
        home = ask.client.get(f"{ask.url}/?token=a%26b")
        assert home.headers["location"] == "studio/?token=a%26b"


# -- calls that go on


def test_calls_that_go_on_in_other_processes_come_and_go_without_a_reload(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"

    async def hold(ask: Api) -> None:
        from antiphon import Agent, AgentSession
        from antiphon.records import Records
        from antiphon.testing import FakeLLM

        async with open_store(f"sqlite:///{path}") as store, Records(tmp_path / "records") as records:
            session = AgentSession(llm=FakeLLM(["Hello."], ttft=0.0), store=store)
            records.follow(session)
            async with session:
                await session.start(Agent(instructions="", id="desk"))
                await session.run(user_input=EVIL)
                await asyncio.to_thread(during, ask, session.call_id)
            ids.append(session.call_id)

    def during(ask: Api, call: str) -> None:
        (live,) = ask("calls")["live"]
        assert (live["id"], live["state"]) == (call, "goes on")
        until = time.monotonic() + 10  # the process that holds it writes five times a second
        while time.monotonic() < until and len(ask(f"live?id={call}")["turns"]) < 2:
            pass
        assert [turn["text"] for turn in ask(f"live?id={call}")["turns"]] == [EVIL, "Hello."]

    ids: list[str] = []
    with asked(tmp_path / "records", store=path) as ask:
        asyncio.run(hold(ask))
        listed = ask("calls")
        assert listed["live"] == []
        assert [one["id"] for one in listed["calls"]] == ids
        assert ask(f"live?id={ids[0]}") == {"ended": True, "name": listed["calls"][0]["name"]}
        assert ask("live?id=nobody") == {"ended": True, "name": None}


def test_a_store_that_cannot_be_asked_is_told_and_records_are_listed(tmp_path: Path) -> None:
    laid(tmp_path, head_of(1))

    async def find() -> Store:
        from antiphon.errors import StoreUnavailable

        raise StoreUnavailable("store: no connection")

    with asked(tmp_path, find_store=find) as ask:
        listed = ask("calls")
        assert listed["trouble"] == "store: no connection"
        assert listed["count"] == 1


# -- the command


def told_by(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as left:
        main(["studio", *arguments])
    return int(left.value.code or 0), capsys.readouterr().err


def test_a_place_that_is_not_there_is_an_error_with_its_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, told = told_by(capsys)
    assert code == 2
    assert "--records" in told
    code, told = told_by(capsys, "--records", "nowhere")
    assert code == 2
    assert "there are no records in nowhere" in told
    code, told = told_by(capsys, "--records", str(tmp_path), "--store", "nowhere.db")
    assert code == 2
    assert "no calls are kept in nowhere.db" in told


def test_a_port_in_use_is_an_error_with_its_remedy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with studio_of(tmp_path) as url:
        code, told = told_by(capsys, "--records", str(tmp_path), "--port", url.rpartition(":")[2])
    assert code == 2
    assert "Choose another --host or --port" in told
