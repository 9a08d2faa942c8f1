"""`StandInLLM`: the dialogue engine behind the interface of a language model."""

from __future__ import annotations

import datetime as dt
import json
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any

from antiphon.chat import new_id
from antiphon.llm import LLM, ChatChunk, ChatRequest, ChoiceDelta, CompletionUsage, FunctionToolCall
from antiphon.options import is_given
from antiphon.providers.openai_format import wire_response_format
from antiphon_standin import known, replay, results, speak, structured
from antiphon_standin.memory import PlannedCall, State, Step
from antiphon_standin.slots import Slot, ToolView, harmonised, nested, view
from antiphon_standin.understand import Kind

NOTICE = (
    "Using the embedded stand-in: a rule-based dialogue engine that fills tool parameters. It is not a language model"
    " and cannot converse freely. Give llm= a real model for that."
)
"""The line that the command line prints when this engine runs in the place of a model."""


FAULT = "I'm sorry, something went wrong on my side. Could you say that again, please?"
"""What the caller hears when the engine itself fails."""
logger = logging.getLogger("antiphon")


class StandInLLM(LLM):
    """A deterministic dialogue engine in the place of a language model. It is *not* a language model.

    It picks tools by the words in their names and descriptions, fills their parameters from what the caller said, asks
    for what is missing, reads back where a tool wants it, and turns results into speech. It knows no facts, follows
    instructions only as far as they say when to read back and how to greet, and understands English. Its answer is a
    function of the request alone: nothing is kept between requests, so one instance serves any number of calls.

    Args:
        now: The clock that relative dates are seen from; by default the local time.

    Asked for structured output (`response_format`), it puts its sentence into the field that is to be spoken, and
    neutral values into the other required ones.
    """

    model = "stand-in (not a language model)"
    reads_all = True

    def __init__(self, *, now: Callable[[], dt.datetime] | None = None) -> None:
        self._now = now or dt.datetime.now

    @property
    def label(self) -> str:
        return "standin.StandInLLM (rule-based, not a language model)"

    async def prewarm(self) -> None:
        """Load the thesaurus, the stemmer and the matcher."""
        from antiphon.chat import ChatContext

        warm = ChatContext()
        warm.add_message(role="user", content="I would like to check something next Tuesday at ten, my name is Ann Lee")
        respond(ChatRequest(chat_ctx=warm), self._now().date())

    async def generate(self, request: ChatRequest) -> AsyncGenerator[ChatChunk, None]:
        try:
            step = respond(request, self._now().date())
        except Exception:
            # Silence would leave the caller alone with a fault that is ours.
            logger.exception("the stand-in failed to answer; it apologises instead")
            step = Step(say=FAULT)
        chunk_id = new_id("standin")
        for word in _deltas(_in_form(request, step.say)):
            yield ChatChunk(id=chunk_id, delta=ChoiceDelta(content=word))
        if step.calls:
            calls = tuple(
                FunctionToolCall(call.tool, json.dumps(nested(call.args), ensure_ascii=False), new_id("call"))
                for call in step.calls
            )
            yield ChatChunk(id=chunk_id, delta=ChoiceDelta(tool_calls=calls))
        yield ChatChunk(id=chunk_id, usage=CompletionUsage(0, 0))


def _in_form(request: ChatRequest, sentence: str) -> str:
    """The sentence as the request wants it written. Raises `UsageError` for a form that is none."""
    if not sentence or not is_given(request.response_format) or request.response_format is None:
        return sentence
    return structured.form(structured.schema_of(wire_response_format(request.response_format)), sentence)


def _deltas(text: str) -> list[str]:
    words = text.split(" ") if text else []
    return [word if k == 0 else f" {word}" for k, word in enumerate(words)]


def respond(request: ChatRequest, today: dt.date) -> Step:
    """The engine's answer to a request, with `tool_choice` held."""
    # Tools that run at a provider have no schema to fill.
    own = [(spec, tool) for tool in request.tools if (spec := getattr(tool, "spec", None)) is not None]
    tools = [view(spec.name, spec.description, spec.parameters, effect=_effect(tool)) for spec, tool in own]
    return decide(
        request.chat_ctx.items, tools, request.tool_choice if is_given(request.tool_choice) else "auto", today
    )


def _effect(tool: object) -> str:
    """What a tool does to the world, as far as its author said."""
    return str(getattr(getattr(tool, "options", None), "effect", "unsaid"))


def decide(items: Sequence[Any], tools: Sequence[ToolView], choice: str | Mapping[str, Any], today: dt.date) -> Step:
    """The next step for a history and tools. Pure."""
    tools = harmonised(tools)
    state, step = replay.replay(items, tools, today)

    if choice == "none":
        return step if not step.calls else Step(say=_without_call(state), goal=step.goal)
    if choice == "auto" or not tools:
        return step
    if isinstance(choice, Mapping):
        name = choice.get("function", {}).get("name") or choice.get("name")
        forced = next((tool for tool in tools if tool.name == name), tools[0])
        if any(call.tool == forced.name for call in step.calls):
            return step
    else:
        if step.calls:
            return step
        forced = state.tools.get(step.goal or state.goal or "", tools[0])
    return Step(calls=(PlannedCall(forced.name, _forced_arguments(state, forced)),), goal=forced.name)


def _without_call(state: State) -> str:
    """What to say where a call would be due but is not allowed."""
    last = state.last_call
    if last is not None and last.turn == state.turn and last.output:
        told = results.digest(last.output, said=last.said).facts
        if told:
            return " ".join(told)
    return f"I'm afraid I can't do that right now. {speak.ANYTHING_ELSE}"


def _forced_arguments(state: State, tool: ToolView) -> dict[str, Any]:
    args = known.arguments(state, tool)
    for slot in tool.slots:
        if slot.gate and slot.required:
            args[slot.name] = False
        elif slot.required and slot.name not in args:
            args[slot.name] = _blank(slot)
    return args


def _blank(slot: Slot) -> Any:
    """A value of the right type for a slot that nothing is known of."""
    if slot.many:
        return []
    if slot.choices:
        return slot.choices[0]
    if slot.kind is Kind.FLAG:
        return False
    if slot.json_type in ("integer", "number"):
        return int(slot.low or 0)
    return ""
