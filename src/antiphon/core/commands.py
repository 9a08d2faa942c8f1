"""What to do: everything the conversation asks of the outside world.

Commands are imperative and frozen. A command that starts something has a closing fact, which the runtime reports
without fail; if it never comes, the core assumes it when the promise's time is up (`promises.py`).

There is no `EndPlayout`: a segment ends when its text ends, which the data plane sees by itself. There is no
`Cancel(speech)` either: cancelling differs for generation, audio and each effect class of tools, and that is a
decision, so the core takes it. What is only worth telling is a notice (`notices.py`).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from antiphon.chat import ChatItem
from antiphon.core.facts import Call
from antiphon.core.notices import Notice
from antiphon.language.replies import Asked
from antiphon.options import ToolChoice, ToolPolicy
from antiphon.record import record


@record
class Generate:
    """Ask the model of `agent` for one response and turn its text into sound.

    Text goes to `segment` as it comes; it is not played before `Play`. Reports `TextStarted` once, `ToolCalled` for
    each call, and closes with `StepGenerated` or `GenerationFailed`.
    """

    gen: int
    speech: int
    segment: int
    agent: str
    open: tuple[ChatItem, ...]
    """What the agent's chat context does not hold yet, in order: text still being spoken, and what waits behind it."""
    tools: bool
    """False: the model may not call tools now (step limit, farewell, delivery of updates)."""
    tool_choice: ToolChoice | None = None
    instructions: str | None = None
    """For this response only, in addition to the agent's own."""
    unheard: tuple[str, ...] = ()
    """Ids of calls whose results the caller has not heard yet: the model is told so."""
    owed: tuple[str, ...] = ()
    """Ids of the caller's messages that are to be answered, of calls of which anything may still have to be told, of
    what may have told it, and of calls that still work: however long the talk is, the request carries them."""
    delivery: bool = False
    """The response is made to tell `unheard` results, unasked; the model may say nothing if it told them already."""
    retry: bool = False
    """The model said nothing where an answer is owed: it is asked once more, with the reason."""
    steps_used: int = 0
    """Rounds of tools behind it, if these are all that it may have: the model is told why its tools are gone. 0: it may
    have more, or nothing is to follow."""
    not_made: tuple[Call, ...] = ()
    """Calls that it wanted where it may not, in the response that is asked for once more."""
    on_enter: bool = False
    """The reply belongs to `on_enter`: tools flagged IGNORE_ON_ENTER are hidden."""
    ahead: bool = False
    """Made before it is known to be wanted: `Release` or `Discard` follows, and nobody is told of it before."""


@record
class Adopt:
    """A response that the model began unasked is what `speech` says next.

    From here on it is as if `Generate` had asked for it: the same reports, the same closing facts.
    """

    gen: int
    speech: int
    segment: int
    agent: str
    response: int
    tools: bool
    """False: calls in it are not wanted."""


@record
class Decline:
    """Stop a response that the model began unasked. Nothing of it is heard, and nothing reported."""

    response: int


@record
class CommitAudio:
    """The caller's turn is over: what the model heard since the last one is this turn.

    Reports `TurnTranscribed` for it.
    """

    turn: int


@record
class StopGenerating:
    """Stop the model and the synthesis of this generation. Nothing more is reported for it."""

    gen: int


@record
class Speak:
    """Turn text into sound, without playing it yet. Closes like `Generate`, with `StepGenerated`.

    `text` None: the source that the application gave with the `say()` that opened `speech`.
    """

    gen: int
    speech: int
    segment: int
    text: str | None = None
    ahead: bool = False
    """Made before it is known to be wanted, as in `Generate`."""
    directly: bool = False
    """By the agent's voice itself, if it has one: what the agent's `tts_node` makes of texts is for the model's."""


@record
class Release:
    """What was made ahead is wanted: from here on it is as if it had been asked for now."""

    gen: int
    speech: int


@record
class Discard:
    """What was made ahead is not wanted: it ends without a trace. Nothing more is reported for it."""

    gen: int
    speech: int


