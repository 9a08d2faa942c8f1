"""Models that do what a script says, at the pace it says: stand-ins for LLM, STT, VAD, TTS and turn detector.

Each implements its contract (`antiphon.llm` and so on) in full, records what it was asked, and passes the suite in
`antiphon.testing.contract`. Delays are in seconds of the running loop, so that they cost nothing under `run_virtual`.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from antiphon.audio import AudioFrame
from antiphon.chat import ChatMessage, FunctionCallOutput
from antiphon.errors import ContextOverflow, ProviderError, UsageError
from antiphon.llm import LLM, ChatChunk, ChatRequest, ChoiceDelta, CompletionUsage, FunctionToolCall
from antiphon.options import is_given
from antiphon.stt import STT, SpeechEvent, STTStream
from antiphon.testing.audio import is_silent, speech
from antiphon.testing.history import check_pairs, transcript
from antiphon.testing.outlet import Outlet
from antiphon.text import word_spans, words
from antiphon.tts import TTS, SynthesizedAudio, WordTiming
from antiphon.turn_detector import TurnDetector, TurnSoFar
from antiphon.vad import VAD, SpeechEnded, SpeechStarted, VADEvent, VADStream

# -- language model


@dataclass(slots=True, frozen=True)
class Reply:
    """A response: text, then calls."""

    text: str = ""
    calls: Sequence[tuple[str, Mapping[str, Any] | str] | FunctionToolCall] = ()
    """(name, arguments); arguments given as a string are sent as they are, malformed or not."""
    ttft: float | None = None
    """Seconds to the first chunk; None: the model's own."""
    tokens_per_second: float | None = None


@dataclass(slots=True, frozen=True)
class Fail:
    """A failure: `error` is raised, after `text` was given and `after` seconds."""

    error: Exception
    text: str = ""
    after: float = 0.0


@dataclass(slots=True, frozen=True)
class Hang:
    """A response that never ends by itself, after `text` was given."""

    text: str = ""


Turn: TypeAlias = str | Reply | Fail | Hang
"""What a scripted model does with a request. A string is a `Reply` of that text."""
Script: TypeAlias = Sequence[Turn] | Mapping[str, Turn] | Callable[[ChatRequest], Turn]

_TOKEN = re.compile(r"\s*\S+\s*$|\s*\S+|\s+")


class ScriptExhausted(AssertionError):
    """A model got a request for which its script has no answer. The message shows the request."""


