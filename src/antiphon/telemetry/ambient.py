"""The span that is current in code of a call: so spans of the application stand where they belong in the call's trace.

Above: `Telemetry.watch`, which makes it current for the session that is about to start. Below: OpenTelemetry's API. All
tasks of a session inherit one context, and tools run in tasks of that; so what is current there looks, each time
somebody asks, whose code asks: a run of a tool, or a call, or neither.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from opentelemetry.trace import INVALID_SPAN, Span, SpanContext, Status, StatusCode, get_current_span

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.util.types import AttributeValue


class Ambient(Span):
    """Stands for the span of the code that asks; for `outer`, that of the application around, where that is no call."""

    def __init__(self, outer: Span, find: Callable[[], Span | None]) -> None:
        self.outer = outer
        self._find = find

    @property
    def here(self) -> Span:
        """The span of this code."""
        return self._find() or self.outer

    def get_span_context(self) -> SpanContext:
        return self.here.get_span_context()

    def is_recording(self) -> bool:
        return self.here.is_recording()

    def set_attributes(self, attributes: Mapping[str, AttributeValue]) -> None:
        self.here.set_attributes(attributes)

    def set_attribute(self, key: str, value: AttributeValue) -> None:
        self.here.set_attribute(key, value)

    def add_event(self, name: str, attributes: Any = None, timestamp: int | None = None) -> None:
        self.here.add_event(name, attributes, timestamp)

    def add_link(self, context: SpanContext, attributes: Any = None) -> None:
        self.here.add_link(context, attributes)

    def record_exception(
        self, exception: BaseException, attributes: Any = None, timestamp: int | None = None, escaped: bool = False
    ) -> None:
        self.here.record_exception(exception, attributes, timestamp, escaped)

    def set_status(self, status: Status | StatusCode, description: str | None = None) -> None:
        self.here.set_status(status, description)

    def update_name(self, name: str) -> None:
        """Without effect: the call names its spans."""

    def end(self, end_time: int | None = None) -> None:
        """Without effect: the call ends its spans."""


def around(context: Context | None = None) -> Span:
    """The span of the application around: not that of a call that was watched here before."""
    span = get_current_span(context)
    while isinstance(span, Ambient):
        span = span.outer
    return span if span is not None else INVALID_SPAN
