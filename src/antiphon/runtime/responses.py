"""What comes of models, and texts to say: each response from its first word to its last.

Above: `generation`, which asks for responses, and the links to models that hear and speak, which feed them. Below: the
segment that the text goes to (`playout`), and the calls that are made (`tool_calls`). Text never enters the core: it
hears that text began, each complete call, and all of the text at the end.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import weakref
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from antiphon.audio import AudioFrame
from antiphon.core.facts import GenerationFailed, StepGenerated, StreamContinued, StreamPaused, TextStarted
from antiphon.errors import UsageError, pass_on
from antiphon.llm import ChatChunk, CompletionUsage, FunctionToolCall, LLMStream
from antiphon.options import ModelSettings
from antiphon.runtime.feed import SoundFeed
from antiphon.runtime.host import Agents
from antiphon.runtime.playout import Playout
from antiphon.runtime.port import Port
from antiphon.runtime.scrutiny import Passage, Scrutiny
from antiphon.runtime.segments import Segment
from antiphon.runtime.stream_watch import Pulse, StreamWatch
from antiphon.runtime.tool_calls import MAX_CALLS, ONE_AT_A_TIME, TOO_MANY_CALLS, ToolCalls
from antiphon.streams import closing
from antiphon.visible import LONGEST_SHOWN, shortened

logger = logging.getLogger("antiphon")

_SETTINGS = ModelSettings()


LONGEST_THOUGHTS = 2_000
"""Characters of what a model thinks that the log shows."""


class Responses:
    """Those of a session that are not over."""

    def __init__(self, port: Port, agents: Agents, playout: Playout, calls: ToolCalls) -> None:
        self.port = port
        self.agents = agents
        self.playout = playout
        self.calls = calls
        self._open: dict[int, Response] = {}
        """By generation."""
        self._watch = StreamWatch(port.loop, partial(Responses._paused, weakref.proxy(self)))
        self.scrutiny: Scrutiny | None = None
        """What looks at the text of models before it is spoken, where somebody asks for it."""
        self._errors: dict[int, tuple[int, BaseException]] = {}
        """By generation: its speech, and why it failed, until somebody asks or the speech is over."""

    def look_at(self, scrutiny: Scrutiny) -> None:
        """Have the text of models looked at, from the next response on."""
        self.scrutiny = scrutiny

    def open(self, response: Response) -> None:
        """It is being made: `close` is told once."""
        self._open[response.gen] = response

    def asked(self, response: Response) -> None:
        """A model makes it. It may be one that thinks for longer than usual."""
        self.open(response)
        limit = self.agents.first_chunk_timeout(response.agent)
        if limit > self.port.options.generation_timeout:
            self.port.report(StreamContinued(response.gen, limit))

    def over(self, gen: int) -> Response | None:
        """Nothing more is heard of it; None: it was over."""
        self._watch.forget(gen)
        return self._open.pop(gen, None)

    def goes_on(self, response: Response) -> None:
        """The first came of a model, or the first after a pause. Of a first word or call the core has heard already."""
        if response.gen not in self._open:
            return
        has_paused = response.pulse.begun
        self._watch.goes_on(response.gen, response.pulse)
        if has_paused or not response.has_begun:
            self.port.report(StreamContinued(response.gen))

    def _paused(self, gen: int, seconds: float) -> None:
        response = self._open.get(gen)
        if response is not None:
            self.port.report(StreamPaused(gen, seconds, response.written))

    def unwatched(self, gen: int) -> None:
        """All of it is here: nobody waits for more."""
        self._watch.forget(gen)

    def close(self, response: Response, fact: StepGenerated | GenerationFailed, error: BaseException | None) -> None:
        """Tell the core the whole text, and only then let the segment end."""
        if error is not None:
            self._errors[response.gen] = (response.speech, error)
        self.port.report(fact)
        if response.segment is not None:
            self.playout.settle(response.segment)

    def take_error(self, gen: int) -> BaseException | None:
        """What made a response fail. Told once."""
        return self._errors.pop(gen, (0, None))[1]

    def forget(self, speech: int) -> None:
        """The speech is over: nobody asks any more why it failed."""
        if self._errors:
            self._errors = {gen: known for gen, known in self._errors.items() if known[0] != speech}

    def halt(self) -> None:
        """The session is over."""
        self._watch.stop()


class Response:
    """One response (or one text to say) in the making."""

    __slots__ = (
        "_all",
        "_calls",
        "_directly",
        "_feed",
        "_speaks_itself",
        "_started",
        "_task",
        "_thoughts",
        "_when_cut",
        "agent",
        "gen",
        "pulse",
        "segment",
        "segment_id",
        "speech",
        "stopped",
        "tools",
        "usage",
    )

    def __init__(
        self,
        all_of_them: Responses,
        gen: int,
        speech: int,
        segment_id: int,
        agent: str,
        *,
        tools: Sequence[Any] = (),
        directly: bool = False,
        audio: AsyncIterable[Any] | None = None,
    ) -> None:
        self._all = all_of_them
        self.gen = gen
        self.speech = speech
        self.segment_id = segment_id
        self.agent = agent
        self.tools = list(tools)
        """What a model that is not asked through the `llm_node` may call."""
        self._directly = directly
        """Its text is not for the agent's `tts_node`."""
        self._speaks_itself = False
        """Its sound comes from the model, beside its text."""
        self._when_cut: Callable[[float], None] | None = None
        self._feed: SoundFeed | None = None
        self._started = False
        """`TextStarted` was reported."""
        self._calls = 0
        self._thoughts = ""
        self.usage: CompletionUsage | None = None
        """What its model said that it cost."""
        self._task: asyncio.Task[None] | None = None
        self.stopped = False
        self.pulse = Pulse()
        """When something last came of the model that makes it."""
        self.segment: Segment | None = None
        """Made with the first text, if there is no ready-made sound: a response of calls only has none."""
        if audio is not None:
            self.segment = all_of_them.playout.open(segment_id, speech, agent, audio=audio)

    # -- what is known of it

    @property
    def has_begun(self) -> bool:
        """The core has heard of a first word or call."""
        return self._started or self._calls > 0

    @property
    def makes_calls(self) -> bool:
        """It holds a call so far."""
        return self._calls > 0

    @property
    def written(self) -> str:
        """Its text so far, as it is spoken if that is known."""
        return "" if self.segment is None else self.segment.spoken or self.segment.raw

    # -- making it

    def made_by(self, make: Callable[[], Awaitable[None]] | None, name: str) -> None:
        """Have `make` make it, in a task. None: all that is to come is its text in the `tts_node`'s words."""
        self._task = self._all.port.spawn(self._carry_out(make), name)

    async def _carry_out(self, make: Callable[[], Awaitable[None]] | None) -> None:
        """Tell the core what becomes of it. One that was stopped is closed already."""
        try:
            if make is not None:
                await make()
            text = await self._whole_text()
        except asyncio.CancelledError:
            if not self.stopped:
                raise
        except BaseException as error:
            pass_on(error)
            self._fail(error)
        else:
            self._finish(text)

    async def _whole_text(self) -> str:
        """What will be spoken of it. It may take until the agent's `tts_node` has read all of it."""
        if self.segment is None:
            return ""
        text = self.segment.end()
        if text is None:
            self._all.unwatched(self.gen)
            text = await self._all.playout.respelled(self.segment)
        return text

    async def read(self, source: AsyncIterable[str]) -> None:
        """Take a text in pieces."""
        async for piece in source:
            self.write(piece)

    async def consume(self, result: Any, tools: Sequence[Any]) -> None:
        """Take what an `llm_node` gives: nothing, a text, a chunk, or an asynchronous iterable of these."""
        if type(result) is not LLMStream and inspect.isawaitable(result):  # the built-in node gives an LLMStream
            result = await result
        if result is None:
            return
        if self._all.scrutiny is not None:
            source = _once(result) if isinstance(result, (str, ChatChunk)) else result
            await self._consume_scrutinised(source, tools, self._all.scrutiny)
            return
        if isinstance(result, (str, ChatChunk)):
            self._chunk(result, tools)
            return
        async with closing(result):
            pulse, clock = self.pulse, self._all.port.clock
            async for chunk in result:
                pulse.latest = clock()
                segment = self.segment
                if segment is not None and type(chunk) is ChatChunk and chunk.usage is None:
                    delta = chunk.delta
                    if delta is not None and (text := delta.content) and not delta.tool_calls:
                        # The rest of a text, which is most of what comes.
                        segment.push(text)
                        if pulse.is_still:
                            self._all.goes_on(self)
                        continue
                self._chunk(chunk, tools)
                if pulse.is_still:
                    self._all.goes_on(self)

    async def _consume_scrutinised(self, result: Any, tools: Sequence[Any], scrutiny: Scrutiny) -> None:
        """The same, sentence by sentence, for those who look at them."""
        passage = Passage()
        try:
            async with closing(result):
                async for chunk in result:
                    self.pulse.came(self._all.port.clock())
                    sentences = passage.push(_text_of(chunk))
                    if _holds_calls(chunk):
                        sentences += passage.flush()
                    await self._pass(sentences, tools, scrutiny)
                    self._chunk(_without_text(chunk) if scrutiny.may_change else chunk, tools)
                    if self.pulse.is_still:
                        self._all.goes_on(self)
            await self._pass(passage.flush(), tools, scrutiny)
        except Exception:
            if scrutiny.may_change:  # what came of it is said, as it would be without
                self.write("".join(before + sentence for before, sentence in passage.flush()))
            raise

    async def _pass(self, sentences: Iterable[tuple[str, str]], tools: Sequence[Any], scrutiny: Scrutiny) -> None:
        for before, sentence in sentences:
            if not sentence:
                if scrutiny.may_change:
                    self.write(before)
            elif not scrutiny.may_change:
                scrutiny.seen(sentence, self.agent, self.gen, self.speech, tools)
            elif said := await scrutiny.passed(sentence, self.agent, self.gen, self.speech, tools):
                self.write(before + said)

    def _chunk(self, chunk: Any, tools: Sequence[Any]) -> None:
        if isinstance(chunk, str):
            self.write(chunk)
        elif isinstance(chunk, ChatChunk):
            delta = chunk.delta
            if delta is not None:
                if delta.content:
                    self.write(delta.content)
                if delta.reasoning and len(self._thoughts) < LONGEST_THOUGHTS:
                    self._thoughts += delta.reasoning
                for call in delta.tool_calls:
                    if not self.stopped:
                        known_as = self._all.calls.new_id(call.call_id, self.agent)
                        self._call(call if known_as == call.call_id else replace(call, call_id=known_as), tools)
            if chunk.usage is not None:
                used = self.usage = chunk.usage
                self._all.port.span(
                    "usage",
                    gen=self.gen,
                    prompt=used.prompt_tokens,
                    completion=used.completion_tokens,
                    cached=used.prompt_cached_tokens,
                )
        elif chunk is not None:
            raise UsageError(f"llm_node of agent {self.agent!r}: expected str or ChatChunk, got {type(chunk).__name__}")

    # -- text and sound

    def write(self, piece: str, *, whole: bool = False) -> None:
        """The next piece of its text. `whole`: there is no other."""
        if self.stopped:
            return
        segment = self.segment
        if segment is None:
            if not piece.strip():
                return
            segment = self._begin_segment()
        segment.push(piece)
        self._announce(segment.raw if whole else "")

    def _announce(self, written: str = "") -> None:
        if not self._started:
            self._started = True
            self._all.port.report(TextStarted(self.gen, written))

    def _begin_segment(self) -> Segment:
        playout = self._all.playout
        audio: AsyncIterable[Any] | None = None
        if self._speaks_itself and self._all.port.has_audio_output:
            self._feed = SoundFeed()
            audio = self._feed if self._directly else self._through_node(self._feed)
        self.segment = playout.open(
            self.segment_id, self.speech, self.agent, audio=audio, directly=self._directly, when_cut=self._when_cut
        )
        return self.segment

    def _through_node(self, sound: SoundFeed) -> AsyncIterable[Any]:
        agent = self._all.agents.agent(self.agent)
        if "realtime_audio_output_node" not in agent.overridden:
            return sound
        return _awaited(agent.realtime_audio_output_node(sound, _SETTINGS))

    # -- of models that hear and speak

    def spoken_by_model(self, when_cut: Callable[[float], None], *, with_sound: bool) -> None:
        """A model that hears and speaks makes it. `when_cut`: told how many seconds were heard, if not all."""
        self._when_cut = when_cut
        self._speaks_itself = with_sound

    def text(self, piece: str) -> None:
        """The next piece of what it says."""
        self.write(piece)
        self._came()

    def sound(self, frame: AudioFrame) -> None:
        """The next piece of how it sounds."""
        if self.stopped or not self._all.port.has_audio_output:
            return
        if self.segment is None:
            self._begin_segment()
        if self._feed is not None:
            self._feed.push(frame)
        self._announce()
        self._came()

    def call(self, wanted: FunctionToolCall) -> None:
        """It makes this call, whose id is from `ToolCalls.new_id`."""
        self._call(wanted, self.tools)
        self._came()

    def _came(self) -> None:
        self.pulse.came(self._all.port.clock())
        if self.pulse.is_still:
            self._all.goes_on(self)

    def _call(self, wanted: FunctionToolCall, tools: Sequence[Any]) -> None:
        self._calls += 1
        is_one_too_many = self._calls > 1 and self._all.agents.one_call_at_a_time(self.agent)
        refusal = ONE_AT_A_TIME if is_one_too_many else None
        if self._calls > MAX_CALLS:
            if self._calls > MAX_CALLS + 1:
                return
            logger.warning("agent %r: more than %s calls in one response; no more are made", self.agent, MAX_CALLS)
            refusal = TOO_MANY_CALLS
        self._all.port.report(self._all.calls.check(self.gen, self.speech, wanted, tools, refusal=refusal))

    # -- its end

    def complete(self) -> None:
        """Nothing more comes of it."""
        self._all.unwatched(self.gen)
        if self._feed is not None:
            self._feed.close()
        text = "" if self.segment is None else self.segment.end()
        if text is not None:
            self._finish(text)
        else:
            self.made_by(None, f"text of {self.gen}")

    def say(self, text: str) -> None:
        """It is this text and no more, at once."""
        if text:
            self.write(text)
        spoken = "" if self.segment is None else self.segment.end()
        assert spoken is not None  # nothing respells it
        self._all.close(self, StepGenerated(self.gen, spoken), None)

    def fail(self, error: BaseException) -> None:
        """It failed."""
        if self._feed is not None:
            self._feed.close()
        self._fail(error)

    def stop(self) -> None:
        """No more of it is wanted. What was made sound already is stopped by `StopPlayout`."""
        self.stopped = True
        if self._feed is not None:
            self._feed.close()
        if self.segment is not None:
            self._all.playout.abandon(self.segment)
            self.segment = None
        if self._task is not None:
            self._task.cancel()

    def _finish(self, text: str) -> None:
        if self._thoughts:
            logger.debug("agent %r: the model thought: %s", self.agent, shortened(self._thoughts, LONGEST_THOUGHTS))
        if self._all.over(self.gen) is not None:
            self._all.close(self, StepGenerated(self.gen, text), None)

    def _fail(self, error: BaseException) -> None:
        if self._all.over(self.gen) is None:
            return
        why = shortened(str(error), LONGEST_SHOWN) or type(error).__name__
        logger.error("agent %r: the response failed: %s", self.agent, why, exc_info=error)
        self._all.port.span("failed", gen=self.gen, error=type(error).__name__)
        text = "" if self.segment is None else self.segment.end() or self.segment.raw
        self._all.close(self, GenerationFailed(self.gen, why, text), error)


async def _awaited(source: Any) -> AsyncIterator[Any]:
    """What a node gives, or what its coroutine returns."""
    if inspect.isawaitable(source):
        source = await source
    async for frame in source:
        yield frame


async def _once(chunk: Any) -> AsyncIterator[Any]:
    yield chunk


def _text_of(chunk: Any) -> str:
    if isinstance(chunk, str):
        return chunk
    if isinstance(chunk, ChatChunk) and chunk.delta is not None:
        return chunk.delta.content or ""
    return ""


def _holds_calls(chunk: Any) -> bool:
    return isinstance(chunk, ChatChunk) and chunk.delta is not None and bool(chunk.delta.tool_calls)


def _without_text(chunk: Any) -> Any:
    if isinstance(chunk, str):
        return None
    if isinstance(chunk, ChatChunk) and chunk.delta is not None and chunk.delta.content:
        return replace(chunk, delta=replace(chunk.delta, content=None))
    return chunk
