"""Options as value objects: one default each, in one place.

`NOT_GIVEN` tells "not said" from None, which often means "off".
"""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, TypeVar

from typing_extensions import TypeIs

from antiphon.language.consent_phrases import ConsentPhrases
from antiphon.language.english import ENGLISH
from antiphon.language.lines import AwayLadder as AwayLadder
from antiphon.language.lines import ConsentLines
from antiphon.language.lines import Fillers as Fillers
from antiphon.language.phrases import Phrases
from antiphon.language.replies import Asked, Reply
from antiphon.record import frozen

T = TypeVar("T")


class NotGiven(enum.Enum):
    """The type of `NOT_GIVEN`. Falsy."""

    NOT_GIVEN = "NOT_GIVEN"

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "NOT_GIVEN"


NOT_GIVEN: Final = NotGiven.NOT_GIVEN
NotGivenOr: TypeAlias = T | NotGiven


def is_given(value: NotGivenOr[T]) -> TypeIs[T]:
    """True if an option was given, None included."""
    return value is not NOT_GIVEN


ToolChoice: TypeAlias = Literal["auto", "required", "none"] | Mapping[str, Any]
"""Whether the model may, must or must not call tools, or which one it must call
(`{"type": "function", "function": {"name": "book"}}`)."""


@frozen
class ModelSettings:
    """What a node is told about the request it serves."""

    tool_choice: NotGivenOr[ToolChoice] = NOT_GIVEN


Effect: TypeAlias = Literal["reads", "unsaid", "writes", "irreversible"]
"""What a tool call does to the world. "unsaid" is a tool whose author did not say."""

WRITING: Final = frozenset[Effect](("writes", "irreversible"))
"""The effects of tools that change the world, as their authors say."""

OnInterrupt: TypeAlias = Literal["cancel", "drop", "keep"]
"""What becomes of a call that the caller speaks over: stopped; it leaves the history and runs on unseen; it goes on."""

ON_INTERRUPT: Final[Mapping[Effect, OnInterrupt]] = {
    "reads": "cancel", "unsaid": "drop", "writes": "keep", "irreversible": "keep",
}  # fmt: skip
"""What becomes of one whose author did not say."""

DuplicateMode: TypeAlias = Literal["allow", "replace", "reject", "confirm"]
DuplicateScope: TypeAlias = Literal["name", "name_and_args"]
Repeat: TypeAlias = Literal["per_turn", "once", "ask"]
"""When an equal call of a tool that writes is another wish: in a later turn of the caller, never in this call, or in a
later turn and after a spoken yes."""


@frozen
class ToolPolicy:
    """How the session treats one call of a tool. Plain data, rendered by the tool layer for each call."""

    effect: Effect = "unsaid"
    timeout: float = 30.0
    """Seconds after which the call is cancelled; the clock stops while the call is suspended."""
    background_timeout: float = 600.0
    """Seconds allowed once the call has gone to the background (`ctx.update`)."""
    parallel: bool = True
    """False: starts when the calls before it in the same step have ended, and those behind it when it has."""
    cancellable: bool = False
    """The model may cancel it with `cancel_task`."""
    on_duplicate: DuplicateMode | None = None
    """What becomes of a call while another of its tool works; None: the ledger alone decides, about equal calls."""
    duplicate_scope: DuplicateScope = "name"
    repeat: Repeat = "per_turn"
    confirm: bool = False
    """Runs only after a spoken yes to what is read back of it (`Call.read_back`)."""
    on_interrupt: OnInterrupt | None = None
    """None: by effect."""
    undo: str | None = None
    """The tool that takes back what it did."""
    filler: str | None = None
    """What to say when the call takes longer than the silence budget."""
    expected: float | None = None
    """Seconds that calls of this tool take as a rule, measured; None: nobody knows yet."""

    @property
    def writes(self) -> bool:
        """It changes the world, as its author says."""
        return self.effect in WRITING

    @property
    def interrupted(self) -> OnInterrupt:
        """What becomes of a call that the caller speaks over."""
        return self.on_interrupt or ON_INTERRUPT[self.effect]


