"""Figures of a reply and of a call: what follows from the moments."""

from __future__ import annotations

import json
from typing import Any

import pytest

from antiphon.metrics import CallMetrics, ResponseMetrics, Stretch, ToolMetrics, TurnMetrics


def reply(**moments: Any) -> TurnMetrics:
    """A reply to a turn that ended at 10.0 s and was decided at 10.5 s, first heard at 11.0 s."""
    response = ResponseMetrics(
        True, 10.5, first_token=10.8, first_text=10.8, done=11.5, first_byte=10.9, first_audio=11.0
    )
    given: dict[str, Any] = {
        "turn": 1,
        "origin": "caller",
        "speech_id": "speech_1",
        "asked": 10.5,
        "ended": 13.0,
        "speech_ended": 10.0,
        "decided": 10.5,
        "responses": (response,),
        "sound": (Stretch(11.0, 13.0),),
        "silences": (Stretch(10.0, 11.0),),
    }
    return TurnMetrics(**(given | moments))


def spent(metrics: TurnMetrics, until: float) -> list[tuple[str, float]]:
    return [(stage.name, round(stage.duration, 3)) for stage in metrics.path(until)]


def test_the_path_divides_the_wait() -> None:
    assert spent(reply(), 11.0) == [("end of turn", 0.5), ("model", 0.3), ("voice", 0.1), ("queued", 0.1)]


def test_of_tools_side_by_side_the_slowest_was_waited_for() -> None:
    first = ResponseMetrics(True, 10.5, first_token=11.0, done=11.0, calls=2)
    answer = ResponseMetrics(
        True, 13.0, first_token=13.2, first_text=13.2, done=13.4, first_byte=13.3, first_audio=13.3
    )
    tools = (ToolMetrics("fast", "1", 11.0, 11.4, "done"), ToolMetrics("slow", "2", 11.0, 13.0, "done"))
    metrics = reply(responses=(first, answer), tools=tools)
    assert spent(metrics, 13.3) == [
        ("end of turn", 0.5), ("model", 0.5), ("slow", 2.0), ("model", 0.2), ("voice", 0.1),
    ]  # fmt: skip
    assert [stage.name for stage in metrics.stages].count("fast") == 1


def test_a_model_that_writes_on_is_not_waited_for_once_its_sound_is_made() -> None:
    response = ResponseMetrics(True, 10.5, 10.8, 10.8, done=20.0, first_byte=11.0, first_audio=11.0, calls=1)
    assert spent(reply(responses=(response,)), 11.0) == [("end of turn", 0.5), ("model", 0.3), ("voice", 0.2)]


def test_a_model_that_never_answered_is_what_was_waited_for() -> None:
    metrics = reply(responses=(ResponseMetrics(True, 10.5),), sound=(), interrupted_at=12.0)
    assert spent(metrics, 12.0) == [("end of turn", 0.5), ("model", 1.5)]


def test_where_every_response_made_calls_the_last_that_was_heard_is_the_answer() -> None:
    responses = tuple(ResponseMetrics(True, at, first_audio=at, calls=1) for at in (11.0, 12.0))
    assert reply(responses=responses).first_answer == 12.0


def test_words_that_came_before_the_silence_cost_nothing() -> None:
    assert reply(transcribed=9.8).transcription_delay == 0.0
    assert reply(transcribed=10.2).transcription_delay == pytest.approx(0.2)


def test_what_did_not_happen_is_none() -> None:
    metrics = reply(speech_ended=None, decided=None, responses=(), sound=(), silences=())
    figures = metrics.to_json()
    nothing = ("llm_first_token", "llm_done", "tts_first_byte", "first_audio", "first_answer", "endpointing_delay",
               "transcription_delay", "ttft", "ttfb", "response_delay", "answer_delay")  # fmt: skip
    assert {name: figures[name] for name in nothing} == dict.fromkeys(nothing)
    assert (figures["dead_air"], figures["stages"]) == (0, [])


def test_the_json_holds_the_moments_and_what_follows_from_them() -> None:
    figures = json.loads(json.dumps(reply(tools=(ToolMetrics("find", "c1", 10.9, None, "running"),)).to_json()))
    assert figures["response_delay"] == 1.0
    assert figures["tools"] == [{"name": "find", "call_id": "c1", "started": 10.9, "ended": None, "status": "running"}]
    assert figures["stages"][0] == {"kind": "turn_end", "name": "end of turn", "started": 10.0, "ended": 10.5}


# -- a call


def test_a_call_adds_its_replies_up() -> None:
    late = ResponseMetrics(True, 10.5, first_audio=11.4)
    call = CallMetrics(
        [
            reply(),
            reply(turn=2, responses=(late,), interrupted_at=12.0, tools=(ToolMetrics("a", "1", 1, 2, "done"),)),
            reply(turn=2, origin="results"),
        ]
    )
    assert (call.replies, call.turns, call.interruptions, call.tools) == (3, 2, 1, 1)
    assert list(call.response_delays) == pytest.approx([1.0, 1.4])
    assert call.median_response_delay == pytest.approx(1.2)
    assert call.p95_response_delay == pytest.approx(1.38)


def test_silence_that_two_replies_waited_through_counts_once() -> None:
    call = CallMetrics([reply(), reply(silences=(Stretch(10.5, 11.0), Stretch(13.0, 14.0)), ended=14.0)])
    assert call.dead_air == pytest.approx(2.0)
    assert call.longest_silence == 1.0


def test_a_turn_that_was_answered_twice_is_one_turn() -> None:
    assert CallMetrics([reply(interrupted_at=10.9, sound=()), reply()]).turns == 1


def test_a_call_without_replies_has_no_delays() -> None:
    assert CallMetrics().to_json() | {"median_response_delay": 1} == {
        "turns": 0, "replies": 0, "median_response_delay": 1, "p95_response_delay": None, "dead_air": 0,
        "longest_silence": 0, "interruptions": 0, "tools": 0, "prompt_tokens": 0, "completion_tokens": 0,
        "cached_tokens": 0, "max_tool_steps_reached": 0, "context_trims": 0,
        "unbacked_claims": 0,
    }  # fmt: skip