class FakeLLM(LLM):
    """A language model that answers by a script.

    `script` is a sequence (one turn for each request, in order), a mapping (the first key that occurs in the last user
    message or tool output, without regard to case, decides), or a function of the request. A request without an answer
    raises `ScriptExhausted`; one whose calls and outputs are not paired raises AssertionError. Both are also reported
    to the loop, so that `run_virtual` fails even if the session took them for a failure of the model.

    `context_window`: a request of more tokens is refused, as endpoints do (`ContextOverflow`). A word counts as one.

    Calls get the ids "call_1", "call_2", ... in the order in which they are made.
    """

    model = "fake"

    def __init__(
        self,
        script: Script = (),
        *,
        ttft: float = 0.1,
        tokens_per_second: float = 100.0,
        check_pairing: bool = True,
        context_window: int | None = None,
    ) -> None:
        if tokens_per_second <= 0:
            raise UsageError(f"FakeLLM: expected tokens_per_second above 0, got {tokens_per_second}")
        self.requests: list[ChatRequest] = []
        """The requests that came, oldest first, each with the chat context as it was then."""
        self.stopped = 0
        """Responses that were closed before their end."""
        self.closed = False
        self._script = script if callable(script) or isinstance(script, Mapping) else list(script)
        self._ttft = ttft
        self._tokens_per_second = tokens_per_second
        self._check_pairing = check_pairing
        self._context_window = context_window
        self._calls = 0
        self._turns = 0

    @property
    def histories(self) -> list[list[str]]:
        """What each request showed the model, as lines (see `transcript`)."""
        return [transcript(request.chat_ctx) for request in self.requests]

    @property
    def remaining(self) -> int:
        """Turns of the script that were not used. 0 unless the script is a sequence."""
        return len(self._script) - self._turns if isinstance(self._script, list) else 0

    def extend(self, script: Iterable[Turn]) -> None:
        """Add turns to the end of a script that is a sequence. Raises `UsageError` for other scripts."""
        if not isinstance(self._script, list):
            raise UsageError("FakeLLM.extend: only a script that is a sequence of turns has an end to add to")
        self._script.extend(script)

    async def aclose(self) -> None:
        self.closed = True

    async def generate(self, request: ChatRequest) -> AsyncGenerator[ChatChunk, None]:
        request = replace(request, chat_ctx=request.chat_ctx.copy())
        self.requests.append(request)
        number = len(self.requests)
        try:
            if self._check_pairing:
                check_pairs(request.chat_ctx)
            self._refuse_if_too_long(_prompt_tokens(request))
            turn = self._turn(request)
        except AssertionError as error:
            _report(f"FakeLLM, request {number}", error)
            raise
        try:
            async with aclosing(self._deltas(Reply(turn) if isinstance(turn, str) else turn)) as deltas:
                async for delta in deltas:
                    yield ChatChunk(id=f"response_{number}", delta=delta)
        except (GeneratorExit, asyncio.CancelledError):
            self.stopped += 1
            raise
        yield ChatChunk(id=f"response_{number}", usage=_usage(request, turn))

    def _refuse_if_too_long(self, tokens: int) -> None:
        if self._context_window is not None and tokens > self._context_window:
            raise ContextOverflow(
                f"This model's maximum context length is {self._context_window} tokens. However, your messages resulted"
                f" in {tokens} tokens.",
                status=400,
                limit=self._context_window,
                size=tokens,
            )

    def _turn(self, request: ChatRequest) -> Turn:
        if callable(self._script):
            return self._script(request)
        if isinstance(self._script, Mapping):
            said = _last_said(request).casefold()
            for key, turn in self._script.items():
                if key.casefold() in said:
                    return turn
            raise ScriptExhausted(f"FakeLLM: no key of the script occurs in {said!r}; {_shown(request)}")
        if self._turns >= len(self._script):
            raise ScriptExhausted(
                f"FakeLLM: the script has {len(self._script)} turns and this is request {len(self.requests)}; add a"
                f" turn, or find out why it was sent; {_shown(request)}"
            )
        self._turns += 1
        return self._script[self._turns - 1]

    async def _deltas(self, turn: Reply | Fail | Hang) -> AsyncGenerator[ChoiceDelta, None]:
        given = turn if isinstance(turn, Reply) else Reply(turn.text)
        await asyncio.sleep(self._ttft if given.ttft is None else given.ttft)
        pause = 1 / (given.tokens_per_second or self._tokens_per_second)
        for number, token in enumerate(_TOKEN.findall(given.text)):
            if number:
                await asyncio.sleep(pause)
            yield ChoiceDelta(content=token)
        for call in given.calls:
            yield ChoiceDelta(tool_calls=(self._call(call),))
        if isinstance(turn, Fail):
            await asyncio.sleep(turn.after)
            raise turn.error
        if isinstance(turn, Hang):
            await asyncio.get_running_loop().create_future()

    def _call(self, call: tuple[str, Mapping[str, Any] | str] | FunctionToolCall) -> FunctionToolCall:
        if isinstance(call, FunctionToolCall):
            return call
        self._calls += 1
        name, arguments = call
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        return FunctionToolCall(name=name, arguments=text, call_id=f"call_{self._calls}")


def _last_said(request: ChatRequest) -> str:
    for item in reversed(request.chat_ctx.items):
        if isinstance(item, FunctionCallOutput):
            return item.output
        if isinstance(item, ChatMessage) and item.role == "user":
            return item.text_content or ""
    return ""


