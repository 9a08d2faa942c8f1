"""`--otlp`: the calls of a command are told to a collector.

Above: `main`. Below: `antiphon.telemetry`, which is imported only where somebody asks for it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from antiphon.errors import UsageError
from antiphon.protocols import call_watch


@contextlib.asynccontextmanager
async def told_elsewhere(
    options: argparse.Namespace, *, holds_calls: bool, notice: Callable[[str], None] | None
) -> AsyncIterator[None]:
    """Have sessions that start inside told to a collector, if the command line asks for it.

    `holds_calls`: False for a supervisor, whose workers tell of theirs; it only says where they are told. Raises
    `UsageError` for what makes it impossible, before any call.
    """
    address = getattr(options, "otlp", None)
    if address is None:
        if getattr(options, "otlp_content", False) or getattr(options, "otlp_prices", None):
            raise UsageError("--otlp-content and --otlp-prices say what is told. Add --otlp, which says that it is.")
        yield
        return
    from antiphon.telemetry import Telemetry, read_prices

    prices = None if options.otlp_prices is None else read_prices(options.otlp_prices)
    telemetry = Telemetry.otlp(address or None, content=options.otlp_content or None, prices=prices)
    if notice is not None:
        what = "with" if telemetry.has_content else "without"
        notice(f"Calls are told to the collector at {telemetry.endpoint}, {what} what is said in them.")
    if not holds_calls:
        telemetry.close()
        yield
        return
    token = call_watch.set(telemetry.watch)
    try:
        yield
    finally:
        call_watch.reset(token)
        await asyncio.to_thread(telemetry.close)
