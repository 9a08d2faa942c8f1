"""What a reply took, in figures, and what a call took. Part of the vocabulary (layer 0).

A `TurnMetrics` is one reply of the agent, from the end of the caller's sound to the end of the agent's, with every
response of the model and every tool in between. `CallMetrics` adds them up. All times are seconds since the call
began, on the session's clock; all durations are seconds; None says that it did not happen.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from antiphon.record import record

Origin: TypeAlias = Literal["caller", "typed", "application", "results", "model"]
"""What began a reply: the caller's spoken or typed turn, `say()` or `generate_reply()`, results from the background
that are told unasked, or the model of its own accord."""

StageKind: TypeAlias = Literal["turn_end", "hook", "model", "writing", "tool", "voice", "line"]

NEGLIGIBLE = 0.0005
"""Seconds below which a stage is left out."""


@record
class Stretch:
    """A stretch of time."""

    started: float
    ended: float

    @property
    def duration(self) -> float:
        """Seconds."""
        return self.ended - self.started


@record
class Stage:
    """Something that a reply spent time on.

    turn_end: making sure that the caller had finished. hook: `on_user_turn_completed`. model: until its first text or
    call. writing: from there to its end, where that is waited for: before calls, and in text. tool: a call. voice: from
    the first text to the first piece of sound. line: sound is there, and waits until what sounds has ended.
    """

    kind: StageKind
    name: str
    """For people: the tool's name, or the kind in words."""
    started: float
    ended: float

    @property
    def duration(self) -> float:
        """Seconds."""
        return self.ended - self.started


@record
class ToolMetrics:
    """A call of a tool, as far as this reply waited for it."""

    name: str
    call_id: str
    started: float
    ended: float | None
    """None: it went on in the background."""
    status: str
    """done, error, unknown, cancelled, dropped, running, or refused: it did not run at all."""


@record
class ResponseMetrics:
    """A response of the model, or a text that was given to be said."""

    by_model: bool
    asked: float
    first_token: float | None = None
    """The first text or complete call."""
    first_text: float | None = None
    done: float | None = None
    """It was all written, or failed. None: it was stopped."""
    failed: bool = False
    first_byte: float | None = None
    """The first piece of its sound came from the voice."""
    first_audio: float | None = None
    """The caller heard the first of it."""
    calls: int = 0
    characters: int = 0
    """Of its text, once it is done."""
    filler: bool = False
    """Said while the answer was still being worked on, by the session or a tool."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    """Of the prompt's."""
    unbacked_claims: int = 0
    """What its sentences claim was done, and no tool has done."""
    context_trimmed: bool = False
    """It was asked with less of the talk than the response before (`ContextBudget`)."""