def _shown(request: ChatRequest) -> str:
    tools = ", ".join(tool.id for tool in request.tools) or "none"
    choice = f" (tool_choice={request.tool_choice!r})" if is_given(request.tool_choice) else ""
    lines = "\n".join(f"  {line}" for line in transcript(request.chat_ctx)) or "  (nothing)"
    return f"tools: {tools}{choice}; the request:\n{lines}"


def _prompt_tokens(request: ChatRequest) -> int:
    specs = [getattr(tool, "spec", tool.id) for tool in request.tools]
    return sum(len(line.split()) for line in [*transcript(request.chat_ctx), *map(str, specs)])


def _usage(request: ChatRequest, turn: Turn) -> CompletionUsage:
    said = turn if isinstance(turn, str) else turn.text
    return CompletionUsage(_prompt_tokens(request), len(said.split()))


def _report(what: str, error: BaseException) -> None:
    asyncio.get_running_loop().call_exception_handler({"message": what, "exception": error})


# -- speech to text


class FakeSTT(STT):
    """A recogniser that hears what the script says, one entry for each utterance that the session's VAD marks.

    After `SpeechStarted` it gives interims, a word more with every `1 / words_per_second` seconds of audio pushed;
    `delay` seconds after `SpeechEnded` the final transcript. "" is a noise: nothing is recognised. A `Fail` raises.
    Utterances beyond the script are noises, too. The script is shared by the streams: a second one goes on where the
    first stopped.

    `timeline` gives events at absolute audio time, (seconds of audio pushed to the stream, event), without regard to
    marks.
    """

    def __init__(
        self,
        transcripts: Iterable[str | Fail] = (),
        *,
        delay: float = 0.1,
        interims: bool = True,
        words_per_second: float = 3.0,
        timeline: Iterable[tuple[float, SpeechEvent]] = (),
    ) -> None:
        self.options: dict[str, Any] = {}
        """What `update_options` told it, and has no effect."""
        self.streams: list[FakeSTTStream] = []
        self.closed = False
        self._script = iter(list(transcripts))
        self._delay = delay
        self._interims = interims
        self._words_per_second = words_per_second
        self._timeline = sorted(timeline, key=lambda entry: entry[0])

    def update_options(self, **options: Any) -> None:
        """Keep them in `options`."""
        self.options |= options

    def stream(self) -> FakeSTTStream:
        stream = FakeSTTStream(
            self._script,
            delay=self._delay,
            words_per_second=self._words_per_second if self._interims else 0.0,
            timeline=self._timeline,
        )
        self.streams.append(stream)
        return stream

    async def aclose(self) -> None:
        self.closed = True


class FakeSTTStream(STTStream):
    """One call's recognition by a `FakeSTT`."""

    def __init__(
        self,
        script: Iterable[str | Fail],
        *,
        delay: float,
        words_per_second: float,
        timeline: Sequence[tuple[float, SpeechEvent]],
    ) -> None:
        self.pushed = 0.0
        """Seconds of audio taken so far."""
        self.marks: list[VADEvent] = []
        self.flushes = 0
        self.closed = False
        self._script = iter(script)
        self._delay = delay
        self._words_per_second = words_per_second
        self._timeline = list(timeline)
        self._utterance: str | None = None
        """What is being said now; None between utterances and after it was given."""
        self._began = 0.0
        self._interims = 0
        """Words given of the utterance."""
        self._events: Outlet[SpeechEvent] = Outlet()
        self._input_ended = False

    def push(self, frame: AudioFrame) -> None:
        if self.closed:
            return
        self.pushed += frame.duration
        while self._timeline and self._timeline[0][0] <= self.pushed + 1e-9:
            self._events.give(self._timeline.pop(0)[1])
        if self._utterance and self._words_per_second:
            self._give_interim(self._utterance)

    def _give_interim(self, utterance: str) -> None:
        spans = word_spans(utterance)
        due = min(len(spans), int((self.pushed - self._began) * self._words_per_second + 1e-9))
        if due > self._interims:
            self._interims = due
            self._events.give(SpeechEvent.interim(utterance[: spans[due - 1][1]]))

    def mark(self, event: VADEvent) -> None:
        if self.closed:
            return
        self.marks.append(event)
        match event:
            case SpeechStarted():
                self._begin()
            case SpeechEnded():
                self._give_final(self._delay)

    def _begin(self) -> None:
        entry = next(self._script, "")
        if isinstance(entry, Fail):
            self._events.give(entry.error, after=entry.after)
            return
        self._utterance, self._began, self._interims = entry, self.pushed, 0

    def flush(self) -> None:
        self.flushes += 1
        if not self.closed:
            self._give_final(0.0)

    def end_input(self) -> None:
        if self.closed or self._input_ended:
            return
        self._input_ended = True
        self._give_final(self._delay)
        self._events.end()

    def _give_final(self, delay: float) -> None:
        utterance, self._utterance = self._utterance, None
        if utterance:
            self._events.give(SpeechEvent.final(utterance), after=delay)

    def __aiter__(self) -> AsyncIterator[SpeechEvent]:
        return self._events.read(self.aclose)

    async def aclose(self) -> None:
        if self.closed:
            return
        self.closed = True
        self._events.cut()


