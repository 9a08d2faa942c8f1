"""Every block of Python in `docs/` runs, or at least compiles, and what the new pages promise of theirs is so."""

from __future__ import annotations

import ast
import asyncio
import importlib.util
import json
from typing import Any

import pytest

import antiphon
from antiphon import Agent, AgentConfigUpdate, AgentSession, ToolError, function_tool
from antiphon.chat import ChatContext
from antiphon.testing import FakeLLM, FakeTTS, Reply, run_virtual, transcript
from tests.calls import VoiceCall, converse, outputs
from tests.docs.pages import PAGES, blocks


def namespace(page: str) -> dict[str, Any]:
    """What all the blocks of a page define, run in their order."""
    names: dict[str, Any] = {"__name__": page}
    for block in blocks(page):
        exec(compile(block, page, "exec", dont_inherit=True), names)
    return names


RUN_WHOLE = (
    "background.md",
    "changing_tools.md",
    "ending.md",
    "http.md",
    "interruption.md",
    "languages.md",
    "node.md",
    "page.md",
    "pipecat.md",
    "providers.md",
    "retrieval.md",
    "structured.md",
    "supervisor.md",
    "telemetry.md",
    "tool_design.md",
    "transports.md",
    "tutorial.md",
)
"""Pages whose blocks are one program."""


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)])
def test_every_block_compiles(page: str) -> None:
    for block in blocks(page):
        compile(block, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


@pytest.mark.parametrize("page", RUN_WHOLE)
def test_the_blocks_of_a_page_run_in_their_order(page: str) -> None:
    assert len(namespace(page)) > 2


def there(name: str) -> bool:
    return hasattr(antiphon, name) or importlib.util.find_spec(f"antiphon.{name}") is not None


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)])
def test_what_is_imported_from_the_framework_is_there(page: str) -> None:
    for block in blocks(page):
        for node in ast.walk(compile(block, page, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)):
            if isinstance(node, ast.ImportFrom) and node.module == "antiphon":
                assert [alias.name for alias in node.names if not there(alias.name)] == []


# -- what the pages promise


def test_the_tutorials_tool_refuses_what_is_not_free_and_keeps_what_it_booked() -> None:
    names = namespace("tutorial.md")
    agent = Agent(tools=[names["check_availability"], names["book_appointment"]])
    wish = {"patient_name": "Alex Rivera", "date": "next Tuesday", "time": "10:00 AM"}

    async def call() -> tuple[list[str], dict[str, Any]]:
        llm = FakeLLM(
            [
                Reply(calls=[("book_appointment", wish)]),
                "Ten is not free. Two?",
                Reply(calls=[("book_appointment", {**wish, "time": "2:00 PM"})]),
                "Anything else?",
            ]
        )
        async with AgentSession(llm=llm) as session:
            await session.start(agent)
            for said in ("Tuesday at ten, Alex Rivera", "yes", "Then two", "yes"):
                await session.run(user_input=said)
        return transcript(session.history), dict(session.userdata)

    lines, userdata = run_virtual(call())
    assert any("10:00 AM is not free." in line for line in lines)
    assert userdata["last_booking"]["time"] == "2:00 PM"
    assert "assistant: I have booked next Tuesday at 2:00 PM for Alex Rivera." in lines


def test_a_tool_added_in_a_call_is_there_for_the_next_request_of_the_turn_and_stands_in_the_history() -> None:
    names = namespace("changing_tools.md")
    desk = names["Desk"]()

    async def call() -> FakeLLM:
        llm = FakeLLM([Reply(calls=[("verify", {"number": "7"})]), Reply(calls=[("see_invoices", {})]), "One is open."])
        await converse(desk, "I am customer 7", llm=llm)
        return llm

    llm = run_virtual(call())
    assert [[tool.id for tool in request.tools] for request in llm.requests[:2]] == [["verify"], ["see_invoices"]]
    changes = names["changes"](desk)
    assert [(c.tools_added, c.tools_removed) for c in changes][:2] == [(["see_invoices"], None), (None, ["verify"])]
    assert "Customer 7 is verified." in changes[-1].instructions
    kept = names["without_changes"](desk).items
    assert kept and not any(isinstance(item, AgentConfigUpdate) for item in kept)


def test_a_flagged_tool_is_hidden_on_entering_alone() -> None:
    address = namespace("changing_tools.md")["Address"]

    async def call() -> FakeLLM:
        llm = FakeLLM(["Where do you live?", "I see."])
        async with AgentSession(llm=llm) as session:
            await session.start(address(), capture_run=True)
            await session.run(user_input="Main Street 1")
        return llm

    llm = run_virtual(call())
    assert [[tool.id for tool in request.tools] for request in llm.requests] == [[], ["confirm_address"]]


def test_two_agents_share_a_tool_that_knows_who_called() -> None:
    names = namespace("changing_tools.md")

    async def call(agent: Agent) -> str:
        llm = FakeLLM([Reply(calls=[("look_up_user", {"user_id": "7"})]), "Ann."])
        return outputs(await converse(agent, "Who is 7?", llm=llm))[0]

    asked = [json.loads(run_virtual(call(names[kind]())))["asked_by"] for kind in ("Sales", "Support")]
    assert asked == ["Sales", "Support"]


