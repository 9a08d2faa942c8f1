"""What a call's events become: turns, tool calls, JSON."""

from __future__ import annotations

import dataclasses
import json
from datetime import date
from typing import Any, cast

import pytest

from antiphon.agent import Agent
from antiphon.calls.record import CallRecord, ToolCallRecord, ToolStep, Turn, arguments_of, percentiles, plain
from antiphon.chat import ChatContext, ChatMessage, FunctionCall, FunctionCallOutput
from antiphon.events import (
    AgentStateChangedEvent,
    ConversationItemAddedEvent,
    ErrorEvent,
    EventEmitter,
    FunctionToolsExecutedEvent,
    SaidAsideEvent,
    ToolAdoptedEvent,
    ToolCallEnded,
    ToolCallStarted,
    ToolCallUpdated,
    ToolDroppedEvent,
    ToolExecutionUpdatedEvent,
    ToolResultEvent,
    TurnMetricsEvent,
    UnbackedClaimEvent,
    UserStateChangedEvent,
)
from antiphon.metrics import CallMetrics, ResponseMetrics, Stretch, TurnMetrics
from antiphon.session import AgentSession


class Watched(EventEmitter):
    """What a log needs of a session: events, a history, userdata."""

    def __init__(self) -> None:
        super().__init__()
        self.history = ChatContext()
        self.current_agent = Agent(instructions="")
        self.tools: list[Any] = []
        self.store = None
        self.time = 0.0
        self.shown: list[Turn | ToolCallRecord] = []
        self.told: list[TurnMetrics] = []
        self.steps: list[ToolStep] = []
        self.record = CallRecord(lambda: self.time)
        self.record.on("turn", lambda turn: self.shown.append(dataclasses.replace(turn)))
        self.record.on("tool", self.tool_step)
        self.record.on("reply", self.told.append)
        self.record.listen(cast("AgentSession[Any]", self))

    def tool_step(self, call: ToolCallRecord, step: ToolStep) -> None:
        self.steps.append(step)
        if step not in ("updated", "ended"):
            self.shown.append(dataclasses.replace(call))

    def at(self, time: float, name: str, event: Any) -> None:
        self.time = time
        self.emit(name, event)

    def say(self, time: float, role: str, text: str, **kwargs: Any) -> None:
        message = ChatMessage(role=cast("Any", role), content=[text], **kwargs)
        self.at(time, "conversation_item_added", ConversationItemAddedEvent(item=message))

    def tool(self, time: float, update: ToolCallStarted | ToolCallUpdated | ToolCallEnded) -> None:
        self.at(time, "tool_execution_updated", ToolExecutionUpdatedEvent(update=update))

    def result(self, time: float, output: FunctionCallOutput) -> None:
        self.history.append(output)
        self.at(time, "tool_result", ToolResultEvent(call_id="c1", output=output, is_final=True))


CALL = FunctionCall(call_id="c1", name="book", arguments='{"day": "Tuesday"}')


def test_a_callers_turn_lasts_from_the_first_sound_to_the_last() -> None:
    session = Watched()
    session.at(1.0, "user_state_changed", UserStateChangedEvent(old_state="listening", new_state="speaking"))
    session.at(1.8, "user_state_changed", UserStateChangedEvent(old_state="speaking", new_state="listening"))
    session.at(2.2, "user_state_changed", UserStateChangedEvent(old_state="listening", new_state="speaking"))
    session.at(3.0, "user_state_changed", UserStateChangedEvent(old_state="speaking", new_state="listening"))
    session.say(3.4, "user", "Hi there")
    assert session.record.turns == [Turn("user", "Hi there", 1.0, 3.0)]


def test_a_typed_turn_has_the_time_at_which_it_came() -> None:
    session = Watched()
    session.say(3.4, "user", "Hi there")
    assert session.record.turns == [Turn("user", "Hi there", 3.4, 3.4)]


def test_an_answer_begins_when_the_agent_sounds_and_what_was_cut_is_kept() -> None:
    session = Watched()
    session.at(4.0, "agent_state_changed", AgentStateChangedEvent(old_state="thinking", new_state="speaking"))
    session.at(5.5, "user_state_changed", UserStateChangedEvent(old_state="listening", new_state="speaking"))
    session.say(6.0, "assistant", "I have nine", interrupted=True, extra={"written": "I have nine and ten."})
    (turn,) = session.record.turns
    assert turn == Turn("assistant", "I have nine", 4.0, 6.0, interrupted=True, unheard="and ten.")


