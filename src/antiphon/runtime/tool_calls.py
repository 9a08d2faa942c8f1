"""Calls of tools, from what a model wrote to what is run: checked once, and kept until the core has them run.

Above: `responses`, which gives what models write; `tool_runner`, which takes what is to be run. Below: the tools.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

from antiphon.chat import ChatItem, FunctionCall
from antiphon.core.facts import Call, ToolCalled
from antiphon.errors import UsageError, pass_on
from antiphon.language.english import ENGLISH
from antiphon.language.pack import Language
from antiphon.llm import FunctionToolCall
from antiphon.options import ToolPolicy
from antiphon.record import record
from antiphon.runtime.host import Agents, Events
from antiphon.runtime.masks import Masks, hides
from antiphon.tools.definition import PreparedCall
from antiphon.tools.function import AnyFunctionTool, ToolError, is_function_tool, is_raw_function_tool
from antiphon.tools.identity import given_id, lasting_name, owner_of
from antiphon.tools.latency import latencies
from antiphon.tools.policy import policy_of
from antiphon.tools.proxy import LONGEST_NAME, find_tool, is_proxy, prepare_call
from antiphon.tools.read_back import read_back_of
from antiphon.tools.toolset import unknown_tool_text
from antiphon.visible import shortened

logger = logging.getLogger("antiphon")

MAX_CALLS = 64
"""Calls of one response that are made; nobody waits for more, and each is work for the whole process."""

TOO_MANY_CALLS = (
    f"Not run: one response may hold {MAX_CALLS} calls. Neither this call nor any behind it was made."
    f" Call again for those that are still needed, {MAX_CALLS} at a time at most."
)
"""The output of the call behind these. Those behind it do not enter the history: each would need an output, too."""

ONE_AT_A_TIME = "one call at a time; call again if still needed"
"""The output of a second call in one response where only one may run."""

INTERNAL_ERROR = "An internal error occurred"
"""What the model reads when something of a tool raised what is not meant for it."""

_NO_POLICY = ToolPolicy()


@record
class Prepared:
    """A call that may be run."""

    speech: int
    tool: AnyFunctionTool
    kwargs: dict[str, Any]
    secret_question: bool = False
    """The caller is asked first, about what nobody else may know."""


class ToolCalls:
    """The calls of one session. `silence_is_bridged`: somebody is told how long a tool is likely to take."""

    def __init__(
        self,
        agents: Agents,
        events: Events,
        masks: Masks,
        language: Language = ENGLISH,
        *,
        silence_is_bridged: bool,
    ) -> None:
        self._language = language
        self._agents = agents
        self._events = events
        self._masks = masks
        self._silence_is_bridged = silence_is_bridged
        self._known_tools: dict[tuple[object, object, str], tuple[str, AnyFunctionTool]] = {}
        """What names each tool in calls, by what tells tools apart; with a form of it, so that its parts live on."""
        self._prepared: dict[str, Prepared] = {}
        """By call id."""
        self._ids: set[str] = set()
        """Of the whole session. Models repeat them; the history must not."""
        self._in_doubt: set[str] = set()
        """Tools of which nobody knows whether something happened that they did. By origin, else by name."""
        self._contexts: dict[str, list[ChatItem]] = {}
        """By agent: the context whose call ids are among them. It may hold calls of earlier sessions."""

    def speaks(self, language: Language) -> None:
        """Calls are read back in another language from here on."""
        self._language = language

    def left_in_doubt(self, tool: str) -> None:
        """Nobody knows whether something happened. The caller may want it tried again, and is asked first."""
        self._in_doubt.add(tool)

    def new_id(self, wanted: str, agent: str) -> str:
        """An id for a call of `agent` that the session has not seen yet: the model's own if it can be."""
        known = self._ids
        context = self._agents.agent(agent).context_items()
        if self._contexts.get(agent) is not context:
            self._contexts[agent] = context
            known.update(item.call_id for item in context if isinstance(item, FunctionCall))
        while not wanted or wanted in known:
            wanted = f"{wanted or 'call'}_{len(known) + 1}"
        known.add(wanted)
        return wanted

    def check(
        self, gen: int, speech: int, wanted: FunctionToolCall, tools: Sequence[Any], *, refusal: str | None = None
    ) -> ToolCalled:
        """What the core is to know of a call, whose id is from `new_id`. `refusal`: why it is not run, fit or not."""
        tool = find_tool(tools, wanted.name)
        if refusal is TOO_MANY_CALLS:
            return self._refused(gen, wanted, tool, tools, refusal, _NO_POLICY)
        if tool is None:
            names = [one.id for one in tools if is_function_tool(one) or is_raw_function_tool(one)]
            said = unknown_tool_text(shortened(wanted.name, LONGEST_NAME), names)
            return self._refused(gen, wanted, tool, tools, said, _NO_POLICY)
        if refusal is not None:
            return self._refused(gen, wanted, tool, tools, refusal)
        masks = self._masks
        try:
            meant, prepared = prepare_call(
                tool, masks.opened(wanted.arguments) if masks.is_active else wanted.arguments
            )
            if masks.is_active or hides(meant):
                prepared, refusal = masks.closed(meant, prepared)  # a secret is read back by what stands for it
            read_back, spoken = self._read_back(meant, prepared)
        except ToolError as error:
            return self._refused(gen, wanted, tool, tools, error.message)
        except BaseException as error:  # what checks an argument may be the application's
            pass_on(error)
            called = self._refused(gen, wanted, tool, tools, INTERNAL_ERROR)  # what it holds is masked in the log, too
            logger.exception("checking the arguments of tool %r raised", tool.name)
            self._events.failed(error, tool)
            return called
        # If it was made by proxy, it is the other tool's call from here on.
        call = Call(
            wanted.call_id,
            meant.name,
            prepared.arguments,
            prepared.canonical,
            prepared.confirm_duplicate,
            self._origin(meant),
            prepared.identity,
            read_back,
            spoken,
        )
        if refusal is None:
            asks = read_back is not None and hides(meant)
            self._prepared[call.call_id] = Prepared(speech, meant, prepared.kwargs, asks)
            if asks:
                masks.question_asked()
        return ToolCalled(gen, call, self._policy(meant), refusal)

    def _refused(
        self,
        gen: int,
        wanted: FunctionToolCall,
        tool: AnyFunctionTool | None,
        tools: Sequence[Any],
        why: str,
        policy: ToolPolicy | None = None,
    ) -> ToolCalled:
        """A call that is not run, as it was written, but for what must not be shown."""
        arguments = wanted.arguments
        if self._masks.is_active or (tool is not None and (hides(tool) or is_proxy(tool))):
            arguments, why = self._masks.refused(tool, arguments, why, partial(find_tool, tools))
        name = wanted.name if tool is not None else shortened(wanted.name, LONGEST_NAME)
        policy = policy if policy is not None or tool is None else self._policy(tool)
        return ToolCalled(gen, Call(wanted.call_id, name, arguments), policy or _NO_POLICY, why)

    def _read_back(self, tool: AnyFunctionTool, prepared: PreparedCall) -> tuple[str | None, tuple[str, ...]]:
        """What the caller has to agree to, if they have to."""
        if not (tool.options.may_ask or (self._in_doubt and self._may_be_tried_again(tool))):
            return None, ()
        return read_back_of(tool.options.asked, tool.name, tool.description, prepared.all or {}, self._language)

    def _may_be_tried_again(self, tool: AnyFunctionTool) -> bool:
        """Nobody knows of one of its calls, and something of the session's own can ask the caller."""
        agents, agent = self._agents, self._agents.current_agent_id
        can_ask = agents.realtime_of(agent) is None or agents.has_voice(agent)
        return can_ask and tool.options.writes and (self._origin(tool) or tool.name) in self._in_doubt

    def _origin(self, tool: AnyFunctionTool) -> str:
        """A name for the tool that no other has: of one function on two objects, two tools are made."""
        known = self._known_tools.get(_kin(tool))
        if known is None:
            name = lasting_name(tool)
            others = sum(lasting_name(other) == name for _, other in self._known_tools.values())
            known = self._known_tools[_kin(tool)] = (f"{name}#{others + 1}" if others else name, tool)
        return known[0]

    def _policy(self, tool: AnyFunctionTool) -> ToolPolicy:
        return policy_of(tool, latencies.expected(tool.name)) if self._silence_is_bridged else policy_of(tool)

    def take(self, call_id: str) -> Prepared:
        """A call that is to be run now. Raises `UsageError` if none was prepared: nothing else may be run."""
        prepared = self._prepared.pop(call_id, None)
        if prepared is None:
            raise UsageError(f"call {call_id!r}: expected one that a model made and that was checked, got none such")
        if prepared.secret_question:
            self._masks.question_over()
        return prepared

    def forget(self, speech: int) -> None:
        """The speech is over; calls of it that were not run will not be."""
        if self._prepared:
            for one in self._prepared.values():
                if one.speech == speech and one.secret_question:
                    self._masks.question_over()
            self._prepared = {key: one for key, one in self._prepared.items() if one.speech != speech}


def _kin(tool: AnyFunctionTool) -> tuple[object, object, str]:
    """Equal for all forms of one tool, renamed ones too: what was decorated, and whose it is (design, section 4).

    A method belongs to its object, or to the id that its object was given: two objects of one class have two tools.
    """
    owner, function = owner_of(tool), tool.function
    is_hashable = type(function).__hash__ is not None
    return function if is_hashable else id(function), given_id(owner) or id(owner), tool.origin
