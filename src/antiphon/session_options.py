"""The options of a session: as they are given, and as they follow from its models and its audio.

Above: `AgentSession`. Below: `options`, which has the values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar, cast

from antiphon.agent import Agent
from antiphon.errors import UsageError
from antiphon.language import Language
from antiphon.llm import LLM
from antiphon.options import (
    AwayLadder,
    ConsentOptions,
    ContextBudget,
    Endpointing,
    Fillers,
    Interruption,
    LanguageOptions,
    MustHearLine,
    NotGivenOr,
    PreemptiveGeneration,
    RedactWords,
    SessionOptions,
    SilenceBudget,
    TurnDetection,
    TurnHandling,
    UserTurnLimit,
    is_given,
)
from antiphon.protocols import ModelKind
from antiphon.realtime import RealtimeModel
from antiphon.text import is_sayable
from antiphon.transport import AudioInput, AudioOutput, RoomInputOptions, RoomOptions
from antiphon.turn_detector import PREDICTION_TIMEOUT, TurnDetector

T = TypeVar("T")

JUDGE_TIMEOUT = 2.0
"""Seconds that a judge of replies gets, unless the session says otherwise."""


def options_for(options: SessionOptions, agent: Agent, *, has_detector: bool, is_heard: bool) -> SessionOptions:
    """The options, with what follows from the models of the first agent, and from whether anybody hears it."""
    options = _without_model(options, agent, has_detector)
    if isinstance(agent.llm, RealtimeModel):
        options = _with_model(options, agent, agent.llm)
    if not is_heard:  # nobody hears silence, and whoever reads may take their time
        return replace(
            options,
            is_read=True,
            silence=None,
            user_away_timeout=None,
            away_ladder=None,
            consent=replace(options.consent, timeout=None),
        )
    has_voice = agent.tts is not None or "tts_node" in agent.overridden
    return options if has_voice else replace(options, silence=None)


def _without_model(options: SessionOptions, agent: Agent, has_detector: bool) -> SessionOptions:
    if options.turns.detection == "realtime_llm":
        options = replace(options, turns=replace(options.turns, detection="vad"))  # there is none that could
    return replace(
        options,
        has_stt=agent.stt is not None or "stt_node" in agent.overridden,
        prediction_timeout=PREDICTION_TIMEOUT if has_detector else 0.0,
    )


def _with_model(options: SessionOptions, agent: Agent, model: RealtimeModel) -> SessionOptions:
    """The same, for a model that hears the caller itself."""
    options = replace(options, model_hears=True)
    if not model.capabilities.turn_detection:
        return options
    turns = options.turns
    if turns.detection != "manual":
        # Our detector falls silent before the model ends the turn: until then a pause is no false alarm.
        doubt = max(turns.interruption.false_after, 1.2) if agent.vad is not None else turns.interruption.false_after
        interruption = replace(turns.interruption, false_after=doubt)
        turns = replace(turns, detection="realtime_llm", interruption=interruption)
    return replace(options, turns=turns, has_stt=model.capabilities.live_transcription, prediction_timeout=0.0)


def turns_of(
    given: TurnHandling | Mapping[str, Any] | None, turn_detection: Any, preemptive: NotGivenOr[bool]
) -> TurnHandling:
    """How turns are taken, with what of it was said beside it. Raises as `turn_handling` and `detection` do."""
    turns = turn_handling(given)
    said = is_given(turn_detection) and turn_detection is not None and turn_detection is not ...
    if said and not isinstance(turn_detection, TurnDetector):
        turns = replace(turns, detection=detection(turn_detection))
    if is_given(preemptive):
        turns = replace(turns, preemptive_generation=replace(turns.preemptive_generation, enabled=preemptive))
    return turns


def turn_handling(given: TurnHandling | Mapping[str, Any] | None) -> TurnHandling:
    """How turns are taken, from the object or from its fields by name. Raises `TypeError` for unknown options."""
    if given is None:
        return TurnHandling()
    if isinstance(given, TurnHandling):
        return given
    parts: dict[str, Any] = {}
    for name, value in given.items():
        match name:
            case "detection" | "turn_detection":
                parts["detection"] = detection(value)
            case "endpointing":
                parts[name] = _value_object(Endpointing, value, "turn_handling['endpointing']")
            case "interruption":
                parts[name] = _value_object(Interruption, value, "turn_handling['interruption']")
            case "preemptive_generation":
                parts[name] = _value_object(PreemptiveGeneration, value, "turn_handling['preemptive_generation']")
            case "user_turn_limit":
                parts[name] = _value_object(UserTurnLimit, value, "turn_handling['user_turn_limit']")
            case _:
                raise TypeError(
                    f"turn_handling: unknown option {name!r}; expected detection, endpointing, interruption,"
                    " preemptive_generation or user_turn_limit"
                )
    return TurnHandling(**parts)


def detection(value: Any) -> TurnDetection:
    """Who ends the caller's turns. Raises `UsageError` if that is none of those there are."""
    if value in ("vad", "stt", "manual", "realtime_llm"):
        return cast("TurnDetection", value)
    raise UsageError(f"turn_detection: expected 'vad', 'stt', 'manual' or a TurnDetector, got {value!r}")


