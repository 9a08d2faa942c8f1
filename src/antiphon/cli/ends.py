"""Waiting for whatever ends a call: somebody hangs up, a device fails, the time is over.

Above: the calls of the command line, and the page's news. Below: nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

DEFAULT_WAIT = 60.0
"""Seconds that a caller who has said everything stays on the line for tools in the background."""


async def first_end(*ends: Coroutine[Any, Any, object], timeout: float | None = None) -> bool:
    """Wait for the first of these and cancel the others. False: none came within `timeout` seconds.

    Raises what the first raises.
    """
    tasks = [asyncio.create_task(end) for end in ends]
    try:
        done, _ = await asyncio.wait(tasks, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        return bool(done)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