def test_a_search_that_is_spoken_over_is_cancelled_by_its_own_hand() -> None:
    archive = namespace("interruption.md")["Archive"]
    ended: list[str] = []

    class Watched(archive):  # type: ignore[misc, valid-type]  # a class of the page
        async def read_everything(self, topic: str) -> str:
            try:
                return str(await super().read_everything(topic))
            except asyncio.CancelledError:
                ended.append("cancelled")
                raise

    async def call() -> list[str]:
        llm = FakeLLM([Reply("Let me look.", calls=[("search", {"topic": "storms"})]), "We close at five."])
        async with VoiceCall(llm, ["storms please", "when do you close"]) as line:
            await line.begin(Watched())
            await line.microphone.speak(0.8)
            await asyncio.sleep(3.0)
            await line.microphone.speak(1.5)
            await asyncio.sleep(5.0)
            return transcript(line.session.history)

    lines = run_virtual(call())
    assert ended == ["cancelled"]
    assert lines[-1] == "assistant: We close at five." and not any("articles" in line for line in lines)


def test_running_tasks_are_listed_and_what_writes_is_not_cancelled() -> None:
    names = namespace("background.md")
    trip = {"origin": "Rome", "destination": "Oslo"}

    async def call() -> tuple[list[dict[str, Any]], bool]:
        llm = FakeLLM([Reply(calls=[("book_flight", trip)]), "I am on it.", "Three found.", "Booked, FL-847293."])
        async with AgentSession(llm=llm) as session:
            await session.start(names["agent"])
            await session.run(user_input="Rome to Oslo")
            tasks = await names["booking"].get_running_tasks()
            with pytest.raises(ToolError, match="cannot be cancelled"):
                await names["stop_one"](tasks[0]["call_id"])
            await names["stop_all_searches"](session)
            still = len(session.running_tools) == 1
            await asyncio.sleep(60.0)
        return tasks, still

    tasks, still = run_virtual(call())
    assert [task["name"] for task in tasks] == ["book_flight"] and still


def test_the_directive_goes_to_the_voice_and_only_the_words_are_said() -> None:
    consoling = namespace("structured.md")["Consoling"]
    written = json.dumps({"voice_instructions": "warm", "response": "All is well."})
    voice = FakeTTS()

    async def call() -> Any:
        async with VoiceCall(FakeLLM([written]), ["is all well"], tts=voice) as line:
            await line.begin(consoling())
            await line.microphone.speak(0.8)
            await asyncio.sleep(4.0)
            return line.session.history.messages()[-1]

    message = run_virtual(call())
    assert message.text_content == "All is well." and json.loads(message.extra["raw"])["voice_instructions"] == "warm"
    assert voice.options == {"instructions": "warm"}


def test_what_is_retrieved_counts_for_one_reply() -> None:
    support = namespace("retrieval.md")["Support"]

    async def call() -> FakeLLM:
        llm = FakeLLM(["Five days.", "You are welcome."])
        await converse(support(), "How long does a refund take?", "Thanks", llm=llm)
        return llm

    llm = run_virtual(call())
    assert ["From the handbook" in " ".join(history) for history in llm.histories] == [True, False]


def test_what_an_agent_knows_is_replaced() -> None:
    names = namespace("retrieval.md")

    async def call() -> list[list[str]]:
        llm = FakeLLM(["Hello.", "Gold, I see.", "Nothing."])
        agent = Agent(instructions="You help.")
        async with AgentSession(llm=llm) as session:
            await session.start(agent)
            await session.run(user_input="Hi")
            await names["load_customer"](agent, "a gold customer")
            await session.run(user_input="What am I?")
            await names["forget_all_but"](agent, 1)
            await session.run(user_input="And now?")
        return llm.histories

    histories = run_virtual(call())
    assert "gold customer" in " ".join(histories[1])
    assert "user: Hi" in histories[1] and "user: Hi" not in histories[2]


def test_the_supervisor_gets_what_the_specialist_found() -> None:
    supervisor = namespace("supervisor.md")["Supervisor"]

    async def call() -> list[str]:
        llm = FakeLLM(
            [
                Reply(calls=[("ask_about_allergies", {})]),
                "Do you have allergies?",
                Reply(calls=[("note", {"allergies": "nuts"})]),
                "Then soup and fish.",
            ]
        )
        return transcript((await converse(supervisor(), "A dinner for two", "Nuts", llm=llm)).history)

    lines = run_virtual(call())
    assert "output ask_about_allergies: Allergies: nuts. Propose a menu." in lines
    assert lines[-1] == "assistant: Then soup and fish."


def test_the_callbacks_of_the_end_come_in_order_and_may_change_the_goodbye() -> None:
    names = namespace("ending.md")

    async def call() -> list[str]:
        llm = FakeLLM([Reply(calls=[("end_call", {})]), "Have a good evening."])
        async with AgentSession(llm=llm) as session:
            await session.start(names["agent"])
            await session.run(user_input="That is all")
        return transcript(session.history)

    lines = run_virtual(call())
    assert names["log"] == ["end_call with {}", "will be told: say goodbye to the user"]
    assert any("Wish them a good evening" in line for line in lines)


def test_an_update_of_what_is_known_leaves_out_calls_of_tools_that_it_has_not() -> None:
    @function_tool
    async def look() -> str:
        """Look."""
        return "seen"

    async def call() -> tuple[list[str], list[str]]:
        llm = FakeLLM([Reply(calls=[("look", {})]), "I have seen it."])
        session = await converse(Agent(tools=[look]), "Look", llm=llm)
        other = Agent(instructions="Another.")
        await other.update_chat_ctx(session.history)
        some: list[str] = [item.type for item in other.chat_ctx.items]
        await other.update_chat_ctx(ChatContext(session.history.items), exclude_invalid_function_calls=False)
        return some, [item.type for item in other.chat_ctx.items]

    some, everything = run_virtual(call())
    assert "function_call" not in some and "function_call" in everything
