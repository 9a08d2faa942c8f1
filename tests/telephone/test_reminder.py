"""The example that calls people, with the double in the carrier's place: a person, a voicemail, a screening."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from antiphon.audio import AudioFrame
from antiphon.server.agent_file import load_agent_file
from antiphon.server.telephone import DialState
from antiphon.testing import FakeLLM, Reply, run_virtual
from tests.examples.commands import EXAMPLES
from tests.telephone.carrier import Person
from tests.telephone.desk import desk
from tests.telephone.test_answer_watch import GREETING, NUMBER, beep, pause, voice


def reminded(plays: Sequence[AudioFrame], hears: Sequence[str], folder: Path, most: float = 40.0) -> str:
    """The report of a call of the example."""

    async def run() -> None:
        llm = FakeLLM([Reply(calls=[("cancel_appointment", {})]), "It is cancelled.", "Goodbye."], ttft=0.1)
        server = load_agent_file(EXAMPLES / "reminder.py")
        people = {NUMBER: Person(plays=plays)}
        async with desk(server=server, llm=lambda: llm, hears=hears, people=people, folder=folder) as there:
            call = await there.server.dial(NUMBER, metadata={"name": "Ann Lee", "at": "ten"}, key="reminder-7")
            try:
                async with asyncio.timeout(most):
                    assert await call.over() is DialState.ENDED
            except TimeoutError:
                await next(iter(there.carrier.calls.values())).hang_up()
            await there.door.drain()

    run_virtual(run(), timeout=300.0)
    (made,) = folder.iterdir()
    return (made / "report.html").read_text()


def test_a_voicemail_gets_the_message_and_the_report_says_so(tmp_path: Path) -> None:
    told = reminded([pause(0.5), voice(6.5), pause(0.7), beep()], [GREETING], tmp_path)
    assert '"outcome": "message left"' in told
    assert "appointment of Ann Lee tomorrow at ten" in told
    assert '"who": "voicemail"' in told and '"whole": true' in told


def test_a_person_cancels(tmp_path: Path) -> None:
    plays: list[Any] = [voice(0.6), pause(6.0), voice(1.0), pause(6.0), voice(0.6)]
    told = reminded(plays, ["", "cancel it please", "yes"], tmp_path, most=22.0)
    assert "cancelled" in told and '"who": "person"' in told
