"""Tasks that take the floor, wherever they are awaited: their result comes back, and closing does not hang."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from antiphon import Agent, AgentSession, AgentTask, RunContext, ToolError, ToolFlag, UsageError, function_tool
from antiphon.chat import ChatMessage, FunctionCallOutput
from antiphon.llm import ChatRequest
from antiphon.testing import FakeLLM, Reply, now, run_virtual, transcript
from antiphon.testing.fakes import Turn
from tests.calls import VoiceCall, outputs


class Ask(AgentTask[str]):
    """Asks one thing."""

    def __init__(self, what: str) -> None:
        super().__init__(instructions=f"Ask for the {what}.")
        self.what = what

    async def on_enter(self) -> None:
        self.session.say(f"Your {self.what}?")

    @function_tool
    async def answer(self, text: str) -> None:
        """Take the answer."""
        self.complete(text)


class Nested(Ask):
    """Asks another thing first."""

    async def on_enter(self) -> None:
        inner = Nested(self.what[1:]) if len(self.what) > 2 else Ask(self.what)
        self.complete(f"{self.what}<{await inner}>")


class InTool(Agent):
    @function_tool
    async def work(self) -> str:
        """Work."""
        return await Ask("name")


class InEnter(Agent):
    async def on_enter(self) -> None:
        name = await Ask("name")
        await self.session.say(f"Hello {name}.")


class InBackground(Agent):
    @function_tool
    async def work(self, ctx: RunContext) -> str:
        """Work."""
        await ctx.update("Working.", silent=True)
        await asyncio.sleep(1.0)
        return await Ask("name")


class Deep(Agent):
    @function_tool
    async def work(self) -> str:
        """Work."""
        return await Nested("abc")


class InParallel(Agent):
    @function_tool
    async def work(self) -> str:
        """Work."""
        return " ".join(await asyncio.gather(Ask("name"), Ask("age")))


class InExit(Agent):
    @function_tool
    async def work(self) -> Any:
        """Work."""
        return Agent(id="next")

    async def on_exit(self) -> None:
        await self.session.say(f"Goodbye {await Ask('name')}.")


class InTurnHook(Agent):
    asked = False

    async def on_user_turn_completed(self, turn_ctx: Any, new_message: Any) -> None:
        if not self.asked:
            self.asked = True
            await self.session.say(await Ask("name"))


def model(request: Any) -> Turn:
    """Does the work first, answers each question with the caller's words, and then is done."""
    lines = transcript(request.chat_ctx)
    names = [tool.id for tool in request.tools]
    if "answer" in names and lines[-1].startswith("user:"):
        return Reply(calls=[("answer", {"text": lines[-1].removeprefix("user: ")})])
    if "work" in names and not any(line.startswith(("output work", "call work")) for line in lines):
        return Reply(calls=[("work", {})])
    return "I see."


KINDS = [InTool, InEnter, InBackground, Deep, InParallel]


@pytest.mark.parametrize(
    ("kind", "turns", "line"),
    [
        (InTool, ["Go", "Ada"], "output work: Ada"),
        (InEnter, ["Ada"], "assistant: Hello Ada."),
        (InBackground, ["Go", "Ada"], "output work: Ada"),
        (Deep, ["Go", "Ada"], "output work: abc<bc<Ada>>"),
        (InParallel, ["Go", "Ada", "36"], "output work: Ada 36"),
    ],
)
def test_the_result_comes_back_to_whoever_waits_for_it(kind: type[Agent], turns: list[str], line: str) -> None:
    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM(model)) as session:
            agent = kind()
            await session.start(agent)
            for words in turns:
                await asyncio.sleep(3.0)
                session.submit_user_turn(words)
            await asyncio.sleep(3.0)
            await session.wait_for_idle()
            assert session.current_agent is agent
            assert line in transcript(session.history)

    run_virtual(main())


def test_the_next_agent_waits_for_what_on_exit_asks_however_slow_the_caller() -> None:
    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM(model)) as session:
            await session.start(InExit())
            await session.run(user_input="Go")
            await asyncio.sleep(60.0)
            assert session.current_agent.id == "ask"
            await session.run(user_input="Ada")
            assert session.current_agent.id == "next"
            lines = transcript(session.history)
            assert lines.index("assistant: Goodbye Ada.") < lines.index("handoff: in_exit -> next")

    run_virtual(main())


