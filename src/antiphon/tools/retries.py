"""Which failures a call is tried again after, how often, and how long after the one before.

Above: the runtime, which tries. Below: `options`.
"""

from __future__ import annotations

from typing import Final

from antiphon.options import is_given
from antiphon.tools.options import ToolOptions

RETRIES: Final = 2
"""How often a call is tried again that may be, where its tool does not say."""
FIRST_WAIT: Final = 0.25
"""Seconds before the second attempt; before each further one twice as many."""

_TRANSIENT: Final = (ConnectionError, TimeoutError)
_TRANSIENT_NAMES: Final = frozenset({
    "aiohttp.client_exceptions.ClientConnectionError",
    "httpx.NetworkError",
    "httpx.RemoteProtocolError",
    "httpx.TimeoutException",
    "requests.exceptions.ConnectionError",
    "requests.exceptions.Timeout",
    "urllib3.exceptions.NewConnectionError",
    "urllib3.exceptions.ProtocolError",
    "urllib3.exceptions.TimeoutError",
})  # fmt: skip
"""The same of libraries that are not imported for it: what each calls the class, where it defines it."""


def attempts_of(options: ToolOptions) -> int:
    """How often a call is tried, in all."""
    if not (options.effect == "reads" or options.idempotent):
        return 1
    return 1 + (options.retries if is_given(options.retries) else RETRIES)


def wait_before(attempt: int) -> float:
    """Seconds between the attempt before and this one, which is the second at least."""
    return FIRST_WAIT * float(2 ** (attempt - 2))


def is_tried_again(options: ToolOptions, error: Exception) -> bool:
    """Whether another attempt may succeed where this error was raised."""
    return is_named(options, error) or ((options.writes or options.retry_on == ()) and is_transient(error))


def is_named(options: ToolOptions, error: Exception) -> bool:
    """Whether `retry_on` names the error: of a tool that writes, nothing was done then."""
    named = options.retry_on
    if isinstance(named, type):
        return isinstance(error, named)
    if callable(named):
        return bool(named(error))
    return isinstance(error, tuple(named))


def is_transient(error: Exception) -> bool:
    """Whether it is of connecting or of waiting: another attempt may find it gone."""
    return isinstance(error, _TRANSIENT) or any(
        f"{cls.__module__}.{cls.__qualname__}" in _TRANSIENT_NAMES for cls in type(error).__mro__
    )
