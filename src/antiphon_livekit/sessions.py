"""`AgentSession` with the options of LiveKit's, the options objects, and events with LiveKit's fields.

What is not built is accepted and told once; what nobody knows is a `TypeError`, as everywhere.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, NoReturn, TypeVar

from antiphon import events
from antiphon import session as native
from antiphon.agent import Agent
from antiphon.chat import ChatMessage
from antiphon.errors import UserdataNotSet
from antiphon.options import NOT_GIVEN, NotGivenOr, ToolChoice, TurnHandling, is_given
from antiphon.run_result import RunResult
from antiphon.session_options import turn_handling as turn_handling_of
from antiphon.speech_handle import SpeechHandle
from antiphon.tools.toolset import ToolLike
from antiphon_livekit.agents import mcp_toolsets
from antiphon_livekit.metrics import AgentMetrics, measurements
from antiphon_livekit.models import model_for
from antiphon_livekit.notices import without_effect
from antiphon_livekit.quiet import UsageSummary

Userdata = TypeVar("Userdata")

SESSION_OPTIONS_WITHOUT_EFFECT = (
    "aec_warmup_duration",
    "conn_options",
    "discard_audio_if_uninterruptible",
    "expressive",
    "ivr_detection",
    "keyterms_options",
    "loop",
    "min_consecutive_speech_delay",
    "min_interruption_duration",
    "preemptive_tts",
    "resume_false_interruption",
    "session_close_transcript_timeout",
    "stt_context_options",
    "tool_handling",
    "transcription_timeout",
    "tts_text_transforms",
    "use_tts_aligned_transcript",
    "video_sampler",
)
"""Options of `AgentSession` that are accepted, told, and not used."""

START_OPTIONS_WITHOUT_EFFECT = (
    "record",
    "room_input_options",
    "room_options",
    "room_output_options",
    "session_host",
)
"""Options of `AgentSession.start` that are accepted, told, and not used: the room is in this process."""

_FLAT_INTERRUPTION = {
    "min_interruption_words": "min_words",
    "false_interruption_timeout": "false_interruption_timeout",
    "agent_false_interruption_timeout": "false_interruption_timeout",
}
"""Options of before `turn_handling`, and what they are called in its `interruption`."""

_FLAT_TURNS = {
    "allow_interruptions": ("interruption", "enabled"),
    "min_endpointing_delay": ("endpointing", "min_delay"),
    "max_endpointing_delay": ("endpointing", "max_delay"),
    "preemptive_generation": ("preemptive_generation", "enabled"),
}
"""The same, that go before what `turn_handling` says: its group, and the option there, by our names."""

_NEWER_GROUPS = {
    "preemptive_generation": {
        "enabled": "enabled",
        "max_speech_duration": "max_speech_duration",
        "max_retries": "max_retries",
    },
    "user_turn_limit": {"max_words": "max_words", "max_duration": "max_duration"},
}
"""Groups of `turn_handling`, and what their options are called here."""

ROUNDS_BEYOND = 1
"""LiveKit lets the model call tools once more after `max_tool_steps` rounds; so do we here."""


def _absent(name: str, instead: str) -> property:
    """An attribute that LiveKit's sessions have and these do not."""

    def refuse(session: object) -> NoReturn:
        raise AttributeError(f"AgentSession has no attribute {name!r} here: {instead}", name=name, obj=session)

    return property(refuse)


# -- options


class OptionGroup(dict[str, Any]):
    """Options under one name, as keywords or as a dict."""


class EndpointingOptions(OptionGroup):
    """`mode`, `min_delay` and `max_delay` are used."""


class InterruptionOptions(OptionGroup):
    """`enabled`, `min_words` and `false_interruption_timeout` are used."""


class PreemptiveGenerationOptions(OptionGroup):
    """Used but for `preemptive_tts`: speech is made with the response. Off unless `enabled`."""


class UserTurnLimitOptions(OptionGroup):
    """Used."""


class TurnHandlingOptions(OptionGroup):
    """How turns are taken."""


class RoomOption:
    """Options of a room: kept, and without effect on a room in this process."""

    def __init__(self, **options: Any) -> None:
        self.__dict__.update(options)


class RoomInputOptions(RoomOption):
    """How the caller would be heard: `noise_cancellation`, `audio_enabled`, ..."""


class RoomOutputOptions(RoomOption):
    """How the agent would be heard: `transcription_enabled`, `audio_enabled`, ..."""


class RoomOptions(RoomOption):
    """Both: `audio_input`, `audio_output`, `text_input`, ..."""


class AudioInputOptions(RoomOption):
    """Part of `RoomOptions`."""


class AudioOutputOptions(RoomOption):
    """Part of `RoomOptions`."""


class TextInputOptions(RoomOption):
    """Part of `RoomOptions`."""


class TextOutputOptions(RoomOption):
    """Part of `RoomOptions`."""


class VideoInputOptions(RoomOption):
    """Part of `RoomOptions`."""


# -- events


