"""The agent does not hear itself, nor much of the noise; the caller it hears."""

from __future__ import annotations

import asyncio
import builtins
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np
import pytest

from antiphon import Agent, AgentSession, ChatMessage, RoomInputOptions, RoomOptions
from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.providers.local.vad import SileroVAD
from antiphon.server.room import Room
from antiphon.testing import (
    FakeLLM,
    FakeMicrophone,
    FakeSpeaker,
    FakeSTT,
    FakeTTS,
    check_output,
    now,
    run_virtual,
    wait_until,
)
from antiphon.transport import AudioInput, AudioInputOptions, AudioOutput
from antiphon.transports import processing
from antiphon.transports.devices import DeviceSettings
from antiphon.transports.livekit.library import real_rtc
from antiphon.transports.processing import AudioProcessing, FollowedOutput, Processed, WarmUp
from antiphon.transports.terminal import TerminalAudio
from antiphon.vad import SpeechStarted
from tests.transports.acoustics import Acoustics, RoomDevice, Samples, blocks_of, decibels, frame_of, spoken

RATE = 16_000
AGENT = ("pause-01", "pause-04", "demo-3")
CALLER = ("demo-5",)


class Line(AudioInput):
    """A microphone that records what it is told to."""

    def __init__(self) -> None:
        self.record: Callable[[AudioFrame], None] = lambda frame: None
        self.end: Callable[[], None] = lambda: None

    def start(self, on_frame: Callable[[AudioFrame], None], on_end: Callable[[], None]) -> None:
        self.record, self.end = on_frame, on_end


class Player(AudioOutput):
    """A loudspeaker that plays when it is told to."""

    def __init__(self, rate: int = RATE) -> None:
        self.sample_rate = rate
        self.queued = 0
        self.position = 0
        self.paused = False

    def write(self, frame: AudioFrame) -> None:
        self.queued += frame.samples_per_channel

    def play(self, samples: int) -> None:
        sounding = 0 if self.paused else min(samples, self.queued)
        self.queued -= sounding
        self.position += sounding

    @property
    def played(self) -> float:
        return self.position / self.sample_rate

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False

    def clear(self) -> float:
        lost, self.queued, self.paused = self.queued, 0, False
        return lost / self.sample_rate


