"""The survey, with a model that hears and speaks, beside a voice for the lines that the program words itself."""

from __future__ import annotations

import re
import sys
from typing import Any

from antiphon.server.agent_file import load_agent_file
from antiphon.testing import Caller, FakeRealtimeModel, FakeTTS, Reply, SimulatedCall, run_virtual
from antiphon.testing.realtime import RealtimeRequest
from tests.examples.commands import EXAMPLES


def answer(request: RealtimeRequest) -> str | Reply:
    """What a model makes of the caller's last words, with the tools that it has."""
    heard = request.conversation[-1]
    if not heard.startswith("user: "):
        read_back = re.search(r"hears (?:it again )?now: (.*\?)", heard)
        return read_back[1] if read_back else "From one to five, please."
    tools = {tool.id for tool in request.tools}
    if "note_rating" in tools:
        return Reply(calls=[("note_rating", {"rating": 9 if "nine" in heard else 4})])
    if "note_favourite" in tools:
        return Reply(calls=[("note_favourite", {"dish": "cake"})])
    if "confirm_name" in tools and "yes" in heard:
        return Reply(calls=[("confirm_name", {})])
    return Reply(calls=[("update_name", {"full_name": "Ann Lee"})])


def test_the_survey_is_taken_by_a_realtime_model() -> None:
    load_agent_file(EXAMPLES / "survey.py")
    survey = sys.modules["_agent_file_survey"]

    async def main() -> tuple[dict[str, Any], list[str]]:
        caller = Caller()
        model = FakeRealtimeModel(answer, hears=caller)
        async with SimulatedCall(model, caller=caller, tts=FakeTTS(sample_rate=16_000), userdata={}) as call:
            await call.start(survey.Survey())
            for said in ("Ann Lee", "yes", "nine", "four then", "the cake"):
                await call.settled()
                await caller.says(said)
            await call.settled()
            texts = [message.text_content or "" for message in call.session.history.messages()]
            return dict(call.session.userdata), texts

    answers, texts = run_virtual(main())
    assert answers["name"].full_name == "Ann Lee"
    assert (answers["rating"], answers["favourite"]) == (4, "cake")
    assert "From one to five, please." in texts
    assert texts[-1] == "Thank you, Ann Lee. Goodbye."
