"""Other models, or another language, in mid-call (`session.update_models`).

All of it holds, or nothing does: what cannot be prepared is an error, and changes nothing. What is said, heard or asked
when it changes ends as it began; one that fails before it has done anything gives way to the one before.

Above: the session. Below: its models, which serve from the next use on, and the driver, which tells the core.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from antiphon.application.models import Models
from antiphon.core.facts import ModelsChanged
from antiphon.errors import ProviderError, SessionClosed, UsageError, as_exception, pass_on
from antiphon.language import Language, language_pack
from antiphon.options import LanguageOptions
from antiphon.protocols import ModelKind
from antiphon.runtime.driver import Driver
from antiphon.timer import within

if TYPE_CHECKING:
    from antiphon.application.host import SessionHost

logger = logging.getLogger("antiphon")

PREPARE_LIMIT = 60.0
"""Seconds for which a model that is to serve in mid-call may be prepared: it has to be loaded, or connected."""


class Exchange:
    """That of one session."""

    def __init__(self, host: SessionHost, driver: Driver) -> None:
        self._host = host
        self._driver = driver

    async def models(self, given: Mapping[ModelKind, Any]) -> None:
        """These serve from the next use on. Raises `UsageError`, `ProviderError`, `SessionClosed`; then none does."""
        models: Models = self._host.models
        new = models.found(given)
        await asyncio.gather(*(_prepared(kind, model, models.get(kind)) for kind, model in new.items()))
        if self._driver.is_closed:
            raise SessionClosed("session.update_models: the session has ended")
        if (voice := new.get("tts")) is not None:
            await self._driver.playout.prepare(voice)
        near = weakref.ref(self)
        for kind, model in new.items():

            def failed(old: Any, error: Exception, kind: ModelKind = kind, model: Any = model) -> None:
                exchange = near()
                if exchange is not None:
                    exchange.failed(kind, model, old, error)

            models.exchange(kind, model, failed)
            self._warn_of_own(kind)
        if new:
            self._tell(new)

    def language(self, pack: Language, options: LanguageOptions) -> None:
        """This is spoken from here on."""
        self._driver.models_changed(ModelsChanged(language=options), pack)

    def failed(self, kind: ModelKind, new: Any, old: Any, error: Exception) -> None:
        """A model failed before it had done anything: the one before serves again, and whoever listens is told."""
        told = ProviderError(
            f"session.update_models: {kind} {new.label} failed before it had done anything ({error});"
            f" {old.label}, which the session had, stays in its place. Mend it, and give it again.",
            provider=new.label,
        )
        logger.warning("%s", told)
        if not self._driver.is_closed:
            self._tell({kind: old})
            self._host.announcer.failed(told, new)

    def _tell(self, models: Mapping[ModelKind, Any]) -> None:
        self._driver.models_changed(ModelsChanged(**{kind: model.label for kind, model in models.items()}), None)

    def _warn_of_own(self, kind: ModelKind) -> None:
        agent = self._host.cast.current_agent
        if agent is not None and getattr(agent, kind) is not self._host.models.serving(kind):
            logger.warning(
                "session.update_models: agent %r, which is in charge, has a %s of its own and keeps it", agent.id, kind
            )


async def _prepared(kind: ModelKind, new: Any, old: Any) -> None:
    try:
        async with within(PREPARE_LIMIT) as limit:
            await new.prewarm()
    except BaseException as raised:
        pass_on(raised)
        error = as_exception(raised)
        why = f"not within {PREPARE_LIMIT:g} s" if limit.expired() else error
        raise ProviderError(
            f"session.update_models: {kind} {new.label} could not be prepared ({why}); {old.label}, which the session"
            " has, stays in its place. Mend it, and give it again.",
            provider=new.label,
        ) from error


def language_before(code: str, now: Language) -> Language | None:
    """The language that a call was in, which goes on in this process; None: this one, or nobody knows it here."""
    if not code or code == now.code:
        return None
    try:
        return language_pack(code)
    except UsageError:
        logger.warning("the call was in the language %r, which is none that comes along: give it to AgentSession", code)
        return None


def compare(kept: Mapping[str, str], models: Models) -> None:
    """Say which models were given in mid-call, in the process before, and are others here."""
    for kind in ("stt", "llm", "tts"):
        label = getattr(models.get(kind), "label", "")
        if kept.get(kind, label) != label:
            logger.warning(
                "the call goes on with %s=%s; it was changed to %s in the process before: give that to resume()",
                kind,
                label or None,
                kept[kind],
            )
