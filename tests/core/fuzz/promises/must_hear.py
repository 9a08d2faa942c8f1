"""What the caller must hear before anything is done."""

from __future__ import annotations

from collections.abc import Iterable

from antiphon.core import commands as do
from antiphon.core import notices as told
from tests.core.fuzz.listener import on
from tests.core.fuzz.promises.promise import Promise


class NothingIsDoneBeforeItWasHeard(Promise):
    """Until each line was heard whole, by the loudspeaker's word, only what reads runs; then it counts (options)."""

    def start(self) -> None:
        self._segments: set[int] = set()
        self._begun: dict[str, int] = {}
        self._settled: set[str] = set()

    @on(do.Speak)
    def asked(self, command: do.Speak) -> None:
        lines = [line.text for line in self.options.must_hear]
        if command.text not in lines or command.ahead:
            return
        first = next(iter(self.trace.to_be_heard), None)
        if command.text != first:
            self.broken(f"{command} of what was heard, or is not the next")
        assert command.text is not None
        if not self.trace.speech(command.speech).steps:
            self._begun[command.text] = self._begun.get(command.text, 0) + 1
        self._segments.add(command.segment)

    @on(told.MustHearSettled)
    def settled_by(self, notice: told.MustHearSettled) -> None:
        if notice.text in self._settled:
            self.broken(f"{notice} a second time")
        self._settled.add(notice.text)
        if notice.begun != self._begun.get(notice.text):
            self.broken(f"{notice}: it was begun {self._begun.get(notice.text)} times")
        if notice.heard_at is not None and notice.text in self.trace.to_be_heard:
            self.broken(f"{notice} of what was not heard whole")

    @on(do.RunTool)
    def run(self, command: do.RunTool) -> None:
        if command.policy.effect != "reads" and (self.trace.to_be_heard or self.trace.is_unsayable):
            self.broken(f"{command} before {self.trace.to_be_heard} was heard")

    @on(do.Play)
    def played(self, command: do.Play) -> None:
        step = self.trace.segments.get(command.segment)
        if step is None or not self.trace.to_be_heard or self.trace.is_unsayable or step.speech.is_filler:
            return
        if command.segment not in self._segments:
            self.broken(f"{command} before {self.trace.to_be_heard[0]!r} was heard")

    def unfinished(self) -> Iterable[str]:
        """It is not forgotten: whoever waits for it waits for a voice, or for the caller."""
        is_open = self.trace.awaits_notice and not self.trace.is_voice_lost and not self.trace.ends
        return [f"to be heard: {self.trace.to_be_heard[0]!r}"] if is_open else ()
