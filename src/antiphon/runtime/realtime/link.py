"""One agent's conversation with its model: the session, kept open, and the responses that come of it.

Above: `links`. Below: `RealtimeModel`, and the parts of a link: the `wire`, what the session knows (`sync`), what it
hears (`audio`). A link performs `Generate` by asking for a response, and feeds what comes into the response that the
core knows: text, sound, calls, the end. What the model does unasked is reported to the core, and kept in silence until
the core adopts or declines it. A session that breaks is opened again and told the conversation so far.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from antiphon.chat import ChatItem
from antiphon.core.commands import Generate, message_id
from antiphon.core.facts import CloseRequested, ResponseBegan
from antiphon.errors import ProviderConnectionError, ProviderError, ProviderTimeout, pass_on
from antiphon.llm import FunctionToolCall
from antiphon.options import ToolChoice
from antiphon.realtime import (
    AudioDelta,
    Failed,
    FunctionCallDone,
    InputCommitted,
    InputTranscribed,
    RealtimeEvent,
    RealtimeModel,
    RealtimeSession,
    ResponseDone,
    ResponseStarted,
    SpeechStarted,
    SpeechStopped,
    TextDelta,
)
from antiphon.runtime.callers_voice import CallersVoice
from antiphon.runtime.host import Agents, Events, Tools
from antiphon.runtime.port import Port
from antiphon.runtime.realtime.audio import Turns
from antiphon.runtime.realtime.session_watch import SessionWatch
from antiphon.runtime.realtime.sync import Sync
from antiphon.runtime.realtime.turn_sound import TurnSound
from antiphon.runtime.realtime.unnoticed import Unnoticed
from antiphon.runtime.realtime.wire import Wire
from antiphon.runtime.responses import Response
from antiphon.runtime.tool_calls import ToolCalls
from antiphon.streams import Breaks
from antiphon.timer import Timer

logger = logging.getLogger("antiphon")

OWN_REPLY_TIMEOUT = 5.0
"""Seconds that a model has to answer results of tools by itself."""

RESTART_DELAY = 0.5
"""Seconds before a broken session is opened again; doubled with each failure in a row."""

MAX_FAILURES = 4
"""Sessions that break in a row, without a single event, before the call is given up."""

_Piece: TypeAlias = TextDelta | AudioDelta | FunctionCallDone | ResponseDone


@dataclass(slots=True, eq=False)
class _Reply:
    """A response of the model."""

    id: str
    response: Response | None = None
    """What it is to the core; None: not adopted, or not wanted."""
    kept: list[_Piece] = field(default_factory=list)
    """What came of it before it was adopted."""
    unwanted: bool = False
    done: bool = False

    def keep(self, piece: _Piece) -> None:
        """It may be adopted yet."""
        self.kept.append(piece)

    def take_kept(self) -> list[_Piece]:
        """What came of it so far."""
        kept, self.kept = self.kept, []
        return kept

    def adopted(self, response: Response) -> None:
        """It is what the core knows as this response."""
        self.response = response

    def refused(self) -> None:
        """Nobody wants it."""
        self.unwanted, self.response = True, None

    def ended(self) -> None:
        """Nothing more comes of it."""
        self.done = True

    def let_go(self) -> None:
        """The core has all of it."""
        self.response = None

    def lost(self) -> None:
        """Its session is gone."""
        self.done = self.unwanted = True


class Link:
    """One agent's conversation with its model."""

    def __init__(
        self,
        port: Port,
        agents: Agents,
        tools: Tools,
        events: Events,
        voice: CallersVoice,
        calls: ToolCalls,
        sound: TurnSound,
        agent: str,
        model: RealtimeModel,
    ) -> None:
        self._port = port
        self._events = events
        self._voice = voice
        self._tool_calls = calls
        self._agent = agent
        self._model = model
        self._can = model.capabilities
        self.closed = False
        self._retiring: Timer | None = None
        self._task: asyncio.Task[None] | None = None
        self._heard_anything = False
        """This session has given an event."""
        self._connecting = False
        self._breaks = Breaks(most_mute=MAX_FAILURES - 1, delay=RESTART_DELAY)
        self._began = 0.0
        """When this session was begun."""
        me = weakref.proxy(self)  # its parts know it, and do not keep it
        self._watch = SessionWatch(port.loop, port.options.stream_timeout, self)
        self._wire = Wire(lambda: me.open())
        self.sync = Sync(port, agents, tools, self._wire, lambda: me.reopen(), agent, model.capabilities)
        """What the session knows."""
        self.turns = Turns(
            port,
            events,
            self._wire,
            self._watch,
            self.sync,
            sound,
            Unnoticed(voice) if self._can.turn_detection else None,
            has_words=self._can.user_transcription,
        )
        """What it hears of the caller."""
        self._asked: dict[str, Response] = {}
        """By request."""
        self._expected: Response | None = None
        """The answer to results that the model gives unasked."""
        self._patience: Timer | None = None
        self._replies: dict[str, _Reply] = {}
        self._pending: dict[int, _Reply] = {}
        """By the core's number: responses that it has not judged yet."""

    # -- the session

    @property
    def is_open(self) -> bool:
        """There is a session, which hears what is pushed."""
        return self._wire.is_open

    def open(self) -> None:
        """Begin to talk to the model, if it was not begun and is not over."""
        if not self.closed and (self._task is None or self._task.done()):
            self._task = self._port.spawn(self._run(), f"realtime model of {self._agent}")

    def retire(self) -> None:
        """Its agent has left. What the caller said to it may still have to be put into words."""
        if self.turns.wants_words and self.is_open:
            loop = self._port.loop
            self._retiring = Timer(loop, loop.time() + self._port.options.words_timeout, self.close)
        else:
            self.close()

    def close(self) -> None:
        """End it."""
        self.closed = True
        for timer in (self._patience, self._retiring):
            if timer is not None:
                timer.cancel()
        self._watch.stop()
        self.sync.stop()
        self._hang_up()

    def _hang_up(self) -> None:
        """The session is given up: its task takes no notice of how it ends."""
        self._wire.cut()
        task, self._task = self._task, None
        if task is not None:
            task.cancel()

    def reopen(self) -> None:
        """The model cannot be told of a change: another session begins with it."""
        self._hang_up()
        self.sync.forget_calls()
        self.open()

    async def _run(self) -> None:
        while True:
            self._heard_anything, self._began = False, self._port.loop.time()
            self._connecting = True
            self._watch.stir()
            try:
                async with self._model.session(self.sync.setup()) as session:
                    self._connecting = False
                    self._wire.opened(session)
                    self.turns.catch_up()
                    async for event in session:
                        self._heard_anything = True
                        self._take(event)
                        self._watch.stir()
                raise ProviderConnectionError(f"{self._model.label}: the session ended", provider=self._model.label)
            except BaseException as error:
                pass_on(error)
                if self._task is not asyncio.current_task():
                    return  # it was given up, and fails in being closed
                wait = self._broke(error)
            if wait is None:
                return
            await asyncio.sleep(wait)

    def _broke(self, error: BaseException) -> float | None:
        """The session is lost: seconds until another is opened, or None if the call ends with it."""
        self._connecting = False
        breaks = self._breaks
        wait = breaks.broke(held=self._port.loop.time() - self._began, gave=self._heard_anything)
        self._lost(error)
        if self._retiring is not None:  # its agent has left: it was to word what the caller said, and cannot
            self.close()
            return None
        if wait is None or not (isinstance(error, ProviderError) and error.retryable):
            times = f" (it broke {breaks.in_a_row} times in a row)" if breaks.in_a_row > 1 else ""
            logger.error("agent %r: the call ends, its model cannot be used%s: %s", self._agent, times, error)
            self._port.report(CloseRequested(drain=False, reason="error"))
            return None
        again = "agent %r: its model's session broke, for the %d. time in a row; another is opened: %s"
        logger.warning(again, self._agent, breaks.in_a_row, error)
        return wait

    def _lost(self, error: BaseException) -> None:
        """The session broke: what was to come of it will not."""
        self._wire.cut()
        unexpected = None if isinstance(error, ProviderError) else error
        logger.warning("agent %r: the session with its model broke: %s", self._agent, error, exc_info=unexpected)
        waiting = [*self._asked.values(), *(r.response for r in self._replies.values() if r.response is not None)]
        if self._expected is not None:
            waiting.append(self._expected)
        self._end_patience()
        for reply in self._replies.values():
            reply.lost()
        self._asked.clear()
        self._replies.clear()
        self.sync.forget_calls()
        self.turns.lost()
        self._voice.model_noticed(speaking=False)
        if not waiting:
            self._events.failed(error, self._model)
        for response in waiting:
            response.fail(error)

    # -- a service that hangs

    @property
    def is_owed(self) -> bool:
        """Something is to come of the session."""
        return not self.closed and (self._is_awaited or self.turns.is_unnoticed)

    @property
    def _is_awaited(self) -> bool:
        return bool(self._connecting or self._asked or self._replies or self.turns.is_owed)

    @property
    def silence(self) -> float | None:
        """Seconds since the service showed that it is there; None where that cannot be told."""
        session = self._wire.session
        return None if self.closed or session is None else session.silence

    def _silence_of(self, seconds: float, then: str, *, retryable: bool = True) -> ProviderTimeout:
        what = "a connection" if self._connecting else "an answer" if self.is_owed else "a sign that it is there"
        return ProviderTimeout(
            f"{self._model.label}: expected {what} within {seconds:.2g} s, got none{then}. If it stays so, check the"
            " connection to the service, or use another.",
            provider=self._model.label,
            retryable=retryable,
        )

    def fell_silent(self, seconds: float) -> None:
        """Nothing came of the session for so long. Told once for each silence."""
        error = self._silence_of(seconds, "")
        logger.warning("%s", error)
        self._events.failed(error, self._model)

    def hung(self, seconds: float) -> None:
        """Nothing came of the session for too long."""
        # The second in a row that is silent from its beginning is the last: the caller hears nothing all the while.
        # One that is there and did not notice a voice may be right: it may have been none.
        may_be_right = self.turns.is_unnoticed and not self._is_awaited and (self.silence or 0.0) < seconds
        is_worth_a_try = self._heard_anything or may_be_right or not self._breaks.in_a_row
        then = "; it is opened anew" if is_worth_a_try else " once more; the call ends"
        error = self._silence_of(seconds, then, retryable=is_worth_a_try)
        self._hang_up()
        if self._broke(error) is not None:
            self.open()

    # -- asking

    def generate(self, response: Response, command: Generate, items: Sequence[ChatItem], notes: str) -> None:
        """Have the model respond to what it knows and what it is told now."""
        self.sync.keep_up_to_date(response.tools if command.tools else None)
        outputs = self.sync.give_items(items)
        answers_by_itself = (
            bool(outputs) and self._can.auto_tool_reply_generation and not command.retry and not command.instructions
        )
        if outputs:
            self.sync.give(outputs, reply=answers_by_itself)
        if answers_by_itself:
            self.sync.knows(message_id(command.segment, self._port.mark))
            self._expected = response
            self._patience = Timer(self._port.loop, self._port.loop.time() + OWN_REPLY_TIMEOUT, self._give_up)
            return
        choice = command.tool_choice if command.tools else "none"
        self._ask(response, notes or None, choice)

    def say(self, response: Response, text: str) -> None:
        """Have the model speak a text, where nobody else can."""
        words = f"Say this to the user, in exactly these words and nothing else: {text}"
        self._ask(response, words, "none")

    def _ask(self, response: Response, instructions: str | None, choice: ToolChoice | None) -> None:
        def ask(session: RealtimeSession) -> None:
            if not response.stopped:
                self.sync.knows(message_id(response.segment_id, self._port.mark))
                self._asked[session.generate_reply(instructions=instructions, tool_choice=choice)] = response
                self._watch.stir()

        self._wire.tell(ask)

    def _give_up(self) -> None:
        """The model was to answer by itself, and did not."""
        response, self._expected = self._expected, None
        self.sync.answer_unwanted()
        if response is not None:
            response.complete()

    def _end_patience(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        self._expected = None

    def stop(self, response: Response) -> None:
        """The core wants no more of a response."""
        if self._expected is response:
            self._end_patience()
            self.sync.answer_unwanted()
        for reply in self._replies.values():
            if reply.response is response:
                self._discard(reply)

    def _cut(self, reply_id: str, heard: float) -> None:
        """Only so many seconds of a response were heard."""
        if self._can.message_truncation and self._can.audio_output and self._wire.session is not None:
            self._wire.session.truncate(reply_id, heard)

    # -- responses

    def adopt(self, response: Response, number: int) -> None:
        """The core takes what the model began."""
        reply = self._pending.pop(number, None)
        if reply is None or reply.unwanted:
            response.fail(ProviderConnectionError("the model's session ended"))
            return
        self.sync.knows(message_id(response.segment_id, self._port.mark))
        kept = reply.take_kept()
        self._bind(reply, response)
        for piece in kept:
            self._feed(reply, piece)

    def decline(self, number: int) -> None:
        """The core does not want what the model began."""
        reply = self._pending.pop(number, None)
        if reply is not None:
            self._discard(reply)

    def _bind(self, reply: _Reply, response: Response) -> None:
        reply.adopted(response)
        me, reply_id = weakref.ref(self), reply.id

        def when_cut(heard: float) -> None:
            if (link := me()) is not None:
                link._cut(reply_id, heard)

        response.spoken_by_model(when_cut, with_sound=self._can.audio_output)

    def _discard(self, reply: _Reply) -> None:
        heard = reply.response is not None
        reply.refused()
        for piece in reply.take_kept():
            self._feed(reply, piece)
        if self._wire.session is not None and not reply.done:
            self._wire.session.interrupt()
        if not heard:
            self._cut(reply.id, 0.0)

    def _take(self, event: RealtimeEvent) -> None:
        if not isinstance(event, Failed):
            self.turns.noticed()
        match event:
            case AudioDelta() | TextDelta() | FunctionCallDone() | ResponseDone():
                reply = self._replies.get(event.response_id)
                if reply is not None:
                    self._piece(reply, event)
            case SpeechStarted():
                self._voice.model_noticed(speaking=True)
            case SpeechStopped(silence):
                self._voice.model_noticed(speaking=False, silence=silence)
            case InputCommitted():
                self.turns.committed(event)
            case InputTranscribed():
                self.turns.transcribed(event)
                if self._retiring is not None and not self.turns.wants_words:
                    self.close()
            case ResponseStarted():
                self._started(event)
            case Failed(error, request):
                response = self._asked.pop(request or "", None)
                if response is not None:
                    response.fail(error)
                else:
                    self._events.failed(error, self._model)
            case _:
                assert_never(event)

    def _started(self, event: ResponseStarted) -> None:
        reply = self._replies[event.response_id] = _Reply(event.response_id)
        if event.request is not None:
            response = self._asked.pop(event.request, None)
            if response is None or response.stopped:
                self._discard(reply)
            else:
                self._bind(reply, response)
            return
        turn = self.turns.take_answered()
        expected = self._expected
        if expected is not None and turn is None:
            self._end_patience()
            self._bind(reply, expected)
            return
        number = self._port.new_id()
        self._pending[number] = reply
        to_results = self.sync.take_unwanted() and turn is None
        self._port.report(ResponseBegan(number, self._agent, turn, to_results))

    def _piece(self, reply: _Reply, piece: _Piece) -> None:
        if isinstance(piece, ResponseDone):
            reply.ended()
            del self._replies[reply.id]
        if reply.response is None and not reply.unwanted:
            reply.keep(piece)
        else:
            self._feed(reply, piece)

    def _feed(self, reply: _Reply, piece: _Piece) -> None:
        response = reply.response
        if response is None or response.stopped:
            if isinstance(piece, FunctionCallDone):
                self.sync.refused(piece.call_id, piece.name)
            return
        match piece:
            case TextDelta(_, text):
                response.text(text)
            case AudioDelta(_, frame):
                response.sound(frame)
            case FunctionCallDone(_, call_id, name, arguments):
                known_as = self._tool_calls.new_id(call_id, self._agent)
                self.sync.called(known_as, call_id, name, response.speech)
                response.call(FunctionToolCall(name, arguments, known_as))
            case ResponseDone(_, status, error):
                reply.let_go()
                if status == "failed":
                    response.fail(error or ProviderError("the response failed"))
                else:
                    response.complete()
