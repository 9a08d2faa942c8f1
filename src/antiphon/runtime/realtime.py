"""Models that hear and speak for themselves: one link for each agent that has one.

Above: the driver, and `generation`, which owns the responses. Below: `RealtimeModel`, `RealtimeSession`. A link tells
its session what it does not know yet (typed turns, results of tools, what another agent was told), performs `Generate`
by asking for a response, and feeds what comes into the response that the core knows: text, sound, calls, the end. What
the model does unasked is reported to the core, and kept in silence until the core adopts or declines it.

Whatever the core decides about a call that the model made, the model gets an output for it: some wait for one.
A session that breaks is opened again and told the conversation so far.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

from antiphon.audio import AudioFrame
from antiphon.chat import ChatItem, ChatMessage, FunctionCall, FunctionCallOutput, paired
from antiphon.core.commands import Adopt, Generate, Record, message_id, turn_id
from antiphon.core.facts import CloseRequested, ResponseBegan, Transcribed, TurnTaken, TurnTranscribed
from antiphon.errors import ProviderConnectionError, ProviderError
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
    RealtimeSetup,
    ResponseDone,
    ResponseStarted,
    SpeechStarted,
    SpeechStopped,
    TextDelta,
)
from antiphon.runtime.turn_sound import TurnSound

if TYPE_CHECKING:
    from antiphon.runtime.driver import Driver
    from antiphon.runtime.generation import Generation, Response
    from antiphon.runtime.host import Host

logger = logging.getLogger("antiphon")

OWN_REPLY_TIMEOUT = 5.0
"""Seconds that a model has to answer results of tools by itself."""

RESTART_DELAY = 0.5
"""Seconds before a broken session is opened again; doubled with each failure in a row."""

MAX_FAILURES = 4
"""Sessions that break in a row, without a single event, before the call is given up."""

SETTLING = 1.0
"""Seconds after a speech in which the outputs of its calls may still come from the core."""

MAX_EARLY = 20
"""Transcripts kept for turns that are not known yet."""

DROPPED = "The user spoke over this call. Its result is not known; call again if it is still needed."
"""The output of a call that the core dropped."""

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


@dataclass(slots=True)
class _Call:
    """A call of the model that has no output yet. `call_id` is the model's own."""

    call_id: str
    name: str
    speech: int
    output: FunctionCallOutput | None = None
    over: bool = False
    """Its speech has ended."""


