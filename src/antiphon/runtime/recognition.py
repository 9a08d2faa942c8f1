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
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

from antiphon.audio import AudioFrame
from antiphon.core.facts import EndOfTurnPredicted, Transcribed
from antiphon.core.user_turn import LOST_FOR_WORDS
from antiphon.errors import ProviderTimeout, UsageError, pass_on
from antiphon.options import ModelSettings
from antiphon.runtime.callers_voice import CallersVoice
from antiphon.runtime.detection import Detection
from antiphon.runtime.feed import Feed
from antiphon.runtime.host import Agents, Events, Speeches
from antiphon.runtime.port import Port
from antiphon.scope import Scoped
from antiphon.stt import STT, SpeechEvent, SpeechEventType, STTStream
from antiphon.timer import Timer, catch_up, within
from antiphon.transport import AudioInput
from antiphon.turn_detector import PREDICTION_TIMEOUT, TurnDetector, TurnSoFar
from antiphon.vad import VAD, SpeechEnded, SpeechStarted, VADEvent

logger = logging.getLogger("antiphon")

RESTART_DELAY = 1.0
"""Seconds between two attempts to start a recogniser that failed."""

LATE_WORDS = 1.0
"""Seconds in which a recogniser that gave no words in time may still give them, before it is opened anew."""

REMEMBERED = 8.0
"""Seconds of the caller's sound kept for turn detectors that listen."""

QUEUED_FRAMES = 500
"""Frames that an agent's own `stt_node` may lag behind; the oldest are dropped then."""

QUIET_FRAMES = 30
"""Frames before a voice was noticed that a recogniser which begins to listen is given."""

_SETTINGS = ModelSettings()


class FrameQueue(Feed[AudioFrame]):
    """Frames on their way to an agent's own `stt_node`. Bounded: when full, the oldest frame is dropped.

    What the voice detector heard in them goes along: the node gets frames only, and hands them on as it likes, but the
    built-in node inside it must know where speech begins and ends.
    """

    __slots__ = ("__weakref__", "_marks", "_pushed", "dropped", "stream")

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


heard_frames: Scoped[FrameQueue] = Scoped("antiphon_heard_frames")
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


class _Unanswered:
    """For how long the caller spoke since anything came of the recogniser."""

    __slots__ = ("_began", "_looked", "_not_before", "_voiced", "since")

    def __init__(self) -> None:
        self._looked = self._not_before = 0.0
        """When it was last looked whether words are late; and until when what stands ready goes first."""
        self._began = self._voiced = 0.0
        """When the voice, or what follows the last that came, began; for how long voices lasted that are over."""
        self.since: float | None = None
        """When a voice ended that lasted, of which nothing has come."""

    def voice_began(self, now: float) -> None:
        self._began = self._looked = now

    def voice_ended(self, at: float) -> None:
        self._voiced += max(0.0, at - self._began)  # a recogniser may know that a voice has ended before the detector
        if self.since is None and self._voiced >= LOST_FOR_WORDS:
            self.since = at

    def answered(self, now: float) -> None:
        self.since, self._voiced, self._began = None, 0.0, now

    def is_late(self, now: float, limit: float) -> bool:
        """To be asked with each frame: where none came for a while, everything may have stood still."""
        if wait := catch_up(now - self._looked):
            self._not_before = now + wait
        self._looked = now
        return self.since is not None and now - self.since > limit and now >= self._not_before


