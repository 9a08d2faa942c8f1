"""Sounds that belong to a call play when they should, and end with it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import soundfile

from antiphon import (
    Agent,
    AgentSession,
    AudioConfig,
    AudioFrame,
    BackgroundAudioPlayer,
    BuiltinAudioClip,
    RunContext,
    UsageError,
    function_tool,
)
from antiphon.server.room import Room
from antiphon.testing import (
    FakeLLM,
    FakeMicrophone,
    FakeSpeaker,
    FakeSTT,
    FakeTTS,
    FakeVAD,
    Reply,
    now,
    run_virtual,
    silence,
    transcript,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

RATE = 24_000


@pytest.fixture
def hum(tmp_path: Path) -> str:
    """A file with a second of a tone at 1 kHz; voices in these calls are at 200 Hz."""
    path = tmp_path / "hum.wav"
    wave = 0.1 * np.sin(2 * np.pi * 1000 * np.arange(RATE) / RATE)
    soundfile.write(path, wave, RATE, subtype="PCM_16")
    return str(path)


class Call:
    """A room with a session and somebody to listen."""

    def __init__(self, llm: FakeLLM | None = None, heard: list[Any] | None = None) -> None:
        self.microphone, self.speaker = FakeMicrophone(), FakeSpeaker()
        self.room = Room(audio_input=self.microphone, audio_output=self.speaker)
        self.session = AgentSession[Any](
            llm=llm or FakeLLM(), stt=FakeSTT(heard or []), vad=FakeVAD(), tts=FakeTTS(ttfb=0.1)
        )
        self.began = now()

    async def begin(self, agent: Agent | None = None) -> None:
        await self.session.start(agent or Agent(), room=self.room)

    def levels(self, pitch: float = 1000.0) -> NDArray[np.float64]:
        """The amplitude at `pitch`, for each 20 ms of the call so far."""
        assert self.speaker.sounds is not None  # lets time catch up
        samples = np.frombuffer(self.speaker.track.render(self.began, now() - self.began).data, "<i2")
        size = RATE // 50
        blocks = samples[: len(samples) // size * size].reshape(-1, size).astype(np.float64)
        wave = np.exp(-2j * np.pi * pitch * np.arange(size) / RATE)
        levels: NDArray[np.float64] = 2 * np.abs((blocks * wave).mean(axis=1))
        return levels

    def hums(self) -> list[tuple[float, float]]:
        """From when to when the tone was heard."""
        loud = np.concatenate([[0], (self.levels() > 100).astype(int), [0]])
        edges = np.flatnonzero(np.diff(loud)) / 50
        return [(float(start), float(end)) for start, end in edges.reshape(-1, 2)]


def in_call(
    scene: Callable[[Call], Coroutine[Any, Any, None]],
    llm: FakeLLM | None = None,
    heard: list[Any] | None = None,
) -> None:
    async def run() -> None:
        call = Call(llm, heard)
        try:
            await scene(call)
        finally:
            await call.session.aclose()

    run_virtual(run())


# -- ambience


def test_ambience_plays_from_the_start_to_the_end_of_the_call(hum: str) -> None:
    async def scene(call: Call) -> None:
        player = BackgroundAudioPlayer(ambient_sound=AudioConfig(hum, volume=0.5))
        await player.start(room=call.room)
        await call.begin()
        await asyncio.sleep(10.0)
        levels = call.levels()
        assert levels[10:].min() == pytest.approx(0.05 * 32768, rel=0.02)

    in_call(scene)


def test_ambience_may_join_a_call_that_runs(hum: str) -> None:
    async def scene(call: Call) -> None:
        await call.begin()
        call.session.say("This is a sentence that goes on for a while.")
        await asyncio.sleep(1.0)
        await BackgroundAudioPlayer(ambient_sound=hum).start(room=call.room, agent_session=call.session)
        await asyncio.sleep(5.0)
        ((start, _),) = call.hums()
        assert start == pytest.approx(1.0, abs=0.25)
        assert call.levels()[-10:].min() == pytest.approx(0.1 * 32768, rel=0.02)

    in_call(scene)


def test_what_was_said_is_the_same_with_ambience_and_without(hum: str) -> None:
    said: list[tuple[list[str], float]] = []

    def scene_with(ambience: bool) -> Callable[[Call], Coroutine[Any, Any, None]]:
        async def scene(call: Call) -> None:
            if ambience:
                await BackgroundAudioPlayer(ambient_sound=hum).start(room=call.room)
            await call.begin()
            call.session.say("This is a rather long answer that goes on for quite a while, so there is time.")
            await asyncio.sleep(2.0)
            await call.microphone.speak(1.0)
            await asyncio.sleep(1.0)
            await call.session.wait_for_idle()
            voice = np.flatnonzero(call.levels(200.0) > 4000)
            said.append((transcript(call.session.history), float(voice[0]) / 50))

        return scene

    for ambience in (False, True):
        in_call(scene_with(ambience), FakeLLM(["Yes?"]), ["wait a second please"])
    (plain, first), (over, first_over) = said
    assert plain == over
    assert first_over == pytest.approx(first, abs=0.021)


# -- thinking


class Clerk(Agent):
    @function_tool
    async def look_up(self) -> str:
        """Look it up."""
        await asyncio.sleep(3.0)
        return "found"

    @function_tool
    async def order(self, ctx: RunContext[Any]) -> str:
        """Order it, which takes a while."""
        await ctx.update("ordering")
        await asyncio.sleep(6.0)
        return "ordered"


def test_the_thinking_sound_plays_while_a_tool_runs_and_stops_where_speech_begins(hum: str) -> None:
    async def scene(call: Call) -> None:
        await call.begin(Clerk())
        await BackgroundAudioPlayer(thinking_sound=hum).start(room=call.room, agent_session=call.session)
        await call.microphone.speak(1.0)
        await asyncio.sleep(1.0)
        await call.session.wait_for_idle()
        voice = call.levels(200.0) > 4000
        hums = call.hums()
        assert 1.0 < hums[0][0] < 2.0
        assert sum(end - start for start, end in hums) > 2.0
        for start, end in hums:
            # Softly: it fades where the voice begins.
            assert voice[round(50 * start) : round(50 * end)].sum() <= 5
            assert not voice[round(50 * start) : round(50 * end) - 5].any()

    in_call(scene, FakeLLM([Reply(calls=[("look_up", {})]), "It is there."]), ["look it up"])


def test_the_thinking_sound_plays_while_a_background_tool_runs_and_nobody_speaks(hum: str) -> None:
    async def scene(call: Call) -> None:
        await call.begin(Clerk())
        await BackgroundAudioPlayer(thinking_sound=hum).start(room=call.room, agent_session=call.session)
        await call.microphone.speak(1.0)
        await asyncio.sleep(5.5)
        call.microphone.play(silence(0.1))
        began = now() - call.began
        await call.microphone.speak(1.0)
        await asyncio.sleep(8.0)
        await call.session.wait_for_idle()
        hums = call.hums()
        over_the_caller = [(a, b) for a, b in hums if a < began + 0.9 and b > began + 0.4]
        assert not over_the_caller
        assert sum(b - a for a, b in hums) > 2.0
        assert not hums or hums[-1][1] < now() - call.began - 0.5

    llm = FakeLLM([Reply(calls=[("order", {})]), "I am on it.", "Still at it.", "It is ordered."])
    in_call(scene, llm, ["order it", "how is it going"])


def test_after_the_player_is_closed_it_thinks_in_silence(hum: str) -> None:
    async def scene(call: Call) -> None:
        await call.begin(Clerk())
        player = BackgroundAudioPlayer(thinking_sound=hum)
        await player.start(room=call.room, agent_session=call.session)
        await player.aclose()
        await player.aclose()
        await call.microphone.speak(1.0)
        await asyncio.sleep(1.0)
        await call.session.wait_for_idle()
        assert call.hums() == []

    in_call(scene, FakeLLM([Reply(calls=[("look_up", {})]), "It is there."]), ["look it up"])


# -- sounds now and then


def test_a_sound_is_played_once_and_its_handle_knows_when_it_ends(hum: str) -> None:
    async def scene(call: Call) -> None:
        player = BackgroundAudioPlayer()
        await player.start(room=call.room)
        await call.begin()
        handle = player.play(hum)
        assert not handle.done()
        assert await handle is handle
        assert handle.done()
        ((start, end),) = call.hums()
        assert end - start == pytest.approx(1.0, abs=0.03)

    in_call(scene)


def test_a_sound_in_a_loop_goes_on_until_it_is_stopped(hum: str) -> None:
    async def scene(call: Call) -> None:
        player = BackgroundAudioPlayer()
        await player.start(room=call.room)
        await call.begin()
        handle = player.play(AudioConfig(hum, fade_out=0.5), loop=True)
        await asyncio.sleep(3.0)
        handle.stop()
        handle.stop()
        await handle.wait_for_playout()
        ((_, end),) = call.hums()
        assert end == pytest.approx(3.5, abs=0.05)

    in_call(scene)


def test_a_sound_that_is_stopped_before_it_began_is_not_heard(hum: str) -> None:
    async def scene(call: Call) -> None:
        player = BackgroundAudioPlayer()
        await player.start(room=call.room)
        await call.begin()
        handle = player.play(hum)
        handle.stop()
        await handle
        assert call.hums() == []

    in_call(scene)


def test_frames_are_played_as_they_are_made_and_their_maker_is_closed() -> None:
    closed: list[bool] = []

    async def frames() -> AsyncIterator[AudioFrame]:
        wave = np.round(3000 * np.sin(2 * np.pi * 1000 * np.arange(1600) / 16_000)).astype("<i2")
        try:
            while True:
                yield AudioFrame(wave.tobytes(), 16_000)
        finally:
            closed.append(True)

    async def scene(call: Call) -> None:
        player = BackgroundAudioPlayer()
        await player.start(room=call.room)
        await call.begin()
        handle = player.play(AudioConfig(frames(), volume=0.5))
        await asyncio.sleep(2.0)
        assert call.levels()[30:-5].mean() == pytest.approx(1500, rel=0.05)
        handle.stop()
        await handle
        await asyncio.sleep(0.1)
        assert closed == [True]

    in_call(scene)


def test_a_maker_of_frames_that_raises_ends_the_sound_not_the_call(caplog: pytest.LogCaptureFixture) -> None:
    async def frames() -> AsyncIterator[AudioFrame]:
        yield silence(0.1)
        raise RuntimeError("no more")

    async def scene(call: Call) -> None:
        player = BackgroundAudioPlayer()
        await player.start(room=call.room)
        await call.begin()
        await player.play(frames())
        assert "the iterator of its frames raised" in caplog.text
        await call.session.say("Still here.")

    in_call(scene)


def test_of_several_sounds_one_is_chosen_by_its_probability(hum: str) -> None:
    async def scene(call: Call) -> None:
        player = BackgroundAudioPlayer(rng=random.Random(1))
        await player.start(room=call.room)
        await call.begin()
        played = 0
        for _ in range(100):
            handle = player.play([AudioConfig(hum, probability=0.2), AudioConfig(hum, probability=0.1)])
            played += not handle.done()
            handle.stop()
            await handle
        assert 20 <= played <= 40

    in_call(scene)


# -- the ends


def test_closing_the_session_ends_every_sound(hum: str) -> None:
    async def scene(call: Call) -> None:
        player = BackgroundAudioPlayer(ambient_sound=hum)
        await player.start(room=call.room, agent_session=call.session)
        await call.begin()
        handle = player.play(hum, loop=True)
        await asyncio.sleep(1.0)
        await call.session.aclose()
        await handle
        assert player.play(hum).done()

    in_call(scene)  # run_virtual fails if a task is left


def test_closing_the_player_ends_its_sounds_softly(hum: str) -> None:
    async def scene(call: Call) -> None:
        player = BackgroundAudioPlayer(ambient_sound=hum)
        await player.start(room=call.room)
        await call.begin()
        await asyncio.sleep(1.0)
        await player.aclose()
        await asyncio.sleep(1.0)
        ((_, end),) = call.hums()
        assert end == pytest.approx(1.08, abs=0.04)

    in_call(scene)


def test_in_a_text_call_nothing_plays_and_nothing_breaks(hum: str) -> None:
    async def run() -> None:
        player = BackgroundAudioPlayer(ambient_sound=hum)
        await player.start(room=Room())
        assert player.play(hum).done()
        await player.aclose()

    run_virtual(run())


# -- misuse


def refused(message: str, act: Callable[[], object]) -> None:
    with pytest.raises(UsageError, match=message):
        act()


def test_settings_that_make_no_sense_are_refused(hum: str) -> None:
    refused("a volume of 0 or more, got -1", lambda: AudioConfig(hum, volume=-1))
    refused("between 0 and 1, got 2", lambda: AudioConfig(hum, probability=2))
    refused("fades of 0 s or more", lambda: AudioConfig(hum, fade_in=-1))
    refused("add up to 2", lambda: BackgroundAudioPlayer(ambient_sound=[AudioConfig(hum), AudioConfig(hum)]))
    refused("got int", lambda: BackgroundAudioPlayer(ambient_sound=AudioConfig(3)))  # type: ignore[arg-type]


def test_an_iterator_cannot_be_a_thinking_sound_or_a_loop() -> None:
    async def frames() -> AsyncIterator[AudioFrame]:
        yield silence(0.1)

    async def scene(call: Call) -> None:
        refused("only once", lambda: BackgroundAudioPlayer(thinking_sound=frames()))
        player = BackgroundAudioPlayer()
        refused(r"await player.start\(room=...\)", lambda: player.play(frames()))
        await player.start(room=call.room)
        refused("leave out loop=", lambda: player.play(frames(), loop=True))

    in_call(scene)


def test_a_player_is_started_once_with_what_it_needs(hum: str, tmp_path: Path) -> None:
    class Plain:
        audio_output = FakeSpeaker()

    async def scene(call: Call) -> None:
        with pytest.raises(UsageError, match=r"wrap it: .*MixedOutput\(output\)"):
            await BackgroundAudioPlayer().start(room=Plain())
        with pytest.raises(UsageError, match="needs agent_session="):
            await BackgroundAudioPlayer(thinking_sound=hum).start(room=call.room)
        with pytest.raises(UsageError, match="no such recording"):
            await BackgroundAudioPlayer(ambient_sound=str(tmp_path / "none.wav")).start(room=call.room)
        player = BackgroundAudioPlayer()
        await player.start(room=call.room)
        with pytest.raises(UsageError, match="started already"):
            await player.start(room=call.room)
        await call.begin()
        assert (await player.play(str(tmp_path / "none.wav"))).done()

    in_call(scene)


def test_a_builtin_clip_is_heard() -> None:
    async def scene(call: Call) -> None:
        await BackgroundAudioPlayer(ambient_sound=BuiltinAudioClip.KEYBOARD_TYPING).start(room=call.room)
        await call.begin()
        await asyncio.sleep(3.0)
        assert call.speaker.track.render(call.began, 3.0).to_float32().std() > 0.001

    in_call(scene)
