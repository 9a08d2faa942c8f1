"""Calls from the page, over real sockets: what the page is told, and what its messages do."""

from __future__ import annotations

import asyncio
import io
import json
import re
import sys
import urllib.request
import wave
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon.testing import wait_until
from antiphon.testing.audio import silence, speech
from tests.console.page import Page
from tests.console.serving import ECHO, RECEPTIONIST, STAND_IN, VOICE, run, serving, write

if TYPE_CHECKING:
    import pytest

RATE = 48_000


async def get(url: str) -> tuple[int, dict[str, str], bytes]:
    def fetch() -> tuple[int, dict[str, str], bytes]:
        with urllib.request.urlopen(url, timeout=10) as response:
            return response.status, dict(response.headers), response.read()

    return await asyncio.to_thread(fetch)


def test_a_caller_books_by_typing() -> None:
    async def check() -> None:
        async with serving(RECEPTIONIST, models=STAND_IN) as server, Page(server.url, audio=False) as page:
            await page.wait_for("ready", agent="Receptionist", transport="websocket")
            assert "9:00 AM" in await page.asks("Do you have anything next Tuesday?")
            asked = await page.asks("Book nine o'clock for Anna Smith please")
            assert asked == "An appointment for Anna Smith, next Tuesday at 9:00 AM. Shall I book it?"
            assert page.of("tool", name="book_appointment", status="started") == []
            await page.asks("Yes, please.")
            booked = await page.wait_for("tool", name="book_appointment", status="done")
            assert booked["arguments"] == {"patient_name": "Anna Smith", "date": "next Tuesday", "time": "9:00 AM"}
            assert booked["seconds"] is not None

    run(check)


def test_a_button_of_the_page_agrees_to_what_was_read_back() -> None:
    async def check() -> None:
        async with serving(RECEPTIONIST, models=STAND_IN) as server, Page(server.url, audio=False) as page:
            await page.asks("Book nine o'clock next Tuesday for Anna Smith please")
            asked = await page.wait_for("consent", decision="")
            assert asked["asked"] == "An appointment for Anna Smith, next Tuesday at 9:00 AM. Shall I book it?"
            await page.send("consent", call_id="another", yes=True)
            await page.send("consent", call_id=asked["call_id"], yes=True)
            decided = await page.wait_for("consent", decision="yes")
            assert (decided["call_id"], decided["heard"], decided["by"]) == (asked["call_id"], "yes", "key")
            booked = await page.wait_for("tool", name="book_appointment", status="done")
            assert (booked["call_id"], booked["guarantee"]) == (asked["call_id"], "effectively once")

    run(check)


def test_a_developers_page_says_whom_one_calls_and_looks_inside() -> None:
    async def check() -> None:
        async with serving(RECEPTIONIST, models=STAND_IN, for_developer=True) as server:
            status, _, body = await get(f"{server.url}/about")
            about = json.loads(body)
            assert (status, about["agent"], about["language"]) == (200, "Receptionist", "en")
            assert about["phrases"] == ["Do you have anything next Tuesday?"]
            assert about["models"]["llm"].startswith("standin.StandInLLM (rule-based, not a language model)")
            assert [(tool["name"], tool["guarantee"], tool["is_read_back"]) for tool in about["tools"]] == [
                ("check_availability", None, False),
                ("book_appointment", "effectively once", True),
            ]
            async with Page(server.url, audio=False) as page:
                await page.asks("Do you have anything next Tuesday?")
                await page.send("inspect")
                inside = await page.wait_for("inspection")
                assert inside["agent"] == "Receptionist"
                assert inside["instructions"].startswith("You are a friendly receptionist")
                assert [item["type"] for item in inside["history"]][-3:] == [
                    "function_call",
                    "function_call_output",
                    "message",
                ]
                assert inside["request"]["tools"] == ["check_availability", "book_appointment"]
                assert inside["request"]["items"][-1]["type"] == "function_call_output"

    run(check)


def test_nobody_but_a_developer_looks_inside() -> None:
    async def check() -> None:
        async with serving(RECEPTIONIST, models=STAND_IN) as server, Page(server.url, audio=False) as page:
            assert (await get(f"{server.url}/about"))[0] == 204
            await page.send("inspect")
            await page.asks("Do you have anything next Tuesday?")
            assert page.of("inspection") == []

    run(check)