RedactWords: TypeAlias = Sequence[str] | Callable[[str], Iterable[tuple[int, int, str]]]
"""What of texts is to be masked: names ("card_number", "phone_number", "email"), or a function of a text that gives
(start, end, what it is) for each part."""


TurnDetection: TypeAlias = Literal["vad", "stt", "manual", "realtime_llm"]


EndpointingMode: TypeAlias = Literal["fixed", "dynamic"]


@frozen
class Endpointing:
    """How long silence must last before the caller's turn is over. Seconds."""

    min_delay: float = 0.55
    """When text and sound both say that the turn is complete. People leave half a second between two sentences."""
    max_delay: float = 1.4
    """When either says that more will come. Detectors take a pause for up to 0.4 s longer than it is."""
    unlikely: float = 0.5
    """A probability of turn end below this counts as "more will come"."""
    mode: EndpointingMode = "fixed"
    """"dynamic": the wait after complete words follows the pauses that this caller makes, between the two delays."""


@frozen
class Interruption:
    """When the caller's voice interrupts the agent. Seconds."""

    enabled: bool = True
    """False: all speech is protected. What the caller says over it is kept and answered afterwards."""
    min_words: int = 1
    """Words that must be understood before the agent is cut. The agent pauses before, at once."""
    cancel_after: float | None = None
    """Speech this long cuts the agent without words. Only for sessions without STT."""
    false_after: float = 0.5
    """Silence after speech without words that counts as a false alarm: the agent resumes."""


@frozen
class PreemptiveGeneration:
    """Asking the model before the caller's turn is over, when it is likely to be. Seconds.

    The response is held until the turn is committed, and leaves no trace if the caller goes on. Tools never run early.
    """

    enabled: bool = False
    max_speech_duration: float = 10.0
    """A turn with more voice than this is not answered ahead: it is likely to go on."""
    max_retries: int = 3
    """Responses made ahead for one turn, in all."""


@frozen
class UserTurnLimit:
    """How much a caller may say before the agent takes the word. None: as much as they like."""

    max_words: int | None = None
    max_duration: float | None = None
    """Seconds since the turn began, pauses included."""


@frozen
class TurnHandling:
    """Everything about taking turns."""

    detection: TurnDetection = "vad"
    endpointing: Endpointing = Endpointing()
    interruption: Interruption = Interruption()
    preemptive_generation: PreemptiveGeneration = PreemptiveGeneration()
    user_turn_limit: UserTurnLimit = UserTurnLimit()


@frozen
class SilenceBudget:
    """How long the line may be silent while the agent owes something. Seconds."""

    max_silence: float = 1.5
    fillers: Fillers = ENGLISH.fillers
    grace: float = 1.0
    """What a reply gets to begin once the results of its tools are in, before a filler that is due is said."""
    voice: float = 0.5
    """What a reply whose text is in gets to be heard, before a filler that is due is said."""
    prepare: float = 0.6
    """How long before a filler is due its sound is made."""


ConsentJudge: TypeAlias = Callable[[str, Asked], Awaitable[Reply | None]]
"""Given the caller's words and what they were asked: what the words mean, or None if that is not certain."""


@frozen
class ConsentOptions:
    """How the caller is asked before a call that must not be made by mistake. Seconds."""

    timeout: float | None = 8.0
    """Silence after the read-back until it is asked once more, and then until it is void. None: no limit (in text)."""
    lifetime: float = 60.0
    """After that a yes is void."""
    judge_timeout: float | None = None
    """What a judge gets to say what the reply means; then the words decide by themselves. None: there is no judge."""
    lines: ConsentLines = ENGLISH.consent_lines
    phrases: ConsentPhrases = ENGLISH.consent


