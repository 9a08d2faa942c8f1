"""What happened: everything the outside world can tell the conversation.

Facts are past tense, frozen, and carry ids and text, never objects or audio. A fact that belongs to something the core
started names it by its id (`gen`, `segment`, `run`, `hook`); it is admitted only while the promise of that id is open
(`promises.py`), so late, doubled and orphaned facts do nothing. Facts without such an id are always welcome.

Four ids: a *speech* is what a handle stands for, a *gen* one model call (or one `say`), a *segment* one stretch of
audio with its text, a *run* one execution of a tool.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from antiphon.chat import AgentConfigUpdate, ImageContent
from antiphon.language.replies import Reply
from antiphon.options import LanguageOptions, ToolChoice, ToolPolicy
from antiphon.record import record


@record
class Call:
    """A tool call as the model made it. Belongs to a step and to the history."""

    call_id: str
    name: str
    arguments: str
    """JSON text as it goes into the history."""
    canonical: str = ""
    """The validated arguments in a normal form: equal text means an equal call."""
    confirmed: bool = False
    """The model says that the caller confirmed a duplicate."""
    origin: str = ""
    """Which tool it is: two agents may have different tools of one name, one for an object of each, or one renamed.

    "" is what its name says.
    """
    identity: str = ""
    """What of the arguments makes the wish, where the tool says so: equal text means the same wish."""
    read_back: str | None = None
    """What the caller hears and agrees to before it is made; None: it is made without asking."""
    spoken: tuple[str, ...] = ()
    """Its arguments as they are spoken in that."""


# -- the caller


@record
class UserSpeechStarted:
    """The caller's voice began."""

    voice: float = 0.0
    """Seconds it has sounded already: what the detector needed to be sure."""


@record
class UserSpeechEnded:
    """The caller's voice stopped. Says nothing about the turn."""

    silence: float = 0.0
    """Seconds it has been silent already: what the detector needed to be sure."""


@record
class Transcribed:
    """Words were understood. An interim text replaces the one before it, a final one stays."""

    text: str
    final: bool


@record
class EndOfTurnPredicted:
    """A turn detector's answer about version `version` of the turn; ignored if the turn has changed since."""

    version: int
    probability: float


@record
class UserTurnSubmitted:
    """A whole turn at once: typed, or `session.run(user_input=)`."""

    text: str


@record
class UserTurnCommitRequested:
    """The application ends the caller's turn now (push-to-talk)."""


@record
class UserTurnCleared:
    """The application throws away what the caller said since the last turn."""


# -- a model that hears the caller and speaks for itself


@record
class TurnTaken:
    """The model decided that the caller's turn is over. `turn` is an id from `new_id()`."""

    turn: int
    text: str | None = None
    """None: the words are not known yet; `TurnTranscribed` brings them, or says that there are none."""
    answered: bool = True
    """The model answers it unasked: `ResponseBegan` is to follow."""


@record
class TurnTranscribed:
    """The words of a turn that the model heard. Closes `turn`."""

    turn: int
    text: str


@record
class ResponseBegan:
    """The model began to respond unasked. `response` is an id from `new_id()`; it waits for `Adopt` or `Decline`."""

    response: int
    agent: str
    """Whose model it is."""
    turn: int | None = None
    """The caller's turn that it answers, by the id of `TurnTaken`; None: it speaks of its own accord."""
    to_results: bool = False
    """It answers results of tools, and no answer to them was asked for."""


# -- the model


@record
class TextStarted:
    """The first text of a generation arrived: its segment may be played."""

    gen: int
    written: str = ""
    """All of it, where it is known at once. What is spoken of it comes with `StepGenerated`."""


@record
class ToolCalled:
    """A complete call arrived. `rejected` is the error text when it cannot run (unknown tool, bad arguments)."""

    gen: int
    call: Call
    policy: ToolPolicy
    rejected: str | None = None


@record
class StreamContinued:
    """The model is at work: something came again, or its first sign of life is one that nobody hears (reasoning).

    `within`: seconds that it has for its first text or call, or for the rest of its response; None: the usual ones.
    """

    gen: int
    within: float | None = None


@record
class StreamPaused:
    """Nothing came of the model for `seconds`, in the middle of its response. `text` is what is spoken of it so far.

    Reported once, until `StreamContinued`.
    """

    gen: int
    seconds: float
    text: str = ""