class Recognition:
    """Performs `PredictEndOfTurn`, and reports what the caller does."""

    def __init__(
        self,
        port: Port,
        agents: Agents,
        speeches: Speeches,
        events: Events,
        voice: CallersVoice,
        also: Callable[[AudioFrame], None],
        audio_input: AudioInput | None,
        vad: VAD | None,
        turn_detector: TurnDetector | None,
    ) -> None:
        self._port = port
        self._agents = agents
        self._speeches = speeches
        self._events = events
        self._voice = voice
        self._also = also
        """Hears every frame, too."""
        self._input = audio_input
        self._detection = None if vad is None else Detection(vad, events.failed)
        self._detector = turn_detector
        self._memory = AudioMemory() if turn_detector is not None and turn_detector.wants_audio else None
        self._stream: STTStream | None = None
        self._queue: FrameQueue | None = None
        self._listening: asyncio.Task[None] | None = None
        self._prediction: asyncio.Task[None] | None = None
        self._agent: str | None = None
        self._reopening: asyncio.TimerHandle | Timer | None = None
        """The recogniser that listens is given up soon, if nothing comes of it."""
        self._unanswered = _Unanswered()
        self._unsettled = ""
        """Words of the recogniser that are not final."""
        self._broke_in: int | None = None
        """The utterance of the caller, by its number, in which the recogniser last broke, which was told."""
        self._changing = False
        """Another recogniser is to listen as soon as this one owes nothing."""
        self._source: STT | None = None
        """The recogniser that listens, if it is not an agent's own `stt_node`."""
        self._voice_ended: float | None = None
        """When the caller's voice ended of which nothing final has come."""
        self._ended = False

    @cached_property
    def _unheard(self) -> deque[tuple[AudioFrame, Sequence[VADEvent]]]:
        """The caller's sound while nobody listens, or nothing comes of it, and the voice in it: for the next one."""
        return deque(maxlen=QUEUED_FRAMES)

    @cached_property
    def _quiet(self) -> deque[AudioFrame]:
        """Sound in which nobody was noticed: a voice may have begun in it. A session in text has none."""
        return deque(maxlen=QUIET_FRAMES)

    # -- beginning, hand-off, end

    def start(self, agent: str) -> None:
        """Begin to hear the caller, for `agent`."""
        if self._input is None:
            return
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
        self._listen_anew(agent)

    def _listen_anew(self, agent: str) -> None:
        if self._reopening is not None:
            self._reopening.cancel()
            self._reopening = None
        if self._listening is not None:
            self._listening.cancel()
        self._settle_words()
        self._changing = False
        self._source = None
        self._stream = self._queue = None
        if "stt_node" in self._agents.agent(agent).overridden:
            self._queue = FrameQueue()
            self._catch_up(self._queue.push, self._queue.mark)
            self._listening = self._port.spawn(self._run_node(agent, self._queue), "stt_node")
        elif (stt := self._agents.stt_of(agent)) is not None:
            self._source = stt
            self._listening = self._port.spawn(self._run_stt(stt), "stt")

    def changes(self) -> None:
        """Another recogniser serves the session: it listens once what the one before heard is settled."""
        if self._agent is None or self._listening is None or self._ended:
            return
        if self._queue is not None or self._agents.stt_of(self._agent) is not self._source:
            self._changing = True
            self._change()

    def _change(self) -> None:
        """Have it listen, unless the one before owes words: the caller speaks, or has just spoken."""
        owes = self._voice.is_heard or self._unsettled or self._awaits_words()
        if self._agent is None or owes:
            return
        self._unheard.clear()
        self._unheard.extend((frame, ()) for frame in self._quiet)
        self._listen_anew(self._agent)

    def _awaits_words(self) -> bool:
        """A voice has ended, and nothing has come of it since."""
        ended = self._voice_ended
        return ended is not None and self._port.loop.time() - ended <= self._port.options.transcript_timeout

    def _differs(self, agent: str) -> bool:
        assert self._agent is not None
        own = (
            "stt_node" in self._agents.agent(agent).overridden
            or "stt_node" in self._agents.agent(self._agent).overridden
        )
        return own or self._agents.stt_of(agent) is not self._agents.stt_of(self._agent)

    def halt(self) -> None:
        """Hear nothing more."""
        self._ended = True
        if self._reopening is not None:
            self._reopening.cancel()
        self._stream = self._queue = None

    async def aclose(self) -> None:
        """Release the microphone, and the tasks, which have ended: a task keeps what it raised, and that its frames."""
        self._listening = self._prediction = self._detection = None
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
        events = () if self._detection is None else self._detection.push(frame)
        for event in events:
            self._heard_voice(event)
        if self._unanswered.since is not None and self._voice.is_heard:
            self._look_for_words()
        if not self._voice.is_heard:
            if self._changing:
                self._change()
            self._quiet.append(frame)
        self._also(frame)
        stream = self._stream
        if (self._reopening is not None or (stream or self._queue) is None) and self._listening is not None:
            self._unheard.append((frame, events))
        if stream is not None:
            self._tell(stream, frame, events)
        elif self._queue is not None:
            self._queue.push(frame)
            for event in events:
                self._queue.mark(event)

    def _tell(self, stream: STTStream, frame: AudioFrame | None, events: Sequence[VADEvent]) -> None:
        """Have a recogniser hear this. One that raises is opened anew: what delivers the frames goes on."""
        try:
            if frame is not None:
                stream.push(frame)
            for event in events:
                stream.mark(event)
        except BaseException as error:
            pass_on(error)
            if stream is self._stream and self._listening is not None and self._agent is not None:
                self._listening.cancel()
                self._stream = None
                self._failed(error, self._agents.stt_of(self._agent))
                self._reopening = self._port.loop.call_later(RESTART_DELAY, self._listen_anew, self._agent)

    def _on_end(self) -> None:
        if self._ended:
            return
        for event in () if self._detection is None else self._detection.end():
            self._heard_voice(event)
            if self._stream is not None:
                self._tell(self._stream, None, [event])
            elif self._queue is not None:
                self._queue.mark(event)
        self._voice.noticed(speaking=False)
        if self._stream is not None:
            self._stream.end_input()
        if self._queue is not None:
            self._queue.close()

    def _heard_voice(self, event: VADEvent) -> None:
        assert self._detection is not None  # it said so
        now, since = self._port.loop.time(), self._detection.since(event)
        if isinstance(event, SpeechStarted):
            self._unanswered.voice_began(now)
            self._voice_ended = None
            self._voice.noticed(speaking=True, voice=since)
        else:
            self._unanswered.voice_ended(now - since)
            self._voice_ended = now
            self._quiet.clear()
            self._voice.noticed(speaking=False, silence=since)

    # -- words

    def _look_for_words(self) -> None:
        """Whoever goes on speaking has the core wait for their silence. A recogniser that hangs is told of in time."""
        options = self._port.options
        late = self._unanswered.is_late(self._port.loop.time(), options.transcript_timeout)
        if late and options.turns.detection != "manual":  # which may have it wait until it is flushed
            self.words_lost()

    def words_lost(self) -> None:
        """The caller spoke, and no words of it came in time: the recogniser is told of, and opened anew."""
        self._unanswered.answered(self._port.loop.time())
        if self._agent is None or self._listening is None or self._broke_in == self._voice.utterances:
            return
        source = self._agents.stt_of(self._agent) if self._queue is None else self._agents.agent(self._agent)
        label = source.label if isinstance(source, STT) else f"stt_node of agent {self._agent!r}"
        limit = self._port.options.transcript_timeout
        error = ProviderTimeout(
            f"{label}: expected a final transcript within {limit:g} s after the caller spoke, got none; it is opened"
            " anew. If it stays so, check the service, or use a FallbackSTT.",
            provider=label,
        )
        logger.warning("%s", error)
        self._events.failed(error, source)
        if self._reopening is None:
            self._unheard.clear()
            agent, loop = self._agent, self._port.loop
            self._reopening = Timer(loop, loop.time() + LATE_WORDS, lambda: self._listen_anew(agent))

    def _is_alive(self) -> None:
        """Something came of the recogniser."""
        self._unanswered.answered(self._port.loop.time())
        if self._reopening is not None:
            self._reopening.cancel()
            self._reopening = None
            self._unheard.clear()

    def _catch_up(self, push: Callable[[AudioFrame], None], mark: Callable[[VADEvent], None]) -> None:
        """One that begins to listen gets the sound that nobody understood."""
        first = next((event for _, events in self._unheard for event in events), None)
        if isinstance(first, SpeechEnded) or (first is None and self._voice.is_heard):
            mark(SpeechStarted(0.0))
        while self._unheard:
            frame, events = self._unheard.popleft()
            push(frame)
            for event in events:
                mark(event)

    async def _run_stt(self, stt: STT) -> None:
        while not self._ended:
            try:
                async with stt.stream() as stream:
                    self._stream = stream
                    self._catch_up(stream.push, stream.mark)
                    async for event in stream:
                        self._heard(event)
                return
            except asyncio.CancelledError:
                raise
            except BaseException as error:
                pass_on(error)
                self._failed(error, stt)
            self._stream = None
            await asyncio.sleep(RESTART_DELAY)

    async def _run_node(self, agent: str, frames: FrameQueue) -> None:
        heard_frames.set(frames)
        while not self._ended:
            try:
                result: Any = self._agents.agent(agent).stt_node(frames, _SETTINGS)
                if inspect.isawaitable(result):
                    result = await result
                if result is None:
                    return
                async for event in result:
                    self._heard(SpeechEvent.final(event) if isinstance(event, str) else event)
                return
            except asyncio.CancelledError:
                raise
            except BaseException as error:
                pass_on(error)
                self._failed(error, self._agents.agent(agent))
            await asyncio.sleep(RESTART_DELAY)

    def _failed(self, error: BaseException, source: Any) -> None:
        self._broke_in = self._voice.utterances
        self._settle_words()
        logger.error("speech recognition failed, restarting: %s", error, exc_info=error)
        self._events.failed(error, source)

    def _settle_words(self) -> None:
        """No final will come of the words that are not: another recogniser hears what follows them."""
        if self._unsettled:
            self._port.report(Transcribed(self._unsettled, True))
            self._unsettled = ""

    def _heard(self, event: SpeechEvent) -> None:
        if not isinstance(event, SpeechEvent):
            raise UsageError(f"stt_node: expected SpeechEvent or str, got {type(event).__name__}")
        self._is_alive()
        match event.type:
            case SpeechEventType.START_OF_SPEECH:
                if self._detection is None:
                    self._voice.noticed(speaking=True)
            case SpeechEventType.END_OF_SPEECH:
                if self._detection is None:
                    self._voice.noticed(speaking=False)
            case SpeechEventType.INTERIM_TRANSCRIPT | SpeechEventType.FINAL_TRANSCRIPT:
                final = event.type is SpeechEventType.FINAL_TRANSCRIPT
                text = event.text.strip()
                self._unsettled = "" if final else text
                if final:
                    self._voice_ended = None
                    self._quiet.clear()
                if self._port.masks.is_active:
                    text = self._port.masks.words(text, final=final)
                self._port.report(Transcribed(text, final))
                if text and self._events.listened("user_input_transcribed"):
                    language = event.alternatives[0].language if event.alternatives else ""
                    self._events.transcribed(text, final, language)

    # -- the end of a turn

    def predict(self, version: int, text: str) -> None:
        """Ask the turn detector, if there is one. Only the last question is answered."""
        if self._detector is None:
            return
        if self._prediction is not None:
            self._prediction.cancel()
        self._prediction = self._port.spawn(self._predict(self._detector, version, text), "turn detector")

    async def _predict(self, detector: TurnDetector, version: int, text: str) -> None:
        audio = self._memory.audio() if self._memory is not None else None
        try:
            async with within(PREDICTION_TIMEOUT):
                probability = await detector.predict(
                    TurnSoFar(self._port.masks.read(text), self._speeches.history_items(), audio)
                )
        except TimeoutError:
            return
        except BaseException as error:
            pass_on(error)
            logger.exception("the turn detector failed")
            self._events.failed(error, detector)
            return
        self._port.report(EndOfTurnPredicted(version, probability))
