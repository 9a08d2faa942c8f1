"""Sessions, contexts and agents have the names that printed code uses, and they mean what it expects."""

from __future__ import annotations

import importlib
import json
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from antiphon import (
    Agent,
    AgentSession,
    ChatContext,
    ChatMessage,
    FunctionCall,
    ModelSettings,
    RunContext,
    function_tool,
)
from antiphon.testing import FakeLLM, FakeTTS, Reply, run_virtual, transcript
from tests.calls import converse, outputs

NAMES = {
    "antiphon": [
        *("Agent", "AgentConfigUpdate", "AgentServer", "AgentSession", "AsyncRunContext", "AsyncToolset"),
        *("ChatContext", "ChatMessage", "CloseEvent", "EndCallTool", "FunctionCall", "FunctionTool", "ModelSettings"),
        *("NOT_GIVEN", "RawFunctionTool", "RunContext", "SpeechCreatedEvent", "SpeechHandle", "StopResponse", "Tool"),
        *("ToolError", "ToolFlag", "ToolResult", "Toolset", "function_tool", "get_job_context", "inference"),
    ],
    "antiphon.plugins": ["openai", "deepgram", "cartesia", "silero"],
    "antiphon.plugins.openai": ["LLM", "STT", "TTS"],
    "antiphon.plugins.deepgram": ["STT"],
    "antiphon.plugins.cartesia": ["TTS"],
    "antiphon.inference": ["LLM", "STT", "TTS"],
}


@pytest.mark.parametrize(("module", "name"), [(module, name) for module, names in NAMES.items() for name in names])
def test_what_printed_code_imports_is_there(module: str, name: str) -> None:
    names: dict[str, Any] = {}
    exec(f"from {module} import {name}", names)
    assert names[name] is not None


@pytest.mark.parametrize(
    "make",
    [
        "openai.LLM(model='m')",
        "openai.TTS()",
        "openai.STT()",
        "deepgram.STT(model='nova-3')",
        "cartesia.TTS(voice='v')",
    ],
)
def test_models_are_made_without_a_key(make: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "DEEPGRAM_API_KEY", "CARTESIA_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    name = make.partition(".")[0]
    assert eval(make, {name: importlib.import_module(f"antiphon.plugins.{name}")}) is not None


@pytest.mark.parametrize("value", [{}, [], 0, None, SimpleNamespace(orders=[])])
def test_userdata_may_be_of_any_type_given_or_assigned(value: Any) -> None:
    @function_tool
    async def see(ctx: RunContext) -> bool:
        """See."""
        return ctx.userdata is value and ctx.session.userdata is value

    async def main() -> None:
        for given in (True, False):
            session = AgentSession[Any](
                llm=FakeLLM([Reply(calls=[("see", {})]), "Seen."]), **({"userdata": value} if given else {})
            )
            if not given:
                session.userdata = value
            async with session:
                await session.start(Agent(tools=[see]))
                await session.run(user_input="Look.")
            assert outputs(session) == ["true"]

    run_virtual(main())


def test_userdata_is_a_dict_from_the_first_read() -> None:
    session = AgentSession[Any]()
    if not hasattr(session, "userdata"):
        raise AssertionError("natively it is there")
    session.userdata["seats"] = 4
    assert session.userdata == {"seats": 4}


def test_the_context_gives_the_call_as_the_model_made_it() -> None:
    seen: list[Any] = []

    @function_tool
    async def look(ctx: RunContext, where: str) -> None:
        """Look."""
        call = ctx.function_call
        seen.extend(
            [ctx.tool_call is call, call.name, json.loads(call.arguments), ctx.agent, ctx.session.current_agent]
        )
        assert ctx.speech_handle is ctx.session.current_speech
        assert json.loads(call.model_dump_json())["call_id"] == call.call_id != ""

    async def main() -> None:
        agent = Agent(tools=[look])
        await converse(agent, "Look.", llm=FakeLLM([Reply(calls=[("look", {"where": "here"})])]))
        assert seen == [True, "look", {"where": "here"}, agent, agent]

    run_virtual(main())


def test_an_unhandled_exception_is_told_without_its_details_and_logged_with_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @function_tool
    async def crash() -> str:
        """Crash."""
        raise RuntimeError("password is 1234")

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("crash", {})]), "Sorry.", "Hello."])
        session = await converse(Agent(tools=[crash]), "Go.", "Still there?", llm=llm)
        assert "error crash: An internal error occurred" in transcript(session.history)
        assert transcript(session.history)[-1] == "assistant: Hello."
        assert not any("1234" in line for lines in llm.histories for line in lines)

    with caplog.at_level(logging.ERROR, logger="antiphon"):
        run_virtual(main())
    assert "password is 1234" in caplog.text


@pytest.mark.parametrize("method", ["wait_for_inactive", "wait_for_idle"])
def test_waiting_is_over_when_nobody_speaks_and_nothing_is_queued(method: str) -> None:
    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM(["One.", "Two."])) as session:
            await session.start(Agent())
            first, second = session.generate_reply(), session.generate_reply()
            await getattr(session, method)()
            assert first.done() and second.done()

    run_virtual(main())


def test_an_agent_uses_its_own_models_else_the_sessions() -> None:
    async def main() -> None:
        shared, own = FakeLLM(), FakeLLM(["Mine."])
        voice = FakeTTS()
        agent = Agent(llm=own)
        async with AgentSession[Any](llm=shared, tts=voice) as session:
            await session.start(agent)
            assert (agent.llm, agent.tts, session.llm) == (own, voice, shared)
            await session.run(user_input="Hello.")
            assert transcript(session.history)[-1] == "assistant: Mine."

    run_virtual(main())


def test_nodes_may_be_overridden_and_call_the_built_in_ones() -> None:
    class Polite(Agent):
        async def llm_node(self, chat_ctx: ChatContext, tools: list[Any], model_settings: ModelSettings) -> Any:
            chat_ctx.insert(ChatMessage(role="system", content=["Be polite."]))
            return Agent.default.llm_node(self, chat_ctx, tools, model_settings)

    async def main() -> None:
        llm = FakeLLM(["At your service."])
        session = await converse(Polite(), "Hello.", llm=llm)
        assert "system: Be polite." in llm.histories[0]
        assert transcript(session.history) == ["user: Hello.", "assistant: At your service."]

    run_virtual(main())


def test_callbacks_come_and_go() -> None:
    async def main() -> None:
        said: list[str] = []
        session = AgentSession[Any](llm=FakeLLM())
        session.once("conversation_item_added", lambda event: said.append(f"once {event.item.text_content}"))

        @session.on("conversation_item_added")
        def on_item(event: Any) -> None:
            said.append(f"on {event.item.text_content}")

        closed: list[str] = []
        session.on("close", lambda event: closed.append(event.reason.value))
        await session.start(Agent())
        await session.say("One.")
        await session.say("Two.")
        session.off("conversation_item_added", on_item)
        await session.say("Three.")
        session.shutdown()
        await session.drain()
        await session.aclose()
        assert said == ["once One.", "on One.", "on Two."]
        assert closed == ["user_initiated"]

    run_virtual(main())


def test_a_call_has_a_plain_form() -> None:
    call = FunctionCall(call_id="c", name="look", arguments="{}")
    assert json.loads(call.model_dump_json()) == call.model_dump()
    assert call.model_dump()["name"] == "look"
