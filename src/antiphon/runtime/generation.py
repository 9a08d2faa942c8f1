"""Asks models for responses: one task for each `Generate`.

Above: the driver. Below: the agent's `llm_node`, and the segment that the text goes to (`synthesis.py`). Text never
enters the core: it hears that text began, each complete call, and all of the text at the end. A text that the
application or the core gives (`Speak`) goes the same way, without a model.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from antiphon.audio import AudioFrame
from antiphon.chat import NOTE_ID, REPLY_INSTRUCTIONS_ID, ChatContext, ChatItem, ChatMessage, FunctionCall, new_id
from antiphon.core.commands import Adopt, Discard, Generate, Release, Speak
from antiphon.core.facts import Call, GenerationFailed, StepGenerated, TextStarted, ToolCalled
from antiphon.errors import UsageError
from antiphon.llm import ChatChunk, FunctionToolCall
from antiphon.options import ModelSettings, ToolPolicy
from antiphon.runtime.feed import SoundFeed
from antiphon.streams import closing
from antiphon.tools.function import AnyFunctionTool, PreparedCall, ToolError, is_function_tool, is_raw_function_tool
from antiphon.tools.latency import latencies
from antiphon.tools.policy import policy_of
from antiphon.tools.proxy import find_tool, prepare_call
from antiphon.tools.toolset import unknown_tool_text

if TYPE_CHECKING:
    from antiphon.runtime.driver import Driver
    from antiphon.runtime.host import Host
    from antiphon.runtime.playout import Playout
    from antiphon.runtime.synthesis import Segment

logger = logging.getLogger("antiphon")

ONE_AT_A_TIME = "one call at a time; call again if still needed"
"""The output of a second call in one response where only one may run."""

MANY_WORDS = 60
"""Of what the caller did not hear the model is reminded of so much."""

_DEFAULT_SETTINGS = ModelSettings()
_NO_TOOLS = ModelSettings(tool_choice="none")
_NO_POLICY = ToolPolicy()


class Response:
    """One response (or one text to say) in the making."""

    __slots__ = (
        "agent",
        "calls",
        "feed",
        "gen",
        "one_call",
        "segment",
        "segment_id",
        "speaks_itself",
        "speech",
        "started",
        "stopped",
        "task",
        "tools",
        "when_cut",
    )

    def __init__(self, gen: int, speech: int, segment_id: int, agent: str) -> None:
        self.gen = gen
        self.speech = speech
        self.segment_id = segment_id
        self.agent = agent
        self.segment: Segment | None = None
        """Made with the first text: a response of calls only has none."""
        self.started = False
        """`TextStarted` was reported."""
        self.stopped = False
        self.calls = 0
        self.one_call = False
        self.task: asyncio.Task[None] | None = None
        self.tools: list[Any] = []
        """What a model that is not asked through the `llm_node` may call."""
        self.speaks_itself = False
        """Its sound comes from the model, beside its text."""
        self.feed: SoundFeed | None = None
        self.when_cut: Callable[[float], None] | None = None
        """Told how many seconds of its sound were heard, if not all."""


class Generation:
    """Performs `Generate`, `Speak` and `StopGenerating`."""

    def __init__(self, driver: Driver, host: Host, playout: Playout) -> None:
        self._driver = driver
        self._host = host
        self._playout = playout
        self._responses: dict[int, Response] = {}
        self._prepared: dict[int, dict[str, tuple[AnyFunctionTool, PreparedCall]]] = {}
        """By speech and call id: calls that were prepared and may be run."""
        self._call_ids: set[str] = set()
        """Of the whole session. Models repeat them; the history must not."""
        self._contexts: dict[str, list[ChatItem]] = {}
        """By agent: the context whose call ids are among them. It may hold calls of earlier sessions."""
        self._for_turn: dict[str, list[ChatItem]] = {}
        """By agent: what `on_user_turn_completed` added for the next reply."""
        self._for_speech: dict[int, list[ChatItem]] = {}
        """The same, once the speech that answers the turn has begun."""
        self._ahead: dict[int, Generate | Speak] = {}
        """By generation: what is made ahead. Nobody outside is told of it before `Release`."""
        self.errors: dict[int, BaseException] = {}
        """By generation: what failed, for the `error` event that the core asks for while it hears of it."""

    # -- commands

    def generate(self, command: Generate) -> None:
        """Ask the model; closes with `StepGenerated` or `GenerationFailed`."""
        if command.ahead:
            self._ahead[command.gen] = command
        else:
            self._host.generating(command)
        response = Response(command.gen, command.speech, command.segment, command.agent)
        link = self._driver.realtime.link(command.agent)
        if link is not None:
            self._responses[command.gen] = response
            response.tools = self._tools(command)
            response.one_call = self._host.one_call_at_a_time(command.agent)
            items = [*self._host.agent(command.agent).context_items(), *command.open]
            link.generate(response, command, items, self._notes_of(command))
            return
        # Now, not when the task runs: what is open in this command may be in the agent's context by then.
        request = self._request(command)
        self._responses[command.gen] = response
        ask = partial(self._ask, response, command, request)
        response.task = self._driver.spawn(self._carry_out(response, ask), f"reply {command.speech}")

    def adopt(self, command: Adopt) -> None:
        """Take what the model began unasked; closes like `generate`."""
        self._host.generating(command)
        response = Response(command.gen, command.speech, command.segment, command.agent)
        self._responses[command.gen] = response
        if command.tools:
            response.tools = list(self._host.tools_of(command.agent, on_enter=False).flatten())
        response.one_call = self._host.one_call_at_a_time(command.agent)
        self._driver.realtime.adopt(response, command)

    def _notes_of(self, command: Generate) -> str:
        """What is to be known for this response only, as text."""
        notes = self._items_for(command) + _notes(command)
        return "\n".join(note.text_content or "" for note in notes if isinstance(note, ChatMessage))

    def speak(self, command: Speak) -> None:
        """Say a text without a model; closes with `StepGenerated`."""
        if command.ahead:
            self._ahead[command.gen] = command
            agent = self._host.current_agent_id
        else:
            agent = self._host.speaking(command)
        response = Response(command.gen, command.speech, command.segment, agent)
        audio: AsyncIterable[Any] | None = None
        source: str | AsyncIterable[str]
        if command.text is not None:
            source = command.text
        else:
            source, audio = self._host.say_source(command.speech)
        if audio is not None:
            response.segment = self._playout.open(command.segment, command.speech, agent, audio=audio)
        link = self._driver.realtime.link(agent) if audio is None and self._playout.is_mute(agent) else None
        if link is not None and isinstance(source, str):
            self._responses[command.gen] = response
            link.say(response, source)
            return
        if isinstance(source, str) and (response.segment is not None or not self._playout.respells(agent)):
            if source:
                self._text(response, source)
            text = "" if response.segment is None else response.segment.end()
            assert text is not None  # nothing respells it
            self._close(response, StepGenerated(command.gen, text))
            return
        self._responses[command.gen] = response
        read: Callable[[], Awaitable[None]] | None = None
        if isinstance(source, str):
            self._text(response, source, whole=True)  # now: what a tool says stands before what it returns
        else:
            read = partial(self._read, response, source)
        response.task = self._driver.spawn(self._carry_out(response, read), f"say {command.speech}")

    def release(self, command: Release) -> None:
        """What was made ahead is wanted: those who watch hear of it now."""
        asked = self._ahead.pop(command.gen)
        if isinstance(asked, Generate):
            self._host.generating(asked)
        else:
            self._host.speaking(asked)

    def discard(self, command: Discard) -> None:
        """What was made ahead is not wanted."""
        self._ahead.pop(command.gen, None)
        self.stop(command.gen)
        self.forget(command.speech)
        self._playout.forget(command.speech)

    def stop(self, gen: int) -> None:
        """Stop the model. What it made sound already is stopped by `StopPlayout`."""
        response = self._responses.pop(gen, None)
        if response is None:
            return
        response.stopped = True
        link = self._driver.realtime.link(response.agent)
        if link is not None:
            link.stop(response)
        if response.feed is not None:
            response.feed.close()
        if response.segment is not None:
            self._playout.abandon(response.segment)
        if response.task is not None:
            response.task.cancel()

    def forget(self, speech: int) -> None:
        """The speech is over; calls that were not run will not be."""
        self._prepared.pop(speech, None)
        self._for_speech.pop(speech, None)

    # -- what others need of a response

    def take_prepared(self, speech: int, agent: str, call: Call) -> tuple[AnyFunctionTool, dict[str, Any]]:
        """The tool of a call and its checked arguments.

        Raises `UsageError` if the agent has no such tool, `ToolError` if the arguments do not fit.
        """
        prepared = self._prepared.get(speech, {}).pop(call.call_id, None)
        if prepared is not None:
            return prepared[0], prepared[1].kwargs
        tool = find_tool(self._host.tools_of(agent, on_enter=False).flatten(), call.name)
        if tool is None:
            raise UsageError(f"RunTool: agent {agent!r} has no tool {call.name!r}")
        return tool, tool.prepare(call.arguments).kwargs

    def add_for_turn(self, agent: str, items: list[ChatItem]) -> None:
        """Items that the next reply of `agent` reads, and no later one."""
        self._for_turn[agent] = items

    # -- one response

    async def _carry_out(self, response: Response, make: Callable[[], Awaitable[None]] | None = None) -> None:
        """Have `make` make a response, and tell the core what became of it. One that was stopped is closed already."""
        try:
            if make is not None:
                await make()
            text = await self._whole_text(response)
        except asyncio.CancelledError:
            if not response.stopped:
                raise
        except Exception as error:
            self._fail(response, error)
        else:
            self._finish(response, text)

    async def _ask(self, response: Response, command: Generate, request: ChatContext) -> None:
        tools = self._tools(command)
        response.one_call = self._host.one_call_at_a_time(command.agent)
        result = self._host.agent(command.agent).llm_node(request, tools, _settings(command))
        await self._consume(response, result, tools)

    def _tools(self, command: Generate) -> list[Any]:
        """A list of the node's own."""
        if not command.tools:
            return []
        return self._host.tools_of(command.agent, on_enter=command.on_enter).flatten()

    async def _read(self, response: Response, source: AsyncIterable[str]) -> None:
        async for piece in source:
            self._text(response, piece)

    async def _consume(self, response: Response, result: Any, tools: list[Any]) -> None:
        """Take what an `llm_node` gives: nothing, a text, a chunk, or an asynchronous iterable of these."""
        if inspect.isawaitable(result):
            result = await result
        if result is None:
            return
        if isinstance(result, (str, ChatChunk)):
            self._chunk(response, result, tools)
            return
        async with closing(result):
            async for chunk in result:
                if response.started and type(chunk) is ChatChunk and chunk.usage is None and not response.stopped:
                    delta, segment = chunk.delta, response.segment
                    if delta is not None and delta.content and not delta.tool_calls and segment is not None:
                        segment.push(delta.content)  # the rest of a text, which is most of what comes
                        continue
                self._chunk(response, chunk, tools)

    def _chunk(self, response: Response, chunk: Any, tools: list[Any]) -> None:
        if isinstance(chunk, str):
            self._text(response, chunk)
        elif isinstance(chunk, ChatChunk):
            delta = chunk.delta
            if delta is not None:
                if delta.content:
                    self._text(response, delta.content)
                for call in delta.tool_calls:
                    self._call(response, call, tools)
            if chunk.usage is not None and self._driver.stopwatch is not None:
                used = chunk.usage
                self._driver.stopwatch.used(
                    response.gen, used.prompt_tokens, used.completion_tokens, used.prompt_cached_tokens
                )
        elif chunk is not None:
            raise UsageError(
                f"llm_node of agent {response.agent!r}: expected str or ChatChunk, got {type(chunk).__name__}"
            )

    def _text(self, response: Response, piece: str, *, whole: bool = False) -> None:
        if response.stopped:
            return
        segment = response.segment
        if segment is None:
            if not piece.strip():
                return
            segment = self._open(response)
        segment.push(piece)
        self._announce(response, piece if whole else "")

    def _open(self, response: Response) -> Segment:
        audio: AsyncIterable[Any] | None = None
        if response.speaks_itself and self._playout.has_output:
            response.feed = SoundFeed()
            audio = self._through_node(response.agent, response.feed)
        segment = self._playout.open(response.segment_id, response.speech, response.agent, audio=audio)
        segment.when_cut = response.when_cut
        response.segment = segment
        return segment

    def _through_node(self, agent: str, sound: SoundFeed) -> AsyncIterable[Any]:
        if "realtime_audio_output_node" not in self._host.agent(agent).overridden:
            return sound
        return _awaited(self._host.agent(agent).realtime_audio_output_node(sound, _DEFAULT_SETTINGS))

    def _announce(self, response: Response, written: str = "") -> None:
        if not response.started:
            response.started = True
            self._driver.report(TextStarted(response.gen, written))

    # -- responses of models that hear and speak

    def text(self, response: Response, piece: str) -> None:
        """The next piece of what it says."""
        self._text(response, piece)

    def sound(self, response: Response, frame: AudioFrame) -> None:
        """The next piece of how it sounds."""
        if response.stopped or not self._playout.has_output:
            return
        if response.segment is None:
            self._open(response)
        if response.feed is not None:
            response.feed.push(frame)
        self._announce(response)

    def call(self, response: Response, wanted: FunctionToolCall) -> None:
        """It makes this call, which has an id from `call_id`."""
        self._made(response, wanted, wanted.call_id, response.tools)

    def call_id(self, wanted: str, agent: str) -> str:
        """An id for a call of `agent` that the session has not seen yet: the model's own if it can be."""
        return self._unique(wanted, agent)

    def complete(self, response: Response) -> None:
        """Nothing more comes of it."""
        if response.feed is not None:
            response.feed.close()
        text = "" if response.segment is None else response.segment.end()
        if text is not None:
            self._finish(response, text)
        else:
            response.task = self._driver.spawn(self._carry_out(response), f"text of {response.gen}")

    def fail(self, response: Response, error: Exception) -> None:
        """It failed."""
        if response.feed is not None:
            response.feed.close()
        self._fail(response, error)

    async def _whole_text(self, response: Response) -> str:
        """What will be spoken of the response. It may take until the agent's `tts_node` has read all of it."""
        if response.segment is None:
            return ""
        text = response.segment.end()
        return text if text is not None else await response.segment.respelled()

    def _finish(self, response: Response, text: str) -> None:
        if self._responses.pop(response.gen, None) is not None:
            self._close(response, StepGenerated(response.gen, text))

    def _fail(self, response: Response, error: Exception) -> None:
        if self._responses.pop(response.gen, None) is None:
            return
        logger.error("agent %r: the response failed: %s", response.agent, error, exc_info=error)
        self.errors[response.gen] = error
        text = "" if response.segment is None else response.segment.end() or response.segment.raw
        self._close(response, GenerationFailed(response.gen, str(error) or type(error).__name__, text))

    def _close(self, response: Response, fact: StepGenerated | GenerationFailed) -> None:
        """Tell the core the whole text, and only then let the segment end."""
        self._driver.report(fact)
        self.errors.pop(response.gen, None)
        if response.segment is not None:
            self._playout.settle(response.segment)

    # -- calls

    def _call(self, response: Response, wanted: FunctionToolCall, tools: list[Any]) -> None:
        if not response.stopped:
            self._made(response, wanted, self._unique(wanted.call_id, response.agent), tools)

    def _made(self, response: Response, wanted: FunctionToolCall, call_id: str, tools: list[Any]) -> None:
        response.calls += 1
        tool = find_tool(tools, wanted.name)
        policy, rejected = _NO_POLICY, None
        call = Call(call_id, wanted.name, wanted.arguments)
        if tool is None:
            names = [t.id for t in tools if is_function_tool(t) or is_raw_function_tool(t)]
            rejected = unknown_tool_text(wanted.name, names)
        else:
            policy = self._policy(tool)
            if response.one_call and response.calls > 1:
                rejected = ONE_AT_A_TIME
            else:
                try:
                    meant, prepared = prepare_call(tool, wanted.arguments)
                except ToolError as error:
                    rejected = error.message
                else:
                    if meant is not tool:  # by proxy: it is the other tool's call from here on
                        tool, policy = meant, self._policy(meant)
                    self._prepared.setdefault(response.speech, {})[call_id] = (tool, prepared)
                    call = Call(
                        call_id,
                        tool.name,
                        prepared.arguments,
                        prepared.canonical,
                        prepared.confirm_duplicate,
                        tool.origin,
                    )
        self._driver.report(ToolCalled(response.gen, call, policy, rejected))

    def _policy(self, tool: AnyFunctionTool) -> ToolPolicy:
        if self._driver.options.silence is None:
            return policy_of(tool)  # nobody is told how long it takes
        return policy_of(tool, latencies.expected(tool.name))

    def _unique(self, call_id: str, agent: str) -> str:
        known = self._call_ids
        context = self._host.agent(agent).context_items()
        if self._contexts.get(agent) is not context:
            self._contexts[agent] = context
            known.update(item.call_id for item in context if isinstance(item, FunctionCall))
        while not call_id or call_id in known:
            call_id = f"{call_id or 'call'}_{len(known) + 1}"
        known.add(call_id)
        return call_id

    # -- the request

    def _request(self, command: Generate) -> ChatContext:
        """Instructions, the agent's context, what is still open, and notes for this response only."""
        items = self._host.agent(command.agent).request_items()
        items += command.open
        if self._for_turn or self._for_speech:
            _insert_before_turn(items, self._items_for(command))
        cut = _spoken_over(items)
        if cut is not None or command.unheard or command.instructions or command.retry:
            items += _notes(command, cut)
        context = ChatContext()
        context.items = items
        return context

    def _items_for(self, command: Generate) -> list[ChatItem]:
        added = self._for_turn.pop(command.agent, None)
        if added is not None:
            self._for_speech[command.speech] = added
        return self._for_speech.get(command.speech, [])


