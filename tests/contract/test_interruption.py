"""What a caller who speaks over a tool does to it: each kind of tool, by voice and in text."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeAlias

import pytest

from antiphon import Agent, AgentSession, AgentTask, RunContext, function_tool
from antiphon.testing import (
    FakeLLM,
    FakeMicrophone,
    FakeSpeaker,
    FakeTTS,
    FakeVAD,
    Reply,
    now,
    run_virtual,
    transcript,
)
from antiphon.testing.fakes import Turn
from tests.calls import VoiceCall, outputs

Channel: TypeAlias = Literal["voice", "text"]
both = pytest.mark.parametrize("channel", ["voice", "text"])

FIND = Reply(calls=[("find", {"what": "a table"})])


class Caller:
    """Somebody who can speak, or type, while the agent is busy."""

    def __init__(self, session: AgentSession[Any], call: VoiceCall | None) -> None:
        self.session = session
        self.call = call

    async def says(self, text: str) -> None:
        """A whole turn. In a call by voice the recogniser has the text already."""
        if self.call is None:
            self.session.submit_user_turn(text)
        else:
            await self.call.microphone.speak(1.0)
        await asyncio.sleep(0.5)


@asynccontextmanager
async def calling(channel: Channel, agent: Agent, llm: FakeLLM, *turns: str, **options: Any) -> AsyncIterator[Caller]:
    """A call in which the caller will say these turns."""
    if channel == "voice":
        async with VoiceCall(llm, list(turns), **options) as call:
            await call.begin(agent)
            yield Caller(call.session, call)
    else:
        async with AgentSession[Any](llm=llm, **options) as session:
            await session.start(agent)
            yield Caller(session, None)


async def call_off(caller: Caller) -> None:
    """The caller asks for a table and, while the tool works, wants none any more; the tool has time to end."""
    await caller.says("find me a table")
    await asyncio.sleep(1.0)
    await caller.says("no never mind that")
    await asyncio.sleep(10.0)


class Log(list[tuple[str, float]]):
    """What happened inside a tool, and when."""

    def __call__(self, what: str) -> None:
        self.append((what, round(now(), 1)))

    @property
    def words(self) -> list[str]:
        return [what for what, _ in self]


def finding(log: Log, **options: Any) -> Any:
    """A tool that takes five seconds."""

    async def find(ctx: RunContext, what: str) -> str:
        """Find."""
        log("began")
        try:
            await asyncio.sleep(5.0)
        except asyncio.CancelledError:
            log("cancelled")
            raise
        log("interrupted" if ctx.speech_handle.interrupted else "ended")
        return f"found {what}"

    return function_tool(find, **options)


def dropped(session: AgentSession[Any]) -> list[str]:
    """Names of events about calls that lost their place, as they come."""
    seen: list[str] = []
    session.on("tool_dropped", lambda event: seen.append(f"dropped {event.function_call.name}"))
    session.on("tool_adopted", lambda event: seen.append(f"adopted {event.function_call.name}"))
    session.on("tool_ended", lambda event: seen.append(f"ended {event.status}"))
    return seen


@both
@pytest.mark.parametrize(
    ("effect", "inside", "events"),
    [
        ("unsaid", ["began", "interrupted"], ["dropped find", "ended dropped"]),
        ("reads", ["began", "cancelled"], ["dropped find", "ended cancelled"]),
    ],
)
def test_a_call_that_only_looks_leaves_the_history(
    channel: Channel, effect: str, inside: list[str], events: list[str]
) -> None:
    log = Log()

    async def main() -> None:
        llm = FakeLLM([FIND, "As you like."])
        agent = Agent(tools=[finding(log, effect=effect)])
        async with calling(channel, agent, llm, "find me a table", "no never mind that") as caller:
            seen = dropped(caller.session)
            await caller.says("find me a table")
            await asyncio.sleep(1.0)
            interrupted = now()
            await caller.says("no never mind that")
            await asyncio.sleep(1.0)
            # the caller's new turn does not wait for the tool
            assert len(llm.requests) == 2 and now() - interrupted < 3.0
            await asyncio.sleep(8.0)
            await caller.session.wait_for_idle()
            assert transcript(caller.session.history) == [
                "user: find me a table",
                "user: no never mind that",
                "assistant: As you like.",
            ]
            assert log.words == inside
            assert seen == events

    run_virtual(main())


@both
@pytest.mark.parametrize("kind", ["writes", "update"])
def test_a_call_that_writes_or_has_reported_goes_on_and_its_result_is_told_once(channel: Channel, kind: str) -> None:
    log = Log()

    @function_tool(name="find")
    async def reporting(ctx: RunContext, what: str) -> str:
        """Find."""
        await ctx.update("Looking.", silent=True)
        await asyncio.sleep(5.0)
        return f"found {what}"

    async def main() -> None:
        llm = FakeLLM([FIND, "It is under way.", "I have found a table."])
        agent = Agent(tools=[finding(log, effect="writes") if kind == "writes" else reporting])
        async with calling(channel, agent, llm, "find me a table", "how is it going") as caller:
            await caller.says("find me a table")
            await asyncio.sleep(1.0)
            await caller.says("how is it going")
            await asyncio.sleep(1.5)
            assert len(llm.requests) == 2
            await asyncio.sleep(10.0)
            await caller.session.wait_for_idle()
            first, last = outputs(caller.session)
            if kind == "writes":
                assert first.startswith("`find` is still running (started ")
                assert first.endswith(" s ago); do not call it again, its result will follow.")
            ids = [i.call_id for i in caller.session.history.items if i.type == "function_call_output"]
            assert last == "found a table" and ids[1] == f"{ids[0]}/finished"
            assert transcript(caller.session.history)[-1] == "assistant: I have found a table."
            # the answer to the caller was made with the call and its interim output in view
            assert any(line.startswith("output find:") for line in llm.histories[1])
            assert llm.remaining == 0

    run_virtual(main())


def test_a_kept_call_is_in_the_background_and_may_speak_report_and_wait() -> None:
    log = Log()

    @function_tool(effect="writes")
    async def find(ctx: RunContext, what: str) -> str:
        """Find."""
        await asyncio.sleep(5.0)
        log("interrupted" if ctx.speech_handle.interrupted else "not interrupted")
        await ctx.session.wait_for_idle()
        said = await ctx.session.say("Nearly there.")
        log("cut" if said.interrupted else "heard")
        await ctx.update("Half way.")
        await asyncio.sleep(5.0)
        return f"found {what}"

    async def main() -> None:
        llm = FakeLLM([FIND, "It is under way.", "Half way there.", "I have found a table."])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Agent(tools=[find]))
            session.submit_user_turn("find me a table")
            await asyncio.sleep(1.0)
            session.submit_user_turn("how is it going")
            await asyncio.sleep(15.0)
            assert log.words == ["interrupted", "heard"]
            assert [m.text_content for m in session.history.messages() if m.role == "assistant"] == [
                "It is under way.",
                "Nearly there.",
                "Half way there.",
                "I have found a table.",
            ]
            ids = [i.call_id for i in session.history.items if i.type == "function_call_output"]
            assert ids[1:] == [f"{ids[0]}/update_1", f"{ids[0]}/finished"]

    run_virtual(main())


@both
@pytest.mark.parametrize("late", [False, True])
def test_a_protected_call_is_kept_also_if_it_asks_late(channel: Channel, late: bool) -> None:
    @function_tool
    async def find(ctx: RunContext, what: str) -> str:
        """Find."""
        if not late:
            ctx.disallow_interruptions()
        await asyncio.sleep(4.0)
        ctx.disallow_interruptions()
        await asyncio.sleep(4.0)
        return f"found {what}"

    async def main() -> None:
        answers = ["Still looking.", "I have found a table."] if late else ["A table, and yes, by the window."]
        llm = FakeLLM([FIND, *answers])
        async with calling(channel, Agent(tools=[find]), llm, "find me a table", "by the window please") as caller:
            await caller.says("find me a table")
            await asyncio.sleep(1.0)
            await caller.says("by the window please")
            await asyncio.sleep(2.0)
            assert len(llm.requests) == (2 if late else 1)  # nothing is answered while a protected call runs
            await asyncio.sleep(15.0)
            await caller.session.wait_for_idle()
            assert outputs(caller.session)[-1] == "found a table"
            if not late:
                assert transcript(caller.session.history)[1:] == [
                    'call find({"what": "a table"})',
                    "output find: found a table",
                    "user: by the window please",
                    "assistant: A table, and yes, by the window.",
                ]
            assert llm.remaining == 0

    run_virtual(main())


@both
@pytest.mark.parametrize("when", ["pending", "ended"])
def test_an_equal_call_adopts_what_runs_or_has_run(channel: Channel, when: str) -> None:
    log = Log()

    async def main() -> None:
        spaced = Reply(calls=[("find", '{ "what":"a table" }')])
        script: list[Turn] = [FIND, spaced, "A table."] if when == "pending" else [FIND, "Sure.", spaced, "A table."]
        turns = ["find me a table", "i mean find a table", "so find a table"]
        llm = FakeLLM(script)
        async with calling(channel, Agent(tools=[finding(log)]), llm, *turns) as caller:
            seen = dropped(caller.session)
            await caller.says(turns[0])
            await asyncio.sleep(1.0)
            await caller.says(turns[1])
            if when == "ended":
                await asyncio.sleep(8.0)
                await caller.says(turns[2])
            await asyncio.sleep(8.0)
            await caller.session.wait_for_idle()
            assert outputs(caller.session) == ["found a table"]
            assert log.words.count("began") == 1  # nothing ran twice
            assert "adopted find" in seen
            assert transcript(caller.session.history)[-1] == "assistant: A table."

    run_virtual(main())


@pytest.mark.parametrize("shared", [True, False])
def test_a_call_to_the_next_agent_adopts_a_run_of_the_same_tool_and_not_of_its_namesake(shared: bool) -> None:
    ran: list[str] = []

    def looking(agent: str) -> Any:
        async def look() -> str:
            """Look."""
            ran.append(agent)
            await asyncio.sleep(3.0)
            return f"seen by {agent}"

        async def look_again() -> str:
            """Look."""
            return await look()

        return function_tool(look if agent == "first" else look_again, name="look")

    @function_tool
    async def transfer() -> Agent:
        """Transfer."""
        return second

    first = looking("first")
    second = Agent(id="second", tools=[first if shared else looking("second")])

    async def main() -> None:
        look = Reply(calls=[("look", {})])
        llm = FakeLLM([look, Reply(calls=[("transfer", {})]), look, "I see."])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Agent(id="first", tools=[first, transfer]))
            for turn in ("Look.", "Put me through.", "Look!"):
                session.submit_user_turn(turn)
                await asyncio.sleep(0.8)
            await asyncio.sleep(5.0)
            assert ran == (["first"] if shared else ["first", "second"])
            assert outputs(session)[-1] == f"seen by {ran[-1]}"

    run_virtual(main())


@both
def test_a_dropped_call_cannot_speak_report_or_hand_over_any_more(channel: Channel) -> None:
    log = Log()

    @function_tool
    async def find(ctx: RunContext, what: str) -> Any:
        """Find."""
        await asyncio.sleep(5.0)
        said = ctx.session.say("Found it.")
        reply = ctx.session.generate_reply(instructions="Say it.")
        await said
        await reply
        await ctx.update("Found something.")
        log(f"{said.interrupted} {reply.interrupted}")
        return Agent(id="another")

    async def main() -> None:
        llm = FakeLLM([FIND, "As you like."])
        agent = Agent(tools=[find])
        async with calling(channel, agent, llm, "find me a table", "no never mind that") as caller:
            await call_off(caller)
            await caller.session.wait_for_idle()
            assert log.words == ["True True"]
            assert caller.session.current_agent is agent
            assert transcript(caller.session.history)[-1] == "assistant: As you like."
            assert len(caller.session.history.items) == 3

    run_virtual(main())


@both
def test_a_dropped_call_takes_the_floor_for_no_task(channel: Channel) -> None:
    class Ask(AgentTask[str]):
        async def on_enter(self) -> None:
            self.session.say("What is your name?")

    @function_tool
    async def find(what: str) -> str:
        """Find."""
        await asyncio.sleep(5.0)
        return await Ask()

    async def main() -> None:
        llm = FakeLLM([FIND, "As you like."])
        agent = Agent(tools=[find])
        async with calling(channel, agent, llm, "find me a table", "no never mind that") as caller:
            await call_off(caller)
            assert caller.session.current_agent is agent
            assert transcript(caller.session.history)[-1] == "assistant: As you like."

    run_virtual(main())


@pytest.mark.parametrize("noise", ["", "mm-hmm"])
def test_neither_a_cough_nor_a_backchannel_interrupts_a_tool(noise: str) -> None:
    log = Log()

    async def main() -> None:
        llm = FakeLLM([Reply("I am going to have a look for a free table now.", FIND.calls), "There is one."])
        async with VoiceCall(llm, ["find me a table", noise]) as call:
            await call.begin(Agent(tools=[finding(log)]))
            await call.microphone.speak(1.0)
            await asyncio.sleep(2.0)
            await call.microphone.speak(0.3)
            await asyncio.sleep(12.0)
            await call.session.wait_for_idle()
            assert log.words == ["began", "ended"]
            assert outputs(call.session) == ["found a table"]
            assert transcript(call.session.history)[-1] == "assistant: There is one."

    run_virtual(main())


@both
def test_a_backchannel_while_the_tool_works_in_silence_does_not_interrupt_it(channel: Channel) -> None:
    log = Log()

    async def main() -> None:
        llm = FakeLLM([FIND, "There is one."])
        turns = ["find me a table", "okay"]
        async with calling(channel, Agent(tools=[finding(log)]), llm, *turns, max_silence=None) as caller:
            await caller.says(turns[0])
            await asyncio.sleep(2.0)
            await caller.says(turns[1])
            await asyncio.sleep(10.0)
            assert log.words == ["began", "ended"]
            assert transcript(caller.session.history) == [
                "user: find me a table",
                'call find({"what": "a table"})',
                "output find: found a table",
                "user: okay",
                "assistant: There is one.",
            ]

    run_virtual(main())


@pytest.mark.parametrize(("work", "kept"), [(0.1, True), (3.0, False)])
def test_words_to_what_the_tool_itself_says_cut_that_and_wait_a_moment_for_the_tool(work: float, kept: bool) -> None:
    cut: list[bool] = []
    line = "This is going to take me quite a while, so please be patient with me, dear caller."

    @function_tool
    async def find(ctx: RunContext, what: str) -> str:
        """Find."""
        said = await ctx.session.say(line)
        cut.append(said.interrupted)
        await asyncio.sleep(work)
        return f"found {what}"

    async def main() -> None:
        # A result that comes in while the caller speaks begins a reply, which their turn then replaces.
        llm = FakeLLM([FIND, *["Never heard."] * kept, "I hurry."])
        async with VoiceCall(llm, ["find me a table", "yes yes do hurry up"]) as call:
            await call.begin(Agent(tools=[find]))
            await call.microphone.speak(1.0)
            await asyncio.sleep(2.5)
            await call.microphone.speak(1.0)
            await asyncio.sleep(10.0)
            await call.session.wait_for_idle()
            assert cut == [True]
            assert outputs(call.session) == (["found a table"] if kept else [])
            assert transcript(call.session.history)[-2:] == ["user: yes yes do hurry up", "assistant: I hurry."]

    run_virtual(main())


def test_without_a_recogniser_duration_interrupts() -> None:
    log = Log()

    async def main() -> None:
        llm = FakeLLM([Reply("I am going to have a look for a free table now.", FIND.calls)])
        microphone, speaker = FakeMicrophone(), FakeSpeaker()
        session = AgentSession[Any](
            llm=llm,
            vad=FakeVAD(),
            tts=FakeTTS(),
            turn_handling={"interruption": {"cancel_after": 0.4}},
        )
        async with session:
            seen = dropped(session)
            await session.start(Agent(tools=[finding(log)]), input=microphone, output=speaker)
            session.generate_reply(user_input="Find me a table.")
            await asyncio.sleep(1.0)
            await microphone.speak(1.0)
            await asyncio.sleep(8.0)
            assert seen[0] == "dropped find"
            assert session.history.messages()[1].interrupted

    run_virtual(main())


def test_the_model_is_told_once_what_was_not_heard() -> None:
    long = "There are quite a few tables free tonight, one by the window, one in the garden, and one near the bar."

    async def main() -> None:
        llm = FakeLLM([long, "By the window, then.", "You are welcome."])
        async with VoiceCall(llm, ["find me a table", "the window please", "thank you"]) as call:
            await call.begin(Agent())
            await call.microphone.speak(1.0)
            await asyncio.sleep(3.0)
            await call.microphone.speak(1.0)
            await asyncio.sleep(5.0)
            await call.microphone.speak(1.0)
            await call.session.wait_for_idle()
            heard = call.session.history.messages()[1].text_content or "?"
            assert llm.histories[1][-1] == (
                "system: The user spoke over your last message and heard only the words of it that you see."
                f" They have not heard: {long.removeprefix(heard).strip()}"
            )
            assert not any(line.startswith("system:") for line in (*llm.histories[0], *llm.histories[2]))

    run_virtual(main())


def test_text_is_cut_to_what_was_heard() -> None:
    long = "There are quite a few tables free tonight, one by the window, one in the garden, and one near the bar."

    async def main() -> None:
        llm = FakeLLM([long, "By the window, then."])
        async with VoiceCall(llm, ["find me a table", "the window please"]) as call:
            await call.begin(Agent())
            await call.microphone.speak(1.0)
            await asyncio.sleep(3.0)
            await call.microphone.speak(1.0)
            await asyncio.sleep(5.0)
            await call.session.wait_for_idle()
            cut = call.session.history.messages()[1]
            assert cut.interrupted and long.startswith(cut.text_content or "?") and cut.text_content != long
            assert f"assistant: {cut.text_content} [cut]" in llm.histories[1]
            assert cut.extra["written"] == long or long.startswith(cut.extra["written"])

    run_virtual(main())


def test_what_was_not_heard_at_all_is_not_recorded_as_said() -> None:
    async def main() -> None:
        llm = FakeLLM([Reply("There are two.", ttft=1.0), "Two by the window."])
        async with VoiceCall(llm, ["find me a table", "by the window"]) as call:
            await call.begin(Agent())
            await call.microphone.speak(1.0)
            await asyncio.sleep(0.6)
            await call.microphone.speak(1.0)
            await asyncio.sleep(5.0)
            await call.session.wait_for_idle()
            said = [m.text_content for m in call.session.history.messages() if m.role == "assistant"]
            assert said == ["Two by the window."]

    run_virtual(main())


@pytest.mark.parametrize("handle", [True, False])
def test_protected_speech_is_heard_whole_and_what_was_said_over_it_is_answered(handle: bool) -> None:
    line = "Please listen carefully, as our menu has changed since you last called us."

    async def main() -> None:
        llm = FakeLLM(["You are welcome."])
        async with VoiceCall(llm, ["thank you very much"]) as call:
            await call.begin(Agent())
            speech = call.session.say(line) if handle else call.session.say(line, allow_interruptions=False)
            if handle:
                speech.allow_interruptions = False
            await asyncio.sleep(1.5)
            await call.microphone.speak(1.0)
            await asyncio.sleep(10.0)
            await call.session.wait_for_idle()
            assert [m.text_content for m in call.session.history.messages()] == [
                line,
                "thank you very much",
                "You are welcome.",
            ]

    run_virtual(main())


@both
def test_where_interruption_is_switched_off_everything_is_heard_whole_and_answered_in_turn(channel: Channel) -> None:
    long = "There are quite a few tables free tonight, one by the window, one in the garden, and one near the bar."

    async def main() -> None:
        llm = FakeLLM([long, "The window, then."])
        turns = ["find me a table", "the window please"]
        async with calling(channel, Agent(), llm, *turns, turn_handling={"interruption": {"enabled": False}}) as caller:
            for turn in turns:
                await caller.says(turn)
                speech = caller.session.current_speech
                assert speech is None or not speech.allow_interruptions
            await asyncio.sleep(10.0)
            await caller.session.wait_for_idle()
            assert transcript(caller.session.history) == [
                "user: find me a table",
                f"assistant: {long}",
                "user: the window please",
                "assistant: The window, then.",
            ]

    run_virtual(main())
