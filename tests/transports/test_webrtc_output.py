"""The far loudspeaker as the session sees it: what was sent, what is under way, what was heard."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.testing import run_virtual
from antiphon.transports.webrtc import WebRTCOutput
from antiphon.transports.webrtc.output import FAR_DELAY
from antiphon.transports.webrtc.pacer import PERIOD

RATE = WebRTCOutput.sample_rate
SILENCE = bytes(1920)


def sound(seconds: float, value: int = 1000) -> AudioFrame:
    return AudioFrame(value.to_bytes(2, "little") * round(seconds * RATE), RATE)


class Sender:
    """Takes a frame every 20 ms, as the peer does."""

    def __init__(self, output: WebRTCOutput) -> None:
        self.output = output
        self.sent: list[bytes] = []

    async def run(self, seconds: float) -> None:
        for _ in range(round(seconds / PERIOD)):
            self.sent.append(self.output.take())
            await asyncio.sleep(PERIOD)

    @property
    def loud(self) -> int:
        """Samples sent that were not silence."""
        return sum(len(frame) // 2 - frame.count(b"\0\0") for frame in self.sent)


def play(scene: Coroutine[Any, Any, None]) -> None:
    run_virtual(scene)


def test_what_is_written_is_sent_in_order_and_silence_after_it() -> None:
    output = WebRTCOutput()
    output.write(sound(0.01, 1))
    output.write(sound(0.025, 2))

    async def scene() -> None:
        sent = b"".join(output.take() for _ in range(3))
        assert sent == sound(0.01, 1).data + sound(0.025, 2).data + bytes(2 * round(0.025 * RATE))

    play(scene())


def test_a_frame_counts_as_played_only_when_it_has_had_time_to_sound() -> None:
    async def scene() -> None:
        output = WebRTCOutput()
        output.write(sound(0.1))
        sender = Sender(output)
        await sender.run(FAR_DELAY)
        assert output.played == pytest.approx(0.0, abs=1e-6)
        await asyncio.sleep(0.01)
        assert output.played == pytest.approx(0.01)

    play(scene())


def test_all_that_was_written_is_played_in_the_end_to_the_sample() -> None:
    async def scene() -> None:
        output = WebRTCOutput()
        output.write(sound(0.123))
        await Sender(output).run(0.14 + FAR_DELAY)
        assert output.played == pytest.approx(0.123, abs=1e-9)

    play(scene())


def test_silence_that_fills_a_frame_does_not_count_as_played() -> None:
    async def scene() -> None:
        output = WebRTCOutput()
        await Sender(output).run(0.5)
        assert output.played == 0

    play(scene())


def test_before_the_connection_is_up_what_is_written_waits() -> None:
    async def scene() -> None:
        output = WebRTCOutput()
        output.write(sound(0.1))
        await asyncio.sleep(3)
        assert output.played == 0
        sender = Sender(output)
        await sender.run(0.2)
        assert sender.loud == 0.1 * RATE

    play(scene())


def test_a_pause_holds_from_the_next_frame_and_keeps_what_is_queued() -> None:
    async def scene() -> None:
        output = WebRTCOutput()
        output.write(sound(0.2))
        sender = Sender(output)
        await sender.run(0.1)
        output.pause()
        await sender.run(0.5)
        assert sender.loud == 0.1 * RATE
        assert output.played == pytest.approx(0.1)
        output.resume()
        await sender.run(0.1)
        assert sender.loud == 0.2 * RATE

    play(scene())


def test_clear_returns_what_was_not_sent_and_what_is_under_way_sounds_out() -> None:
    async def scene() -> None:
        output = WebRTCOutput()
        output.write(sound(0.3))
        sender = Sender(output)
        await sender.run(0.1)
        assert output.clear() == pytest.approx(0.2)
        assert output.clear() == 0
        await sender.run(0.5)
        assert sender.loud == 0.1 * RATE
        assert output.played == pytest.approx(0.1)

    play(scene())


def test_clear_ends_a_pause() -> None:
    async def scene() -> None:
        output = WebRTCOutput()
        output.pause()
        output.clear()
        output.write(sound(0.02))
        assert output.take() == sound(0.02).data

    play(scene())


def test_frames_sent_at_once_after_a_stall_sound_one_after_the_other() -> None:
    async def scene() -> None:
        output = WebRTCOutput()
        output.write(sound(0.06))
        for _ in range(3):
            output.take()
        await asyncio.sleep(FAR_DELAY + 0.03)
        assert output.played == pytest.approx(0.03)

    play(scene())


def test_a_closed_output_is_silent_and_takes_nothing() -> None:
    async def scene() -> None:
        output = WebRTCOutput()
        output.write(sound(0.1))
        await output.aclose()
        await output.aclose()
        output.write(sound(0.1))
        assert output.take() == SILENCE

    play(scene())


def test_half_of_the_lead_outlasts_what_is_under_way() -> None:
    """The session writes again when half of it is left; the sender must not run dry until then."""
    assert WebRTCOutput.lead / 2 >= FAR_DELAY + 3 * PERIOD


@pytest.mark.parametrize("frame", [AudioFrame(bytes(4), 24_000), AudioFrame(bytes(8), RATE, 2)], ids=["rate", "stereo"])
def test_another_format_is_refused_with_the_remedy(frame: AudioFrame) -> None:
    with pytest.raises(UsageError, match=r"expected mono at 48000 Hz, got .* Resample it"):
        WebRTCOutput().write(frame)
