"""Digits from the keys of a telephone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from antiphon import AgentSession
from antiphon.protocols import KeypadRoom
from antiphon.server.room import Room
from antiphon.tasks import GetDtmfResult, GetDtmfTask
from antiphon.testing import FakeLLM, FakeSpeaker, FakeTTS, Reply, now, run_virtual, wait_until
from tests.tasks.dialogue import Host

QUESTION = "What is your code of 4 digits? You may enter it on your keypad, or say it."


class Line:
    """A call of a caller with a telephone."""

    def __init__(self, task: GetDtmfTask, *script: Any) -> None:
        self.room = Room()
        self.host = Host(task)
        self.llm = FakeLLM(script)
        self.session = AgentSession[Any](llm=self.llm)

    def press(self, keys: str) -> None:
        for key in keys:
            self.room.receive_dtmf(key)

    @property
    def said(self) -> list[str | None]:
        return [message.text_content for message in self.session.history.messages()]


def on_the_line(task: GetDtmfTask, call: Callable[[Line], Awaitable[None]], *script: Any) -> None:
    """Run `call` once the question was asked."""

    async def main() -> None:
        line = Line(task, *script)
        async with line.session:
            await line.session.start(line.host, room=line.room)
            await line.session.wait_for_idle()
            await call(line)

    run_virtual(main())


async def ended(line: Line) -> object:
    await wait_until(lambda: line.host.result is not ..., timeout=30.0)
    return line.host.result


def test_a_room_reports_keys_until_it_is_told_to_stop() -> None:
    room = Room()
    seen: list[str] = []

    def note(event: Any) -> None:
        seen.append(event.digit)

    assert isinstance(room, KeypadRoom)
    room.on("dtmf", note)
    room.receive_dtmf("7")
    room.off("dtmf", note)
    room.receive_dtmf("8")
    assert seen == ["7"]


def test_the_last_of_the_digits_completes_them() -> None:
    async def call(line: Line) -> None:
        line.press("1234")
        assert await ended(line) == GetDtmfResult("1234")
        assert line.llm.requests == []

    on_the_line(GetDtmfTask(4), call)


def test_too_few_digits_are_asked_for_again_after_a_pause_or_at_the_stop_key() -> None:
    async def call(line: Line) -> None:
        began = now()
        line.press("12")
        await wait_until(lambda: len(line.said) == 2)
        assert now() - began == pytest.approx(4.0, abs=0.2)
        line.press("123#")
        await wait_until(lambda: len(line.said) == 3)
        assert line.said == [
            QUESTION,
            f"I got 2 of 4 digits. {QUESTION}",
            f"I got 3 of 4 digits. {QUESTION}",
        ]
        line.press("5678")
        assert await ended(line) == GetDtmfResult("5678")

    on_the_line(GetDtmfTask(4), call)


def test_each_key_gives_more_time_for_the_next() -> None:
    async def call(line: Line) -> None:
        for key in "1234":
            line.press(key)
            await asyncio.sleep(3.9)
        assert await ended(line) == GetDtmfResult("1234")
        assert line.said[0] == QUESTION and len(line.said) == 2

    on_the_line(GetDtmfTask(4), call)


def test_the_stop_key_confirms_what_was_read_back() -> None:
    async def call(line: Line) -> None:
        line.press("1234")
        await wait_until(lambda: "I have one two three four. Is that code right?" in line.said)
        assert line.host.result is ...
        await line.session.wait_for_idle()
        line.press("#")
        assert await ended(line) == GetDtmfResult("1234")

    on_the_line(GetDtmfTask(4, ask_for_confirmation=True), call)


def test_other_keys_take_the_place_of_what_was_read_back() -> None:
    async def call(line: Line) -> None:
        line.press("1234")
        await line.session.wait_for_idle()
        line.press("1235")
        await line.session.wait_for_idle()
        line.press("#")
        assert await ended(line) == GetDtmfResult("1235")

    on_the_line(GetDtmfTask(4, ask_for_confirmation=True), call)


def test_a_yes_confirms_keys() -> None:
    async def call(line: Line) -> None:
        line.press("1234")
        await line.session.wait_for_idle()
        await line.session.run(user_input="yes")
        assert await ended(line) == GetDtmfResult("1234")

    on_the_line(GetDtmfTask(4, ask_for_confirmation=True), call, Reply(calls=[("confirm_code", {})]))


def test_said_digits_take_the_place_of_keys_that_were_begun() -> None:
    async def call(line: Line) -> None:
        line.press("12")
        await line.session.run(user_input="oh it's 9 8 7 6")
        assert await ended(line) == GetDtmfResult("9876")

    on_the_line(GetDtmfTask(4), call, Reply(calls=[("update_code", {"code": "9876"})]))


def test_keys_after_the_end_do_nothing() -> None:
    async def call(line: Line) -> None:
        line.press("12345")
        assert await ended(line) == GetDtmfResult("1234")
        line.press("1")
        await asyncio.sleep(10.0)
        assert line.said == [QUESTION, "Thank you."]

    on_the_line(GetDtmfTask(4), call)


def test_the_first_key_silences_the_question() -> None:
    async def main() -> None:
        room, speaker = Room(), FakeSpeaker()
        host = Host(GetDtmfTask(4))
        async with AgentSession[Any](llm=FakeLLM(), tts=FakeTTS()) as session:
            await session.start(host, room=room, output=speaker)
            await wait_until(lambda: session.agent_state == "speaking")
            await asyncio.sleep(1.0)
            room.receive_dtmf("1")
            await asyncio.sleep(1.0)
            assert [message.interrupted for message in session.history.messages()] == [True]
            for key in "234":
                room.receive_dtmf(key)
            await wait_until(lambda: host.result == GetDtmfResult("1234"))

    run_virtual(main())
