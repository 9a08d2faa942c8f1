"""The machine's own microphone and loudspeaker, on miniaudio's null device and on one in a simulated room."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from antiphon import Agent, AgentSession
from antiphon.audio import AudioFrame
from antiphon.errors import AntiphonError, UsageError
from antiphon.server.room import Room
from antiphon.testing import FakeLLM, FakeSTT, FakeTTS, FakeVAD, check_output, now, run_virtual, speech, wait_until
from antiphon.transports.devices import (
    PERIOD,
    PERIODS,
    DeviceSettings,
    SoundDevice,
    choose_devices,
    list_devices,
    open_device,
)
from antiphon.transports.switched import SwitchedInput
from antiphon.transports.terminal import Decimator, Playback, Recorded, TerminalAudio
from tests.transports.acoustics import RoomDevice

NULL = DeviceSettings(null=True)


def room(*, settings: DeviceSettings | None = None, **options: Any) -> tuple[TerminalAudio, list[RoomDevice]]:
    """A line in virtual time, and the device behind it once it is open."""
    devices: list[RoomDevice] = []
    settings = settings or DeviceSettings()
    device = RoomDevice(settings, None, noise=0.0, **options)
    audio = TerminalAudio(settings, open=lambda _: devices.append(device) or device)  # type: ignore[func-returns-value]
    return audio, devices


def samples(data: bytes) -> list[int]:
    return [int(sample) for sample in np.frombuffer(data, "<i2")]


def pcm(*values: int) -> bytes:
    return np.array(values, "<i2").tobytes()


# -- the null device, in real time


def test_the_null_device_keeps_the_promises_of_a_loudspeaker() -> None:
    async def scene() -> None:
        async with TerminalAudio(NULL) as audio:
            await check_output(lambda: audio.output)

    asyncio.run(scene())


def test_the_null_device_gives_frames_at_the_pace_of_a_clock() -> None:
    async def scene() -> None:
        frames: list[AudioFrame] = []
        async with TerminalAudio(NULL) as audio:
            audio.input.start(frames.append, lambda: None)
            began = now()
            await wait_until(lambda: len(frames) >= 50, interval=0.005)
            took = now() - began
        assert {(one.sample_rate, one.samples_per_channel) for one in frames} == {(16_000, 320)}
        assert took == pytest.approx(50 * PERIOD, abs=0.15)

    asyncio.run(scene())


def test_a_session_talks_and_is_typed_to_on_one_line() -> None:
    async def scene() -> None:
        llm = FakeLLM(["Good morning.", "At nine."])
        async with TerminalAudio(NULL) as audio, AgentSession[Any](llm=llm, tts=FakeTTS(), vad=FakeVAD()) as session:
            await session.start(Agent(instructions=""), room=Room(audio_input=audio.input, audio_output=audio.output))
            await session.run(user_input="hello")
            spoken = audio.output.played
            assert spoken > 0.3
            await session.run(user_input="when?")
            assert audio.output.played > spoken

    asyncio.run(scene())


def test_a_line_can_be_opened_again_after_it_was_closed() -> None:
    async def scene() -> None:
        for _ in range(2):
            async with TerminalAudio(NULL) as audio:
                frames: list[AudioFrame] = []
                audio.input.start(frames.append, lambda: None)
                await wait_until(partial(bool, frames), interval=0.005)
            count = len(frames)
            await audio.aclose()
            assert len(frames) == count

    asyncio.run(scene())


# -- a device in virtual time


def test_what_the_caller_says_arrives_in_order_and_without_holes() -> None:
    async def scene() -> None:
        audio, devices = room(settings=DeviceSettings(sample_rate=16_000))
        heard = bytearray()
        async with audio:
            audio.input.start(lambda frame: heard.extend(frame.data), lambda: None)
            ramp = np.arange(1, 9601, dtype=np.float32) / np.float32(32767)
            devices[0].say(ramp)
            await asyncio.sleep(1.0)
        found = [sample for sample in samples(bytes(heard)) if sample]
        assert found == list(range(1, 9601))

    run_virtual(scene())


def test_what_is_written_sounds_once_and_in_order() -> None:
    async def scene() -> None:
        audio, devices = room()
        async with audio:
            audio.output.start()
            data = pcm(*range(1, 30_001))
            for start in range(0, len(data), 7_000):
                audio.output.write(AudioFrame(data[start : start + 7_000], 48_000))
            await asyncio.sleep(1.5)
            assert audio.output.played == pytest.approx(30_000 / 48_000)
        sounding = b"".join(given for _, given in devices[0].given)
        assert [sample for sample in samples(sounding) if sample] == list(range(1, 30_001))

    run_virtual(scene())


def test_played_counts_what_has_left_the_devices_buffer() -> None:
    async def scene() -> None:
        audio, devices = room()
        async with audio:
            audio.output.write(speech(1.0, 48_000))
            for _ in range(20):
                await asyncio.sleep(PERIOD)
                sounded = [given for at, given in devices[0].given if at - PERIOD <= now() + 1e-9]
                heard = sum(len(given) - given.count(b"\0\0") for given in sounded) / 2 / 48_000
                assert audio.output.played <= heard + 1e-9
            assert audio.output.played == pytest.approx((20 - PERIODS) * PERIOD, abs=2 * PERIOD)

    run_virtual(scene())


def test_a_pause_silences_the_next_block_and_loses_nothing() -> None:
    async def scene() -> None:
        audio, devices = room()
        async with audio:
            audio.output.write(AudioFrame(pcm(*([7] * 24_000)), 48_000))
            await asyncio.sleep(0.1)
            audio.output.pause()
            given = len(devices[0].given)
            await asyncio.sleep(0.2)
            assert not any(b"\7" in block for _, block in devices[0].given[given:])
            audio.output.resume()
            await asyncio.sleep(1.0)
            assert audio.output.played == 0.5
        assert sum(block.count(b"\7") for _, block in devices[0].given) == 24_000

    run_virtual(scene())


def test_a_microphone_that_is_switched_off_is_silent_and_keeps_its_pace() -> None:
    async def scene() -> None:
        audio, devices = room()
        frames: list[AudioFrame] = []
        async with audio:
            microphone = SwitchedInput(audio.input, off=True)
            microphone.start(frames.append, lambda: None)
            devices[0].say(np.full(48_000, 0.5, np.float32))
            await asyncio.sleep(0.5)
            assert len(frames) >= 24 and not any(any(frame.data) for frame in frames)
            microphone.switch_on()
            await asyncio.sleep(0.1)
            assert any(frames[-1].data)

    run_virtual(scene())


def test_each_recorded_block_comes_with_the_one_that_was_given_to_the_loudspeaker() -> None:
    async def scene() -> None:
        audio, devices = room()
        given: list[bytes] = []
        async with audio:
            audio.input.listen(lambda recorded, sounding: given.append(sounding.data))
            audio.output.write(speech(0.3, 48_000))
            await asyncio.sleep(0.5)
            assert given[:20] == [block for _, block in devices[0].given[:20]]
            assert sum(map(any, given)) == 15

    run_virtual(scene())


# -- what goes wrong


def test_a_device_that_fails_ends_the_call_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> None:
        audio, _ = room()
        ends: list[bool] = []
        async with audio:
            audio.input.start(lambda frame: None, lambda: ends.append(True))

            def broken(samples: int) -> bytes:
                raise ZeroDivisionError("the ring broke")

            monkeypatch.setattr(audio.output.ring, "take", broken)
            with pytest.raises(AntiphonError, match="sound device failed: ZeroDivisionError: the ring broke"):
                await asyncio.wait_for(audio.wait_failed(), 5)
            assert ends == [True]

    run_virtual(scene())


def test_a_device_that_falls_silent_ends_the_call() -> None:
    async def scene() -> None:
        audio, devices = room()
        ends: list[bool] = []
        async with audio:
            audio.input.start(lambda frame: None, lambda: ends.append(True))
            await asyncio.sleep(1.0)
            devices[0].stop()
            with pytest.raises(AntiphonError, match=r"stopped\. Plug it in again"):
                await asyncio.wait_for(audio.wait_failed(), 10)
            assert ends == [True]

    run_virtual(scene())


def test_without_a_sound_card_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    import miniaudio

    def no_card(*_: Any, **__: Any) -> Any:
        raise miniaudio.MiniaudioError("failed to init device", -401)

    monkeypatch.setattr(miniaudio, "DuplexStream", no_card)
    with pytest.raises(AntiphonError, match=r"failed to init device, -401.*--device.*--null-audio"):
        open_device(DeviceSettings())


def test_without_the_library_the_error_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "miniaudio", None)
    with pytest.raises(UsageError, match=r"pip install 'antiphon\[audio\]'"):
        list_devices()


def test_rates_that_do_not_divide_are_refused() -> None:
    with pytest.raises(UsageError, match=r"multiple of the microphone's 16000 Hz, got 44100 Hz"):
        TerminalAudio(DeviceSettings(sample_rate=44_100))


def test_a_frame_of_another_rate_is_refused() -> None:
    async def scene() -> None:
        audio, _ = room()
        with pytest.raises(UsageError, match="expected mono at 48000 Hz, got 1 channels at 24000 Hz"):
            audio.output.write(speech(0.1, 24_000))

    run_virtual(scene())


# -- choosing devices

HEADSET = [
    SoundDevice(1, "Built-in Microphone", "microphone"),
    SoundDevice(2, "USB Headset", "microphone"),
    SoundDevice(3, "Built-in Speakers", "loudspeaker"),
    SoundDevice(4, "USB Headset", "loudspeaker"),
    SoundDevice(5, "USB Headset Pro", "loudspeaker"),
]


def test_part_of_a_name_picks_both_sides_of_a_headset() -> None:
    assert choose_devices(["usb headset"], HEADSET) == {"microphone": HEADSET[1], "loudspeaker": HEADSET[3]}


def test_a_number_picks_one_side() -> None:
    assert choose_devices(["3"], HEADSET) == {"loudspeaker": HEADSET[2]}
    assert choose_devices(["2", "5"], HEADSET) == {"microphone": HEADSET[1], "loudspeaker": HEADSET[4]}


def test_an_unknown_device_is_told_with_those_that_there_are() -> None:
    with pytest.raises(UsageError, match=r"no sound device 'phone 9'.*1 'Built-in Microphone' \(microphone\), 2"):
        choose_devices(["phone 9"], HEADSET)


def test_a_name_that_fits_several_devices_is_refused() -> None:
    with pytest.raises(UsageError, match=r"'set' fits several: 4 'USB Headset' \(loudspeaker\), 5"):
        choose_devices(["set"], HEADSET)


def test_the_null_devices_are_listed_with_numbers() -> None:
    assert [(one.number, one.kind) for one in list_devices(null=True)] == [(1, "microphone"), (2, "loudspeaker")]


# -- the rings


def playback(limit: int = 1000, device_buffer: int = 10) -> Playback:
    return Playback(limit=limit, device_buffer=device_buffer)


def test_the_audio_thread_never_waits_for_the_loop() -> None:
    ring = playback()
    ring.write(pcm(1, 2, 3, 4))
    with ring._lock:
        taken: list[bytes] = []
        thread = threading.Thread(target=lambda: taken.append(ring.take(4)))
        thread.start()
        thread.join(5)
        assert taken == [bytes(8)]
    assert ring.take(4) == pcm(1, 2, 3, 4)


def test_every_sample_is_played_or_cleared_and_never_both() -> None:
    rng = np.random.default_rng(3)
    ring = playback(limit=10_000)
    written = cleared = 0
    running = True

    def device() -> None:
        while running:
            ring.take(7)

    thread = threading.Thread(target=device)
    thread.start()
    actions: list[Callable[[], object]] = [ring.pause, ring.resume]
    try:
        for _ in range(3000):
            match rng.integers(8):
                case 0:
                    cleared += ring.clear()
                case 1:
                    actions[rng.integers(2)]()
                case _ if written - cleared - ring.played < 9_000:
                    size = int(rng.integers(1, 30))
                    ring.write(bytes(2 * size))
                    written += size
    finally:
        running = False
        thread.join(5)
    ring.resume()
    for _ in range(3000):
        ring.take(7)
    assert ring.played == written - cleared


def test_writing_too_far_ahead_is_an_error_and_writes_nothing() -> None:
    ring = playback(limit=4)
    ring.write(pcm(1, 2, 3))
    with pytest.raises(UsageError, match="5 samples would be waiting to be played, the limit is 4"):
        ring.write(pcm(4, 5))
    assert ring.take(4) == pcm(1, 2, 3, 0)


def test_when_nobody_collects_the_oldest_recording_goes() -> None:
    ring = Recorded(limit=3)
    for number in range(5):
        ring.push(bytes([number]), b"")
    assert [recorded for recorded, _ in ring] == [b"\2", b"\3", b"\4"]
    assert ring.dropped == 2


def test_the_loop_is_told_once_for_what_it_finds_at_once() -> None:
    ring = Recorded(limit=9)
    assert [ring.push(b"", b"") for _ in range(3)] == [True, False, False]
    assert len(list(ring)) == 3
    assert ring.push(b"", b"")


def test_a_blocked_loop_is_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        audio, _ = room()
        async with audio:
            for _ in range(300):
                audio._exchange(bytes(1920))  # nobody listens yet: nothing is lost
            await asyncio.sleep(0.1)
            audio.input.start(lambda frame: None, lambda: None)
            for _ in range(300):
                audio._exchange(bytes(1920))
            await asyncio.sleep(0.1)
            for _ in range(300):
                audio._exchange(bytes(1920))
            await asyncio.sleep(0.1)

    with caplog.at_level(logging.WARNING, "antiphon"):
        run_virtual(scene())
    assert [record.getMessage() for record in caplog.records] == [
        "the event loop was blocked for 2 s: recorded sound was lost"
    ]


# -- the filter


@pytest.mark.parametrize(
    ("frequency", "passes"), [(300, True), (3000, True), (6000, True), (9000, False), (15_000, False)]
)
def test_what_would_fold_into_the_band_is_filtered_out(frequency: int, passes: bool) -> None:
    tone = (8000 * np.sin(2 * np.pi * frequency * np.arange(48_000) / 48_000)).astype("<i2")
    decimator = Decimator(3)
    out = b"".join(decimator.push(tone[at : at + 960].tobytes()) for at in range(0, 48_000, 960))
    level = 20 * np.log10(np.std(np.frombuffer(out, "<i2")[200:].astype(float)) / np.std(tone.astype(float)) + 1e-9)
    assert level == pytest.approx(0, abs=0.2) if passes else level < -55


def test_blocks_of_any_size_give_the_same_samples() -> None:
    rng = np.random.default_rng(1)
    sound = rng.integers(-9000, 9000, 4800).astype("<i2").tobytes()
    whole = Decimator(3).push(sound)
    pieces, at, decimator = b"", 0, Decimator(3)
    while at < len(sound):
        size = 2 * int(rng.integers(1, 50))
        pieces += decimator.push(sound[at : at + size])
        at += size
    assert pieces == whole
    assert len(whole) == len(sound) // 3


def test_two_speeches_of_a_session_sound_through_a_device_whose_caller_barges_in() -> None:
    """A whole call in virtual time: the device, the session, a caller who speaks over the agent."""

    async def scene() -> None:
        audio, devices = room()
        llm = FakeLLM(lambda _: "Nine o'clock, ten o'clock, eleven o'clock, twelve o'clock or one o'clock.")
        session = AgentSession[Any](llm=llm, stt=FakeSTT(["ten please"]), tts=FakeTTS(), vad=FakeVAD())
        async with audio, session:
            await session.start(Agent(instructions=""), input=audio.input, output=audio.output)
            offer = session.generate_reply(user_input="when?")
            await wait_until(lambda: audio.output.played > 0.5)
            spoken_at = now()
            devices[0].say(np.full(36_000, 0.3, np.float32))
            await offer
            assert offer.interrupted
            assert now() - spoken_at < 1.0

    run_virtual(scene())