def _value_object(kind: type[T], value: Any, where: str) -> T:
    if isinstance(value, kind):
        return value
    names = [f.name for f in fields(cast("Any", kind))]
    unknown = [name for name in value if name not in names]
    if unknown:
        raise TypeError(f"{where}: unknown option {unknown[0]!r}; expected {', '.join(names)}")
    return kind(**value)


def must_hear_lines(given: Sequence[str]) -> tuple[MustHearLine, ...]:
    """What the caller must hear. Raises `UsageError` for what nobody could."""
    if isinstance(given, str):
        raise UsageError(f"must_hear: expected a list of texts, got one; give [{given!r}]")
    for text in given:
        if not isinstance(text, str) or not is_sayable(text):
            raise UsageError(f"must_hear: expected texts that a voice can say, got {text!r}")
    return tuple(MustHearLine(text) for text in given)


def limits(max_tool_steps: int, write: float, close: float) -> dict[str, Any]:
    """Rounds of tools, and what tools and hooks get when the call ends, in seconds."""
    return {"max_tool_steps": max_tool_steps, "write_grace": write, "close_grace": close}


@dataclass(slots=True, frozen=True)
class Lines:
    """What the application gave of what the session says itself: this is said in whatever language the call is."""

    fallback_line: NotGivenOr[str]
    failure_line: NotGivenOr[str]
    unheard_line: NotGivenOr[str]
    fillers: Fillers | Mapping[str, Any] | None
    away_ladder: AwayLadder | Mapping[str, Any] | bool | None

    def of(self, language: Language) -> dict[str, Any]:
        """What the core knows of the language, and what the session says: the language's, where nothing was given."""
        return {"language": language.phrases, **self._said(language)}

    def _said(self, language: Language) -> dict[str, str]:
        names = ("fallback_line", "failure_line", "unheard_line")
        given = {name: getattr(self, name) for name in names}
        return {name: line if is_given(line) else getattr(language, name) for name, line in given.items()}

    def options(self, language: Language) -> LanguageOptions:
        """The same for a language that is spoken from mid-call on."""
        return LanguageOptions(
            language.phrases,
            **self._said(language),
            consent_lines=language.consent_lines,
            consent_phrases=language.consent,
            fillers=language.fillers if self.fillers is None else None,
            away_ladder=away_ladder(self.away_ladder, language.away_ladder),
        )


def context_budget(given: NotGivenOr[ContextBudget | Mapping[str, Any] | None]) -> ContextBudget | None:
    """How much of the talk requests carry; None: all of it. Raises `UsageError` for a budget that is none."""
    if not is_given(given):
        return ContextBudget()
    if given is None:
        return None
    budget = _value_object(ContextBudget, given, "context_budget")
    if not budget.max_tokens > 0 or not budget.keep_turns > 0:
        raise UsageError(
            "context_budget: expected max_tokens and keep_turns above 0, or None for no limit, got"
            f" {budget.max_tokens!r} and {budget.keep_turns!r}"
        )
    if not isinstance(budget.summarise, (bool, LLM)):
        raise UsageError(f"context_budget: expected summarise=True, False or an LLM, got {budget.summarise!r}")
    return budget


