"""A call by telephone becomes a record when it ends, and not with a stream or a process before."""

from __future__ import annotations

import asyncio
from pathlib import Path

from antiphon.records import Records, call_records
from antiphon.records.current import Said
from antiphon.records.findings import findings_in
from antiphon.testing import run_virtual
from tests.telephone.carrier import FakeCall
from tests.telephone.desk import VOICE, desk
from tests.telephone.test_calls import Booking, booking_llm, say


def test_a_call_by_telephone_is_recorded_with_its_sound(tmp_path: Path) -> None:
    records = Records(tmp_path / "records", audio=True)

    async def call() -> None:
        call_records.set(Said(records))
        hears = ["on Tuesday please", "yes please"]
        async with desk(agent=Booking, llm=booking_llm, hears=hears, folder=tmp_path) as there:
            caller: FakeCall = await there.carrier.ring(VOICE)
            await asyncio.sleep(4.0)
            await say(caller)
            await asyncio.sleep(6.0)
            await say(caller)
            await asyncio.sleep(4.0)
            assert records.place.names() == []
            await caller.hang_up()
            await asyncio.sleep(4.0)

    run_virtual(call())
    (name,) = records.place.names()
    record = records.place.record(name)
    assert record.head["reason"] == "participant_disconnected" and record.head["voice"]
    assert [turn["text"] for turn in record.head["turns"]][1:4:2] == ["on Tuesday please", "yes please"]
    assert (tmp_path / "records" / name / "audio.wav").stat().st_size > 100_000
    assert findings_in(record.head, record.metrics) == []