@frozen
class LanguageOptions:
    """What the conversation core knows of a language, and what the session says in it."""

    phrases: Phrases
    fallback_line: str
    failure_line: str
    unheard_line: str
    consent_lines: ConsentLines
    consent_phrases: ConsentPhrases
    fillers: Fillers | None = None
    """None: those that the session had."""
    away_ladder: AwayLadder | None = None
    """None: the one that the session had."""


@frozen
class MustHearLine:
    """What the caller must have heard, and the proof that they did."""

    text: str
    begun: int = 0
    """How often it was begun to be said."""
    heard_at: float | None = None
    """When it was heard whole, by the loudspeaker's clock, in seconds since the Unix epoch; None: not yet."""


@frozen
class ContextBudget:
    """How much of the talk the requests of a session carry.

    What is over it leaves the requests in steps, the oldest first, so that between two steps a provider's cache of
    prefixes holds. Instructions, system messages and tools do not count; the history of the session stays whole.
    """

    max_tokens: int = 32_000
    """Of the talk in one request, estimated; when it is more, less than half is kept. Less for a model that takes less:
    what an endpoint refuses as too long is trimmed, and asked again."""
    keep_turns: int = 8
    """The caller's last turns stay word for word, as long as they fit."""
    summarise: Any = True
    """What left is summarised for the model: by the agent's own (True) while nothing else is asked of it, by the `LLM`
    given here, or not (False)."""


@frozen
class SessionOptions:
    """What the conversation core needs to know of a session. Seconds."""

    turns: TurnHandling = TurnHandling()
    max_tool_steps: int = 3
    """Rounds of tool calls for one caller's turn or one `generate_reply`; then the model must answer without tools."""
    language: Phrases = ENGLISH.phrases
    """Which words are no turn."""
    fallback_line: str = ENGLISH.fallback_line
    """Said when the model has nothing to say after its last round."""
    failure_line: str = ENGLISH.failure_line
    """Said when the model failed."""
    unheard_line: str = ENGLISH.unheard_line
    """Said when the caller spoke and the recogniser gave no words in time. Empty: nothing is said."""
    silence: SilenceBudget | None = None
    """None: the line may be silent."""
    consent: ConsentOptions = ConsentOptions()
    user_away_timeout: float | None = None
    """Seconds after which a caller who neither speaks nor is spoken to counts as away. None: never."""
    away_ladder: AwayLadder | None = None
    """What is said to a caller who has fallen silent, until the call ends. None: nothing."""
    must_hear: tuple[MustHearLine, ...] = ()
    """What is said first, and heard before a tool runs that may change anything."""
    is_read: bool = False
    """Nobody hears the agent: what is played is read, and is there at once."""
    has_stt: bool = True
    """False: without transcripts, interruption goes by the duration of speech."""
    model_hears: bool = False
    """The model hears the caller itself: sound is a turn also without words, and the words may come after it."""
    words_timeout: float = 5.0
    """How long a turn that the model heard waits for its words; it is answered meanwhile."""
    response_timeout: float = 2.0
    """How long a turn waits for the response that the model was to begin unasked, before it is asked for one."""
    generation_timeout: float = 10.0
    """Until a model must have given its first text or call; it then has `generation_limit` for the rest."""
    generation_limit: float = 60.0
    stream_timeout: float = 6.0
    """How long a response that has begun may stand still, whatever came of it last."""
    stall_timeout: float = 4.0
    """Until a segment that is being played, with all its text known, must have sounded on or ended."""
    dead_voice_timeout: float = 7.0
    """How long after a loss everything that is to be heard may be lost, before the call ends."""
    prediction_timeout: float = 0.0
    """How long the end of a turn waits for a turn detector's opinion; 0 where there is none."""
    hook_timeout: float = 5.0
    transcript_timeout: float = 2.0
    """How long the end of a turn waits for the final transcript of what was heard."""
    drain_timeout: float = 30.0
    """How long `shutdown(drain=True)` lets speech and tools finish."""
    write_grace: float = 30.0
    """How long a tool that writes may still work when the call has come to its end: drained, or the caller hung up."""
    close_grace: float = 1.0
    """How long closing waits for tools and hooks before it abandons them."""
