"""The models that a session runs with, and how the shell around it chooses them.

Above: the session, which is given models, and agents, which have some of their own. Below: `protocols.model_resolver`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from antiphon.errors import UsageError
from antiphon.options import NOT_GIVEN, NotGivenOr, is_given
from antiphon.protocols import ModelKind, ModelResolver, model_resolver
from antiphon.realtime import RealtimeModel
from antiphon.runtime.reading import unvoiced

if TYPE_CHECKING:
    from antiphon.application.trial import Trial

KINDS: tuple[ModelKind, ...] = ("llm", "stt", "tts", "vad", "turn_detector")


class Models:
    """One session's models, by kind."""

    def __init__(self, given: Mapping[ModelKind, Any], parallel_tool_calls: NotGivenOr[bool]) -> None:
        self._given = given
        self._chosen: dict[ModelKind, Any] = {}
        self._resolve: ModelResolver | None = None
        self._trials: dict[ModelKind, Trial] = {}
        """Models that were given in mid-call, and have done nothing yet."""
        self.parallel_tool_calls = parallel_tool_calls
        """What the session was told about calls side by side."""

    def choose(self, given: Mapping[ModelKind, Any]) -> None:
        """Those it runs with: given to `start`, else to the constructor, else chosen by the shell around it."""
        wanted: dict[ModelKind, Any] = {}
        for kind in KINDS:
            choice = given[kind] if is_given(given[kind]) else self._given[kind]
            wanted[kind] = NOT_GIVEN if choice is ... else choice
        self._resolve = model_resolver.get()
        if self._resolve is not None:
            wanted = dict(self._resolve(wanted))
        for kind, model in wanted.items():
            _check_object(kind, model)
        self._chosen = {kind: model if is_given(model) else None for kind, model in wanted.items()}

    # -- in mid-call

    def found(self, given: Mapping[ModelKind, Any]) -> dict[ModelKind, Any]:
        """The models behind what was given in mid-call: names are looked up where the session runs in a shell.

        Raises `UsageError` for what is none, or cannot take the place of what there is.
        """
        from antiphon.application.trial import CONTRACTS  # few calls need it

        wanted = {kind: model for kind, model in given.items() if is_given(model)}
        if self._resolve is not None:
            wanted = {kind: self._resolve({kind: model})[kind] for kind, model in wanted.items()}
        for kind, model in wanted.items():
            _check_object(kind, model)
            old = self._chosen.get(kind)
            if isinstance(old, RealtimeModel) or isinstance(model, RealtimeModel):
                raise UsageError(
                    "session.update_models: a realtime model hears the call itself and cannot be exchanged in it; begin"
                    " another session"
                )
            if not isinstance(model, CONTRACTS[kind]):
                raise UsageError(
                    f"session.update_models: expected {kind}= to be a model (antiphon.{kind}.{kind.upper()}),"
                    f" got {type(model).__name__}"
                )
            if old is None:
                raise UsageError(
                    f"session.update_models: the session began without {kind}=, and goes on so; give one to"
                    " AgentSession, which may be exchanged"
                )
        return wanted

    def exchange(self, kind: ModelKind, new: Any, failed: Callable[[Any, Exception], None]) -> None:
        """Another model serves from the next use on. `failed`: told of the one that serves again, and of the error."""
        old = self._chosen[kind]
        if new is old:
            return

        def fails(error: Exception) -> None:
            if self._chosen[kind] is new:
                self._chosen[kind] = old
                failed(old, error)

        from antiphon.application.trial import Trial

        self._chosen[kind] = new
        self._trials[kind] = Trial(kind, new, old, fails)

    def _on_trial(self, kind: ModelKind) -> Any:
        """What serves while a model has done nothing yet. None: the session's model itself."""
        trial = self._trials.get(kind)
        if trial is None:
            return None
        if trial.is_over:
            del self._trials[kind]
            return None
        return trial.both

    def get(self, kind: ModelKind) -> Any:
        """The session's model of a kind, or None."""
        return self._chosen.get(kind)

    def serving(self, kind: ModelKind, own: Any = NOT_GIVEN) -> Any:
        """What serves an agent: the session's model, or `own` if it has one, unless the shell chooses another one."""
        if own is NOT_GIVEN:
            model = (self._on_trial(kind) if self._trials else None) or self._chosen.get(kind)
        else:
            model = own if self._resolve is None else self._resolve({kind: own})[kind]
        return unvoiced() if model is None and kind == "tts" else model


def _check_object(kind: ModelKind, model: Any) -> None:
    """Raise `UsageError` for a name that nobody looks up here."""
    if isinstance(model, str):
        raise UsageError(
            f"{kind}={model!r}: expected a model object; names are looked up only where `antiphon` or an"
            f" AgentServer runs the session. Give the object, for example providers.openai.LLM(...)."
        )
