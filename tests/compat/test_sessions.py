"""Sessions and agents with LiveKit's options: what is used, what is told, what is refused."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Mapping
from typing import Any

import pytest

from antiphon import RunContext, function_tool
from antiphon.chat import ChatMessage
from antiphon.errors import ProviderError
from antiphon.options import NOT_GIVEN
from antiphon.protocols import ModelKind, model_resolver
from antiphon.providers.pydantic_ai import LLM as PydanticAI
from antiphon.tasks import GetNameTask as NativeGetNameTask
from antiphon.testing import FakeLLM, FakeSpeaker, FakeTTS, Reply, run_virtual, transcript
from antiphon.tools.mcp import MCPServerStdio, MCPToolset
from antiphon_livekit.agents import Agent, AgentTask, Instructions
from antiphon_livekit.fallback import FallbackLLM, FallbackSTT, FallbackTTS
from antiphon_livekit.models import TurnDetector, vendor_class
from antiphon_livekit.notices import forget, notice
from antiphon_livekit.sessions import (
    AgentSession,
    EndpointingOptions,
    RoomInputOptions,
    TurnHandlingOptions,
    UserInputTranscribedEvent,
)
from antiphon_livekit.workflows import GetNameTask
from tests.calls import outputs


@pytest.fixture(autouse=True)
def forgetful() -> None:
    forget()


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "antiphon.livekit"]


async def converse(agent: Agent, *turns: str, llm: FakeLLM, **options: Any) -> AgentSession[Any]:
    async with AgentSession[Any](llm=llm, **options) as session:
        await session.start(agent=agent, room=None)
        for turn in turns:
            await session.run(user_input=turn)
    return session


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_the_model_may_call_tools_once_more_than_the_limit_says(limit: int) -> None:
    @function_tool
    async def look() -> str:
        """Look."""
        return "nothing yet"

    async def main() -> None:
        again = [Reply(calls=[("look", {})]) for _ in range(limit + 1)]
        llm = FakeLLM([*again, "I give up."])
        session = await converse(Agent(instructions="", tools=[look]), "Look.", llm=llm, max_tool_steps=limit)
        assert outputs(session) == ["nothing yet"] * (limit + 1)
        assert transcript(session.history)[-1] == "assistant: I give up."
        assert [bool(request.tools) for request in llm.requests] == [True] * (limit + 1) + [False]

    run_virtual(main())


def test_an_option_without_effect_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        AgentSession(ivr_detection=True, aec_warmup_duration=1.0)
    assert told(caplog) == ["AgentSession: no effect here: ivr_detection, aec_warmup_duration"]


def test_no_line_is_said_that_the_file_did_not_ask_for() -> None:
    async def main() -> None:
        session = AgentSession[Any](llm=FakeLLM(["Hello."]), tts=FakeTTS())
        await session.start(Agent(instructions=""), output=FakeSpeaker())
        assert session.options.silence is None
        await session.aclose()

    run_virtual(main())


def test_an_option_that_nobody_knows_is_refused() -> None:
    with pytest.raises(TypeError, match="endpointing_delay"):
        AgentSession(endpointing_delay=1.0)
    with pytest.raises(TypeError, match="instruction"):
        Agent(instruction="You are ...")


def test_turn_options_are_those_of_the_session(caplog: pytest.LogCaptureFixture) -> None:
    turns = TurnHandlingOptions(
        turn_detection="stt",
        endpointing=EndpointingOptions(mode="dynamic", min_delay=0.4, max_delay=2.0, alpha=0.9),
        interruption={"enabled": False, "min_words": 0, "false_interruption_timeout": 1.5},
        preemptive_generation={"enabled": True, "preemptive_tts": True},
        user_turn_limit={"max_words": 50},
    )
    options = AgentSession(turn_handling=turns).options.turns
    assert options.detection == "stt"
    assert (options.endpointing.min_delay, options.endpointing.max_delay) == (0.4, 2.0)
    assert (options.interruption.enabled, options.interruption.min_words) == (False, 1)
    assert options.interruption.false_after == 1.5
    assert options.endpointing.mode == "dynamic"
    assert options.preemptive_generation.enabled
    assert options.user_turn_limit.max_words == 50
    assert told(caplog) == [
        "turn_handling['endpointing']: no effect here: alpha",
        "turn_handling['preemptive_generation']: no effect here: preemptive_tts",
    ]


def test_the_flat_turn_options_count_too() -> None:
    session = AgentSession[Any](
        min_endpointing_delay=0.2,
        max_endpointing_delay=3.0,
        allow_interruptions=False,
        min_interruption_words=2,
        false_interruption_timeout=1.5,
    )
    turns = session.options.turns
    assert (turns.endpointing.min_delay, turns.endpointing.max_delay) == (0.2, 3.0)
    assert not turns.interruption.enabled
    assert (turns.interruption.min_words, turns.interruption.false_after) == (2, 1.5)


def test_a_turn_detector_is_taken_where_a_mode_is() -> None:
    async def main() -> None:
        session = await converse(Agent(instructions=""), "Hi", llm=FakeLLM(["Hello."]), turn_detection=TurnDetector())
        assert session.options.turns.detection == "vad"

    run_virtual(main())


def test_models_are_named_with_variants() -> None:
    async def main() -> None:
        chosen: dict[str, Any] = {}

        def resolve(given: Mapping[ModelKind, Any]) -> Mapping[ModelKind, Any]:
            chosen.update({str(kind): model for kind, model in given.items()})
            return {kind: FakeLLM([]) if kind == "llm" else None for kind in given}

        model_resolver.set(resolve)
        session = AgentSession[Any](stt="deepgram/nova-3:de", llm="openai/gpt-4.1-mini", tts="cartesia/sonic-3:a-voice")
        async with session:
            await session.start(Agent(instructions=""))
        assert (chosen["stt"].label, chosen["stt"].model, chosen["stt"].language) == ("deepgram.STT", "nova-3", "de")
        assert (chosen["llm"].label, chosen["llm"].model) == ("openai.LLM", "gpt-4.1-mini")
        assert (chosen["tts"].label, chosen["tts"].voice) == ("cartesia.TTS", "a-voice")

    run_virtual(main())


def test_a_vendor_without_models_here_is_never_usable() -> None:
    voice = Agent(instructions="", tts="elevenlabs/turbo:voice").tts
    assert (voice.label, voice.unusable()) == ("elevenlabs.TTS", "not built yet")
    with pytest.raises(ProviderError, match=r"elevenlabs\.TTS is not built yet"):
        voice.require()


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("path", "reason"), [("openai.realtime", "no OPENAI_API_KEY"), ("google.beta.realtime", "not built yet")]
)
def test_a_realtime_model_gives_way_too(path: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    model = importlib.import_module(f"livekit.plugins.{path}").RealtimeModel(voice="alloy")
    assert model.unusable() == reason


def test_other_vendors_are_reached_by_pydantic_ai(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    kind = vendor_class("anthropic", "LLM")
    model = kind(model="claude-haiku-4-5", temperature=0.2, caching="ephemeral")
    assert issubclass(kind, PydanticAI)
    assert (model.label, model.model) == ("anthropic.LLM", "anthropic:claude-haiku-4-5")
    assert model.unusable() == "no ANTHROPIC_API_KEY"
    assert told(caplog) == ["anthropic.LLM: no effect here: caching"]
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key")
    installed = importlib.util.find_spec("anthropic") is not None
    assert model.unusable() == (None if installed else "no package anthropic")


def test_a_gateway_name_takes_the_options_of_the_vendor_behind_it(caplog: pytest.LogCaptureFixture) -> None:
    ears = vendor_class("inference", "STT")("deepgram/nova-3", keyterms=["Antiphon"], fallback="x")
    assert ears.behind.label == "deepgram.STT"
    assert told(caplog) == ["inference.STT: no effect here: fallback"]


def test_a_fallback_has_the_members_that_can_be_used(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    async def main() -> None:
        llm = FallbackLLM([vendor_class("openai", "LLM")(), FakeLLM(["Hello."])], attempt_timeout=3.0, sticky=True)
        assert llm.unusable() is None
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Agent(instructions=""))
            await session.run(user_input="Hi")
            assert transcript(session.history) == ["user: Hi", "assistant: Hello."]

    run_virtual(main())
    assert told(caplog) == ["llm.FallbackAdapter: no effect here: sticky"]


@pytest.mark.parametrize(
    ("kind", "names"), [(FallbackSTT, ["deepgram/nova-3"]), (FallbackTTS, ["cartesia/sonic-3", "rime/arcana"])]
)
def test_a_fallback_without_any_gives_way(kind: type[Any], names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("DEEPGRAM_API_KEY", "CARTESIA_API_KEY"):
        monkeypatch.delenv(key, raising=False)
    model = kind(names, attempt_timeout=1.0)
    assert model.unusable() == "none of its models can be used"
    assert model.label.endswith(".FallbackAdapter")


def test_mcp_servers_become_toolsets() -> None:
    agent = Agent(instructions="", mcp_servers=[MCPServerStdio("one"), MCPServerStdio("two")])
    assert [(type(tool), tool.id) for tool in agent.tools] == [(MCPToolset, "mcp_1"), (MCPToolset, "mcp_2")]


def test_what_is_not_given_to_an_agent_is_the_sessions() -> None:
    async def main() -> None:
        llm = FakeLLM(["Hello."])
        agent = Agent(instructions="", chat_ctx=NOT_GIVEN, llm=NOT_GIVEN, stt=NOT_GIVEN, allow_interruptions=NOT_GIVEN)
        session = await converse(agent, "Hi", llm=llm)
        assert transcript(session.history) == ["user: Hi", "assistant: Hello."]

    run_virtual(main())


def test_room_options_are_told(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM([])) as session:
            await session.start(Agent(instructions=""), room_input_options=RoomInputOptions(audio_enabled=True))

    run_virtual(main())
    assert told(caplog) == ["session.start: no effect here: room_input_options"]


def test_a_message_is_taken_as_the_callers_words() -> None:
    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM(["Hello."])) as session:
            await session.start(Agent(instructions=""))
            await session.generate_reply(user_input=ChatMessage(role="user", content=["Hi"]), instructions=NOT_GIVEN)
            assert transcript(session.history) == ["user: Hi", "assistant: Hello."]

    run_virtual(main())


def test_events_have_the_fields_that_listeners_read() -> None:
    seen: list[Any] = []
    session = AgentSession[Any]()
    session.on("user_input_transcribed", seen.append)
    from antiphon.events import UserInputTranscribedEvent as Native

    session.emit("user_input_transcribed", Native(transcript="hello", is_final=True, created_at=1.0))
    assert seen == [UserInputTranscribedEvent(transcript="hello", is_final=True, created_at=1.0, speaker_id=None)]


def test_executed_tools_say_whether_a_reply_follows() -> None:
    @function_tool
    async def look(ctx: RunContext) -> str:
        """Look."""
        return "seen"

    @function_tool
    async def note(ctx: RunContext) -> None:
        """Note."""

    async def main() -> None:
        replies: list[bool] = []
        llm = FakeLLM([Reply(calls=[("look", {})]), "Seen.", Reply(calls=[("note", {})])])
        async with AgentSession[Any](llm=llm) as session:
            session.on("function_tools_executed", lambda event: replies.append(event.has_tool_reply))
            await session.start(Agent(instructions="", tools=[look, note]))
            await session.run(user_input="Look.")
            await session.run(user_input="Note.")
        assert replies == [True, False]

    run_virtual(main())


def test_an_attribute_that_is_absent_says_what_to_use() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'input' here: .*start\(input=\)"):
        _ = AgentSession().input
    assert not hasattr(AgentSession(), "userdata")


def test_userdata_that_was_not_set_is_both_errors() -> None:
    for kind in (AttributeError, ValueError):
        with pytest.raises(kind):
            _ = AgentSession().userdata


def test_a_task_takes_an_agents_options(caplog: pytest.LogCaptureFixture) -> None:
    class Ask(AgentTask[str]):
        def __init__(self) -> None:
            super().__init__(instructions="Ask.", turn_detection="vad", tts="cartesia/sonic-3")

    assert isinstance(Ask(), Agent)
    assert told(caplog) == ["Ask: no effect here: turn_detection"]


def test_ready_tasks_tell_what_they_do_not_know(caplog: pytest.LogCaptureFixture) -> None:
    task = GetNameTask(middle_name=True, extra_instructions="Be brief.", require_explicit_ask=True, llm=NOT_GIVEN)
    assert isinstance(task, NativeGetNameTask) and "Be brief." in task.instructions
    assert task.parts == ["first_name", "middle_name", "last_name"]
    assert told(caplog) == ["GetNameTask: no effect here: require_explicit_ask"]


def test_instructions_have_a_wording_for_each_kind_of_call() -> None:
    both = Instructions(audio="Say {name}.", text="Write {name}.")
    assert (both.render(data={"name": "Ann"}), both.render(modality="text")) == ("Say Ann.", "Write {name}.")
    assert Agent(instructions=Instructions("Help.")).instructions == "Help."


def test_a_notice_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    notice("mind the gap")
    notice("mind the gap")
    assert [(r.levelno, r.getMessage()) for r in caplog.records] == [(logging.WARNING, "mind the gap")]
