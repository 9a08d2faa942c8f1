"""The models that a session runs with, and how the shell around it chooses them.

Above: the session, which is given models, and agents, which have some of their own. Below: `protocols.model_resolver`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from antiphon.errors import UsageError
from antiphon.options import NOT_GIVEN, NotGivenOr, is_given
from antiphon.protocols import ModelKind, ModelResolver, model_resolver
from antiphon.runtime.reading import unvoiced

KINDS: tuple[ModelKind, ...] = ("llm", "stt", "tts", "vad", "turn_detector")


class Models:
    """One session's models, by kind."""

    def __init__(self, given: Mapping[ModelKind, Any], parallel_tool_calls: NotGivenOr[bool]) -> None:
        self._given = given
        self._chosen: dict[ModelKind, Any] = {}
        self._resolve: ModelResolver | None = None
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
            if isinstance(model, str):
                raise UsageError(
                    f"{kind}={model!r}: expected a model object; names are looked up only where `antiphon` or an"
                    f" AgentServer runs the session. Give the object, for example providers.openai.LLM(...)."
                )
        self._chosen = {kind: model if is_given(model) else None for kind, model in wanted.items()}

    def get(self, kind: ModelKind) -> Any:
        """The session's model of a kind, or None."""
        return self._chosen.get(kind)

    def serving(self, kind: ModelKind, own: Any = NOT_GIVEN) -> Any:
        """What serves an agent: the session's model, or `own` if it has one, unless the shell chooses another one."""
        if own is NOT_GIVEN:
            model = self._chosen.get(kind)
        else:
            model = own if self._resolve is None else self._resolve({kind: own})[kind]
        return unvoiced() if model is None and kind == "tts" else model
