"""Plays segments: in order, without gaps, at the pace of the loudspeaker.

Above: the driver, and `generation`, which opens segments and fills them with text. Below: the segments and their voices
(`synthesis`), the agent's `tts_node`, the `AudioOutput`.

Segments given to `Play` sound in order without a gap. The loudspeaker gets at most `output.lead` seconds ahead of what
was played, so that little is lost when it is cleared; what was heard lately is kept, so that a false alarm can go back
to the start of the cut word. A segment without sound counts as heard the moment it is complete.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import AsyncIterable, Coroutine
from typing import TYPE_CHECKING, Any

from antiphon.audio import AudioFrame
from antiphon.chat import ChatMessage
from antiphon.core.commands import Record, message_id
from antiphon.core.facts import (
    Fact,
    PlayoutFinished,
    PlayoutProgressed,
    PlayoutStarted,
    PlayoutStarved,
    SoundReady,
)
from antiphon.core.playout import DEFAULT_PACE
from antiphon.errors import UsageError
from antiphon.options import ModelSettings
from antiphon.runtime.captions import Rewording
from antiphon.runtime.synthesis import Segment, Voiced, current_segment
from antiphon.runtime.ticker import Ticker
from antiphon.streams import closing
from antiphon.transport import AudioOutput
from antiphon.tts import SynthesizedAudio

if TYPE_CHECKING:
    from antiphon.runtime.driver import Driver
    from antiphon.runtime.host import Host

logger = logging.getLogger("antiphon")

KEPT = 5.0
"""Seconds of played sound that are kept for going back."""

PROGRESS_PERIOD = 1.0
"""Seconds of sound between two `PlayoutProgressed`."""

_SETTINGS = ModelSettings()


class Playout:
    """Performs `Play`, `StopPlayout`, `PausePlayout` and `ResumePlayout`, and owns the segments."""

    def __init__(self, driver: Driver, host: Host, output: AudioOutput | None) -> None:
        self._driver = driver
        self._host = host
        self._output = output
        self._segments: dict[int, Segment] = {}
        self._queue: deque[Voiced] = deque()
        """Given to `Play` and not finished, in order."""
        self._end = 0.0
        """Where on the loudspeaker's clock everything written will have been played."""
        self._paused = False
        self._pace = DEFAULT_PACE
        self._raw: dict[str, str] = {}
        """By message id: what the model wrote, where that is not what was spoken."""

    def start(self) -> None:
        """The call begins."""
        if self._output is not None:
            self._output.start()
            self._end = self._output.played

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Run something for a segment as a task of the session."""
        return self._driver.spawn(work, name)

    # -- segments

    def open(
        self, segment_id: int, speech: int, agent: str, *, audio: AsyncIterable[AudioFrame] | None = None
    ) -> Segment:
        """A segment for text that begins. `audio`: ready-made sound for it."""
        segment: Segment
        if self._output is None or not (audio is not None or self._host.has_voice(agent)):
            segment = Segment(self, segment_id, speech, agent)
        else:
            segment = Voiced(
                self,
                segment_id,
                speech,
                agent,
                rate=self._output.sample_rate,
                pace=self._pace,
                respells=audio is None and self.respells(agent),
            )
            segment.task = self._driver.spawn(self._synthesize(segment, audio), f"voice {segment_id}")
        self._segments[segment_id] = segment
        return segment

    def respells(self, agent: str) -> bool:
        """True if the agent's own `tts_node` decides on the words that are spoken."""
        return (
            self._output is not None
            and self._host.has_voice(agent)
            and "tts_node" in self._host.agent(agent).overridden
        )

    def is_mute(self, agent: str) -> bool:
        """True if there is a loudspeaker, and the agent has no voice for it."""
        return self._output is not None and not self._host.has_voice(agent)

    @property
    def has_output(self) -> bool:
        """There is a loudspeaker."""
        return self._output is not None

    def settle(self, segment: Segment) -> None:
        """The core knows all of its text: it may end."""
        segment.settled = True
        if isinstance(segment, Voiced):
            self._finish_played()
        elif segment.given:
            self._finish_text(segment)

    def abandon(self, segment: Segment) -> None:
        """No more text will come, and none is waited for."""
        segment.end()
        self.settle(segment)

    def forget(self, speech: int) -> None:
        """The speech is over: what was never played of it never will be."""
        for segment in [s for s in self._segments.values() if s.speech == speech and not s.given]:
            self._never_played(segment)
            self._drop(segment)

    @staticmethod
    def _never_played(segment: Segment) -> None:
        if segment.when_cut is not None and isinstance(segment, Voiced):
            segment.when_cut(0.0)

    def _drop(self, segment: Segment) -> None:
        self._segments.pop(segment.id, None)
        if isinstance(segment, Voiced):
            segment.feed.close()
            if segment.task is not None:
                segment.task.cancel()

    def raw_text(self, command: Record) -> str | None:
        """What the model wrote for a message that is settled now, where that is not what was spoken."""
        if self._raw and isinstance(command.item, ChatMessage):
            return self._raw.pop(command.item.id, None)
        return None

    # -- the voice

    async def _synthesize(self, segment: Voiced, audio: AsyncIterable[AudioFrame] | None) -> None:
        current_segment.set(segment)
        source: Any = audio
        try:
            if source is None:
                source = self._host.agent(segment.agent).tts_node(segment.feed, _SETTINGS)
                if inspect.isawaitable(source):
                    source = await source
            if source is not None:
                async with closing(source):
                    await self._fill(segment, source)
        except Exception as error:
            segment.failed = True
            logger.error("agent %r: speech synthesis failed: %s", segment.agent, error, exc_info=error)
            self._host.failed(error, self._host.voice_of(segment.agent))
        finally:
            segment.end_audio()
        self._pace = segment.ledger.pace
        self._pump()
        self._finish_played()

    async def _fill(self, segment: Voiced, source: AsyncIterable[Any]) -> None:
        async for frame in source:
            if isinstance(frame, SynthesizedAudio):
                frame = frame.frame
            if not isinstance(frame, AudioFrame):
                raise UsageError(
                    f"tts_node of agent {segment.agent!r}: expected AudioFrame, got {type(frame).__name__}"
                )
            if segment.total == 0 and self._driver.stopwatch is not None:
                self._driver.stopwatch.first_byte(segment.id, self._driver.loop.time())
            segment.add(frame)
            if not segment.has_sound:
                segment.has_sound = True
                self._driver.report(SoundReady(segment.id))
            if segment.given:
                self._pump()
            await segment.wait_for_room()

    # -- commands

    def play(self, segment_id: int, *, first: bool = False) -> None:
        """Play it behind what plays now, or `first`, before what does not sound; closes with `PlayoutFinished`."""
        segment = self._segments.get(segment_id)
        if segment is None:
            self._driver.report(PlayoutFinished(segment_id, ""))
            return
        segment.given = True
        if not isinstance(segment, Voiced):
            if segment.settled:
                self._finish_text(segment)
            return
        if first:
            played = self._played()
            for waiting in self._queue:
                if waiting.origin is not None:
                    waiting.rewind(waiting.position(played))
            self._queue.appendleft(segment)
        else:
            self._queue.append(segment)
        Ticker.of(self._driver.loop).add(self._tick)
        self._pump()
        self._finish_played()

    def stop(self, segment_id: int) -> None:
        """Silence it at once. One that was given to `Play` closes with what was heard of it."""
        segment = self._segments.get(segment_id)
        if segment is None:
            return
        if isinstance(segment, Voiced) and segment in self._queue:
            played = self._played()
            self._clear(keep=segment)
            position = segment.position(played)
            if segment.when_cut is not None:
                segment.when_cut(position / segment.rate)
            heard = segment.ledger.heard(position)
            if heard:
                self._raw[message_id(segment.id, self._driver.mark)] = segment.raw  # for those who ask what was cut
            self._queue.remove(segment)
            self._release_ticker()
        else:
            heard = segment.heard() if segment.given else ""
            self._never_played(segment)
        self._drop(segment)
        if segment.given:
            self._report_finished(segment, heard)
        self._pump()

    def fade(self, segment_id: int) -> None:
        """Let the word that sounds come to its end, and end the segment with it."""
        segment = self._segments.get(segment_id)
        if not isinstance(segment, Voiced) or segment not in self._queue:
            self.stop(segment_id)
            return
        position = self.position(segment)
        end = segment.ledger.word_end(position)
        if end >= segment.total and segment.audio_done:
            return
        if segment.cursor > end:
            self._clear()  # what was written beyond the word is taken back
        segment.cut_at(end)
        self._pump()
        self._finish_played()

    def pause(self) -> None:
        """Silence the line at once, keep everything."""
        self._paused = True
        if self._output is not None:
            self._output.pause()

    def resume(self) -> None:
        """Sound again, from the start of the cut word."""
        self._paused = False
        if self._output is None:
            return
        if self._queue:
            first = self._queue[0]
            position = self.position(first)
            word = max(first.ledger.word_start(position), first.base)
            if word < position:
                self._clear()
                first.rewind(word)
        self._output.resume()
        self._pump()

    # -- the loudspeaker

    def _played(self) -> float:
        return 0.0 if self._output is None else self._output.played

    def position(self, segment: Voiced) -> int:
        """Samples of the segment that were heard."""
        return segment.position(self._played())

    def _clear(self, keep: Voiced | None = None) -> None:
        """Empty the loudspeaker, which ends a pause of its: while paused nothing is written to it.

        What it had not played is written again later, except of `keep`.
        """
        output = self._output
        assert output is not None  # a voiced segment has a loudspeaker
        played = output.played
        self._end -= output.clear()
        for segment in self._queue:
            if segment is not keep and segment.origin is not None:
                segment.rewind(segment.position(played))

    def _pump(self) -> None:
        """Give the loudspeaker what it may have."""
        output = self._output
        if output is None or self._paused or not self._queue:
            return
        ahead = self._end - output.played
        if ahead > output.lead / 2:
            return
        started: list[Fact] = []
        for segment in self._queue:
            ahead += self._write(output, segment, output.lead - ahead, started)
            if not segment.audio_done or segment.cursor < segment.total:
                break
        for fact in started:
            self._driver.report(fact)

    def _write(self, output: AudioOutput, segment: Voiced, seconds: float, started: list[Fact]) -> float:
        samples = min(segment.total - segment.cursor, int(seconds * segment.rate))
        if samples <= 0:
            return 0.0
        if segment.origin is None:
            segment.origin = self._end - segment.cursor / segment.rate
        if not segment.started:
            segment.started = True
            started.append(PlayoutStarted(segment.id))
        output.write(segment.take(samples))
        self._end += samples / segment.rate
        return samples / segment.rate

    def _tick(self) -> None:
        self._pump()
        if self._queue:
            first = self._queue[0]
            position = self.position(first)
            first.drop_before(position - round(KEPT * first.rate))
            self._tell_progress(first, position)
            if first.started and self._is_starved(first, position):
                first.has_sound = first.started = False
                self._driver.report(PlayoutStarved(first.id))
        self._finish_played()

    def _is_starved(self, segment: Voiced, position: int) -> bool:
        """It fell silent, and more of it is to come."""
        return not segment.audio_done and not self._paused and position >= segment.cursor >= segment.total

    def _tell_progress(self, segment: Voiced, position: int) -> None:
        if self.captions and position > segment.progress:
            self.caption(segment, segment.ledger.heard(position), final=False)
        if position - segment.progress >= PROGRESS_PERIOD * segment.rate:
            segment.progress = position
            self._driver.report(PlayoutProgressed(segment.id, segment.ledger.heard(position)))

    def _finish_played(self) -> None:
        """Close segments that have been played to their end."""
        finished: list[Voiced] = []
        while self._queue and self._is_played(self._queue[0]):
            segment = self._queue.popleft()
            self._segments.pop(segment.id, None)
            finished.append(segment)
        for segment in finished:
            self._keep_raw(segment)
            self._report_finished(segment, segment.heard_whole())
        self._release_ticker()

    def _is_played(self, segment: Voiced) -> bool:
        if not (segment.settled and segment.audio_done):
            return False
        return segment.cursor >= segment.total and segment.position(self._played()) >= segment.total

    def _finish_text(self, segment: Segment) -> None:
        self._segments.pop(segment.id, None)
        self._report_finished(segment, segment.heard())

    def _report_finished(self, segment: Segment, heard: str) -> None:
        if self.captions:
            self.caption(segment, heard, final=True)
        failed = isinstance(segment, Voiced) and segment.failed
        self._driver.report(PlayoutFinished(segment.id, heard, failed))

    def _keep_raw(self, segment: Voiced) -> None:
        if not segment.failed and segment.spoken and segment.raw.strip() != segment.spoken:
            self._raw[message_id(segment.id, self._driver.mark)] = segment.raw

    def _release_ticker(self) -> None:
        if not self._queue:
            Ticker.of(self._driver.loop).remove(self._tick)

    # -- captions

    @property
    def captions(self) -> bool:
        """Whether anybody reads along."""
        return self._host.listened("agent_output_transcribed")

    def caption(self, segment: Segment, text: str, *, final: bool) -> None:
        """Tell those who read along what was heard so far, when there is something new."""
        if segment.rewording is None:
            if final or text != segment.shown:
                segment.shown = text
                self._host.spoken(segment.id, text, final)
        else:
            spoken = segment.spoken
            segment.rewording.show(len(text) / len(spoken) if spoken else 1.0, final=final)

    def rewording(self, segment_id: int, agent: str) -> Rewording | None:
        """A way for captions through the agent's own `transcription_node`, if it has one."""
        if "transcription_node" not in self._host.agent(agent).overridden:
            return None
        return Rewording(self._driver, self._host, segment_id, agent)

    # -- the end

    def halt(self) -> None:
        """Silence, now and for good."""
        self._queue.clear()
        self._segments.clear()
        self._release_ticker()
        if self._output is not None:
            self._output.clear()

    async def aclose(self) -> None:
        """Release the loudspeaker."""
        if self._output is not None:
            await self._output.aclose()