@record
class StepGenerated:
    """The model finished one response. `text` is all of it that is to be spoken. Closes `gen`."""

    gen: int
    text: str


@record
class GenerationFailed:
    """The model failed or stalled. `text` is what it had said before. Closes `gen`."""

    gen: int
    error: str
    text: str = ""


# -- the loudspeaker


@record
class SoundReady:
    """The first sound of a segment is made, or there is sound again after `PlayoutStarved`: it could be heard now.

    Reported where there is a voice, whether or not the segment is being played.
    """

    segment: int


@record
class PlayoutStarted:
    """The first sample of a segment sounds, or it sounds again after `PlayoutStarved`."""

    segment: int


@record
class PlayoutStarved:
    """The segment fell silent before its end: its text or its voice does not keep up."""

    segment: int


@record
class PlayoutProgressed:
    """`heard` is what was heard of the segment so far."""

    segment: int
    heard: str


@record
class PlayoutFinished:
    """The segment sounds no more: played to its end, stopped, or failed. Closes `segment`."""

    segment: int
    heard: str
    failed: bool = False
    """Its voice broke or fell silent for good: the rest will not be heard."""
    unsaid: str = ""
    """Its text as it was written, where it ended without any sound: nothing was heard of it."""


# -- tools


@record
class ToolUpdated:
    """A tool reported progress and goes on in the background. `message` is what the model reads."""

    run: int
    message: str
    silent: bool = False
    told: str | None = None
    """What people are to see of it, if that is something else."""


@record
class Handoff:
    """The wish to hand the call to another agent. `agent` is its id in the session, `label` its name in texts."""

    agent: str
    label: str


@record
class ToolReturned:
    """A tool ended: with a result, an error, or by its time limit. Closes `run`."""

    run: int
    output: str
    is_error: bool = False
    reply: bool = True
    """False: the result asks for no reply (None, `StopResponse`, `ToolResult(reply_required=False)`)."""
    handoff: Handoff | None = None
    unknown: bool = False
    """Nobody knows whether it happened (timed out while writing)."""
    images: tuple[ImageContent, ...] = ()
    ends_task: bool = False
    """It completed the task of its agent: whoever awaited that goes on, and no turn is answered for it."""


@record
class OutcomeFound:
    """Who was asked knows whether a call happened of which nobody knew: its backend, or a person."""

    run: int
    happened: bool
    output: str = ""
    """What came of it, for the model."""


WriteOutcome: TypeAlias = Literal["succeeded", "failed", "unknown"]


@record
class KeptWrite:
    """A start of a tool that writes, as a store kept it: from before the process that it was started in ended."""

    run: int
    """A number for it: what is found out of it, and that it was told, is told by this."""
    call: Call
    policy: ToolPolicy
    outcome: WriteOutcome
    output: str
    """What the model is told of it."""
    number: int
    """What its key was made of, with the wish."""
    told: bool
    """The caller has heard what came of it, or was not to."""
    recorded: bool
    """The history has its call, with this output."""


@record
class CutCall:
    """A call of a tool that does not write, which was at work when its process ended."""

    call: Call
    policy: ToolPolicy


@record
class CallResumed:
    """The call began in another process, which has ended. To be the first fact of all."""

    writes: tuple[KeptWrite, ...]
    """In the order in which they were started."""
    cut: tuple[CutCall, ...] = ()
    """In the order in which they were started."""
    said: str = ""
    """What was heard of a reply that the end of the process cut."""
    line: str = ""
    """What the caller hears first: that the line was cut."""


@record
class InterruptionsDisallowed:
    """The tool must not be interrupted from now on (`ctx.disallow_interruptions()`)."""

    run: int


@record
class RunSuspended:
    """The tool waits for the caller or for speech of its own: no interruption, no clock, until `RunResumed`."""

    run: int


@record
class RunResumed:
    """The tool goes on."""

    run: int


@record
class RunCancelRequested:
    """The application or the model cancels a running tool."""

    run: int


# -- the clock


@record
class StoodStill:
    """Nobody could report or be told anything for `seconds`: the event loop, or the machine, stood still.

    That time counts against nobody: what stands ready is taken before anything falls due.
    """

    seconds: float


# -- the application


@record
class HookReturned:
    """Application code ran. `text` replaces the caller's words; `veto` drops the reply. Closes `hook`."""

    hook: int
    text: str | None = None
    veto: bool = False
    context_changed: bool = False
    """The application added something that the reply to this turn shall know."""


