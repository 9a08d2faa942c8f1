"""Plays segments: in order, without gaps, at the pace of the loudspeaker.

Above: the driver, and `responses`, which open segments and fill them with text. Below: the segments and their voices
(`synthesis`), the agent's `tts_node`, the `AudioOutput`.

Segments given to `Play` sound in order without a gap. The loudspeaker gets at most `output.lead` seconds ahead of what
was played, so that little is lost when it is cleared; what was heard lately is kept, so that a false alarm can go back
to the start of the cut word. A segment without sound counts as heard the moment it is complete.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import reprlib
from collections.abc import AsyncIterable, Callable
from typing import Any

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
from antiphon.errors import ProviderError, ProviderTimeout, UsageError, pass_on
from antiphon.options import ModelSettings
from antiphon.runtime.captions import Captions
from antiphon.runtime.host import Agents, Events
from antiphon.runtime.port import Port
from antiphon.runtime.reading import Reworded
from antiphon.runtime.segments import Segment, current_segment
from antiphon.runtime.sound import Sound
from antiphon.runtime.synthesis import Voiced, prepare, speak
from antiphon.runtime.ticker import Ticker
from antiphon.streams import closing
from antiphon.text.alignment import DEFAULT_PACE
from antiphon.timer import within
from antiphon.transport import AudioOutput
from antiphon.tts import TTS, SynthesizedAudio

logger = logging.getLogger("antiphon")

KEPT = 5.0
"""Seconds of played sound that are kept for going back."""

TOLD_AFTER = 2.5
"""Seconds without any sound for a text that is all there, after which a voice is told of. It is given up later."""

PROGRESS_PERIOD = 1.0
"""Seconds of sound between two `PlayoutProgressed`."""

_SETTINGS = ModelSettings()


class Playout:
    """Performs `Play`, `StopPlayout`, `PausePlayout` and `ResumePlayout`, and owns the segments."""

    def __init__(self, port: Port, agents: Agents, events: Events, output: AudioOutput | None) -> None:
        self._port = port
        self._agents = agents
        self._events = events
        self._output = output
        self.captions = Captions(port, agents, events)
        self._segments: dict[int, Segment] = {}
        self._queue: list[Voiced] = []
        """Given to `Play` and not finished, in order."""
        self._end = 0.0
        """Where on the loudspeaker's clock everything written will have been played."""
        self._paused = False
        self._pace = DEFAULT_PACE
        self._raw: dict[str, str] = {}
        """By message id: what the model wrote, where that is not what was spoken."""

    async def prepare(self, voice: object) -> None:
        """A voice is to speak that did not before: load what it takes."""
        await prepare(voice, self._output)

    def start(self) -> None:
        """The call begins."""
        if self._output is not None:
            self._output.start()
            self._end = self._output.played

    # -- segments

    def open(
        self,
        segment_id: int,
        speech: int,
        agent: str,
        *,
        audio: AsyncIterable[AudioFrame] | None = None,
        directly: bool = False,
        when_cut: Callable[[float], None] | None = None,
    ) -> Segment:
        """A segment for text that begins.

        `audio`: ready-made sound for it. `directly`: past the `tts_node` of the agent, if it has a voice.
        `when_cut`: told how many seconds of its sound were heard, if not all.
        """
        segment: Segment
        caption = self.captions.of(segment_id, agent)
        respells = audio is None and self.respells(agent, directly=directly)
        if self._output is None and respells:
            segment = reworded = Reworded(self._port, segment_id, speech, agent, caption, when_cut)
            reworded.begin(self._word(reworded))
        elif self._output is None or not (audio is not None or self._agents.has_voice(agent)):
            segment = Segment(self._port, segment_id, speech, agent, caption, when_cut)
        else:
            segment = Voiced(
                self._port,
                segment_id,
                speech,
                agent,
                caption,
                when_cut,
                rate=self._output.sample_rate,
                pace=self._pace,
                respells=respells,
            )
            voice = self._agents.voice_of(agent)
            if audio is None and directly and isinstance(voice, TTS):
                audio = speak(voice, segment.feed)
            segment.begin(self._synthesize(segment, audio))
        self._segments[segment_id] = segment
        return segment

    def respells(self, agent: str, *, directly: bool = False) -> bool:
        """True if the agent's own `tts_node` decides on the words that are spoken."""
        if "tts_node" not in self._agents.agent(agent).overridden:
            return False
        return not (directly and (self._output is None or isinstance(self._agents.voice_of(agent), TTS)))

    def is_mute(self, agent: str) -> bool:
        """True if there is a loudspeaker, and the agent has no voice for it."""
        return self._output is not None and not self._agents.has_voice(agent)

    def settle(self, segment: Segment) -> None:
        """The core knows all of its text: it may end."""
        segment.settle()
        if isinstance(segment, Voiced):
            self._finish_played()
        elif segment.given:
            self._finish_text(segment)

    async def respelled(self, segment: Segment) -> str:
        """What will be spoken of a text that is all there; a `tts_node` that makes nothing of it is given up."""
        limit = self._port.options.stall_timeout
        made = -1
        while segment.made > made:
            made = segment.made
            try:
                async with within(limit):
                    return await asyncio.shield(segment.respelled())
            except TimeoutError:
                pass
        error = ProviderTimeout(
            f"agent {segment.agent!r}: its tts_node made nothing of {reprlib.repr(segment.raw)} within {limit:g} s and"
            " was given up. Have it yield what there is, and end with the text."
        )
        self._broke(segment, error)
        segment.give_up()
        return segment.spoken

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
        segment.close()

    def raw_text(self, command: Record) -> str | None:
        """What the model wrote for a message that is settled now, where that is not what was spoken."""
        if self._raw and isinstance(command.item, ChatMessage):
            return self._raw.pop(command.item.id, None)
        return None

    def written(self, message: str) -> str | None:
        """The same for one that is not in the history yet, by its id: it sounds, or waits behind what does."""
        if message in self._raw:
            return self._raw[message]
        for segment in self._segments.values():
            if message_id(segment.id, self._port.mark) == message:
                return _raw_of(segment)
        return None

    async def _word(self, segment: Reworded) -> None:
        try:
            await segment.run(self._agents.agent(segment.agent).tts_node)
        except BaseException as error:
            pass_on(error)
            self._broke(segment, error)

    def _broke(self, segment: Segment, error: BaseException) -> None:
        segment.breaks()
        logger.error("agent %r: speech synthesis failed: %s", segment.agent, error, exc_info=error)
        self._events.failed(error, self._agents.voice_of(segment.agent))

    # -- the voice

    async def _synthesize(self, segment: Voiced, audio: AsyncIterable[AudioFrame] | None) -> None:
        current_segment.set(segment)
        source: Any = audio
        try:
            if source is None:
                source = self._agents.agent(segment.agent).tts_node(segment.feed, _SETTINGS)
                if inspect.isawaitable(source):
                    source = await source
            if source is not None:
                async with closing(source):
                    await self._fill(segment, source)
        except BaseException as error:
            pass_on(error)
            self._broke(segment, error)
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
            if segment.sound.total == 0:
                self._port.span("first_byte", segment=segment.id)
            segment.add(frame)
            if frame.data and segment.told.sounds():
                self._port.report(SoundReady(segment.id))
            if segment.given:
                self._pump()
            await segment.sound.wait_for_room()

    # -- commands

    def play(self, segment_id: int, *, first: bool = False) -> None:
        """Play it behind what plays now, or `first`, before what does not sound; closes with `PlayoutFinished`."""
        segment = self._segments.get(segment_id)
        if segment is None:
            self._port.report(PlayoutFinished(segment_id, ""))
            return
        segment.give()
        if not isinstance(segment, Voiced):
            if not self._port.options.is_read:
                self._port.report(PlayoutStarted(segment_id))
            if segment.settled:
                self._finish_text(segment)
            return
        if first:
            for waiting in self._queue:
                waiting.sound.take_back(self.played)
            self._queue.insert(0, segment)
        else:
            self._queue.append(segment)
        Ticker.of(self._port.loop).add(self._tick)
        self._pump()
        self._finish_played()

    def stop(self, segment_id: int) -> None:
        """Silence it at once. One that was given to `Play` closes with what was heard of it."""
        segment = self._segments.get(segment_id)
        if segment is None:
            return
        if isinstance(segment, Voiced) and segment in self._queue:
            played = self.played
            self._clear(keep=segment)
            position = segment.sound.position(played)
            if segment.when_cut is not None:
                segment.when_cut(position / segment.sound.rate)
            heard = segment.heard(played)
            if heard:
                self._raw[message_id(segment.id, self._port.mark)] = segment.raw  # for those who ask what was cut
            self._queue.remove(segment)
            self._release_ticker()
        else:
            heard = segment.heard(self.played) if segment.given else ""
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
        position = segment.sound.position(self.played)
        end = segment.ledger.word_end(position)
        if end >= segment.sound.total and segment.audio_done:
            return
        if segment.sound.cursor > end:
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
            position = first.sound.position(self.played)
            word = max(first.ledger.word_start(position), first.sound.base)
            if word < position:
                self._clear()
                first.sound.rewind(word)
        self._output.resume()
        self._pump()

    # -- the loudspeaker

    @property
    def played(self) -> float:
        """The loudspeaker's clock: seconds that it has played."""
        return 0.0 if self._output is None else self._output.played

    def _clear(self, keep: Voiced | None = None) -> None:
        """Empty the loudspeaker, which ends a pause of its: while paused nothing is written to it.

        What it had not played is written again later, except of `keep`.
        """
        output = self._output
        assert output is not None  # a voiced segment has a loudspeaker
        played = output.played
        self._end -= output.clear()
        for segment in self._queue:
            if segment is not keep:
                segment.sound.take_back(played)

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
            seconds = self._write(output, segment.sound, output.lead - ahead)
            if seconds and segment.told.starts():
                started.append(PlayoutStarted(segment.id))
            ahead += seconds
            if not (segment.audio_done and segment.sound.is_given):
                break
        for fact in started:
            self._port.report(fact)

    def _write(self, output: AudioOutput, sound: Sound, seconds: float) -> float:
        frame = sound.take(seconds, self._end)
        if frame is None:
            return 0.0
        output.write(frame)
        self._end += frame.duration
        return frame.duration

    def _tick(self) -> None:
        self._pump()
        for segment in self._queue:
            if segment.settled and not segment.audio_done:
                self._watch_voice(segment)
        if self._queue:
            first = self._queue[0]
            position = first.sound.position(self.played)
            first.sound.drop_before(position - round(KEPT * first.sound.rate))
            if self.captions.are_read and first.told.has_progressed(position):
                first.caption.show(first.heard(self.played), first.spoken)
            self._tell(first, position, PROGRESS_PERIOD * first.sound.rate)
            if self._is_starved(first, position) and first.told.starves():
                self._port.report(PlayoutStarved(first.id))
        self._finish_played()

    def tell_progress(self) -> None:
        """The core is to know how much was heard by now."""
        if self._queue:
            self._tell(self._queue[0], self._queue[0].sound.position(self.played), 1)

    def _tell(self, segment: Voiced, position: int, samples: float) -> None:
        if segment.told.progresses(position, samples):
            self._port.report(PlayoutProgressed(segment.id, segment.heard(self.played)))

    def _watch_voice(self, segment: Voiced) -> None:
        """It owes sound: all of its text is there."""
        if segment.told.falls_silent(self._port.loop.time(), TOLD_AFTER, is_owed=not self._paused):
            voice = self._agents.voice_of(segment.agent)
            label = voice.label if isinstance(voice, TTS) else f"the voice of agent {segment.agent!r}"
            error = ProviderTimeout(
                f"{label}: expected sound within {TOLD_AFTER:g} s, got none. If it stays so, check the voice, or use a"
                " FallbackTTS.",
                provider=label,
            )
            logger.warning("%s", error)
            self._events.failed(error, voice)

    def _is_starved(self, segment: Voiced, position: int) -> bool:
        """It is silent, and more of it is to come."""
        if segment.audio_done or self._paused:
            return False
        return segment.sound.is_given and position >= segment.sound.cursor

    def _finish_played(self) -> None:
        """Close segments that have been played to their end."""
        finished: list[Voiced] = []
        while self._queue and self._is_played(self._queue[0]):
            segment = self._queue.pop(0)
            self._segments.pop(segment.id, None)
            finished.append(segment)
        for segment in finished:
            self._port.masks.spoke(segment.id)
            self._keep_raw(segment)
            self._report_finished(segment, segment.heard_whole())
        self._release_ticker()

    def _is_played(self, segment: Voiced) -> bool:
        if not (segment.settled and segment.audio_done):
            return False
        return segment.sound.is_given and segment.sound.position(self.played) >= segment.sound.total

    def _finish_text(self, segment: Segment) -> None:
        self._segments.pop(segment.id, None)
        self._keep_raw(segment)
        self._report_finished(segment, segment.heard(self.played))

    def _report_finished(self, segment: Segment, heard: str) -> None:
        if self.captions.are_read:
            segment.caption.show(heard, segment.spoken, final=True)
        unsaid = segment.unsaid
        if unsaid and not segment.failed:
            self._tell_unsaid(segment.agent, unsaid)
        self._port.report(PlayoutFinished(segment.id, heard, segment.failed, unsaid))

    def _tell_unsaid(self, agent: str, text: str) -> None:
        voice = self._agents.voice_of(agent)
        what, got = ("no sound", "heard") if self._output is not None else ("no words", "read")
        by = "its tts_node" if "tts_node" in self._agents.agent(agent).overridden else "its voice"
        error = ProviderError(
            f"agent {agent!r}: {by} made {what} of a text, which nobody has {got}: {reprlib.repr(text)}. "
            "Make something of every text; of one that is no JSON, too.",
            provider=voice.label if isinstance(voice, TTS) else "",
        )
        logger.error("%s", error)
        self._events.failed(error, voice)

    def _keep_raw(self, segment: Segment) -> None:
        raw = _raw_of(segment)
        if raw is not None:
            self._raw[message_id(segment.id, self._port.mark)] = raw

    def _release_ticker(self) -> None:
        if not self._queue:
            Ticker.of(self._port.loop).remove(self._tick)

    # -- the end

    def halt(self) -> None:
        """Silence, now and for good."""
        self._queue.clear()
        self._segments.clear()
        self._release_ticker()
        if self._output is None:
            return
        try:
            self._output.clear()
        except BaseException as error:  # a loudspeaker that is broken does not keep the call from its end
            pass_on(error)
            logger.error("the loudspeaker could not be cleared: %s", error, exc_info=error)

    async def aclose(self) -> None:
        """Release the loudspeaker."""
        if self._output is None:
            return
        try:
            await self._output.aclose()
        except BaseException as error:
            pass_on(error)
            logger.error("the loudspeaker could not be closed: %s", error, exc_info=error)


def _raw_of(segment: Segment) -> str | None:
    """What the model wrote for a segment that nothing broke, where that is not what is spoken."""
    raw, spoken = segment.raw, segment.spoken
    return raw if not segment.failed and spoken and raw.strip() != spoken else None
