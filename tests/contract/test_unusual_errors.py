"""What an application's code may raise besides an `Exception`: it is answered like any error, and the call goes on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import BeforeValidator

from antiphon import Agent, AgentSession, Toolset, function_tool
from antiphon.chat import ChatContext, FunctionCallOutput
from antiphon.errors import as_exception, pass_on
from antiphon.options import ModelSettings
from antiphon.testing import FakeLLM, Reply, run_virtual


class PanicException(BaseException):
    """As `pyo3_runtime.PanicException` is made."""


UNUSUAL: dict[str, Callable[[], BaseException]] = {
    "panic": lambda: PanicException("index out of bounds"),
    "group": lambda: BaseExceptionGroup("two", [PanicException("one"), ValueError("other")]),
    "GeneratorExit": GeneratorExit,
    "SystemExit": lambda: SystemExit(3),
    "StopIteration": StopIteration,
    "StopAsyncIteration": StopAsyncIteration,
}


@pytest.fixture(params=UNUSUAL)
def raised(request: pytest.FixtureRequest) -> Callable[[], BaseException]:
    return UNUSUAL[request.param]


def talk(agent: Agent, llm: FakeLLM, turns: int = 2) -> AgentSession[Any]:
    """A session in which the caller spoke so often, and that was still running."""

    async def main() -> AgentSession[Any]:
        session = AgentSession[Any](llm=llm)
        await session.start(agent)
        for _ in range(turns):
            await session.run(user_input="Hi")
        assert session.is_running
        await session.aclose()
        return session

    return run_virtual(main())


@pytest.mark.parametrize("in_thread", [False, True], ids=["async", "thread"])
def test_a_tool_that_raises_anything_is_answered(
    raised: Callable[[], BaseException], in_thread: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> str:
        """Fail."""
        raise raised()

    async def fail_async() -> str:
        """Fail."""
        return fail()

    tool = function_tool(fail if in_thread else fail_async, name="fail")
    llm = FakeLLM([Reply(calls=[("fail", {})]), "Sorry.", "Hello."])
    with caplog.at_level(logging.ERROR, "antiphon"):
        session = talk(Agent(instructions="", tools=[tool]), llm)
    (output,) = (item for item in session.history.items if isinstance(item, FunctionCallOutput))
    assert (output.output, output.is_error) == ("An internal error occurred", True)
    assert [m.text_content for m in session.history.messages() if m.role == "assistant"] == ["Sorry.", "Hello."]
    assert any("tool 'fail' raised" in record.getMessage() for record in caplog.records)


def test_a_check_of_an_argument_that_raises_anything_is_answered(raised: Callable[[], BaseException]) -> None:
    def check(value: Any) -> Any:
        raise raised()

    @function_tool
    async def book(day: Annotated[str, BeforeValidator(check)]) -> str:
        """Book.

        Args:
            day: Which
        """
        return "booked"

    llm = FakeLLM([Reply(calls=[("book", {"day": "Monday"})]), "Sorry.", "Hello."])
    session = talk(Agent(instructions="", tools=[book]), llm)
    (output,) = (item for item in session.history.items if isinstance(item, FunctionCallOutput))
    assert (output.output, output.is_error) == ("An internal error occurred", True)


@pytest.mark.parametrize("hook", ["on_enter", "on_exit", "on_user_turn_completed"])
def test_a_hook_that_raises_anything_costs_no_turn(raised: Callable[[], BaseException], hook: str) -> None:
    async def fail(self: Agent, *_: object) -> None:
        raise raised()

    agent = type("Failing", (Agent,), {hook: fail})(instructions="")
    session = talk(agent, FakeLLM(["One.", "Two."]))
    assert [m.text_content for m in session.history.messages() if m.role == "assistant"] == ["One.", "Two."]


def test_a_model_node_that_raises_anything_costs_its_answer_only(raised: Callable[[], BaseException]) -> None:
    class Failing(Agent):
        failed = False

        async def llm_node(self, chat_ctx: ChatContext, tools: list[Any], model_settings: ModelSettings) -> Any:
            if not self.failed:
                self.failed = True
                raise raised()
            return "Two."

    session = talk(Failing(instructions=""), FakeLLM([]))
    assert session.history.messages()[-1].text_content == "Two."


def test_a_listener_that_raises_anything_is_not_heard_of(raised: Callable[[], BaseException]) -> None:
    async def main() -> str | None:
        async with AgentSession[Any](llm=FakeLLM(["One."])) as session:

            def fail(_: object) -> None:
                raise raised()

            session.on("conversation_item_added", fail)
            session.on("agent_state_changed", fail)
            await session.start(Agent(instructions=""))
            handle = session.generate_reply()
            handle.add_done_callback(fail)
            await handle
            return session.history.messages()[-1].text_content

    assert run_virtual(main()) == "One."


def test_a_toolset_that_raises_anything_is_done_without(raised: Callable[[], BaseException]) -> None:
    class Failing(Toolset):
        async def setup(self) -> Failing:
            raise raised()

        async def aclose(self) -> None:
            raise raised()

    session = talk(Agent(instructions="", tools=[Failing(id="failing")]), FakeLLM(["One.", "Two."]))
    assert [m.text_content for m in session.history.messages() if m.role == "assistant"] == ["One.", "Two."]


def test_ctrl_c_and_cancelling_pass() -> None:
    for error in (KeyboardInterrupt(), asyncio.CancelledError()):
        with pytest.raises(type(error)):
            pass_on(error)
    with pytest.raises(GeneratorExit):
        pass_on(GeneratorExit())  # no task runs: a coroutine is being closed
    pass_on(SystemExit(1))


def test_ctrl_c_in_a_tool_ends_the_program() -> None:
    @function_tool
    async def fail() -> str:
        """Fail."""
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        talk(Agent(instructions="", tools=[fail]), FakeLLM([Reply(calls=[("fail", {})]), "Sorry."]), turns=1)


def test_an_error_that_is_no_exception_is_named() -> None:
    panic = PanicException("out of bounds")
    told = as_exception(panic)
    assert (str(told), told.__cause__) == ("PanicException: out of bounds", panic)
    error = ValueError("x")
    assert as_exception(error) is error
