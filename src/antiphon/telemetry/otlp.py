"""Sends traces, metrics and the log to a collector: OTLP over HTTP, by OpenTelemetry's SDK.

Above: `Telemetry.otlp`. Below: the SDK, whose threads send. What cannot be sent is dropped there, and no call waits: on
the event loop a span that has ended is put into a queue. What of an address or the environment cannot work is an error
before any call: the SDK would say it at the first export, in a thread.
"""

from __future__ import annotations

import importlib
import logging
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from antiphon.errors import UsageError, missing_package
from antiphon.telemetry.ids import wanted_trace_id
from antiphon.telemetry.logs import CallLog, hush_the_sdk
from antiphon.visible import one_line

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
        _check(endpoint)
        self._endpoint = None if endpoint is None else endpoint.rstrip("/")
        for package in ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"):
            try:
                importlib.import_module(package)
            except ModuleNotFoundError as error:
                name = "opentelemetry-sdk" if package.endswith("sdk") else "opentelemetry-exporter-otlp-proto-http"
                raise missing_package("Telemetry.otlp", name, "telemetry") from error
        hush_the_sdk()
        self._log: CallLog | None = None
        self._providers: list[Any] = []
        """Of traces, metrics and the log: what sends."""
        with self._told_why():
            self._resource = _resource()
            self.traces = self._traces()
            self.metrics = self._metrics()

    @property
    def endpoint(self) -> str:
        """Where traces are sent: given, else by the environment. Without the user and the key that may stand in it."""
        said = _said("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or _said("OTEL_EXPORTER_OTLP_ENDPOINT")
        return _shown(self._endpoint or said or "http://localhost:4318")

    @property
    def wants_content(self) -> bool:
        """Whether the environment asks for what was said."""
        return _said(_CONTENT).lower() in ("true", "1", "span_only", "span_and_event")

    def send_logs(self, span_here: Callable[[], Span | None], *, content: bool) -> None:
        """The log of Antiphon, from INFO on, each line with the trace of the call that it is about."""
        if not _is_wanted("logs"):
            return
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.sdk._logs import LoggerProvider
        from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

        with self._told_why():
            provider = LoggerProvider(self._resource, shutdown_on_exit=False)
            self._providers.append(provider)
            provider.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(self._to("logs"))))
        self._log = CallLog(provider, span_here, content=content)
        logger.handlers.insert(0, self._log)  # before those that put the words of errors into the lines
        if logger.level > logging.INFO and not logger.propagate:  # a command's: an application's own is left as it is
            _keep_level_of_others(logger)
            logger.setLevel(logging.INFO)

    def flush(self) -> None:
        """Send what is left, and wait until that is done or given up."""
        for provider in self._providers:
            provider.force_flush()

    def close(self) -> None:
        """Send what is left, and end the threads. May take as long as the collector does not answer."""
        if self._log is not None:
            logger.removeHandler(self._log)
        for provider in self._providers:
            provider.shutdown()

    @contextmanager
    def _told_why(self) -> Iterator[None]:
        """What the SDK makes of the environment in the block fails with a `UsageError`, and leaves no thread."""
        try:
            yield
        except (ValueError, RuntimeError, ImportError) as error:
            self.close()
            raise UsageError(
                f"OTLP: OpenTelemetry's SDK refuses what the environment says: {str(error).rstrip('.')}."
                " Mend the OTEL_* variable that this is about, or unset it."
            ) from error

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
        self._providers.append(provider)
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
        provider = MeterProvider(readers, self._resource, shutdown_on_exit=False)
        self._providers.append(provider)
        return provider


def _check(endpoint: str | None) -> None:
    """Raises `UsageError` for an address that is none, here or in the environment, and for another protocol there."""
    if endpoint is not None:
        _check_address("OTLP", endpoint, "; an option --otlp without one goes behind the agent file")
        return
    general = _said("OTEL_EXPORTER_OTLP_ENDPOINT")
    if general:
        _check_address("OTEL_EXPORTER_OTLP_ENDPOINT: OTLP", general)
    for signal in filter(_is_wanted, _PATHS):
        own = f"OTEL_EXPORTER_OTLP_{signal.upper()}"
        if address := _said(f"{own}_ENDPOINT"):
            _check_address(f"{own}_ENDPOINT: OTLP", address, path=_PATHS[signal])
        name = f"{own}_PROTOCOL" if _said(f"{own}_PROTOCOL") else "OTEL_EXPORTER_OTLP_PROTOCOL"
        protocol = _said(name) or "http/protobuf"
        if protocol != "http/protobuf":
            raise UsageError(
                f"{name}: expected http/protobuf, got {protocol!r}. Set it, and OTEL_EXPORTER_OTLP_ENDPOINT to the"
                " collector's HTTP receiver (port 4318, as a rule)."
            )


def _check_address(where: str, address: str, remark: str = "", *, path: str = "") -> None:
    """Raises `UsageError`. `path`: that of the signal whose own address this is, which ends with it; else none does."""
    try:
        parts = urlsplit(address)
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets that do not close, a port that is none
        is_one = False
    if not is_one:
        raise UsageError(
            f"{where}: expected the address of a collector, got {_shown(address)!r}. Give that of its HTTP receiver,"
            f" for example http://127.0.0.1:4318{path}{remark}."
        )
    given = next((one for one in _PATHS.values() if parts.path.rstrip("/").endswith(one)), "")
    if given and not path:
        raise UsageError(
            f"{where}: expected the address of a collector for all signals, got {_shown(address)!r}."
            f" Leave {given} out: each signal has a path of its own, which is put behind the address."
        )


def _said(name: str) -> str:
    """What the environment says; "": nothing, also where a variable is set to nothing."""
    return os.environ.get(name, "").strip()


def _shown(address: str) -> str:
    """An address without what may be a key."""
    before, at, place = address.rpartition("@")
    scheme, mark, _ = before.partition("://")
    return one_line(f"{scheme}{mark}{place}" if at and mark else place)


def _is_wanted(signal: str) -> bool:
    """Unless the environment says otherwise: OTEL_METRICS_EXPORTER=none."""
    return _said(f"OTEL_{signal.upper()}_EXPORTER").lower() != "none"


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