def test_the_page_is_told_of_a_tools_start_before_its_end_and_output() -> None:
    async def check() -> None:
        async with serving(RECEPTIONIST, models=STAND_IN) as server, Page(server.url, audio=False) as page:
            await page.asks("Do you have anything next Tuesday?")
            told = [(m["status"], m["text"]) for m in page.of("tool")]
            assert told[0] == ("started", None)
            assert told[1] == ("done", None)
            assert told[2][0] == "done"
            assert told[2][1].startswith("Available slots for next Tuesday")

    run(check)


def test_what_is_typed_before_the_call_is_ready_is_not_lost(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, ECHO)) as server, Page(server.url, audio=False) as page:
            assert await page.asks("Hello") == "You are heard."
            assert page.messages[0]["type"] == "ready"

    run(check)


def test_a_spoken_turn_is_heard_captioned_and_answered_aloud(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, VOICE)) as server, Page(server.url) as page:
            await page.wait_for("ready", rate=RATE)
            page.speak(silence(0.1, RATE), speech(0.5, RATE))
            await page.wait_for("heard", text="hello there", final=True)
            await page.wait_for("message", role="user", text="hello there")
            answer = await page.wait_for("message", role="assistant")
            assert answer["text"].endswith("to be said.")
            assert page.of("said", final=True)[0]["text"] == answer["text"]
            assert sum(sound.duration for sound in page.speaker.track.sounds) > 1.0
            assert page.speaker.underruns == 0

    run(check)


def test_captions_keep_step_with_the_sound(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, VOICE)) as server, Page(server.url) as page:
            await page.wait_for("ready")
            page.speak(speech(0.5, RATE))
            await page.wait_for("message", role="assistant")
            said = [(at, m["text"]) for at, m in zip(page.times, page.messages, strict=True) if m["type"] == "said"]
            sounds = page.speaker.track.sounds
            began, ended = sounds[0].start, sounds[-1].end
            whole = len(said[-1][1])
            # In the middle of the sound about half of the words were shown: not all at once, and not at the end.
            middle = [text for at, text in said if at <= (began + ended) / 2]
            assert 0.2 * whole < len(middle[-1]) < 0.8 * whole

    run(check)


def test_a_caller_who_speaks_over_the_agent_cuts_it(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, VOICE)) as server, Page(server.url) as page:
            await page.wait_for("ready")
            page.speak(speech(0.5, RATE))
            await page.wait_for("state", agent="speaking")
            await page.until(lambda: page.speaker.played > RATE)
            page.speak(speech(0.6, RATE))
            await page.wait_for("pause")
            await page.wait_for("clear", epoch=1)
            cut = await page.wait_for("message", role="assistant", interrupted=True)
            assert cut["text"].startswith("These are some")
            assert cut["unheard"].endswith("to be said.")

    run(check)


def test_typed_and_spoken_turns_are_one_conversation(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, VOICE)) as server, Page(server.url) as page:
            await page.wait_for("ready")
            await page.asks("typed words")
            page.speak(speech(0.5, RATE))
            await page.wait_for("message", role="user", text="hello there")
            assert [m["text"] for m in page.of("message", role="user")] == ["typed words", "hello there"]

    run(check)


def test_with_push_to_talk_a_turn_ends_with_the_key_and_not_with_silence(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, VOICE)) as server, Page(server.url, push_to_talk=True) as page:
            await page.wait_for("ready")
            await page.send("push", down=True)
            page.speak(speech(0.4, RATE), silence(2.5, RATE))
            await page.wait_for("heard", final=True)
            await page.until(lambda: not page.speaking)
            assert page.of("message") == []
            await page.send("push", down=False)
            await page.wait_for("message", role="user", text="hello there")

    run(check)


def test_the_key_silences_the_agent(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, VOICE)) as server, Page(server.url, push_to_talk=True) as page:
            await page.send("text", text="say something")
            await page.until(lambda: page.speaker.played > RATE // 2)
            await page.send("push", down=True)
            await page.wait_for("clear")
            await page.wait_for("message", role="assistant", interrupted=True)

    run(check)


def test_a_key_of_the_telephone_reaches_the_room(tmp_path: Path) -> None:
    agent = """
    from antiphon import Agent, AgentServer, AgentSession
    from antiphon.testing import FakeLLM

    server = AgentServer()

    @server.rtc_session
    async def entrypoint(session: AgentSession):
        await session.start(agent=Agent(instructions=""), room=session.room, llm=FakeLLM([]))
        session.room.on("dtmf", lambda key: session.say(f"You pressed {key.digit}."))
    """

    async def check() -> None:
        async with serving(write(tmp_path, agent)) as server, Page(server.url, audio=False) as page:
            await page.wait_for("ready")
            await page.send("dtmf", digit="5")
            await page.wait_for("message", role="assistant", text="You pressed 5.")

    run(check)


def test_hanging_up_ends_the_call_and_says_where_its_report_is(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, ECHO)) as server, Page(server.url, audio=False) as page:
            await page.asks("A question")
            await page.send("hang_up")
            ended = await page.wait_for("ended", reason="the caller hung up", recording=None)
            assert await page.closed() == (1000, "the caller hung up")
            status, headers, body = await get(server.url + ended["report"])
            assert (status, b"A question" in body, b"You are heard." in body) == (200, True, True)
            assert "default-src 'none'" in headers["content-security-policy"]

    run(check)


