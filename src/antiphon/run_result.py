"""`RunResult`: what happened in one `session.run()`, and assertions on it for tests.

Above: tests of agents. Below: history items. `result.expect` walks through the events: `next_event()` takes the next
one, `contains_...` looks anywhere, `[i]` and `[a:b]` pick by position. A failed assertion prints all events and marks
the place.

`mock_tools` replaces the functions behind an agent's tools while a test runs; names, schemas and policies stay.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeAlias, TypeVar, overload
from weakref import WeakKeyDictionary

from antiphon.chat import AgentHandoff, ChatContext, ChatItem, ChatMessage, ChatRole, FunctionCall, FunctionCallOutput
from antiphon.errors import UsageError
from antiphon.llm import LLM
from antiphon.tools.proxy import find_tool


@dataclass(slots=True)
class ChatMessageEvent:
    """A message entered the history."""

    item: ChatMessage
    type: Literal["message"] = "message"


@dataclass(slots=True)
class FunctionCallEvent:
    """A tool call entered the history."""

    item: FunctionCall
    type: Literal["function_call"] = "function_call"


@dataclass(slots=True)
class FunctionCallOutputEvent:
    """The output of a tool call entered the history."""

    item: FunctionCallOutput
    type: Literal["function_call_output"] = "function_call_output"


@dataclass(slots=True)
class AgentHandoffEvent:
    """Another agent took over."""

    item: AgentHandoff
    new_agent: Any
    old_agent: Any = None
    type: Literal["agent_handoff"] = "agent_handoff"


RunEvent: TypeAlias = ChatMessageEvent | FunctionCallEvent | FunctionCallOutputEvent | AgentHandoffEvent
EventType: TypeAlias = Literal["message", "function_call", "function_call_output", "agent_handoff"]
E = TypeVar("E", bound=RunEvent)


class RunResult:
    """What followed from one `session.run(user_input=...)`. Awaiting it waits until the session is idle again."""

    def __init__(self, *, user_input: str | None = None) -> None:
        self._user_input = user_input
        self._events: list[RunEvent] = []
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._expect: RunAssert | None = None
        self._outcomes: list[Any] = []
        """Results of tasks that were completed; the last one counts."""

    @property
    def user_input(self) -> str | None:
        """What the caller said."""
        return self._user_input

    @property
    def events(self) -> list[RunEvent]:
        """What happened, in the order of the history. The caller's own words are not among it."""
        return self._events

    @property
    def expect(self) -> RunAssert:
        """Assertions on the events. The same object each time, so that `next_event()` goes on where it was."""
        if self._expect is None:
            self._expect = RunAssert(self._events)
        return self._expect

    @property
    def final_output(self) -> Any:
        """The result of the `AgentTask` that was completed in this run, the last one if there were several.

        Raises the exception that the task was completed with, and `UsageError` if none was completed.
        """
        if not self._outcomes:
            raise UsageError("RunResult.final_output: no task was completed in this run; an AgentTask calls complete()")
        outcome = self._outcomes[-1]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def done(self) -> bool:
        """True once the session was idle again, or closed."""
        return self._done.done()

    def __await__(self) -> Generator[Any, None, RunResult]:
        yield from asyncio.shield(self._done).__await__()
        return self

    # -- for the session

    def record(self, item: ChatItem, agents: Mapping[str, Any]) -> None:
        """Something entered the history."""
        match item:
            case ChatMessage():
                if item.role != "user":
                    self._events.append(ChatMessageEvent(item))
            case FunctionCall():
                self._events.append(FunctionCallEvent(item))
            case FunctionCallOutput():
                self._events.append(FunctionCallOutputEvent(item))
            case AgentHandoff():
                old = agents.get(item.old_agent_id or "")
                self._events.append(AgentHandoffEvent(item, agents.get(item.new_agent_id), old))
            case _:
                pass

    def conclude(self, outcome: Any) -> None:
        """A task was completed."""
        self._outcomes.append(outcome)

    def finish(self) -> None:
        """The session is idle again."""
        if not self._done.done():
            self._done.set_result(None)


# -- assertions


def _describe(event: RunEvent) -> str:
    match event:
        case ChatMessageEvent():
            return f"message from {event.item.role}: {event.item.text_content!r}"
        case FunctionCallEvent():
            return f"call of {event.item.name}({event.item.arguments})"
        case FunctionCallOutputEvent():
            error = " (error)" if event.item.is_error else ""
            return f"output of {event.item.name}{error}: {event.item.output!r}"
        case AgentHandoffEvent():
            return f"hand-off to {type(event.new_agent).__name__} ({event.item.new_agent_id})"


def _arguments(call: FunctionCall) -> Mapping[str, Any]:
    """By name. None, if the model wrote something else than a JSON object: the call was refused then."""
    try:
        given = json.loads(call.arguments or "{}")
    except ValueError:
        return {}
    return given if isinstance(given, dict) else {}