@dataclass(slots=True, kw_only=True)
class UserInputTranscribedEvent(events.UserInputTranscribedEvent):
    """Words of the caller were understood. There is one caller, so nobody is named."""

    speaker_id: str | None = None
    item_id: str | None = None


@dataclass(slots=True, kw_only=True)
class FunctionToolsExecutedEvent(events.FunctionToolsExecutedEvent):
    """All tools of one model response have ended."""

    @property
    def has_tool_reply(self) -> bool:
        """Whether the model answers to the outputs."""
        return any(output.reply_required for output in self.function_call_outputs)

    def cancel_tool_reply(self) -> NoReturn:
        """Not possible here: return `ToolResult(output, reply_required=False)`, or raise `StopResponse`, in the tool.

        Raises `NotImplementedError`.
        """
        raise NotImplementedError("cancel_tool_reply: return ToolResult(output, reply_required=False) in the tool")


@dataclass(slots=True, kw_only=True)
class MetricsCollectedEvent:
    """Something was measured. All of a reply's measurements are given when it is over."""

    metrics: AgentMetrics
    created_at: float = field(default_factory=time.time)
    type: Literal["metrics_collected"] = "metrics_collected"


@dataclass(slots=True, kw_only=True)
class SessionUsageUpdatedEvent:
    """Never given here."""

    usage: Any
    created_at: float = field(default_factory=time.time)
    type: Literal["session_usage_updated"] = "session_usage_updated"


_WITH_MORE_FIELDS: dict[type[Any], type[Any]] = {
    events.UserInputTranscribedEvent: UserInputTranscribedEvent,
    events.FunctionToolsExecutedEvent: FunctionToolsExecutedEvent,
}


def livekit_event(event: Any) -> Any:
    """The event with the fields that LiveKit's has."""
    kind = _WITH_MORE_FIELDS.get(type(event))
    return event if kind is None else kind(**{f.name: getattr(event, f.name) for f in fields(event)})


# -- the session


class AgentSession(native.AgentSession[Userdata]):
    """`antiphon.AgentSession`, with the options of LiveKit's.

    Models may be named ("deepgram/nova-3"); `mcp_servers` become toolsets. `SESSION_OPTIONS_WITHOUT_EFFECT` are told
    once; other options are a `TypeError`. After `max_tool_steps` rounds of calls there may be one more.
    """

    def __init__(
        self,
        *,
        stt: Any = NOT_GIVEN,
        vad: Any = NOT_GIVEN,
        llm: Any = NOT_GIVEN,
        tts: Any = NOT_GIVEN,
        turn_detection: Any = NOT_GIVEN,
        turn_handling: Any = NOT_GIVEN,
        tools: Sequence[ToolLike] | None = None,
        userdata: NotGivenOr[Userdata] = NOT_GIVEN,
        max_tool_steps: int = 3,
        mcp_servers: Any = None,
        **options: Any,
    ) -> None:
        self._stored = userdata
        turns, detection = _turn_handling(_with_flat_options(turn_handling, options))
        turns = _with_flat_turns(turns, options)
        options.setdefault("max_silence", None)  # no line is said here that the file did not ask for
        others = {name: value for name, value in options.items() if name not in _FLAT_TURNS}
        super().__init__(
            stt=model_for("stt", stt),
            vad=vad,
            llm=model_for("llm", llm),
            tts=model_for("tts", tts),
            turn_detection=_detection(turn_detection if is_given(turn_detection) else detection),
            turn_handling=turns,
            tools=[*(tools or ()), *mcp_toolsets(mcp_servers)],
            max_tool_steps=max_tool_steps + ROUNDS_BEYOND,
            **without_effect("AgentSession", others, SESSION_OPTIONS_WITHOUT_EFFECT),
        )
        self.when_listened("metrics_collected", self._measure)

    @property
    def userdata(self) -> Userdata:
        """Whatever the application keeps with the session. Raises `UserdataNotSet` until something is stored."""
        if not is_given(self._stored):
            raise UserdataNotSet(
                "session.userdata: nothing was stored yet; pass AgentSession(userdata=...) or assign session.userdata"
            )
        return self._stored

    @userdata.setter
    def userdata(self, value: Userdata) -> None:
        self._stored = value

    async def start(self, agent: Agent, *, room: Any = None, **options: Any) -> RunResult | None:
        """Begin the call with `agent` in charge. Takes the models, too."""
        given = without_effect("session.start", options, START_OPTIONS_WITHOUT_EFFECT)
        for kind in ("stt", "llm", "tts"):
            if kind in given:
                given[kind] = model_for(kind, given[kind])
        return await super().start(agent, room=room, **given)

    def generate_reply(
        self,
        *,
        user_input: str | ChatMessage | None = None,
        instructions: Any = None,
        tool_choice: NotGivenOr[ToolChoice] = NOT_GIVEN,
        allow_interruptions: NotGivenOr[bool] = NOT_GIVEN,
        **options: Any,
    ) -> SpeechHandle:
        """Have the model speak. `tools`, `chat_ctx` and `input_modality` are told, and not used."""
        given = {name: value for name, value in options.items() if is_given(value)}
        unknown = without_effect("session.generate_reply", given, ("tools", "chat_ctx", "input_modality"))
        if unknown:
            raise TypeError(f"generate_reply: unknown option {next(iter(unknown))!r}")
        text = user_input.text_content if isinstance(user_input, ChatMessage) else user_input
        return super().generate_reply(
            user_input=text if is_given(text) else None,
            instructions=str(instructions) if is_given(instructions) and instructions is not None else None,
            tool_choice=tool_choice,
            allow_interruptions=allow_interruptions,
        )

    def run(self, *, user_input: str, input_modality: str = "text", **options: Any) -> RunResult:
        """Give the agent a turn of the caller in text. There is no `output_type`."""
        if any(is_given(value) and value is not None for value in options.values()):
            raise TypeError(f"session.run: there is no {next(iter(options))}; use a tool that takes the result")
        return super().run(user_input=user_input)

    def commit_user_turn(self, **options: Any) -> None:
        """The caller's turn ends now."""
        without_effect("session.commit_user_turn", options, options)
        super().commit_user_turn()

    def update_options(self, **options: Any) -> None:
        """Told, and not done: options are those of the constructor."""
        without_effect("session.update_options", options, options)

    @property
    def usage(self) -> UsageSummary:
        """What the call has cost. Not counted here: all zero."""
        return UsageSummary()

    def _measure(self) -> None:
        self.on("turn_metrics", self._tell_measurements)

    def _tell_measurements(self, event: events.TurnMetricsEvent) -> None:
        for measurement in measurements(event):
            self.emit("metrics_collected", MetricsCollectedEvent(metrics=measurement))

    def emit(self, name: str, *arguments: Any) -> None:
        super().emit(name, *(livekit_event(argument) for argument in arguments))

    input = _absent(
        "input", "give start(input=) a microphone of your own, or use clear_user_turn(), commit_user_turn()"
    )
    output = _absent("output", "give start(output=) a loudspeaker of your own")
    room_io = _absent("room_io", "session.room is the room of the call")
    amd = _absent("amd", "there is no detection of answering machines")
    keyterms = _absent("keyterms", "give them to the recogniser: deepgram.STT(keyterms=[...])")


