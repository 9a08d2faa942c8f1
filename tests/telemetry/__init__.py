"""Calls told to OpenTelemetry: providers that keep what they are told, and what of it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from antiphon.telemetry import Telemetry


class Kept:
    """A `Telemetry` whose spans and metrics stay here."""

    def __init__(self, **options: Any) -> None:
        self.exporter = InMemorySpanExporter()
        self.tracers = TracerProvider(shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self._reader = InMemoryMetricReader()
        meters = MeterProvider([self._reader], shutdown_on_exit=False)
        self.telemetry = Telemetry(tracer_provider=self.tracers, meter_provider=meters, **options)

    @property
    def spans(self) -> list[ReadableSpan]:
        """Those that have ended, by their beginning; the call first."""
        found = self.exporter.get_finished_spans()
        return sorted(found, key=lambda span: (span.start_time or 0, span.parent is not None, span.name))

    def named(self, *names: str) -> list[ReadableSpan]:
        """Those whose name begins so."""
        return [span for span in self.spans if span.name.startswith(names)]

    def one(self, name: str) -> ReadableSpan:
        (found,) = self.named(name)
        return found

    def metrics(self) -> dict[str, list[tuple[dict[str, Any], Any]]]:
        """By name: labels and points."""
        data = self._reader.get_metrics_data()
        if data is None:
            return {}
        return {
            metric.name: [(dict(point.attributes or {}), point) for point in metric.data.data_points]
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def count(self, name: str, **labels: Any) -> float:
        """The sum of a counter, or how often a histogram was told something, over points with these labels."""
        wanted = {key.replace("__", "."): value for key, value in labels.items()}
        points = [point for found, point in self.metrics().get(name, []) if wanted.items() <= found.items()]
        return float(sum(point.value if hasattr(point, "value") else point.count for point in points))


def seconds(span: ReadableSpan, since: ReadableSpan) -> tuple[float, float]:
    """When a span began and ended, since another one began. To 0.1 ms."""
    assert span.start_time is not None and span.end_time is not None and since.start_time is not None
    return (
        round((span.start_time - since.start_time) / 1e9, 4),
        round((span.end_time - since.start_time) / 1e9, 4),
    )


def attributes(span: ReadableSpan) -> dict[str, Any]:
    """What it says."""
    return dict(span.attributes or {})


def events(span: ReadableSpan) -> list[tuple[str, Mapping[str, Any]]]:
    """What came to pass in it, without the prefix."""
    return [(event.name.removeprefix("antiphon."), dict(event.attributes or {})) for event in span.events]


def tree(spans: list[ReadableSpan]) -> list[str]:
    """The names of spans, indented below their parents'."""

    def below(parent: int | None, indent: str) -> list[str]:
        lines = []
        for span in spans:
            if (span.parent.span_id if span.parent else None) == parent:
                assert span.context is not None
                lines += [indent + span.name, *below(span.context.span_id, indent + "  ")]
        return lines

    return below(None, "")


def everything(spans: list[ReadableSpan]) -> str:
    """All that they say, to be searched."""
    return "\n".join(span.to_json() for span in spans)