# -- voice activity


class FakeVAD(VAD):
    """A detector to which every sample that is not zero is voice.

    `start_delay` seconds of voice begin a speech, `stop_delay` seconds of silence end it.
    """

    def __init__(self, *, start_delay: float = 0.05, stop_delay: float = 0.2) -> None:
        self.closed = False
        self._start_delay = start_delay
        self._stop_delay = stop_delay

    def stream(self) -> VADStream:
        return _FakeVADStream(self._start_delay, self._stop_delay)

    async def aclose(self) -> None:
        self.closed = True


_SLICE = 0.01  # seconds that are voice or silence as a whole
_EPSILON = 1e-6


class _FakeVADStream(VADStream):
    def __init__(self, start_delay: float, stop_delay: float) -> None:
        self._start_delay = start_delay
        self._stop_delay = stop_delay
        self._position = 0.0
        self._onset: float | None = None
        """Since when there was nothing but voice; only before a speech."""
        self._speaking = False
        self._last_voice = 0.0

    def push(self, frame: AudioFrame) -> Sequence[VADEvent]:
        if not self._speaking and is_silent(frame.data):  # most of a call
            self._onset = None
            self._position += frame.duration
            return ()
        events: list[VADEvent] = []
        width = 2 * frame.num_channels
        step = max(1, round(_SLICE * frame.sample_rate)) * width
        for at in range(0, len(frame.data), step):
            part = frame.data[at : at + step]
            begin = self._position
            self._position += len(part) / width / frame.sample_rate
            event = self._hear(voiced=not is_silent(part), begin=begin)
            if event is not None:
                events.append(event)
        return events

    def _hear(self, *, voiced: bool, begin: float) -> VADEvent | None:
        if voiced:
            self._last_voice = self._position
            if self._speaking:
                return None
            self._onset = begin if self._onset is None else self._onset
            if self._position - self._onset < self._start_delay - _EPSILON:
                return None
            self._speaking = True
            return SpeechStarted(at=self._onset)
        self._onset = None
        if self._speaking and self._position - self._last_voice >= self._stop_delay - _EPSILON:
            self._speaking = False
            return SpeechEnded(at=self._last_voice)
        return None

    def end(self) -> Sequence[VADEvent]:
        if not self._speaking:
            return ()
        self._speaking = False
        return (SpeechEnded(at=self._last_voice),)


# -- text to speech


