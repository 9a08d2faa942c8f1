"""The messages of a page: what is taken, and that everything else is refused in words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.console import protocol
from antiphon.console.protocol import CloseCode, Refused, parse

START = {
    "type": "start",
    "rate": 48_000,
    "audio": True,
    "transport": "websocket",
    "push_to_talk": False,
    "resume": None,
}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (START, protocol.Start(type="start", rate=48_000)),
        ({"type": "start", "rate": 44_100, "resume": "abc"}, protocol.Start(type="start", rate=44_100, resume="abc")),
        ({"type": "text", "text": "hi"}, protocol.Text(type="text", text="hi")),
        ({"type": "push", "down": True}, protocol.Push(type="push", down=True)),
        ({"type": "played", "epoch": 3, "samples": 4711}, protocol.Played(type="played", epoch=3, samples=4711)),
        ({"type": "dtmf", "digit": "#"}, protocol.Dtmf(type="dtmf", digit="#")),
        ({"type": "hang_up"}, protocol.HangUp(type="hang_up")),
        ({"type": "offer", "sdp": "v=0"}, protocol.Offer(type="offer", sdp="v=0")),
    ],
)
def test_a_message_of_the_protocol_is_understood(message: dict[str, Any], expected: object) -> None:
    assert parse(json.dumps(message)) == expected


def test_fields_of_a_newer_page_are_ignored() -> None:
    assert parse('{"type":"hang_up","why":"late"}') == protocol.HangUp(type="hang_up")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "message"),
        ("nonsense", "message"),
        ("[]", "message"),
        ("null", "message"),
        ('{"text":"hi"}', "type"),
        ('{"type":"shout"}', "shout"),
        ('{"type":"start","rate":1}', "start.rate"),
        ('{"type":"start","rate":"48000"}', "start.rate"),
        ('{"type":"start","rate":48000,"transport":"pigeon"}', "start.transport"),
        ('{"type":"text","text":""}', "text.text"),
        ('{"type":"played","epoch":0,"samples":-1}', "played.samples"),
        ('{"type":"played","epoch":0,"samples":1e9}', "played.samples"),
        ('{"type":"dtmf","digit":"12"}', "dtmf.digit"),
        ("[" * 100_000, "message"),
    ],
)
def test_anything_else_is_refused_and_the_reason_names_the_field(text: str, named: str) -> None:
    with pytest.raises(Refused) as refused:
        parse(text)
    assert refused.value.code is CloseCode.MALFORMED
    assert named in refused.value.reason


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
types = st.sampled_from(["start", "text", "push", "played", "dtmf", "hang_up", "offer", "other"])
fields = st.sampled_from(["rate", "text", "down", "epoch", "samples", "digit", "sdp", "resume", "audio"])


@given(st.text() | st.builds(lambda t, f: json.dumps({**f, "type": t}), types, st.dictionaries(fields, json_values)))
def test_no_text_does_anything_but_be_understood_or_refused(text: str) -> None:
    try:
        parse(text)
    except Refused as refused:
        assert refused.reason


def test_a_message_about_a_tool_has_its_time_to_the_millisecond() -> None:
    assert protocol.tool("c1", "book", {}, status="done", seconds=1.23456)["seconds"] == 1.235
