"""What the conformance suites are made of: promises that must be kept, and the time for each step.

Above: `contract`, `transport_contract`, `realtime_contract`. Below: nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


def require(kept: object, promise: str) -> None:
    """Raise AssertionError with the promise if it is not kept."""
    if not kept:
        raise AssertionError(promise)


async def within(timeout: float, what: str, awaitable: Awaitable[T]) -> T:
    """The result. Raises AssertionError that names `what` if it takes more than `timeout` seconds."""
    try:
        async with asyncio.timeout(timeout):
            return await awaitable
    except TimeoutError:
        raise AssertionError(f"{what} took more than {timeout:g} s") from None


async def close_twice(what: str, aclose: Callable[[], Awaitable[None]], timeout: float) -> None:
    """Close it, and once more: the second time nothing may happen."""
    await within(timeout, f"{what}.aclose()", aclose())
    await within(timeout, f"the second {what}.aclose()", aclose())
