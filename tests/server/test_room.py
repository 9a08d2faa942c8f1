"""A room is made of a line in one place: cleaned, switched, recorded, mixed."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from antiphon import AudioFrame
from antiphon.errors import UsageError
from antiphon.server.room import Room
from antiphon.testing import FakeMicrophone, FakeSpeaker, run_virtual
from antiphon.testing.audio import speech
from antiphon.transport import AudioInput, AudioOutput, AudioProcessor
from antiphon.transports.recorder import StereoRecorder


class Louder(AudioInput):
    """What `Cleaner` makes of a microphone: a mark in its sound."""

    def __init__(self, source: AudioInput) -> None:
        self.source = source

    def start(self, on_frame: object, on_end: object) -> None:
        def mark(frame: AudioFrame) -> None:
            assert callable(on_frame)
            on_frame(AudioFrame(b"\1\1" * (len(frame.data) // 2), frame.sample_rate, frame.num_channels))

        assert callable(on_end)
        self.source.start(mark, on_end)


class Cleaner(AudioProcessor):
    def wrap(self, input: AudioInput, output: AudioOutput | None) -> tuple[AudioInput, AudioOutput | None]:
        return Louder(input), output


async def heard_in(room: Room, seconds: float) -> bytes:
    """What a session in this room hears."""
    frames: list[AudioFrame] = []
    assert room.audio_input is not None
    room.audio_input.start(frames.append, lambda: None)
    await asyncio.sleep(seconds)
    return b"".join(frame.data for frame in frames)


def test_a_text_room_has_no_sound_and_no_cuts() -> None:
    room = Room("desk")
    assert (room.name, room.audio_input, room.audio_output, list(room.sound.cuts)) == ("desk", None, None, [])


def test_what_is_recorded_of_the_caller_is_what_the_session_hears() -> None:
    async def check() -> None:
        recorder = StereoRecorder()
        room = Room(
            audio_input=FakeMicrophone([speech(0.5)]),
            audio_output=FakeSpeaker(),
            processing=Cleaner(),
            muted=False,
            recorder=recorder,
        )
        heard = await heard_in(room, 0.5)
        assert set(heard) == {1}
        assert recorder.duration == pytest.approx(len(heard) / 2 / 16_000, abs=0.03)
        assert np.all(recorder.channels()[0] < 0.01)

    run_virtual(check())


def test_a_muted_caller_is_heard_and_recorded_as_silence_until_unmuted() -> None:
    async def check() -> None:
        recorder = StereoRecorder()
        room = Room(audio_input=FakeMicrophone([speech(2.0)]), muted=True, recorder=recorder)
        assert not any(await heard_in(room, 0.5))
        assert not np.any(recorder.channels()[0])
        room.unmute()
        await asyncio.sleep(0.5)
        assert np.any(recorder.channels()[0] > 0.05)
        room.mute()
        until = len(recorder.channels()[0])
        await asyncio.sleep(0.5)
        assert not np.any(recorder.channels()[0][until + 500 :])

    run_virtual(check())


@pytest.mark.parametrize("room", [Room(), Room(audio_input=FakeMicrophone([]))], ids=["text", "voice"])
def test_a_microphone_without_a_switch_cannot_be_muted(room: Room) -> None:
    with pytest.raises(UsageError, match="has no switch"):
        room.mute()


def test_what_was_cut_is_known_where_the_room_is_recorded() -> None:
    async def check() -> None:
        room = Room(audio_input=FakeMicrophone([]), audio_output=FakeSpeaker(), recorder=StereoRecorder())
        assert room.audio_output is not None
        room.audio_output.start()
        room.audio_output.write(AudioFrame.silence(1.0, room.audio_output.sample_rate))
        await asyncio.sleep(0.4)
        room.audio_output.clear()
        [cut] = room.sound.cuts
        assert cut.lost == pytest.approx(0.6, abs=0.05)

    run_virtual(check())