class Realtime:
    """The links of a session. Performs `CommitAudio`, `Adopt`, `Decline`, and `Generate` for agents that have one."""

    def __init__(self, driver: Driver, host: Host) -> None:
        self._driver = driver
        self._host = host
        self._links: dict[str, Link] = {}
        self._retired: list[Link] = []
        """Links of agents that have left, which wait for words."""
        self._current: Link | None = None
        self._turn_sound = TurnSound()
        self._ended = False

    def link(self, agent: str) -> Link | None:
        """The agent's link to its model; None if its model is none that hears and speaks."""
        link = self._links.get(agent)
        if link is None and not self._ended and (model := self._host.realtime_of(agent)) is not None:
            link = self._links[agent] = Link(self._driver, self._host, agent, model)
        return link

    def listen_for(self, agent: str, staying: Collection[str] = ()) -> None:
        """The caller speaks to this agent now. Links of agents that are neither this one nor `staying` are closed.

        A turn that has begun goes on with this agent.
        """
        before, self._current = self._current, self.link(agent)
        if before is not None and before is not self._current:
            before.clear_audio()
        if self._current is not None:
            self._current.open()
            if before is not self._current:
                self._current.catch_up()
        for other in [other for other in self._links if other != agent and other not in staying]:
            retired = self._links.pop(other)
            self._retired = [link for link in self._retired if not link.closed]
            self._retired.append(retired)
            retired.retire()

    def push(self, frame: AudioFrame) -> None:
        """The caller's sound."""
        if self._current is not None:
            # Where only the model can tell what is voice, all that it misses may be.
            may_be_voice = self._driver.recognition.hears_voice or not self._current.is_open
            self._turn_sound.push(frame, speaking=may_be_voice)
            self._current.push(frame)

    def turn_sound(self, link: Link) -> list[AudioFrame]:
        """What the caller said since their last turn, if it is this link that they speak to."""
        return self._turn_sound.frames if link is self._current else []

    def turn_ended(self, link: Link) -> None:
        """A link's model has taken what the caller said for a turn."""
        if link is self._current:
            self._turn_sound.clear()

    def clear_audio(self) -> None:
        """Forget what the caller said since their last turn."""
        self._turn_sound.clear()
        if self._current is not None:
            self._current.clear_audio()

    # -- commands

    def commit_audio(self, turn: int) -> None:
        """The caller's turn is over."""
        if self._current is not None:
            self._current.commit_audio(turn)
            self._turn_sound.clear()

    def adopt(self, response: Response, command: Adopt) -> None:
        """What the model began is what the speech says."""
        link = self._links.get(command.agent)
        if link is None:
            self._driver.generation.fail(response, ProviderConnectionError("the model's session has ended"))
        else:
            link.adopt(response, command.response)

    def decline(self, number: int) -> None:
        """What the model began is not wanted."""
        for link in self._links.values():
            link.decline(number)

    def recorded(self, command: Record) -> None:
        """An item of an agent's context is settled."""
        link = self._links.get(command.agent)
        if link is None:
            return
        if isinstance(command.item, FunctionCallOutput):
            link.output_known(command.item)
        elif isinstance(command.item, ChatMessage) and command.item.role == "assistant":
            link.said(command.item)

    def speech_done(self, speech: int) -> None:
        """A speech is over: calls of it that have no output by now get one soon."""
        for link in self._links.values():
            link.speech_done(speech)

    async def words_of(self, turn: int) -> str:
        """The words of a turn that the model heard; "" if they do not come."""
        return "" if self._current is None else await self._current.words_of(turn)

    def halt(self) -> None:
        """The session is over."""
        self._ended = True
        for link in (*self._links.values(), *self._retired):
            link.close()
        self._links.clear()
        self._retired.clear()
        self._current = None