@record
class TurnMetrics:
    """One reply of the agent, once it is over."""

    turn: int
    """How many turns the caller had taken when it began."""
    origin: Origin
    speech_id: str
    """The id of its `SpeechHandle`."""
    asked: float
    """When it began to be made."""
    ended: float
    speech_ended: float | None = None
    """The end of the caller's sound."""
    transcribed: float | None = None
    """The last of the caller's words."""
    decided: float | None = None
    """The turn was committed."""
    hook: float | None = None
    """How long `on_user_turn_completed` took. None also for an agent that does not define it."""
    responses: tuple[ResponseMetrics, ...] = ()
    tools: tuple[ToolMetrics, ...] = ()
    rounds: int = 0
    """Responses with calls whose results the model was given."""
    max_tool_steps_reached: bool = False
    """These were all that it might have: the model was asked for the rest without tools."""
    interrupted_at: float | None = None
    sound: tuple[Stretch, ...] = ()
    """When the caller heard it."""
    silences: tuple[Stretch, ...] = ()
    """When neither side could be heard while it was owed: dead air."""

    # -- moments

    @property
    def waiting_since(self) -> float:
        """When the caller began to wait for it."""
        if self.speech_ended is not None:
            return self.speech_ended
        return self.asked if self.decided is None else self.decided

    @property
    def llm_first_token(self) -> float | None:
        """The model's first text or call."""
        return next((r.first_token for r in self.responses if r.by_model and r.first_token is not None), None)

    @property
    def llm_done(self) -> float | None:
        """The end of the model's last response."""
        return next((r.done for r in reversed(self.responses) if r.by_model and r.done is not None), None)

    @property
    def tts_first_byte(self) -> float | None:
        """The first piece of sound from the voice."""
        return min((r.first_byte for r in self.responses if r.first_byte is not None), default=None)

    @property
    def first_audio(self) -> float | None:
        """The first sound that the caller heard, a filler included."""
        return min((r.first_audio for r in self.responses if r.first_audio is not None), default=None)

    @property
    def first_answer(self) -> float | None:
        """The first sound of the answer: fillers, and what was said before calls, do not count.

        If every response made calls, the last that was heard is the answer.
        """
        heard = [r for r in self.responses if r.first_audio is not None and not r.filler]
        answer = next((r for r in heard if not r.calls), heard[-1] if heard else None)
        return None if answer is None else answer.first_audio

    # -- durations

    @property
    def endpointing_delay(self) -> float | None:
        """From the end of the caller's sound to the committed turn."""
        return _between(self.speech_ended, self.decided)

    @property
    def transcription_delay(self) -> float | None:
        """From the end of the caller's sound to the last of their words; 0 if these came before."""
        delay = _between(self.speech_ended, self.transcribed)
        return None if delay is None else max(0.0, delay)

    @property
    def ttft(self) -> float | None:
        """From the first request to the model's first text or call."""
        first = next((r for r in self.responses if r.by_model), None)
        return None if first is None else _between(first.asked, first.first_token)

    @property
    def ttfb(self) -> float | None:
        """From the first text that was given to the voice to its first piece of sound."""
        first = next((r for r in self.responses if r.first_byte is not None), None)
        if first is None:
            return None
        return _between(first.asked if first.first_text is None else first.first_text, first.first_byte)

    @property
    def response_delay(self) -> float | None:
        """From the end of the caller's sound (of a typed turn: from its commit) to the first sound they heard."""
        return _between(self.waiting_since, self.first_audio) if self.answers_caller else None

    @property
    def answer_delay(self) -> float | None:
        """The same, to the first sound of the answer."""
        return _between(self.waiting_since, self.first_answer) if self.answers_caller else None

    @property
    def dead_air(self) -> float:
        """Seconds in which neither side could be heard while it was owed."""
        return sum(one.duration for one in self.silences)

    @property
    def longest_silence(self) -> float:
        """The longest stretch of them."""
        return max((one.duration for one in self.silences), default=0.0)

    @property
    def answers_caller(self) -> bool:
        """It answers a turn of the caller."""
        return self.origin in ("caller", "typed")

    @property
    def prompt_tokens(self) -> int:
        """Tokens of all requests; 0 if the model does not count them."""
        return sum(r.prompt_tokens for r in self.responses)

    @property
    def completion_tokens(self) -> int:
        """Tokens of all responses; 0 if the model does not count them."""
        return sum(r.completion_tokens for r in self.responses)

    # -- where the time went

    @property
    def stages(self) -> tuple[Stage, ...]:
        """What it spent time on, by beginning. Stages may overlap: tools run while the agent speaks."""
        found = [stage for stage in self._all_stages() if stage.duration > NEGLIGIBLE]
        return tuple(sorted(found, key=lambda stage: (stage.started, stage.ended)))

    def _all_stages(self) -> Iterator[Stage]:
        if self.speech_ended is not None and self.decided is not None:
            yield Stage("turn_end", "end of turn", self.speech_ended, self.decided)
        if self.decided is not None and self.hook is not None:
            yield Stage("hook", "on_user_turn_completed", self.decided, self.decided + self.hook)
        over = self.ended if self.interrupted_at is None else self.interrupted_at
        for response in self.responses:
            yield from _stages_of(response, over)
        for tool in self.tools:
            yield Stage("tool", tool.name, tool.started, over if tool.ended is None else min(tool.ended, over))

    def path(self, until: float) -> tuple[Stage, ...]:
        """What `until` had to wait for, since `waiting_since`: at each moment the stage that was over last.

        Of tools that ran side by side that is the slowest. What was made ahead of the end of the turn is waited for
        from there on. Moments that no stage accounts for are left out.
        """
        path: list[Stage] = []
        at, stages = until, [self._waited_for(stage) for stage in self.stages]
        while True:
            before = [stage for stage in stages if stage.started < min(at, stage.ended)]
            # A model that writes on delays nobody who has something to do already.
            last = max(before, key=lambda s: (min(s.ended, at), s.kind != "writing", -s.started), default=None)
            if last is None:
                return tuple(reversed(path))
            if min(last.ended, at) - last.started > NEGLIGIBLE:
                path.append(Stage(last.kind, last.name, last.started, min(last.ended, at)))
            at = last.started

    def _waited_for(self, stage: Stage) -> Stage:
        """The part of a stage that the caller waited through."""
        since = self.waiting_since
        if self.decided is not None and stage.kind != "turn_end":
            since = self.decided
        return stage if stage.started >= since else Stage(stage.kind, stage.name, since, stage.ended)

    def to_json(self) -> dict[str, Any]:
        """Everything, the derived figures and `stages` included, as an object fit for JSON. Rounded to 0.1 ms."""
        plain: dict[str, Any] = _plain(self)
        for name in _DERIVED:
            plain[name] = _plain(getattr(self, name))
        return plain


_NESTED: Mapping[str, type[Any]] = {
    "responses": ResponseMetrics,
    "tools": ToolMetrics,
    "sound": Stretch,
    "silences": Stretch,
}


