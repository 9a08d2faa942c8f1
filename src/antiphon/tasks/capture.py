"""`CaptureTask`: ask for one value, check it, read it back, and have it confirmed. What the ready tasks share.

Above: `name`, `email`, `phone`, `address`, `date_of_birth`, `dtmf`. Below: `AgentTask`. A model decides what the caller
meant; code decides whether a value can be right, words the read-back, and knows whether the caller heard it. The reply
to an update is that read-back, not the model's: `llm_node` gives it.

```
asking --update--> read back --confirm (heard, and answered)--> complete
   ^                  |  ^
   |                  +--+ update: another value, read back anew; confirm too early: the same, read back again
   +-- decline: ToolError to whoever awaits the task
```
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Generic, TypeVar

from pydantic import Field

from antiphon.chat import ChatContext, ChatMessage, FunctionCallOutput
from antiphon.errors import UsageError
from antiphon.events import ConversationItemAddedEvent
from antiphon.language import ENGLISH, Language, ValueLines
from antiphon.language.consent import decide
from antiphon.language.replies import Asked
from antiphon.language.replies import Reply as Consent
from antiphon.options import ModelSettings
from antiphon.realtime import RealtimeModel
from antiphon.run_context import RunContext
from antiphon.session_api import current_session
from antiphon.speech_handle import SpeechHandle
from antiphon.tasks.agent_task import AgentTask
from antiphon.text import spoken
from antiphon.tools.function import AnyFunctionTool, ToolError, ToolFlag, ToolResult, function_tool
from antiphon.tools.toolset import ToolLike
from antiphon.vad import VAD

T = TypeVar("T")

LATE_WORDS = 4.0
"""Seconds that the words of a reply may come after the model's confirmation: realtime models put them down later."""
REFUSALS = (Consent.NO, Consent.CHANGE)
"""Replies to a read-back that no model may take for a yes."""


@dataclass(slots=True, frozen=True)
class Words:
    """How a task speaks of the value that it captures: to the model, and to a caller whose language has no other."""

    tool: str
    """Its part in tool names: "email_address" makes `confirm_email_address`."""
    noun: str
    """As in "What is your ...?"."""
    question: str
    """What the caller is asked first."""

    def lines(self, language: Language) -> ValueLines:
        """What is said to the caller."""
        known = language.captures
        return known.values.get(self.tool) or ValueLines(
            self.question, known.again.format(noun=self.noun), known.check.format(noun=self.noun)
        )


@dataclass(slots=True, frozen=True)
class ReadBack(Generic[T]):
    """A value on its way to the caller's ear."""

    value: T
    essence: str
    """The words that the caller has to hear: the beginning of `text`."""
    text: str
    handle: SpeechHandle
    """The speech that it is a part of."""

    def message(self) -> ChatMessage | None:
        """What entered the history of it; None if nothing of it was heard."""
        for item in reversed(self.handle.chat_items):
            if isinstance(item, ChatMessage) and item.text_content and self.text.startswith(item.text_content.strip()):
                return item
        return None

    def heard(self) -> bool:
        """True once the caller heard the value, though perhaps not the question after it."""
        message = self.message()
        return message is not None and self.essence in (message.text_content or "")


