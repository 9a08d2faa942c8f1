"""Who is up: the providers of a fallback adapter, in order of preference, and which of them may be asked now.

Above: the three adapters, which report what became of their attempts. Nothing below: a roster asks nobody.

A provider that failed is left out for a while, which doubles with each further failure. After that, one request, and
only one at a time, is the probe that finds out whether it has recovered: the others go on without it, so that a
provider that stalls costs no more than one wait in each while. When everybody is left out, everybody may be asked:
an unlikely answer is better than none.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from antiphon.adapters.fallback.attempt import Retired
from antiphon.errors import MissingKey, ProviderError, ProviderStatusError, UsageError, pass_on
from antiphon.model import Model

logger = logging.getLogger("antiphon")

_REFUSED = frozenset({401, 402, 403, 404})
"""Status codes by which a service turns everybody away, not just this request."""


P = TypeVar("P", bound=Model)


@dataclass(slots=True, frozen=True)
class Backoff:
    """For how long a provider that failed is left out. Seconds."""

    first: float = 10.0
    """After the first failure; twice as long after each further one."""
    limit: float = 300.0
    """Never longer than this."""

    def __post_init__(self) -> None:
        if not 0 <= self.first <= self.limit:
            raise UsageError(f"Backoff: expected 0 <= first <= limit, got first={self.first:g}, limit={self.limit:g}")

    def delay(self, failures: int) -> float:
        """Seconds to leave out a provider that failed so many times in a row."""
        return min(self.limit, self.first * 2.0 ** min(failures - 1, 30))


@dataclass(slots=True, frozen=True)
class AvailabilityChanged:
    """A provider of a fallback adapter failed, or has recovered."""

    provider: Any
    """The LLM, STT or TTS, as it was given to the adapter."""
    available: bool
    error: Exception | None
    """Why it is not available; None when it has recovered."""


OnAvailabilityChanged: TypeAlias = Callable[[AvailabilityChanged], object]


Watcher: TypeAlias = Callable[[Any, Exception | None], object]
"""Told of a provider and its error; None: it did what it was asked."""


class AllProvidersFailed(ProviderError):
    """Every provider of a fallback adapter failed. `errors` says how, in the order in which they were asked."""

    def __init__(self, owner: str, errors: Sequence[Exception]) -> None:
        reasons = "; ".join(f"{getattr(e, 'provider', '') or type(e).__name__}: {e}" for e in errors)
        super().__init__(
            f"{owner}: expected an answer of one of {len(errors)} providers, but all failed ({reasons})."
            " Repair one of them, or add another.",
            provider=owner,
            retryable=any(getattr(error, "retryable", True) for error in errors),
        )
        self.errors = list(errors)


@dataclass(slots=True, eq=False)
class Member(Generic[P]):
    """A provider and its health."""

    provider: P
    failures: int = 0
    """In a row. 0: it is available."""
    retry_at: float = 0.0
    """Until then it is left out, in the loop's time."""

    def failed(self, backoff: Backoff) -> float:
        """It failed: it is left out for so many seconds."""
        self.failures += 1
        return self._left_out(backoff)

    def asked(self, backoff: Backoff) -> Member[P]:
        """It is asked. One that failed is on probation: it is not asked again at once."""
        if self.failures:
            self._left_out(backoff)
        return self

    def recovered(self) -> bool:
        """It did what it was asked. False if that was to be expected."""
        failures, self.failures, self.retry_at = self.failures, 0, 0.0
        return failures > 0

    def is_due(self) -> bool:
        """It is available, or was left out for long enough."""
        return not self.failures or _now() >= self.retry_at

    def _left_out(self, backoff: Backoff) -> float:
        delay = backoff.delay(self.failures)
        self.retry_at = _now() + delay
        return delay


