"""Measures replies: what the driver hears and does, with its times, becomes `TurnMetrics`.

Above: the application, which makes a meter when somebody listens to it. Below: nothing: it is an observer, decides
nothing and touches nothing. Spans tell of the first piece of a voice's sound and of tokens. A journal of
facts, commands, notices and spans, shown to another meter, gives the same figures.

A *reply* is what a speech handle stands for. What its tools say, and the lines that the session says while it is being
worked on, belong to it; they are fillers. What is read back before a call is an answer: the reply is over with it, and
what follows the caller's yes or no is another one, to that. The core may refuse a fact, so nothing is taken from facts
that a command tells as well.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from antiphon.core.commands import (
    Adopt,
    Close,
    Command,
    Decline,
    Discard,
    Generate,
    PausePlayout,
    Play,
    RebindRun,
    Release,
    ResumePlayout,
    RunHook,
    RunTool,
    Speak,
    StopPlayout,
)
from antiphon.core.facts import (
    Fact,
    GenerationFailed,
    PlayoutFinished,
    PlayoutStarted,
    PlayoutStarved,
    ResponseBegan,
    SoundReady,
    SpeechRequested,
    StepGenerated,
    TextStarted,
    ToolCalled,
    Transcribed,
    UserSpeechEnded,
    UserSpeechStarted,
    UserTurnSubmitted,
)
from antiphon.core.notices import (
    ConsentAsked,
    ConsentDecided,
    Notice,
    RoundClosed,
    SpeechDone,
    SpeechInterrupted,
    ToolDropped,
    ToolEnded,
    ToolOutcome,
    ToolStepsUsedUp,
    TurnCommitted,
)
from antiphon.metrics import CallMetrics, Origin, ResponseMetrics, Stretch, ToolMetrics, TurnMetrics
from antiphon.runtime.measured import MeasuredReply, MeasuredResponse, MeasuredTool, MeasuredTurn
from antiphon.runtime.observers import Observer
from antiphon.runtime.sounds import Sounds


class Meter(Observer):
    """Watches one session, and calls `report` with each reply that is over, and the sums of the call.

    `began` is when the call began, on the clock of `now`. `voiced`: there is a loudspeaker; without one nothing is
    silence. `has_hook`: whether the agent of this id has an `on_user_turn_completed` of its own.
    """

    def __init__(
        self,
        began: float,
        report: Callable[[TurnMetrics, CallMetrics], None],
        *,
        voiced: bool,
        has_hook: Callable[[str], bool] = lambda agent: True,
    ) -> None:
        self._began = began
        self._report = report
        self._voiced = voiced
        self._has_hook = has_hook
        self.call = CallMetrics()
        self._line = Sounds()
        self._turns = 0
        self._turn: MeasuredTurn | None = None
        """The latest."""
        self._typed: deque[str] = deque()
        self._speaking = False
        self._speech_ended: float | None = None
        self._transcribed: float | None = None
        self._hooks = 0
        """Turns whose hook has not returned."""
        self._asking: MeasuredReply | None = None
        """Whose call is read back, from then until the caller has answered or it is given up."""
        self._is_read_next = False
        """The next text to be said reads it back."""
        self._sounding: MeasuredReply | None = None
        """The reply that is heard."""
        self._replies: dict[int, MeasuredReply] = {}
        """By speech: its own, and those of its tools."""
        self._responses: dict[int, MeasuredResponse] = {}
        """By generation."""
        self._segments: dict[int, int] = {}
        """The generation whose sound a segment is."""
        self._runs: dict[int, MeasuredTool] = {}
        """Tools that run."""
        self._unasked: dict[int, int | None] = {}
        """By response that the model began: the turn that it answers."""

    # -- facts

    def fact(self, at: float, fact: Fact) -> None:
        now = at - self._began
        match fact:
            case UserSpeechStarted():
                self._speaking = True
                self._line.caller(now, speaks=True)
            case UserSpeechEnded(silence):
                self._speaking = False
                self._speech_ended = now - silence
                self._line.caller(now - silence, speaks=False)
            case Transcribed(text):
                if text:
                    self._transcribed = now
            case UserTurnSubmitted(text):
                self._typed.append(text)
            case TextStarted(gen):
                self._note_token(gen, now, text=True)
            case ToolCalled(gen, call):
                self._note_token(gen, now)
                self._called(gen, call.call_id, call.name, now)
            case StepGenerated(gen, text):
                self._update(gen, done=now, characters=len(text))
            case GenerationFailed(gen, text=text):
                self._update(gen, done=now, failed=True, characters=len(text))
            case SpeechRequested(speech, kind, run=run):
                self._requested(speech, kind, run, now)
            case ResponseBegan(response, turn=turn):
                self._unasked[response] = turn
            case SoundReady(segment):
                self._first_byte(segment, now)
            case PlayoutStarted(segment):
                self._sounds(self._line.began(segment, now), now)
            case PlayoutStarved(segment):
                self._sounds(self._line.starved(segment, now), now)
            case PlayoutFinished(segment):
                self._sounds(self._line.finished(segment, now), now)
            case _:
                pass

    def _requested(self, speech: int, kind: str, run: int | None, now: float) -> None:
        tool = None if run is None else self._runs.get(run)
        if tool is not None and tool.reply in self._replies.values():
            self._replies[speech] = tool.reply
        elif kind == "filler" and (latest := self._latest()) is not None:
            self._replies[speech] = latest
        else:
            self._open(speech, "application", None, now)

    def _called(self, gen: int, call_id: str, name: str, now: float) -> None:
        response = self._responses.get(gen)
        if response is None:
            return
        self._update(gen, calls=response.metrics.calls + 1)
        if response.reply is not None:
            response.reply.calls(call_id, name, now)

    def _note_token(self, gen: int, now: float, *, text: bool = False) -> None:
        response = self._responses.get(gen)
        if response is None:
            return
        if response.metrics.first_token is None:
            self._update(gen, first_token=now)
        if text and response.metrics.first_text is None:
            self._update(gen, first_text=now)

    def _update(self, gen: int, **changes: object) -> None:
        response = self._responses.get(gen)
        if response is not None:
            response.update(**changes)

    def span(self, name: str, at: float, **data: object) -> None:
        match name, data:
            case "first_byte", {"segment": int(segment)}:
                self._first_byte(segment, at - self._began)
            case "context_trimmed", {"gen": int(gen)}:
                self._update(gen, context_trimmed=True)
            case "unbacked_claim", {"gen": int(gen)} if (response := self._responses.get(gen)) is not None:
                response.update(unbacked_claims=response.metrics.unbacked_claims + 1)
            case "usage", {"gen": int(gen), "prompt": prompt, "completion": completion, "cached": cached}:
                self._update(gen, prompt_tokens=prompt, completion_tokens=completion, cached_tokens=cached)

    def _first_byte(self, segment: int, now: float) -> None:
        """The first piece of a segment's sound is here."""
        response = self._responses.get(self._segments.get(segment, 0))
        if response is not None and response.metrics.first_byte is None:
            response.update(first_byte=now)

    # -- commands

    def command(self, at: float, command: Command) -> None:
        now = at - self._began
        match command:
            case RunHook(kind="on_user_turn_completed", text=text, agent=agent):
                self._hooks += 1
                self._take_turn(text, now, hooked=self._has_hook(agent))
            case Generate(gen, speech, segment):
                self._make(gen, segment, now, by_model=True)
                if not command.ahead:
                    reply = self._replies.get(speech) or self._open_reply(command, now)
                    self._join(gen, reply, filler=reply is not None and reply.speech != speech)
            case Adopt(gen, speech, segment, _, response):
                turn = self._unasked.pop(response, None)
                self._make(gen, segment, now, by_model=True)
                self._join(gen, self._open(speech, "model", None, now) if turn is None else self._answer(speech, now))
            case Decline(response):
                self._unasked.pop(response, None)
            case Speak(gen, speech, segment):
                self._make(gen, segment, now)
                if not command.ahead:
                    self._speak(gen, speech, now)
            case Release(gen, speech):
                self._release(gen, speech, now)
            case Discard(gen):
                self._forget(gen)
            case RunTool(run, call, _, speech):
                self._run(run, call.name, call.call_id, speech, now)
            case RebindRun(run, call, speech):
                self._rebind(run, call.name, call.call_id, speech, now)
            case Play(segment) if not self._voiced:
                self._sounds(self._line.began(segment, now), now)
            case StopPlayout(segment, at_word=False):
                self._sounds(self._line.finished(segment, now), now)
            case PausePlayout():
                self._sounds(self._line.pause(now, paused=True), now)
            case ResumePlayout():
                self._sounds(self._line.pause(now, paused=False), now)
            case Close():
                self._sounds(self._line.pause(now, paused=True), now)
                for reply in dict.fromkeys(self._replies.values()):
                    self._finish(reply, now)
            case _:
                pass

    def notice(self, at: float, notice: Notice) -> None:
        now = at - self._began
        match notice:
            case TurnCommitted(text):
                self._turn_committed(text, now)
            case ConsentAsked(speech):
                self._asked(speech, now)
            case ConsentDecided(by=by):
                if by in ("time", "session"):
                    self._asks_no_more(None, now)
                self._asking = None
            case RoundClosed():
                self._round_over(notice)
            case ToolStepsUsedUp():
                reply = self._replies.get(notice.speech)
                if reply is not None:
                    reply.used_up_its_steps()
            case ToolEnded():
                self._tool_ended(notice.run, notice.outcome, now)
            case ToolDropped():
                self._tool_ended(notice.run, "dropped", now)
            case SpeechInterrupted():
                reply = self._replies.get(notice.speech)
                if reply is not None and reply.speech == notice.speech:
                    reply.interrupted(now)
            case SpeechDone():
                self._speech_done(notice.speech, now)
            case _:
                pass

    def _take_turn(self, text: str, now: float, *, hooked: bool) -> None:
        self._turns += 1
        if self._typed and self._typed[0] == text:
            self._typed.popleft()
            self._turn = MeasuredTurn(self._turns, "typed", now, None, None, hooked)
            return
        ended = None if self._speaking else self._speech_ended
        self._turn = MeasuredTurn(self._turns, "caller", now, ended, self._transcribed, hooked)
        self._speech_ended = self._transcribed = None

    def _turn_committed(self, text: str, now: float) -> None:
        """The hook of a turn has returned, or the caller has answered what was read back: that has no hook."""
        if self._hooks or self._asking is None:
            self._hooks = max(0, self._hooks - 1)
            if self._turn is not None:
                self._turn.committed(now)
            return
        ended = now if self._speech_ended is None else self._speech_ended
        self._take_turn(text, now, hooked=False)
        self._asks_no_more(self._turn, min(ended, now))

    def _asked(self, speech: int, now: float) -> None:
        """A call is about to be read back: for the first time, or because nobody answered."""
        reply = self._replies.get(speech)
        if reply is not None and reply.is_asking:
            reply = self._asks_no_more(None, now)
        self._asking, self._is_read_next = reply, reply is not None
        if reply is not None:
            reply.asks()

    def _asks_no_more(self, turn: MeasuredTurn | None, now: float) -> MeasuredReply | None:
        """What was read back is over as a reply: another one answers `turn`, or comes of itself."""
        before, self._asking = self._asking, None
        if before is None or before.speech is None or self._replies.get(before.speech) is not before:
            return None
        if turn is not None:
            turn.is_answered()
        self._finish(before, before.heard_until(now))
        reply = self._replies[before.speech] = before.goes_on(turn, self._turns, now)
        return reply

    def _speech_done(self, speech: int, now: float) -> None:
        reply = self._replies.get(speech)
        if reply is None:
            return
        if reply.speech == speech or (reply.speech is None and not self._is_caller_waiting):
            self._finish(reply, now)
        elif reply.speech is not None:
            del self._replies[speech]

    @property
    def _is_caller_waiting(self) -> bool:
        """The caller has said something that nobody has begun to answer."""
        unanswered = self._turn is not None and not self._turn.answered
        return unanswered or self._speech_ended is not None or self._transcribed is not None

    # -- replies

    def _open_reply(self, command: Generate, now: float) -> MeasuredReply | None:
        if command.delivery:
            return self._open(command.speech, "results", None, now)
        return self._answer(command.speech, now)

    def _answer(self, speech: int, now: float) -> MeasuredReply | None:
        """A reply to the latest turn. None: it began before there was anybody to measure it."""
        turn = self._turn
        if turn is None:
            return None
        turn.is_answered()
        reply = next((one for one in self._replies.values() if one.speech is None), None)
        if reply is None:
            return self._open(speech, turn.origin, turn, now)
        self._replies[speech] = reply
        reply.answers(turn, speech, self._turns)
        return reply

    def _open(self, speech: int, origin: Origin, turn: MeasuredTurn | None, now: float) -> MeasuredReply:
        reply = self._replies[speech] = MeasuredReply(speech, origin, turn, self._turns, now)
        return reply

    def _latest(self) -> MeasuredReply | None:
        return next(reversed(self._replies.values()), None)

    # -- responses

    def _make(self, gen: int, segment: int, now: float, *, by_model: bool = False) -> None:
        self._responses[gen] = MeasuredResponse(ResponseMetrics(by_model, now), segment)
        self._segments[segment] = gen

    def _join(self, gen: int, reply: MeasuredReply | None, *, filler: bool = False) -> None:
        """A response belongs to a reply, or to nobody."""
        if reply is None:
            self._forget(gen)
            return
        reply.made(gen)
        self._responses[gen].joined(reply, filler=filler)

    def _forget(self, gen: int) -> ResponseMetrics | None:
        response = self._responses.pop(gen, None)
        if response is None:
            return None
        self._segments.pop(response.segment, None)
        return response.metrics

    def _speak(self, gen: int, speech: int, now: float) -> None:
        """A text is to be said."""
        asking, self._is_read_next = self._asking if self._is_read_next else None, False
        if asking is not None:
            self._replies[speech] = asking
            self._join(gen, asking)
            return
        reply = self._replies.get(speech)
        if reply is None:
            self._join(gen, self._open(speech, "application", None, now))
        else:
            self._join(gen, reply, filler=reply.speech != speech)

    def _release(self, gen: int, speech: int, now: float) -> None:
        """What was made ahead is wanted: an answer, or a line that bridges a wait."""
        response = self._responses.get(gen)
        if response is None:
            return
        if response.metrics.by_model:
            self._join(gen, self._answer(speech, now))
            return
        reply = self._latest()
        if reply is None:
            reply = MeasuredReply(None, "application", None, self._turns, now)
        self._replies[speech] = reply
        self._join(gen, reply, filler=True)

    def _sounds(self, ended: Stretch | None, now: float) -> None:
        """What is heard has changed; `ended` is what was heard until now."""
        if ended is not None and self._sounding is not None:
            self._sounding.sounded(ended)
        front = self._line.front
        gen = self._segments.get(front) if front is not None else None
        response = self._responses.get(gen) if gen is not None else None
        self._sounding = None if response is None else response.reply
        if response is not None and gen is not None and response.metrics.first_audio is None:
            self._update(gen, first_audio=now)

    def _finish(self, reply: MeasuredReply, now: float) -> None:
        """It is over."""
        for speech in [speech for speech, owner in self._replies.items() if owner is reply]:
            del self._replies[speech]
        made = [self._forget(gen) for gen in reply.gens]
        responses = [metrics for metrics in made if metrics is not None]
        if responses:
            metrics = self._metrics(reply, responses, now)
            self.call.add(metrics)
            self._report(metrics, self.call)
        waiting = [one.waiting_since for one in self._replies.values()]
        self._line.forget(min([*waiting, now if self._speech_ended is None else self._speech_ended]))

    def _metrics(self, reply: MeasuredReply, responses: list[ResponseMetrics], now: float) -> TurnMetrics:
        turn = reply.turn
        over = now if reply.interrupted_at is None else reply.interrupted_at
        return TurnMetrics(
            reply.turns,
            reply.origin,
            f"speech_{reply.speech or 0}",
            reply.asked,
            now,
            speech_ended=None if turn is None else turn.speech_ended,
            transcribed=None if turn is None else turn.transcribed,
            decided=None if turn is None else turn.decided,
            hook=None if turn is None else turn.hook,
            responses=tuple(responses),
            tools=tuple(tool.metrics for tool in reply.tools),
            rounds=reply.rounds,
            max_tool_steps_reached=reply.max_tool_steps_reached,
            interrupted_at=reply.interrupted_at,
            sound=tuple(reply.sound),
            silences=self._line.silences(reply.waiting_since, over) if self._voiced else (),
        )

    # -- tools

    def _run(self, run: int, name: str, call_id: str, speech: int, now: float) -> MeasuredTool | None:
        reply = self._replies.get(speech)
        if reply is None:
            return None
        tool = self._runs[run] = MeasuredTool(ToolMetrics(name, call_id, now, None, "running"), reply)
        reply.runs(tool)
        return tool

    def _rebind(self, run: int, name: str, call_id: str, speech: int, now: float) -> None:
        """Another call takes the run over; one that nobody sees running has ended before."""
        still_runs = run in self._runs
        tool = self._run(run, name, call_id, speech, now)
        if tool is not None and not still_runs:
            self._tool_ended(run, "done", now)

    def _tool_ended(self, run: int, status: ToolOutcome, now: float) -> None:
        tool = self._runs.get(run)
        if tool is None:
            return
        if status != "dropped" or tool.metrics.ended is not None:
            del self._runs[run]
        if tool.metrics.ended is None:
            tool.ended(status, now)

    def _round_over(self, closed: RoundClosed) -> None:
        response = self._responses.get(closed.gen)
        reply = self._replies.get(closed.speech) if response is None else response.reply
        if reply is not None:
            reply.round_over(call.call_id for call, _ in closed.pairs)