def _fail(events: Sequence[RunEvent], at: int | None, message: str) -> NoReturn:
    lines = [f"{'>>>' if number == at else '   '} {number}: {_describe(e)}" for number, e in enumerate(events)]
    raise AssertionError("\n".join([message, "Events:", *(lines or ["    none"])]))


class EventAssert:
    """Assertions on one event."""

    def __init__(self, event: RunEvent, events: Sequence[RunEvent], at: int) -> None:
        self._event = event
        self._events = events
        self._at = at

    def event(self) -> RunEvent:
        """The event itself."""
        return self._event

    def _expect(self, wanted: type[E]) -> E:
        if not isinstance(self._event, wanted):
            _fail(self._events, self._at, f"expected {wanted.__name__}, got {type(self._event).__name__}")
        return self._event

    def is_message(self, *, role: ChatRole | None = None) -> ChatMessageAssert:
        """It is a message, of that role if given."""
        event = self._expect(ChatMessageEvent)
        if role is not None and event.item.role != role:
            _fail(self._events, self._at, f"expected a message of role {role!r}, got {event.item.role!r}")
        return ChatMessageAssert(event, self._events, self._at)

    def is_function_call(
        self, *, name: str | None = None, arguments: Mapping[str, Any] | None = None
    ) -> FunctionCallAssert:
        """It is a call, of that tool, with at least those arguments."""
        event = self._expect(FunctionCallEvent)
        if name is not None and event.item.name != name:
            _fail(self._events, self._at, f"expected a call of {name!r}, got {event.item.name!r}")
        given = _arguments(event.item)
        for key, value in (arguments or {}).items():
            if key not in given or given[key] != value:
                found = repr(given[key]) if key in given else "nothing"
                _fail(self._events, self._at, f"expected argument {key}={value!r}, got {found}")
        return FunctionCallAssert(event, self._events, self._at)

    def is_function_call_output(
        self, *, output: str | None = None, is_error: bool | None = None
    ) -> FunctionCallOutputAssert:
        """It is the output of a call."""
        event = self._expect(FunctionCallOutputEvent)
        if output is not None and event.item.output != output:
            _fail(self._events, self._at, f"expected the output {output!r}, got {event.item.output!r}")
        if is_error is not None and event.item.is_error is not is_error:
            _fail(self._events, self._at, f"expected is_error={is_error}, got {event.item.is_error}")
        return FunctionCallOutputAssert(event, self._events, self._at)

    def is_agent_handoff(self, *, new_agent_type: type[Any] | None = None) -> AgentHandoffAssert:
        """It is a hand-off, to an agent of that class if given."""
        event = self._expect(AgentHandoffEvent)
        if new_agent_type is not None and not isinstance(event.new_agent, new_agent_type):
            _fail(
                self._events,
                self._at,
                f"expected a hand-off to {new_agent_type.__name__}, got {type(event.new_agent).__name__}",
            )
        return AgentHandoffAssert(event, self._events, self._at)


class FunctionCallAssert(EventAssert):
    """A call."""

    def event(self) -> FunctionCallEvent:
        return self._expect(FunctionCallEvent)


class FunctionCallOutputAssert(EventAssert):
    """An output."""

    def event(self) -> FunctionCallOutputEvent:
        return self._expect(FunctionCallOutputEvent)


class AgentHandoffAssert(EventAssert):
    """A hand-off."""

    def event(self) -> AgentHandoffEvent:
        return self._expect(AgentHandoffEvent)


class ChatMessageAssert(EventAssert):
    """A message."""

    def event(self) -> ChatMessageEvent:
        return self._expect(ChatMessageEvent)

    async def judge(self, llm: LLM, *, intent: str) -> ChatMessageAssert:
        """Ask a model whether the message does what `intent` says. Raises `AssertionError`, with its reason, if not."""
        if why := await objection_to(self.event().item.text_content or "", intent=intent, llm=llm):
            _fail(self._events, self._at, f"the message does not fulfil the intent {intent!r}: {why}")
        return self


async def objection_to(message: str, *, intent: str, llm: LLM) -> str:
    """What a model has against a message of an agent that is to do what `intent` says; "": nothing."""
    question = ChatContext()
    question.add_message(
        role="system",
        content=(
            "You check one message of a voice agent against an intent. Answer with YES or NO on the first line, and"
            " with your reason on the second."
        ),
    )
    question.add_message(role="user", content=f"Intent: {intent}\n\nMessage: {message}")
    answer = (await llm.chat(chat_ctx=question).collect()).text.strip()
    return "" if re.match(r"\W*yes\b", answer, re.IGNORECASE) else answer or "the judge said nothing"