@pytest.mark.parametrize("kind", [*KINDS, InTurnHook, InExit])
@pytest.mark.parametrize("at", [0.1, 1.2, 1.6, 2.5, 3.1, 4.0])
def test_closing_does_not_hang_while_tasks_are_awaited(kind: type[Agent], at: float) -> None:
    async def main() -> None:
        async with VoiceCall(FakeLLM(model), ["go", "ada", "thirty six"]) as call:
            closed: list[str] = []
            call.session.on("close", lambda event: closed.append(event.reason.value))
            await call.begin(kind())
            speaking = call.microphone.speak(0.8)
            await asyncio.sleep(at)
            began = now()
            await call.session.aclose()
            assert now() - began <= 1.2 and closed == ["user_initiated"]
            speaking.cancel()

    run_virtual(main())


# -- how long, and for whom


def test_on_enter_is_still_on_enter_after_a_caller_who_takes_their_time() -> None:
    class Greeter(Agent):
        async def on_enter(self) -> None:
            name = await Ask("name")
            await self.session.generate_reply(instructions=f"Greet {name}.")

        @function_tool(flags=ToolFlag.IGNORE_ON_ENTER)
        async def hang_up(self) -> None:
            """Hang up."""

    async def main() -> None:
        llm = FakeLLM([Reply(calls=[("answer", {"text": "Ada"})]), "Hello Ada."])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Greeter())
            await asyncio.sleep(60.0)
            result = await session.run(user_input="Ada.")
            result.expect.contains_message(role="assistant")
        assert [[tool.id for tool in request.tools] for request in llm.requests] == [["answer"], []]

    run_virtual(main())


class Both(AgentTask[str]):
    """Asks for two things at a time."""

    @function_tool
    async def ask(self) -> str:
        """Ask."""
        return " ".join(await asyncio.gather(Ask("name"), Ask("age")))


class BothInEnter(AgentTask[str]):
    """The same, by itself."""

    async def on_enter(self) -> None:
        self.complete(" ".join(await asyncio.gather(Ask("name"), Ask("age"))))


@pytest.mark.parametrize("outer", [Both, BothInEnter])
def test_who_gives_up_waiting_ends_what_was_awaited_inside_too(outer: type[AgentTask[str]]) -> None:
    class Impatient(Agent):
        @function_tool
        async def work(self) -> str:
            """Work."""
            try:
                async with asyncio.timeout(10.0):
                    return await outer()
            except TimeoutError:
                return "gave up"

    async def main() -> None:
        asks = [Reply(calls=[("ask", {})])] if outer is Both else []
        llm = FakeLLM([Reply(calls=[("work", {})]), *asks, "Never mind.", "Hello."])
        async with AgentSession[Any](llm=llm) as session:
            agent = Impatient()
            await session.start(agent)
            await session.run(user_input="Go.")
            if asks:
                await session.run(user_input="Ask.")
            await asyncio.sleep(11.0)
            assert session.idle and session.current_agent is agent
            await session.run(user_input="Hello?")
            said = [m.text_content for m in session.history.messages() if m.role == "assistant"]
            assert said == ["Your name?", "Never mind.", "Hello."]  # and nobody asks for the age

    run_virtual(main())


def test_the_turn_hook_cannot_await_what_needs_the_next_turn() -> None:
    async def main() -> None:
        errors: list[Any] = []
        async with AgentSession[Any](llm=FakeLLM(["I see."])) as session:
            session.on("error", errors.append)
            await session.start(InTurnHook())
            await session.run(user_input="Go")
            assert now() < 1.0 and transcript(session.history) == ["user: Go", "assistant: I see."]
        assert [type(event.error) for event in errors] == [UsageError]
        assert "on_user_turn_completed" in str(errors[0].error)

    run_virtual(main())


