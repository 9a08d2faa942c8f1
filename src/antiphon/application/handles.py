"""The handles of a session's speeches, from when they are asked for until they are done.

Above: the session, tools and the announcer. Below: `SpeechHandle`.
"""

from __future__ import annotations

from collections.abc import AsyncIterable
from typing import Any, Literal, TypeAlias

from antiphon.application.surroundings import Surroundings
from antiphon.audio import AudioFrame
from antiphon.core.facts import SpeechRequested
from antiphon.core.notices import SpeechDone, SpeechInterrupted, SpeechProtected, StepEnded
from antiphon.events import SpeechCreatedEvent
from antiphon.options import ToolChoice
from antiphon.running_tool import RunningTool
from antiphon.runtime.host import SaySource
from antiphon.runtime.run import Run
from antiphon.runtime.scope import HookScope, current, current_run
from antiphon.speech_handle import SpeechHandle

Say: TypeAlias = tuple[SaySource, AsyncIterable[AudioFrame] | None]
"""What a `say()` says, and its sound if that is there already."""


class Handles:
    """The handles of one session, by the core's number."""

    def __init__(self, here: Surroundings) -> None:
        self._here = here
        self._handles: dict[int, SpeechHandle] = {}
        self._by_item: dict[str, SpeechHandle] = {}
        self._sources: dict[int, Say] = {}
        self.current: SpeechHandle | None = None
        """Of what the agent says, or prepares to say."""

    def request(
        self,
        kind: Literal["say", "reply", "filler"],
        say: Say | None = None,
        *,
        interruptible: bool,
        instructions: str | None = None,
        tool_choice: ToolChoice | None = None,
        record: bool = True,
        user_input: str | None = None,
    ) -> SpeechHandle:
        """Ask the core for a speech (see `SpeechRequested`). `say`: what it says, if no model makes it.

        A dropped tool's is over at once.
        """
        driver, run, scope = self._here.running, self.own_run(), current.get()
        number = driver.new_id()
        handle = SpeechHandle(driver.port, number, allow_interruptions=interruptible)
        if run is not None and run.released:
            handle.mark_interrupted()
            handle.mark_done()
            return handle
        if say is not None:
            self._sources[number] = say
        self.opened(handle, "generate_reply" if kind == "reply" else "say", user_initiated=True)
        agent = scope.agent if isinstance(scope, HookScope) and scope.port is driver.port else None
        asked_by = None if run is None else run.id
        driver.report(
            SpeechRequested(number, kind, instructions, tool_choice, interruptible, asked_by, agent, record, user_input)
        )
        return handle

    def opened(self, handle: SpeechHandle, source: Any, *, user_initiated: bool) -> None:
        """A speech was asked for: keep its handle until it is done."""
        self._handles[handle.number] = handle
        self._here.tell(
            "speech_created",
            lambda: SpeechCreatedEvent(user_initiated=user_initiated, source=source, speech_handle=handle),
        )

    def speaks(self, speech: int, *items: str) -> SpeechHandle:
        """It is this speech's turn now; a message or a round of calls that goes by one of these names is its own."""
        handle = self._handles.get(speech)
        if handle is None:  # the core opened it by itself
            allowed = self._here.running.options.turns.interruption.enabled
            handle = SpeechHandle(self._here.running.port, speech, allow_interruptions=allowed)
            self.opened(handle, "generate_reply", user_initiated=False)
        self.current = handle
        for item in items:
            self._by_item[item] = handle
        return handle

    def of_item(self, item: str | None) -> SpeechHandle | None:
        """The speech that a message (by its id) or a call (by its group) belongs to."""
        return self._by_item.get(item or "")

    def take_source(self, speech: int) -> Say:
        """What the `say()` that opened this speech says."""
        return self._sources.pop(speech, ("", None))

    # -- tools

    def own_run(self) -> Run | None:
        """The run that the running code belongs to, if it is one of this session, and at work or dropped."""
        run = current_run()
        if run is None or run.port is not self._here.running.port or (run.ended and not run.released):
            return None
        return run

    def awaited_tool(self) -> str | None:
        """The tool that the running code belongs to, if the session does not rest before that has returned."""
        run = self.own_run()
        return run.call.name if run is not None and run.holds else None

    def speech_of(self, run: Run) -> SpeechHandle:
        """The handle of the speech that a run serves."""
        handle = self._handles.get(run.speech)
        if handle is None:
            handle = SpeechHandle(self._here.running.port, run.speech)
            if run.released:
                handle.mark_interrupted()
            handle.mark_done()
        return handle

    def at_work(self, run: Run) -> RunningTool:
        """A run as applications see it."""
        return RunningTool(run, self.speech_of)

    def running_tools(self) -> list[RunningTool]:
        """The tools at work."""
        driver = self._here.driver
        return [] if driver is None else [self.at_work(run) for run in driver.runs()]

    def released(self, run: Run) -> None:
        """The caller spoke over a run."""
        self._interrupt(run.speech)

    # -- what becomes of them

    def protected(self, notice: SpeechProtected) -> None:
        """The caller cannot cut a speech any more."""
        handle = self._handles.get(notice.speech)
        if handle is not None:
            handle.mark_protected()

    def interrupted(self, notice: SpeechInterrupted) -> None:
        """A speech was cut."""
        self._interrupt(notice.speech)

    def _interrupt(self, speech: int) -> None:
        handle = self._handles.get(speech)
        if handle is not None:
            handle.mark_interrupted()

    def step_ended(self, notice: StepEnded) -> None:
        """A response of a speech was played."""
        handle = self._handles.get(notice.speech)
        if handle is not None:
            handle.mark_step_done(notice.gen)

    def speech_done(self, notice: SpeechDone) -> None:
        """A speech is over."""
        handle = self._handles.pop(notice.speech, None)
        self._sources.pop(notice.speech, None)
        if handle is None:
            return
        if self.current is handle:
            self.current = None
        for key in [key for key, owner in self._by_item.items() if owner is handle]:
            del self._by_item[key]
        handle.mark_done()

    def end(self) -> None:
        """The session is over: nobody waits for speech any more."""
        for handle in list(self._handles.values()):
            handle.mark_interrupted()
            handle.mark_done()
        self._handles.clear()
