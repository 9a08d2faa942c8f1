"""What the ready tasks share: a value counts once the caller heard it and agreed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from antiphon import Agent, AgentSession, FunctionCallOutput
from antiphon.tasks import CaptureTask, GetEmailResult, GetEmailTask, GetNameResult, GetNameTask, TaskGroup
from antiphon.testing import FakeLLM, Reply, run_virtual, transcript, wait_until
from tests.calls import VoiceCall
from tests.tasks.dialogue import Host, hold

ANN = GetEmailResult("ann@example.com")
READ_BACK = "I have A, N, N, at, example, dot, com. Is that email address right?"


def update(email: str = "ann@example.com") -> Reply:
    return Reply(calls=[("update_email_address", {"email": email})])


CONFIRM = Reply(calls=[("confirm_email_address", {})])
DECLINE = Reply(calls=[("decline_email_address", {"reason": "it is private"})])


def lines(task: CaptureTask[Any], script: Sequence[Any], *words: str) -> tuple[object, list[str]]:
    """What comes of a conversation in text, and its history."""
    ended = run_virtual(hold(task, FakeLLM(script), words))
    return ended.result, ended.lines


def test_the_read_back_is_said_word_for_word_and_costs_no_response_of_the_model() -> None:
    async def call() -> None:
        llm = FakeLLM([update(), CONFIRM])
        ended = await hold(GetEmailTask(), llm, ["ann at example dot com", "yes"])
        assert (ended.result, len(llm.requests)) == (ANN, 2)
        assert f"assistant: {READ_BACK}" in ended.lines

    run_virtual(call())


def test_a_model_that_confirms_in_the_same_breath_is_refused() -> None:
    both = Reply(calls=[*update().calls, *CONFIRM.calls])
    result, history = lines(GetEmailTask(), [both, CONFIRM], "ann at example dot com", "yes")
    assert result == ANN
    assert any("has not answered the read-back yet" in line for line in history)


@pytest.mark.parametrize("words", ["yes but it is bob", "no it is bob"])
def test_a_model_that_takes_a_change_for_a_yes_is_refused(words: str) -> None:
    script = [update(), CONFIRM, "What is it, then?", update("bob@example.com"), CONFIRM]
    result, history = lines(GetEmailTask(), script, "ann at example dot com", words, "bob at example dot com", "yes")
    assert result == GetEmailResult("bob@example.com")
    assert any("did not say yes" in line for line in history)


def test_a_yes_to_something_else_is_not_a_yes_to_the_read_back() -> None:
    script = [update(), "Shall I tell you about our offers?", CONFIRM, CONFIRM]
    result, history = lines(GetEmailTask(), script, "ann at example dot com", "no wait", "yes", "yes")
    assert result == ANN
    assert history.count(f"assistant: {READ_BACK}") == 2


def test_without_a_value_there_is_nothing_to_confirm() -> None:
    result, history = lines(GetEmailTask(), [CONFIRM, "What is it, then?"], "yes")
    assert result is ...
    assert any("nothing to confirm yet" in line for line in history)


def test_a_value_that_cannot_be_right_is_asked_for_again() -> None:
    result, history = lines(GetEmailTask(), [update("ann at nowhere"), "Could you spell it?"], "ann at nowhere")
    assert result is ...
    assert any("is not a valid email address. Ask the user to spell it." in line for line in history)
    assert history[-1] == "assistant: Could you spell it?"


def test_who_declines_is_taken_at_their_word() -> None:
    async def call() -> None:
        host = Host(GetEmailTask())
        async with AgentSession[Any](llm=FakeLLM([DECLINE])) as session:
            await session.start(host)
            await session.wait_for_idle()
            await session.run(user_input="no way")
            assert host.result is None
            outputs = [i.output for i in session.history.items if isinstance(i, FunctionCallOutput)]
            assert outputs == ["Noted."]

    run_virtual(call())


def test_without_confirmation_the_first_valid_value_counts_and_there_is_no_tool_to_confirm() -> None:
    task = GetEmailTask(require_confirmation=False)
    assert sorted(tool.id for tool in task.tools) == ["decline_email_address", "update_email_address"]
    assert lines(task, [update()], "ann at example dot com")[0] == ANN


def test_with_a_context_the_model_begins_and_may_know_the_answer_already() -> None:
    async def call() -> None:
        known = Host(GetEmailTask()).chat_ctx.copy()
        known.add_message(role="user", content="I'm ann at example dot com")
        llm = FakeLLM([update(), CONFIRM])
        ended = await hold(GetEmailTask(chat_ctx=known), llm, ["yes"])
        assert ended.result == ANN
        # Declining is the caller's to do; it is not offered before they were asked.
        assert [tool.id for tool in llm.requests[0].tools if tool.id.startswith("decline")] == []

    run_virtual(call())


def test_extra_instructions_question_and_tools_are_the_application_s() -> None:
    task = GetNameTask(extra_instructions="Speak like a pirate.", question="Who are ye?")
    assert task.instructions.endswith("Speak like a pirate.")
    result, history = lines(task, [])
    assert (result, history) == (..., ["assistant: Who are ye?"])


def test_a_bare_no_is_answered_with_the_question_and_costs_no_response_of_the_model() -> None:
    result, history = lines(GetEmailTask(), [update("an@example.com"), update(), CONFIRM], "an", "no.", "ann", "yes")
    assert result == ANN
    assert "assistant: Sorry. What is your email address, then?" in history


def test_in_a_group_the_caller_may_come_back_to_a_value() -> None:
    class Signup(Agent):
        results: dict[str, Any] = {}  # noqa: RUF012 (one agent, one test)

        async def on_enter(self) -> None:
            group = TaskGroup()
            group.add(GetNameTask, id="name", description="The caller's name")
            group.add(GetEmailTask, id="email", description="The caller's email address")
            self.results = (await group).task_results

    async def call() -> None:
        name = Reply(calls=[("update_name", {"full_name": "Ann Lee"})])
        again = Reply(calls=[("update_name", {"full_name": "Anne Lee"})])
        agreed = Reply(calls=[("confirm_name", {})])
        back = Reply(calls=[("out_of_scope", {"task_ids": ["name"]})])
        agent = Signup()
        async with AgentSession[Any](llm=FakeLLM([name, agreed, back, again, agreed, update(), CONFIRM])) as session:
            await session.start(agent)
            await session.wait_for_idle()
            for words in (
                "Ann Lee",
                "yes",
                "wait, my name is wrong",
                "Anne Lee",
                "yes",
                "ann at example dot com",
                "yes",
            ):
                await session.run(user_input=words)
        assert agent.results == {"name": GetNameResult("Anne", "", "Lee"), "email": ANN}

    run_virtual(call())


@pytest.mark.parametrize(("after", "is_enough"), [(1.0, False), (3.0, True)])
def test_a_yes_over_the_read_back_counts_only_once_the_value_was_heard(after: float, is_enough: bool) -> None:
    async def call() -> None:
        llm = FakeLLM([update(), CONFIRM, CONFIRM])
        host = Host(GetEmailTask())
        async with VoiceCall(llm, ["ann at example dot com", "yes that's right", "yes"]) as call:
            await call.begin(host)
            await call.session.wait_for_idle()
            await call.microphone.speak(1.0)
            await wait_until(lambda: call.session.agent_state == "speaking")
            await asyncio.sleep(after)
            await call.microphone.speak(1.0)
            await asyncio.sleep(1.5)
            await call.session.wait_for_idle()
            cut = [m for m in call.session.history.messages() if m.interrupted]
            assert len(cut) == 1, transcript(call.session.history)
            assert (host.result == ANN) is is_enough, transcript(call.session.history)
            if not is_enough:
                assert call.session.history.messages()[-1].text_content == READ_BACK
                await call.microphone.speak(0.6)
                await asyncio.sleep(1.5)
                await call.session.wait_for_idle()
                assert host.result == ANN

    run_virtual(call())
