"""How much of the talk fits into the requests of a session: the budget, and what models turn out to take.

Above: `requests`, which asks what to carry, and `generation`, which tells what came of it. Below: what each agent's
requests carry (`carried`), and the model that writes summaries (`summaries`).

Too much talk is cut before a request is made, at once. A summary is written before that is needed, while nothing else
is asked of its model; where there is none yet, the talk is cut without, and the summary takes its place when it comes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from antiphon.chat import ChatItem, ChatMessage
from antiphon.core.commands import Generate
from antiphon.errors import ContextOverflow, pass_on
from antiphon.events import TrimReason
from antiphon.llm import LLM, CompletionUsage
from antiphon.options import ContextBudget, Effect
from antiphon.runtime.carried import Carried, Summary, item_tokens
from antiphon.runtime.host import Agents, Events, Tools
from antiphon.runtime.port import Port
from antiphon.runtime.summaries import summarised
from antiphon.text.tokens import tokens_of
from antiphon.timer import within
from antiphon.tools.function import FunctionTool, RawFunctionTool
from antiphon.tools.proxy import find_tool

logger = logging.getLogger("antiphon")

SUMMARY_FROM = 0.85
"""Of the room, after which a summary is begun."""
SUMMARY_TIMEOUT = 30.0
SUMMARY_TRIES = 3
"""How often a summary fails, or gives way to a reply, before the talk is cut without one."""
ANSWER = 1_000
"""Tokens of a model's window that are left for its answer, or a tenth of the window if that is less."""
COUNTED_FROM = 0.2
"""Of the room, from which on it matters how a model counts."""


class _Model:
    """What is known of how a model counts."""

    def __init__(self, llm: Any, budget: ContextBudget) -> None:
        self.llm = llm
        self.budget = budget
        self.room: float = budget.max_tokens
        """Tokens of talk that a request may carry, as the model counts."""
        self.scale = 1.0
        """Tokens as it counts, for one of our estimate."""

    @property
    def estimated_room(self) -> int:
        """The same as we count."""
        return max(1, int(self.room / self.scale))

    def counted(self, tokens: int, estimate: int) -> None:
        """It told how long a request was."""
        if tokens > 0 and estimate > 0:
            self.scale = min(4.0, max(0.5, tokens / estimate))


