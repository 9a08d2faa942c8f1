"""`Telemetry`: calls told to OpenTelemetry.

Above: applications and commands. Below: `call`, which makes the spans of one call; `otlp`, which sends them.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from antiphon.errors import UsageError, missing_package
from antiphon.protocols import current_job
from antiphon.session_api import Session, current_session
from antiphon.telemetry.prices import Price

try:
    from opentelemetry import context as otel_context
    from opentelemetry import metrics, trace
except ModuleNotFoundError as error:
    raise missing_package("Telemetry", "opentelemetry-api", "telemetry") from error

from antiphon.telemetry.ambient import Ambient, around
from antiphon.telemetry.call import CallSpans, Told
from antiphon.telemetry.instruments import Instruments

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, TracerProvider

    from antiphon.telemetry.otlp import Otlp

logger = logging.getLogger("antiphon")

SCHEMA = "https://opentelemetry.io/schemas/1.41.0"
"""The version of the semantic conventions that names are from."""

CLOSE_LIMIT = 5.0
"""Seconds that what was not sent yet has when a process ends."""


class Telemetry:
    """Tells OpenTelemetry of calls: a trace for each call, metrics, and what was said only where that is asked for.

    Providers that are not given are those that the application has set (`opentelemetry.trace.set_tracer_provider`);
    where it has set none, nothing is recorded. `content`: what was said, and what tools were called with and gave, is
    in the spans; without it they hold names, numbers, ids and outcomes. Values of secrets are masked either way.
    `prices`: by the name of a model ("gpt-4o-mini", "openai/gpt-4o-mini"): what its tokens cost.
    """

    def __init__(
        self,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        content: bool = False,
        prices: Mapping[str, Price] | None = None,
    ) -> None:
        own = version("antiphon")
        tracer = trace.get_tracer("antiphon", own, tracer_provider, SCHEMA)
        meter = metrics.get_meter("antiphon", own, meter_provider, SCHEMA)
        self._told = Told(tracer, Instruments(meter), content, dict(prices or {}))
        self._calls: WeakKeyDictionary[Session[Any], CallSpans] = WeakKeyDictionary()
        self._sender: Otlp | None = None

    @classmethod
    def otlp(
        cls,
        endpoint: str | None = None,
        *,
        content: bool | None = None,
        prices: Mapping[str, Price] | None = None,
        logs: bool = True,
    ) -> Telemetry:
        """One that sends to a collector, by OTLP over HTTP: traces, metrics, and the log (`logs`) from INFO on.

        `endpoint`: its address ("http://127.0.0.1:4318"). Without one, and in all else, the OTEL_* variables of the
        environment count: OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS, OTEL_SERVICE_NAME and so on.
        `content` None: as OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT says, else False. A collector that is slow
        or away keeps no call waiting: what cannot be sent is dropped. Close it before the process ends.

        Raises `UsageError` where its packages are not installed, an address is none, the environment asks for another
        protocol (and no `endpoint` is given), or says what OpenTelemetry's SDK refuses.
        """
        from antiphon.telemetry.otlp import Otlp

        sender = Otlp(endpoint)
        telemetry = cls(
            tracer_provider=sender.traces,
            meter_provider=sender.metrics,
            content=sender.wants_content if content is None else content,
            prices=prices,
        )
        if logs:
            sender.send_logs(telemetry._span_here, content=telemetry._told.content)
        telemetry._sender = sender
        return telemetry

    @property
    def endpoint(self) -> str | None:
        """Where it sends traces, without a key that stands in the address. None: to the providers that were given."""
        return None if self._sender is None else self._sender.endpoint

    @property
    def has_content(self) -> bool:
        """Whether what was said is told."""
        return self._told.content

    def watch(self, session: Session[Any]) -> None:
        """Tell of this session's call. In the task that starts it, before it does; a second time: no effect.

        Raises `UsageError` for a session that runs: nobody would know what it was in the middle of.
        """
        if session in self._calls:
            return
        if session.is_running:
            raise UsageError("Telemetry.watch: the session runs already. Watch it before `await session.start(...)`.")
        job = current_job.get()
        call = self._calls[session] = CallSpans(
            self._told, session, self._outer(), getattr(job, "log_context_fields", None)
        )
        session.on("turn_metrics", call.measured)
        session.on("trace", call.traced)
        session.on("close", call.closed)
        # What the session starts inherits this context. It stays current in the task that starts it, and stands for
        # what is around where no code of a call asks.
        ambient = Ambient(around(), self._span_here)
        otel_context.attach(trace.set_span_in_context(ambient))

    def flush(self) -> None:
        """Send what was not sent yet, now, and wait for it. For tests, and for processes that are about to be frozen.

        Of providers that were given: nothing is done. Takes as long as the collector does, at most half a minute.
        """
        if self._sender is not None:
            self._sender.flush()

    def close(self, timeout: float = CLOSE_LIMIT) -> None:
        """Send what was not sent yet, for at most so many seconds. What is left then is lost, and the log says so.

        Of providers that were given: nothing is done.
        """
        sender, self._sender = self._sender, None
        if sender is not None:
            closing = threading.Thread(target=sender.close, name="antiphon telemetry", daemon=True)
            closing.start()
            closing.join(timeout)
            if closing.is_alive():
                logger.warning(
                    "OTLP: what is left of calls was not sent within %g s, and is lost. Is a collector's HTTP receiver"
                    " (port 4318, as a rule) at %s?",
                    timeout,
                    sender.endpoint,
                )

    def _span_here(self) -> Span | None:
        """The span of the code that asks: of the run of a tool, or of the call."""
        session = current_session.get()
        call = None if session is None else self._calls.get(session)
        return None if call is None else call.here

    def _outer(self) -> Span:
        """What a call that begins here is a part of: the tool that begins it, else what is around."""
        session = current_session.get()
        call = None if session is None else self._calls.get(session)
        return (None if call is None else call.tool_here) or around()