def test_a_synchronous_tool_completes_a_task_from_its_thread() -> None:
    class AskInThread(AgentTask[str]):
        @function_tool
        def answer(self, text: str) -> None:
            """Take the answer."""
            self.complete(text)

    @function_tool
    async def register() -> str:
        """Register."""
        return f"registered {await AskInThread()}"

    async def main() -> None:
        asyncio.get_running_loop().set_debug(True)  # it notices what is not safe between threads
        llm = FakeLLM([Reply(calls=[("register", {})]), Reply(calls=[("answer", {"text": "Ada"})]), "Welcome."])
        async with AgentSession[Any](llm=llm) as session:
            await session.start(Agent(tools=[register]))
            await session.run(user_input="Register me.")
            await session.run(user_input="Ada.")
            assert "registered Ada" in outputs(session)

    run_virtual(main())


class Told(AgentTask[str]):
    """Its completing tool returns a text. `how`: what else it does."""

    def __init__(self, what: str, how: str) -> None:
        @function_tool(effect="unsaid" if how in ("reports", "is beside a write") else "writes")
        async def answer(text: str) -> str:
            """Take the answer."""
            self.complete(text)
            if how == "breaks":
                raise ToolError(f"Taken: {text}.")
            if how == "works on":
                await asyncio.sleep(0.2)
            return f"Taken: {text}."

        @function_tool(effect="writes")
        async def note(text: str) -> str:
            """Write it down."""
            return f"Noted: {text}."

        super().__init__(tools=[answer, note])
        self.what = what

    async def on_enter(self) -> None:
        self.session.say(f"Your {self.what}?")


class OneByOne(Agent):
    """Asks for two things, one after another."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how

    async def names(self) -> str:
        return f"{await Told('name', self.how)} {await Told('surname', self.how)}."


class OneByOneInTool(OneByOne):
    @function_tool
    async def work(self) -> str:
        """Work."""
        return f"Hello {await self.names()}"


class OneByOneInEnter(OneByOne):
    async def on_enter(self) -> None:
        self.session.say(f"Hello {await self.names()}")


def taker(request: ChatRequest, *, notes: bool) -> Reply | str:
    """Works when it is told to, gives its task what the caller said, tells the results that it has not told yet."""
    items = request.chat_ctx.items
    said = [item.text_content for item in items if isinstance(item, ChatMessage) and item.role == "user"]
    tools = [tool.id for tool in request.tools]
    results = [item.output for item in items if isinstance(item, FunctionCallOutput)]
    told = "".join(str(item.text_content) for item in items if isinstance(item, ChatMessage))
    if "answer" in tools:
        calls = ("note", "answer") if notes else ("answer",)
        return Reply(calls=[(name, {"text": said[-1]}) for name in calls])
    if "work" in tools and said and not any("Hello" in result for result in results):
        return Reply(calls=[("work", {})])
    return " ".join(result for result in results if result not in told)


@pytest.mark.parametrize("how", ["reports", "writes", "breaks", "works on", "is beside a write"])
@pytest.mark.parametrize("parent", [OneByOneInTool, OneByOneInEnter])
def test_a_turn_that_completed_a_task_is_not_answered_by_the_next_one_or_the_agent(
    parent: type[OneByOne], how: str
) -> None:
    model = partial(taker, notes=how == "is beside a write")

    async def main() -> None:
        async with AgentSession[Any](llm=FakeLLM(model)) as session:
            await session.start(parent(how))
            if parent is OneByOneInTool:
                session.submit_user_turn("Go.")
            await asyncio.sleep(1.0)
            for name in ("Ann", "Lee"):
                session.submit_user_turn(name)
                await asyncio.sleep(1.0)
            for name in ("Ann", "Lee"):
                assert outputs(session).count(f"Taken: {name}.") == 1
            said = " ".join(line for line in transcript(session.history) if line.startswith("assistant"))
            assert [said.count(text) for text in ("Your name?", "Your surname?", "Hello Ann Lee.")] == [1, 1, 1]
            # What was done to the world is told all the same.
            done = {"reports": "nothing", "is beside a write": "Noted"}.get(how, "Taken")
            for name in ("Ann", "Lee"):
                assert said.count(f"Taken: {name}.") == (done == "Taken")
                assert said.count(f"Noted: {name}.") == (done == "Noted")

    run_virtual(main())
