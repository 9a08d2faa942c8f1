"""What is kept of calls can be erased by hand: one call, a caller, what is old."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from antiphon.cli.main import main
from antiphon.store import CallMeta, Row, RowState, acknowledged, open_store


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Three calls: two of Ann's, of which one has a row that nobody knows about; Bob's."""
    path = tmp_path / "calls.db"

    async def kept() -> None:
        async with open_store(str(path)) as store:
            for number, caller in enumerate(("ann", "ann", "bob")):
                lease = await store.lease(f"call-{number}", "worker")
                store.keep(lease, CallMeta(caller))
                if number == 1:
                    row = Row("key", "desk/pay").started(1.0).settled(RowState.UNKNOWN, "", at=2.0)
                    store.settle(lease, row)
                await acknowledged(store.flush(), 10.0)

    asyncio.run(kept())
    return path


def calls(place: Path, *arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(["calls", *arguments, "--store", str(place)])
    code = left.value.code
    assert isinstance(code, int)
    return code


def left_in(place: Path) -> set[str]:
    async def found() -> set[str]:
        async with open_store(str(place)) as store:
            return {info.id for info in await store.calls()}

    return asyncio.run(found())


def test_one_call(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert calls(place, "erase", "call-0") == 0
    assert capsys.readouterr().out == "1 call erased.\n"
    assert left_in(place) == {"call-1", "call-2"}


def test_all_of_a_caller(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert calls(place, "erase", "--caller", "ann") == 0
    assert capsys.readouterr().out == "2 calls erased.\n"
    assert left_in(place) == {"call-2"}


def test_what_is_old_but_not_what_is_unknown(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert calls(place, "prune", "--days", "1") == 0
    assert calls(place, "prune", "--days", "-1") == 0
    assert capsys.readouterr().out == "No such calls.\n2 calls erased.\n"
    assert left_in(place) == {"call-1"}
    assert calls(place, "prune", "--days", "-1", "--unknown") == 0
    assert left_in(place) == set()


def test_a_call_that_goes_on_is_not_erased(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def goes_on() -> None:
        async with open_store(str(place)) as store:
            await store.lease("call-0", "another")
            await asyncio.to_thread(calls, place, "erase", "--caller", "ann")

    asyncio.run(goes_on())
    assert "the call 'call-0' is held by another" in capsys.readouterr().err
    assert left_in(place) == {"call-0", "call-1", "call-2"}
