"""What a caller said before the agent was in the room is heard, in front of all else, whatever a front end sends."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import av
import numpy as np
import pytest

from antiphon.audio import AudioFrame
from antiphon.testing import run_virtual, wait_until
from antiphon.transports.livekit import LiveKitCall
from antiphon.transports.livekit.input import FRAME, LiveKitInput
from antiphon.transports.livekit.preconnect import LARGEST, LONGEST, TOPIC, WAIT, PreConnect, decode
from tests.livekit.caller import RATE, RoomCaller, new_room, token
from tests.livekit.real import Address, needs_server

HEAR = 16_000


def tone(seconds: float, rate: int, channels: int = 1) -> bytes:
    wave = 0.5 * np.sin(2 * np.pi * 440 * np.arange(round(seconds * rate)) / rate)
    return np.repeat((wave * 32767).astype(np.int16), channels).tobytes()


def packed(seconds: float, container: str, codec: str) -> bytes:
    """A recording as a browser's recorder packs it."""
    file = io.BytesIO()
    with av.open(file, "w", format=container) as out:
        stream: Any = out.add_stream(codec, rate=48_000, layout="mono")
        samples = np.frombuffer(tone(seconds, 48_000), np.int16)
        frame = av.AudioFrame.from_ndarray(samples.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate = 48_000
        for packet in [*stream.encode(frame), *stream.encode(None)]:
            out.mux(packet)
    return file.getvalue()


def level(data: bytes) -> float:
    """Of 16-bit samples: root mean square; 0.35 for the tone."""
    return float(np.sqrt(np.mean((np.frombuffer(data, np.int16) / 32768) ** 2)))


class FakeRoom:
    def __init__(self) -> None:
        self.handlers: dict[str, Callable[[Any, str], None]] = {}

    def register_byte_stream_handler(self, topic: str, handler: Callable[[Any, str], None]) -> None:
        self.handlers[topic] = handler

    def send(self, chunks: Sequence[bytes | Exception], identity: str = "caller", **info: Any) -> FakeReader:
        reader = FakeReader(chunks, **info)
        self.handlers[TOPIC](reader, identity)
        return reader


class FakeReader:
    def __init__(self, chunks: Sequence[bytes | Exception], mime_type: str = "audio/pcm", **attributes: str) -> None:
        self.info = SimpleNamespace(mime_type=mime_type, attributes={"trackId": "TR_mic", **attributes})
        self.closed = False
        self._chunks = iter(chunks)

    def __aiter__(self) -> FakeReader:
        return self

    async def __anext__(self) -> bytes:
        chunk = next(self._chunks, None)
        if chunk is None:
            raise StopAsyncIteration
        if isinstance(chunk, Exception):
            raise chunk
        return chunk

    async def aclose(self) -> None:
        self.closed = True


@pytest.mark.parametrize(
    ("mime_type", "data"),
    [
        ("audio/webm;codecs=opus", packed(2.0, "webm", "libopus")),
        ("video/mp4", packed(2.0, "mp4", "aac")),
        ("audio/pcm", tone(2.0, 48_000)),
    ],
    ids=["webm", "mp4", "samples"],
)
def test_a_recording_is_heard_however_it_is_packed(mime_type: str, data: bytes) -> None:
    heard = decode(data, mime_type.split(";")[0], HEAR)
    assert len(heard) / 2 / HEAR == pytest.approx(2.0, abs=0.1)
    assert level(heard) == pytest.approx(0.35, abs=0.02)


def test_samples_of_two_channels_and_another_rate_are_heard_as_one() -> None:
    heard = decode(tone(1.0, 44_100, channels=2), "", HEAR, rate=44_100, channels=2)
    assert len(heard) / 2 / HEAR == pytest.approx(1.0, abs=0.02)
    assert level(heard) == pytest.approx(0.35, abs=0.02)


def test_of_a_long_recording_only_so_much_is_heard() -> None:
    assert len(decode(tone(20.0, 48_000), "audio/pcm", HEAR)) == 2 * round(LONGEST * HEAR)


@pytest.mark.parametrize(
    ("chunks", "info"),
    [
        ([b"no recording"], {"mime_type": "audio/webm"}),
        ([packed(0.5, "webm", "libopus")[:200]], {"mime_type": "audio/webm"}),
        ([tone(0.1, 48_000)], {"sampleRate": "0.5"}),
        ([tone(0.1, 48_000)], {"sampleRate": "7"}),
        ([tone(0.1, 48_000)], {"channels": "900"}),
        ([bytes(LARGEST // 2)] * 3, {}),
        ([tone(0.1, 48_000), ConnectionError("the sender is gone")], {}),
    ],
    ids=["no webm", "cut webm", "odd rate", "low rate", "channels", "too large", "broken off"],
)
def test_a_bad_recording_holds_nobody_up(
    chunks: list[bytes | Exception], info: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    async def check() -> None:
        room = FakeRoom()
        recordings = PreConnect(room, HEAR)
        reader = room.send(chunks, **info)
        assert await recordings.recorded("caller", "TR_mic") == b""
        assert reader.closed
        await recordings.aclose()

    asyncio.run(check())
    assert "what caller said before the call is not heard" in caplog.text


def test_a_recording_that_never_comes_is_waited_for_a_while_only() -> None:
    async def check() -> None:
        loop = asyncio.get_running_loop()
        recordings, begun = PreConnect(FakeRoom(), HEAR), loop.time()
        assert await recordings.recorded("caller", "TR_mic") == b""
        assert loop.time() - begun == pytest.approx(WAIT)

    run_virtual(check())


def test_a_recording_of_another_participant_is_not_the_callers() -> None:
    async def check() -> None:
        room = FakeRoom()
        recordings = PreConnect(room, HEAR)
        for stranger in range(9):
            room.send([tone(0.5, 48_000)], f"stranger-{stranger}")
        room.send([tone(1.0, 48_000)], "caller")
        assert len(await recordings.recorded("caller", "TR_mic")) / 2 / HEAR == pytest.approx(1.0, abs=0.02)
        await recordings.aclose()

    asyncio.run(check())


def test_a_recording_is_kept_until_the_session_starts_and_is_heard_first() -> None:
    async def check() -> None:
        heard: list[AudioFrame] = []
        line = LiveKitInput(sample_rate=HEAR)
        recording = asyncio.create_task(line.hear_recorded(tone(1.0, HEAR)))
        await asyncio.sleep(5)
        assert not recording.done()
        line.start(heard.append, lambda: None)
        await recording
        assert b"".join(frame.data for frame in heard) == tone(1.0, HEAR)
        assert all(frame.duration == pytest.approx(FRAME) for frame in heard)
        await line.aclose()

    run_virtual(check())


class EarlyCaller(RoomCaller):
    """Somebody who spoke before the agent was there, as front ends of LiveKit's let them."""

    async def join_early(self, said: bytes) -> None:
        rtc = self.rtc
        await self.room.connect(self._server.url, token(self._server, self._room_name, self.identity))
        self._source = rtc.AudioSource(RATE, 1, queue_size_ms=60_000)
        track = rtc.LocalAudioTrack.create_audio_track("mic", self._source)
        options = rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE, dtx=False, preconnect_buffer=True)
        publication = await self.room.local_participant.publish_track(track, options)
        await wait_until(lambda: self.agent is not None)
        writer = await self.room.local_participant.stream_bytes(
            "preconnect-buffer",
            mime_type="audio/webm;codecs=opus",
            topic=TOPIC,
            destination_identities=[self.agent.identity],
            attributes={"trackId": publication.sid, "sampleRate": "48000", "channels": "1"},
        )
        await writer.write(said)
        await writer.aclose()


@pytest.mark.timeout(60)
class TestRoom:
    pytestmark = needs_server

    def test_what_was_said_before_the_agent_came_is_heard_in_a_room(self, livekit_server: Address) -> None:
        async def check() -> None:
            room = new_room("early")
            heard: list[AudioFrame] = []
            call = LiveKitCall(livekit_server.url, token(livekit_server, room, "agent", kind="agent"))
            caller = EarlyCaller(livekit_server, room)
            joining = asyncio.create_task(caller.join_early(packed(2.0, "webm", "libopus")))
            await call.join()
            call.input.start(heard.append, lambda: None)
            await joining
            await wait_until(lambda: sum(frame.duration for frame in heard) > 2.2)
            early = b"".join(frame.data for frame in heard)[: 2 * 2 * HEAR]
            assert level(early[HEAR // 2 :]) == pytest.approx(0.35, abs=0.03)
            await call.leave()
            await caller.leave()

        asyncio.run(check())