class Link:
    """One agent's conversation with its model."""

    def __init__(self, driver: Driver, host: Host, agent: str, model: RealtimeModel) -> None:
        self._driver = driver
        self._host = host
        self._generation: Generation = driver.generation
        self._agent = agent
        self._model = model
        self._can = model.capabilities
        self.closed = False
        self._retiring: asyncio.TimerHandle | None = None
        self._session: RealtimeSession | None = None
        self._task: asyncio.Task[None] | None = None
        self._held: list[Callable[[RealtimeSession], None]] = []
        """What a session that is opened anew is to be told once it is there."""
        self._heard_anything = False
        """This session has given an event."""
        self._instructions = ""
        self._tools: list[Any] = []
        self._known: set[str] = set()
        """Ids of the items that the session has."""
        self._asked: dict[str, Response] = {}
        """By request."""
        self._expected: Response | None = None
        """The answer to results that the model gives unasked."""
        self._patience: asyncio.TimerHandle | None = None
        self._replies: dict[str, _Reply] = {}
        self._pending: dict[int, _Reply] = {}
        """By the core's number: responses that it has not judged yet."""
        self._calls: dict[str, _Call] = {}
        """By the id that the history knows them by."""
        self._answered: set[str] = set()
        """Calls by the same ids whose outputs this session has."""
        self._settling: asyncio.TimerHandle | None = None
        self._gave_silently = False
        """Results were given to which no answer is wanted; a model may answer them all the same."""
        self._committed: deque[int] = deque()
        """Turns that the core ended and the model has not acknowledged."""
        self._turns: dict[str, int] = {}
        """By item: turns whose words have not come."""
        self._early: dict[str, str] = {}
        """By item: words that came before their turn."""
        self._answered_next: int | None = None
        """The turn that the next unasked response answers."""
        self._words: dict[int, asyncio.Future[str]] = {}

    # -- the session

    def open(self) -> None:
        """Begin to talk to the model, if it was not begun."""
        if self._task is None or self._task.done():
            self._task = self._driver.spawn(self._run(), f"realtime model of {self._agent}")

    def retire(self) -> None:
        """Its agent has left. What the caller said to it may still have to be put into words."""
        if self._turns and self._session is not None:
            self._retiring = self._driver.loop.call_later(self._driver.options.words_timeout, self.close)
        else:
            self.close()

    def close(self) -> None:
        """End it."""
        self.closed = True
        for timer in (self._patience, self._settling, self._retiring):
            if timer is not None:
                timer.cancel()
        self._session = None
        if self._task is not None:
            self._task.cancel()

    def _reopen(self) -> None:
        """The model cannot be told of a change: another session begins with it."""
        self._session = None
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self._calls.clear()
        self.open()

    async def _run(self) -> None:
        failures = 0
        while True:
            self._heard_anything = False
            try:
                async with self._model.session(self._setup()) as session:
                    self._begin(session)
                    async for event in session:
                        self._heard_anything = True
                        self._take(event)
                raise ProviderConnectionError(f"{self._model.label}: the session ended", provider=self._model.label)
            except Exception as error:
                failures = 1 if self._heard_anything else failures + 1
                retryable = isinstance(error, ProviderError) and error.retryable and failures < MAX_FAILURES
                self._lost(error)
                if not retryable:
                    logger.error("agent %r: the call ends, its model cannot be used: %s", self._agent, error)
                    self._driver.report(CloseRequested(drain=False, reason="error"))
                    return
            await asyncio.sleep(RESTART_DELAY * 2 ** (failures - 1))

    def _setup(self) -> RealtimeSetup:
        agent = self._host.agent(self._agent)
        context = agent.context_items()
        self._instructions = agent.instructions
        self._tools = list(self._host.tools_of(self._agent, on_enter=False).flatten())
        self._known = {item.id for item in context}
        self._answered.clear()
        return RealtimeSetup(self._instructions, self._tools, [item for item in paired(context) if _is_told(item)])

    def _begin(self, session: RealtimeSession) -> None:
        self._session = session
        held, self._held = self._held, []
        for tell in held:
            tell(session)
        self.catch_up()

    def tell(self, what: Callable[[RealtimeSession], None]) -> None:
        """Do something with the session, or as soon as there is one."""
        if self._session is not None:
            what(self._session)
        else:
            self._held.append(what)
            self.open()

    def _lost(self, error: Exception) -> None:
        """The session broke: what was to come of it will not."""
        self._session = None
        unexpected = None if isinstance(error, ProviderError) else error
        logger.warning("agent %r: the session with its model broke: %s", self._agent, error, exc_info=unexpected)
        waiting = [*self._asked.values(), *(r.response for r in self._replies.values() if r.response is not None)]
        if self._expected is not None:
            waiting.append(self._expected)
        self._end_patience()
        for reply in self._replies.values():
            reply.done = reply.unwanted = True
        self._asked.clear()
        self._replies.clear()
        self._calls.clear()
        self._committed.clear()
        self._answered_next = None
        for turn in [*self._turns.values()]:
            self._words_came(turn, "")
        self._turns.clear()
        self._early.clear()
        self._driver.recognition.model_heard(speaking=False)
        if not waiting:
            self._host.failed(error, self._model)
        for response in waiting:
            self._generation.fail(response, error)

    # -- the caller

    def push(self, frame: AudioFrame) -> None:
        """The caller's sound."""
        if self._session is not None:
            self._session.push_audio(frame)

    @property
    def is_open(self) -> bool:
        """There is a session, which hears what is pushed."""
        return self._session is not None

    def catch_up(self) -> None:
        """Give the session what it has not heard of the turn that goes on."""
        if self._session is not None:
            for frame in self._driver.realtime.turn_sound(self):
                self._session.push_audio(frame)

    def clear_audio(self) -> None:
        """What was heard since the last turn is none, or is another agent's."""
        if self._session is not None:
            self._session.clear_audio()

    def commit_audio(self, turn: int) -> None:
        """What was heard since the last turn is this one. A session that is still to come is given the sound of it."""
        sound = [] if self.is_open else self._driver.realtime.turn_sound(self)
        if not self.is_open and not sound:  # what was said is lost with the session that heard it
            self._driver.report(TurnTranscribed(turn, ""))
            return
        self._known.add(turn_id(turn, self._driver.mark))

        def commit(session: RealtimeSession) -> None:
            for frame in sound:
                session.push_audio(frame)
            self._committed.append(turn)
            session.commit_audio()

        self.tell(commit)

    async def words_of(self, turn: int) -> str:
        """The words of a turn, once they are known."""
        if turn not in self._turns.values() and turn not in self._committed:
            return ""
        waiter = self._words.setdefault(turn, asyncio.get_running_loop().create_future())
        try:
            async with asyncio.timeout(self._driver.options.words_timeout):
                return await asyncio.shield(waiter)
        except TimeoutError:
            return ""

    def _input_committed(self, event: InputCommitted) -> None:
        self._driver.realtime.turn_ended(self)  # before anybody else may take over
        words = self._early.pop(event.item_id, None)
        is_taken = not self._committed
        turn = self._driver.new_id() if is_taken else self._committed.popleft()
        are_to_come = words is None and self._can.user_transcription
        if are_to_come:
            self._turns[event.item_id] = turn
        if is_taken:
            self._known.add(turn_id(turn, self._driver.mark))
            self._driver.report(TurnTaken(turn, words, event.answered))
        if event.answered:
            self._answered_next = turn
        if not are_to_come:
            self._words_came(turn, words or "")

    def _transcribed(self, event: InputTranscribed) -> None:
        turn = self._turns.get(event.item_id)
        if event.text and self._host.listened("user_input_transcribed"):
            self._host.transcribed(event.text, event.final, "")
        if turn is not None:
            if event.final:
                del self._turns[event.item_id]
                self._words_came(turn, event.text)
                if self._retiring is not None and not self._turns:
                    self.close()
        elif event.final:
            if len(self._early) >= MAX_EARLY:
                self._early.clear()
            self._early[event.item_id] = event.text
        else:
            self._driver.report(Transcribed(event.text, final=False))

    def _words_came(self, turn: int, text: str) -> None:
        self._driver.report(TurnTranscribed(turn, text))
        waiter = self._words.pop(turn, None)
        if waiter is not None and not waiter.done():
            waiter.set_result(text)

    # -- asking

    def generate(self, response: Response, command: Generate, items: Sequence[ChatItem], notes: str) -> None:
        """Have the model respond to what it knows and what it is told now."""
        self._keep_up_to_date(command, response.tools)
        outputs = self._give_items(items)
        answers_by_itself = (
            bool(outputs) and self._can.auto_tool_reply_generation and not command.retry and not command.instructions
        )
        if outputs:
            self.tell(lambda session: session.submit_outputs(outputs, reply=answers_by_itself))
            self._gave_silently = False
        if answers_by_itself:
            self._known.add(message_id(command.segment, self._driver.mark))
            self._expected = response
            self._patience = self._driver.loop.call_later(OWN_REPLY_TIMEOUT, self._give_up)
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
                self._known.add(message_id(response.segment_id, self._driver.mark))
                self._asked[session.generate_reply(instructions=instructions, tool_choice=choice)] = response

        self.tell(ask)

    def _keep_up_to_date(self, command: Generate, tools: list[Any]) -> None:
        instructions = self._host.agent(self._agent).instructions
        changed_tools = command.tools and tools != self._tools
        if instructions == self._instructions and not changed_tools:
            return
        if (instructions != self._instructions and not self._can.mutable_instructions) or (
            changed_tools and not self._can.mutable_tools
        ):
            self._reopen()
            return
        if instructions != self._instructions:
            self._instructions = instructions
            self.tell(lambda session: session.update_instructions(instructions))
        if changed_tools:
            self._tools = list(tools)
            self.tell(lambda session: session.update_tools(list(tools)))

    def _give_items(self, items: Sequence[ChatItem]) -> list[FunctionCallOutput]:
        """Tell the session what it does not know. Returns the outputs of its own calls, which are given otherwise."""
        outputs: list[FunctionCallOutput] = []
        new: list[ChatItem] = []
        for item in items:
            if item.id in self._known or not _is_told(item):
                continue
            if isinstance(item, FunctionCall) and item.call_id in self._calls:
                self._known.add(item.id)
            elif isinstance(item, FunctionCallOutput) and (call := self._calls.pop(item.call_id, None)) is not None:
                self._known.add(item.id)
                self._answered.add(item.call_id)
                outputs.append(replace(item, call_id=call.call_id))
            elif isinstance(item, (FunctionCall, FunctionCallOutput)) and item.call_id in self._answered:
                self._known.add(item.id)
            else:
                new.append(item)
        if new and not self._can.mutable_chat_context:
            self._reopen()
        elif new:
            self.tell(lambda session: self._add(session, new))
        self._settle_calls()
        return outputs

    def _add(self, session: RealtimeSession, items: list[ChatItem]) -> None:
        """What a session that was opened meanwhile began with it has already."""
        new = [item for item in items if item.id not in self._known]
        self._known.update(item.id for item in new)
        if new:
            session.add_items(new)

    def said(self, message: ChatMessage) -> None:
        """The agent said this. A model that answers unasked must know it by then, though it was not its session's."""
        if self._can.auto_reply and self._can.mutable_chat_context:
            self.tell(lambda session: self._add(session, [message]))

    def _give_up(self) -> None:
        """The model was to answer by itself, and did not."""
        response, self._expected = self._expected, None
        self._gave_silently = True
        if response is not None:
            self._generation.complete(response)

    def _end_patience(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        self._expected = None

    def stop(self, response: Response) -> None:
        """The core wants no more of a response."""
        if self._expected is response:
            self._end_patience()
            self._gave_silently = True
        for reply in self._replies.values():
            if reply.response is response:
                self._discard(reply)

    def cut(self, reply_id: str, heard: float) -> None:
        """Only so many seconds of a response were heard."""
        if self._can.message_truncation and self._can.audio_output and self._session is not None:
            self._session.truncate(reply_id, heard)

    # -- calls

    def output_known(self, output: FunctionCallOutput) -> None:
        """What the history has as the output of a call."""
        call = self._calls.get(output.call_id)
        if call is not None:
            call.output = output

    def speech_done(self, speech: int) -> None:
        """The calls of a speech get their outputs from now on, whatever they are."""
        own = {call_id: call for call_id, call in self._calls.items() if call.speech == speech}
        for call in own.values():
            call.over = True
        self._settle({call_id: call for call_id, call in own.items() if call.output is not None})
        if any(call.output is None for call in own.values()) and self._settling is None:
            self._settling = self._driver.loop.call_later(SETTLING, self._settle_calls)

    def _settle_calls(self) -> None:
        if self._settling is not None:
            self._settling.cancel()
            self._settling = None
        self._settle({call_id: call for call_id, call in self._calls.items() if call.over})

    def _settle(self, over: dict[str, _Call]) -> None:
        for call_id in over:
            del self._calls[call_id]
            self._answered.add(call_id)
        outputs = [_output_of(call) for call in over.values()]
        if outputs:
            self._known.update(output.id for output in outputs)
            self._give_silently(outputs)

    def _give_silently(self, outputs: list[FunctionCallOutput]) -> None:
        self._gave_silently = True
        self.tell(lambda session: session.submit_outputs(outputs, reply=False))

    # -- responses

    def adopt(self, response: Response, number: int) -> None:
        """The core takes what the model began."""
        reply = self._pending.pop(number, None)
        if reply is None or reply.unwanted:
            self._generation.fail(response, ProviderConnectionError("the model's session ended"))
            return
        self._known.add(message_id(response.segment_id, self._driver.mark))
        kept, reply.kept = reply.kept, []
        self._bind(reply, response)
        for piece in kept:
            self._feed(reply, piece)

    def decline(self, number: int) -> None:
        """The core does not want what the model began."""
        reply = self._pending.pop(number, None)
        if reply is not None:
            self._discard(reply)

    def _bind(self, reply: _Reply, response: Response) -> None:
        reply.response = response
        response.speaks_itself = self._can.audio_output
        response.when_cut = lambda heard: self.cut(reply.id, heard)

    def _discard(self, reply: _Reply) -> None:
        heard = reply.response is not None
        reply.unwanted, reply.response = True, None
        kept, reply.kept = reply.kept, []
        for piece in kept:
            self._feed(reply, piece)
        if self._session is not None and not reply.done:
            self._session.interrupt()
        if not heard:
            self.cut(reply.id, 0.0)

    def _take(self, event: RealtimeEvent) -> None:
        match event:
            case AudioDelta() | TextDelta() | FunctionCallDone() | ResponseDone():
                reply = self._replies.get(event.response_id)
                if reply is not None:
                    self._piece(reply, event)
            case SpeechStarted():
                self._driver.recognition.model_heard(speaking=True)
            case SpeechStopped(silence):
                self._driver.recognition.model_heard(speaking=False, silence=silence)
            case InputCommitted():
                self._input_committed(event)
            case InputTranscribed():
                self._transcribed(event)
            case ResponseStarted():
                self._started(event)
            case Failed(error, request):
                response = self._asked.pop(request or "", None)
                if response is not None:
                    self._generation.fail(response, error)
                else:
                    self._host.failed(error, self._model)
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
        turn, self._answered_next = self._answered_next, None
        expected = self._expected
        if expected is not None and turn is None:
            self._end_patience()
            self._bind(reply, expected)
            return
        number = self._driver.new_id()
        self._pending[number] = reply
        to_results, self._gave_silently = self._gave_silently and turn is None, False
        self._driver.report(ResponseBegan(number, self._agent, turn, to_results))

    def _piece(self, reply: _Reply, piece: _Piece) -> None:
        if isinstance(piece, ResponseDone):
            reply.done = True
            del self._replies[reply.id]
        if reply.response is None and not reply.unwanted:
            reply.kept.append(piece)
        else:
            self._feed(reply, piece)

    def _feed(self, reply: _Reply, piece: _Piece) -> None:
        response = reply.response
        if response is None or response.stopped:
            if isinstance(piece, FunctionCallDone):
                call = _Call(piece.call_id, piece.name, 0)
                self._give_silently([_output_of(call)])
            return
        match piece:
            case TextDelta(_, text):
                self._generation.text(response, text)
            case AudioDelta(_, frame):
                self._generation.sound(response, frame)
            case FunctionCallDone(_, call_id, name, arguments):
                call = _Call(call_id, name, response.speech)
                known_as = self._generation.call_id(call_id, self._agent)
                self._calls[known_as] = call
                self._generation.call(response, FunctionToolCall(name, arguments, known_as))
            case ResponseDone(_, status, error):
                reply.response = None
                if status == "failed":
                    self._generation.fail(response, error or ProviderError("the response failed"))
                else:
                    self._generation.complete(response)


def _is_told(item: ChatItem) -> bool:
    return isinstance(item, (ChatMessage, FunctionCall, FunctionCallOutput))


def _output_of(call: _Call) -> FunctionCallOutput:
    if call.output is not None:
        return replace(call.output, call_id=call.call_id)
    return FunctionCallOutput(call_id=call.call_id, name=call.name, output=DROPPED, is_error=True)