class ContextWindow:
    """Of one session."""

    def __init__(self, port: Port, agents: Agents, tools: Tools, events: Events) -> None:
        self._port = port
        self._agents = agents
        self._tools = tools
        self._events = events
        self._carried: dict[str, Carried] = {}
        """By agent."""
        self._models: dict[int, _Model] = {}
        """By identity of the model: agents are made anew in a call, their models are not."""
        self._asked: dict[str, _Model | None] = {}
        """By agent: the one that its latest request is for. None: it carries all."""
        self._summary: asyncio.Task[None] | None = None
        self._writer: LLM | None = None
        """The model that writes it."""
        self._tries = 0
        """Of the summary that is due."""

    # -- what a request carries

    def carried(self, command: Generate) -> list[ChatItem]:
        """A new list: instructions, and what fits of the agent's context."""
        agent = self._agents.agent(command.agent)
        items = agent.request_items()
        model = self._asked[command.agent] = self._model(command.agent)
        if model is None:
            return items
        context, carried = agent.context_items(), self._of(command.agent)
        if self._summary is not None and self._writer is model.llm:
            self._summary.cancel()  # a reply is asked for: nothing else is asked of the same model
            self._summary = None
        room = model.estimated_room - sum(map(item_tokens, command.open))
        carried.asked(command.speech, context, command.owed)
        if not carried.is_whole:
            carried.take_back(context, command.open, room, partial(self._effect, command.agent))
        if carried.tokens(context) > room:
            self._cut(command, carried, room, model.budget.keep_turns, "budget")
        if not carried.is_whole:
            items[len(items) - len(context) :] = carried.items(context)
        return items

    def forget(self, speech: int) -> None:
        """The speech is over."""
        for carried in self._carried.values():
            carried.forget(speech)

    def _of(self, agent: str) -> Carried:
        if agent not in self._carried:
            self._carried[agent] = Carried()
        return self._carried[agent]

    def _model(self, agent: str) -> _Model | None:
        """What is known of the agent's model. None: its requests carry all."""
        llm = self._agents.llm_of(agent)
        known = self._models.get(id(llm))
        if known is None and not getattr(llm, "reads_all", False):
            budget = self._agents.context_budget
            known = None if budget is None else self._models.setdefault(id(llm), _Model(llm, budget))
        return known

    def _cut(self, command: Generate, carried: Carried, room: int, keep_turns: int, why: TrimReason) -> None:
        context = self._agents.agent(command.agent).context_items()
        before = carried.tokens(context)
        talk = carried.unnoted(context, len(context))
        if carried.summary is None and (known := self._summary_of_another(talk)) is not None:
            carried.note(known, context, room, partial(self._effect, command.agent))
        if carried.cut(context, room, keep_turns, partial(self._effect, command.agent)):
            self._tries = 0
            self._port.span("context_trimmed", gen=command.gen)
            self._tell(command.agent, carried, before, why)

    def _summary_of_another(self, talk: Sequence[ChatMessage]) -> Summary | None:
        """That of an agent whose talk this one was given, from its beginning.

        The talk of an `AgentTask` stands in the middle of this one: its summary says nothing of what was before.
        """
        for other in reversed(self._carried.values()):
            if (summary := other.summary) is not None:
                covered = talk[: len(summary.covers)]
                if summary.covers == {item.id for item in covered}:
                    return Summary(summary.text, covered[-1], summary.covers)
        return None

    def _tell(self, agent: str, carried: Carried, before: int, why: TrimReason) -> None:
        context = self._agents.agent(agent).context_items()
        summary = "" if carried.summary is None else carried.summary.text
        self._events.trimmed(agent, why, carried.begins_at(context), before, carried.tokens(context), summary)

    def _effect(self, agent: str, tool: str) -> Effect:
        known = find_tool(self._tools.tools_of(agent, on_enter=False).flatten(), tool)
        return "unsaid" if known is None else known.options.effect

    # -- what comes of requests

    def overflowed(
        self, command: Generate, error: ContextOverflow, request: Sequence[ChatItem], tools: Sequence[Any]
    ) -> bool:
        """A model takes less than that. False if there is nothing more to leave out."""
        model = self._model(command.agent)
        if model is None:
            return False
        context, carried = self._agents.agent(command.agent).context_items(), self._of(command.agent)
        asked, talk = _tokens(request, tools), carried.tokens(context)
        if error.size is not None:
            model.counted(error.size, asked)
        room = 0.7 * talk * model.scale
        if error.limit is not None:
            rest = (asked - talk) * model.scale
            room = min(room, error.limit - min(ANSWER, error.limit / 10) - rest)
        model.room = max(room, 0.2 * talk * model.scale)
        logger.warning("agent %r: the request was too long; it is asked again with less of the talk", command.agent)
        self._cut(command, carried, model.estimated_room, model.budget.keep_turns, "overflow")
        return carried.tokens(context) < 0.9 * talk

    def answered(
        self, agent: str, request: Sequence[ChatItem], tools: Sequence[Any], usage: CompletionUsage | None
    ) -> None:
        """A request was answered: how long it was, as the model counts."""
        if usage is None or (model := self._asked.get(agent)) is None:
            return
        cached = usage.prompt_cached_tokens
        tokens = usage.prompt_tokens + (cached if cached > usage.prompt_tokens else 0)  # some count it apart
        if tokens > COUNTED_FROM * model.room:
            model.counted(tokens, _tokens(request, tools))

    # -- summaries

    def rests(self, agent: str) -> None:
        """The agent's model has written a reply: for a while nothing is asked of it. Begin a summary if it is due."""
        model = self._asked.get(agent)
        if model is None or self._summary is not None or self._tries >= SUMMARY_TRIES:
            return
        context, carried = self._agents.agent(agent).context_items(), self._of(agent)
        room, budget = model.estimated_room, model.budget
        until = carried.begins_at(context)
        if carried.tokens(context) > SUMMARY_FROM * room:
            until = max(until, carried.boundary(context, room, budget.keep_turns))
        if until == 0:
            return  # nothing has left
        talk = carried.unnoted(context, until)
        writer = model.llm if budget.summarise is True else budget.summarise
        if talk and isinstance(writer, LLM):
            known = carried.summary
            covers = frozenset(item.id for item in talk) | (known.covers if known else frozenset())
            summary = Summary(known.text if known else "", context[until - 1], covers)
            self._tries += 1
            self._writer = writer
            self._summary = self._port.spawn(self._summarise(agent, writer, summary, talk), f"summary for {agent}")

    async def _summarise(self, agent: str, writer: LLM, summary: Summary, talk: Sequence[ChatMessage]) -> None:
        try:
            async with within(SUMMARY_TIMEOUT):
                text = await summarised(writer, summary.text, talk)
        except BaseException as error:
            pass_on(error)
            logger.warning("agent %r: no summary of what was said: %s: %s", agent, type(error).__name__, error)
        else:
            self._tries = 0
            self._note(agent, replace(summary, text=text))
        finally:
            if self._summary is asyncio.current_task():
                self._summary = None

    def _note(self, agent: str, summary: Summary) -> None:
        model, carried = self._model(agent), self._of(agent)
        if model is not None:
            context = self._agents.agent(agent).context_items()
            before = carried.tokens(context)
            carried.note(summary, context, model.estimated_room, partial(self._effect, agent))
            self._tell(agent, carried, before, "summary")


def _tokens(request: Sequence[ChatItem], tools: Sequence[Any]) -> int:
    """Of a whole request."""
    return sum(map(item_tokens, request)) + sum(map(_tool_tokens, tools))


def _tool_tokens(tool: Any) -> int:
    if not isinstance(tool, (FunctionTool, RawFunctionTool)):
        return 0
    kept: dict[str, Any] = tool.wire
    if "tokens" not in kept:
        spec = tool.spec
        kept["tokens"] = tokens_of(f"{spec.name} {spec.description}") + tokens_of(str(spec.parameters), is_data=True)
    tokens: int = kept["tokens"]
    return tokens
