"""A call as a tree of stretches: replies, what models, voices and tools did for them, and what came to pass in each.

Above: the announcer, which makes a trail where somebody listens to `trace`. Below: nothing: it is an observer, decides
nothing and touches nothing. Times are those of the facts, on the wall clock.

The stretches, by kind. A *reply* is a speech of the agent's own; lines that bridge a wait or read a call back are
voices of the reply that they are said for. A *model* is one response, a *tool* one run, a *voice* one segment from its
first text to its last sound, a *caller* one stretch of their voice, until its words are settled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from antiphon.chat import FunctionCallOutput
from antiphon.core.commands import (
    Adopt,
    Close,
    Command,
    Discard,
    Generate,
    Record,
    Release,
    RunHook,
    RunTool,
    Speak,
    StopGenerating,
    StopPlayout,
)
from antiphon.core.facts import (
    CallResumed,
    Fact,
    GenerationFailed,
    PlayoutFinished,
    PlayoutStarted,
    SpeechRequested,
    StepGenerated,
    StoodStill,
    TextStarted,
    ToolCalled,
    ToolReturned,
    Transcribed,
    UserSpeechEnded,
    UserSpeechStarted,
    UserTurnSubmitted,
)
from antiphon.core.notices import (
    ConsentAsked,
    ConsentDecided,
    FalseInterruption,
    HandedOff,
    HookOverdue,
    Notice,
    SpeechDone,
    SpeechFailed,
    SpeechInterrupted,
    ToolAdopted,
    ToolDropped,
    ToolEnded,
    ToolStepsUsedUp,
    TurnVetoed,
    UserStateChanged,
    VoiceGivenUp,
    WordsLost,
    WriteEnded,
)
from antiphon.events import TraceEvent
from antiphon.runtime.observers import Observer
from antiphon.runtime.stretches import Response, Stretch, Turn

Tell: TypeAlias = Callable[[TraceEvent], None]

_NOTHING: Mapping[str, Any] = {}
_POINTS: Mapping[type[Notice], str] = {
    FalseInterruption: "false_interruption",
    HookOverdue: "hook_overdue",
    ToolStepsUsedUp: "tool_steps_used_up",
    TurnVetoed: "turn_vetoed",
    VoiceGivenUp: "voice_given_up",
    WordsLost: "words_lost",
}
"""What came to pass in the latest reply, or outside of all, and has no more to it."""


class Trail(Observer):
    """Watches one session, and tells of it. `epoch`: to be added to its clock. `voiced`: there is a loudspeaker."""

    def __init__(self, tell: Tell, *, began: float, epoch: float, voiced: bool, data: Mapping[str, Any]) -> None:
        self._tell = tell
        self._epoch = epoch
        self._voiced = voiced
        self._open: dict[str, str] = {}
        """Stretches that have not ended, oldest first: id to kind."""
        self._replies: dict[int, str] = {}
        """By speech: the reply that it is, or is said for."""
        self._asked: dict[int, tuple[float, SpeechRequested]] = {}
        """Speeches that the application asked for, and when."""
        self._responses: dict[int, Response] = {}
        self._first_bytes: dict[int, float] = {}
        """Of segments that nobody is told of yet: when there was sound of them."""
        self._voices: dict[int, Stretch] = {}
        """By segment, from their first text on."""
        self._runs: dict[int, Stretch] = {}
        self._calls: dict[str, int] = {}
        """The response that a call was made in, until it ran or was refused."""
        self._void: set[str] = set()
        """Calls that the caller did not agree to."""
        self._turn = Turn()
        self._speaking = False
        self._speech_ended: float | None = None
        self._callers = 0
        self._is_over = False
        """The call was closed. Facts may come all the same."""
        self._begin("call", "", began, data=data)

    # -- facts

    def fact(self, at: float, fact: Fact) -> None:
        take = None if self._is_over else _FACTS.get(type(fact))
        if take is not None:
            take(self, at, fact)

    def _user_speech_started(self, at: float, fact: UserSpeechStarted) -> None:
        self._settle_caller(at)
        self._speaking = True
        self._callers += 1
        self._begin("caller", f"caller_{self._callers}", at - fact.voice)

    def _user_speech_ended(self, at: float, fact: UserSpeechEnded) -> None:
        self._speaking = False
        self._speech_ended = at - fact.silence

    def _transcribed(self, at: float, fact: Transcribed) -> None:
        caller = f"caller_{self._callers}"
        if fact.final and fact.text and caller in self._open:
            self._point("transcribed", caller, at, said={"text": fact.text})
            if not self._speaking:
                self._settle_caller(at)

    def _settle_caller(self, at: float) -> None:
        """Nothing more is to come of what the caller said."""
        caller = f"caller_{self._callers}"
        if caller in self._open:
            ended = at if self._speech_ended is None else self._speech_ended
            self._end(caller, at, {"speech_ended": self._wall(ended)})

    def _submitted(self, at: float, fact: UserTurnSubmitted) -> None:
        self._took_turn(at, "typed")

    def _took_turn(self, at: float, origin: Literal["caller", "typed"]) -> None:
        self._turn = Turn(self._turn.number + 1, at, origin, is_answered=False)

    def _requested(self, at: float, fact: SpeechRequested) -> None:
        self._asked[fact.speech] = (at, fact)

    def _text_started(self, at: float, fact: TextStarted) -> None:
        response = self._responses.get(fact.gen)
        if response is not None:
            response.came(at, text=True)
            if not response.is_held:
                self._begin_voice(response)

    def _tool_called(self, at: float, fact: ToolCalled) -> None:
        response = self._responses.get(fact.gen)
        if response is not None:
            response.came(at, text=False)
            response.called(fact.call.name)
            self._calls[fact.call.call_id] = fact.gen

    def _generated(self, at: float, fact: StepGenerated) -> None:
        self._response_over(fact.gen, at, "done", {"characters": len(fact.text)}, {"text": fact.text})

    def _generation_failed(self, at: float, fact: GenerationFailed) -> None:
        response = self._responses.get(fact.gen)
        if response is not None:
            response.first("error", "timeout" if response.by_model else "voice")
        self._response_over(fact.gen, at, "failed", said={"error": fact.error, "text": fact.text})

    def _playout_started(self, at: float, fact: PlayoutStarted) -> None:
        voice = self._voices.get(fact.segment)
        if voice is not None:
            voice.first("sounded", self._wall(at))

    def _playout_finished(self, at: float, fact: PlayoutFinished) -> None:
        voice = self._voices.pop(fact.segment, None)
        if voice is not None:
            voice.knows(heard=len(fact.heard), failed=fact.failed)
            self._end(voice.id, at, voice.data, {"heard": fact.heard})

    def _returned(self, at: float, fact: ToolReturned) -> None:
        run = self._runs.get(fact.run)
        if run is not None:
            run.heard(output=fact.output)

    def _stood_still(self, at: float, fact: StoodStill) -> None:
        self._point("stood_still", self._latest(), at, {"seconds": fact.seconds})

    def _resumed(self, at: float, fact: CallResumed) -> None:
        self._point("resumed", "", at, {"writes": len(fact.writes), "cut": len(fact.cut)})

    # -- what the core does not hear of

    def span(self, name: str, at: float, **data: object) -> None:
        if self._is_over:
            return
        match name, data:
            case "first_byte", {"segment": int(segment)}:
                self._first_byte(segment, at)
            case "usage", {"gen": int(gen)} if (response := self._responses.get(gen)) is not None:
                response.knows(**{name: data[name] for name in ("prompt", "completion", "cached")})
            case "failed", {"gen": int(gen)} if (response := self._responses.get(gen)) is not None:
                response.knows(error=data["error"])
            case (("context_trimmed" | "unbacked_claim"), {"gen": int(gen)}):
                self._point(name, f"gen_{gen}", at)
            case _:
                pass

    def _first_byte(self, segment: int, at: float) -> None:
        voice = self._voices.get(segment)
        if voice is None:
            self._first_bytes[segment] = at
        else:
            voice.first("first_byte", self._wall(at))

    # -- commands

    def command(self, at: float, command: Command) -> None:
        take = None if self._is_over else _COMMANDS.get(type(command))
        if take is not None:
            take(self, at, command)

    def _hook(self, at: float, command: RunHook) -> None:
        if command.kind == "on_user_turn_completed":
            if self._turn.origin != "typed" or self._turn.is_answered:
                ended = self._speech_ended
                self._took_turn(at if ended is None or self._speaking else ended, "caller")
            if not self._speaking:
                self._settle_caller(at)

    def _generate(self, at: float, command: Generate) -> None:
        response = self._made(at, command, by_model=True)
        flags = {name: True for name in ("delivery", "retry", "ahead") if getattr(command, name)}
        response.knows(**flags)
        if not command.ahead:
            self._wanted(response, self._reply_of(command.speech, at, command.agent, told=command.delivery))

    def _adopt(self, at: float, command: Adopt) -> None:
        response = self._made(at, command, by_model=True)
        response.knows(realtime=True)
        self._wanted(response, self._reply_of(command.speech, at, command.agent, by_model=True))

    def _speak(self, at: float, command: Speak) -> None:
        response = self._made(at, command, by_model=False)
        if not command.ahead:
            self._wanted(response, self._reply_of(command.speech, at, said=True))

    def _release(self, at: float, command: Release) -> None:
        response = self._responses.get(command.gen)
        if response is not None and response.is_held:
            reply = self._reply_of(command.speech, at, response.agent, said=not response.by_model)
            self._wanted(response, reply)

    def _stop(self, at: float, command: StopGenerating) -> None:
        self._response_over(command.gen, at, "stopped")

    def _discard(self, at: float, command: Discard) -> None:
        """What was made ahead leaves no trace in the call. It cost something all the same."""
        response = self._responses.pop(command.gen, None)
        if response is None:
            return
        self._first_bytes.pop(response.segment, None)
        if response.by_model and response.is_held:
            self._begin_response(response, "")
        if response.id in self._open:
            self._end(response.id, at, {**self._told(response), "outcome": "discarded"})

    def _made(self, at: float, command: Generate | Adopt | Speak, *, by_model: bool) -> Response:
        agent, held = getattr(command, "agent", ""), getattr(command, "ahead", False)
        response = Response(
            f"gen_{command.gen}",
            gen=command.gen,
            segment=command.segment,
            agent=agent,
            asked=at,
            by_model=by_model,
            is_held=held,
        )
        self._responses[command.gen] = response
        return response

    def _wanted(self, response: Response, reply: str) -> None:
        """It is known what it is for: what was held back of it is told."""
        response.wanted(reply)
        if response.by_model:
            self._begin_response(response, reply)
        self._begin_voice(response)
        if response.ended is not None:
            self._end_response(response, response.ended)

    def _begin_response(self, response: Response, reply: str) -> None:
        self._begin("model", response.id, response.asked, reply, {"agent": response.agent})

    def _begin_voice(self, response: Response) -> None:
        is_over = bool(response.reply) and response.reply not in self._open  # text that the core refuses
        if self._voiced and response.text_at is not None and response.segment not in self._voices and not is_over:
            voice = Stretch(f"segment_{response.segment}")
            self._voices[response.segment] = voice
            self._begin("voice", voice.id, response.text_at, response.reply, {"agent": response.agent})
            if (first := self._first_bytes.pop(response.segment, None)) is not None:
                self._first_byte(response.segment, first)

    def _response_over(
        self, gen: int, at: float, outcome: str, data: Mapping[str, Any] = _NOTHING, said: Mapping[str, str] = _NOTHING
    ) -> None:
        response = self._responses.get(gen)
        if response is None or response.ended is not None:
            return
        response.over(at, outcome, data, said)
        if not response.is_held:
            self._end_response(response, at)

    def _end_response(self, response: Response, at: float) -> None:
        del self._responses[response.gen]
        if response.id in self._open:
            self._end(response.id, at, self._told(response), response.said)

    def _told(self, response: Response) -> dict[str, Any]:
        first = response.data.get("first")
        return response.data if first is None else {**response.data, "first": self._wall(first)}

    def _run_tool(self, at: float, command: RunTool) -> None:
        call, policy = command.call, command.policy
        self._calls.pop(call.call_id, None)
        reply = self._replies.get(command.speech, "")
        run = self._runs[command.run] = Stretch(f"run_{command.run}")
        data = {"name": call.name, "call_id": call.call_id, "effect": policy.effect, "agent": command.agent}
        self._begin("tool", run.id, at, reply, data, {"arguments": call.arguments})

    def _stop_playout(self, at: float, command: StopPlayout) -> None:
        voice = self._voices.get(command.segment)
        if voice is None:
            return
        voice.knows(cut=True)
        if "sounded" not in voice.data:  # of one that was never played nothing more is heard
            del self._voices[command.segment]
            self._end(voice.id, at, voice.data)

    def _record(self, at: float, command: Record) -> None:
        """A call whose output enters the history and that never ran was refused."""
        item = command.item
        if not isinstance(item, FunctionCallOutput) or command.carried or "/" in item.call_id:
            return
        gen = self._calls.pop(item.call_id, None)
        if gen is None:
            return
        why = "not_agreed" if item.call_id in self._void else "invalid" if item.is_error else "equal"
        self._void.discard(item.call_id)
        data = {"name": item.name, "call_id": item.call_id, "why": why}
        self._point("tool_refused", self._latest(), at, data, {"output": str(item.output)})

    def _close(self, at: float, command: Close) -> None:
        for voice in self._voices.values():
            self._end(voice.id, at, {**voice.data, "cut": True})
        for response in [one for one in self._responses.values() if one.ended is None]:
            self._response_over(response.gen, at, "stopped")
        for stretch in [one for one in reversed(self._open) if one]:
            self._end(stretch, at, {"outcome": "open"})
        data = {"reason": command.reason, "unheard": len(command.unheard)}
        self._end("", at, data)
        self._is_over = True

    # -- notices

    def notice(self, at: float, notice: Notice) -> None:
        take = _NOTICES.get(type(notice))
        if self._is_over:
            return
        if take is not None:
            take(self, at, notice)
        elif (name := _POINTS.get(type(notice))) is not None:
            self._point(name, self._latest(), at)

    def _interrupted(self, at: float, notice: SpeechInterrupted) -> None:
        reply = f"speech_{notice.speech}"
        if reply in self._open:
            self._point("interrupted", reply, at)

    def _speech_failed(self, at: float, notice: SpeechFailed) -> None:
        self._point("model_failed", self._replies.get(notice.speech, ""), at, said={"error": notice.error})

    def _speech_done(self, at: float, notice: SpeechDone) -> None:
        reply = self._replies.pop(notice.speech, None)
        self._asked.pop(notice.speech, None)
        if reply == f"speech_{notice.speech}" and reply in self._open:
            self._end(reply, at)

    def _tool_ended(self, at: float, notice: ToolEnded) -> None:
        run = self._runs.pop(notice.run, None)
        if run is not None and run.id in self._open:
            self._end(run.id, at, {"outcome": notice.outcome}, run.said)

    def _tool_dropped(self, at: float, notice: ToolDropped) -> None:
        self._point("dropped", f"run_{notice.run}", at)

    def _tool_adopted(self, at: float, notice: ToolAdopted) -> None:
        """An equal call is served by a run that had lost its own."""
        self._calls.pop(notice.call.call_id, None)
        data = {"name": notice.call.name, "call_id": notice.call.call_id, "run": f"run_{notice.run}"}
        self._point("tool_joined", self._replies.get(notice.speech, ""), at, data)

    def _outcome(self, at: float, notice: WriteEnded) -> None:
        data = {"name": notice.call.name, "call_id": notice.call.call_id, "outcome": notice.outcome}
        self._point("outcome", f"run_{notice.run}", at, data, {"output": notice.output})

    def _consent_asked(self, at: float, notice: ConsentAsked) -> None:
        data = {"name": notice.call.name, "call_id": notice.call.call_id, "times": notice.times}
        self._point("consent_asked", self._replies.get(notice.speech, ""), at, data, {"text": notice.text})

    def _consent_decided(self, at: float, notice: ConsentDecided) -> None:
        call = notice.call
        if notice.decision != "yes":
            self._void.add(call.call_id)
        data = {"name": call.name, "call_id": call.call_id, "decision": notice.decision, "by": notice.by}
        self._point("consent_decided", self._replies.get(notice.speech, ""), at, data, {"heard": notice.heard})

    def _handed_off(self, at: float, notice: HandedOff) -> None:
        self._point("handed_off", self._latest(), at, {"agent": notice.agent})

    def _user_state(self, at: float, notice: UserStateChanged) -> None:
        if notice.state == "away":
            self._point("caller_away", "", at)

    # -- replies

    def _reply_of(
        self, speech: int, at: float, agent: str = "", *, told: bool = False, by_model: bool = False, said: bool = False
    ) -> str:
        """The reply that this speech is, or is said for. `told`: results, unasked. `said`: by nobody's model."""
        reply = self._replies.get(speech)
        if reply is not None:
            return reply
        asked = self._asked.get(speech)
        latest = self._latest()
        if latest and ((asked is None and said) or (asked is not None and asked[1].kind == "filler")):
            self._replies[speech] = latest
            return latest
        reply = self._replies[speech] = f"speech_{speech}"
        within = ""
        if asked is not None and asked[1].run is not None and f"run_{asked[1].run}" in self._open:
            within = f"run_{asked[1].run}"
        answers = not (told or by_model or said) and asked is None and self._turn.number > 0
        origin, since = "application", at if asked is None else asked[0]
        if answers:
            origin, since = self._turn.origin, self._turn.answered(since)
            self._speech_ended = None
        elif told or by_model:
            origin = "results" if told else "model"
        data = {"origin": origin, "turn": self._turn.number, "agent": agent}
        self._begin("reply", reply, min(since, at), within, data)
        return reply

    def _latest(self) -> str:
        """The reply that was begun last and is not over; "" is the call."""
        return next((one for one, kind in reversed(self._open.items()) if kind == "reply"), "")

    # -- telling

    def _wall(self, at: float) -> float:
        return self._epoch + at

    def _begin(
        self,
        kind: str,
        stretch: str,
        at: float,
        within: str = "",
        data: Mapping[str, Any] = _NOTHING,
        said: Mapping[str, str] = _NOTHING,
    ) -> None:
        self._open[stretch] = kind
        within = within if within in self._open else ""
        self._tell(TraceEvent("begin", kind, stretch, self._epoch + at, within, data, said))

    def _end(
        self, stretch: str, at: float, data: Mapping[str, Any] = _NOTHING, said: Mapping[str, str] = _NOTHING
    ) -> None:
        kind = self._open.pop(stretch)
        self._tell(TraceEvent("end", kind, stretch, self._epoch + at, "", data, said))

    def _point(
        self, name: str, stretch: str, at: float, data: Mapping[str, Any] = _NOTHING, said: Mapping[str, str] = _NOTHING
    ) -> None:
        """Of a stretch that is over: of the call."""
        here = stretch if stretch in self._open else ""
        self._tell(TraceEvent("point", name, here, self._epoch + at, "", data, said))


