"""The masks of one session: what the core, and all that watches it, must not be told as it was.

The core is told placeholders, so everything that comes of it (history, journal, log, record, page, events) has them
and no values. Values leave the vault for the tool that is called, and for the agent's voice. While the caller is asked
for something `sensitive`, whatever they say is one placeholder, and neither side's sound is to be recorded.

Above: the driver, which passes every fact through here while this is active. Below: the vault.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from antiphon.chat import ChatItem, ChatMessage
from antiphon.core.facts import (
    Call,
    CloseRequested,
    EndRequested,
    Fact,
    GenerationFailed,
    HookReturned,
    OutcomeFound,
    PlayoutFinished,
    PlayoutProgressed,
    SpeechRequested,
    StepGenerated,
    StreamPaused,
    TextStarted,
    ToolCalled,
    ToolReturned,
    ToolUpdated,
    Transcribed,
    TurnTaken,
    TurnTranscribed,
    UserSpeechEnded,
    UserSpeechStarted,
    UserTurnSubmitted,
)
from antiphon.language import Language
from antiphon.options import RedactWords
from antiphon.secret import Secret, fingerprint
from antiphon.text import spoken
from antiphon.text.digit_runs import digit_runs
from antiphon.text.findings import findings
from antiphon.tools.function import AnyFunctionTool, PreparedCall, ToolError
from antiphon.tools.options import RETURN
from antiphon.vault import PLACEHOLDER, SHORTEST_DIGITS, SHORTEST_PART, Vault

LATE_WORDS = 5.0
"""Seconds in which words may still come that were said while something sensitive was asked for."""

MORE_WORDS = 1.0
"""Seconds in which more of them may come behind those that are final: recognisers give what was said in pieces."""

FactT = TypeVar("FactT", bound=Fact | Call)

_CALLERS: Mapping[type, tuple[str, ...]] = {
    UserTurnSubmitted: ("text",),
    TurnTaken: ("text",),
    TurnTranscribed: ("text",),
    SpeechRequested: ("user_input",),
}
"""By kind: what the caller said or typed. (`Transcribed` is theirs, too.)"""

_OTHERS: Mapping[type, tuple[str, ...]] = {
    SpeechRequested: ("instructions",),
    ToolCalled: ("rejected",),
    HookReturned: ("text",),
    TextStarted: ("written",),
    StreamPaused: ("text",),
    StepGenerated: ("text",),
    GenerationFailed: ("error", "text"),
    PlayoutProgressed: ("heard",),
    PlayoutFinished: ("heard", "unsaid"),
    EndRequested: ("reason",),
    CloseRequested: ("reason",),
}
"""By kind: what may repeat it."""


class Tongue:
    """The language in which a session is heard, and speaks."""

    def __init__(self, language: Language) -> None:
        self.changes(language)

    def changes(self, language: Language) -> None:
        """What is said, from here on, is in this language."""
        self.forms = language.spoken
        self.phrases = language.phrases

    def runs(self, text: str) -> Sequence[Any]:
        """Where digits are in a text."""
        return digit_runs(text, self.forms)

    def say(self, digits: str) -> str:
        """Digits, as a voice says them."""
        return spoken.say_digits(digits, self.forms)


class Masks:
    """Of one session. `told` is called with (the caller's sound, the agent's sound) that must not be recorded."""

    def __init__(self, language: Language, redact: RedactWords = (), told: Callable[[bool, bool], None] | None = None):
        self._vault: Vault | None = None
        self.tongue = Tongue(language)
        self._redact = redact
        self._told = told
        self.is_active = bool(redact)
        """There is something to mask, or to look for."""
        self._asking = 0
        """For how many sensitive things the caller is being asked."""
        self._questions = 0
        """How many calls with secrets wait for the caller's yes: who corrects one says digits."""
        self._correcting: asyncio.TimerHandle | None = None
        """Such a question is over, and what is said may still belong to it."""
        self._settling: asyncio.TimerHandle | None = None
        self._is_heard = False
        self._unsettled = False
        """Words of the caller may still come."""
        self._turns: dict[str, str] = {}
        """By placeholder of a sensitive turn: what the model reads of it."""
        self._shown: dict[str, ChatMessage] = {}
        """By id of such a message: what the model is shown, one object, for those who keep its form."""
        self._speaking: set[int] = set()
        """Segments in which something is said that is kept."""
        self._hushed = (False, False)

    @property
    def vault(self) -> Vault:
        """What is kept. It is made when it is first needed, and everything is masked from then on."""
        if self._vault is None:
            self._vault = Vault(self.tongue.runs, self.tongue.say)
            self.is_active = True
        return self._vault

    # -- asking for what is sensitive

    @contextmanager
    def sensitive(self) -> Iterator[None]:
        """What the caller says or enters meanwhile appears nowhere, neither as words nor as sound."""
        self._begin()
        try:
            yield
        finally:
            self._end()

    def _begin(self) -> None:
        """The caller is about to be asked."""
        self._asking += 1
        assert self.vault is not None  # from here on everything passes here
        self._hush()

    def _end(self) -> None:
        """They were. What they are still saying, or what is still being recognised of it, belongs to it."""
        self._asking -= 1
        if not self._asking and (self._is_heard or self._unsettled):
            self._settle_in(LATE_WORDS)
        self._hush()

    def _settle_in(self, seconds: float) -> None:
        if self._settling is not None:
            self._settling.cancel()
        self._settling = asyncio.get_running_loop().call_later(seconds, self._settled)

    def _settled(self) -> None:
        self._settling = None
        if self._is_heard:
            self._settle_in(LATE_WORDS)
            return
        self._unsettled = False
        self._hush()

    def question_asked(self) -> None:
        """A call with secrets is about to be read back: digits in the answer are masked, and its words are not.

        Its sound is not to be recorded.
        """
        self._questions += 1
        self._hush()

    def question_over(self) -> None:
        """It was made, or will not be. What the caller is still saying may correct it."""
        self._questions -= 1
        if not self._questions and (self._is_heard or self._unsettled):
            self._correct_in(LATE_WORDS)
        self._hush()

    def _correct_in(self, seconds: float) -> None:
        if self._correcting is not None:
            self._correcting.cancel()
        self._correcting = asyncio.get_running_loop().call_later(seconds, self._corrected)

    def _corrected(self) -> None:
        self._correcting = None
        if self._is_heard:
            self._correct_in(LATE_WORDS)
        self._hush()

    @property
    def is_corrected(self) -> bool:
        """Digits that the caller says now may be those of a secret that was read back."""
        return self._questions > 0 or self._correcting is not None

    @property
    def is_sensitive(self) -> bool:
        """What the caller says now is not to be known."""
        return self._asking > 0 or self._settling is not None

    def _hush(self) -> None:
        agent = bool(self._speaking)
        # What the agent says may come back by the caller's microphone.
        hushed = (self.is_sensitive or self.is_corrected or agent, agent)
        if hushed != self._hushed:
            self._hushed = hushed
            if self._told is not None:
                self._told(*hushed)

    def secret(self, value: str, kind: str) -> Secret[str]:
        """A value as a secret whose text is its placeholder."""
        return Secret(value, self.vault.keep(value, kind).strip("[]"))

    # -- facts

    def masked(self, fact: Fact) -> Fact:
        """The fact as the core may know it."""
        kind = type(fact)
        if isinstance(fact, Transcribed):
            return self._transcribed(fact)
        if isinstance(fact, (UserSpeechStarted, UserSpeechEnded)):
            self._is_heard = isinstance(fact, UserSpeechStarted)
            self._unsettled = True
            return fact
        if isinstance(fact, ToolCalled) and fact.call.read_back:
            call = _with(fact.call, "read_back", self.mask)
            fact = replace(fact, call=replace(call, spoken=tuple(map(self.mask, call.spoken))))
        if isinstance(fact, (ToolReturned, ToolUpdated, OutcomeFound)):
            return self._told_by_tool(fact)
        for name in _CALLERS.get(kind, ()):
            fact = _with(fact, name, lambda text: self.words(text, final=True))
        for name in _OTHERS.get(kind, ()):
            fact = _with(fact, name, self.mask)
        return fact

    def _transcribed(self, fact: Transcribed) -> Transcribed:
        masked = _with(fact, "text", lambda text: self.words(text, final=fact.final))
        self._unsettled = not fact.final
        if fact.final and not self._is_heard:
            if self._settling is not None:
                self._settle_in(MORE_WORDS)
            if self._correcting is not None:
                self._correct_in(MORE_WORDS)
        return masked

    def _told_by_tool(self, fact: ToolReturned | ToolUpdated | OutcomeFound) -> Fact:
        if not isinstance(fact, ToolUpdated):
            return _with(fact, "output", self.result)
        return _with(_with(fact, "message", self.result), "told", self.result)

    # -- the caller's words

    def words(self, text: str, *, final: bool) -> str:
        """What the caller said or typed. A second time: the same."""
        if self.is_sensitive:
            return text if not text or self._is_masked(text) or self._is_harmless(text) else self._turn(text, final)
        if self._redact:
            text = self._redacted(text, final=final)
        text = self.mask(text)
        return self._without_digits(text, final=final) if self.is_corrected else text

    def _without_digits(self, text: str, *, final: bool) -> str:
        """The text with placeholders for all digits. Of words that are not final they are not kept."""
        shown, at = "", 0
        held = [found.span() for found in PLACEHOLDER.finditer(text)]
        for run in self._runs(text):
            if not any(start <= run.start < end for start, end in held):
                shown += text[at : run.start] + (self.vault.keep(run.digits, "digits") if final else "[digits]")
                at = run.end
        return shown + text[at:] if at else text

    def _is_masked(self, text: str) -> bool:
        rest = PLACEHOLDER.sub("", text)
        return rest != text and not rest.strip(" .,")

    def _is_harmless(self, text: str) -> bool:
        """Nothing but a sign of listening, or a goodbye: the core is to know these."""
        known = self.tongue.phrases.is_backchannel(text) or self.tongue.phrases.is_farewell(text)
        return (
            known
            and not any(word in self.tongue.forms.heard_as for word in text.lower().split())
            and not self._runs(text)
        )

    def _runs(self, text: str) -> Sequence[Any]:
        return digit_runs(text, self.tongue.forms)

    def _turn(self, text: str, final: bool) -> str:
        """All of what was said, as one placeholder. The model reads it with the digits alone taken out."""
        before = 0 if self._vault is None else self._vault.last("sensitive")
        number = before + len(self._turns) + 1
        placeholder = f"[sensitive_{number}]"
        if final:
            self._turns[placeholder] = self.mask(self._without_digits(text, final=True))
        return placeholder

    def _redacted(self, text: str, *, final: bool) -> str:
        """Without what the session does not want. Of words that are not final, digits may become anything."""
        found: list[tuple[int, int, str, str]]
        if callable(self._redact):
            found = [(start, end, kind, text[start:end]) for start, end, kind in self._redact(text)]
        else:
            found = [
                (one.start, one.end, one.kind, one.value) for one in findings(text, self._redact, self.tongue.forms)
            ]
        if not final:
            for run in self._runs(text):
                if len(run.digits) >= SHORTEST_PART and not any(
                    run.start < end and begin < run.end for begin, end, *_ in found
                ):
                    found.append((run.start, run.end, "digits", ""))
        masked, at = "", 0
        for start, end, kind, value in sorted(found):
            masked += text[at:start] + (self.vault.keep(value, kind, guarded=False) if final else f"[{kind}]")
            at = end
        return masked + text[at:] if at else text

    # -- all other words

    def mask(self, text: str) -> str:
        """The text with placeholders for what is kept."""
        return text if self._vault is None or self._vault.is_empty else self._vault.mask(text)

    def result(self, text: str) -> str:
        """What a tool gave: what is kept, and what the session does not want to be known."""
        if self._redact:
            text = self._redacted(text, final=True)
        return self.mask(text)

    # -- what the model reads

    def shown(self, items: list[ChatItem]) -> list[ChatItem]:
        """The items of a request, with what the model may read of sensitive turns."""
        return items if not self._turns else [self._shown_item(item) for item in items]

    def _shown_item(self, item: ChatItem) -> ChatItem:
        if not isinstance(item, ChatMessage) or item.role != "user":
            return item
        known = self._shown.get(item.id)
        if known is None:
            text = item.text_content or ""
            shown = self.read(text)
            if shown == text:
                return item
            known = self._shown[item.id] = ChatMessage(
                role=item.role, content=shown, id=item.id, created_at=item.created_at
            )
        return known

    def read(self, text: str) -> str:
        """What a model may read where a sensitive turn stands."""
        return re.sub(r"\[sensitive_\d+\]", lambda found: self._turns.get(found[0], found[0]), text)

    # -- calls of tools

    def opened(self, arguments: str) -> str:
        """What a model wrote, with values in place of placeholders. Raises `ToolError` for values that are lost."""
        if self._vault is None:
            return arguments
        if lost := self._vault.lost_in(arguments):
            raise ToolError(
                f"Not run: {' and '.join(dict.fromkeys(lost))} was given before the line was cut, and is not known any"
                " more. Ask the user for it again."
            )
        return self._vault.reveal(arguments, as_json=True)

    def closed(self, tool: AnyFunctionTool, prepared: PreparedCall) -> tuple[PreparedCall, str | None]:
        """The call as history may have it, and why it must not be run, if it must not."""
        shown: dict[str, Any] = json.loads(prepared.arguments)
        hidden = tool.spec.hidden
        refusal = None
        for name in hidden & shown.keys():
            shown[name] = self._kept(shown[name], name)
            _label(prepared.kwargs.get(name), shown[name])
        custom = tool.options.redact
        for name, value in shown.items():
            if name in hidden:
                continue
            if callable(custom):
                shown[name] = custom(name, value)
            elif self._vault is not None and (found := self._vault.guarded_in(_text(value))):
                refusal = (
                    f"Not run: {name!r} of `{tool.name}` holds {found}, which only an argument that is declared secret"
                    " may have. Leave it out."
                )
        text = json.dumps(masked_data(self.mask, shown), ensure_ascii=False)
        sealed = replace(
            prepared,
            arguments=text,
            canonical=self._sealed(prepared.canonical, tool),
            identity=self._sealed(prepared.identity, tool),
        )
        return sealed, refusal

    def _sealed(self, text: str, tool: AnyFunctionTool) -> str:
        """A text that is equal for equal calls. Of a tool with secrets it says nothing else."""
        return fingerprint(text) if text and (tool.spec.hidden or tool.options.redact) else self.mask(text)

    def returned(self, tool: AnyFunctionTool, value: Any, text: str) -> str:
        """A result, as history may have it: `value`, and `text`, its form for the model."""
        redact = tool.options.redact
        if callable(redact):
            shown = redact(RETURN, value)
            return shown if isinstance(shown, str) else _text(shown)
        return self.vault.keep(text, f"{tool.name}_result", guarded=False) if RETURN in redact and text else text

    def refused(
        self,
        tool: AnyFunctionTool | None,
        arguments: str,
        complaint: str,
        find: Callable[[str], AnyFunctionTool | None],
    ) -> tuple[str, str]:
        """Arguments that do not fit, and what is wrong with them, as history may have them.

        `find`: the tool of a name, for calls by proxy.
        """
        hidden = tool.spec.hidden if tool is not None else frozenset()
        try:
            given = json.loads(arguments or "{}")
        except ValueError:
            given = None
        if not isinstance(given, dict):
            return (
                (f"[arguments of {len(arguments)} characters]", self.mask(complaint))
                if hidden
                else (
                    self.mask(arguments),
                    self.mask(complaint),
                )
            )
        complaint = self._hidden_in(given, hidden, complaint)
        inner = given.get("parameters")
        if isinstance(inner, dict) and (behind := find(str(given.get("name")))) is not None:
            complaint = self._hidden_in(inner, behind.spec.hidden, complaint)
        return json.dumps(masked_data(self.mask, given), ensure_ascii=False), self.mask(complaint)

    def _hidden_in(self, given: dict[str, Any], hidden: frozenset[str], complaint: str) -> str:
        """Mask these arguments. Returns the complaint without them."""
        for name in hidden & given.keys():
            value, given[name] = given[name], self._kept(given[name], name)
            quoted = [json.dumps(value, ensure_ascii=False), repr(value)]
            for one in quoted if len(str(value)) < SHORTEST_DIGITS else [*quoted, str(value)]:
                complaint = complaint.replace(one, str(given[name]))
        return complaint

    def _kept(self, value: Any, kind: str) -> Any:
        """What stands for a value, or for those in a list or an object."""
        if value is None or value == "":
            return value
        if isinstance(value, list):
            return [self._kept(one, kind) for one in value]
        if isinstance(value, dict):
            return {name: self._kept(one, str(name)) for name, one in value.items()}
        if isinstance(value, str) and self._is_masked(value):
            return value
        return self.vault.keep(str(value), kind)

    # -- the agent's voice

    def voiced(self, text: str) -> Iterable[tuple[str, str | None]]:
        """The text in pieces, as `Vault.voiced` gives them."""
        return ((text, None),) if self._vault is None else self._vault.voiced(text)

    def speaks(self, segment: int) -> None:
        """Something that is kept is said in this segment: it is not to be recorded."""
        self._speaking.add(segment)
        self._hush()

    def spoke(self, segment: int) -> None:
        """It sounds no more."""
        if self._speaking:
            self._speaking.discard(segment)
            self._hush()


def masked_data(mask: Callable[[str], str], value: Any) -> Any:
    """JSON data, its texts and whole numbers masked."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return {mask(name): masked_data(mask, one) for name, one in value.items()}
    if isinstance(value, list):
        return [masked_data(mask, one) for one in value]
    if isinstance(value, int) and not isinstance(value, bool):
        shown = mask(str(value))
        return value if shown == str(value) else shown
    return value


def hides(tool: AnyFunctionTool) -> bool:
    """Whether something of the tool's calls is shown as a mask."""
    return bool(tool.options.redact or tool.spec.hidden)


def _with(fact: FactT, name: str, masked: Callable[[str], str]) -> FactT:
    """The fact with that text masked; the same where nothing is."""
    text: Any = getattr(fact, name)
    if not text:
        return fact
    shown: Any = masked(text)
    return fact if shown == text else replace(fact, **{name: shown})


def _label(value: Any, placeholder: Any) -> None:
    """A secret that a tool gets is shown as what stands for it in the history."""
    if isinstance(value, Secret) and isinstance(placeholder, str):
        value.masked_as(placeholder.strip("[]"))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
