"""Sends traces, metrics and the log to a collector: OTLP over HTTP, by OpenTelemetry's SDK.

Above: `Telemetry.otlp`. Below: the SDK, whose threads send. What cannot be sent is dropped there, and no call waits: on
the event loop a span that has ended is put into a queue.
"""

from __future__ import annotations

import importlib
import logging
import os
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from antiphon.errors import UsageError, missing_package
from antiphon.telemetry.ids import wanted_trace_id
from antiphon.telemetry.logs import CallLog, SparingFilter

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

logger = logging.getLogger("antiphon")

_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_PATHS = {"traces": "/v1/traces", "metrics": "/v1/metrics", "logs": "/v1/logs"}


class Otlp:
    """The providers of one `Telemetry`, and what they send to. `endpoint`: see there."""

    def __init__(self, endpoint: str | None = None) -> None:
        self._endpoint = _checked(endpoint)
        for package in ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"):
            try:
                importlib.import_module(package)
            except ModuleNotFoundError as error:
                name = "opentelemetry-sdk" if package.endswith("sdk") else "opentelemetry-exporter-otlp-proto-http"
                raise missing_package("Telemetry.otlp", name, "telemetry") from error
        self._log: CallLog | None = None
        self._logs: Any = None
        self._resource = _resource()
        self.traces = self._traces()
        self.metrics = self._metrics()
        _hush_the_sdk()

    @property
    def wants_content(self) -> bool:
        """Whether the environment asks for what was said."""
        return os.environ.get(_CONTENT, "").strip().lower() in ("true", "1", "span_only", "span_and_event")

    def send_logs(self, span_here: Callable[[], Span | None], *, content: bool) -> None:
        """The log of Antiphon, from INFO on, each line with the trace of the call that it is about."""
        if not _is_wanted("logs"):
            return
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.sdk._logs import LoggerProvider
        from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

        self._logs = LoggerProvider(self._resource, shutdown_on_exit=False)
        self._logs.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(self._to("logs"))))
        self._log = CallLog(self._logs, span_here, content=content)
        logger.handlers.insert(0, self._log)  # before those that put the words of errors into the lines
        if logger.level > logging.INFO and not logger.propagate:  # a command's: an application's own is left as it is
            _keep_level_of_others(logger)
            logger.setLevel(logging.INFO)

    def flush(self) -> None:
        """Send what is left, and wait until that is done or given up."""
        for provider in (self.traces, self.metrics, self._logs):
            if provider is not None:
                provider.force_flush()

    def close(self) -> None:
        """Send what is left, and end the threads. May take as long as the collector does not answer."""
        if self._log is not None:
            logger.removeHandler(self._log)
        for provider in (self.traces, self.metrics, self._logs):
            if provider is not None:
                provider.shutdown()

    def _to(self, signal: str) -> str | None:
        return None if self._endpoint is None else self._endpoint + _PATHS[signal]

    def _traces(self) -> TracerProvider:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

        class CallIds(RandomIdGenerator):
            """The trace of a call has its id from the call's."""

            def generate_trace_id(self) -> int:
                return wanted_trace_id() or super().generate_trace_id()

        provider = TracerProvider(resource=self._resource, shutdown_on_exit=False, id_generator=CallIds())
        if _is_wanted("traces"):
            provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(self._to("traces"))))
        return provider

    def _metrics(self) -> MeterProvider:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader

        readers: list[MetricReader] = []
        if _is_wanted("metrics"):
            readers.append(PeriodicExportingMetricReader(OTLPMetricExporter(self._to("metrics"))))
        return MeterProvider(readers, self._resource, shutdown_on_exit=False)


def _checked(endpoint: str | None) -> str | None:
    """The address without a slash at its end. Raises `UsageError` for one that is none, or another protocol."""
    if endpoint is not None:
        if not endpoint.startswith(("http://", "https://")):
            raise UsageError(
                f"OTLP: expected the address of a collector, got {endpoint!r}. Give that of its HTTP receiver, for"
                " example http://127.0.0.1:4318; an option --otlp without one goes behind the agent file."
            )
        return endpoint.rstrip("/")
    protocol = os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
    if protocol != "http/protobuf":
        raise UsageError(
            f"OTEL_EXPORTER_OTLP_PROTOCOL: expected http/protobuf, got {protocol!r}. Set it, and"
            " OTEL_EXPORTER_OTLP_ENDPOINT to the collector's HTTP receiver (port 4318, as a rule)."
        )
    return None


def _is_wanted(signal: str) -> bool:
    """Unless the environment says otherwise: OTEL_METRICS_EXPORTER=none."""
    return os.environ.get(f"OTEL_{signal.upper()}_EXPORTER", "otlp").strip().lower() != "none"


def _resource() -> Resource:
    """Which process tells: workers of one machine are told apart, or their metrics would overwrite each other's."""
    from opentelemetry.sdk.resources import Resource

    own = {"service.name": "antiphon", "service.instance.id": str(uuid.uuid4())}
    given = Resource.create().attributes
    kept = {name for name in own if name in given and not str(given[name]).startswith("unknown_service")}
    return Resource.create({name: value for name, value in own.items() if name not in kept})


def _keep_level_of_others(of: logging.Logger) -> None:
    """Handlers that are there already go on to say what they said: the logger lets more pass from now on."""
    for handler in of.handlers:
        if not isinstance(handler, CallLog) and handler.level < of.level:
            handler.setLevel(of.level)


def _hush_the_sdk() -> None:
    """A collector that is away is told once a minute, and not by each thread every few seconds."""
    sdk = logging.getLogger("opentelemetry")
    if not any(isinstance(one, SparingFilter) for handler in sdk.handlers for one in handler.filters):
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
        handler.addFilter(SparingFilter())
        sdk.addHandler(handler)
        sdk.propagate = False
