"""Hears the caller: microphone frames through voice detection and speech recognition, as facts.

Above: the driver. Below: `AudioInput`, `VAD`, `STT` (or the agent's `stt_node`), `TurnDetector`. A frame goes through
the detector and into the recogniser inside the very call that delivers it: what the core decides about a voice is
done before that call returns.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from antiphon.audio import AudioFrame
from antiphon.core.facts import EndOfTurnPredicted, Transcribed, UserSpeechEnded, UserSpeechStarted
from antiphon.errors import UsageError
from antiphon.options import ModelSettings
from antiphon.runtime.feed import Feed
from antiphon.stt import STT, SpeechEvent, SpeechEventType, STTStream
from antiphon.transport import AudioInput
from antiphon.turn_detector import PREDICTION_TIMEOUT, TurnDetector, TurnSoFar
from antiphon.vad import VAD, SpeechStarted, VADEvent, VADStream

if TYPE_CHECKING:
    from antiphon.runtime.driver import Driver
    from antiphon.runtime.host import Host

logger = logging.getLogger("antiphon")

RESTART_DELAY = 1.0
"""Seconds between two attempts to start a recogniser that failed."""

REMEMBERED = 8.0
"""Seconds of the caller's sound kept for turn detectors that listen."""

QUEUED_FRAMES = 500
"""Frames that an agent's own `stt_node` may lag behind; the oldest are dropped then."""

_SETTINGS = ModelSettings()


class FrameQueue(Feed[AudioFrame]):
    """Frames on their way to an agent's own `stt_node`. Bounded: when full, the oldest frame is dropped.

    What the voice detector heard in them goes along: the node gets frames only, and hands them on as it likes, but the
    built-in node inside it must know where speech begins and ends.
    """

    __slots__ = ("_marks", "_pushed", "dropped", "stream")

    def __init__(self) -> None:
        super().__init__(QUEUED_FRAMES)
        self.dropped = 0
        self.stream: STTStream | None = None
        """What the built-in node has the frames recognised by, if the agent's own calls it."""
        self._pushed = 0
        self._marks: deque[tuple[int, VADEvent]] = deque(maxlen=QUEUED_FRAMES)

    def push(self, item: AudioFrame) -> None:
        """Add a frame. Never blocks."""
        if len(self.items) == QUEUED_FRAMES:
            self.dropped += 1
            if self.dropped == 1:
                logger.warning("stt_node is %s frames behind; the oldest are dropped", QUEUED_FRAMES)
        self._pushed += 1
        super().push(item)

    def mark(self, event: VADEvent) -> None:
        """The detector heard this in the frame that was pushed last."""
        self._marks.append((self._pushed, event))

    def marks(self) -> Iterator[VADEvent]:
        """Take what the detector heard in the frames that the node has taken."""
        while self._marks and self._marks[0][0] <= self._pushed - len(self.items):
            yield self._marks.popleft()[1]


heard_frames: ContextVar[FrameQueue | None] = ContextVar("antiphon_heard_frames", default=None)
"""The frames that the running `stt_node` is fed with."""


class AudioMemory:
    """The last seconds of the caller's sound."""

    __slots__ = ("_duration", "_frames")

    def __init__(self) -> None:
        self._frames: deque[AudioFrame] = deque()
        self._duration = 0.0

    def push(self, frame: AudioFrame) -> None:
        """Add a frame, and forget what is older than `REMEMBERED` seconds."""
        self._frames.append(frame)
        self._duration += frame.duration
        while self._duration - self._frames[0].duration > REMEMBERED:
            self._duration -= self._frames.popleft().duration

    def audio(self) -> AudioFrame | None:
        """All of it as one frame; None before any sound came, and when the format has just changed."""
        if not self._frames:
            return None
        last = self._frames[-1]
        same = [f for f in self._frames if (f.sample_rate, f.num_channels) == (last.sample_rate, last.num_channels)]
        return AudioFrame(b"".join(f.data for f in same), last.sample_rate, last.num_channels)