def test_a_call_by_voice_leaves_a_stereo_recording(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, VOICE)) as server, Page(server.url) as page:
            await page.wait_for("ready")
            page.speak(speech(0.5, RATE))
            await page.wait_for("message", role="assistant")
            await page.send("hang_up")
            ended = await page.wait_for("ended")
            _, headers, body = await get(server.url + ended["recording"])
            assert headers["content-type"] == "audio/wav"
            with wave.open(io.BytesIO(body)) as recording:
                assert (recording.getnchannels(), recording.getframerate()) == (2, RATE)
                samples = memoryview(recording.readframes(recording.getnframes())).cast("h")
            caller, agent = (sum(1 for sample in samples[side::2] if abs(sample) > 300) / RATE for side in (0, 1))
            assert 0.4 < caller < 0.6
            assert agent > 1.0

    run(check)


def test_an_agent_that_ends_the_call_ends_it_for_the_page(tmp_path: Path) -> None:
    agent = """
    from antiphon import Agent, AgentServer, AgentSession
    from antiphon.testing import FakeLLM

    server = AgentServer()

    @server.rtc_session
    async def entrypoint(session: AgentSession):
        await session.start(agent=Agent(instructions=""), room=session.room, llm=FakeLLM([]))
        await session.say("Goodbye.")
        session.shutdown()
    """

    async def check() -> None:
        async with serving(write(tmp_path, agent)) as server, Page(server.url, audio=False) as page:
            await page.wait_for("message", text="Goodbye.")
            await page.wait_for("ended", reason="user_initiated")
            assert (await page.closed())[0] == 1000

    run(check)


def test_an_entrypoint_that_raises_is_told_to_the_page(tmp_path: Path) -> None:
    agent = """
    from antiphon import AgentServer, JobContext

    server = AgentServer()

    @server.rtc_session
    async def entrypoint(context: JobContext):
        raise ValueError("no such database")
    """

    async def check() -> None:
        async with serving(write(tmp_path, agent)) as server, Page(server.url, audio=False) as page:
            error = await page.wait_for("error", fatal=True)
            assert "ValueError: no such database" in error["message"]
            assert (await page.closed())[0] == 4500

    run(check)


def test_what_fails_in_the_call_is_told_and_the_call_goes_on(tmp_path: Path) -> None:
    agent = """
    from antiphon import Agent, AgentServer, AgentSession
    from antiphon.testing import Fail, FakeLLM

    server = AgentServer()

    @server.rtc_session
    async def entrypoint(session: AgentSession):
        llm = FakeLLM([Fail(RuntimeError("out of order")), "Here again."])
        await session.start(agent=Agent(instructions=""), room=session.room, llm=llm)
    """

    async def check() -> None:
        async with serving(write(tmp_path, agent)) as server, Page(server.url, audio=False) as page:
            await page.asks("Hello")
            assert "out of order" in (await page.wait_for("error", fatal=False))["message"]
            assert await page.asks("Again") == "Here again."

    run(check)


def test_a_handoff_names_the_agent_that_took_over(tmp_path: Path) -> None:
    agent = """
    from antiphon import Agent, AgentServer, AgentSession
    from antiphon.testing import FakeLLM

    server = AgentServer()

    class Billing(Agent):
        def __init__(self):
            super().__init__(instructions="")

    @server.rtc_session
    async def entrypoint(session: AgentSession):
        await session.start(agent=Agent(instructions=""), room=session.room, llm=FakeLLM([]))
        session.update_agent(Billing())
    """

    async def check() -> None:
        async with serving(write(tmp_path, agent)) as server, Page(server.url, audio=False) as page:
            await page.wait_for("handoff", agent="Billing")

    run(check)