def reply_from_json(data: Mapping[str, Any]) -> TurnMetrics:
    """The reply that `TurnMetrics.to_json` told of, to 0.1 ms. What this version does not know is left out.

    Raises `KeyError` and `TypeError` for what is none.
    """
    known: dict[str, Any] = {name: data[name] for name in TurnMetrics.__match_args__ if name in data}
    for name, kind in _NESTED.items():
        known[name] = tuple(
            kind(**{part: one[part] for part in kind.__match_args__ if part in one}) for one in known.get(name, ())
        )
    return TurnMetrics(**known)


_DERIVED = (
    "waiting_since", "llm_first_token", "llm_done", "tts_first_byte", "first_audio", "first_answer",
    "endpointing_delay", "transcription_delay", "ttft", "ttfb", "response_delay", "answer_delay", "dead_air",
    "longest_silence", "stages",
)  # fmt: skip


def _stages_of(response: ResponseMetrics, over: float) -> Iterator[Stage]:
    if response.by_model:
        first, done = response.first_token, over if response.done is None else response.done
        yield Stage("model", "model", response.asked, done if first is None else first)
        if first is not None and (response.calls or response.first_byte is None):
            yield Stage("writing", "writing", first, done)
    text = response.asked if response.first_text is None else response.first_text
    if response.first_byte is not None:
        yield Stage("voice", "voice", text, response.first_byte)
        if response.first_audio is not None:
            yield Stage("line", "queued", response.first_byte, response.first_audio)


def _between(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else end - start


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "__match_args__"):
        return {name: _plain(getattr(value, name)) for name in value.__match_args__}
    return value


class CallMetrics:
    """The sums of a call, so far. `TurnMetricsEvent.call` is kept up to date; `add` makes one of your own."""

    def __init__(self, turns: Sequence[TurnMetrics] = ()) -> None:
        self.replies = 0
        """Replies that are over."""
        self.turns = 0
        """Turns of the caller that were answered."""
        self.interruptions = 0
        """Replies that were cut."""
        self.tools = 0
        """Calls of tools."""
        self.max_tool_steps_reached = 0
        """Replies that had as many rounds of tools as they might."""
        self.dead_air = 0.0
        """Seconds in which neither side could be heard while a reply was owed."""
        self.longest_silence = 0.0
        """The longest stretch of them."""
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self.cached_tokens = 0
        self.context_trims = 0
        """Responses for which the talk was trimmed."""
        self.unbacked_claims = 0
        """What sentences of models claim was done, and no tool has done."""
        self._delays: list[float] = []
        self._counted = float("-inf")
        self._last_turn = 0
        for turn in turns:
            self.add(turn)

    def add(self, turn: TurnMetrics) -> None:
        """Count a reply. Replies come in the order in which they ended."""
        self.replies += 1
        if turn.answers_caller and turn.turn > self._last_turn:
            self._last_turn = turn.turn
            self.turns += 1
        self.interruptions += turn.interrupted_at is not None
        self.tools += len(turn.tools)
        self.max_tool_steps_reached += turn.max_tool_steps_reached
        self.prompt_tokens += turn.prompt_tokens
        self.completion_tokens += turn.completion_tokens
        self.cached_tokens += sum(r.cached_tokens for r in turn.responses)
        self.context_trims += sum(r.context_trimmed for r in turn.responses)
        self.unbacked_claims += sum(r.unbacked_claims for r in turn.responses)
        if turn.response_delay is not None:
            bisect.insort(self._delays, turn.response_delay)
        for silence in turn.silences:
            # Two replies may be owed at once: what both waited through counts once.
            self.dead_air += max(0.0, silence.ended - max(silence.started, self._counted))
            self.longest_silence = max(self.longest_silence, silence.duration)
        self._counted = max(self._counted, turn.ended)

    @property
    def response_delays(self) -> tuple[float, ...]:
        """Of every reply that was heard, the shortest first."""
        return tuple(self._delays)

    @property
    def median_response_delay(self) -> float | None:
        """The middle of `response_delays`."""
        return self._delay_at(0.5)

    @property
    def p95_response_delay(self) -> float | None:
        """The 95th percentile of `response_delays`, linear between neighbours."""
        return self._delay_at(0.95)

    def _delay_at(self, share: float) -> float | None:
        if not self._delays:
            return None
        place = share * (len(self._delays) - 1)
        low = int(place)
        high = min(low + 1, len(self._delays) - 1)
        return self._delays[low] + (self._delays[high] - self._delays[low]) * (place - low)

    def to_json(self) -> dict[str, Any]:
        """An object fit for JSON. Rounded to 0.1 ms."""
        return {
            name: _plain(getattr(self, name))
            for name in (
                "turns", "replies", "median_response_delay", "p95_response_delay", "dead_air", "longest_silence",
                "interruptions", "tools", "max_tool_steps_reached", "prompt_tokens", "completion_tokens",
                "cached_tokens", "context_trims", "unbacked_claims",
            )
        }  # fmt: skip
