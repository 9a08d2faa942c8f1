"""What the stand-in never does, sentence by sentence."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Sequence
from typing import Any, Literal

import pytest

from antiphon import Agent, AgentSession, AsyncRunContext, AsyncToolset, ToolError, function_tool
from antiphon.chat import ChatMessage, FunctionCall, FunctionCallOutput
from antiphon.testing import run_virtual
from antiphon_standin import StandInLLM
from antiphon_standin.asking import inquires
from antiphon_standin.opposites import contrary
from antiphon_standin.results import digest, speakable
from antiphon_standin.words import tokenize
from examples import receptionist

from .engine_talk import SATURDAY, Talk


@function_tool
async def transfer(amount: float, to: str) -> str:
    """Transfer money.

    Args:
        amount: How much, in euros.
        to: The full name of who gets it.
    """
    return f"{amount:g} euros are on their way to {to}."


def test_a_new_request_takes_no_value_that_it_has_words_of_its_own_for() -> None:
    talk = Talk([transfer])
    assert talk.say("Transfer 50 euros to Bob Miller.").calls == [("transfer", {"amount": 50, "to": "Bob Miller"})]
    assert talk.say("Transfer 20 euros to Jane Doe.").calls == [("transfer", {"amount": 20, "to": "Jane Doe"})]
    asked = talk.say("Transfer 10 euros to my aunt.")
    assert asked.calls == [] and asked.said.endswith("?")


def test_a_new_request_takes_no_amount_of_an_earlier_one() -> None:
    talk = Talk([transfer])
    talk.say("Transfer 50 euros to Bob Miller.")
    asked = talk.say("Transfer something to Jane Doe as well.")
    assert asked.calls == [] and "?" in asked.said


@function_tool
async def book_room(day: dt.date, start: dt.time, people: int) -> str:
    """Book a meeting room.

    Args:
        day: The day.
        start: When it starts.
        people: How many people come.
    """
    if people > 8:
        raise ToolError(f"No room takes {people} people. The largest takes 8.")
    if start.hour > 17:
        raise ToolError(f"{start:%H:%M} is too late. The last start is 17:00.")
    return f"A room for {people} on {day.isoformat()} at {start:%H:%M}."


def test_a_refused_value_is_replaced_and_the_call_made_again_with_the_rest() -> None:
    talk = Talk([_iso(book_room)])
    wish = {"day": "2026-11-24", "start": "10:00", "people": 12}
    assert talk.say("Book a room on Tuesday at 10 am for 12 people.").calls == [("book_room", wish)]
    assert talk.say("Eight then.").calls == [("book_room", {**wish, "people": 8})]
    late = Talk([_iso(book_room)])
    late.say("Book a room on Tuesday at 8 pm for 4 people.")
    assert late.say("5 pm then.").calls == [("book_room", {"day": "2026-11-24", "start": "17:00", "people": 4})]


def _iso(tool: Any) -> Any:
    """The tool, called with the values that its schema is sent, as the session would make of them."""
    inner = tool.function

    async def book_room(day: dt.date, start: dt.time, people: int) -> str:
        return str(await inner(dt.date.fromisoformat(str(day)), dt.time.fromisoformat(str(start)), people))

    book_room.__doc__ = inner.__doc__
    return function_tool(book_room)


def _pair(one: str, other: str) -> list[Any]:
    """Two tools of opposite deeds, over a device."""

    def made(name: str) -> Any:
        async def act(device: str) -> str:
            return f"{device}: {name}."

        act.__name__ = name
        act.__doc__ = (
            f'{name.replace("_", " ").capitalize()} a device.\n\nArgs:\n    device: Which device, e.g. "fan".\n'
        )
        return function_tool(act)

    return [made(one), made(other)]


OPPOSITES = [
    ("turn_on", "turn_off", "Turn off the fan.", "turn_off"),
    ("turn_on", "turn_off", "Turn the fan off, please.", "turn_off"),
    ("turn_on", "turn_off", "Could you switch the fan on?", "turn_on"),
    ("open", "close", "Close the gate.", "close"),
    ("open", "close", "Shut the gate please.", "close"),
    ("lock", "unlock", "Unlock the gate.", "unlock"),
    ("lock", "unlock", "Lock the gate.", "lock"),
    ("add", "remove", "Remove the lamp.", "remove"),
    ("start", "stop", "Stop the pump.", "stop"),
    ("enable", "disable", "Disable the alarm.", "disable"),
    ("enable", "disable", "Enable the alarm.", "enable"),
    ("mute", "unmute", "Unmute the speaker.", "unmute"),
    ("pause", "resume", "Resume the washer.", "resume"),
    ("arm", "disarm", "Disarm the siren.", "disarm"),
]


@pytest.mark.parametrize(("one", "other", "wish", "deed"), OPPOSITES, ids=[o[2] for o in OPPOSITES])
def test_the_opposite_is_never_done(one: str, other: str, wish: str, deed: str) -> None:
    both = _pair(one, other)
    assert [name for name, _ in Talk(both).say(wish).calls] == [deed]
    wrong = [tool for tool in both if tool.id != deed]
    alone = Talk(wrong).say(wish)
    assert alone.calls == [] and ("can't" in alone.said or "?" in alone.said)


def test_what_was_undone_since_is_done_again() -> None:
    talk = Talk(_pair("lock", "unlock"))
    deeds = [talk.say(wish).calls[0][0] for wish in ("Lock the gate.", "Unlock the gate.", "Lock the gate.")]
    assert deeds == ["lock", "unlock", "lock"]


def test_a_deed_that_is_forbidden_is_not_done() -> None:
    assert Talk(_pair("lock", "unlock")).say("Don't lock the gate.").calls == []


QUESTIONS = [
    "Is the gate locked?",
    "Did you lock the gate?",
    "Should I lock the gate?",
    "Why is the gate locked?",
    "What happens if you lock the gate?",
    "Do you lock the gate at night?",
    "Who locks the gate?",
    "When do you lock the gate?",
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_runs_no_write(question: str) -> None:
    answer = Talk(_pair("lock", "unlock")).say(question)
    assert answer.calls == [] and answer.said


@pytest.mark.parametrize(
    ("said", "asks"),
    [
        ("Could you lock the gate?", False),
        ("Can I book a table for four?", False),
        ("Would you mind opening the window?", False),
        ("How about four o'clock?", False),
        ("Lock the gate.", False),
        ("What time is it? Lock the gate.", False),
        ("Can you tell me when you open?", True),
        ("Yes, that's right. How much is it?", True),
        ("and what do you have on friday", True),
    ],
)
def test_a_wish_in_the_form_of_a_question_is_a_wish(said: str, asks: bool) -> None:
    assert inquires(tokenize(said)) is asks


@function_tool
async def order_cake(flavour: str, day: dt.date) -> str:
    """Order a cake.

    Args:
        flavour: What it tastes of.
        day: When it is collected.
    """
    return "Ordered."


@pytest.mark.parametrize(
    "question", ["What flavours do you have?", "How long does that take?", "Is it fresh?", "Which one is the best?"]
)
def test_a_question_is_no_value(question: str) -> None:
    talk = Talk([order_cake])
    assert "?" in talk.say("I'd like to order a cake for Tuesday.").said
    assert talk.say(question).calls == []
    assert talk.say("Lemon.").calls == [("order_cake", {"flavour": "Lemon", "day": "2026-11-24"})]


def test_a_question_that_names_all_that_lacks_is_read_back() -> None:
    talk = Talk([_iso(book_room)])
    talk.say("I'd like to book a room for 4 people on Tuesday.")
    back = talk.say("Is ten o'clock possible?")
    assert back.calls == [] and back.said.endswith("?")


@pytest.mark.parametrize("words", ["Yes, that's correct.", "Yes, that's right.", "That's correct.", "Correct."])
def test_that_is_correct_is_no_goodbye(words: str) -> None:
    talk = Talk([transfer])
    talk.say("Transfer 50 euros to Bob Miller.")
    answer = talk.say(words)
    assert answer.calls == []
    assert "goodbye" not in answer.said.lower() and "have a great day" not in answer.said.lower()


def _asked(tool: Any, said: str) -> dict[str, Any]:
    (call,) = Talk([tool]).say(said).calls
    return call[1]


@function_tool
async def remind(when: dt.datetime) -> str:
    """Set a reminder.

    Args:
        when: Day and time of the reminder.
    """
    return "Set."


@pytest.mark.parametrize(
    ("said", "when"),
    [
        ("Set a reminder for next Tuesday at 3 pm.", "2026-11-24T15:00"),
        ("Set a reminder for tomorrow at half past nine.", "2026-11-22T09:30"),
        ("Set a reminder for December 5th at noon.", "2026-12-05T12:00"),
        ("Set a reminder for the 3rd of January at 7:45 in the evening.", "2027-01-03T19:45"),
    ],
)
def test_a_moment_is_iso(said: str, when: str) -> None:
    assert _asked(remind, said) == {"when": when}


def test_a_moment_lacks_what_was_not_said_of_it() -> None:
    talk = Talk([remind])
    assert "time" in talk.say("Set a reminder for next Tuesday.").said
    assert talk.say("At ten.").calls == [("remind", {"when": "2026-11-24T10:00"})]


@function_tool
async def note_items(items: list[str]) -> str:
    """Add things to the list.

    Args:
        items: The things, one entry each.
    """
    return "Noted."


@pytest.mark.parametrize(
    ("said", "items"),
    [
        ("Add apples, milk and bread.", ["apples", "milk", "bread"]),
        ("Add apples, milk, and bread to my list please.", ["apples", "milk", "bread"]),
        ("Please add two bottles of juice and a bag of rice.", ["two bottles of juice", "bag of rice"]),
        ("Put soap on the list.", ["soap"]),
        ("add eggs and flour and sugar", ["eggs", "flour", "sugar"]),
    ],
)
def test_a_list_takes_all_items(said: str, items: Sequence[str]) -> None:
    assert _asked(note_items, said) == {"items": list(items)}


@function_tool
async def shop_address() -> str:
    """Give the address of the shop."""
    return "We are at 5 Quay Street."


@function_tool
async def opening_times() -> str:
    """Tell the opening hours."""
    return "We are open from 9 to 6."


@function_tool
async def repair_price(item: Literal["watch", "clock"]) -> str:
    """Tell what a repair costs.

    Args:
        item: What is repaired.
    """
    return f"A {item} costs 30 euros."


@pytest.mark.parametrize(
    ("said", "tool"),
    [
        ("Where are you located?", "shop_address"),
        ("Where are you?", "shop_address"),
        ("Where can I find you?", "shop_address"),
        ("How do I get there?", "shop_address"),
        ("When do you close?", "opening_times"),
        ("What time are you open on Saturday?", "opening_times"),
        ("How late are you open?", "opening_times"),
        ("How much is a watch?", "repair_price"),
    ],
)
def test_a_plain_paraphrase_finds_its_tool(said: str, tool: str) -> None:
    assert [name for name, _ in Talk([shop_address, opening_times, repair_price]).say(said).calls] == [tool]


@pytest.mark.parametrize("word", ["next Tuesday", "tomorrow", "this Friday", "today"])
def test_on_next_tuesday_is_not_said(word: str) -> None:
    assert speakable(f"There is a table on {word} at 19:00.") == f"There is a table {word} at 7 PM."


def _receptionist(*callers: str) -> tuple[list[str], list[str]]:
    """What the receptionist of `examples/` says, and the arguments of the bookings that were made."""

    async def main() -> tuple[list[str], list[str]]:
        session = AgentSession(llm=StandInLLM(now=lambda: SATURDAY))
        tools = [receptionist.check_availability, receptionist.book_appointment]
        await session.start(Agent(instructions="You are a receptionist.", tools=tools))
        for caller in callers:
            await session.run(user_input=caller)
        items = list(session.history.items)
        await session.aclose()
        done = {i.call_id for i in items if isinstance(i, FunctionCallOutput) and i.output.startswith("Appointment")}
        return (
            [i.text_content or "" for i in items if isinstance(i, ChatMessage) and i.role == "assistant"],
            [i.arguments for i in items if isinstance(i, FunctionCall) and i.call_id in done],
        )

    return run_virtual(main())


WISH = "Book 2 pm next Tuesday for Ann Smith."


def test_the_receptionist_does_not_say_on_next_tuesday() -> None:
    said, booked = _receptionist(WISH, "Yes, please.")
    assert "I have booked an appointment for Ann Smith, next Tuesday at 2:00 PM." in said and len(booked) == 1
    assert not any("on next" in line for line in said)


@pytest.mark.parametrize(
    ("answer", "asked"),
    [
        ("Wednesday.", "An appointment for Ann Smith, Wednesday at 2:00 PM. Shall I book it?"),
        ("9 then.", "An appointment for Ann Smith, next Tuesday at 9:00 AM. Shall I book it?"),
        ("No, make it 11:30.", "An appointment for Ann Smith, next Tuesday at 11:30 AM. Shall I book it?"),
    ],
)
def test_a_change_at_the_read_back_is_read_back_anew(answer: str, asked: str) -> None:
    said, booked = _receptionist(WISH, answer)
    assert (said[-1], booked) == (asked, [])
    assert len(_receptionist(WISH, answer, "Yes, please.")[1]) == 1


@pytest.mark.parametrize("answer", ["No.", "No, thank you.", "How much is it?", "Where are you?", "Something else."])
def test_what_the_session_writes_for_a_model_is_never_read_aloud(answer: str) -> None:
    said, booked = _receptionist(WISH, answer)
    assert booked == [] and said[-1]
    assert not any("was not run" in line or "never will be" in line or "They said" in line for line in said)


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ('{"id": "ord_7f3a91c2", "status": "shipped"}', ("The status is shipped.",)),
        ('{"orderId": 88123, "eta": "soon"}', ("The eta is soon.",)),
        ('[{"uuid": "x", "name": "Blue"}, {"uuid": "y", "name": "Red"}]', ("There are 2: Blue; Red.",)),
        ("Booked (id: 5f2e9c). See you then.", ("Booked.", "See you then.")),
        ("Booked with id 0d9a2c1e-77aa-4b0e-9a55-1f7b6f0a2c33.", ("Booked.",)),
        ('Result: {"status": "open", "user_id": 7}', ("Result: The status is open.",)),
        ('{"confirmation": "FL-847293"}', ("The confirmation is FL-847293.",)),
    ],
)
def test_ids_and_json_are_never_read_aloud(output: str, said: tuple[str, ...]) -> None:
    assert digest(output).facts == said


@function_tool
async def book_flight(ctx: AsyncRunContext[Any], origin: str, destination: str) -> dict[str, str]:
    """Book a flight for the user.

    Args:
        origin: Where it starts.
        destination: Where it goes.
    """
    await ctx.update(f"Looking up flights from {origin} to {destination}...")
    await asyncio.sleep(20)
    await ctx.update("Found 3 flights, picking the best one...")
    await asyncio.sleep(20)
    return {"confirmation": "FL-847293"}


def _flight(*callers: str) -> list[str]:
    """What is called and said in a call about a flight that is booked in the background."""

    async def main() -> list[str]:
        session = AgentSession(llm=StandInLLM(now=lambda: SATURDAY))
        await session.start(Agent(instructions="You book flights.", tools=[AsyncToolset(id="b", tools=[book_flight])]))
        for caller in callers:
            await session.run(user_input=caller)
            await asyncio.sleep(2)
        await asyncio.sleep(90)
        items = list(session.history.items)
        await session.aclose()
        return [
            item.arguments if isinstance(item, FunctionCall) else item.text_content or ""
            for item in items
            if isinstance(item, FunctionCall) or (isinstance(item, ChatMessage) and item.role == "assistant")
        ]

    return run_virtual(main())


def test_a_running_task_is_never_already_done() -> None:
    wish = "Book a flight from New York to Tokyo."
    heard = _flight(wish, wish)
    assert not any("done" in line for line in heard)
    assert "I'm still working on that. Shall I run it a second time?" in heard
    assert heard[-1].startswith("The confirmation is FL-847293.")
    asked = _flight(wish, "Is it done?")
    assert any("still working" in line for line in asked) and not any("already" in line for line in asked)


def test_a_prefix_that_reverses_makes_an_opposite() -> None:
    assert contrary(tokenize("Unpin the note."), tokenize("pin note"))
    assert not contrary(tokenize("Pin the note."), tokenize("pin note"))
    assert not contrary(tokenize("Cancel my booking."), tokenize("cancel booking"))


@function_tool
async def report_sick(employee: str, since: dt.date) -> str:
    """Report that somebody is sick.

    Args:
        employee: The full name of the employee.
        since: The first day of the illness.
    """
    return "Noted."


@pytest.mark.parametrize(
    ("said", "since"), [("yesterday", "2026-11-20"), ("last Monday", "2026-11-16"), ("Wednesday", "2026-11-18")]
)
def test_a_day_that_has_been_is_not_taken_for_one_to_come(said: str, since: str) -> None:
    assert _asked(report_sick, f"Please report Mara Finn sick since {said}.") == {
        "employee": "Mara Finn", "since": since
    }  # fmt: skip


@function_tool
async def request_leave(first_day: dt.date, last_day: dt.date) -> str:
    """Request leave.

    Args:
        first_day: The first day of the leave.
        last_day: The last day of the leave.
    """
    return "Requested."


def test_the_last_day_comes_after_the_first() -> None:
    assert _asked(request_leave, "I'd like to request leave from Monday to Saturday.") == {
        "first_day": "2026-11-23", "last_day": "2026-11-28"
    }  # fmt: skip


def test_a_bare_question_runs_no_write() -> None:
    talk = Talk(_pair("open", "close"))
    talk.say("How dry is it?")
    assert talk.say("And the fan?").calls == []


@function_tool
async def switch_lamp(on: bool) -> None:
    """Turn the lamp on or off.

    Args:
        on: True to turn the lamp on, False to turn it off
    """


def test_a_tool_that_does_either_is_not_the_opposite_of_one() -> None:
    assert Talk([switch_lamp]).say("Turn the lamp on.").calls == [("switch_lamp", {"on": True})]


@function_tool
async def count_customers(city: str) -> int:
    """Count the customers of a city.

    Args:
        city: The city, for example Berlin
    """
    return 7


def test_a_question_may_be_answered_by_counting() -> None:
    called = Talk([count_customers]).say("How many customers are in Berlin?").calls
    assert called == [("count_customers", {"city": "Berlin"})]