def waits_of(
    pack: Language,
    max_silence: NotGivenOr[float | None],
    fillers: Fillers | Mapping[str, Any] | None,
    user_away_timeout: float | None,
    away: AwayLadder | Mapping[str, Any] | bool | None,
    consent_timeout: NotGivenOr[float | None],
) -> dict[str, Any]:
    """How long the line may be silent, and what is said then: the lines of the language where others are not given."""
    return {
        "silence": silence_budget(max_silence, pack.fillers if fillers is None else fillers),
        "user_away_timeout": user_away_timeout,
        "away_ladder": away_ladder(away, pack.away_ladder),
        "consent": consent_options(consent_timeout, pack),
    }


def silence_budget(max_silence: NotGivenOr[float | None], fillers: Fillers | Mapping[str, Any]) -> SilenceBudget | None:
    """What may be silent, and what is said then; None: no limit. Raises `UsageError` for a limit that is none."""
    if max_silence is None:
        return None
    budget = SilenceBudget() if not is_given(max_silence) else SilenceBudget(max_silence=max_silence)
    if not budget.max_silence > 0:
        raise UsageError(f"max_silence: expected seconds above 0, or None for no limit, got {budget.max_silence!r}")
    return replace(budget, fillers=_value_object(Fillers, fillers, "fillers"))


def consent_options(timeout: NotGivenOr[float | None], pack: Language) -> ConsentOptions:
    """How the caller is asked before a call. Raises `UsageError` for a time that is none."""
    options = ConsentOptions(lines=pack.consent_lines, phrases=pack.consent)
    if is_given(timeout):
        if timeout is not None and not timeout > 0:
            raise UsageError(f"consent_timeout: expected seconds above 0, or None for no limit, got {timeout!r}")
        options = replace(options, timeout=timeout)
    return options


def judged(options: SessionOptions) -> SessionOptions:
    """The options, with a judge of what replies to a read-back mean."""
    return replace(options, consent=replace(options.consent, judge_timeout=JUDGE_TIMEOUT))


def models_of(llm: Any, stt: Any, tts: Any, vad: Any, detector: Any, detection: Any) -> dict[ModelKind, Any]:
    """The models by kind. A detector of turns may be given in the place of what decides about them."""
    detector = detection if isinstance(detection, TurnDetector) else detector
    return {"llm": llm, "stt": stt, "tts": tts, "vad": vad, "turn_detector": detector}


def away_ladder(given: AwayLadder | Mapping[str, Any] | bool | None, default: AwayLadder) -> AwayLadder | None:
    """What is said to a caller who falls silent. Raises `UsageError` for a time that is none."""
    if given is None or given is False:
        return None
    if given is True:
        ladder = default
    elif isinstance(given, AwayLadder):
        ladder = given
    else:
        lines = {field.name: getattr(default, field.name) for field in fields(cast("Any", AwayLadder))}
        ladder = _value_object(AwayLadder, {**lines, **given}, "away_ladder")
    for name in ("ask_after", "again_after", "goodbye_after"):
        if not getattr(ladder, name) > 0:
            raise UsageError(f"away_ladder: expected {name} in seconds above 0, got {getattr(ladder, name)!r}")
    return ladder


def redaction(given: RedactWords) -> RedactWords:
    """What is to be masked. Raises `UsageError` for a name that is none."""
    if callable(given):
        return given
    from antiphon.text.findings import FINDERS  # most sessions redact nothing

    names = (given,) if isinstance(given, str) else tuple(given)
    if unknown := [name for name in names if name not in FINDERS]:
        raise UsageError(f"redact: expected some of {', '.join(FINDERS)}, or a function, got {unknown[0]!r}")
    return names


async def cleaned(
    input: AudioInput | None,
    output: AudioOutput | None,
    room: RoomOptions | None,
    room_input: RoomInputOptions | None,
) -> tuple[AudioInput | None, AudioOutput | None]:
    """The caller's line, with what cleans the microphone in it. Raises `UsageError` if both options say what does."""
    if room is not None and room_input is not None:
        raise UsageError("session.start: got room_options and room_input_options; give the first, which says it all")
    audio = room_input if room is None else room.audio_input
    cleaner = None if audio is None else audio.noise_cancellation
    if cleaner is None or input is None:
        return input, output
    await cleaner.prepare()
    return cleaner.wrap(input, output)