def test_what_was_cut_while_the_caller_was_silent_was_not_cut_by_the_caller() -> None:
    session = Watched()
    session.say(6.0, "assistant", "One", interrupted=True)
    assert session.record.turns[0].overtaken


def executed(output: str, *, is_error: bool = False, call_id: str = "c1") -> FunctionToolsExecutedEvent:
    return FunctionToolsExecutedEvent(
        function_calls=[dataclasses.replace(CALL, call_id=call_id)],
        function_call_outputs=[FunctionCallOutput(call_id=call_id, name="book", output=output, is_error=is_error)],
    )


def test_a_tool_call_is_shown_when_it_begins_and_when_its_output_is_known() -> None:
    session = Watched()
    session.tool(1.0, ToolCallStarted(function_call=CALL))
    session.tool(1.5, ToolCallEnded(call_id="c1", message="", status="done"))
    session.at(1.6, "function_tools_executed", executed("booked"))
    began, ended = session.shown
    assert began == ToolCallRecord("c1", "book", {"day": "Tuesday"}, started=1.0)
    assert ended == ToolCallRecord("c1", "book", {"day": "Tuesday"}, "booked", False, "done", 1.0, 1.5)


def test_a_tool_that_went_to_the_background_is_one_call_with_its_last_output() -> None:
    session = Watched()
    session.tool(1.0, ToolCallStarted(function_call=CALL))
    session.at(1.2, "function_tools_executed", executed("on it"))
    assert session.record.tool_calls[0].status == "running"
    session.tool(5.0, ToolCallEnded(call_id="c1", message="", status="done"))
    for item in (dataclasses.replace(CALL, call_id="c1/finished"), executed("booked", call_id="c1/finished")):
        if isinstance(item, FunctionCall):
            session.history.append(item)
        else:
            session.history.append(item.function_call_outputs[0])
    (call,) = session.record.report(6.0).tool_calls
    assert (call.output, call.status, call.started, call.ended) == ("booked", "done", 1.0, 5.0)


def test_what_came_of_a_tool_in_the_background_is_shown_when_the_agent_tells_it() -> None:
    session = Watched()
    session.tool(1.0, ToolCallStarted(function_call=CALL))
    session.at(1.2, "function_tools_executed", executed("on it"))
    session.say(2.0, "assistant", "I am on it.")
    session.tool(5.0, ToolCallEnded(call_id="c1", message="", status="done"))
    session.result(session.time, FunctionCallOutput(call_id="c1/finished", name="book", output="booked"))
    session.say(6.0, "assistant", "It is booked.")
    session.say(7.0, "assistant", "Anything else?")
    shown = [one.output for one in session.shown if isinstance(one, ToolCallRecord)]
    assert shown == ["", "on it", "booked"]
    turns = [one for one in session.shown if isinstance(one, Turn)]
    assert session.shown.index(turns[1]) > session.shown.index(session.record.tool_calls[0])


def test_a_report_from_the_background_is_shown_in_the_tools_own_words() -> None:
    session = Watched()
    session.tool(1.0, ToolCallStarted(function_call=CALL))
    session.tool(1.1, ToolCallUpdated(call_id="c1", message="on it"))
    told = executed("The tool `book` has updated, message: on it\nDo not make things up.")
    session.at(1.2, "function_tools_executed", told)
    assert [one.output for one in session.shown if isinstance(one, ToolCallRecord)] == ["", "on it"]
    session.history.append(told.function_call_outputs[0])
    (call,) = session.record.report(2.0).tool_calls
    assert call.output == "on it"


def test_the_result_of_a_tool_that_reported_and_ended_at_once_is_shown() -> None:
    session = Watched()
    session.tool(1.0, ToolCallStarted(function_call=CALL))
    session.tool(1.1, ToolCallUpdated(call_id="c1", message="on it"))
    session.tool(1.1, ToolCallEnded(call_id="c1", message="", status="done"))
    session.at(1.2, "function_tools_executed", executed("The tool `book` has updated, message: on it"))
    session.result(session.time, FunctionCallOutput(call_id="c1/finished", name="book", output="booked"))
    session.say(2.0, "assistant", "It is booked.")
    assert [one.output for one in session.shown if isinstance(one, ToolCallRecord)] == ["", "on it", "booked"]