_FACTS: Mapping[type, Callable[[Trail, float, Any], None]] = {
    UserSpeechStarted: Trail._user_speech_started,
    UserSpeechEnded: Trail._user_speech_ended,
    Transcribed: Trail._transcribed,
    UserTurnSubmitted: Trail._submitted,
    SpeechRequested: Trail._requested,
    TextStarted: Trail._text_started,
    ToolCalled: Trail._tool_called,
    StepGenerated: Trail._generated,
    GenerationFailed: Trail._generation_failed,
    PlayoutStarted: Trail._playout_started,
    PlayoutFinished: Trail._playout_finished,
    ToolReturned: Trail._returned,
    StoodStill: Trail._stood_still,
    CallResumed: Trail._resumed,
}
_COMMANDS: Mapping[type, Callable[[Trail, float, Any], None]] = {
    RunHook: Trail._hook,
    Generate: Trail._generate,
    Adopt: Trail._adopt,
    Speak: Trail._speak,
    Release: Trail._release,
    StopGenerating: Trail._stop,
    Discard: Trail._discard,
    RunTool: Trail._run_tool,
    StopPlayout: Trail._stop_playout,
    Record: Trail._record,
    Close: Trail._close,
}
_NOTICES: Mapping[type, Callable[[Trail, float, Any], None]] = {
    SpeechInterrupted: Trail._interrupted,
    SpeechFailed: Trail._speech_failed,
    SpeechDone: Trail._speech_done,
    ToolEnded: Trail._tool_ended,
    ToolDropped: Trail._tool_dropped,
    ToolAdopted: Trail._tool_adopted,
    WriteEnded: Trail._outcome,
    ConsentAsked: Trail._consent_asked,
    ConsentDecided: Trail._consent_decided,
    HandedOff: Trail._handed_off,
    UserStateChanged: Trail._user_state,
}
