"""A caller in a LiveKit room, as a front end of LiveKit's would be: it talks, it listens, it sees what it is shown."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from typing import Any

from antiphon.audio import AudioFrame
from antiphon.testing import Heard
from antiphon.transports.livekit.library import real_rtc
from tests.livekit.real import Address

RATE = 48_000


def token(server: Address, room: str, identity: str, *, kind: str = "standard", **grants: Any) -> str:
    from livekit import api

    made = api.AccessToken(server.key, server.secret).with_identity(identity).with_kind(kind)  # type: ignore[arg-type]
    return made.with_grants(api.VideoGrants(room_join=True, room=room, **grants)).to_jwt()


def new_room(name: str = "call") -> str:
    return f"{name}-{uuid.uuid4().hex[:8]}"


class RoomCaller:
    """Somebody in a room. `heard` is all that sounded of the agent's track."""

    def __init__(self, server: Address, room: str, identity: str = "caller") -> None:
        self.rtc = real_rtc()
        self.identity = identity
        self.heard: list[Heard] = []
        self.events: list[tuple[str, Any]] = []
        self.transcripts: list[tuple[str, str, dict[str, str]]] = []
        """Of each text stream of `lk.transcription`: whose words, which, and the attributes at its end."""
        self._server = server
        self._room_name = room
        self.room: Any = self.rtc.Room()
        self._source: Any = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.room.on("track_subscribed", self._subscribed)
        self.room.on("participant_connected", self._joined)
        self.room.on("participant_disconnected", lambda p: self.events.append(("left", p.identity)))
        self.room.on("participant_attributes_changed", self._attributes)
        self.room.on("disconnected", lambda reason: self.events.append(("disconnected", reason)))
        self.room.register_text_stream_handler("lk.transcription", self._transcribed)

    async def join(self, *, microphone: bool = True) -> RoomCaller:
        rtc = self.rtc
        async with asyncio.timeout(10):
            await self.room.connect(self._server.url, token(self._server, self._room_name, self.identity))
            if microphone:
                self._source = rtc.AudioSource(RATE, 1, queue_size_ms=60_000)
                track = rtc.LocalAudioTrack.create_audio_track("mic", self._source)
                options = rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE, dtx=False)
                await self.room.local_participant.publish_track(track, options)
        return self

    async def say(self, frame: AudioFrame) -> None:
        assert self._source is not None and frame.sample_rate == RATE
        await self._source.capture_frame(self.rtc.AudioFrame(frame.data, RATE, 1, frame.samples_per_channel))

    async def leave(self) -> None:
        await self.room.disconnect()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._source is not None:
            await self._source.aclose()
            self._source = None

    @property
    def agent(self) -> Any:
        """The participant that is an agent, or None."""
        kind = self.rtc.ParticipantKind.PARTICIPANT_KIND_AGENT
        return next((p for p in self.room.remote_participants.values() if p.kind == kind), None)

    def states(self) -> list[str]:
        """The agent's states, as the attributes told them."""
        return [value for name, value in self.events if name == "state"]

    def _joined(self, participant: Any) -> None:
        self.events.append(("joined", participant.identity))
        self._attributes(participant.attributes, participant)

    def _attributes(self, changed: dict[str, str], participant: Any) -> None:
        if "lk.agent.state" in changed:
            self.events.append(("state", changed["lk.agent.state"]))

    def _subscribed(self, track: Any, publication: Any, participant: Any) -> None:
        if track.kind == self.rtc.TrackKind.KIND_AUDIO:
            self._spawn(self._listen(self.rtc.AudioStream(track, sample_rate=RATE, num_channels=1)))

    async def _listen(self, stream: Any) -> None:
        loop = asyncio.get_running_loop()
        try:
            async for event in stream:
                frame = AudioFrame(bytes(event.frame.data), RATE)
                self.heard.append(Heard(loop.time() - frame.duration, frame))
        finally:
            await stream.aclose()

    def _transcribed(self, reader: Any, sender: str) -> None:
        self._spawn(self._read(reader, sender))

    async def _read(self, reader: Any, sender: str) -> None:
        with contextlib.suppress(Exception):
            text = await reader.read_all()
            self.transcripts.append((sender, text, dict(reader.info.attributes)))

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
