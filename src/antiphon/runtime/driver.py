"""The shell around the conversation core: facts in, commands out, one timer.

Above: the application, which is the driver's host (`host.py`). Below: the pure core, and one performer for each kind
of command: `generation`, `synthesis`, `tool_runner`, `hooks`, `recognition`. The driver takes no decision and waits
for nothing: `report` is a plain call. A fact reported while commands are being performed is queued behind them, never
re-entered.

Every task of a session is spawned here, so that closing can end them all.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar, assert_never

from antiphon.core.commands import (
    Adopt,
    CancelTool,
    Close,
    Command,
    CommitAudio,
    Decline,
    Discard,
    Emit,
    Generate,
    PausePlayout,
    Play,
    PredictEndOfTurn,
    RebindRun,
    Record,
    Release,
    ReleaseRun,
    ResumePlayout,
    RunHook,
    RunTool,
    Speak,
    StopGenerating,
    StopPlayout,
)
from antiphon.core.conversation import Conversation
from antiphon.core.facts import Fact, GenerationFailed, HookReturned, PlayoutFinished, ToolReturned
from antiphon.options import SessionOptions
from antiphon.runtime.generation import Generation
from antiphon.runtime.hooks import Hooks, current_hook
from antiphon.runtime.host import Host
from antiphon.runtime.journal import JournaledConversation, Tell
from antiphon.runtime.playout import Playout
from antiphon.runtime.realtime import Realtime
from antiphon.runtime.recognition import Recognition
from antiphon.runtime.tool_runner import ToolRunner, current_run
from antiphon.transport import AudioInput, AudioOutput
from antiphon.turn_detector import TurnDetector
from antiphon.vad import VAD

if TYPE_CHECKING:
    from antiphon.runtime.stopwatch import Stopwatch

logger = logging.getLogger("antiphon")

T = TypeVar("T")

THREAD_CALL_TIMEOUT = 10.0
"""Seconds that a tool's thread waits for the event loop to take a call of its."""


