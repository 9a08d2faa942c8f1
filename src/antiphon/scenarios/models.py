"""What a call of a scenario runs with: the agent's own language model, and voices that are fake, or of this machine.

Above: calls. Below: `calls.models`, which knows names and local models; the fakes of `antiphon.testing`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from antiphon.calls.models import ModelChoice, local_model, named_model
from antiphon.calls.offers import is_stand_in
from antiphon.errors import UsageError
from antiphon.llm import LLM
from antiphon.options import is_given
from antiphon.protocols import ModelKind
from antiphon.realtime import RealtimeModel
from antiphon.scenarios.definition import Medium, Scenario
from antiphon.testing.caller import RATE, Caller, CallerSTT
from antiphon.testing.fakes import FakeLLM, FakeTTS, FakeVAD

_HEARING: tuple[ModelKind, ...] = ("stt", "tts", "vad", "turn_detector")


class Voices:
    """Chooses the models of one call: `choice` the language model, the medium what hears and speaks."""

    def __init__(self, choice: ModelChoice, medium: Medium, caller: Caller) -> None:
        self._choice = choice
        self._medium = medium
        self._fakes: dict[str, Any] = {
            "stt": CallerSTT(caller),
            "tts": FakeTTS(sample_rate=RATE),
            "vad": FakeVAD(),
        }

    def __call__(self, given: Mapping[ModelKind, Any]) -> Mapping[ModelKind, Any]:
        """What to run with. Raises `UsageError` for a model that hears and speaks by itself."""
        chosen = dict(self._choice({kind: model for kind, model in given.items() if kind not in _HEARING}))
        llm = chosen.get("llm")
        if isinstance(llm, RealtimeModel) and self._medium == "sound":
            raise UsageError(
                f"{llm.label} hears and speaks by itself, and cannot hear fake voices. Simulate with --voice, or give a"
                " model of text: --llm NAME."
            )
        for kind in _HEARING:
            if kind in given:
                chosen[kind] = self._hearing(kind)
        return chosen

    def _hearing(self, kind: ModelKind) -> Any:
        if self._medium == "text":
            return None
        return local_model(kind) if self._medium == "voice" else self._fakes.get(kind)


def has_own_clock(model: Any) -> bool:
    """Whether it takes real time: a model of this machine takes the call's, which is virtual."""
    return is_given(model) and model is not None and not (is_stand_in(model) or isinstance(model, FakeLLM))


def persona_model(scenario: Scenario, name: str | None) -> LLM | None:
    """The model that plays its caller; None: nobody needs to. Raises `UsageError` where none is named."""
    if not scenario.caller.persona or scenario.plays is not None:
        return None
    name = scenario.caller.llm or name
    if name is None:
        raise UsageError(
            f"scenario {scenario.name!r} has a persona, which a language model plays. Name one: --caller-llm NAME, or"
            " `llm: NAME` of the caller."
        )
    model: LLM = named_model("llm", name)
    if is_stand_in(model):
        raise UsageError(
            f"scenario {scenario.name!r}: the dialogue engine of this machine plays agents, not callers. Name a"
            " language model: --caller-llm openai/gpt-4o-mini, ollama/llama3.2."
        )
    return model
