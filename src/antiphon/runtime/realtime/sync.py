"""What the session of a model that hears and speaks knows: instructions, tools, items, and the outputs of its calls.

Above: the link. Below: the wire. A session is told what it does not know yet (typed turns, results of tools, what
another agent was told). Whatever the core decides about a call that the model made, the model gets an output for it:
some wait for one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from antiphon.chat import ChatItem, ChatMessage, FunctionCall, FunctionCallOutput, paired
from antiphon.realtime import RealtimeCapabilities, RealtimeSession, RealtimeSetup
from antiphon.runtime.host import Agents, Tools
from antiphon.runtime.instructions import instructions_told
from antiphon.runtime.port import Port
from antiphon.runtime.realtime.wire import Wire

SETTLING = 1.0
"""Seconds after a speech in which the outputs of its calls may still come from the core."""

DROPPED = "The user spoke over this call. Its result is not known; call again if it is still needed."
"""The output of a call that the core dropped."""


@dataclass(slots=True)
class _Call:
    """A call of the model that has no output yet. `call_id` is the model's own."""

    call_id: str
    name: str
    speech: int
    output: FunctionCallOutput | None = None
    over: bool = False
    """Its speech has ended."""

    def output_known(self, output: FunctionCallOutput) -> None:
        """The history has this as its output."""
        self.output = output

    def speech_over(self) -> None:
        """It gets an output from now on, whatever it is."""
        self.over = True

    def given(self) -> FunctionCallOutput:
        """The output that the model gets."""
        if self.output is not None:
            return replace(self.output, call_id=self.call_id)
        return FunctionCallOutput(call_id=self.call_id, name=self.name, output=DROPPED, is_error=True)


class Sync:
    """What one link's session knows. `reopen`: the model cannot be told of a change; another session begins with it."""

    def __init__(
        self,
        port: Port,
        agents: Agents,
        tools: Tools,
        wire: Wire,
        reopen: Callable[[], None],
        agent: str,
        capabilities: RealtimeCapabilities,
    ) -> None:
        self._port = port
        self._agents = agents
        self._tables = tools
        self._wire = wire
        self._reopen = reopen
        self._agent = agent
        self._can = capabilities
        self._instructions = ""
        self._tools: list[Any] = []
        self._known: set[str] = set()
        """Ids of the items that the session has."""
        self._calls: dict[str, _Call] = {}
        """By the id that the history knows them by."""
        self._answered: set[str] = set()
        """Calls by the same ids whose outputs this session has."""
        self._settling: asyncio.TimerHandle | None = None
        self._gave_silently = False
        """Results were given to which no answer is wanted; a model may answer them all the same."""

    def setup(self) -> RealtimeSetup:
        """What a session begins with."""
        agent = self._agents.agent(self._agent)
        context = agent.context_items()
        self._tools = list(self._tables.tools_of(self._agent, on_enter=False).flatten())
        self._instructions = instructions_told(agent.instructions, has_tools=bool(self._tools))
        self._known = {item.id for item in context}
        self._answered.clear()
        return RealtimeSetup(self._instructions, self._tools, [item for item in paired(context) if _is_told(item)])

    def stop(self) -> None:
        """The link has ended."""
        if self._settling is not None:
            self._settling.cancel()

    # -- items

    def knows(self, item_id: str) -> None:
        """The session has, or makes, an item that the history knows by this id."""
        self._known.add(item_id)

    def keep_up_to_date(self, tools: list[Any] | None) -> None:
        """Tell the session of other instructions, and of other tools. None: it has no use for tools now."""
        changed_tools = tools is not None and tools != self._tools
        has_tools = bool(self._tools if tools is None else tools)
        instructions = instructions_told(self._agents.agent(self._agent).instructions, has_tools=has_tools)
        changed_instructions = instructions != self._instructions
        if (changed_instructions and not self._can.mutable_instructions) or (
            changed_tools and not self._can.mutable_tools
        ):
            self._reopen()
            return
        if changed_instructions:
            self._instructions = instructions
            self._wire.tell(lambda session: session.update_instructions(instructions))
        if changed_tools and tools is not None:
            self._tools = list(tools)
            self._wire.tell(lambda session: session.update_tools(list(tools)))

    def give_items(self, items: Sequence[ChatItem]) -> list[FunctionCallOutput]:
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
            self._wire.tell(lambda session: self._add(session, new))
        self._settle_calls()
        return outputs

    def _add(self, session: RealtimeSession, items: list[ChatItem]) -> None:
        """What a session that was opened meanwhile began with it has already."""
        new = [item for item in items if item.id not in self._known]
        self._known.update(item.id for item in new)
        if new:
            session.add_items(new)

    def recorded(self, message: ChatMessage) -> None:
        """The history has this. The session knows it before the caller's next turn, which it may answer unasked."""
        if self._can.mutable_chat_context:
            self._wire.tell(lambda session: self._add(session, [message]))

    # -- calls

    def called(self, known_as: str, call_id: str, name: str, speech: int) -> None:
        """The model made a call. `known_as`: its id in the history."""
        self._calls[known_as] = _Call(call_id, name, speech)

    def refused(self, call_id: str, name: str) -> None:
        """The model made a call that nobody wants."""
        self._give_silently([_Call(call_id, name, 0).given()])

    def output_known(self, output: FunctionCallOutput) -> None:
        """What the history has as the output of a call."""
        call = self._calls.get(output.call_id)
        if call is not None:
            call.output_known(output)

    def speech_done(self, speech: int) -> None:
        """The calls of a speech get their outputs from now on, whatever they are."""
        own = {call_id: call for call_id, call in self._calls.items() if call.speech == speech}
        for call in own.values():
            call.speech_over()
        self._settle({call_id: call for call_id, call in own.items() if call.output is not None})
        if any(call.output is None for call in own.values()) and self._settling is None:
            self._settling = self._port.loop.call_later(SETTLING, self._settle_calls)

    def _settle_calls(self) -> None:
        if self._settling is not None:
            self._settling.cancel()
            self._settling = None
        self._settle({call_id: call for call_id, call in self._calls.items() if call.over})

    def _settle(self, over: dict[str, _Call]) -> None:
        for call_id in over:
            del self._calls[call_id]
            self._answered.add(call_id)
        outputs = [call.given() for call in over.values()]
        if outputs:
            self._known.update(output.id for output in outputs)
            self._give_silently(outputs)

    def forget_calls(self) -> None:
        """The session that made them is gone."""
        self._calls.clear()

    # -- answers to results that nobody asked for

    def give(self, outputs: list[FunctionCallOutput], *, reply: bool) -> None:
        """Outputs of its calls. `reply`: the model answers them by itself."""
        self._wire.tell(lambda session: session.submit_outputs(outputs, reply=reply))
        self._gave_silently = False

    def _give_silently(self, outputs: list[FunctionCallOutput]) -> None:
        self.answer_unwanted()
        self._wire.tell(lambda session: session.submit_outputs(outputs, reply=False))

    def answer_unwanted(self) -> None:
        """The model has results to which no answer is wanted any more."""
        self._gave_silently = True

    def take_unwanted(self) -> bool:
        """Whether what the model begins unasked may be the answer to such results."""
        unwanted, self._gave_silently = self._gave_silently, False
        return unwanted


def _is_told(item: ChatItem) -> bool:
    return isinstance(item, (ChatMessage, FunctionCall, FunctionCallOutput))