class Recognition:
    """Performs `PredictEndOfTurn`, and reports what the caller does."""

    def __init__(
        self,
        driver: Driver,
        host: Host,
        audio_input: AudioInput | None,
        vad: VAD | None,
        turn_detector: TurnDetector | None,
    ) -> None:
        self._driver = driver
        self._host = host
        self._input = audio_input
        self._vad = vad
        self._detector = turn_detector
        self._memory = AudioMemory() if turn_detector is not None and turn_detector.wants_audio else None
        self._vad_stream: VADStream | None = None
        self._pushed = 0.0
        """Seconds of audio given to the voice detector."""
        self._speaking = False
        self._stream: STTStream | None = None
        self._queue: FrameQueue | None = None
        self._listening: asyncio.Task[None] | None = None
        self._prediction: asyncio.Task[None] | None = None
        self._agent: str | None = None
        self._ended = False

    # -- beginning, hand-off, end

    def start(self, agent: str) -> None:
        """Begin to hear the caller, for `agent`."""
        if self._input is None:
            return
        if self._vad is not None:
            self._vad_stream = self._vad.stream()
        self.listen_for(agent)
        self._input.start(self._on_frame, self._on_end)

    def listen_for(self, agent: str) -> None:
        """Recognise for this agent from now on: its recogniser, its `stt_node`."""
        if self._input is None or self._ended:
            return
        if self._agent is not None and not self._differs(agent):
            self._agent = agent
            return
        self._agent = agent
        if self._listening is not None:
            self._listening.cancel()
        self._stream = self._queue = None
        if "stt_node" in self._host.agent(agent).overridden:
            self._queue = FrameQueue()
            self._listening = self._driver.spawn(self._run_node(agent, self._queue), "stt_node")
        elif (stt := self._host.stt_of(agent)) is not None:
            self._listening = self._driver.spawn(self._run_stt(stt), "stt")

    def _differs(self, agent: str) -> bool:
        assert self._agent is not None
        own = "stt_node" in self._host.agent(agent).overridden or "stt_node" in self._host.agent(self._agent).overridden
        return own or self._host.stt_of(agent) is not self._host.stt_of(self._agent)

    def halt(self) -> None:
        """Hear nothing more."""
        self._ended = True
        self._vad_stream = None
        self._stream = self._queue = None

    async def aclose(self) -> None:
        """Release the microphone."""
        if self._input is not None:
            await self._input.aclose()

    def flush(self) -> None:
        """Have the recogniser give what it has, without waiting for silence."""
        stream = self._stream if self._queue is None else self._queue.stream
        if stream is not None:
            stream.flush()

    # -- frames

    def _on_frame(self, frame: AudioFrame) -> None:
        if self._ended:
            return
        if self._memory is not None:
            self._memory.push(frame)
        events: tuple[VADEvent, ...] | list[VADEvent] = ()
        if self._vad_stream is not None:
            self._pushed += frame.duration
            events = list(self._vad_stream.push(frame))
            for event in events:
                self._voice(event)
        self._driver.realtime.push(frame)
        if self._stream is not None:
            self._stream.push(frame)
            for event in events:
                self._stream.mark(event)
        elif self._queue is not None:
            self._queue.push(frame)
            for event in events:
                self._queue.mark(event)

    def _on_end(self) -> None:
        if self._ended:
            return
        if self._vad_stream is not None:
            for event in self._vad_stream.end():
                self._voice(event)
                if self._stream is not None:
                    self._stream.mark(event)
                elif self._queue is not None:
                    self._queue.mark(event)
            self._vad_stream = None
        self._set_speaking(False)
        if self._stream is not None:
            self._stream.end_input()
        if self._queue is not None:
            self._queue.close()

    def _voice(self, event: VADEvent) -> None:
        if isinstance(event, SpeechStarted):
            self._set_speaking(True)
        else:
            self._set_speaking(False, silence=max(0.0, self._pushed - event.at))

    def _set_speaking(self, speaking: bool, *, silence: float = 0.0) -> None:
        if speaking is self._speaking:
            return
        self._speaking = speaking
        self._driver.report(UserSpeechStarted() if speaking else UserSpeechEnded(silence))

    @property
    def hears_voice(self) -> bool:
        """The caller speaks, as far as anybody noticed."""
        return self._speaking

    def model_heard(self, *, speaking: bool, silence: float = 0.0) -> None:
        """A model that hears by itself says so; a detector of our own knows sooner."""
        if self._vad is None and not self._ended:
            self._set_speaking(speaking, silence=silence)

    # -- words

    async def _run_stt(self, stt: STT) -> None:
        while not self._ended:
            try:
                async with stt.stream() as stream:
                    self._stream = stream
                    async for event in stream:
                        self._heard(event)
                return
            except asyncio.CancelledError:
                raise
            except Exception as error:
                self._failed(error, stt)
            self._stream = None
            await asyncio.sleep(RESTART_DELAY)

    async def _run_node(self, agent: str, frames: FrameQueue) -> None:
        heard_frames.set(frames)
        while not self._ended:
            try:
                result: Any = self._host.agent(agent).stt_node(frames, _SETTINGS)
                if inspect.isawaitable(result):
                    result = await result
                if result is None:
                    return
                async for event in result:
                    self._heard(SpeechEvent.final(event) if isinstance(event, str) else event)
                return
            except asyncio.CancelledError:
                raise
            except Exception as error:
                self._failed(error, self._host.agent(agent))
            await asyncio.sleep(RESTART_DELAY)

    def _failed(self, error: Exception, source: Any) -> None:
        logger.error("speech recognition failed, restarting: %s", error, exc_info=error)
        self._host.failed(error, source)

    def _heard(self, event: SpeechEvent) -> None:
        if not isinstance(event, SpeechEvent):
            raise UsageError(f"stt_node: expected SpeechEvent or str, got {type(event).__name__}")
        match event.type:
            case SpeechEventType.START_OF_SPEECH:
                if self._vad is None:
                    self._set_speaking(True)
            case SpeechEventType.END_OF_SPEECH:
                if self._vad is None:
                    self._set_speaking(False)
            case SpeechEventType.INTERIM_TRANSCRIPT | SpeechEventType.FINAL_TRANSCRIPT:
                final = event.type is SpeechEventType.FINAL_TRANSCRIPT
                text = event.text.strip()
                self._driver.report(Transcribed(text, final))
                if text and self._host.listened("user_input_transcribed"):
                    language = event.alternatives[0].language if event.alternatives else ""
                    self._host.transcribed(text, final, language)

    # -- the end of a turn

    def predict(self, version: int, text: str) -> None:
        """Ask the turn detector, if there is one. Only the last question is answered."""
        if self._detector is None:
            return
        if self._prediction is not None:
            self._prediction.cancel()
        self._prediction = self._driver.spawn(self._predict(self._detector, version, text), "turn detector")

    async def _predict(self, detector: TurnDetector, version: int, text: str) -> None:
        audio = self._memory.audio() if self._memory is not None else None
        try:
            async with asyncio.timeout(PREDICTION_TIMEOUT):
                probability = await detector.predict(TurnSoFar(text, self._host.history_items(), audio))
        except TimeoutError:
            return
        except Exception as error:
            logger.exception("the turn detector failed")
            self._host.failed(error, detector)
            return
        self._driver.report(EndOfTurnPredicted(version, probability))