@record
class Play:
    """Play the segment, behind what plays now. Closes with `PlayoutFinished`."""

    segment: int
    first: bool = False
    """Before segments that were given to `Play` and do not sound (yet, or at the moment)."""


@record
class StopPlayout:
    """Silence a segment at once and drop the rest; one that was never played is dropped whole.

    A segment given to `Play` closes with `PlayoutFinished(heard)`, within 0.5 s; one that was not closes without a
    fact.
    """

    segment: int
    at_word: bool = False
    """Let the word that sounds come to its end. What follows on the line follows at once; within 2 s."""


@record
class PausePlayout:
    """Silence the line at once; nothing is lost."""


@record
class ResumePlayout:
    """Go on where it was paused, at the start of the cut word."""


@record
class Undoes:
    """A start that is taken back, as its key knows it."""

    call: Call
    number: int


@record
class RunTool:
    """Execute a call. Closes with `ToolReturned`."""

    run: int
    call: Call
    policy: ToolPolicy
    speech: int
    gen: int
    agent: str
    number: int = 0
    """Of a tool that writes: with the wish, what its key is made of, from 1 on. Equal for starts that share a key."""
    undoes: Undoes | None = None
    """The start that it takes back: its key is made of that one's."""
    wish: int = 0
    """Of a tool that writes: which wish it is for, among those with equal calls. A start after one that failed is for
    the same."""
    turn: int = 0
    """How many turns the caller had taken when it was asked for: which of them wished for it."""


@record
class CancelTool:
    """Cancel a run. Nothing more is listened to from it unless its promise is still open."""

    run: int


@record
class RebindRun:
    """A run now serves another call of another speech: what it reports counts for that call."""

    run: int
    call: Call
    speech: int
    gen: int


@record
class ReleaseRun:
    """A run lost its call (the caller spoke over it): its handle is interrupted, what it says is not spoken."""

    run: int


HookKind: TypeAlias = Literal["on_user_turn_completed", "on_enter", "on_exit"]


@record
class RunHook:
    """Run application code of `agent`. Closes with `HookReturned`."""

    hook: int
    kind: HookKind
    agent: str
    text: str = ""
    """The caller's words, for `on_user_turn_completed`."""
    previous: str | None = None
    """For `on_enter`: the agent that was in charge before, if this one replaces it."""
    heard_as: int | None = None
    """For `on_user_turn_completed`: the turn as the model heard it; its words may be still to come."""


@record
class JudgeReply:
    """Ask the judge what the caller's reply to a read-back means. Closes with `ReplyJudged`."""

    judgement: int
    words: str
    asked: Asked


@record
class PredictEndOfTurn:
    """Ask the turn detector about this version of the turn. An answer is optional."""

    version: int
    text: str


@record
class Record:
    """The item is settled: append it to the session's history, and to the context of `agent`.

    The id of an assistant message is `message_id(segment, mark)`, so that the runtime can put the raw text beside it.
    """

    item: ChatItem
    agent: str
    carried: bool = False
    """True: the session's history has it already; only the agent's context gets it (a turn carried over a hand-off)."""


def message_id(segment: int, mark: str) -> str:
    """The id of the message that holds what was heard of a segment, in the conversation of that mark."""
    return f"msg_{mark}{segment}"


def turn_id(turn: int, mark: str) -> str:
    """The id of the message that holds the words of a turn that the model itself heard."""
    return f"turn_{mark}{turn}"


@record
class Unheard:
    """What a tool did, or may have done, and nobody was told of."""

    call: Call
    outcome: Literal["done", "unknown", "failed"]
    output: str


@record
class Close:
    """Release everything. The last command."""

    reason: str
    unheard: tuple[Unheard, ...] = ()
    """What tools that write came to, and the caller did not hear."""


Command: TypeAlias = (
    Generate
    | Adopt
    | Decline
    | CommitAudio
    | StopGenerating
    | Speak
    | Release
    | Discard
    | Play
    | StopPlayout
    | PausePlayout
    | ResumePlayout
    | RunTool
    | CancelTool
    | RebindRun
    | ReleaseRun
    | RunHook
    | JudgeReply
    | PredictEndOfTurn
    | Record
    | Notice
    | Close
)
