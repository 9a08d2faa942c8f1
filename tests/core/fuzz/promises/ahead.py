"""What is made before it is known to be wanted."""

from __future__ import annotations

from collections.abc import Iterable

from antiphon.chat import ChatItem, ChatMessage
from antiphon.core import commands as do
from antiphon.core import facts as f
from antiphon.core import notices as told
from tests.core.fuzz.listener import on
from tests.core.fuzz.promises.promise import Promise
from tests.core.fuzz.trace import Step


class WhatIsMadeAheadIsSettled(Promise):
    """What is made ahead is released or discarded, once; of each kind there is one at a time (commands)."""

    def _held(self) -> list[Step]:
        return [step for step in self.trace.steps.values() if step.is_held]

    @on(do.Generate, do.Speak)
    def asked(self, command: do.Generate | do.Speak) -> None:
        if command.ahead and any(type(step.asked) is type(command) for step in self._held()):
            self.broken(f"{command} beside another that is held")

    @on(do.Release, do.Discard)
    def settled_by(self, command: do.Release | do.Discard) -> None:
        step = self.trace.steps.get(command.gen)
        if step is None or not step.is_held or step.speech.number != command.speech:
            self.broken(f"{command} of what is not held")
        if isinstance(command, do.Release) and step.failed:
            self.broken(f"{command} of what has failed")

    def unfinished(self) -> Iterable[str]:
        return [f"made ahead: {step.gen}" for step in self._held()] if self.trace.is_idle else ()


class WhatIsHeldLeavesNoTrace(Promise):
    """Nobody is told of what is held, nothing of it is played, and no tool is run for it (commands)."""

    @on(do.Play)
    def played(self, command: do.Play) -> None:
        step = self.trace.segments.get(command.segment)
        if step is not None and step.is_held:
            self.broken(f"{command} of what is held")

    @on(do.RunTool, do.RebindRun)
    def run(self, command: do.RunTool | do.RebindRun) -> None:
        if command.gen in self.trace.steps and self.trace.steps[command.gen].is_held:
            self.broken(f"{command} of what is held")

    @on(told.SpeechStarted, told.SpeechInterrupted, told.SpeechDone, told.SpeechFailed, told.StepEnded)
    def told(self, notice: told.SpeechStarted) -> None:
        if any(step.is_held for step in self.trace.speech(notice.speech).steps):
            self.broken(f"{notice} tells of what is held")


class AnAnswerIsMadeAheadForALikelyEnd(Promise):
    """The model is asked ahead when no more is likely to come, a few times a turn, and not over the agent (options).

    Words that are final may be all of them while the caller still seems to speak; others are not.
    """

    def start(self) -> None:
        self._tries = 0
        self._tried = ""
        """The words that the latest was made for."""
        self._is_final = False
        """The latest words were."""

    @on(f.Transcribed)
    def transcribed(self, fact: f.Transcribed) -> None:
        self._is_final = fact.final

    @on(do.Generate)
    def asked(self, command: do.Generate) -> None:
        if not command.ahead:
            return
        trace, turns = self.trace, self.options.turns
        if (trace.is_speaking and not self._is_final) or any(step.is_playing for step in trace.line):
            self.broken(f"{command} while somebody is heard")
        if trace.probability is not None and trace.probability < turns.endpointing.unlikely:
            self.broken(f"{command}, and more is likely to come")
        if command.agent != trace.agent or not turns.preemptive_generation.enabled:
            self.broken(f"{command}, which nobody wants")
        text = getattr(command.open[-1], "text_content", None) or ""
        self._tries = self._tries + 1 if f"{text} ".startswith(f"{self._tried} ") else 1
        self._tried = text
        if self._tries > turns.preemptive_generation.max_retries:
            self.broken(f"{command} is try {self._tries} of one turn")

    @on(do.RunHook)
    def taken(self, command: do.RunHook) -> None:
        if command.text.startswith(self._tried):
            self._tries, self._tried = 0, ""


class WhatIsReleasedIsWhatWouldBeAskedNow(Promise):
    """What is released is as if it had been asked for now: the same agent, and the same context (commands)."""

    def start(self) -> None:
        self._changes = 0
        """Of what requests show, other than by what is recorded."""
        self._basis: dict[int, tuple[int, int]] = {}
        """By generation: how many items the context held then, and how many changes there had been."""

    @on(f.ContextChanged)
    def changed(self, _: f.ContextChanged) -> None:
        self._changes += 1

    @on(f.HookReturned)
    def hook_returned(self, fact: f.HookReturned) -> None:
        self._changes += fact.context_changed and self.trace.returned is not None

    @on(do.Generate)
    def asked(self, command: do.Generate) -> None:
        if command.ahead:
            self._basis[command.gen] = len(self.trace.contexts.get(command.agent, ())), self._changes

    @on(do.Release)
    def released(self, command: do.Release) -> None:
        asked = self.trace.steps[command.gen].asked if command.gen in self.trace.steps else None
        if not isinstance(asked, do.Generate):
            return
        count, changes = self._basis[command.gen]
        since = self.trace.contexts.get(asked.agent, [])[count:]
        if asked.agent != self.trace.agent:
            self.broken(f"{command} of a response of {asked.agent}; in charge is {self.trace.agent}")
        if changes != self._changes or [_words(item) for item in since] != [_words(item) for item in asked.open]:
            self.broken(
                f"{command}, asked with {asked.open}; since then came {since}, and {self._changes - changes} changes"
            )


def _words(item: ChatItem) -> tuple[object, ...]:
    """What a request shows of an item, without its id and time."""
    text = item.text_content if type(item) is ChatMessage else getattr(item, "call_id", None)
    return type(item), getattr(item, "role", ""), text
