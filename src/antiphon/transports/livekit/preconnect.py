"""What the caller said before the agent was there.

LiveKit's front ends record the microphone from the click on, and send the recording when the agent is in the room
(topic `lk.agent.pre-connect-audio-buffer`). It is heard in front of the track's own sound: no first word is lost.

Above: `caller`, which reads it when it subscribes to a track that announces it. Below: `av`, which decodes it.
"""

from __future__ import annotations

import asyncio
import io
import logging
from typing import Any

logger = logging.getLogger("antiphon")

TOPIC = "lk.agent.pre-connect-audio-buffer"
"""The topic of the byte stream, as front ends know it."""
WAIT = 3.0
"""Seconds to wait for the recording of a track that announces one. The track's own sound is kept meanwhile."""
LONGEST = 12.0
"""Seconds of a recording that are heard. Front ends stop at 10."""
ANNOUNCED = 6
"""The feature of a track for which a recording is to come: `TF_PRECONNECT_BUFFER` of LiveKit's protocol."""
LARGEST = 2 * 2**20
"""Bytes of a recording: `LONGEST` seconds of 48,000 Hz stereo fit."""
MOST = 4
"""Recordings that wait to be read. The oldest gives way."""
CONTAINERS = {"audio/webm": "webm", "video/webm": "webm", "video/mp4": "mp4", "audio/mp4": "mp4", "audio/ogg": "ogg"}
"""How a recording of that type is packed, in the words of `av`. All other types are 16-bit samples."""


class PreConnect:
    """The recordings that front ends of one room sent, by participant and track."""

    def __init__(self, room: Any, sample_rate: int) -> None:
        self._rate = sample_rate
        self._recordings: dict[tuple[str, str], asyncio.Future[bytes]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        room.register_byte_stream_handler(TOPIC, self._on_stream)

    def is_announced(self, publication: Any) -> bool:
        """Whether a recording of this track is to come."""
        return ANNOUNCED in publication.audio_features

    async def recorded(self, identity: str, track: str) -> bytes:
        """What was recorded for this participant's track: 16-bit mono samples at the room's rate.

        Waits for `WAIT` seconds at most. Empty if nothing came, or nothing that can be heard: the log says which.
        """
        recording = self._recording(identity, track)
        try:
            async with asyncio.timeout(WAIT):
                return await asyncio.shield(recording)
        except TimeoutError:
            logger.info("%s announced what they said before the call, and sent nothing in %g s", identity, WAIT)
            return b""
        finally:
            self._recordings.pop((identity, track), None)

    async def aclose(self) -> None:
        """Stop reading. Later recordings are not waited for."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _recording(self, identity: str, track: str) -> asyncio.Future[bytes]:
        key = identity, track
        if key not in self._recordings:
            while len(self._recordings) >= MOST:
                self._recordings.pop(next(iter(self._recordings)))
            self._recordings[key] = asyncio.get_running_loop().create_future()
        return self._recordings[key]

    def _on_stream(self, reader: Any, identity: str) -> None:
        recording = self._recording(identity, (reader.info.attributes or {}).get("trackId", ""))
        task = asyncio.get_running_loop().create_task(self._read(reader, identity, recording))
        task.set_name("LiveKit: what was said before the call")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read(self, reader: Any, identity: str, recording: asyncio.Future[bytes]) -> None:
        """Settle `recording`, whatever was sent: a front end is a stranger."""
        samples = b""
        try:
            samples = await self._decoded(reader)
        except ImportError as error:
            logger.warning(
                "what %s said before the call is not heard: %s. Install it with: pip install 'antiphon[livekit]'",
                identity,
                error,
            )
        except Exception as error:
            logger.warning("what %s said before the call is not heard: %s", identity, error)
        finally:
            await reader.aclose()
            if not recording.done():
                recording.set_result(samples)

    async def _decoded(self, reader: Any) -> bytes:
        data = bytearray()
        async for chunk in reader:
            data += chunk
            if len(data) > LARGEST:
                raise ValueError(f"the recording is longer than {LARGEST:,} bytes")
        attributes = reader.info.attributes or {}
        kind = (reader.info.mime_type or "").split(";")[0].strip().lower()
        rate, channels = int(attributes.get("sampleRate") or 48_000), int(attributes.get("channels") or 1)
        return await asyncio.to_thread(decode, bytes(data), kind, self._rate, rate=rate, channels=channels)


def decode(data: bytes, mime_type: str, sample_rate: int, *, rate: int = 48_000, channels: int = 1) -> bytes:
    """A recording as 16-bit mono samples at `sample_rate` Hz, at most `LONGEST` seconds of it.

    `rate` (Hz) and `channels` say what the samples are where the type names no container. Raises `ValueError` for what
    is no recording, `ImportError` without `av`.
    """
    import av
    import av.error

    if mime_type not in CONTAINERS and not (8_000 <= rate <= 192_000 and channels in (1, 2)):
        raise ValueError(f"samples at {rate} Hz in {channels} channels: expected 8,000 to 192,000 Hz, 1 or 2 channels")
    options = {"sample_rate": str(rate), "ch_layout": "mono" if channels == 1 else "stereo"}
    packed = CONTAINERS.get(mime_type)
    try:
        with av.open(io.BytesIO(data), format=packed or "s16le", options={} if packed else options) as container:
            if not container.streams.audio:
                raise ValueError(f"a recording of the type {mime_type!r} without sound")
            return _heard(av, container, sample_rate)
    except av.error.FFmpegError as error:
        raise ValueError(f"no recording of the type {mime_type!r}: {error}") from error


def _heard(av: Any, container: Any, sample_rate: int) -> bytes:
    resampler = av.AudioResampler(format="s16", layout="mono", rate=sample_rate)
    most = 2 * round(LONGEST * sample_rate)
    heard = bytearray()
    for frame in container.decode(audio=0):
        for part in resampler.resample(frame):
            heard += part.to_ndarray().tobytes()
        if len(heard) >= most:
            return bytes(heard[:most])
    for part in resampler.resample(None):
        heard += part.to_ndarray().tobytes()
    return bytes(heard)