class Roster(Generic[P]):
    """The providers of one adapter. Raises `UsageError` if there are none."""

    def __init__(
        self, owner: str, providers: Sequence[P], backoff: Backoff | None, on_change: OnAvailabilityChanged | None
    ) -> None:
        if not providers:
            raise UsageError(f"{owner}: expected one provider or more, got none; give them in order of preference")
        self.owner = owner
        self.members = [Member(provider) for provider in providers]
        self.retired = Retired()
        """What they were still at when they were given up."""
        self._backoff = backoff or Backoff()
        self._on_change = on_change
        self._watcher: Watcher | None = None

    def watched_by(self, watcher: Watcher) -> None:
        """Have it know of every attempt from here on."""
        self._watcher = watcher

    def update_options(self, **options: Any) -> None:
        """Have every provider work differently, each as far as it can."""
        for member in self.members:
            member.provider.update_options(**options)

    def choose(self, tried: Collection[Member[P]] = ()) -> Member[P] | None:
        """The provider to ask next; None when all were tried. One that was left out is on probation from here on."""
        left = [member for member in self.members if member not in tried]
        for member in left:
            if member.is_due():
                return member.asked(self._backoff)
        return min(left, key=lambda member: member.retry_at).asked(self._backoff) if left else None

    def preferred_to(self, current: Member[P]) -> Member[P] | None:
        """The first provider above `current` that may be asked now. None: there is nobody better."""
        for member in self.members[: self.members.index(current)]:
            if member.is_due():
                return member.asked(self._backoff)
        return None

    def failed(self, member: Member[P], error: Exception) -> None:
        """It failed. One that only declined this request is not left out of the next."""
        label = member.provider.label
        if self._watcher is not None:
            self._watcher(member.provider, error)
        if not _is_down(error):
            logger.warning("%s: %s declined the request: %s", self.owner, label, error)
            return
        was_available = not member.failures
        delay = member.failed(self._backoff)
        expected = error if not isinstance(error, ProviderError) else None  # a defect, worth its traceback
        logger.warning("%s: %s failed, left out for %g s: %s", self.owner, label, delay, error, exc_info=expected)
        if was_available:
            self._tell(AvailabilityChanged(member.provider, False, error))

    def succeeded(self, member: Member[P]) -> None:
        """It did what it was asked."""
        if self._watcher is not None:
            self._watcher(member.provider, None)
        if member.recovered():
            logger.info("%s: %s has recovered", self.owner, member.provider.label)
            self._tell(AvailabilityChanged(member.provider, True, None))

    async def prewarm(self) -> None:
        """Prepare all of them. One that cannot be is left out for now; raises only if none can."""
        results = await asyncio.gather(*(m.provider.prewarm() for m in self.members), return_exceptions=True)
        errors: list[Exception] = []
        for member, result in zip(self.members, results, strict=True):
            if isinstance(result, Exception):
                self.failed(member, result)
                errors.append(result)
            elif result is not None:
                raise result
        if len(errors) == len(self.members):
            raise AllProvidersFailed(self.owner, errors)

    async def aclose(self) -> None:
        """Close all of them, whatever becomes of each; then raises the first error there was."""
        await self.retired.aclose()
        results = await asyncio.gather(*(m.provider.aclose() for m in self.members), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    def _tell(self, event: AvailabilityChanged) -> None:
        if self._on_change is None:
            return
        try:
            self._on_change(event)
        except BaseException as error:
            pass_on(error)
            logger.exception("%s: on_availability_changed raised", self.owner)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _is_down(error: Exception) -> bool:
    """False if the error is about this one request: too long, malformed, forbidden content."""
    if isinstance(error, ProviderStatusError) and error.status in _REFUSED:
        return True
    return isinstance(error, MissingKey) or not isinstance(error, ProviderError) or error.retryable


class Fallback(Model):
    """An adapter of several providers: what becomes of them together."""

    _roster: Roster[Any]

    def watched_by(self, watcher: Watcher) -> None:
        """Have it know what becomes of every attempt of a provider, from here on."""
        self._roster.watched_by(watcher)

    async def prewarm(self) -> None:
        await self._roster.prewarm()

    async def aclose(self) -> None:
        await self._roster.aclose()
