"""The loop: order, bounds, changes in the middle of a turn, hand-offs, nested conversations, time limits."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from antiphon import (
    Agent,
    AgentSession,
    AgentTask,
    MaxToolStepsReachedEvent,
    RunContext,
    TurnMetricsEvent,
    UsageError,
    function_tool,
)
from antiphon.testing import FakeLLM, FakeTTS, Reply, clock, now, run_virtual, transcript, wait_until
from antiphon.testing.fakes import Turn
from tests.calls import VoiceCall, converse, outputs


@function_tool
async def look(n: int = 0) -> str:
    """Look."""
    await asyncio.sleep(1.0 / (1 + n))
    return f"found {n}"


@function_tool
async def crash() -> str:
    """Crash."""
    raise RuntimeError("broken")


LOOK = Reply(calls=[("look", {})])

# -- order


def test_parallel_calls_run_together_and_are_recorded_in_call_order_after_what_was_said_inside() -> None:
    @function_tool
    async def slow(ctx: RunContext) -> str:
        """Slow."""
        await asyncio.sleep(2.0)
        ctx.session.say("Nearly there.")
        return "slow"

    @function_tool
    async def fast() -> str:
        """Fast."""
        await asyncio.sleep(1.0)
        return "fast"

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("slow", {}), ("fast", {})]), "Done."])
        session = await converse(Agent(tools=[slow, fast]), "Go.", llm=llm)
        assert now() < 2.9  # not one after the other
        assert llm.histories[1][2:] == [
            "assistant: Nearly there.",
            "call slow({})",
            "output slow: slow",
            "call fast({})",
            "output fast: fast",
        ]
        assert transcript(session.history)[-1] == "assistant: Done."

    run_virtual(main())


class Shouting(Agent):
    async def tts_node(self, text: Any, model_settings: Any) -> Any:
        async def louder() -> Any:
            async for piece in text:
                yield piece.upper()

        async for frame in Agent.default.tts_node(self, louder(), model_settings):
            yield frame


def test_what_a_tool_says_stands_before_its_call_also_where_the_voice_words_it_anew() -> None:
    class Saying(Shouting):
        @function_tool
        async def chat(self) -> str:
            """Chat."""
            self.session.say("Nearly there.")
            return "chatted"

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("chat", {})]), "Done."])
        async with VoiceCall(llm, ["go on"]) as call:
            await call.begin(Saying())
            await call.microphone.speak(1.0)
            await asyncio.sleep(10.0)
            assert llm.histories[1][2:] == ["assistant: Nearly there.", "call chat({})", "output chat: chatted"]
            assert transcript(call.session.history)[1:] == [
                "assistant: NEARLY THERE.",
                "call chat({})",
                "output chat: chatted",
                "assistant: DONE.",
            ]

    run_virtual(main())


@pytest.mark.parametrize(("ttft", "gap"), [(0.1, 0.02), (4.0, None)])
def test_the_follow_up_is_asked_for_while_the_words_before_it_play(ttft: float, gap: float | None) -> None:
    words = "Let me have a look at that."

    async def main() -> None:
        voice = FakeTTS()
        llm = FakeLLM([Reply(words, [("look", {"n": 9})]), Reply("There it is.", ttft=ttft)])
        async with VoiceCall(llm, ["where is it"], tts=voice) as call:
            await call.begin(Agent(tools=[look]))
            await call.microphone.speak(1.0)
            await wait_until(lambda: len(llm.requests) == 2)
            asked = now()
            assert call.session.agent_state == "speaking"
            await asyncio.sleep(10.0)
            sounds = call.speaker.sounds
            if gap is not None:
                assert len(sounds) == 1  # not a sample between them
            else:
                remaining = sounds[0].end - asked
                assert sounds[1].start - sounds[0].end <= ttft + 0.05 - remaining + 0.1

    run_virtual(main())


# -- bounds


@pytest.mark.parametrize(
    ("steps", "script", "said"),
    [
        (3, [LOOK, LOOK, LOOK, "Three."], "Three."),
        (1, [LOOK, "One."], "One."),
        (0, ["None."], "None."),
        # parallel calls are one round
        (1, [Reply(calls=[("look", {"n": 1}), ("look", {"n": 2})]), "Both."], "Both."),
        # failed and unknown calls count
        (2, [Reply(calls=[("crash", {})]), Reply(calls=[("unheard_of", {})]), "No."], "No."),
        (2, [Reply(calls=[("look", {"n": "many"})]), LOOK, "Well."], "Well."),
    ],
)
def test_after_so_many_rounds_the_model_is_asked_without_tools(steps: int, script: list[Turn], said: str) -> None:
    async def main() -> None:
        llm = FakeLLM(script)
        session = await converse(Agent(tools=[look, crash]), "Go.", llm=llm, max_tool_steps=steps)
        assert [bool(request.tools) for request in llm.requests] == [True] * steps + [False]
        assert transcript(session.history)[-1] == f"assistant: {said}"

    run_virtual(main())


def test_a_chain_that_is_cut_asks_the_caller_whether_to_go_on_and_loses_nothing() -> None:
    async def main() -> None:
        events: list[MaxToolStepsReachedEvent] = []
        measured: list[TurnMetricsEvent] = []
        script = [Reply(calls=[("look", {"n": n})]) for n in range(4)]
        llm = FakeLLM([*script[:2], "Two are found, two are not. Shall I go on?", *script[2:], "All four."])
        async with AgentSession[Any](llm=llm, max_tool_steps=2) as session:
            session.on("max_tool_steps_reached", events.append)
            session.on("turn_metrics", measured.append)
            await session.start(Agent(tools=[look]))
            await session.run(user_input="Look for all four.")
            await session.run(user_input="Yes, please.")
        told = [[line for line in request if "no tools in this response" in line] for request in llm.histories]
        assert [len(notes) for notes in told] == [0, 0, 1, 0, 0, 1]
        for part in ("2 rounds", "not done yet", "ask whether you should go on"):
            assert part in told[2][0]
        assert llm.histories[2][-1] == told[2][0]
        # what was learnt before the cut is there behind it, and the tools are back
        learnt = ['call look({"n": 0})', "output look: found 0", 'call look({"n": 1})', "output look: found 1"]
        assert [line for line in llm.histories[3] if line in learnt] == learnt
        assert llm.requests[3].tools
        assert [event.steps for event in events] == [2, 2]
        assert [event.speech_id for event in events] == [event.metrics.speech_id for event in measured]
        assert all(event.metrics.max_tool_steps_reached for event in measured)
        assert measured[-1].call.max_tool_steps_reached == 2

    run_virtual(main())


def test_a_chain_that_comes_to_its_end_within_its_rounds_is_told_of_no_limit() -> None:
    async def main() -> None:
        measured: list[TurnMetricsEvent] = []
        llm = FakeLLM([LOOK, "Found."])
        async with AgentSession[Any](llm=llm, max_tool_steps=2) as session:
            session.on("turn_metrics", measured.append)
            await session.start(Agent(tools=[look]))
            await session.run(user_input="Go.")
        assert not any("no tools in this response" in line for request in llm.histories for line in request)
        assert [event.metrics.max_tool_steps_reached for event in measured] == [False]

    run_virtual(main())


def test_what_a_chain_learnt_is_there_for_the_next_turn_where_its_last_words_were_spoken_over() -> None:
    async def main() -> None:
        llm = FakeLLM([LOOK, "I have found the first one and the second is missing, shall I go on?", "I do."])
        async with VoiceCall(llm, ["look for both", "yes go on please"], max_tool_steps=1, max_silence=None) as call:
            await call.begin(Agent(tools=[look]))
            await call.microphone.speak(1.0)
            await wait_until(lambda: call.session.agent_state == "speaking")
            await asyncio.sleep(0.5)
            await call.microphone.speak(1.0)
            await asyncio.sleep(5.0)
            assert transcript(call.session.history)[-1] == "assistant: I do."
        assert [line for line in llm.histories[2] if "look" in line][1:] == ["call look({})", "output look: found 0"]
        assert any("They have not heard: " in line for line in llm.histories[2])

    run_virtual(main())


def test_rounds_are_counted_anew_for_each_turn_and_each_reply() -> None:
    async def main() -> None:
        llm = FakeLLM([LOOK, "One.", LOOK, "Two.", LOOK, "Three."])
        async with AgentSession(llm=llm, max_tool_steps=1) as session:
            await session.start(Agent(tools=[look]))
            await session.run(user_input="a")
            await session.run(user_input="b")
            await session.generate_reply(instructions="c")
        assert [bool(request.tools) for request in llm.requests] == [True, False] * 3

    run_virtual(main())


def test_the_rounds_of_a_delivery_are_its_own() -> None:
    @function_tool
    async def work(ctx: RunContext) -> str:
        """Work."""
        await ctx.update("Working.")
        await asyncio.sleep(5.0)
        return "worked"

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("work", {})]), "I am at it.", LOOK, "It is done, and there it is."])
        async with AgentSession(llm=llm, max_tool_steps=1) as session:
            await session.start(Agent(tools=[work, look]))
            await session.run(user_input="Go.")
            await asyncio.sleep(10.0)
            assert transcript(session.history)[-1] == "assistant: It is done, and there it is."
        assert [bool(request.tools) for request in llm.requests] == [True, False, True, False]

    run_virtual(main())


def test_a_call_that_adopts_a_run_is_a_round() -> None:
    runs: list[float] = []

    @function_tool
    async def work() -> str:
        """Work."""
        runs.append(now())
        await asyncio.sleep(5.0)
        return "worked"

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("work", {})]), Reply(calls=[("work", {})]), "It is done."])
        async with AgentSession[Any](llm=llm, max_tool_steps=1) as session:
            await session.start(Agent(tools=[work]))
            session.submit_user_turn("Go.")
            await asyncio.sleep(1.0)
            session.submit_user_turn("Is it done?")
            await asyncio.sleep(10.0)
            assert transcript(session.history)[-1] == "assistant: It is done."
        assert len(runs) == 1
        assert [bool(request.tools) for request in llm.requests] == [True, True, False]

    run_virtual(main())


@pytest.mark.parametrize("ending", ["Here I am.", None])
def test_where_no_round_is_allowed_no_call_runs_and_the_caller_is_answered(ending: str | None) -> None:
    async def main() -> None:
        llm = FakeLLM([LOOK, LOOK if ending is None else ending])
        session = await converse(Agent(tools=[look]), "Go.", llm=llm, max_tool_steps=0, fallback_line="Let us see.")
        assert transcript(session.history) == ["user: Go.", f"assistant: {ending or 'Let us see.'}"]
        assert not any(request.tools for request in llm.requests)

    run_virtual(main())


def test_calls_that_come_although_none_were_offered_are_dropped() -> None:
    async def main() -> None:
        llm = FakeLLM([LOOK, Reply("So it is.", [("look", {})])])
        session = await converse(Agent(tools=[look]), "Go.", llm=llm, max_tool_steps=1)
        assert outputs(session) == ["found 0"]
        assert transcript(session.history)[-1] == "assistant: So it is."

    run_virtual(main())


# -- speech from inside


@pytest.mark.parametrize(("choice", "offered"), [(None, []), ("auto", ["nested", "look"])])
def test_a_reply_made_inside_a_tool_calls_no_tools_unless_it_may(choice: str | None, offered: list[str]) -> None:
    class Nesting(Agent):
        @function_tool
        async def nested(self) -> str:
            """Nested."""
            options: dict[str, Any] = {} if choice is None else {"tool_choice": choice}
            await self.session.generate_reply(instructions="Go on.", **options)
            return "nested"

    async def main() -> None:
        rounds: list[Turn] = ["Going on."] if choice is None else [LOOK, LOOK, "Going on."]
        llm = FakeLLM([Reply(calls=[("nested", {})]), *rounds, "Done."])
        session = await converse(Nesting(tools=[look]), "Go.", llm=llm, max_tool_steps=2)
        assert sorted(tool.id for tool in llm.requests[1].tools) == sorted(offered)
        assert transcript(session.history)[-1] == "assistant: Done."
        # what happened inside counts its own rounds
        assert bool(llm.requests[-1].tools)

    run_virtual(main())


def test_what_a_tool_says_queues_behind_what_plays() -> None:
    class Chatty(Agent):
        @function_tool
        async def chat(self) -> str:
            """Chat."""
            self.session.say("Second.")
            return "chatted"

    async def main() -> None:
        llm = FakeLLM([Reply("This is the first.", [("chat", {})]), "This is the third."])
        async with VoiceCall(llm, ["go on"]) as call:
            await call.begin(Chatty())
            await call.microphone.speak(1.0)
            await asyncio.sleep(10.0)
            said = [m.text_content for m in call.session.history.messages() if m.role == "assistant"]
            assert said == ["This is the first.", "Second.", "This is the third."]

    run_virtual(main())


def test_a_tool_may_wait_for_the_words_before_its_call() -> None:
    waited: list[float] = []

    class Patient(Agent):
        @function_tool
        async def transfer(self, ctx: RunContext) -> str:
            """Transfer."""
            await ctx.wait_for_playout()
            waited.append(now())
            return "transferred"

    async def main() -> None:
        llm = FakeLLM([Reply("I am transferring you, please hold the line.", [("transfer", {})]), "Bye."])
        async with VoiceCall(llm, ["transfer me"]) as call:
            await call.begin(Patient())
            await call.microphone.speak(1.0)
            await asyncio.sleep(10.0)
            await call.session.wait_for_idle()
            assert waited[0] == pytest.approx(call.speaker.sounds[0].end, abs=0.05)

    run_virtual(main())


def test_a_tool_that_was_adopted_waits_for_the_words_before_the_call_it_serves_now() -> None:
    waited: list[float] = []

    @function_tool
    async def transfer(ctx: RunContext) -> str:
        """Transfer."""
        await asyncio.sleep(4.5)
        await ctx.wait_for_playout()
        waited.append(now())
        return "transferred"

    async def main() -> None:
        again = Reply("I am still transferring you, please hold the line for a moment.", [("transfer", {})])
        llm = FakeLLM([Reply(calls=[("transfer", {})]), again, "Bye."])
        async with VoiceCall(llm, ["transfer me", "what is happening"], max_silence=None) as call:
            adopted: list[Any] = []
            call.session.on("tool_adopted", adopted.append)
            await call.begin(Agent(tools=[transfer]))
            await call.microphone.speak(1.0)
            await asyncio.sleep(2.0)
            await call.microphone.speak(1.0)
            await asyncio.sleep(15.0)
            await call.session.wait_for_idle()
            assert adopted and waited == [pytest.approx(call.speaker.sounds[0].end, abs=0.05)]

    run_virtual(main())


class Leaving(Agent):
    """Its tool leaves a task behind that does something later."""

    def __init__(self, later: Callable[[RunContext], Awaitable[Any]], delay: float) -> None:
        super().__init__()
        self.later, self.delay = later, delay
        self.left: asyncio.Task[Any] | None = None

    @function_tool
    async def order(self, ctx: RunContext) -> str:
        """Order."""

        async def work() -> Any:
            await asyncio.sleep(self.delay)
            return await self.later(ctx)

        self.left = asyncio.create_task(work())
        return "ordered"


async def bring(ctx: RunContext) -> bool:
    handle = await ctx.session.say("Your pizza is here.")
    return not handle.interrupted


async def wait_for_the_speech(ctx: RunContext) -> bool:
    return (await ctx.speech_handle).done()


async def wait_for_the_session(ctx: RunContext) -> bool:
    await ctx.session.wait_for_idle()
    return True


@pytest.mark.parametrize(
    ("later", "delay", "said"),
    [
        (bring, 0.0, ["Your pizza is here.", "Ordered."]),
        (bring, 5.0, ["Ordered.", "Your pizza is here."]),
        (wait_for_the_speech, 0.0, ["Ordered."]),
        (wait_for_the_session, 0.0, ["Ordered."]),
    ],
)
def test_what_a_tool_leaves_behind_is_not_the_tool_any_more(
    later: Callable[[RunContext], Awaitable[bool]], delay: float, said: list[str]
) -> None:
    async def main() -> None:
        agent = Leaving(later, delay)
        async with AgentSession[Any](llm=FakeLLM([Reply(calls=[("order", {})]), "Ordered."])) as session:
            await session.start(agent)
            await session.run(user_input="A pizza.")
            await asyncio.sleep(10.0)
            assert agent.left is not None and await agent.left
            assert sorted(m.text_content or "" for m in session.history.messages()[1:]) == sorted(said)

    run_virtual(main())


@pytest.mark.parametrize("method", ["wait_for_idle", "wait_for_inactive", "drain"])
def test_a_tool_that_waits_for_the_session_that_waits_for_it_is_told_so(method: str) -> None:
    @function_tool
    async def wait(ctx: RunContext, background: bool) -> str:
        """Wait."""
        if background:
            await ctx.update("Waiting.")
            await getattr(ctx.session, method)()
            return "idle"
        with pytest.raises(UsageError, match="wait_for_playout"):
            await getattr(ctx.session, method)()
        return "told"

    async def main() -> None:
        llm = FakeLLM(
            [
                Reply(calls=[("wait", {"background": False})]),
                "Told.",
                Reply(calls=[("wait", {"background": True})]),
                "Waiting.",
                "Idle.",
            ]
        )
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Agent(tools=[wait]))
            await session.run(user_input="a")
            assert outputs(session) == ["told"] and now() < 2.0
            await session.run(user_input="b")
            await asyncio.sleep(5.0)
            assert outputs(session)[-1] == "idle"

    run_virtual(main())


# -- hand-offs


class Billing(Agent):
    async def on_enter(self) -> None:
        await self.session.say("Billing speaking.")


class Sales(Agent):
    pass


def front(*tools: tuple[str, Callable[[], Any]], delay: float = 0.0) -> Agent:
    """An agent whose tools return what these functions return."""

    def make(name: str, result: Callable[[], Any]) -> Any:
        async def run() -> Any:
            await asyncio.sleep(delay)
            return result()

        return function_tool(run, name=name, description=name)

    return Agent(id="front", instructions="Front.", tools=[make(name, result) for name, result in tools])


@pytest.mark.parametrize(
    ("result", "script", "said"),
    [
        (lambda: Billing(), [], ["Billing speaking."]),
        (lambda: (Billing(), "Transferring."), ["One moment."], ["One moment.", "Billing speaking."]),
        (lambda: ("Transferring.", Billing()), ["One moment."], ["One moment.", "Billing speaking."]),
    ],
)
def test_a_handoff_with_a_result_is_told_by_the_old_agent_and_one_without_is_not(
    result: Callable[[], Any], script: list[Turn], said: list[str]
) -> None:
    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("transfer", {})]), *script])
        session = await converse(front(("transfer", result)), "A bill.", llm=llm)
        assert [m.text_content for m in session.history.messages() if m.role == "assistant"] == said
        assert all(not request.tools for request in llm.requests[1:])
        assert isinstance(session.current_agent, Billing)

    run_virtual(main())


def test_of_two_handoffs_in_one_step_the_first_in_call_order_wins() -> None:
    async def main() -> None:
        agent = front(("to_billing", lambda: (Billing(), "To billing.")), ("to_sales", lambda: (Sales(), "To sales.")))
        llm = FakeLLM([Reply(calls=[("to_billing", {}), ("to_sales", {})]), "To billing, then."])
        session = await converse(agent, "Both.", llm=llm)
        assert outputs(session) == ["To billing.", "Hand-off to Sales not made: Billing was first."]
        assert isinstance(session.current_agent, Billing)

    run_virtual(main())


@pytest.mark.parametrize("order", [["transfer", "look"], ["look", "transfer"]])
def test_a_plain_result_beside_a_handoff_does_not_cancel_it(order: list[str]) -> None:
    async def main() -> None:
        agent = front(("transfer", lambda: Billing()), ("look", lambda: "found"))
        llm = FakeLLM([Reply(calls=[(name, {}) for name in order]), "Found, and over to billing."])
        session = await converse(agent, "Look, and bill.", llm=llm)
        assert "found" in outputs(session)
        assert isinstance(session.current_agent, Billing)

    run_virtual(main())


def test_a_handoff_after_an_update_is_made_when_the_result_is_delivered() -> None:
    class Late(Agent):
        @function_tool
        async def transfer(self, ctx: RunContext) -> Any:
            """Transfer."""
            await ctx.update("Looking for somebody.")
            await asyncio.sleep(5.0)
            return Billing(), "Found somebody."

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("transfer", {})]), "I am looking.", "I found somebody."])
        async with AgentSession(llm=llm) as session:
            await session.start(Late())
            await session.run(user_input="A bill.")
            assert isinstance(session.current_agent, Late)
            await asyncio.sleep(10.0)
            await session.wait_for_idle()
            assert isinstance(session.current_agent, Billing)
            assert [m.text_content for m in session.history.messages()][1:] == [
                "I am looking.",
                "I found somebody.",
                "Billing speaking.",
            ]

    run_virtual(main())


def test_a_barge_in_on_the_farewell_cuts_it_and_the_new_agent_answers() -> None:
    farewell = "I am putting you through to our billing department now, please stay on the line."

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("transfer", {})]), farewell, "Of course, this is billing."])
        async with VoiceCall(llm, ["a bill please", "wait i have a question"]) as call:
            await call.begin(front(("transfer", lambda: (Billing(), "Transferring."))))
            await call.microphone.speak(1.0)
            await asyncio.sleep(3.0)
            await call.microphone.speak(1.0)
            await asyncio.sleep(10.0)
            await call.session.wait_for_idle()
            assert isinstance(call.session.current_agent, Billing)
            messages = call.session.history.messages()
            assert messages[1].interrupted and farewell.startswith(messages[1].text_content or "?")
            # the new agent's greeting is dropped: the caller waits for an answer
            assert [m.text_content for m in messages[2:]] == ["wait i have a question", "Of course, this is billing."]

    run_virtual(main())


# -- nested conversations


class Ask(AgentTask[str]):
    def __init__(self, question: str) -> None:
        super().__init__(instructions="Ask.")
        self.question = question

    async def on_enter(self) -> None:
        self.session.say(self.question)

    @function_tool
    async def answer(self, text: str) -> None:
        """Take the answer."""
        self.complete(text)


def test_while_a_call_waits_for_a_task_its_clock_stands_still() -> None:
    @function_tool(timeout=3.0)
    async def register() -> str:
        """Register."""
        return f"registered {await Ask('Your name?')}"

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("register", {})]), Reply(calls=[("answer", {"text": "Ada"})]), "Welcome, Ada."])
        async with AgentSession(llm=llm) as session:
            await session.start(Agent(tools=[register]))
            await session.run(user_input="Register me.")
            await asyncio.sleep(60.0)
            await session.run(user_input="Ada.")
            await session.wait_for_idle()
            assert outputs(session)[-1] == "registered Ada"
        # the parent's open call is not shown to the child
        assert not any("register" in line for line in llm.histories[1])

    run_virtual(main())


def test_siblings_that_ask_are_served_one_after_the_other_in_call_order() -> None:
    @function_tool
    async def ask(what: str) -> str:
        """Ask."""
        return f"{what}: {await Ask(f'Your {what}?')}"

    async def main() -> None:
        llm = FakeLLM(
            [
                Reply(calls=[("ask", {"what": "name"}), ("ask", {"what": "age"})]),
                Reply(calls=[("answer", {"text": "Ada"})]),
                Reply(calls=[("answer", {"text": "36"})]),
                "Thank you.",
            ]
        )
        async with AgentSession(llm=llm) as session:
            await session.start(Agent(tools=[ask]))
            for words in ("Register me.", "Ada.", "36."):
                await session.run(user_input=words)
                await session.wait_for_idle()
            lines = transcript(session.history)
        asked = [line for line in lines if line.startswith("assistant")]
        assert asked == ["assistant: Your name?", "assistant: Your age?", "assistant: Thank you."]
        assert outputs(session)[-2:] == ["name: Ada", "age: 36"]

    run_virtual(main())


def test_a_barge_in_on_the_childs_question_leaves_the_call_alone() -> None:
    @function_tool
    async def register() -> str:
        """Register."""
        return f"registered {await Ask('What is your full name, as it is written in your passport, please?')}"

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("register", {})]), Reply(calls=[("answer", {"text": "Ada"})]), "Welcome, Ada."])
        async with VoiceCall(llm, ["register me please", "my name is ada"]) as call:
            await call.begin(Agent(tools=[register]))
            await call.microphone.speak(1.0)
            await asyncio.sleep(2.5)
            assert call.session.agent_state == "speaking"
            await call.microphone.speak(1.0)
            await asyncio.sleep(5.0)
            await call.session.wait_for_idle()
            question = call.session.history.messages()[1]
            assert question.interrupted
            assert outputs(call.session)[-1] == "registered Ada"

    run_virtual(main())


def test_closing_cancels_children_first() -> None:
    ended: list[str] = []

    class Child(AgentTask[str]):
        @function_tool
        async def think(self) -> str:
            """Think."""
            try:
                await asyncio.sleep(100.0)
            finally:
                ended.append("child")
            return ""

    @function_tool
    async def parent() -> str:
        """Parent."""
        try:
            return await Child()
        finally:
            ended.append("parent")

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("parent", {})]), Reply(calls=[("think", {})])])
        session = AgentSession[Any](llm=llm)
        await session.start(Agent(tools=[parent]))
        await session.run(user_input="Go.")
        session.submit_user_turn("Think.")
        await asyncio.sleep(1.0)
        closing = now()
        await session.aclose()
        assert now() - closing <= 1.1
        assert ended == ["child", "parent"]

    run_virtual(main())


# -- time


@pytest.mark.parametrize(
    ("options", "limit", "told"),
    [
        (
            {},
            30.0,
            "It is unknown whether `endless` happened; do not repeat it unless the user asks for that.",
        ),
        ({"effect": "reads"}, 30.0, "`endless` did not answer within 30 seconds and was stopped."),
        (
            {"effect": "writes"},
            60.0,
            "It is unknown whether `endless` happened; do not repeat it unless the user asks for that.",
        ),
        (
            {"timeout": 2.0},
            2.0,
            "It is unknown whether `endless` happened; do not repeat it unless the user asks for that.",
        ),
        ({"effect": "reads", "timeout": 0.5}, 0.5, "`endless` did not answer within 0.5 seconds and was stopped."),
    ],
)
def test_a_call_that_takes_too_long_is_cancelled_and_told(options: dict[str, Any], limit: float, told: str) -> None:
    cancelled: list[float] = []

    async def endless() -> str:
        """Endless."""
        try:
            await asyncio.sleep(1000.0)
        except asyncio.CancelledError:
            cancelled.append(now())
            raise
        return ""

    async def main() -> None:
        tool = function_tool(endless, **options)
        session = await converse(Agent(tools=[tool]), "Go.", llm=FakeLLM([Reply(calls=[("endless", {})]), "Sorry."]))
        assert transcript(session.history)[2:] == [f"error endless: {told}", "assistant: Sorry."]
        assert cancelled == [pytest.approx(limit, abs=0.5)]

    run_virtual(main(), timeout=200)


def test_a_call_that_does_not_end_when_cancelled_is_abandoned_and_reported(caplog: pytest.LogCaptureFixture) -> None:
    @function_tool(timeout=2.0)
    async def deaf() -> str:
        """Deaf."""
        until = now() + 10.0
        while now() < until:
            try:
                await asyncio.sleep(until - now())
            except asyncio.CancelledError:
                continue
        return "late"

    async def main() -> None:
        async with AgentSession(llm=FakeLLM([Reply(calls=[("deaf", {})]), "Sorry."])) as session:
            await session.start(Agent(tools=[deaf]))
            await session.run(user_input="Go.")
            assert now() < 4.0
            await asyncio.sleep(10.0)
            assert transcript(session.history)[-1] == "assistant: Sorry."

    with caplog.at_level(logging.WARNING, logger="antiphon"):
        run_virtual(main())
    assert "deaf" in caplog.text


def test_a_synchronous_tool_that_takes_too_long_is_left_to_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "THREAD_PATIENCE", 0.02)
    release = threading.Event()

    @function_tool(timeout=1.0)
    def block() -> str:
        """Block."""
        release.wait(10.0)
        return "late"

    async def main() -> None:
        session = await converse(Agent(tools=[block]), "Go.", llm=FakeLLM([Reply(calls=[("block", {})]), "Sorry."]))
        assert transcript(session.history)[-2:] == [
            "error block: It is unknown whether `block` happened; do not repeat it unless the user asks for that.",
            "assistant: Sorry.",
        ]
        release.set()

    run_virtual(main())


def test_awaiting_the_speech_that_awaits_ones_own_is_an_error_too() -> None:
    class Nesting(Agent):
        @function_tool
        async def outer(self, ctx: RunContext) -> str:
            """Outer."""
            self.above = ctx.speech_handle
            await self.session.generate_reply(instructions="Go on.", tool_choice="auto")
            return "outer"

        @function_tool
        async def inner(self) -> str:
            """Inner."""
            with pytest.raises(UsageError, match="'inner' waits for the speech that waits for it"):
                await self.above
            return "inner"

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("outer", {})]), Reply(calls=[("inner", {})]), "In.", "Out."])
        session = await converse(Nesting(), "Go.", llm=llm)
        assert outputs(session) == ["inner", "outer"]

    run_virtual(main())


def test_awaiting_the_speech_of_another_is_fine_and_ones_own_is_an_error() -> None:
    class Waiting(Agent):
        @function_tool
        async def wait(self, ctx: RunContext) -> str:
            """Wait."""
            await self.session.say("Other.")
            with pytest.raises(UsageError, match="wait_for_playout"):
                await ctx.speech_handle
            return "waited"

    async def main() -> None:
        session = await converse(Waiting(), "Go.", llm=FakeLLM([Reply(calls=[("wait", {})]), "Done."]))
        assert outputs(session) == ["waited"]

    run_virtual(main())