_ASSERTS: dict[EventType, type[EventAssert]] = {
    "message": ChatMessageAssert,
    "function_call": FunctionCallAssert,
    "function_call_output": FunctionCallOutputAssert,
    "agent_handoff": AgentHandoffAssert,
}


class EventRangeAssert:
    """Some of the events."""

    def __init__(self, events: Sequence[RunEvent], all_events: Sequence[RunEvent], start: int) -> None:
        self._some = events
        self._events = all_events
        self._start = start

    def __len__(self) -> int:
        return len(self._some)

    def _find(self, check: Callable[[EventAssert], Any], what: str) -> Any:
        for number, event in enumerate(self._some):
            try:
                return check(EventAssert(event, self._events, self._start + number))
            except AssertionError:
                continue
        _fail(self._events, None, f"expected {what} among events {self._start} to {self._start + len(self._some)}")

    def contains_message(self, *, role: ChatRole | None = None) -> ChatMessageAssert:
        """There is such a message."""
        found: ChatMessageAssert = self._find(lambda e: e.is_message(role=role), f"a message of role {role!r}")
        return found

    def contains_function_call(
        self, *, name: str | None = None, arguments: Mapping[str, Any] | None = None
    ) -> FunctionCallAssert:
        """There is such a call."""
        found: FunctionCallAssert = self._find(
            lambda e: e.is_function_call(name=name, arguments=arguments), f"a call of {name!r} with {arguments}"
        )
        return found

    def contains_function_call_output(
        self, *, output: str | None = None, is_error: bool | None = None
    ) -> FunctionCallOutputAssert:
        """There is such an output."""
        found: FunctionCallOutputAssert = self._find(
            lambda e: e.is_function_call_output(output=output, is_error=is_error), f"the output {output!r}"
        )
        return found

    def contains_agent_handoff(self, *, new_agent_type: type[Any] | None = None) -> AgentHandoffAssert:
        """There is such a hand-off."""
        found: AgentHandoffAssert = self._find(
            lambda e: e.is_agent_handoff(new_agent_type=new_agent_type), f"a hand-off to {new_agent_type}"
        )
        return found


class RunAssert(EventRangeAssert):
    """Assertions on a run, in order or anywhere."""

    def __init__(self, events: Sequence[RunEvent]) -> None:
        super().__init__(events, events, 0)
        self._next = 0

    @overload
    def __getitem__(self, where: int) -> EventAssert: ...
    @overload
    def __getitem__(self, where: slice) -> EventRangeAssert: ...

    def __getitem__(self, where: int | slice) -> EventAssert | EventRangeAssert:
        if isinstance(where, slice):
            start, stop, step = where.indices(len(self._events))
            if step != 1:
                raise UsageError(
                    f"expect[{where}]: expected a slice of neighbours, got step {step}; take one [i] at a time"
                )
            return EventRangeAssert(self._events[start:stop], self._events, start)
        at = where + len(self._events) if where < 0 else where
        if not 0 <= at < len(self._events):
            _fail(self._events, None, f"expected an event at {where}, there are {len(self._events)}")
        return EventAssert(self._events[at], self._events, at)

    @overload
    def next_event(self, *, type: None = None) -> EventAssert: ...
    @overload
    def next_event(self, *, type: Literal["message"]) -> ChatMessageAssert: ...
    @overload
    def next_event(self, *, type: Literal["function_call"]) -> FunctionCallAssert: ...
    @overload
    def next_event(self, *, type: Literal["function_call_output"]) -> FunctionCallOutputAssert: ...
    @overload
    def next_event(self, *, type: Literal["agent_handoff"]) -> AgentHandoffAssert: ...

    def next_event(self, *, type: EventType | None = None) -> EventAssert:
        """The next event; of that type if given, those before it are passed over."""
        while self._next < len(self._events):
            at = self._next
            self._next += 1
            if type is None or self._events[at].type == type:
                kind = EventAssert if type is None else _ASSERTS[type]
                return kind(self._events[at], self._events, at)
        _fail(self._events, None, f"expected another event{f' of type {type!r}' if type else ''}, there is none")

    def skip_next(self, count: int = 1) -> RunAssert:
        """Pass over so many events."""
        for _ in range(count):
            self.next_event()
        return self

    def skip_next_event_if(
        self,
        *,
        type: EventType,
        role: ChatRole | None = None,
        name: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        output: str | None = None,
        is_error: bool | None = None,
        new_agent_type: type[Any] | None = None,
    ) -> EventAssert | None:
        """Pass over the next event if it is one like this.

        Returns it, or None if it is another one, or there is none.
        """
        if self._next >= len(self._events) or self._events[self._next].type != type:
            return None
        event = EventAssert(self._events[self._next], self._events, self._next)
        try:
            if type == "message":
                event.is_message(role=role)
            elif type == "function_call":
                event.is_function_call(name=name, arguments=arguments)
            elif type == "function_call_output":
                event.is_function_call_output(output=output, is_error=is_error)
            else:
                event.is_agent_handoff(new_agent_type=new_agent_type)
        except AssertionError:
            return None
        self._next += 1
        return event

    def no_more_events(self) -> None:
        """All events have been looked at."""
        if self._next < len(self._events):
            _fail(self._events, self._next, "expected no more events")


