"""`confirm=`: a call is read back, and runs after a yes to exactly that."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Mapping
from typing import Any, Literal

import pytest

from antiphon import Agent, AgentSession, RunContext, ToolCall, function_tool
from antiphon.calls.record import CallRecord
from antiphon.errors import ToolDefinitionError
from antiphon.events import ConsentAskedEvent, ConsentDecidedEvent
from antiphon.language.consent import Asked
from antiphon.language.consent import Reply as Meaning
from antiphon.store import Row, RowState
from antiphon.stores.memory import MemoryStore
from antiphon.testing import FakeLLM, Reply, run_virtual

BOOK = Reply(calls=[("book", {"date": "2026-12-04", "people": 2})])


def desk(**options: Any) -> tuple[Any, list[tuple[str, int]]]:
    booked: list[tuple[str, int]] = []

    tool: Any = function_tool(effect="writes", **options)

    async def book(date: dt.date, people: int) -> str:
        """Book a table. It cannot be moved."""
        booked.append((date.isoformat(), people))
        return "Booked, number 4711."

    return tool(book), booked


def talk(tool: Any, replies: list[Any], *turns: str, **options: Any) -> AgentSession[Any]:
    """A session in text in which the caller typed these turns."""

    async def test() -> AgentSession[Any]:
        async with AgentSession[Any](llm=FakeLLM(replies), **options) as session:
            await session.start(Agent(instructions="You take bookings.", tools=[tool]))
            for turn in turns:
                await session.run(user_input=turn)
        return session

    return run_virtual(test())


def said(session: AgentSession[Any]) -> list[str]:
    return [f"{item.role}: {item.text_content}" for item in session.history.items if item.type == "message"]


def test_it_runs_after_a_typed_yes_and_the_run_ends_at_the_question() -> None:
    book, booked = desk(confirm=True)
    session = talk(book, [BOOK, "It is number 4711."], "A table for two", "yes")
    assert booked == [("2026-12-04", 2)]
    assert said(session) == [
        "user: A table for two",
        "assistant: Book a table: date December 4th, 2026, people two. Shall I go ahead?",
        "user: yes",
        "assistant: It is number 4711.",
    ]


def test_it_does_not_run_after_a_no_and_one_reply_answers() -> None:
    book, booked = desk(confirm=True)
    session = talk(book, [BOOK, "As you like."], "A table for two", "no")
    assert booked == []
    assert said(session)[-2:] == ["user: no", "assistant: As you like."]


def test_without_an_answer_it_never_runs() -> None:
    book, booked = desk(confirm=True)
    talk(book, [BOOK], "A table for two")
    assert booked == []


@pytest.mark.parametrize(
    "confirm",
    [
        "I'll book {date} for {people}. All right?",
        lambda arguments: (
            f"I'll book December 4th, 2026 for {'two' if arguments['people'] == 2 else 'many'}. All right?"
        ),
    ],
)
def test_the_words_may_be_the_authors(confirm: Any) -> None:
    book, booked = desk(confirm=confirm)
    session = talk(book, [BOOK, "Done."], "A table for two", "yes")
    assert booked
    assert said(session)[1] == "assistant: I'll book December 4th, 2026 for two. All right?"


def test_a_function_that_gives_no_text_runs_nothing() -> None:
    def nothing(_: Mapping[str, Any]) -> str:
        return ""

    book, booked = desk(confirm=nothing)
    session = talk(book, [BOOK, "Sorry."], "A table for two")
    assert booked == []
    assert any("internal error" in getattr(item, "output", "") for item in session.history.items)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"effect": "reads", "confirm": True}, "not worth a question"),
        ({"confirm": "Book it?"}, "for tools that say that they write"),
        ({"effect": "writes", "confirm": ""}, "nothing to read back"),
        ({"effect": "writes", "confirm": "on {date"}, "no template"),
        ({"effect": "writes", "confirm": 3}, "expected True"),
    ],
)
def test_what_cannot_be_asked_is_an_error_at_definition(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ToolDefinitionError, match=complaint):
        function_tool(**options)(lambda: "")


def test_a_template_with_an_unknown_name_is_an_error_where_the_tool_is_given_to_an_agent() -> None:
    book, _ = desk(confirm="On {day}?")
    with pytest.raises(ToolDefinitionError, match="date, people"):
        Agent(instructions="", tools=[book])


def test_events_tell_what_was_asked_heard_and_decided() -> None:
    book, _ = desk(confirm=True)
    seen: list[Any] = []

    async def test() -> None:
        async with AgentSession[Any](llm=FakeLLM([BOOK, "Done."])) as session:
            session.on("consent_asked", seen.append)
            session.on("consent_decided", seen.append)
            await session.start(Agent(instructions="", tools=[book]))
            await session.run(user_input="A table")
            await session.run(user_input="yes")

    run_virtual(test())
    asked, decided = seen
    assert isinstance(asked, ConsentAskedEvent) and asked.text.startswith("Book a table") and asked.times == 1
    assert isinstance(decided, ConsentDecidedEvent)
    assert (decided.decision, decided.heard, decided.by) == ("yes", "yes", "words")


def test_a_button_may_answer() -> None:
    book, booked = desk(confirm=True)

    async def test() -> None:
        async with AgentSession[Any](llm=FakeLLM([BOOK, "Done."])) as session:
            await session.start(Agent(instructions="", tools=[book]))
            session.answer_consent(True)
            await session.run(user_input="A table")
            session.answer_consent(True)
            await session.wait_for_idle()
            session.answer_consent(True)
            assert said(session)[-2:] == ["user: yes", "assistant: Done."]

    run_virtual(test())
    assert len(booked) == 1


def test_a_judge_may_decide_and_a_broken_one_leaves_it_to_the_words() -> None:
    heard: list[tuple[str, str]] = []

    async def judge(words: str, asked: Asked) -> Meaning | None:
        heard.append((words, asked.text))
        if words == "yes":
            raise RuntimeError("no line")
        return Meaning.YES

    book, booked = desk(confirm=True)
    talk(book, [BOOK, "Done."], "A table", "make my day", consent_judge=judge)
    talk(book, [BOOK, "Done."], "A table", "yes", consent_judge=judge)
    assert len(booked) == 2
    assert heard[0][0] == "make my day" and "December 4th" in heard[0][1]


def test_what_is_read_back_is_said_as_people_say_it() -> None:
    @function_tool(effect="writes", confirm=True)
    async def order(
        at: dt.datetime,
        what: list[str],
        kind: Literal["to_go", "here"],
        gift: bool,
        phone: str,
        note: str | None = None,
    ) -> str:
        """Place an order"""
        return "ok"

    made = {
        "at": "2026-12-04T19:30", "what": ["soup", "bread"], "kind": "to_go", "gift": False, "phone": "+1 555 0123456",
    }  # fmt: skip
    session = talk(order, [Reply(calls=[("order", made)])], "Hello")
    assert said(session)[1] == (
        "assistant: Place an order: at December 4th, 2026, 7:30 PM, what soup, bread, kind to go, gift no, phone plus"
        " one, five five five, zero one two three four five six. Shall I go ahead?"
    )


def test_german_asks_in_german() -> None:
    book, _ = desk(confirm="Ich buche am {date} für {people}.")
    session = talk(book, [BOOK], "Einen Tisch", language="de")
    assert said(session)[1] == "assistant: Ich buche am 4. Dezember 2026 für zwei. Soll ich das so machen?"


def test_a_context_is_no_argument_that_is_read_back() -> None:
    @function_tool(effect="writes", confirm=True)
    async def pay(ctx: RunContext[Any], amount: float) -> str:
        """Pay."""
        return "paid"

    session = talk(pay, [Reply(calls=[("pay", {"amount": 12.5})])], "Pay")
    assert said(session)[1] == "assistant: Pay: amount 12.5. Shall I go ahead?"


@pytest.mark.parametrize(("options", "is_asked"), [({}, True), ({"confirm": False}, False)])
def test_what_is_irreversible_is_asked_first_unless_its_author_says_otherwise(
    options: dict[str, Any], is_asked: bool
) -> None:
    done: list[str] = []

    async def wipe() -> str:
        """Delete everything."""
        done.append("wiped")
        return "Wiped."

    tool: Any = function_tool(wipe, effect="irreversible", **options)
    session = talk(tool, [Reply(calls=[("wipe", {})]), "Wiped."], "Delete it all")
    assert (said(session)[-1] == "assistant: Delete everything. Shall I go ahead?") is is_asked
    assert bool(done) is not is_asked


def test_the_record_of_a_call_has_what_was_asked_heard_and_decided() -> None:
    book, _ = desk(confirm=True)

    async def test() -> CallRecord:
        record = CallRecord(lambda: 0.0)
        async with AgentSession[Any](llm=FakeLLM([BOOK, "As you like."])) as session:
            record.listen(session)
            await session.start(Agent(instructions="", tools=[book]))
            await session.run(user_input="A table")
            await session.run(user_input="no")
        return record

    [call] = run_virtual(test()).report(1.0).to_json()["tool_calls"]
    assert call["status"] == "refused"
    assert call["consent"] == {
        "asked": "Book a table: date December 4th, 2026, people two. Shall I go ahead?",
        "times": 1,
        "decision": "no",
        "heard": "no",
        "by": "words",
    }


def test_one_more_is_asked_for_first_where_the_tool_says_so() -> None:
    book, booked = desk(repeat="ask")
    replies = [BOOK, "Booked.", BOOK, "Booked twice.", BOOK, "Fine."]
    session = talk(book, replies, "A table for two", "the same again", "yes", "and again", "no")
    assert len(booked) == 2
    assert said(session)[3:5] == [
        "assistant: This was done before. Once more: Book a table: date December 4th, 2026, people two. Shall I go"
        " ahead?",
        "user: yes",
    ]
    assert said(session)[-2:] == ["user: no", "assistant: Fine."]


def approved(answer: bool | None, **options: Any) -> tuple[list[Any], list[tuple[str, int]], AgentSession[Any]]:
    """A booking that somebody has to approve; None: they never answer."""
    asked: list[Any] = []

    async def approve(call: ToolCall, ctx: Any) -> bool:
        asked.append(call.arguments)
        if answer is None:
            await asyncio.sleep(1000)
        return answer is True

    book, booked = desk(approve=approve, **options)
    turns = ["A table for two", "yes"] if options.get("confirm") else ["A table for two"]
    return asked, booked, talk(book, [BOOK, "So it is."], *turns)


def test_somebody_approves_it() -> None:
    asked, booked, _ = approved(True)
    assert asked == [{"date": "2026-12-04", "people": 2}] and len(booked) == 1


def test_somebody_refuses_it_and_the_model_reads_that_nothing_was_done() -> None:
    _, booked, session = approved(False)
    assert booked == []
    [output] = [item.output for item in session.history.items if item.type == "function_call_output"]
    assert output.startswith("`book` was not run") and "unknown" not in output


def test_nobody_approves_it_in_time() -> None:
    _, booked, session = approved(None, approve_timeout=30.0)
    assert booked == []
    [output] = [item.output for item in session.history.items if item.type == "function_call_output"]
    assert "within 30 seconds" in output


def test_it_is_approved_behind_the_callers_yes_which_lives_for_a_minute() -> None:
    asked, booked, _ = approved(True, confirm=True)
    assert len(asked) == len(booked) == 1
    _, booked, session = approved(None, confirm=True)
    [output] = [item.output for item in session.history.items if item.type == "function_call_output"]
    assert booked == [] and "within 60 seconds" in output


def test_what_is_irreversible_and_approved_is_not_read_back_too() -> None:
    async def approve(call: ToolCall, ctx: Any) -> bool:
        return True

    async def wipe() -> str:
        """Delete everything."""
        return "Wiped."

    tool: Any = function_tool(wipe, effect="irreversible", approve=approve)
    session = talk(tool, [Reply(calls=[("wipe", {})]), "It is gone."], "Delete it all")
    assert said(session)[-1] == "assistant: It is gone."


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"approve": print, "effect": "writes"}, "coroutine function"),
        ({"approve": approved, "effect": "reads"}, "for tools that say that they write"),
    ],
)
def test_what_cannot_be_approved_is_an_error_at_definition(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ToolDefinitionError, match=complaint):
        function_tool(**options)(lambda: "")


def test_changes_of_mind_use_up_no_rounds_of_tools() -> None:
    """Rounds belong to one turn of the caller, and each "yes, but" is one: the fourth read-back is booked."""
    book, booked = desk(confirm=True)
    calls: list[Any] = [Reply(calls=[("book", {"date": "2026-12-04", "people": people})]) for people in (2, 3, 5, 6)]
    changes = [f"Yes, but for {people}" for people in ("three", "five", "six")]
    session = talk(book, [*calls, "It is number 4711."], "A table for two", *changes, "yes", max_tool_steps=2)
    assert booked == [("2026-12-04", 6)]
    assert said(session)[-1] == "assistant: It is number 4711."


# -- what nobody knows


def doubtful(keys: list[str], **options: Any) -> Any:
    """A tool that breaks in the middle the first time."""

    tool: Any = function_tool(effect="writes", **options)

    async def book(ctx: RunContext[Any], date: dt.date, people: int) -> str:
        """Book a table."""
        keys.append(ctx.idempotency_key)
        if len(keys) == 1:
            raise ConnectionError("broken off")
        return "Booked, number 4711."

    return tool(book)


TRY = ["A table for two", "Then try again, please", "yes"]


def test_what_nobody_knows_is_tried_again_with_its_key_after_the_callers_yes() -> None:
    keys: list[str] = []
    session = talk(doubtful(keys), [BOOK, "I can't tell whether it worked.", BOOK, "It is number 4711."], *TRY)
    assert len(keys) == 2 and keys[0] == keys[1]
    assert said(session)[-4:] == [
        "user: Then try again, please",
        "assistant: I still don't know whether that went through. To try it again: Book a table: date December 4th,"
        " 2026, people two. Shall I go ahead?",
        "user: yes",
        "assistant: It is number 4711.",
    ]


def test_of_another_tool_that_was_never_in_doubt_nothing_is_read_back() -> None:
    booked: list[str] = []

    @function_tool(effect="writes")
    async def note(text: str) -> str:
        """Note something."""
        booked.append(text)
        return "Noted."

    async def test() -> None:
        keys: list[str] = []
        replies: list[Any] = [BOOK, "I can't tell.", Reply(calls=[("note", {"text": "call back"})]), "It is noted."]
        async with AgentSession[Any](llm=FakeLLM(replies)) as session:
            await session.start(Agent(instructions="You take bookings.", tools=[doubtful(keys), note]))
            await session.run(user_input="A table for two")
            await session.run(user_input="Then note that")
            assert booked == ["call back"]

    run_virtual(test())


def test_the_store_keeps_both_tries_in_one_row() -> None:
    store, keys = MemoryStore(), list[str]()
    talk(doubtful(keys), [BOOK, "I can't tell.", BOOK, "It is number 4711."], *TRY, store=store)

    async def rows() -> list[Row]:
        (info,) = await store.calls()
        call = await store.load(info.id)
        assert call is not None
        return list(call.rows)

    (row,) = run_virtual(rows())
    assert (row.attempt, row.state, row.output) == (2, RowState.SUCCEEDED, "Booked, number 4711.")
