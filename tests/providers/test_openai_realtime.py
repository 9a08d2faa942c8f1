"""OpenAI's Realtime API against a double of the service that checks every event."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from antiphon import Agent, AgentSession, function_tool
from antiphon.chat import ChatContext, ChatItem, FunctionCall, FunctionCallOutput
from antiphon.errors import (
    MissingKey,
    ProviderConnectionError,
    ProviderError,
    ProviderStatusError,
    ProviderTimeout,
    ToolRefused,
)
from antiphon.plugins import openai
from antiphon.realtime import (
    AudioDelta,
    Failed,
    FunctionCallDone,
    InputCommitted,
    InputTranscribed,
    RealtimeSetup,
    ResponseDone,
    ResponseStarted,
    SpeechStarted,
    SpeechStopped,
    TextDelta,
)
from antiphon.testing import FakeMicrophone, FakeSpeaker, Reply, silence, speech, transcript, wait_until
from antiphon.testing.realtime_contract import Listener
from tests.providers.openai_realtime_double import RealtimeDouble
from tests.providers.websocket_double import WebSocketDouble, cut, garble, hang

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection

LONG = "This is a rather long answer that goes on for quite a while, so that there is time enough to interrupt it."


def model(server: WebSocketDouble, **options: Any) -> openai.realtime.RealtimeModel:
    return openai.realtime.RealtimeModel(api_key="k", base_url=server.url, timeout=1.0, **options)


@asynccontextmanager
async def talking(
    service: RealtimeDouble, setup: RealtimeSetup | None = None, **options: Any
) -> AsyncIterator[tuple[Listener, WebSocketDouble]]:
    async with (
        WebSocketDouble(service) as server,
        model(server, **options).session(setup or RealtimeSetup()) as session,
    ):
        talk = Listener(session, timeout=5.0)
        yield talk, server
        await session.aclose()
        await talk.end()


def test_the_session_is_set_up_as_asked() -> None:
    @function_tool
    async def book(day: str) -> str:
        """Book a table.

        Args:
            day: Which day.
        """
        return day

    async def main() -> None:
        service = RealtimeDouble(["Hi."])
        setup = RealtimeSetup("Be brief.", [book], ChatContext.empty().items)
        async with talking(service, setup, voice="cedar", model="gpt-realtime-mini") as (talk, server):
            talk.session.generate_reply()
            await talk.given(ResponseDone)
            assert server.query == {"model": "gpt-realtime-mini"}
            assert server.attempts[0].headers["Authorization"] == "Bearer k"
            session = service.lines[0].session
            assert session["instructions"] == "Be brief." and session["audio"]["output"]["voice"] == "cedar"
            assert session["audio"]["input"]["turn_detection"]["interrupt_response"] is False
            (tool,) = session["tools"]
            assert tool["name"] == "book" and tool["parameters"]["properties"]["day"]["description"] == "Which day."

    asyncio.run(main())


def test_a_response_is_text_and_sound_under_its_request() -> None:
    async def main() -> None:
        async with talking(RealtimeDouble(["It is noon."])) as (talk, _):
            request = talk.session.generate_reply()
            done = await talk.given(ResponseDone)
            assert talk.of(ResponseStarted) == [ResponseStarted(done.response_id, request)]
            assert "".join(event.text for event in talk.of(TextDelta)) == "It is noon."
            assert {event.frame.sample_rate for event in talk.of(AudioDelta)} == {24_000}
            assert done.status == "completed"

    asyncio.run(main())


def test_the_services_detector_ends_turns_and_it_answers_them_unasked() -> None:
    async def main() -> None:
        async with talking(RealtimeDouble(["Noon."], hears=["what time is it"])) as (talk, _):
            talk.session.push_audio(speech(0.5))
            talk.session.push_audio(silence(0.5))
            done = await talk.given(ResponseDone)
            await talk.given(InputTranscribed, count=5)
            kinds = [type(event) for event in talk.events if not isinstance(event, (TextDelta, AudioDelta))]
            assert kinds[:4] == [SpeechStarted, SpeechStopped, InputCommitted, ResponseStarted]
            committed = talk.of(InputCommitted)[0]
            assert committed.answered
            assert talk.of(InputTranscribed)[-1] == InputTranscribed(committed.item_id, "what time is it")
            assert talk.of(InputTranscribed)[1].text.strip() == "what time"
            assert talk.of(ResponseStarted) == [ResponseStarted(done.response_id)]

    asyncio.run(main())


def test_a_turn_that_we_end_is_not_answered_unasked() -> None:
    async def main() -> None:
        async with talking(RealtimeDouble(hears=["hello"]), turn_detection=None) as (talk, _):
            talk.session.push_audio(speech(0.5))
            talk.session.commit_audio()
            assert not (await talk.given(InputCommitted)).answered
            assert (await talk.given(InputTranscribed, count=2)).text == "hello"

    asyncio.run(main())


def test_a_commit_of_nothing_is_refused_and_the_next_turn_counts_as_the_services() -> None:
    async def main() -> None:
        async with talking(RealtimeDouble(["Hi."], hears=["hello"])) as (talk, _):
            talk.session.commit_audio()
            await talk.given(Failed)
            talk.session.push_audio(speech(0.5))
            talk.session.push_audio(silence(0.5))
            assert (await talk.given(InputCommitted)).answered

    asyncio.run(main())


def test_calls_come_whole_and_take_their_outputs() -> None:
    async def main() -> None:
        service = RealtimeDouble([Reply("", [("time", {"place": "here"}), ("time", {})]), "Noon."])
        async with talking(service) as (talk, _):
            talk.session.generate_reply()
            await talk.given(ResponseDone)
            first, second = talk.of(FunctionCallDone)
            assert (first.name, first.arguments, first.call_id) == ("time", '{"place": "here"}', "call_1")
            talk.session.submit_outputs(
                [FunctionCallOutput(call_id=call.call_id, output="noon") for call in (first, second)]
            )
            talk.session.generate_reply()
            await talk.given(ResponseDone, count=2)
            assert not talk.of(Failed)
            kinds = [event["type"] for event in service.received]
            assert kinds[-3:] == ["conversation.item.create", "conversation.item.create", "response.create"]

    asyncio.run(main())


def test_the_conversation_so_far_is_told_in_the_services_form() -> None:
    async def main() -> None:
        context = ChatContext.empty()
        context.add_message(role="user", content="A table, please")
        context.items.append(FunctionCall(call_id="c/finished", name="book", arguments="{}"))
        context.items.append(FunctionCallOutput(call_id="c/finished", name="book", output="Booked"))
        context.add_message(role="assistant", content="Done.")
        service = RealtimeDouble(["Bye."])
        async with talking(service, RealtimeSetup(items=context.items)) as (talk, _):
            talk.session.generate_reply()
            await talk.given(ResponseDone)
            items = service.lines[0].items[:4]
            assert [item["type"] for item in items] == [
                "message",
                "function_call",
                "function_call_output",
                "message",
            ]
            assert items[1]["call_id"] == items[2]["call_id"] == "c--finished"
            assert items[3]["content"] == [{"type": "output_text", "text": "Done."}]

    asyncio.run(main())


def test_the_output_of_a_failed_call_says_so() -> None:
    failed = FunctionCallOutput(call_id="c", name="book", output="Full.", is_error=True)

    async def main() -> None:
        service = RealtimeDouble(["Bye."])
        items: list[ChatItem] = [FunctionCall(call_id="c", name="book", arguments="{}"), failed]
        async with talking(service, RealtimeSetup(items=items)) as (talk, _):
            talk.session.generate_reply()
            await talk.given(ResponseDone)
            assert service.lines[0].items[1]["output"] == "[error] Full."

    asyncio.run(main())


def test_instructions_for_one_response_do_not_replace_the_agents() -> None:
    async def main() -> None:
        service = RealtimeDouble(["Hi."])
        async with talking(service, RealtimeSetup("Be brief.")) as (talk, _):
            talk.session.generate_reply(instructions="Greet.", tool_choice="none")
            await talk.given(ResponseDone)
            (create,) = service.of("response.create")
            assert create["response"]["instructions"] == "Be brief.\n\nGreet."
            assert create["response"]["tool_choice"] == "none"

    asyncio.run(main())


def test_a_response_asked_for_while_another_goes_on_comes_after_it() -> None:
    async def main() -> None:
        async with talking(RealtimeDouble(["One.", "Two."])) as (talk, _):
            requests = [talk.session.generate_reply(), talk.session.generate_reply()]
            await talk.given(ResponseDone, count=2)
            assert [event.request for event in talk.of(ResponseStarted)] == requests
            assert not talk.of(Failed)

    asyncio.run(main())


def test_a_response_that_the_service_began_first_does_not_lose_ours() -> None:
    async def main() -> None:
        service = RealtimeDouble(["Unasked.", "Asked."], hears=["hello"])
        async with talking(service) as (talk, _):
            talk.session.push_audio(speech(0.5))
            talk.session.push_audio(silence(0.5))
            request = talk.session.generate_reply()  # before anything has arrived
            await talk.given(ResponseDone, count=2)
            assert [event.request for event in talk.of(ResponseStarted)] == [None, request]
            assert not talk.of(Failed)
            assert len(service.of("response.create")) == 2

    asyncio.run(main())


def test_an_interrupted_response_is_cancelled_and_truncated_at_what_was_heard() -> None:
    async def main() -> None:
        service = RealtimeDouble([LONG], pause=0.02)
        async with talking(service) as (talk, _):
            talk.session.generate_reply()
            started = await talk.given(ResponseStarted)
            await talk.given(AudioDelta, count=4)
            talk.session.interrupt()
            talk.session.truncate(started.response_id, 0.25)
            assert (await talk.given(ResponseDone)).status == "cancelled"
            talk.session.interrupt()
            talk.session.generate_reply()
            await talk.given(ResponseDone, count=2)
            assert [item["cut_at"] for item in service.lines[0].items if "cut_at" in item] == [250]
            assert not talk.of(Failed)

    asyncio.run(main())


def test_truncation_past_the_end_is_not_even_asked_for() -> None:
    async def main() -> None:
        service = RealtimeDouble(["Short."])
        async with talking(service) as (talk, _):
            talk.session.generate_reply()
            done = await talk.given(ResponseDone)
            talk.session.truncate(done.response_id, 60.0)
            talk.session.truncate("no such response", 0.0)
            talk.session.update_instructions("x")
            await asyncio.sleep(0.1)
            assert not service.of("conversation.item.truncate") and not talk.of(Failed)

    asyncio.run(main())


def test_a_model_may_give_text_only() -> None:
    async def main() -> None:
        async with talking(RealtimeDouble(["Hi there."]), modalities=["text"]) as (talk, _):
            talk.session.generate_reply()
            await talk.given(ResponseDone)
            assert "".join(event.text for event in talk.of(TextDelta)) == "Hi there." and not talk.of(AudioDelta)

    asyncio.run(main())


def test_a_failed_response_says_why_and_the_session_goes_on() -> None:
    async def main() -> None:
        async with talking(RealtimeDouble(["Well,", "Noon."], fails="Well,")) as (talk, _):
            talk.session.generate_reply()
            done = await talk.given(ResponseDone)
            assert done.status == "failed" and isinstance(done.error, ProviderError)
            assert "the model fell over" in str(done.error)
            talk.session.generate_reply()
            assert (await talk.given(ResponseDone, count=2)).status == "completed"

    asyncio.run(main())


def test_a_refused_request_is_named() -> None:
    async def main() -> None:
        async with talking(RealtimeDouble()) as (talk, _):
            talk.session.submit_outputs([FunctionCallOutput(call_id="never", output="x")])
            failed = await talk.given(Failed)
            assert failed.request is None and "no call never" in str(failed.error)

    asyncio.run(main())


async def _fails(*services: Callable[[Any], Awaitable[None]], refuse: int | None = None) -> Exception:
    async with WebSocketDouble(*services, refuse=[] if refuse is None else [refuse]) as server:
        async with model(server).session(RealtimeSetup()) as session:
            session.generate_reply()
            talk = Listener(session, timeout=5.0)
            try:
                await talk.end()
            except Exception as error:
                return error
    raise AssertionError("it went well")


@pytest.mark.parametrize(("status", "retryable"), [(401, False), (429, True), (500, True)])
def test_a_connection_that_is_refused_is_an_error(status: int, retryable: bool) -> None:
    error = asyncio.run(_fails(hang, refuse=status))
    assert isinstance(error, ProviderStatusError) and error.status == status and error.retryable is retryable


def test_a_key_is_wanted_at_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    async def main() -> None:
        async with openai.realtime.RealtimeModel().session(RealtimeSetup()) as session:
            with pytest.raises(MissingKey, match="OPENAI_API_KEY"):
                await anext(aiter(session))

    asyncio.run(main())


def test_a_service_that_nobody_serves_is_an_error() -> None:
    async def main() -> None:
        unreachable = openai.realtime.RealtimeModel(api_key="k", base_url="http://127.0.0.1:9/v1")
        async with unreachable.session(RealtimeSetup()) as session:
            with pytest.raises(ProviderConnectionError, match="cannot be reached"):
                await anext(aiter(session))

    asyncio.run(main())


def test_a_connection_that_breaks_in_the_middle_is_an_error() -> None:
    error = asyncio.run(_fails(RealtimeDouble(["Well,"], breaks_off="Well,")))
    assert isinstance(error, ProviderConnectionError) and error.retryable
    assert isinstance(asyncio.run(_fails(cut)), ProviderConnectionError)


def test_what_is_no_json_is_an_error() -> None:
    assert isinstance(asyncio.run(_fails(garble)), ProviderConnectionError)


def test_events_of_another_form_are_an_error() -> None:
    async def odd(connection: Any) -> None:
        await connection.recv()
        await connection.send('{"type": "response.created", "response": 3}')
        await connection.wait_closed()

    error = asyncio.run(_fails(odd))
    assert isinstance(error, ProviderConnectionError) and "another form" in str(error)


def test_a_session_that_is_refused_cannot_be_used() -> None:
    error = asyncio.run(_fails(RealtimeDouble(refuses_setup=True)))
    assert isinstance(error, ProviderError) and not error.retryable and "no such voice" in str(error)


def test_a_session_is_set_up_without_the_tools_that_the_service_refuses() -> None:
    def tool(name: str) -> Any:
        async def run() -> str:
            """Do it."""
            return ""

        return function_tool(run, name=name)

    tools = [tool(name) for name in ("book", "look_up", "send", "find")]

    async def main() -> None:
        service = RealtimeDouble(["Hi."], refuses_tools=["look_up", "send", "find"])
        async with talking(service, RealtimeSetup("Be brief.", tools[:3])) as (talk, _):
            talk.session.generate_reply()
            await talk.given(ResponseDone)
            session = service.lines[0].session
            await wait_until(lambda: "tools" in session)  # the service may have answered before it was set up
            assert [tool["name"] for tool in session["tools"]] == ["book"]
            assert session["instructions"] == "Be brief."
            talk.session.update_tools(tools)
            await talk.given(Failed, count=3)
            refused = [failed.error for failed in talk.of(Failed)]
            assert [error.tool for error in refused if isinstance(error, ToolRefused)] == ["look_up", "send", "find"]

    asyncio.run(main())


def test_a_service_that_does_not_answer_the_door_is_an_error() -> None:
    async def main() -> None:
        gone = asyncio.Event()

        async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()
            await writer.wait_closed()
            gone.set()

        server = await asyncio.start_server(mute, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        slow = openai.realtime.RealtimeModel(api_key="k", base_url=f"http://127.0.0.1:{port}", timeout=0.2)
        async with slow.session(RealtimeSetup()) as session:
            with pytest.raises(ProviderTimeout):
                await anext(aiter(session))
        async with asyncio.timeout(5.0):
            await gone.wait()
        server.close()
        await server.wait_closed()

    asyncio.run(main())


def test_a_service_that_is_there_shows_it_and_one_that_is_gone_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai.realtime, "_PING", 0.02)

    async def main() -> None:
        begins, goes = asyncio.Event(), asyncio.Event()

        async def service(connection: ServerConnection) -> None:
            await begins.wait()  # pongs are given meanwhile
            await connection.send('{"type": "session.created", "session": {}}')
            await goes.wait()
            connection.transport.pause_reading()
            await connection.wait_closed()

        async with WebSocketDouble(service) as server, model(server).session(RealtimeSetup()) as session:
            assert session.silence is None
            listening = asyncio.ensure_future(anext(aiter(session), None))
            await wait_until(lambda: server.connections and (session.silence or 0.0) > 0.5)
            begins.set()
            await wait_until(lambda: (session.silence or 9.0) < 0.2)
            await asyncio.sleep(0.5)
            await wait_until(lambda: (session.silence or 9.0) < 0.2)
            goes.set()
            await wait_until(lambda: (session.silence or 0.0) > 0.5)
            await session.aclose()
            await asyncio.gather(listening, return_exceptions=True)

    asyncio.run(main())


def test_a_whole_call_with_a_tool() -> None:
    class Clock(Agent):
        @function_tool
        async def time(self) -> str:
            """Time."""
            return "noon"

    async def main() -> None:
        service = RealtimeDouble([Reply("", [("time", {})]), "It is noon."], hears=["what time is it"])
        async with WebSocketDouble(service) as server:
            microphone, speaker = FakeMicrophone(), FakeSpeaker()
            async with AgentSession[Any](llm=model(server)) as session:
                await session.start(Clock(), input=microphone, output=speaker)
                answered = asyncio.Event()

                def added(event: Any) -> None:
                    if event.item.role == "assistant":
                        answered.set()

                session.on("conversation_item_added", added)
                await microphone.speak(0.4)
                async with asyncio.timeout(5.0):
                    await answered.wait()
                assert transcript(session.history) == [
                    "user: what time is it",
                    "call time({})",
                    "output time: noon",
                    "assistant: It is noon.",
                ]
                assert speaker.sounds

    asyncio.run(main())


def test_a_call_goes_on_after_the_connection_broke() -> None:
    async def main() -> None:
        service = RealtimeDouble(["Well,", "Sorry.", "Noon."], breaks_off="Well,")
        async with WebSocketDouble(service) as server:
            async with AgentSession[Any](llm=model(server), failure_line="Sorry.") as session:
                errors: list[BaseException] = []
                session.on("error", lambda event: errors.append(event.error))
                await session.start(Agent())
                async with asyncio.timeout(5.0):
                    await session.run(user_input="hello")
                    await session.run(user_input="what time is it")
                assert len(service.lines) == 2 and len(errors) == 1
                assert transcript(session.history)[-2:] == ["user: what time is it", "assistant: Sorry."]

    asyncio.run(main())


def test_a_caller_who_interrupts_is_answered_and_the_rest_is_cut_from_the_models_memory() -> None:
    async def main() -> None:
        service = RealtimeDouble([LONG, "Yes?"], hears=["tell me", "wait"])
        async with WebSocketDouble(service) as server:
            microphone, speaker = FakeMicrophone(), FakeSpeaker()
            async with AgentSession[Any](llm=model(server)) as session:
                errors: list[BaseException] = []
                session.on("error", lambda event: errors.append(event.error))
                answered = asyncio.Event()

                def added(event: Any) -> None:
                    if event.item.role == "assistant" and not event.item.interrupted:
                        answered.set()

                session.on("conversation_item_added", added)
                await session.start(Agent(), input=microphone, output=speaker)
                await microphone.speak(0.4)
                await asyncio.sleep(1.2)
                await microphone.speak(0.4)
                async with asyncio.timeout(5.0):
                    await answered.wait()
                lines = transcript(session.history)
                assert lines[0] == "user: tell me" and lines[2:] == ["user: wait", "assistant: Yes?"]
                assert lines[1].endswith("[cut]") and LONG.startswith(lines[1][len("assistant: ") : -len(" [cut]")])
                (cut_at,) = [item["cut_at"] for item in service.lines[0].items if "cut_at" in item]
                assert 1000 * speaker.sounds[0].duration == pytest.approx(cut_at, abs=300)
                assert not errors

    asyncio.run(main())
