"""What must not leave the requests of a long talk: what a speech was to answer, and what is still to be told."""

from __future__ import annotations

from collections.abc import Sequence

from antiphon.chat import ChatItem, ChatMessage, FunctionCall, FunctionCallOutput
from antiphon.options import Effect
from antiphon.runtime.carried import Carried

ROOM = 400
"""Tokens."""


def effect(_: str) -> Effect:
    return "reads"


def user(text: str) -> ChatMessage:
    return ChatMessage(role="user", content=text)


def talk(turns: int) -> list[ChatItem]:
    """Of an `AgentTask`, for example."""
    return [
        message
        for n in range(turns)
        for message in (user(f"It is {n} and then some more."), ChatMessage(role="assistant", content=f"So {n} it is."))
    ]


def pair(call_id: str, output: str) -> list[ChatItem]:
    call = FunctionCall(call_id=call_id, name="find", arguments="{}")
    return [call, FunctionCallOutput(call_id=call_id, name="find", output=output)]


def carried(context: list[ChatItem], *later: ChatItem, owed: Sequence[str] = (), over: bool = False) -> list[str]:
    """What is carried of the context that a speech began with, and of what came later. `over`: the speech is."""
    one = Carried()
    one.asked(1, context, owed)
    if over:
        one.forget(1)
    context = [*context, *later]
    assert one.cut(context, ROOM, 2, effect)
    return [
        item.output if isinstance(item, FunctionCallOutput) else getattr(item, "text_content", None) or ""
        for item in one.items(context)
    ]


def test_what_a_speech_was_to_answer_stays_in_its_requests_while_a_task_talks_in_between() -> None:
    before = [*talk(20), user("Book me a table.")]
    assert "Book me a table." in carried(before, *talk(16), *pair("c1", "booked"))


def test_it_may_leave_when_the_speech_is_over() -> None:
    before = [*talk(20), user("Book me a table.")]
    assert "Book me a table." not in carried(before, *talk(16), user("And now?"), over=True)


def test_where_the_talk_in_between_alone_is_too_long_results_not_heard_yet_are_carried_without_it() -> None:
    before = [user("Book me a table."), *pair("c1", "a table at eight")]
    kept = carried(before, *talk(60), owed=["c1"])
    assert "a table at eight" in kept and "It is 0 and then some more." not in kept


def test_an_answer_that_was_cut_stays_before_what_it_was_cut_for() -> None:
    cut = ChatMessage(role="assistant", content="There is a table at", interrupted=True)
    long = "No, wait, I have to tell you something first. " * 30
    assert "There is a table at" in carried([*talk(20), user("And?"), cut, user(long)])


def test_no_more_is_carried_than_there_is_room_for_whatever_stands_behind_what_is_to_be_answered() -> None:
    one, context = Carried(), [*talk(20), user("Book me a table.")]
    one.asked(1, context, [])
    for number in range(14):
        asked, answered = talk(1)
        context += [asked, *pair(f"c{number}", "yes"), answered]
    context += [*pair("c14", "no")]
    one.asked(1, context, ["c0", "c14"])
    assert one.cut(context, ROOM, 2, effect)
    shown = one.items(context)
    assert one.tokens(context) <= ROOM
    assert context[40] in shown and all(item in shown for item in (*context[42:44], *context[-2:]))


def test_what_is_carried_by_itself_does_not_shorten_what_stands_behind_it() -> None:
    one, context = Carried(), [user("Search."), *pair("c1", "searching"), *talk(60), user("Book me a table.")]
    one.asked(1, context, ["c1"])
    assert one.cut(context, ROOM, 2, effect)
    context += [user("Which day?"), *talk(10), *pair("c2", "booked")]
    one.cut(context, ROOM, 2, effect)
    shown = [item for item in one.items(context) if item in context]
    assert shown[:2] == context[1:3] and shown[-24:] == context[-24:]


def test_what_left_and_is_owed_again_is_carried_again() -> None:
    one, context = Carried(), [user("Book."), *pair("c1", "a table at eight"), *talk(60), user("And?")]
    one.asked(1, context, ())
    assert one.cut(context, ROOM, 2, effect)
    one.forget(1)
    assert not any(getattr(item, "output", "") == "a table at eight" for item in one.items(context))
    one.asked(2, context, ["c1"])
    one.take_back(context, (), ROOM, effect)
    assert any(getattr(item, "output", "") == "a table at eight" for item in one.items(context))


def test_a_result_that_is_still_to_be_told_is_as_long_as_there_is_room_for() -> None:
    before = [user("What is there?"), *pair("c1", "a table at eight. " * 15), *pair("c2", "and one at nine. " * 400)]
    short, long = (
        next(text for text in carried([*before], *talk(60), owed=owed) if text.startswith(("a t", "and")))
        for owed in (["c1"], ["c2"])
    )
    assert len(short) == len("a table at eight. " * 15)
    assert 200 < len(long) <= 800