@pytest.mark.parametrize(
    ("status", "is_error"), [("error", True), ("unknown", True), ("dropped", False), ("cancelled", False)]
)
def test_the_end_of_a_call_says_how(status: str, is_error: bool) -> None:
    session = Watched()
    session.tool(1.0, ToolCallStarted(function_call=CALL))
    session.tool(1.5, ToolCallEnded(call_id="c1", message="", status=status))
    (call,) = session.record.tool_calls
    assert (call.status, call.is_error) == (status, is_error)


def test_an_adopted_call_is_told_from_one_that_ran() -> None:
    session = Watched()
    session.at(2.0, "tool_adopted", ToolAdoptedEvent(function_call=CALL))
    (call,) = session.record.tool_calls
    assert (call.status, call.started, call.ended) == ("adopted", 2.0, 2.0)


def test_a_call_whose_run_another_one_took_over_was_dropped() -> None:
    session = Watched()
    session.tool(1.0, ToolCallStarted(function_call=CALL))
    session.at(1.5, "tool_dropped", ToolDroppedEvent(function_call=CALL))
    again = dataclasses.replace(CALL, call_id="c2")
    session.at(2.0, "tool_adopted", ToolAdoptedEvent(function_call=again))
    session.tool(3.0, ToolCallEnded(call_id="c2", message="", status="done"))
    session.at(3.1, "function_tools_executed", executed("booked", call_id="c2"))
    dropped, adopted = session.record.report(4.0).tool_calls
    assert (dropped.status, dropped.is_error, dropped.ended) == ("dropped", False, 1.5)
    assert (adopted.status, adopted.output, adopted.ended) == ("done", "booked", 3.0)
    assert session.steps == ["started", "dropped", "adopted", "ended", "told"]


def test_what_runs_is_what_somebody_waits_for() -> None:
    session = Watched()
    session.tool(1.0, ToolCallStarted(function_call=CALL))
    assert [call.call_id for call in session.record.running] == ["c1"]
    session.at(1.5, "tool_dropped", ToolDroppedEvent(function_call=CALL))
    assert session.record.running == []
    session.at(2.0, "tool_adopted", ToolAdoptedEvent(function_call=dataclasses.replace(CALL, call_id="c2")))
    assert [call.call_id for call in session.record.running] == ["c2"]
    session.tool(3.0, ToolCallEnded(call_id="c2", message="", status="done"))
    assert session.record.running == []


def test_the_steps_of_a_tool_in_the_background_come_in_order() -> None:
    session = Watched()
    session.tool(1.0, ToolCallStarted(function_call=CALL))
    session.tool(1.1, ToolCallUpdated(call_id="c1", message="on it"))
    session.at(1.2, "function_tools_executed", executed("The tool `book` has updated, message: on it"))
    session.tool(5.0, ToolCallEnded(call_id="c1", message="", status="done"))
    session.result(session.time, FunctionCallOutput(call_id="c1/finished", name="book", output="booked"))
    session.say(6.0, "assistant", "It is booked.")
    assert session.steps == ["started", "updated", "deferred", "ended", "told"]


def test_a_call_that_never_ran_is_an_error() -> None:
    session = Watched()
    session.at(1.0, "function_tools_executed", executed("Unknown function: book", is_error=True))
    (call,) = session.record.report(2.0).tool_calls
    assert (call.status, call.is_error, call.output) == ("error", True, "Unknown function: book")


@pytest.mark.parametrize(("is_error", "status"), [(True, "error"), (False, "refused")])
def test_a_call_that_never_ran_is_shown_with_its_arguments_and_as_over(is_error: bool, status: str) -> None:
    session = Watched()
    session.at(1.0, "function_tools_executed", executed("No day.", is_error=is_error))
    began = ToolCallRecord("c1", "book", {"day": "Tuesday"}, started=1.0)
    ended = ToolCallRecord("c1", "book", {"day": "Tuesday"}, "No day.", is_error, cast("Any", status), 1.0, 1.0)
    assert session.shown == [began, ended]


def test_a_call_whose_end_nobody_saw_is_unknown() -> None:
    session = Watched()
    session.tool(1.0, ToolCallStarted(function_call=CALL))
    (call,) = session.record.report(2.0).tool_calls
    assert call.status == "unknown"


