"""The ids of traces: that of a call follows from the call's own.

So a call that goes on in another process goes on in the same trace, and whoever has the one id has the other.

Above: the spans of a call; `otlp`, whose provider asks here. Below: nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_beginning: ContextVar[str] = ContextVar("antiphon_trace", default="")


@contextmanager
def beginning(call_id: str) -> Iterator[None]:
    """A span of this call is begun in the block: where it is the first of a trace, the trace is the call's."""
    token = _beginning.set(call_id)
    try:
        yield
    finally:
        _beginning.reset(token)


def trace_id_of(call_id: str) -> int:
    """The trace of a call, by the call's id, where `Telemetry.otlp` or a command with `--otlp` sends it.

    As a number; tools that show traces write it as 32 hexadecimal digits.
    """
    return int.from_bytes(hashlib.sha256(f"antiphon {call_id}".encode()).digest()[:16], "big") or 1


def wanted_trace_id() -> int | None:
    """That of the call a span of which is being begun."""
    call_id = _beginning.get()
    return trace_id_of(call_id) if call_id else None