class CaptureTask(AgentTask[T]):
    """Captures one value. Subclasses bring an update tool, which calls `captured`, and say how a value is read back.

    `extra_instructions` are added to the task's own. `require_confirmation=False`: the first valid value is the result,
    without read-back. `question` is what the caller is asked; the default is that of the caller's language, else the
    task's. With a `chat_ctx`, in which the answer may stand already, the model begins by itself instead. `tools` are
    added to the task's. The caller may decline: `ToolError` is raised where the task is awaited.
    """

    words: Words
    sensitive: bool = False
    """What the caller says while this is asked appears nowhere: see `Session.sensitive`."""
    rules: str = ""
    """What the model should know of this kind of value."""

    def __init__(
        self,
        *,
        extra_instructions: str = "",
        require_confirmation: bool = True,
        question: str | None = None,
        chat_ctx: ChatContext | None = None,
        tools: Sequence[ToolLike] | None = None,
        stt: Any = None,
        vad: VAD | None = None,
        llm: Any = None,
        tts: Any = None,
    ) -> None:
        own = [self._decline_tool()]
        if require_confirmation:
            own.append(self._confirm_tool())
        super().__init__(
            instructions=_instructions(self.words, self.rules, require_confirmation, extra_instructions),
            chat_ctx=chat_ctx,
            tools=[*own, *(tools or ())],
            stt=stt,
            vad=vad,
            llm=llm,
            tts=tts,
        )
        self.require_confirmation = require_confirmation
        self._question = question
        self._knows_more = chat_ctx is not None
        self.asking: SpeechHandle | None = None
        """What the task itself asked last."""
        self._read_back: ReadBack[T] | None = None
        self._unread: str | None = None
        """The call whose output is to be answered by the read-back."""

    @property
    def read_back(self) -> ReadBack[T] | None:
        """The last read-back; None before the first value."""
        return self._read_back

    @property
    def language(self) -> Language:
        """The caller's; English while it works in no session."""
        try:
            return self.session.language
        except UsageError:
            return ENGLISH

    @property
    def question(self) -> str:
        """What the caller is asked first."""
        return self._question or self.default_question()

    def default_question(self) -> str:
        """The question where none was given."""
        return self.words.lines(self.language).question

    @abstractmethod
    def essence(self, value: T) -> str:
        """The value in words that can be checked by ear, in the caller's language. See `have`."""

    def have(self, value: str) -> str:
        """A value as it is read back, in the caller's language: "I have ..."."""
        return self.language.captures.read_back.format(value=value)

    async def _run(self) -> T:
        session = current_session.get()
        if not self.sensitive or session is None:
            return await super()._run()
        with session.sensitive():
            return await super()._run()

    async def on_enter(self) -> None:
        if self._knows_more:
            self.asking = self.session.generate_reply(
                instructions=f"Ask the user for their {self.words.noun}, unless they have given it already."
            )
        else:
            self.asking = self.session.say(self.question)

    def llm_node(self, chat_ctx: ChatContext, tools: list[Any], model_settings: ModelSettings) -> Any:
        if self._read_back is not None and self._unread in _calls_to_answer(chat_ctx):
            self._unread = None
            return self._read_back.text
        if self._is_denied(chat_ctx):
            return self.words.lines(self.language).again
        return super().llm_node(chat_ctx, tools, model_settings)

    def _is_denied(self, chat_ctx: ChatContext) -> bool:
        """Whether the caller has just said no to the read-back and nothing else: that has one meaning only."""
        last = chat_ctx.items[-1] if len(chat_ctx) else None
        if self._read_back is None or not isinstance(last, ChatMessage) or last.role != "user":
            return False
        said = last.text_content or ""
        return _is_answer_to(self._read_back, chat_ctx) and spoken.is_bare_no(said, self.language.spoken)

    def _is_refused(self, back: ReadBack[T], chat_ctx: ChatContext) -> bool:
        """Whether the caller's words say no to what was read back, whatever the model makes of them."""
        said = next((message.text_content for message in reversed(_messages(chat_ctx)) if message.role == "user"), "")
        return decide(said or "", Asked(back.text, (back.essence,)), self.language.consent) in REFUSALS

    def captured(self, ctx: RunContext[Any], value: T) -> ToolResult:
        """A valid value: read it back, or be done if nothing has to be confirmed. What an update tool returns."""
        if not self.require_confirmation:
            return self.finished(value)
        essence, text = self._wording(value)
        self._read_back = ReadBack(value, essence, text, ctx.speech_handle)
        self._unread = ctx.function_call.call_id
        return ToolResult(f"The user hears now: {text} {self._offer()}")

    def read_aloud(self, value: T) -> None:
        """A valid value that came without the model: read it back, or be done if nothing has to be confirmed."""
        if not self.require_confirmation:
            self.finished(value)
            return
        essence, text = self._wording(value)
        self.asking = self.session.say(text)
        self._read_back = ReadBack(value, essence, text, self.asking)

    def finished(self, value: T) -> ToolResult:
        """End the task. What whoever awaits it makes of the value is what the caller hears next."""
        if not self.done():
            self.complete(value)
        return ToolResult("Noted.", reply_required=False)

    def _wording(self, value: T) -> tuple[str, str]:
        essence = self.essence(value)
        return essence, f"{essence}. {self.words.lines(self.language).check}"

    def _offer(self) -> str:
        return f"Offer to confirm the {self.words.noun}."

    # -- tools

    def _confirm_tool(self) -> AnyFunctionTool:
        async def confirm(ctx: RunContext[Any]) -> ToolResult:
            back = self._read_back
            if back is None:
                raise ToolError(f"There is nothing to confirm yet. Ask the user for their {self.words.noun}.")
            if back.handle is not ctx.speech_handle and _is_last_word(back, self.session.history):
                await self._words_of_the_answer()
            if back.handle is ctx.speech_handle or _is_last_word(back, self.session.history):
                raise ToolError("Not confirmed: the user has not answered the read-back yet. Wait for their answer.")
            if back.heard() and _is_answer_to(back, self.session.history):
                if not self.sensitive and self._is_refused(back, self.session.history):  # else nobody knows the words
                    raise ToolError("Not confirmed: the user did not say yes to it. Ask what is right instead.")
                return self.finished(back.value)
            self._read_back = replace(back, handle=ctx.speech_handle)
            self._unread = ctx.function_call.call_id
            return ToolResult(
                "Not confirmed: the read-back was interrupted, or something else was said since. The user hears it"
                f" again now: {back.text} {self._offer()}"
            )

        return function_tool(
            confirm,
            name=f"confirm_{self.words.tool}",
            description=(
                f"Confirm the {self.words.noun}. Call this only when it was read back to the user, nothing has changed"
                " since, and the user has said yes to it. Do not call it when they correct anything."
            ),
        )

    async def _words_of_the_answer(self) -> None:
        """A model that hears by itself may answer before the caller's words are known: wait for them."""
        if not isinstance(self.llm, RealtimeModel):
            return
        come = asyncio.Event()

        def added(event: ConversationItemAddedEvent) -> None:
            if isinstance(event.item, ChatMessage) and event.item.role == "user":
                come.set()

        self.session.on("conversation_item_added", added)
        try:
            async with asyncio.timeout(LATE_WORDS):
                await come.wait()
        except TimeoutError:
            pass  # there are none: it was no answer
        finally:
            self.session.off("conversation_item_added", added)

    def _decline_tool(self) -> AnyFunctionTool:
        async def decline(
            reason: Annotated[str, Field(description="Why, in the user's words, if they said.")] = "",
        ) -> ToolResult:
            if not self.done():
                why = f": {reason}" if reason else ""
                self.complete(ToolError(f"The user did not give their {self.words.noun}{why}."))
            return ToolResult("Noted.", reply_required=False)

        return function_tool(
            decline,
            name=f"decline_{self.words.tool}",
            description=(
                f"Decline to give the {self.words.noun}. Call this when the user refuses it, prefers to keep it"
                " private, wants to skip this, has none, or does not know it."
            ),
            flags=ToolFlag.IGNORE_ON_ENTER,
        )