def test_the_json_holds_calls_userdata_latency_history_and_errors() -> None:
    session = Watched()
    cast("Any", session).userdata = {"booking": {"day": date(2026, 3, 4)}}
    session.history.add_message(role="user", content="Book it")
    session.tool(1.0, ToolCallStarted(function_call=CALL))
    session.tool(1.5, ToolCallEnded(call_id="c1", message="booked", status="done"))
    session.at(2.0, "error", ErrorEvent(error=ValueError("lost"), source="tts"))
    report = json.loads(json.dumps(session.record.report(3.0, [0.5, None, 0.7]).to_json()))
    assert report["tool_calls"][0]["arguments"] == {"day": "Tuesday"}
    assert report["userdata"] == {"booking": {"day": "2026-03-04"}}
    assert report["latency"]["voice_to_voice_ms"] == {"p50": 600.0, "p95": 690.0, "values": [500.0, 700.0]}
    assert report["history"][0]["content"] == ["Book it"]
    assert report["errors"] == ["ValueError: lost"]


def test_the_json_holds_what_each_reply_took_and_the_sums() -> None:
    session = Watched()
    metrics = TurnMetrics(
        1, "caller", "speech_1", 1.5, 4.0, speech_ended=1.0, decided=1.5, sound=(Stretch(2.0, 4.0),),
        responses=(ResponseMetrics(True, 1.5, first_audio=2.0),),
        silences=(Stretch(1.0, 2.0),),
    )  # fmt: skip
    session.at(4.0, "turn_metrics", TurnMetricsEvent(metrics=metrics, call=CallMetrics([metrics])))
    report = json.loads(json.dumps(session.record.report(5.0).to_json()))
    assert session.told == [metrics]
    (reply,) = report["replies"]
    assert (reply["origin"], reply["endpointing_delay"], reply["response_delay"]) == ("caller", 0.5, 1.0)
    assert (report["metrics"]["median_response_delay"], report["metrics"]["dead_air"]) == (1.0, 1.0)


def test_userdata_that_was_never_set_is_null() -> None:
    assert Watched().record.report(1.0).userdata is None


# -- small parts


def test_percentiles_of_nothing_are_none() -> None:
    assert percentiles([]) == {"p50": None, "p95": None, "values": []}


@pytest.mark.parametrize(
    ("text", "value"), [("", {}), ('{"a": 1}', {"a": 1}), ("[1]", {"raw": [1]}), ("x", {"raw": "x"})]
)
def test_arguments_are_an_object_whatever_the_model_wrote(text: str, value: dict[str, Any]) -> None:
    assert arguments_of(text) == value


@dataclasses.dataclass
class Point:
    x: int
    y: set[int]


class Plain:
    def __init__(self) -> None:
        self.name = "n"
        self._hidden = object()


def test_any_userdata_becomes_json() -> None:
    looped: dict[str, Any] = {}
    looped["self"] = looped
    value = plain({1: Point(1, {2}), "o": Plain(), "f": float("nan"), "loop": looped})
    assert json.loads(json.dumps(value)) | {"loop": None} == {
        "1": {"x": 1, "y": [2]},
        "o": {"name": "n"},
        "f": "NaN",
        "loop": None,
    }


def test_a_filler_stands_where_it_was_heard_and_the_answer_begins_behind_it() -> None:
    session = Watched()
    session.at(4.0, "agent_state_changed", AgentStateChangedEvent(old_state="thinking", new_state="speaking"))
    session.at(5.0, "said_aside", SaidAsideEvent(text="Let me look.", segment_id="f1"))
    session.say(7.0, "assistant", "Nine is free.")
    filler, answer = session.record.report(8.0).to_json()["turns"]
    assert (filler["text"], filler["aside"], filler["started"], filler["ended"]) == ("Let me look.", True, 4.0, 5.0)
    assert (answer["text"], answer["aside"], answer["started"], answer["ended"]) == ("Nine is free.", False, 5.0, 7.0)


def test_what_was_claimed_and_not_done_is_reported() -> None:
    session = Watched()
    session.at(2.0, "unbacked_claim", UnbackedClaimEvent(sentence="I have booked it.", done="booked", speech_id="s1"))
    assert session.record.report(8.0).to_json()["claims"] == [
        {"at": 2.0, "sentence": "I have booked it.", "done": "booked"}
    ]
