"""Dialogues with the core: the world's side, told step by step, and what came of it.

Hooks are answered at once unless `hooks=False`, and turns are over after `SILENCE` unless the test says otherwise;
everything else is up to the test. Times are seconds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from antiphon.chat import ChatItem, ChatMessage, FunctionCall, FunctionCallOutput
from antiphon.core.commands import Close, Command, Generate, Play, Record, RunHook, RunTool, Speak
from antiphon.core.conversation import Conversation
from antiphon.core.facts import (
    Call,
    Fact,
    Handoff,
    HookReturned,
    PlayoutFinished,
    SpeechRequested,
    StepGenerated,
    TextStarted,
    ToolCalled,
    ToolReturned,
    Transcribed,
    UserSpeechEnded,
    UserSpeechStarted,
    UserTurnSubmitted,
)
from antiphon.options import Effect, Endpointing, SessionOptions, ToolPolicy, TurnHandling

C = TypeVar("C", bound=Command)

SILENCE = 0.3
UNFINISHED = 1.2
"""`min_delay` and `max_delay` of dialogues that set no endpointing of their own."""


class Dialogue:
    """A conversation under test, its commands and its folded history."""

    def __init__(self, *, hooks: bool = True, **options: Any) -> None:
        turns: TurnHandling = options.pop("turns", TurnHandling())
        if turns.endpointing == Endpointing():
            turns = replace(turns, endpointing=Endpointing(SILENCE, UNFINISHED))
        self.core = Conversation(SessionOptions(turns=turns, **options), "a")
        self.now = 0.0
        self.answers_hooks = hooks
        self.commands: list[Command] = []
        self.fresh: list[Command] = []
        """What the latest fact or wait brought."""
        self.history: list[ChatItem] = []
        self.contexts: dict[str, list[ChatItem]] = {}
        self._texts: dict[int, str] = {}
        self._calls = 0
        self.core.start(0.0)
        self._collect()

    # -- the world

    def tell(self, *facts: Fact) -> Dialogue:
        self.fresh = []
        for fact in facts:
            if isinstance(fact, StepGenerated):
                self._texts[fact.gen] = fact.text
            self.core.receive(fact, self.now)
            self._collect()
        return self

    def wait(self, seconds: float) -> Dialogue:
        """Let time pass, with every deadline on the way kept."""
        self.fresh = []
        end = self.now + seconds
        while self.core.deadline is not None and self.core.deadline <= end:
            assert self.core.deadline >= self.now - 1e-9, "a deadline in the past"
            self.now = max(self.now, self.core.deadline)
            before = self.core.deadline
            self.core.advance(self.now)
            self._collect()
            assert self.core.deadline is None or self.core.deadline > before - 1e-9
        self.now = end
        return self

    def _collect(self) -> None:
        commands = self.core.take_commands()
        self.commands += commands
        self.fresh += commands
        for command in commands:
            if isinstance(command, Record):
                if not command.carried:
                    self.history.append(command.item)
                self.contexts.setdefault(command.agent, []).append(command.item)
        for command in commands:
            if isinstance(command, RunHook) and self.answers_hooks:
                self.core.receive(HookReturned(command.hook), self.now)
                self._collect()

    # -- shorthands

    def types(self, text: str) -> Dialogue:
        return self.tell(UserTurnSubmitted(text))

    def says(self, text: str, *, silence: float = SILENCE) -> Dialogue:
        """The caller speaks a whole turn and is silent long enough."""
        self.tell(UserSpeechStarted())
        self.wait(0.4)
        return self.tell(Transcribed(text, True), UserSpeechEnded()).wait(silence)

    def model(self, text: str = "", *calls: tuple[str, ToolPolicy] | str, complete: bool = True) -> Generate:
        """The latest generation answers with text and calls (a tool's name, with its policy if it matters)."""
        gen = self.last(Generate)
        fresh: list[Command] = []
        if text:
            fresh += self.tell(TextStarted(gen.gen)).fresh
        for call in calls:
            name, policy = (call, ToolPolicy()) if isinstance(call, str) else call
            self._calls += 1
            made = Call(f"c{self._calls}", name, "{}", "{}")
            fresh += self.tell(ToolCalled(gen.gen, made, policy)).fresh
        if complete:
            fresh += self.tell(StepGenerated(gen.gen, text)).fresh
        self.fresh = fresh
        return gen

    def voice(self, text: str) -> Speak:
        """The latest text to say is synthesized."""
        speak = self.last(Speak)
        self.tell(TextStarted(speak.gen), StepGenerated(speak.gen, text))
        return speak

    def played(self, segment: int | None = None, heard: str | None = None) -> Dialogue:
        """The segment (the latest to be played) sounded to its end, or as far as `heard`."""
        segment = self.last(Play).segment if segment is None else segment
        return self.tell(PlayoutFinished(segment, self._text_of(segment) if heard is None else heard))

    def _text_of(self, segment: int) -> str:
        gens = {c.segment: c.gen for c in self.commands if isinstance(c, (Generate, Speak))}
        return self._texts.get(gens[segment], "")

    @property
    def generated(self) -> set[int]:
        """The generations that have given their response."""
        return set(self._texts)

    def say(self, *, run: int | None = None, interruptible: bool = True) -> int:
        speech = self.core.new_id()
        self.tell(SpeechRequested(speech, "say", run=run, interruptible=interruptible))
        return speech

    def returns(
        self, output: str = "ok", *, run: int | None = None, reply: bool = True, handoff: str | None = None
    ) -> Dialogue:
        run = self.last(RunTool).run if run is None else run
        to = None if handoff is None else Handoff(handoff, handoff.upper())
        return self.tell(ToolReturned(run, output, reply=reply, handoff=to))

    # -- what came of it

    def all(self, kind: type[C]) -> list[C]:
        """Every command of a kind so far."""
        return [command for command in self.commands if isinstance(command, kind)]

    def last(self, kind: type[C]) -> C:
        found = self.all(kind)
        assert found, f"no {kind.__name__} was commanded"
        return found[-1]

    def got(self, kind: type[Command]) -> bool:
        """Whether the latest fact brought such a command."""
        return any(isinstance(command, kind) for command in self.fresh)

    @property
    def closed(self) -> bool:
        return bool(self.all(Close))

    @property
    def lines(self) -> list[str]:
        """The history, a short line an item."""
        return [line(item) for item in self.history]

    def context(self, generate: Generate | None = None) -> list[str]:
        """What the model sees in a request, a short line an item."""
        request = self.last(Generate) if generate is None else generate
        return [line(item) for item in [*self.contexts.get(request.agent, []), *request.open]]


def line(item: ChatItem) -> str:
    match item:
        case ChatMessage():
            cut = "~" if item.interrupted else ""
            return f"{item.role}: {item.text_content}{cut}"
        case FunctionCall():
            return f"call {item.name} {item.call_id}"
        case FunctionCallOutput():
            return f"{'error' if item.is_error else 'output'} {item.output}"
        case _:
            return item.type


def policy(effect: Effect = "unsaid", **more: Any) -> ToolPolicy:
    return ToolPolicy(effect=effect, parallel=effect != "writes", **more)