class FakeTTS(TTS):
    """A voice whose audio is as long as its text, `seconds_per_character` each, and never silent.

    The audio comes in chunks of `chunk` seconds. The first one comes `ttfb` seconds after it was asked for and carries
    the text; the others follow as fast as they are taken, or at `speed` times real time. `fail_on` fails the synthesis
    of texts that contain it, after `fail_after` seconds of audio. `words=True` gives word timings. Text without a word
    makes no sound.
    """

    def __init__(
        self,
        *,
        ttfb: float = 0.05,
        seconds_per_character: float = 0.06,
        sample_rate: int = 24_000,
        chunk: float = 0.1,
        speed: float | None = None,
        words: bool = False,
        fail_on: str | None = None,
        fail_after: float = 0.0,
        error: Exception | None = None,
    ) -> None:
        self.sample_rate = sample_rate
        self.options: dict[str, Any] = {}
        """What `update_options` told it, and has no effect."""
        self.said: list[str] = []
        """The texts it was asked to speak, in order, without the white space around them."""
        self.stopped = 0
        """Syntheses that were closed before their end."""
        self.closed = False
        self._ttfb = ttfb
        self._seconds_per_character = seconds_per_character
        self._chunk = chunk
        self._speed = speed
        self._words = words
        self._fail_on = fail_on
        self._fail_after = fail_after
        self._error = error or ProviderError(f"FakeTTS: told to fail on {fail_on!r}", provider="fakes.FakeTTS")

    def update_options(self, **options: Any) -> None:
        """Keep them in `options`."""
        self.options |= options

    def duration(self, text: str) -> float:
        """Seconds of audio that `text` becomes."""
        return len(text.strip()) * self._seconds_per_character if words(text) else 0.0

    async def synthesize(self, text: str) -> AsyncIterator[SynthesizedAudio]:
        self.said.append(text.strip())
        try:
            await asyncio.sleep(self._ttfb)
            async with aclosing(self._chunks(text)) as chunks:
                async for audio in chunks:
                    yield audio
        except (GeneratorExit, asyncio.CancelledError):
            self.stopped += 1
            raise

    async def _chunks(self, text: str) -> AsyncGenerator[SynthesizedAudio, None]:
        fails = self._fail_on is not None and self._fail_on in text
        total = self._fail_after if fails else self.duration(text)
        samples = round(total * self.sample_rate)
        step = max(1, round(self._chunk * self.sample_rate))
        voice = speech(total, self.sample_rate).data
        for at in range(0, samples, step):
            frame = AudioFrame(voice[2 * at : 2 * (at + step)], self.sample_rate)
            if at == 0:
                yield SynthesizedAudio(frame, text=text, words=self._timings(text) if self._words else [])
            else:
                yield SynthesizedAudio(frame)
            if self._speed is not None:
                await asyncio.sleep(frame.duration / self._speed)
        if fails:
            raise self._error

    def _timings(self, text: str) -> list[WordTiming]:
        before = len(text) - len(text.lstrip())
        pace = self._seconds_per_character
        return [
            WordTiming(text[begin:end], (begin - before) * pace, (end - before) * pace)
            for begin, end in word_spans(text)
        ]

    async def aclose(self) -> None:
        self.closed = True


# -- end of turn


class FakeTurnDetector(TurnDetector):
    """A turn detector with given answers.

    `probability` is one for all turns, a mapping (the first key that occurs in the turn's text, without regard to case,
    decides; 1.0 if none does), or a function of the turn. The answer takes `delay` seconds.
    """

    def __init__(
        self,
        probability: float | Mapping[str, float] | Callable[[TurnSoFar], float] = 1.0,
        *,
        delay: float = 0.02,
        wants_audio: bool = False,
    ) -> None:
        self.wants_audio = wants_audio
        self.turns: list[TurnSoFar] = []
        """What it was asked about, oldest first."""
        self._probability = probability
        self._delay = delay

    async def predict(self, turn: TurnSoFar) -> float:
        self.turns.append(turn)
        await asyncio.sleep(self._delay)
        if callable(self._probability):
            return self._probability(turn)
        if isinstance(self._probability, Mapping):
            text = turn.text.casefold()
            return next((p for key, p in self._probability.items() if key.casefold() in text), 1.0)
        return self._probability
