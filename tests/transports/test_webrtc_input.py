"""The far microphone as the session hears it: a clock without holes, whatever the network does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.testing import run_virtual
from antiphon.transports.webrtc import WebRTCInput
from antiphon.transports.webrtc.input import MOST_AHEAD, STALL
from antiphon.transports.webrtc.rtp import FRAME, SAMPLE_RATE

FIRST = 0xFFFFFFFF - 2 * FRAME + 1
"""Two frames before the end of the RTP clock: every test crosses it."""


class Listener:
    """A session's ear."""

    def __init__(self) -> None:
        self.input = WebRTCInput()
        self.frames: list[AudioFrame] = []
        self.ended = 0
        self.input.start(self.frames.append, self._end)

    def _end(self) -> None:
        self.ended += 1

    def hear(self, number: int, *, value: int = 1, samples: int = FRAME) -> None:
        """The packet with that number, of 20 ms packets since the beginning."""
        self.input.hear((FIRST + number * FRAME) & 0xFFFFFFFF, value.to_bytes(2, "little") * samples)

    def hear_each(self, *packets: tuple[int, int]) -> None:
        """Packets by number and value."""
        for number, value in packets:
            self.hear(number, value=value)

    @property
    def values(self) -> list[int]:
        """One value of each frame; 0 is silence."""
        return [int.from_bytes(frame.data[:2], "little") for frame in self.frames]

    @property
    def seconds(self) -> float:
        return sum(frame.duration for frame in self.frames)


def listen(scene: Callable[[Listener], object]) -> Listener:
    """Play a scene at one instant."""

    async def run() -> Listener:
        listener = Listener()
        scene(listener)
        await listener.input.aclose()
        return listener

    return run_virtual(run())


def test_packets_become_mono_frames_of_20_ms_at_48_khz() -> None:
    listener = listen(lambda ear: ear.hear_each((0, 1), (1, 2), (2, 3), (3, 4), (4, 5)))
    assert listener.values == [1, 2, 3, 4, 5]
    assert {(f.sample_rate, f.num_channels, f.samples_per_channel) for f in listener.frames} == {
        (SAMPLE_RATE, 1, FRAME)
    }


def test_longer_packets_are_cut_into_frames_of_20_ms() -> None:
    listener = listen(lambda ear: ear.hear(0, samples=3 * FRAME))
    assert [frame.samples_per_channel for frame in listener.frames] == [FRAME] * 3