async def _awaited(source: Any) -> AsyncIterator[Any]:
    """What a node gives, or what its coroutine returns."""
    if inspect.isawaitable(source):
        source = await source
    async for frame in source:
        yield frame


def _settings(command: Generate) -> ModelSettings:
    if not command.tools:
        return _NO_TOOLS
    if command.tool_choice is None:
        return _DEFAULT_SETTINGS
    return ModelSettings(tool_choice=command.tool_choice)


def _insert_before_turn(items: list[ChatItem], added: list[ChatItem]) -> None:
    """Put what a hook added before the caller's last message, which it is about."""
    at = len(items)
    while at > 0:
        item = items[at - 1]
        if isinstance(item, ChatMessage) and item.role == "user":
            at -= 1
            break
        at -= 1
    items[at:at] = added


def _spoken_over(items: list[ChatItem]) -> ChatMessage | None:
    """What the agent was saying when the caller said what is to be answered; None if they let it finish."""
    if not items or not _is_said_by(items[-1], "user"):
        return None
    for item in reversed(items):
        if _is_said_by(item, "assistant"):
            return item if isinstance(item, ChatMessage) and item.interrupted else None
    return None


def _is_said_by(item: ChatItem, role: str) -> bool:
    return isinstance(item, ChatMessage) and item.role == role


