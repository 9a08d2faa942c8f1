"""Listening to a session."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon import UsageError
from antiphon.chat import FunctionCall, FunctionCallOutput
from antiphon.events import EventEmitter, FunctionToolsExecutedEvent


def test_callbacks_are_called_in_order_until_they_are_taken_off() -> None:
    emitter, seen = EventEmitter(), list[Any]()
    first = emitter.on("x", lambda event: seen.append((1, event)))
    emitter.on("x")(lambda event: seen.append((2, event)))
    emitter.emit("x", "a")
    emitter.off("x", first)
    emitter.emit("x", "b")
    assert seen == [(1, "a"), (2, "a"), (2, "b")]


def test_once_is_called_once() -> None:
    emitter, seen = EventEmitter(), list[Any]()
    emitter.once("x", seen.append)
    emitter.emit("x", 1)
    emitter.emit("x", 2)
    assert seen == [1] and not emitter.listened("x")


def test_taking_off_what_is_not_there_does_nothing() -> None:
    emitter = EventEmitter()
    emitter.off("x", print)
    assert not emitter.listened("x")


def test_coroutine_functions_are_refused() -> None:
    async def callback(_: Any) -> None:
        pass

    with pytest.raises(UsageError, match="plain function"):
        EventEmitter().on("x", callback)


def test_a_callback_may_take_itself_off() -> None:
    emitter, seen = EventEmitter(), list[int]()

    def callback(value: int) -> None:
        seen.append(value)
        emitter.off("x", callback)

    emitter.on("x", callback)
    emitter.on("x", seen.append)
    emitter.emit("x", 1)
    emitter.emit("x", 2)
    assert seen == [1, 1, 2]


def test_calls_and_outputs_can_be_walked_together() -> None:
    call = FunctionCall(call_id="c", name="f", arguments="{}")
    output = FunctionCallOutput(call_id="c", name="f", output="1")
    event = FunctionToolsExecutedEvent(function_calls=[call], function_call_outputs=[output])
    assert event.zipped() == [(call, output)]