def test_shorter_packets_are_gathered_into_frames() -> None:
    async def run() -> list[AudioFrame]:
        ear = Listener()
        for half in range(4):
            ear.input.hear(half * FRAME // 2, bytes(FRAME))
        await ear.input.aclose()
        return ear.frames

    assert [frame.samples_per_channel for frame in run_virtual(run())] == [FRAME] * 2


def test_lost_packets_become_as_much_silence() -> None:
    listener = listen(lambda ear: ear.hear_each((0, 1), (1, 1), (4, 1), (5, 1)))
    assert listener.values == [1, 1, 0, 0, 1, 1]
    assert listener.input.concealed == 2 * FRAME


def test_sound_for_a_time_already_filled_is_dropped() -> None:
    listener = listen(lambda ear: ear.hear_each((0, 1), (2, 2), (1, 3), (3, 4)))
    assert listener.values == [1, 0, 2, 4]


def test_a_leap_of_the_senders_clock_puts_in_nothing() -> None:
    listener = listen(lambda ear: ear.hear_each((0, 1), (100_000, 1), (5, 1)))
    assert listener.values == [1, 1, 1]


def test_nobody_can_say_more_than_time_has_passed() -> None:
    async def run() -> None:
        ear = Listener()
        for number in range(500):
            ear.hear(number)
        assert ear.seconds == pytest.approx(MOST_AHEAD, abs=0.02)
        await asyncio.sleep(0.1)
        ear.hear(500)
        assert ear.seconds == pytest.approx(MOST_AHEAD + 0.02, abs=0.02)
        await ear.input.aclose()

    run_virtual(run())


def test_leaping_timestamps_do_not_make_silence_without_end() -> None:
    async def run() -> None:
        ear = Listener()
        for number in range(500):
            ear.hear(50 * number)
        assert ear.seconds <= MOST_AHEAD + 1.0
        await ear.input.aclose()

    run_virtual(run())


def test_a_listener_may_close_the_input_while_it_is_given_a_frame() -> None:
    async def run() -> None:
        frames: list[AudioFrame] = []
        closing: list[asyncio.Task[None]] = []

        def hear(frame: AudioFrame) -> None:
            frames.append(frame)
            source.end()

        source = WebRTCInput()
        source.start(hear, lambda: closing.append(asyncio.create_task(source.aclose())))
        source.hear(0, bytes(10 * 2 * FRAME))
        await asyncio.gather(*closing)
        assert len(frames) == 1

    run_virtual(run())


def test_what_is_said_before_the_start_is_not_kept() -> None:
    async def run() -> None:
        frames: list[AudioFrame] = []
        source = WebRTCInput()
        source.hear(0, bytes(2 * FRAME))
        source.start(frames.append, lambda: None)
        source.hear(50 * FRAME, bytes(2 * FRAME))
        assert len(frames) == 1
        await source.aclose()

    run_virtual(run())


def test_time_goes_on_in_silence_while_the_network_stalls() -> None:
    async def run() -> None:
        ear = Listener()
        ear.hear(0)
        await asyncio.sleep(2.0)
        assert ear.seconds == pytest.approx(2.0 - STALL, abs=0.05)
        assert set(ear.values[1:]) == {0}
        await ear.input.aclose()

    run_virtual(run())


def test_after_a_stall_the_clock_is_where_it_would_have_been() -> None:
    async def run() -> None:
        ear = Listener()
        ear.hear(0)
        await asyncio.sleep(2.0)
        ear.hear(100, value=2)
        assert ear.seconds == pytest.approx(2.02)
        assert ear.values[-1] == 2
        await ear.input.aclose()

    run_virtual(run())


def test_packets_that_a_stall_held_up_are_heard_as_far_as_they_were_not_stood_in_for() -> None:
    async def run() -> None:
        ear = Listener()
        ear.hear(0)
        await asyncio.sleep(STALL + 0.05)  # three frames of silence stood in
        for number in range(1, 18):
            ear.hear(number, value=number)
        assert ear.values == [1, 0, 0, 0, *range(4, 18)]
        await ear.input.aclose()

    run_virtual(run())


def test_packets_that_came_while_the_program_itself_stalled_are_heard() -> None:
    async def run() -> None:
        ear = Listener()
        ear.hear(0)
        time.sleep(STALL + 0.2)  # noqa: ASYNC251 - what this test is about
        for _ in range(20):
            await asyncio.sleep(0)
        for number in range(1, 25):
            ear.hear(number, value=number)
        assert ear.values == [1, *range(1, 25)]
        await ear.input.aclose()

    asyncio.run(run())


def test_a_late_packet_that_is_no_stall_puts_in_nothing() -> None:
    async def run() -> None:
        ear = Listener()
        for number in range(20):
            ear.hear(number)
            await asyncio.sleep(STALL - 0.01)
        assert ear.values == [1] * 20
        await ear.input.aclose()

    run_virtual(run())


def test_the_end_is_told_once() -> None:
    def scene(ear: Listener) -> None:
        ear.input.end()
        ear.input.end()

    assert listen(scene).ended == 1


def test_nothing_is_heard_after_the_end() -> None:
    def scene(ear: Listener) -> None:
        ear.hear(0)
        ear.input.end()
        ear.hear(1)

    assert len(listen(scene).frames) == 1


def test_a_call_that_ended_before_the_session_began_tells_it() -> None:
    async def run() -> None:
        ended: list[bool] = []
        source = WebRTCInput()
        source.end()
        source.start(lambda frame: None, lambda: ended.append(True))
        assert not ended  # not within start itself
        await asyncio.sleep(0)
        assert ended == [True]

    run_virtual(run())


def test_after_aclose_no_callback_is_called() -> None:
    async def run() -> None:
        ear = Listener()
        ear.hear(0)
        await ear.input.aclose()
        await ear.input.aclose()
        ear.hear(1)
        ear.input.end()
        await asyncio.sleep(2 * STALL)
        assert (len(ear.frames), ear.ended) == (1, 0)

    run_virtual(run())


def test_a_start_after_aclose_calls_nobody() -> None:
    async def run() -> None:
        called: list[object] = []
        source = WebRTCInput()
        source.end()
        await source.aclose()
        source.start(called.append, lambda: called.append("end"))
        source.hear(0, bytes(2 * FRAME))
        await asyncio.sleep(1)
        assert called == []

    run_virtual(run())


def test_a_second_start_is_refused_with_the_remedy() -> None:
    source = WebRTCInput()
    source.start(lambda frame: None, lambda: None)
    with pytest.raises(UsageError, match="Make a new call"):
        source.start(lambda frame: None, lambda: None)