def _is_last_word(back: ReadBack[Any], chat_ctx: ChatContext) -> bool:
    """Whether nobody has said anything since the read-back."""
    message, messages = back.message(), _messages(chat_ctx)
    return message is not None and bool(messages) and messages[-1].id == message.id


def _is_answer_to(back: ReadBack[Any], chat_ctx: ChatContext) -> bool:
    """Whether the read-back is what the agent said last before the caller's last turn."""
    message, messages = back.message(), _messages(chat_ctx)
    while messages and messages[-1].role != "user":
        messages.pop()
    before = [m for m in messages if m.role == "assistant"]
    return message is not None and bool(before) and before[-1].id == message.id


def _messages(chat_ctx: ChatContext) -> list[ChatMessage]:
    """What the two said, oldest first."""
    return [message for message in chat_ctx.messages() if message.role in ("user", "assistant")]


def _calls_to_answer(chat_ctx: ChatContext) -> list[str]:
    """The calls whose outputs the response is made for: those since anybody last spoke."""
    calls = []
    for item in reversed(chat_ctx.items):
        if isinstance(item, ChatMessage) and item.role in ("user", "assistant"):
            break
        if isinstance(item, FunctionCallOutput):
            calls.append(item.call_id)
    return calls


def _instructions(words: Words, rules: str, require_confirmation: bool, extra: str) -> str:
    update, confirm, decline = f"update_{words.tool}", f"confirm_{words.tool}", f"decline_{words.tool}"
    confirming = (
        f"The value is then read back to the user for you: do not repeat it yourself. When they say that it is right,"
        f" call `{confirm}`. When they correct any part of it, call `{update}` with the whole corrected value. When"
        " they only say that it is wrong, ask what is wrong. "
        if require_confirmation
        else ""
    )
    parts = [
        f"You are on a call. Your only job now is to get the user's {words.noun}.",
        f"Call `{update}` as soon as they have said it; never make up or complete what they did not say. {confirming}"
        f"If they do not want to give it, call `{decline}`. If they speak of something else, say that you will come to"
        " it after this.",
        "What the user says was recognised from speech: expect words that were misheard, and letters, digits and marks"
        " in words. A later spelling counts more than what was understood before.",
        rules,
        extra,
    ]
    return "\n".join(part for part in parts if part)