def _detection(given: Any) -> Any:
    return NOT_GIVEN if given is None else given


def _with_flat_options(turn_handling: Any, options: dict[str, Any]) -> Any:
    """The turn handling, with what of it stands among the session's `options`, which it is taken out of."""
    flat = {new: options.pop(old) for old, new in _FLAT_INTERRUPTION.items() if old in options}
    flat = {name: value for name, value in flat.items() if is_given(value)}
    if not flat or isinstance(turn_handling, TurnHandling):
        return turn_handling
    turns = dict(turn_handling) if is_given(turn_handling) and turn_handling is not None else {}
    return {**turns, "interruption": {**flat, **(turns.get("interruption") or {})}}


def _with_flat_turns(turns: Any, options: Mapping[str, Any]) -> TurnHandling:
    """The same, by our names: these go before what `turn_handling` says."""
    handling = turn_handling_of(turns)
    for name, (group, option) in _FLAT_TURNS.items():
        if is_given(value := options.get(name, NOT_GIVEN)):
            handling = replace(handling, **{group: replace(getattr(handling, group), **{option: value})})
    return handling


def _turn_handling(given: Any) -> tuple[Any, Any]:
    """What of LiveKit's options there is here, and the turn detection among them."""
    if not is_given(given) or given is None:
        return None, NOT_GIVEN
    if isinstance(given, TurnHandling):
        return given, NOT_GIVEN
    turns: dict[str, Any] = {}
    endpointing = dict(
        _used("endpointing", given, {"min_delay": "min_delay", "max_delay": "max_delay", "mode": "mode"})
    )
    interruption = dict(
        _used(
            "interruption",
            given,
            {"enabled": "enabled", "min_words": "min_words", "false_interruption_timeout": "false_after"},
        )
    )
    if endpointing:
        turns["endpointing"] = endpointing
    if interruption:
        # A sound alone pauses the agent; only words cut it, so there is nothing below one.
        if "min_words" in interruption:
            interruption["min_words"] = max(1, interruption["min_words"])
        turns["interruption"] = interruption
    for group, names in _NEWER_GROUPS.items():
        if chosen := dict(_used(group, given, names)):
            turns[group] = chosen
    others = [name for name in given if name not in ("turn_detection", "endpointing", "interruption", *_NEWER_GROUPS)]
    without_effect("turn_handling", given, others)
    return turns or None, given.get("turn_detection", NOT_GIVEN)


def _used(group: str, given: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    options = given.get(group) or {}
    without_effect(f"turn_handling[{group!r}]", options, [name for name in options if name not in names])
    for name, value in options.items():
        if name in names and value is not None:
            yield names[name], value