def cleaned(microphone: Samples, rate: int, *, frame: int | None = None, **options: bool) -> Samples:
    """A recording through the processing alone, without an output."""
    line, heard = Line(), list[AudioFrame]()
    Processed(line, None, **options).input.start(heard.append, lambda: None)
    for block in blocks_of(microphone, frame or rate // 50):
        line.record(frame_of(block, rate))
    return np.concatenate([one.to_float32() for one in heard])


def begins(samples: Samples, rate: int) -> list[float]:
    """When the detector takes somebody to begin to speak."""
    stream = SileroVAD().stream()
    events = [event for block in blocks_of(samples, rate // 50) for event in stream.push(frame_of(block, rate))]
    return [event.at for event in events if isinstance(event, SpeechStarted)]


# -- blocks


@pytest.mark.parametrize("rate", [8_000, 16_000, 24_000, 44_100, 48_000])
@pytest.mark.parametrize("milliseconds", [7, 10, 20, 33])
def test_every_frame_is_given_on_at_most_ten_milliseconds_later(rate: int, milliseconds: int) -> None:
    line, given = Line(), list[AudioFrame]()
    Processed(line, None).input.start(given.append, lambda: None)
    pushed = 0
    for _ in range(300):
        samples = rate * milliseconds // 1000
        line.record(AudioFrame(bytes(2 * samples), rate))
        pushed += samples
        assert 0 <= pushed - sum(one.samples_per_channel for one in given) < rate // 100
    assert {one.sample_rate for one in given} == {rate}


def test_a_voice_comes_out_at_most_ten_milliseconds_later_than_it_went_in() -> None:
    rate = RATE
    voice = spoken(*CALLER, rate=rate)
    clean = cleaned(voice, rate)
    part = slice(rate, 2 * rate)
    lags = range(-rate // 100, rate // 50)
    match = [float(np.dot(voice[part], clean[part.start + lag : part.stop + lag])) for lag in lags]
    lag = lags[int(np.argmax(match))] / rate
    print(f"{rate} Hz: {1000 * lag:.1f} ms through the filters")
    assert 0 <= lag <= 0.010


def test_a_microphone_without_whole_blocks_is_heard_at_another_rate() -> None:
    line, given = Line(), list[AudioFrame]()
    Processed(line, None).input.start(given.append, lambda: None)
    for _ in range(100):
        line.record(AudioFrame(bytes(2 * 441), 22_050))
    assert {one.sample_rate for one in given} == {48_000}
    assert sum(one.duration for one in given) == pytest.approx(2.0, abs=0.06)


def test_two_channels_become_one() -> None:
    line, given = Line(), list[AudioFrame]()
    Processed(line, None).input.start(given.append, lambda: None)
    line.record(AudioFrame(bytes(4 * 320), RATE, num_channels=2))
    assert [(one.num_channels, one.samples_per_channel) for one in given] == [(1, 320)]


def test_the_end_is_passed_on_and_nothing_comes_after_closing() -> None:
    async def scene() -> None:
        line, given, ends = Line(), list[AudioFrame](), list[bool]()
        clean = Processed(line, None).input
        clean.start(given.append, lambda: ends.append(True))
        line.end()
        assert ends == [True]
        await clean.aclose()
        line.record(AudioFrame(bytes(640), RATE))
        assert given == []

    run_virtual(scene())


# -- the reference


def test_the_output_of_a_clean_line_keeps_its_promises() -> None:
    async def scene() -> None:
        await check_output(lambda: FollowedOutput(FakeSpeaker()))

    run_virtual(scene())


def sounded(output: FollowedOutput, samples: int) -> list[int]:
    output.follow()
    return [int(sample) for sample in np.frombuffer(output.take(samples), "<i2")]


def ramp(first: int, last: int) -> AudioFrame:
    return AudioFrame(np.arange(first, last + 1, dtype="<i2").tobytes(), RATE)


def test_the_reference_is_what_sounds_and_not_what_was_written() -> None:
    player = Player()
    output = FollowedOutput(player)
    output.start()
    output.write(ramp(1, 100))
    assert sounded(output, 10) == [0] * 10
    player.play(10)
    assert sounded(output, 10) == list(range(1, 11))


def test_a_pause_ends_the_reference_and_resuming_goes_on_where_it_stopped() -> None:
    player = Player()
    output = FollowedOutput(player)
    output.start()
    output.write(ramp(1, 100))
    player.play(10)
    output.pause()
    assert sounded(output, 10) == list(range(1, 11))
    player.play(10)
    assert sounded(output, 10) == [0] * 10
    output.resume()
    player.play(10)
    assert sounded(output, 10) == list(range(11, 21))


def test_what_is_cleared_is_not_in_the_reference() -> None:
    player = Player()
    output = FollowedOutput(player)
    output.start()
    output.write(ramp(1, 100))
    player.play(10)
    assert output.clear() == pytest.approx(90 / RATE)
    output.write(ramp(201, 220))
    player.play(20)
    assert sounded(output, 10) == list(range(1, 11))
    assert sounded(output, 20) == list(range(201, 221))


def test_sound_lies_at_the_end_of_the_block_in_which_it_begins_and_at_the_beginning_of_its_last() -> None:
    player = Player()
    output = FollowedOutput(player)
    output.start()
    output.write(ramp(1, 18))
    player.play(4)
    assert sounded(output, 10) == [0] * 6 + [1, 2, 3, 4]
    player.play(10)
    assert sounded(output, 10) == list(range(5, 15))
    player.play(10)
    assert sounded(output, 10) == [15, 16, 17, 18] + [0] * 6


def test_a_reference_that_nobody_takes_stays_small() -> None:
    player = Player()
    output = FollowedOutput(player)
    output.start()
    for _ in range(100):
        output.write(AudioFrame(bytes(2 * RATE), RATE))
        player.play(RATE)
        output.follow()
    assert len(output.take(RATE).lstrip(b"\0")) <= 2 * processing.REFERENCE_LIMIT * RATE


# -- while the cancellation learns


def block(decibels: float, rate: int = RATE) -> bytes:
    tone = np.sin(2 * np.pi * 300 * np.arange(rate // 100) / rate) * 10 ** ((decibels + 3) / 20)
    return frame_of(tone.astype(np.float32), rate).data


def test_what_is_left_of_the_echo_is_silenced_while_the_cancellation_learns() -> None:
    warm_up = WarmUp(1.0)
    for _ in range(50):
        warm_up.play(block(-25))
        assert not warm_up.passes(block(-45))
    for _ in range(30):
        warm_up.play(bytes(320))
        assert not warm_up.passes(block(-45))  # the room still sounds
    for _ in range(30):
        warm_up.play(bytes(320))
        passed = warm_up.passes(block(-45))
    assert passed


def test_a_caller_who_speaks_up_is_heard_while_the_cancellation_learns() -> None:
    warm_up = WarmUp(1.0)
    warm_up.play(block(-25))
    assert not warm_up.passes(block(-45))
    warm_up.play(block(-25))
    assert warm_up.passes(block(-30))
    warm_up.play(block(-25))
    assert warm_up.passes(block(-50))  # in the middle of a word


def test_learning_is_over_when_the_loudspeaker_has_sounded_for_long_enough() -> None:
    warm_up = WarmUp(1.0)
    for _ in range(300):
        warm_up.play(bytes(320))
    assert not warm_up.over
    for _ in range(100):
        assert not warm_up.over
        warm_up.play(block(-25))
    assert warm_up.over


# -- a whole call, in a room where the microphone hears the loudspeaker


class OpenAir:
    """A session at a sound device in a room: the agent says `AGENT`, and the caller may speak over it."""

    def __init__(self, *, clean: bool) -> None:
        self.clean = clean
        self.pauses = 0
        self.heard_from = list[float]()
        self.message: ChatMessage | None = None
        self.duration = 0.0

    async def call(self, caller: Samples | None = None, at: float = 3.0, *, loss: float = 12.0) -> None:
        devices: list[RoomDevice] = []

        def open(settings: DeviceSettings) -> RoomDevice:
            return devices[0]

        settings = DeviceSettings()
        devices.append(RoomDevice(settings, Acoustics(settings.sample_rate, loss=loss)))
        stt = FakeSTT(["no, wait, I mean Thursday"] * 9)
        session = AgentSession[Any](llm=FakeLLM(lambda _: "Yes?"), stt=stt, tts=FakeTTS(), vad=SileroVAD())
        session.on("user_state_changed", self._user)
        session.on("conversation_item_added", self._item)
        async with TerminalAudio(settings, open=open) as audio, session:
            line = AudioProcessing().wrap(audio.input, audio.output)
            audio.output.pause = self._counting(audio.output.pause)  # type: ignore[method-assign]  # to look on
            room = Room(audio_input=audio.input, audio_output=audio.output)
            if self.clean:
                room = Room(audio_input=line[0], audio_output=line[1])
            await asyncio.sleep(1.0)  # models are loaded: the line is open, and nobody listens
            await session.start(Agent(instructions=""), room=room)
            self.began = now()
            voice = spoken(*AGENT, rate=RATE)
            speech = session.say("I can offer you nine, or ten, or eleven.", audio=_frames(voice))
            if caller is not None:
                await asyncio.sleep(at)
                devices[0].say(caller)
            await wait_until(lambda: self.message is not None, timeout=60)
            self.duration = len(voice) / RATE
            assert speech.done()
            self.took = now() - self.began

    def _counting(self, pause: Callable[[], None]) -> Callable[[], None]:
        def counted() -> None:
            self.pauses += 1
            pause()

        return counted

    def _user(self, event: Any) -> None:
        if event.new_state == "speaking":
            self.heard_from.append(now() - self.began)

    def _item(self, event: Any) -> None:
        if isinstance(event.item, ChatMessage) and event.item.role == "assistant" and self.message is None:
            self.message = event.item


async def _frames(samples: Samples) -> AsyncIterator[AudioFrame]:
    for block in blocks_of(samples, RATE // 10):
        yield frame_of(block, RATE)


@pytest.mark.parametrize("loss", [12.0, 6.0, 0.0])
def test_the_agent_is_not_interrupted_by_its_own_voice(loss: float) -> None:
    """Also where nothing is lost on the way, and before the cancellation has learnt the room."""
    scene = OpenAir(clean=True)
    run_virtual(scene.call(loss=loss), timeout=120)
    assert scene.heard_from == []
    assert scene.pauses == 0
    assert scene.message is not None and not scene.message.interrupted
    assert scene.took == pytest.approx(scene.duration, abs=0.6)


def test_without_processing_the_agent_stops_at_its_own_voice() -> None:
    scene = OpenAir(clean=False)
    run_virtual(scene.call(), timeout=120)
    assert scene.heard_from
    assert scene.pauses > 0
    assert scene.message is not None and scene.message.interrupted


@pytest.mark.parametrize("at", [0.7, 5.0])
@pytest.mark.parametrize(("loss", "limit"), [(12.0, 0.5), (0.0, 1.6)])
def test_a_caller_is_heard_over_the_echo_and_interrupts(loss: float, limit: float, at: float) -> None:
    scene = OpenAir(clean=True)
    run_virtual(scene.call(spoken(*CALLER, rate=48_000, peak=0.3), at, loss=loss), timeout=120)
    after = scene.heard_from[0] - at
    print(f"echo {loss:g} dB down, caller {at:g} s into it: heard after {1000 * after:.0f} ms")
    assert 0 < after < limit
    assert scene.message is not None and scene.message.interrupted


def test_the_echo_of_a_line_that_is_only_followed_is_taken_out_too() -> None:
    """The same through `played`, without a device that brings the reference along."""
    rate, player = 24_000, Player(24_000)
    line, heard, air = Line(), list[AudioFrame](), Acoustics(24_000)
    clean = Processed(line, player)
    clean.input.start(heard.append, lambda: None)
    assert clean.output is not None
    clean.output.start()
    recorded = list[Samples]()
    for block in blocks_of(spoken(*AGENT, rate=rate), 480):
        clean.output.write(frame_of(block, rate))
        player.play(480)
        recorded.append(air.pass_on(block))
        line.record(frame_of(recorded[-1], rate))
    before = np.concatenate(recorded)
    after = np.concatenate([one.to_float32() for one in heard])
    late = slice(3 * rate, None)
    less = decibels(before[late]) - decibels(after[late])
    print(f"echo {less:.0f} dB down after 3 s")
    assert less > 25


# -- noise


def telephone_noise(length: int, rate: int) -> Samples:
    """Hiss, hum and the clatter of a line, in the band of a telephone."""
    rng = np.random.default_rng(5)
    spectrum = np.fft.rfft(rng.standard_normal(length))
    frequency = np.fft.rfftfreq(length, 1 / rate)
    spectrum *= (frequency > 300) & (frequency < 3400)
    noise = np.fft.irfft(spectrum, length)
    time = np.arange(length) / rate
    hum = sum(np.sin(2 * np.pi * 50 * k * time) / k for k in (1, 3, 5))
    return np.asarray(noise / np.std(noise) + 0.3 * hum, np.float32)


def test_noise_behind_a_voice_gets_quieter_and_the_voice_stays() -> None:
    voice = spoken("pause-01", "pause-02", "pause-03", rate=RATE)
    noise = telephone_noise(len(voice), RATE)
    noise *= 10 ** ((decibels(voice) - 10 - decibels(noise)) / 20)  # 10 dB below the voice
    clean = cleaned(voice + noise, RATE)
    alone = cleaned(np.concatenate([noise, noise]), RATE)[len(noise) :]
    quieter = decibels(noise) - decibels(alone)
    kept = decibels(clean) - decibels(voice)
    print(f"noise alone {quieter:.0f} dB down, voice {kept:+.1f} dB")
    assert quieter > 8
    assert -4 < kept < 2


def test_in_telephone_noise_no_voice_is_missed_and_no_noise_taken_for_one() -> None:
    names = [f"pause-{number:02d}" for number in range(1, 9)]
    gap = np.zeros(3 * RATE, np.float32)
    pieces, spans, at = list[Samples](), list[tuple[float, float]](), 0
    for name in names:
        voice = spoken(name, rate=RATE, gap=0)
        pieces += [gap, voice]
        spans.append(((at + len(gap)) / RATE, (at + len(gap) + len(voice)) / RATE))
        at += len(gap) + len(voice)
    line = np.concatenate(pieces)
    noise = telephone_noise(len(line), RATE)
    level = decibels(np.concatenate(pieces[1::2])) - 10
    line = line + noise * 10 ** ((level - decibels(noise)) / 20)
    for what, sound in (("as it is", line), ("clean", cleaned(line, RATE))):
        heard = begins(sound, RATE)
        missed = sum(not any(a - 0.2 <= time <= b for time in heard) for a, b in spans)
        false = sum(not any(a - 0.2 <= time <= b + 0.5 for a, b in spans) for time in heard)
        print(f"telephone noise at 10 dB, {what}: {missed} of {len(spans)} turns missed, {false} false alarms")
        assert (missed, false) == (0, 0)


# -- as a room option


@pytest.mark.parametrize(
    "options",
    [
        {"room_input_options": RoomInputOptions(noise_cancellation=AudioProcessing())},
        {"room_options": RoomOptions(audio_input=AudioInputOptions(noise_cancellation=AudioProcessing()))},
    ],
    ids=["room_input_options", "room_options"],
)
def test_any_room_can_be_asked_for_a_clean_microphone(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    lines = list[Processed]()

    class Watched(Processed):
        def __init__(self, *arguments: Any, **keywords: Any) -> None:
            super().__init__(*arguments, **keywords)
            lines.append(self)

    monkeypatch.setattr(processing, "Processed", Watched)

    async def scene() -> None:
        speaker = FakeSpeaker()
        room = Room(audio_input=FakeMicrophone(), audio_output=speaker)
        async with AgentSession[Any](llm=FakeLLM(["Hello."]), tts=FakeTTS()) as session:
            await session.start(Agent(instructions=""), room=room, **options)
            await session.run(user_input="hi")
            assert speaker.sounds

    run_virtual(scene())
    assert len(lines) == 1


def test_both_room_options_at_once_are_an_error() -> None:
    async def scene() -> None:
        session = AgentSession[Any]()
        with pytest.raises(UsageError, match="room_options and room_input_options"):
            await session.start(
                Agent(instructions=""), room_options=RoomOptions(), room_input_options=RoomInputOptions()
            )

    run_virtual(scene())


def test_a_line_is_cleaned_once() -> None:
    line, player = Line(), Player()
    once = AudioProcessing().wrap(line, player)
    assert AudioProcessing().wrap(*once) == once


@pytest.fixture
def without_library(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__
    monkeypatch.setattr(processing, "real_rtc", real_rtc.__wrapped__)

    def missing(name: str) -> Any:
        if name == "livekit.rtc":
            raise ModuleNotFoundError("No module named 'livekit'", name="livekit")
        return real(name)

    monkeypatch.setattr("importlib.import_module", missing)


@pytest.mark.usefixtures("without_library")
def test_a_missing_package_is_an_error_with_the_command_that_installs_it() -> None:
    with pytest.raises(UsageError, match=r"pip install 'antiphon\[processing\]'"):
        Processed(Line(), None)
    assert not AudioProcessing.available()


def test_the_package_is_not_left_where_programs_would_meet_it() -> None:
    assert AudioProcessing.available()
    assert not any(name.startswith("livekit.rtc") for name in sys.modules)


def test_it_works_beside_the_layer_that_answers_for_the_packages_name() -> None:
    code = (
        "from antiphon.compat import livekit; livekit.install()\n"
        "from livekit import rtc; ours = rtc.Room\n"
        "from antiphon.transports.processing import AudioProcessing\n"
        "assert AudioProcessing.available()\n"
        "from livekit import rtc; assert rtc.Room is ours\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