def _note_of_unheard(cut: ChatMessage) -> str:
    """What the model is told about a message that was cut: the message itself has what was heard."""
    written, heard = str(cut.extra.get("written", "")).split(), (cut.text_content or "").split()
    rest = written[len(heard) :] if written[: len(heard)] == heard else []
    note = "The user spoke over your last message and heard only the words of it that you see."
    if not rest:
        return note
    return f"{note} They have not heard: {' '.join(rest[:MANY_WORDS])}{' ...' if len(rest) > MANY_WORDS else ''}"


def _notes(command: Generate, cut: ChatMessage | None = None) -> list[ChatItem]:
    notes: list[str] = []
    if cut is not None:
        notes.append(_note_of_unheard(cut))
    if command.unheard:
        ids = ", ".join(command.unheard)
        if command.delivery:
            notes.append(
                f"New results came in from calls that run in the background (call ids: {ids}). Tell the user what is"
                " new in them, naturally and briefly. Do not repeat what you have told them; if nothing is left to"
                " tell, say nothing."
            )
        else:
            notes.append(f"The user has not heard the results of these calls yet (call ids: {ids}).")
    if command.retry:
        notes.append("Your last response was empty. Answer the user now, in words, with what you know.")
    items: list[ChatItem] = [ChatMessage(role="system", content=note, id=new_id(NOTE_ID)) for note in notes]
    if command.instructions:
        items.append(ChatMessage(role="system", content=command.instructions, id=new_id(REPLY_INSTRUCTIONS_ID)))
    return items