@record
class SpeechRequested:
    """`say()` or `generate_reply()`: the application opened speech `speech` (an id from `new_id()`)."""

    speech: int
    kind: Literal["say", "reply", "filler"]
    """"filler": text that bridges a wait, before anything else that waits, and ends at a word for something better."""
    instructions: str | None = None
    tool_choice: ToolChoice | None = None
    interruptible: bool = True
    run: int | None = None
    """The tool that asks, if one does."""
    agent: str | None = None
    """The agent whose hook asks, if one does: its frame speaks. None: the frame in charge."""
    record: bool = True
    """False: what is said stays out of the history (`add_to_chat_ctx=False`)."""
    user_input: str | None = None
    """A user message to put into the history first (`generate_reply(user_input=)`)."""


@record
class InterruptRequested:
    """`handle.interrupt()` or `session.interrupt()`. `speech` None: everything that may be interrupted."""

    speech: int | None = None
    force: bool = False
    run: int | None = None
    """The tool that asks, if one does: it goes on, and so does what it works for."""


@record
class InterruptibilityChanged:
    """`handle.allow_interruptions = ...`."""

    speech: int
    interruptible: bool


@record
class ReplyJudged:
    """A judge said what the caller's reply to a read-back means. Closes `judgement`."""

    judgement: int
    reply: Reply | None = None
    """None: it could not tell, or did not in time."""


@record
class ConsentGiven:
    """The caller answered by a key or a button what was read back of a call."""

    yes: bool
    text: str
    """What stands in the history for it."""
    call_id: str | None = None
    """The call that they mean; None: the one that is asked about."""


@record
class HandOffRequested:
    """The application puts another agent in charge (`session.update_agent`)."""

    agent: str


@record
class AgentTaskStarted:
    """An `AgentTask` is awaited: `agent` takes the floor until it finishes. `run`: the tool that awaits it, if any."""

    task: int
    agent: str
    run: int | None = None
    parent: str | None = None
    """The agent whose hook awaits it, if no tool does."""


@record
class AgentTaskFinished:
    """The task has its result, failed, or was cancelled."""

    task: int


@record
class ContextChanged:
    """An agent's instructions, tools or chat context changed. `item` is recorded if there is one."""

    agent: str
    item: AgentConfigUpdate | None = None
    learns: tuple[str, ...] = ()
    """Ids of calls that its context shows now, with what came of them, and did not before."""
    forgets: tuple[str, ...] = ()
    """Ids of those that it shows no more."""


@record
class ModelsChanged:
    """The application gave the session other models, or another language, in mid-call.

    What is asked for from here on is asked of them. A model that is not named is as it was.
    """

    stt: str = ""
    """Its label, as that of the others."""
    llm: str = ""
    tts: str = ""
    language: LanguageOptions | None = None
    """None: as it was."""


@record
class EndRequested:
    """The call is to end when `speech`, the goodbye, is over, unless the caller has more to say.

    `linger`: seconds after it in which they still may.
    """

    speech: int
    linger: float = 2.0
    reason: str = "user_initiated"


@record
class CloseRequested:
    """The session is to end. `drain`: what is being said and done is finished first."""

    drain: bool = False
    reason: str = "user_initiated"
    hung_up: bool = False
    """Nobody listens any more: nothing is said, and what writes is finished all the same."""


Fact: TypeAlias = (
    UserSpeechStarted
    | UserSpeechEnded
    | Transcribed
    | EndOfTurnPredicted
    | UserTurnSubmitted
    | UserTurnCommitRequested
    | UserTurnCleared
    | TurnTaken
    | TurnTranscribed
    | ResponseBegan
    | TextStarted
    | ToolCalled
    | StreamContinued
    | StreamPaused
    | StepGenerated
    | GenerationFailed
    | SoundReady
    | PlayoutStarted
    | PlayoutStarved
    | PlayoutProgressed
    | PlayoutFinished
    | ToolUpdated
    | ToolReturned
    | OutcomeFound
    | CallResumed
    | InterruptionsDisallowed
    | RunSuspended
    | RunResumed
    | RunCancelRequested
    | StoodStill
    | HookReturned
    | SpeechRequested
    | InterruptRequested
    | InterruptibilityChanged
    | ReplyJudged
    | ConsentGiven
    | HandOffRequested
    | AgentTaskStarted
    | AgentTaskFinished
    | ContextChanged
    | ModelsChanged
    | EndRequested
    | CloseRequested
)
