"""The log of calls, told to OpenTelemetry: each line with the trace and the id of the call that it is about.

And what OpenTelemetry's SDK itself has to say, which is told here sparingly.

Above: `otlp`. Below: Python's logging, and OpenTelemetry's API.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from opentelemetry._logs import LoggerProvider, LogRecord, SeverityNumber
from opentelemetry.trace import Span, set_span_in_context

from antiphon.session_api import current_session
from antiphon.visible import one_line

_SEVERITIES = {
    logging.DEBUG: SeverityNumber.DEBUG,
    logging.INFO: SeverityNumber.INFO,
    logging.WARNING: SeverityNumber.WARN,
    logging.ERROR: SeverityNumber.ERROR,
    logging.CRITICAL: SeverityNumber.FATAL,
}

SPARING = 60.0
"""Seconds for which one line of the SDK's is told once."""

logger = logging.getLogger("antiphon")


class CallLog(logging.Handler):
    """Hands lines over, from INFO on. `content`: also the words of errors, which may name persons."""

    def __init__(self, provider: LoggerProvider, span_here: Callable[[], Span | None], *, content: bool) -> None:
        super().__init__(logging.INFO)
        self._provider = provider
        self._span_here = span_here
        self._content = content

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._provider.get_logger(record.name).emit(self._told(record))
        except Exception:  # logging must not raise into the call
            self.handleError(record)

    def _told(self, record: logging.LogRecord) -> LogRecord:
        span, session = self._span_here(), current_session.get()
        attributes: dict[str, Any] = {"code.function.name": record.funcName, "code.line.number": record.lineno}
        if session is not None:
            attributes["gen_ai.conversation.id"] = session.call_id
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            attributes["exception.type"] = type(error).__name__
            if self._content:
                attributes["exception.message"] = one_line(str(error))
        return LogRecord(
            timestamp=round(record.created * 1e9),
            context=None if span is None else set_span_in_context(span),
            severity_text=record.levelname,
            severity_number=_SEVERITIES.get(record.levelno, SeverityNumber.INFO),
            body=record.getMessage(),
            attributes=attributes,
        )


class SparingFilter(logging.Filter):
    """Lets one line of each place pass a minute."""

    def __init__(self) -> None:
        super().__init__()
        self._said: dict[tuple[str, int], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it is told."""
        place, now = (record.pathname, record.lineno), time.monotonic()
        if now - self._said.get(place, -SPARING) < SPARING:
            return False
        self._said[place] = now
        return True


class SdkLog(logging.StreamHandler):  # type: ignore[type-arg]  # its parameter is of no use here
    """Tells lines of the SDK's where those of Antiphon go, in their form (JSON, say), else on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        others = [one for one in logger.handlers if not isinstance(one, CallLog)]
        for handler in others:
            if record.levelno >= handler.level:
                handler.handle(record)
        if not others:
            super().emit(record)


def hush_the_sdk() -> None:
    """A collector that is away is told once a minute, and not by each thread every few seconds.

    An application that has set up a log for it, or for all, has the lines there, as they come.
    """
    sdk = logging.getLogger("opentelemetry")
    if sdk.hasHandlers():
        return
    handler = SdkLog()
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    handler.addFilter(SparingFilter())
    sdk.addHandler(handler)
