"""What came to pass, for those who watch. Nothing has to be done about a notice, and none changes the conversation.

A notice carries what it is about: who reads it need not look anything up. They are commands in one respect: they leave
in the order of what they tell.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from typing_extensions import TypeIs

from antiphon.chat import FunctionCall, FunctionCallOutput
from antiphon.core.facts import Call, WriteOutcome
from antiphon.record import record

AgentState: TypeAlias = Literal["initializing", "idle", "listening", "thinking", "speaking"]
UserState: TypeAlias = Literal["listening", "speaking", "away"]
ToolOutcome: TypeAlias = Literal["done", "error", "cancelled", "dropped", "unknown"]
ConsentDecision: TypeAlias = Literal[
    "yes", "no", "change", "question", "unclear", "unanswered", "unheard", "interrupted", "handed_over", "ending"
]
"""All but "yes" are void: the call never runs."""
DecidedBy: TypeAlias = Literal["words", "judge", "key", "time", "session"]


@record
class AgentStateChanged:
    """The agent speaks, thinks or listens now."""

    state: AgentState


@record
class UserStateChanged:
    """The caller speaks, listens, or is away now."""

    state: UserState


@record
class SpeechStarted:
    """The first sound (or text) of a speech."""

    speech: int


@record
class SpeechInterrupted:
    """The speech is cut: nothing more comes from it."""

    speech: int


@record
class SpeechProtected:
    """The caller cannot cut the speech any more: a tool of it must not be interrupted."""

    speech: int


@record
class SaidAside:
    """Words were heard that the history does not have: a line that bridged a wait, or what is to stay out of it."""

    segment: int
    text: str


@record
class StepEnded:
    """One response of a speech is written, and its sound is over."""

    speech: int
    gen: int


@record
class SpeechDone:
    """Nothing is left to generate, run or play of the speech."""

    speech: int


@record
class SpeechFailed:
    """The model failed in a response of the speech."""

    speech: int
    gen: int
    error: str


@record
class TurnCommitted:
    """The caller's turn is in the history, and is owed an answer."""

    text: str


@record
class TurnVetoed:
    """The application said that the turn is not to be answered."""

    text: str


@record
class TurnExceeded:
    """The caller's turn is too long: the agent takes the word."""

    text: str
    """What the caller said so far."""


@record
class WordsLost:
    """The caller spoke, and no recogniser gave their words."""


@record
class HookOverdue:
    """Code of the application did not return in time: the call goes on without it."""

    hook: int


@record
class VoiceGivenUp:
    """Nothing is heard of what the agent says, and the call ends for it."""

    error: str


@record
class FalseInterruption:
    """The caller's voice over the agent meant nothing: the agent goes on."""


@record
class ToolStarted:
    """A call is being run."""

    run: int
    speech: int
    call: Call


@record
class ToolProgressed:
    """A run reported progress."""

    run: int
    call: Call
    text: str
    """In the tool's own words."""


@record
class ToolEnded:
    """A run is over."""

    run: int
    speech: int
    call: Call
    outcome: ToolOutcome


@record
class WriteEnded:
    """What came of a tool that writes is known, or that nobody knows it. A second one for a run corrects the first."""

    run: int
    call: Call
    outcome: WriteOutcome
    output: str
    """What the model is told of it."""


@record
class WriteTold:
    """The caller has heard what came of a tool that writes, or was not to: it is closed."""

    run: int
    call: Call


@record
class ToolDropped:
    """A run lost its call: the caller spoke over it."""

    run: int
    speech: int
    call: Call


@record
class ToolAdopted:
    """A call is served by a run that had lost its own."""

    run: int
    speech: int
    call: Call


@record
class ConsentAsked:
    """A call is read back to the caller, who is to agree to it."""

    speech: int
    """The one that made the call."""
    call: Call
    text: str
    """What they are asked."""
    times: int
    """How often they were asked, this one included."""


@record
class ConsentDecided:
    """Whether a call may be made that was read back."""

    speech: int
    call: Call
    decision: ConsentDecision
    heard: str
    """The caller's words; empty: there were none."""
    by: DecidedBy


@record
class RoundClosed:
    """The calls of one response stand in the history, each beside its output, in call order."""

    speech: int
    gen: int
    pairs: tuple[tuple[FunctionCall, FunctionCallOutput], ...]


@record
class ToolStepsUsedUp:
    """A speech has had all rounds of tools that it may have, and goes on without them."""

    speech: int
    steps: int


@record
class HandedOff:
    """Another agent is in charge of the top frame."""

    agent: str


@record
class TaskBegan:
    """An `AgentTask` took the floor."""

    task: int


@record
class TaskDropped:
    """Nobody will talk to a task: what it was for is over."""

    task: int


@record
class MustHearSettled:
    """The caller has heard what they must hear, or no voice could say it."""

    text: str
    heard_at: float | None
    """Seconds since the Unix epoch; None: it could not be said."""
    begun: int
    """How often it was begun."""


@record
class BecameIdle:
    """Nothing is owed, said, done or decided any more."""


@record
class Closed:
    """The conversation is over."""

    reason: str


Notice: TypeAlias = (
    AgentStateChanged
    | UserStateChanged
    | SpeechStarted
    | SpeechInterrupted
    | SpeechProtected
    | SaidAside
    | StepEnded
    | SpeechDone
    | SpeechFailed
    | TurnCommitted
    | TurnVetoed
    | TurnExceeded
    | WordsLost
    | HookOverdue
    | VoiceGivenUp
    | FalseInterruption
    | ToolStarted
    | ToolProgressed
    | ToolEnded
    | WriteEnded
    | WriteTold
    | ToolDropped
    | ToolAdopted
    | ConsentAsked
    | ConsentDecided
    | MustHearSettled
    | RoundClosed
    | ToolStepsUsedUp
    | HandedOff
    | TaskBegan
    | TaskDropped
    | BecameIdle
    | Closed
)

_NOTICES: frozenset[type] = frozenset(get_args(Notice))


def is_notice(command: object) -> TypeIs[Notice]:
    """Whether this is only worth telling: nothing has to be done about it."""
    return type(command) in _NOTICES