def test_each_answer_comes_with_where_its_time_went(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, ECHO)) as server, Page(server.url, audio=False) as page:
            await page.asks("Hello")
            turn = await page.wait_for("turn")
            assert (turn["turn"], turn["origin"]) == (1, "typed")

    run(check)


def test_the_server_says_goodbye_when_it_stops(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, ECHO)) as server:
            async with Page(server.url, audio=False) as page:
                await page.wait_for("ready")
                server.stop()
                await page.wait_for("ended", reason="the server stops")

    run(check)


def test_a_page_that_is_gone_ends_its_call(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, ECHO)) as server:
            async with Page(server.url, audio=False) as page:
                await page.wait_for("ready")
                assert server.calls.running == 1
            await wait_until(lambda: not server.calls.running)

    run(check)


def test_an_agent_at_module_level_begins_every_call_anew(tmp_path: Path) -> None:
    agent = """
    from antiphon import Agent
    from antiphon.testing import FakeLLM

    def heard(request):
        return str(sum(item.type == "message" and item.role == "user" for item in request.chat_ctx.items))

    agent = Agent(instructions="", llm=FakeLLM(heard))
    """

    async def check() -> None:
        async with serving(write(tmp_path, agent)) as server:
            async with Page(server.url, audio=False) as one, Page(server.url, audio=False) as two:
                assert [await one.asks("Hello"), await one.asks("Again")] == ["1", "2"]
                assert await two.asks("Hello") == "1"
            async with Page(server.url, audio=False) as three:
                assert await three.asks("Hello") == "1"

    run(check)


def test_where_aiortc_is_missing_a_page_gets_an_empty_answer_and_calls_again_by_its_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "aiortc", None)

    async def check() -> None:
        async with serving(write(tmp_path, VOICE)) as server:
            async with Page(server.url, transport="webrtc") as page:
                await page.send("offer", sdp="v=0")
                await page.wait_for("answer", sdp="")
            async with Page(server.url) as page:
                await page.wait_for("ready", transport="websocket")

    run(check)


def test_a_fault_of_our_own_ends_that_call_with_its_name(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, ECHO)) as server:
            server.calls.file.server = object()  # type: ignore[assignment]  # something that cannot hold a call
            async with Page(server.url, audio=False) as page:
                assert "AttributeError" in (await page.wait_for("error", fatal=True))["message"]
                assert (await page.closed())[0] == 4500

    run(check)


def test_a_call_whose_report_cannot_be_written_ends_without_one(tmp_path: Path) -> None:
    async def check() -> None:
        full = tmp_path / "full"
        full.write_text("a file where a folder should be")
        async with serving(write(tmp_path, ECHO), folder=full) as server, Page(server.url, audio=False) as page:
            await page.wait_for("ready")
            await page.send("hang_up")
            await page.wait_for("ended", report=None, recording=None)

    run(check)


def test_shutdown_callbacks_learn_why_the_call_ended(tmp_path: Path) -> None:
    agent = """
    from pathlib import Path
    from antiphon import Agent, AgentServer, AgentSession, JobContext
    from antiphon.testing import FakeLLM

    server = AgentServer()

    @server.rtc_session
    async def entrypoint(context: JobContext):
        context.add_shutdown_callback(lambda reason: Path(__file__).with_suffix(".txt").write_text(reason))
        await AgentSession(llm=FakeLLM([])).start(agent=Agent(instructions=""), room=context.room)
    """

    async def check() -> None:
        async with serving(write(tmp_path, agent)) as server, Page(server.url, audio=False) as page:
            await page.wait_for("ready")
            await page.send("hang_up")
            await page.wait_for("ended")

    run(check)
    assert (tmp_path / "agent.txt").read_text() == "the caller hung up"


def test_the_report_of_a_spoken_call_has_measured_latencies(tmp_path: Path) -> None:
    async def check() -> None:
        async with serving(write(tmp_path, VOICE)) as server, Page(server.url) as page:
            await page.wait_for("ready")
            await page.asks("A typed turn does not count.")
            page.speak(speech(0.5, RATE))
            await page.until(lambda: len(page.of("message", role="assistant")) == 2)
            await page.send("hang_up")
            ended = await page.wait_for("ended")
            _, _, body = await get(server.url + ended["report"])
            values = re.search(rb'"latency": \{[^}]*"values": \[([\d.]+)\]', body)
            assert values is not None
            assert 200 < float(values.group(1)) < 5000

    run(check)