class Driver:
    """One running conversation. Create it on the event loop that will run it."""

    def __init__(
        self,
        host: Host,
        options: SessionOptions,
        agent: str,
        *,
        audio_input: AudioInput | None = None,
        audio_output: AudioOutput | None = None,
        vad: VAD | None = None,
        turn_detector: TurnDetector | None = None,
        journal: Tell | None = None,
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.options = options
        self.host = host
        self._thread = threading.get_ident()
        self._context = _clean_context()
        self.mark = f"{os.urandom(4).hex()}_"
        """Is in the ids of the call's items, which may end up among those of other calls."""
        epoch = time.time() - self.loop.time()
        self._conversation = (
            Conversation(options, agent, epoch, self.mark)
            if journal is None
            else JournaledConversation(journal, options, agent, epoch, self.mark)
        )
        self._facts: deque[Fact] = deque()
        self._performing = False
        self._now = self.began = self.loop.time()
        """When the call began."""
        self.stopwatch: Stopwatch | None = None
        """Is shown every fact and every command, where somebody wants them measured."""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = 0.0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed: asyncio.Future[str] = self.loop.create_future()
        self.playout = Playout(self, host, audio_output)
        self.generation = Generation(self, host, self.playout)
        self.tools = ToolRunner(self, host, self.generation)
        self.hooks = Hooks(self, host, self.generation)
        self.realtime = Realtime(self, host)
        self.recognition = Recognition(self, host, audio_input, vad, turn_detector)

    # -- facts

    def start(self, agent: str) -> None:
        """Begin the conversation, and to listen for `agent`."""
        self._conversation.start(self._time())
        self.playout.start()
        self._perform_decided()
        self.realtime.listen_for(agent)
        self.recognition.start(agent)

    def report(self, fact: Fact) -> None:
        """Tell the core what happened and perform what it decides, before this returns.

        Called while commands are being performed, it queues the fact behind them.
        """
        self._facts.append(fact)
        if not self._performing:
            self._hear()

    def new_id(self) -> int:
        """A number for a speech or a task that the application opens."""
        return self._conversation.new_id()

    @property
    def idle(self) -> bool:
        """Nothing is owed, said, done or decided, and nothing reported is still unheard."""
        return not self._facts and self._conversation.idle

    @property
    def said_goodbye(self) -> bool:
        """The call ends, or has ended, with a goodbye that the caller had nothing to add to."""
        return self._conversation.said_goodbye

    @property
    def has_audio_output(self) -> bool:
        """Somebody hears the agent."""
        return self.playout.has_output

    @property
    def is_closed(self) -> bool:
        """The core has closed the conversation: nothing is performed any more."""
        return self._closed.done()

    async def wait_closed(self) -> str:
        """Until the core closes the conversation. Returns the reason it was given."""
        return await asyncio.shield(self._closed)

    def _time(self) -> float:
        self._now = max(self._now, self.loop.time())
        return self._now

    def _perform_decided(self) -> None:
        """Perform what the core decided without a fact, and whatever follows from that."""
        self._performing = True
        try:
            for command in self._conversation.take_commands():
                self._perform(command)
        finally:
            self._performing = False
        self._hear()

    def _hear(self) -> None:
        """Tell the core what was reported and perform what it decides, until nothing more is reported."""
        self._performing = True
        conversation, facts = self._conversation, self._facts
        try:
            while facts:
                self._receive(facts.popleft())
                for command in conversation.take_commands():
                    self._perform(command)
        finally:
            self._performing = False
        self._arm()

    def _receive(self, fact: Fact) -> None:
        now = self._time()
        if self.stopwatch is not None:
            self._measure(self.stopwatch.fact, fact, now)
        try:
            self._conversation.receive(fact, now)
        except Exception as error:
            # Never expected. Whoever reported the fact (a tool, a microphone) is not to blame and must not be hit.
            logger.exception("the conversation could not take %r", fact)
            self.host.failed(error, "core")

    def _measure(self, show: Callable[[T, float], None], what: T, now: float) -> None:
        try:
            show(what, now)
        except Exception as error:
            # Never expected. The call is worth more than its figures.
            logger.exception("%r could not be measured; this call is measured no more", what)
            self.stopwatch = None
            self.host.failed(error, "stopwatch")

    # -- time

    def _arm(self) -> None:
        # A timer that fires too early re-arms itself, or stays away: cheaper than one cancelled timer for each fact.
        deadline = None if self._closed.done() else self._conversation.deadline
        if self._timer is not None:
            if deadline is None or self._timer_due <= deadline:
                return
            self._timer.cancel()
            self._timer = None
        if deadline is not None:
            self._timer_due = deadline
            self._timer = self.loop.call_at(deadline, self._on_timer, context=self._context)

    def _on_timer(self) -> None:
        self._timer = None
        self._now = max(self._time(), self._timer_due)  # the loop may fire one clock tick early
        if not self._performing:
            self._conversation.advance(self._now)
            self._perform_decided()

    # -- commands

    def _perform(self, command: Command) -> None:
        if self.stopwatch is not None:
            self._measure(self.stopwatch.command, command, self._now)
        try:
            self._dispatch(command)
        except Exception as error:
            logger.exception("performing %s failed", type(command).__name__)
            self.host.failed(error, "runtime")
            closing = _closing_fact(command)
            if closing is not None:
                self._facts.append(closing)

    def _dispatch(self, command: Command) -> None:
        match command:
            case Emit():
                if command.kind == "speech_done" and command.speech is not None:
                    self.generation.forget(command.speech)
                    self.playout.forget(command.speech)
                    self.realtime.speech_done(command.speech)
                self.host.emit(command)
            case Record():
                self.realtime.recorded(command)
                self.host.record(command, self.playout.raw_text(command))
            case Generate():
                self.generation.generate(command)
            case Adopt():
                self.generation.adopt(command)
            case Decline():
                self.realtime.decline(command.response)
            case CommitAudio():
                self.realtime.commit_audio(command.turn)
            case RunTool():
                self.tools.run(command)
            case Play():
                self.playout.play(command.segment, first=command.first)
            case Speak():
                self.generation.speak(command)
            case RunHook():
                self.hooks.run(command)
            case StopGenerating():
                self.generation.stop(command.gen)
            case Release():
                self.generation.release(command)
            case Discard():
                self.generation.discard(command)
            case StopPlayout():
                if command.at_word:
                    self.playout.fade(command.segment)
                else:
                    self.playout.stop(command.segment)
            case PausePlayout():
                self.playout.pause()
            case ResumePlayout():
                self.playout.resume()
            case CancelTool():
                self.tools.cancel(command.run)
            case RebindRun():
                self.tools.rebind(command.run, command.call, command.speech, command.gen)
            case ReleaseRun():
                self.tools.release(command.run)
            case PredictEndOfTurn():
                self.recognition.predict(command.version, command.text)
            case Close():
                self._close(command.reason)
            case _:
                assert_never(command)

    # -- tasks

    def spawn(self, work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        """Run `work` as a task of this session. It inherits nothing from the code that happens to run now."""
        task = self.loop.create_task(work, name=name, context=self._context.copy())
        self._tasks.add(task)
        task.add_done_callback(self._task_done)
        return task

    def _task_done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("task %r failed", task.get_name(), exc_info=error)

    def in_loop_thread(self) -> bool:
        """False in the thread of a synchronous tool."""
        return threading.get_ident() == self._thread

    def call_in_loop(self, function: Callable[[], T]) -> T:
        """Call `function` on the event loop, from a tool's thread, with the thread's context, and return its result."""
        answer: T | None = None
        error: BaseException | None = None
        done = threading.Event()

        def call() -> None:
            nonlocal answer, error
            try:
                answer = function()
            except BaseException as raised:  # it belongs to the thread that asked
                error = raised
            done.set()

        self.loop.call_soon_threadsafe(call, context=contextvars.copy_context())
        if not done.wait(THREAD_CALL_TIMEOUT):
            raise TimeoutError(f"the event loop did not take the call within {THREAD_CALL_TIMEOUT} s")
        if error is not None:
            raise error
        return answer  # type: ignore[return-value]  # set, since `done` is and `error` is not

    # -- the end

    def _close(self, reason: str) -> None:
        if not self._closed.done():
            self._closed.set_result(reason)
        self.halt()

    def halt(self) -> None:
        """Silence everything and cancel every task. Waits for nothing."""
        if not self._closed.done():
            self._closed.set_result("error")
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.playout.halt()
        self.recognition.halt()
        self.realtime.halt()
        for task in tuple(self._tasks):
            task.cancel()

    async def aclose(self, grace: float) -> None:
        """Wait at most `grace` seconds for the cancelled tasks, then release the audio.

        Tasks that stay deaf are abandoned.
        """
        own = asyncio.current_task()
        waiting = [task for task in self._tasks if task is not own]
        if waiting:
            _, deaf = await asyncio.wait(waiting, timeout=grace)
            for task in deaf:
                logger.warning(
                    "%r did not end within %s s of its cancellation and was abandoned", task.get_name(), grace
                )
        await self.recognition.aclose()
        await self.playout.aclose()


def _clean_context() -> contextvars.Context:
    """The context of the caller, without the tool or hook it may run in: what a session's own tasks inherit."""
    context = contextvars.copy_context()
    context.run(current_run.set, None)
    context.run(current_hook.set, None)
    return context


def _closing_fact(command: Command) -> Fact | None:
    """What a command that could not be performed closes with."""
    match command:
        case Generate() | Adopt() | Speak():
            return GenerationFailed(command.gen, "the runtime failed")
        case RunTool():
            return ToolReturned(command.run, "An internal error occurred", is_error=True)
        case RunHook():
            return HookReturned(command.hook)
        case Play() | StopPlayout():
            return PlayoutFinished(command.segment, "")
        case _:
            return None
