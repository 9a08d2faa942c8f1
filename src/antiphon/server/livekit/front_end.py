"""What LiveKit's front ends are shown of a session, and what they send it.

| | |
|---|---|
| `lk.agent.state`, an attribute | initializing, idle, listening, thinking, speaking |
| `lk.transcription`, text streams | the agent's words, a stream for each speech; the caller's, one for each interim |
| transcription packets | the same, for clients of before text streams |
| `lk.chat`, text streams from the caller | typed turns |

Above: `hold`, which has it listen before the session starts. Below: the `livekit.rtc.Room` of a call. What is to be
sent is sent by one task, in order; a room that takes nothing any more costs its own call and nothing else.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from antiphon.events import (
    AgentOutputTranscribedEvent,
    AgentState,
    AgentStateChangedEvent,
    UserInputTranscribedEvent,
)
from antiphon.server.livekit.server import STATE
from antiphon.session import AgentSession
from antiphon.transports.livekit import LiveKitCall
from antiphon.transports.livekit.library import real_rtc

logger = logging.getLogger("antiphon")

TRANSCRIPTION = "lk.transcription"
CHAT = "lk.chat"
MAX_CHAT = 20_000
"""Characters of one typed turn; what is longer is cut."""
FLUSH = 0.5
"""Seconds that the last words have to be sent when the call ends."""


@dataclass(slots=True)
class _Speech:
    """A speech of the agent that is being shown."""

    id: str
    shown: str = ""
    writer: Any = None


class FrontEnd:
    """Shows one session to the clients of its room."""

    def __init__(self, call: LiveKitCall) -> None:
        self._call = call
        self._work: asyncio.Queue[Callable[[], Awaitable[None]]] = asyncio.Queue()
        self._sender: asyncio.Task[None] | None = None
        self._reading: set[asyncio.Task[None]] = set()
        self._speech: _Speech | None = None
        self._spoken_id = ""
        """Of the session's own numbering: which speech that is."""
        self._turn = _new_id()
        """The segment of the caller's words that are not final yet."""

    def listen(self, session: AgentSession[Any]) -> None:
        """Begin to show a session, which must not have started."""
        self._session = session
        self._sender = asyncio.create_task(self._send(), name="LiveKit: what front ends are shown")
        session.on("agent_state_changed", self._state)
        session.on("agent_output_transcribed", self._said)
        session.on("user_input_transcribed", self._heard)
        self._call.rtc.on("reconnected", self._back)
        try:
            self._call.rtc.register_text_stream_handler(CHAT, self._typed)
        except ValueError:
            logger.info("%s has a handler of the application's: typed turns are left to it", CHAT)

    async def aclose(self) -> None:
        """Send the last words, and end."""
        if self._sender is None:
            return
        for task in self._reading:
            task.cancel()
        try:
            async with asyncio.timeout(FLUSH):
                await self._work.join()
        except TimeoutError:
            logger.info("not all words of a call were shown at its end")
        self._sender.cancel()
        await asyncio.wait([self._sender, *self._reading])

    # -- what the session does

    def _state(self, event: AgentStateChangedEvent) -> None:
        self._tell_state(event.new_state)

    def _back(self) -> None:
        self._tell_state(self._session.agent_state)

    def _tell_state(self, state: AgentState) -> None:
        async def tell() -> None:
            await self._local.set_attributes({STATE: state})

        self._work.put_nowait(tell)

    def _said(self, event: AgentOutputTranscribedEvent) -> None:
        if self._speech is None or self._spoken_id != event.segment_id:
            self._speech, self._spoken_id = _Speech(_new_id()), event.segment_id
        speech = self._speech
        # What was shown cannot be taken back: a cut that is told late ends the stream where it is.
        delta = event.transcript[len(speech.shown) :] if event.transcript.startswith(speech.shown) else ""
        speech.shown += delta
        final = event.is_final
        if final:
            self._speech = None

        async def tell() -> None:
            track = self._call.track_sid
            if speech.writer is None:
                speech.writer = await self._open(speech.id, track, self._local.identity, final=False)
            if delta:
                await speech.writer.write(delta)
            if final:
                await speech.writer.aclose(attributes={"lk.transcription_final": "true"})
            await self._publish(speech.id, track, self._local.identity, event.transcript, final=final)

        self._work.put_nowait(tell)

    def _heard(self, event: UserInputTranscribedEvent) -> None:
        turn, caller = self._turn, self._call.caller
        if event.is_final:
            self._turn = _new_id()
        if caller is None:
            return

        async def tell() -> None:
            track = _microphone(caller)
            writer = await self._open(turn, track, caller.identity, final=event.is_final)
            await writer.write(event.transcript)
            await writer.aclose()
            await self._publish(turn, track, caller.identity, event.transcript, final=event.is_final)

        self._work.put_nowait(tell)

    # -- what a front end sends

    def _typed(self, reader: Any, sender: str) -> None:
        caller = self._call.caller
        if caller is None or sender != caller.identity:
            reader.close()
            return
        task = asyncio.create_task(self._read(reader), name="LiveKit: a typed turn")
        self._reading.add(task)
        task.add_done_callback(self._reading.discard)

    async def _read(self, reader: Any) -> None:
        text = ""
        try:
            async for piece in reader:
                text += piece
                if len(text) > MAX_CHAT:
                    break
        except ConnectionError as error:
            logger.info("a typed turn did not arrive whole: %s", error)
            return
        finally:
            reader.close()
        if text.strip() and self._session.is_running:
            self._session.interrupt()
            self._session.submit_user_turn(text[:MAX_CHAT])

    # -- sending

    @property
    def _local(self) -> Any:
        return self._call.rtc.local_participant

    async def _open(self, segment: str, track: str, identity: str, *, final: bool) -> Any:
        attributes = {
            "lk.segment_id": segment,
            "lk.transcribed_track_id": track,
            "lk.transcription_final": "true" if final else "false",
        }
        return await self._local.stream_text(topic=TRANSCRIPTION, attributes=attributes, sender_identity=identity)

    async def _publish(self, segment: str, track: str, identity: str, text: str, *, final: bool) -> None:
        rtc = real_rtc()
        packet = rtc.TranscriptionSegment(segment, text, start_time=0, end_time=0, language="", final=final)
        await self._local.publish_transcription(rtc.Transcription(identity, track, [packet]))

    async def _send(self) -> None:
        while True:
            work = await self._work.get()
            try:
                if self._call.rtc.isconnected():
                    await work()
            except Exception as error:
                logger.info("a front end was not shown something: %s: %s", type(error).__name__, error)
            finally:
                self._work.task_done()


def _new_id() -> str:
    return f"SG_{uuid.uuid4().hex[:12]}"


def _microphone(participant: Any) -> str:
    """The id of the track that a participant is heard by; "" without one."""
    rtc = real_rtc()
    for publication in participant.track_publications.values():
        if publication.kind == rtc.TrackKind.KIND_AUDIO:
            return str(publication.sid)
    return ""
