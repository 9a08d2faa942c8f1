"""What to test an agent with: virtual time, scripted models, a microphone and a loudspeaker, conformance suites.

Everything here is public and is what Antiphon's own tests use. Nothing needs a network, a key or a sound card, and
with `run_virtual` nothing waits: a minute of conversation takes milliseconds.

```python
def test_a_caller_gets_a_table() -> None:
    async def call() -> None:
        llm = FakeLLM([Reply(calls=[("book", {"day": "Tuesday"})]), "Your table is booked."])
        async with AgentSession(llm=llm) as session:
            await session.start(agent=Host())
            await session.run(user_input="A table on Tuesday, please")
        assert transcript(session.history) == [
            "user: A table on Tuesday, please",
            'call book({"day": "Tuesday"})',
            "output book: Booked for Tuesday",
            "assistant: Your table is booked.",
        ]

    run_virtual(call())
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon.exports import on_first_use

if TYPE_CHECKING:
    from antiphon.testing.audio import FakeMicrophone, FakeSpeaker, Sound, silence, speech, stereo
    from antiphon.testing.caller import Caller, CallerSTT, Fault, SpokenWord, Utterance
    from antiphon.testing.chaos import ChaosLLM, Reissued
    from antiphon.testing.clock import (
        CallbackFailed,
        Deadlock,
        LeakedTasks,
        OutOfTime,
        VirtualLoop,
        VirtualTimeError,
        now,
        run_virtual,
        wait_until,
    )
    from antiphon.testing.contract import (
        Heard,
        StoreUnderTest,
        TransportUnderTest,
        check_llm,
        check_output,
        check_realtime,
        check_store,
        check_stt,
        check_transport,
        check_tts,
        check_vad,
        utterance,
    )
    from antiphon.testing.fakes import (
        Fail,
        FakeLLM,
        FakeSTT,
        FakeTTS,
        FakeTurnDetector,
        FakeVAD,
        Hang,
        Reply,
        ScriptExhausted,
    )
    from antiphon.testing.history import check_pairs, transcript
    from antiphon.testing.realtime import Break, FakeRealtimeModel, FakeRealtimeSession
    from antiphon.testing.simulation import SimulatedCall
    from antiphon.testing.timeline import Timeline, overlap

_HOME = {
    "audio": ("FakeMicrophone", "FakeSpeaker", "Sound", "silence", "speech", "stereo"),
    "caller": ("Caller", "CallerSTT", "Fault", "SpokenWord", "Utterance"),
    "chaos": ("ChaosLLM", "Reissued"),
    "clock": (
        "CallbackFailed",
        "Deadlock",
        "LeakedTasks",
        "OutOfTime",
        "VirtualLoop",
        "VirtualTimeError",
        "now",
        "run_virtual",
        "wait_until",
    ),
    "contract": (
        "Heard",
        "StoreUnderTest",
        "TransportUnderTest",
        "check_llm",
        "check_output",
        "check_realtime",
        "check_store",
        "check_stt",
        "check_transport",
        "check_tts",
        "check_vad",
        "utterance",
    ),
    "fakes": (
        "Fail",
        "FakeLLM",
        "FakeSTT",
        "FakeTTS",
        "FakeTurnDetector",
        "FakeVAD",
        "Hang",
        "Reply",
        "ScriptExhausted",
    ),
    "history": ("check_pairs", "transcript"),
    "realtime": ("Break", "FakeRealtimeModel", "FakeRealtimeSession"),
    "simulation": ("SimulatedCall",),
    "timeline": ("Timeline", "overlap"),
}

__all__ = [
    "Break",
    "CallbackFailed",
    "Caller",
    "CallerSTT",
    "ChaosLLM",
    "Deadlock",
    "Fail",
    "FakeLLM",
    "FakeMicrophone",
    "FakeRealtimeModel",
    "FakeRealtimeSession",
    "FakeSTT",
    "FakeSpeaker",
    "FakeTTS",
    "FakeTurnDetector",
    "FakeVAD",
    "Fault",
    "Hang",
    "Heard",
    "LeakedTasks",
    "OutOfTime",
    "Reissued",
    "Reply",
    "ScriptExhausted",
    "SimulatedCall",
    "Sound",
    "SpokenWord",
    "StoreUnderTest",
    "Timeline",
    "TransportUnderTest",
    "Utterance",
    "VirtualLoop",
    "VirtualTimeError",
    "check_llm",
    "check_output",
    "check_pairs",
    "check_realtime",
    "check_store",
    "check_stt",
    "check_transport",
    "check_tts",
    "check_vad",
    "now",
    "overlap",
    "run_virtual",
    "silence",
    "speech",
    "stereo",
    "transcript",
    "utterance",
    "wait_until",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__, _HOME)
