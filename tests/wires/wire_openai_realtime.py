"""What OpenAI's Realtime API says."""

from __future__ import annotations

import base64
from dataclasses import fields
from random import Random

from antiphon.errors import ProviderError
from antiphon.providers.openai_realtime import RealtimeModel
from antiphon.realtime import AudioDelta, RealtimeEvent, RealtimeSetup, ResponseDone
from antiphon.testing import run_virtual, silence
from tests.wires import mutate
from tests.wires.line import Data, answers
from tests.wires.wire import Finding, Wire, well_formed

_ABOUT = {"response_id": "resp_1", "item_id": "item_1", "output_index": 0, "content_index": 0}
_HEARD = {"item_id": "item_9", "content_index": 0}
_WORDS = "conversation.item.input_audio_transcription"
_SOUND = base64.b64encode(bytes(480)).decode()
SEEDS = (
    {"type": "session.created", "session": {"type": "realtime"}},
    {"type": "input_audio_buffer.speech_started", "audio_start_ms": 5, "item_id": "item_9"},
    {"type": "input_audio_buffer.speech_stopped", "audio_end_ms": 900, "item_id": "item_9"},
    {"type": "input_audio_buffer.committed", "item_id": "item_9", "previous_item_id": None},
    {"type": f"{_WORDS}.delta", "delta": " book a", **_HEARD},
    {"type": f"{_WORDS}.completed", "transcript": " book a table", **_HEARD},
    {"type": f"{_WORDS}.failed", "error": {"type": "x", "message": "noise"}, **_HEARD},
    {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "metadata": {"request": "r"}}},
    {"type": "response.output_item.added", "response_id": "resp_1", "item": {"id": "item_1", "type": "message"}},
    {"type": "response.output_audio_transcript.delta", "delta": "Of course.", **_ABOUT},
    {"type": "response.output_audio.delta", "delta": _SOUND, **_ABOUT},
    {"type": "response.output_text.delta", "delta": "Of course.", **_ABOUT},
    {
        "type": "response.output_item.added",
        "response_id": "resp_1",
        "item": {"id": "item_2", "type": "function_call", "name": "book", "call_id": "call_1", "arguments": ""},
    },
    {
        "type": "response.function_call_arguments.done",
        "response_id": "resp_1",
        "item_id": "item_2",
        "call_id": "call_1",
        "arguments": '{"day": "Friday"}',
    },
    {"type": "response.done", "response": {"id": "resp_1", "status": "completed", "output": []}},
    {
        "type": "response.done",
        "response": {
            "id": "resp_1",
            "status": "failed",
            "status_details": {
                "type": "failed",
                "error": {"type": "server_error", "message": "fell over"},
            },
        },
    },
    {"type": "error", "error": {"type": "invalid_request_error", "code": "c", "message": "no", "event_id": "event_1"}},
    {"type": "error", "error": {"type": "server_error", "code": None, "message": "no", "event_id": None}},
)


def make(random: Random) -> list[Data]:
    said: list[Data] = mutate.talk(random, SEEDS, most=16)
    if random.random() < 0.05:
        said.append(random.randbytes(20))
    return said


def feed(given: list[Data]) -> None:
    run_virtual(_converse(given), timeout=120)


async def _converse(given: list[Data]) -> None:
    model = RealtimeModel(api_key="k")
    model.connect = answers(given)  # type: ignore[method-assign]
    async with model.session(RealtimeSetup(instructions="Be kind.")) as session:
        session.push_audio(silence(0.1))
        session.commit_audio()
        session.generate_reply(instructions="Greet.")
        async for event in session:
            _check(event)
            if isinstance(event, AudioDelta):
                session.truncate(event.response_id, 0.001)
                session.interrupt()


def _check(event: RealtimeEvent) -> None:
    """A session believes the types of an event."""
    for field in fields(event):
        value = getattr(event, field.name)
        if isinstance(value, str):
            well_formed(value, f"{type(event).__name__}.{field.name}")
        if str(field.type) == "str" and not isinstance(value, str):
            raise Finding(f"expected text: {event}")
        if field.name == "request" and not isinstance(value, (str, type(None))):
            raise Finding(f"expected text or None: {event}")
    if isinstance(event, AudioDelta) and len(event.frame.data) % 2:
        raise Finding(f"expected whole samples, got {len(event.frame.data)} bytes")
    if isinstance(event, ResponseDone) and event.status not in ("completed", "cancelled", "incomplete", "failed"):
        raise Finding(f"expected a status: {event}")


WIRE = Wire("openai_realtime", make, feed, declared=(ProviderError,), share=1.5)