# -- tools that are not run

Mocks: TypeAlias = dict[type[Any], dict[str, Callable[..., Any]]]

_mocks: Mocks = {}
_mocks_of_sessions: WeakKeyDictionary[Any, Mocks] = WeakKeyDictionary()
_ever_mocked: set[type[Any]] = set()
"""Of all others is known at once, for every request, that there are no mocks."""


class _MockedTools(AbstractContextManager[None]):
    """Puts functions in the place of tools when it is entered, or at once for a session; leaving takes them away."""

    def __init__(self, agent_type: type[Any], mocks: Mapping[str, Callable[..., Any]], session: Any) -> None:
        self._agent_type = agent_type
        self._new = mocks
        self._all = _mocks if session is None else _mocks_of_sessions.setdefault(session, {})
        self._before: dict[str, Callable[..., Any]] | None = None
        self._active = False
        self._offered: set[str] | None = None
        """Names of the tools that agents of the class had meanwhile; None: no model was asked."""
        if session is not None:
            self._put()

    def _put(self) -> None:
        if not self._active:
            self._active = True
            _ever_mocked.add(self._agent_type)
            self._before = self._all.get(self._agent_type)
            self._all[self._agent_type] = {**(self._before or {}), **self._new}

    def __enter__(self) -> None:
        self._put()
        _blocks.append(self)

    def __exit__(self, raised: type[BaseException] | None, *_: object) -> None:
        self._active = False
        _blocks.remove(self)
        if self._before is None:
            del self._all[self._agent_type]
        else:
            self._all[self._agent_type] = self._before
        if raised is None and self._offered is not None and (unknown := self._new.keys() - self._offered):
            raise UsageError(
                f"mock_tools: agents of class {self._agent_type.__name__} have no tool"
                f" {', '.join(map(repr, sorted(unknown)))}; they have {', '.join(sorted(self._offered)) or 'none'}"
            )

    def note(self, agent_type: type[Any], tools: Sequence[Any]) -> None:
        """An agent's model may call these tools."""
        if agent_type is self._agent_type:
            behind = {name for name in self._new if find_tool(tools, name) is not None}  # by proxy, too
            self._offered = (self._offered or set()) | behind | {tool.id for tool in tools}


_blocks: list[_MockedTools] = []
"""Those whose block runs."""


def mock_tools(
    agent_type: type[Any], mocks: Mapping[str, Callable[..., Any]], *, session: Any = None
) -> AbstractContextManager[None]:
    """Have agents of this class call these functions instead of their tools', while the block runs.

    With `session` it counts for that session only, from now on; no block is needed.

    A function may be sync or async and may declare a part of the tool's parameters. What it raises, or an exception
    that it returns, is what the tool raised. Raises `UsageError` for what is no class and what is no function, and at
    the end of the block for names that no tool of the agent had.
    """
    if not isinstance(agent_type, type):
        raise UsageError(f"mock_tools: expected the class of an agent, got {agent_type!r}; give type(agent)")
    for name, mock in mocks.items():
        if not callable(mock):
            raise UsageError(f"mock_tools: {name!r}: expected a function, got {mock!r}; give lambda: {mock!r}")
    return _MockedTools(agent_type, mocks, session)


_stand_ins: WeakKeyDictionary[Any, Mapping[str, Callable[..., Any]]] = WeakKeyDictionary()
"""By session: what stands in for tools of all of its agents."""


def stand_in_for_tools(session: Any, functions: Mapping[str, Callable[..., Any]]) -> None:
    """Have all agents of a session, which has not started, call these in the place of the tools that are in it by name.

    As with `mock_tools`, names, schemas and policies stay. A mapping may make its functions as it is asked.
    """
    _stand_ins[session] = functions


def mocked_tools(agent_type: type[Any], session: Any) -> Mapping[str, Callable[..., Any]]:
    """The functions that stand in for the tools of an agent class in a session now, by tool name."""
    if _stand_ins and (functions := _stand_ins.get(session)) is not None:
        return functions
    if agent_type not in _ever_mocked:
        return {}
    return {**_mocks.get(agent_type, {}), **_mocks_of_sessions.get(session, {}).get(agent_type, {})}


def note_tools(agent_type: type[Any], tools: Sequence[Any]) -> None:
    """Agents of this class have these tools now: mocks that are meant for others are a mistake."""
    for mocked in _blocks:
        mocked.note(agent_type, tools)
