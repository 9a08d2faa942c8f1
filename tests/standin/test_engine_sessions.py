"""The engine in sessions: agents that begin by themselves, hand over, or have their calls run twice."""

from __future__ import annotations

import asyncio
import datetime as dt
from typing import Any

from antiphon import Agent, AgentSession, RunContext, function_tool
from antiphon.chat import ChatMessage
from antiphon.testing import SimulatedCall, run_virtual, wait_until
from antiphon_standin import StandInLLM

NOON = dt.datetime(2026, 11, 21, 12, 0)


class Informed(Agent):
    """Tells itself what is known of the caller when it comes on, and begins to speak."""

    async def on_enter(self) -> None:
        context = self.chat_ctx.copy()
        context.add_message(
            role="system", content=f"You are {type(self).__name__}. Current user data is phone: unknown."
        )
        await self.update_chat_ctx(context)
        self.session.generate_reply(tool_choice="none")


class Bookings(Informed):
    """Takes bookings down piece by piece."""

    def __init__(self) -> None:
        super().__init__(instructions="Your job is to ask for the arrival time, then for the guest's name.")

    @function_tool
    async def update_arrival_time(self, time: str) -> str:
        """Called when the user tells their arrival time.

        Args:
            time: The arrival time
        """
        return f"The arrival time is {time}"

    @function_tool
    async def update_name(self, name: str) -> str:
        """Called when the user tells their name.

        Args:
            name: The user's name
        """
        return f"The name is {name}"


class Greeter(Informed):
    """Finds out who is wanted."""

    def __init__(self) -> None:
        super().__init__(instructions="Greet the caller, and find out whether they want to make a booking.")

    @function_tool
    async def to_bookings(self) -> tuple[Agent, str]:
        """Called when the user wants to make a booking."""
        return Bookings(), "Transferring to bookings."


@function_tool(on_duplicate="confirm")
async def book_flight(ctx: RunContext[Any], origin: str, destination: str) -> str:
    """Book a flight.

    Args:
        origin: Where it starts
        destination: Where it ends
    """
    await ctx.update("Looking for flights.")
    await asyncio.sleep(100)
    return "Booked."


async def _call(agent: Agent, *words: str) -> list[Any]:
    async with AgentSession[Any](llm=StandInLLM(now=lambda: NOON)) as session:
        await session.start(agent)
        await session.wait_for_idle()
        for text in words:
            await session.run(user_input=text)
        return list(session.history.items)


def _said(items: list[Any]) -> list[str]:
    return [i.text_content or "" for i in items if isinstance(i, ChatMessage) and i.role == "assistant"]


def _arguments(items: list[Any]) -> list[str]:
    return [item.arguments for item in items if item.type == "function_call"]


def test_what_an_agent_knows_is_not_read_out() -> None:
    assert _said(run_virtual(_call(Greeter()))) == ["Hello! How can I help you?"]


def test_an_agent_that_takes_over_asks_for_what_it_is_to_find_out_piece_by_piece() -> None:
    items = run_virtual(_call(Greeter(), "I'd like to make a booking", "at 7 pm", "John Smith"))
    assert _said(items)[1:4] == [
        "Transferring to bookings.",
        "Could you tell me the arrival time?",
        "The arrival time is 7:00 PM. May I have your full name, please?",
    ]
    assert _arguments(items) == ["{}", '{"time": "7:00 PM"}', '{"name": "John Smith"}']


def test_what_a_model_is_told_of_a_message_that_was_spoken_over_is_not_read_out() -> None:
    async def main() -> None:
        async with SimulatedCall(StandInLLM(now=lambda: NOON)) as call:
            await call.start(Agent(instructions="You book flights.", tools=[book_flight]))
            await call.caller.says("I would like to book a flight to Rome")
            await wait_until(lambda: call.session.agent_state == "speaking")
            await asyncio.sleep(0.4)
            await call.caller.says("what did you say, please")
            await call.settled(quiet=2.0)
            said = [item for item in call.session.history.items if isinstance(item, ChatMessage)]
        cut, *rest = [item for item in said if item.role == "assistant"]
        assert cut.interrupted
        assert rest
        assert "spoke over" not in " ".join(item.text_content or "" for item in rest)

    run_virtual(main())


def test_an_instruction_for_one_reply_is_still_followed() -> None:
    class Eager(Agent):
        async def on_enter(self) -> None:
            self.session.generate_reply(instructions="Ask the user for their address.")

    assert _said(run_virtual(_call(Eager(instructions="You take orders.")))) == ["Could you tell me your address?"]


def test_a_call_beside_one_that_runs_is_confirmed_only_when_the_caller_agreed() -> None:
    agent = Agent(instructions="You book flights.", tools=[book_flight])
    items = run_virtual(
        _call(agent, "Book a flight from Paris to Tokyo", "Book a flight from Paris to Oslo", "yes please")
    )
    assert _arguments(items) == [
        '{"origin": "Paris", "destination": "Tokyo"}',
        '{"origin": "Paris", "destination": "Oslo"}',
        '{"origin": "Paris", "destination": "Oslo", "_lk_agents_confirm_duplicate": true}',
    ]
    assert "Shall I run it a second time?" in _said(items)[1]


def test_a_call_beside_one_that_runs_is_left_when_the_caller_does_not_agree() -> None:
    agent = Agent(instructions="You book flights.", tools=[book_flight])
    items = run_virtual(_call(agent, "Book a flight from Paris to Tokyo", "Book a flight from Paris to Oslo", "no"))
    assert len(_arguments(items)) == 2
