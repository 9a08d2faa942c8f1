"""Who hears the caller when recognisers fail, and that nothing is heard twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from antiphon.adapters.fallback import AllProvidersFailed, AvailabilityChanged, Backoff, FallbackSTT
from antiphon.errors import MissingKey, ProviderError, UsageError
from antiphon.stt import STT, SpeechEvent, STTStream
from antiphon.testing import Fail, FakeLLM, FakeSTT, check_stt, now, run_virtual, silence, transcript
from antiphon.vad import SpeechEnded, SpeechStarted
from tests.adapters.fallback_calls import Call, Caller, finals

LOST = ProviderError("connection lost", provider="one")


def run(work: Coroutine[Any, Any, None]) -> None:
    run_virtual(work, timeout=600.0)


class NoKey(FakeSTT):
    def stream(self) -> Any:
        raise MissingKey("nokey.STT", "NO_KEY")


def heard_by(stts: Sequence[STT], utterances: int = 1, pause: float = 2.0, **options: Any) -> list[str]:
    """What is understood of so many utterances, each of a second, until the input has ended."""
    heard: list[str] = []

    async def main() -> None:
        async with FallbackSTT(stts, **options).stream() as stream:
            reading = asyncio.create_task(finals(stream, heard))
            caller = Caller(stream)
            for _ in range(utterances):
                await caller.speak(1.0)
                await caller.wait(pause)
            stream.end_input()
            await reading

    run(main())
    return heard


def test_it_is_a_recogniser_like_any_other() -> None:
    run(check_stt(lambda: FallbackSTT([FakeSTT(["hello"] * 9), FakeSTT()]), expect="hello"))


def test_it_is_one_also_when_the_first_recogniser_is_down() -> None:
    factory = lambda: FallbackSTT([FakeSTT([Fail(LOST)]), FakeSTT(["hello"] * 9)])  # noqa: E731
    run(check_stt(factory, expect="hello"))


def test_it_needs_a_recogniser() -> None:
    with pytest.raises(UsageError, match="FallbackSTT: expected one provider or more"):
        FallbackSTT([])


def test_the_first_recogniser_is_heard_while_it_works() -> None:
    second = FakeSTT(["x"])
    assert heard_by([FakeSTT(["hello", "again"]), second], utterances=2) == ["hello", "again"]
    assert second.streams == []


def test_the_utterance_in_which_a_recogniser_dies_goes_to_the_next_one() -> None:
    first, second = FakeSTT([Fail(LOST, after=0.7)]), FakeSTT(["hello there"])
    assert heard_by([first, second]) == ["hello there"]
    assert second.streams[0].pushed >= 1.0 + 2.0  # from the beginning of the utterance


@pytest.mark.parametrize("after", [0.01, 0.2, 0.5, 0.9, 1.0, 1.1, 1.25, 1.4])
def test_whenever_a_recogniser_dies_each_utterance_is_understood_once(after: float) -> None:
    first, second = FakeSTT(["one", Fail(LOST, after=after)]), FakeSTT(["two", "three"])
    assert heard_by([first, second], utterances=3) == ["one", "two", "three"]
    starts = [mark for mark in second.streams[0].marks if isinstance(mark, SpeechStarted)]
    assert len(starts) == 2  # the first utterance was covered


def test_a_transcript_that_came_is_not_asked_for_again_when_the_recogniser_dies_after_it() -> None:
    dies = FakeSTT(["one"], timeline=[])
    stream_errors: list[str] = []

    async def main() -> None:
        second = FakeSTT(["two"])
        async with FallbackSTT([dies, second]).stream() as stream:
            reading = asyncio.create_task(finals(stream, stream_errors))
            caller = Caller(stream)
            await caller.speak(1.0)
            await caller.wait(0.4)
            await dies.streams[0].aclose()  # the connection ends, without a word
            await caller.wait(1.0)
            assert stream_errors == ["one"]
            assert second.streams[0].marks == []
            await caller.speak(1.0)
            await caller.wait(1.0)
            stream.end_input()
            await reading

    run(main())
    assert stream_errors == ["one", "two"]


def test_a_recogniser_that_stalls_is_followed_within_the_deadline() -> None:
    async def main() -> None:
        changes: list[AvailabilityChanged] = []
        first, second = FakeSTT(), FakeSTT(["hello there"])
        stt = FallbackSTT([first, second], transcript_timeout=1.0, on_availability_changed=changes.append)
        async with stt.stream() as stream:
            heard: list[str] = []
            reading = asyncio.create_task(finals(stream, heard))
            caller = Caller(stream)
            await caller.speak(1.0)
            await caller.wait(0.2)
            ended = now()
            while not heard:
                await caller.wait(0.02)
            assert heard == ["hello there"] and now() - ended <= 1.2
            assert [(change.provider, change.available) for change in changes] == [(first, False)]
            assert first.streams[0].closed
            stream.end_input()
            await reading

    run(main())


def test_a_cough_blames_nobody() -> None:
    changes: list[AvailabilityChanged] = []
    first, second = FakeSTT(["", "hello"]), FakeSTT([""])
    options: dict[str, Any] = {"pause": 4.0, "on_availability_changed": changes.append}
    assert heard_by([first, second], utterances=2, **options) == ["hello"]
    assert changes == [] and len(second.streams) == 1


def test_what_is_said_while_a_cough_is_judged_is_understood() -> None:
    changes: list[AvailabilityChanged] = []
    engines = [FakeSTT([""]), FakeSTT(["", "hello"])]
    assert heard_by(engines, utterances=2, on_availability_changed=changes.append) == ["hello"]
    assert changes == []  # the first one has never heard the second utterance


def test_a_cough_is_over_also_without_a_second_opinion() -> None:
    assert heard_by([FakeSTT(["", "hello"])], utterances=2) == ["hello"]


def test_words_and_then_silence_are_a_stall_and_no_cough() -> None:
    class Forgetful(STTStream):
        """Gives interim transcripts, and then nothing."""

        def __init__(self) -> None:
            self.events: asyncio.Queue[SpeechEvent | None] = asyncio.Queue()

        def push(self, frame: Any) -> None:
            pass

        def mark(self, event: Any) -> None:
            if isinstance(event, SpeechStarted):
                self.events.put_nowait(SpeechEvent.interim("hello"))

        async def __aiter__(self) -> Any:
            while (event := await self.events.get()) is not None:
                yield event

        async def aclose(self) -> None:
            self.events.put_nowait(None)

    class Engine(STT):
        def stream(self) -> STTStream:
            return Forgetful()

    failed: list[Any] = []
    engines = [Engine(), Engine(), FakeSTT(["hello there"])]
    assert heard_by(engines, on_availability_changed=lambda change: failed.append(change.provider)) == ["hello there"]
    assert failed == engines[:2]


def test_the_recogniser_that_recovered_hears_the_next_utterance() -> None:
    changes: list[tuple[Any, bool]] = []
    first, second = FakeSTT([Fail(LOST), "two"]), FakeSTT(["one"])
    note: Callable[[AvailabilityChanged], None] = lambda change: changes.append((change.provider, change.available))  # noqa: E731
    options: dict[str, Any] = {"backoff": Backoff(first=1.0), "on_availability_changed": note}
    assert heard_by([first, second], utterances=2, **options) == ["one", "two"]
    assert changes == [(first, False), (first, True)]


def test_one_that_cannot_be_had_is_passed_over() -> None:
    assert heard_by([NoKey(), FakeSTT(["hello"])]) == ["hello"]


def test_none_to_be_had_is_one_error() -> None:
    async def main() -> None:
        with pytest.raises(AllProvidersFailed, match=r"nokey\.STT: no NO_KEY"):
            FallbackSTT([NoKey(), NoKey()]).stream()

    run(main())


def test_all_recognisers_down_is_one_error() -> None:
    with pytest.raises(AllProvidersFailed, match="all failed"):
        heard_by([FakeSTT([Fail(LOST)]), FakeSTT([Fail(LOST)])])


def test_marks_stand_where_the_replayed_sound_has_them() -> None:
    first, second = FakeSTT(["one", Fail(LOST, after=0.5)]), FakeSTT(["two"])
    heard_by([first, second], utterances=2)
    started, ended = second.streams[0].marks
    # The second voice lies from 3.0 to 4.0 s of the call; half a second before it is replayed.
    assert isinstance(started, SpeechStarted) and started.at == pytest.approx(0.5, abs=0.03)
    assert isinstance(ended, SpeechEnded) and ended.at == pytest.approx(1.5, abs=0.03)


def test_no_more_than_the_limit_is_replayed() -> None:
    async def main() -> None:
        first, second = FakeSTT([Fail(LOST, after=20.0)]), FakeSTT(["the end of it"])
        async with FallbackSTT([first, second], max_replay=5.0).stream() as stream:
            heard: list[str] = []
            reading = asyncio.create_task(finals(stream, heard))
            caller = Caller(stream)
            await caller.speak(19.9)
            while not second.streams:
                await caller.speak(0.02)
            assert second.streams[0].pushed == pytest.approx(5.0, abs=0.05)
            assert [type(mark) for mark in second.streams[0].marks] == [SpeechStarted]
            await caller.wait(1.0)
            stream.end_input()
            await reading
            assert heard == ["the end of it"]

    run(main())


def test_a_recogniser_that_does_not_end_after_its_input_does_not_hold_the_end_up() -> None:
    class Endless(FakeSTT):
        def stream(self) -> Any:
            stream = super().stream()
            stream.end_input = lambda: None  # type: ignore[method-assign]
            return stream

    async def main() -> None:
        async with FallbackSTT([Endless()], transcript_timeout=1.0).stream() as stream:
            stream.push(silence(0.1))
            stream.end_input()
            await finals(stream, [])
            assert now() <= 1.1

    run(main())


def test_closing_closes_every_recogniser() -> None:
    async def main() -> None:
        engines = [FakeSTT(), FakeSTT()]
        await FallbackSTT(engines).aclose()
        assert [engine.closed for engine in engines] == [True, True]

    run(main())


# -- in a session


def test_a_stalled_recogniser_does_not_hold_the_turn() -> None:
    async def main() -> None:
        stt = FallbackSTT([FakeSTT(), FakeSTT(["what time is it"])])
        async with Call(llm=FakeLLM(["It is noon."]), stt=stt) as call:
            await call.begin()
            await call.microphone.speak(1.0)
            await asyncio.sleep(3.0)
            await call.session.wait_for_idle()
            assert transcript(call.session.history) == ["user: what time is it", "assistant: It is noon."]
            (caller,), (agent,) = call.microphone.sounds, call.speaker.sounds
            print(f"from the caller's last sound to the answer: {agent.start - caller.end:.2f} s")
            assert agent.start - caller.end <= 2.5

    run(main())


def test_a_recogniser_that_dies_in_mid_turn_costs_no_word() -> None:
    async def main() -> None:
        stt = FallbackSTT([FakeSTT([Fail(LOST, after=0.5)]), FakeSTT(["what time is it"])])
        async with Call(llm=FakeLLM(["It is noon."]), stt=stt) as call:
            await call.begin()
            await call.microphone.speak(1.0)
            await asyncio.sleep(2.0)
            await call.session.wait_for_idle()
            assert transcript(call.session.history) == ["user: what time is it", "assistant: It is noon."]
            assert call.errors == []
            (caller,), (agent,) = call.microphone.sounds, call.speaker.sounds
            assert agent.start - caller.end <= 1.0

    run(main())


def test_all_recognisers_down_is_told_to_the_application_and_the_call_goes_on() -> None:
    async def main() -> None:
        stt = FallbackSTT([FakeSTT([Fail(LOST), "are you there"]), FakeSTT([Fail(LOST)])])
        async with Call(llm=FakeLLM(["Yes."]), stt=stt, unheard_line="") as call:
            await call.begin()
            await call.microphone.speak(1.0)
            await asyncio.sleep(3.0)
            assert [type(error) for _, error in call.errors] == [AllProvidersFailed]
            await call.microphone.speak(1.0)
            await asyncio.sleep(3.0)
            assert transcript(call.session.history) == ["user: are you there", "assistant: Yes."]

    run(main())
