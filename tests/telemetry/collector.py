"""A collector in this process: what comes by OTLP over HTTP is decoded, and kept."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Collector:
    """`status`, `delay`: how it answers."""

    def __init__(self, *, status: int = 200, delay: float = 0.0) -> None:
        self.status = status
        self.delay = delay
        self.asked: list[str] = []
        """The paths, in the order in which they were asked for."""
        self.headers: list[dict[str, str]] = []
        self.resources: list[dict[str, str]] = []
        self.spans: list[Any] = []
        self.metrics: dict[str, Any] = {}
        self.logs: list[Any] = []
        self.url = ""
        self.closing = threading.Event()

    def take(self, path: str, body: bytes) -> None:
        """Decode a request. What is no OTLP raises."""
        if path == "/v1/traces":
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.resources.append(said(resource.resource))
                self.spans += [span for scope in resource.scope_spans for span in scope.spans]
        elif path == "/v1/metrics":
            for measured in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                self.resources.append(said(measured.resource))
                self.metrics |= {one.name: one for scope in measured.scope_metrics for one in scope.metrics}
        elif path == "/v1/logs":
            for logged in ExportLogsServiceRequest.FromString(body).resource_logs:
                self.logs += [line for scope in logged.scope_logs for line in scope.log_records]
        else:
            raise ValueError(path)

    def wait_for(self, there: Callable[[], Any], limit: float = 30.0) -> None:
        """Until it has come, by the clock on the wall."""
        end = time.monotonic() + limit
        while not there():
            assert time.monotonic() < end, f"did not come within {limit} s; asked were {self.asked}"
            time.sleep(0.02)


def said(of: Any) -> dict[str, Any]:
    """The attributes of a resource, a span, an event or a line of the log."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value") or "string_value") for one in of.attributes}


@contextmanager
def collector(*, status: int = 200, delay: float = 0.0) -> Iterator[Collector]:
    """One that listens on a port of this machine."""
    kept = Collector(status=status, delay=delay)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            kept.asked.append(self.path)
            body = self.rfile.read(int(self.headers["Content-Length"]))
            kept.closing.wait(kept.delay)
            kept.headers.append({name.lower(): value for name, value in self.headers.items()})
            if kept.status == 200:
                kept.take(self.path, gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body)
            try:
                self.send_response(kept.status)
                self.send_header("Content-Length", "0")
                self.end_headers()
            except OSError:  # whoever asked did not wait
                pass

        def log_message(self, *_: object) -> None:
            """Nothing of it is told."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    kept.url = f"http://127.0.0.1:{server.server_port}"
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    try:
        yield kept
    finally:
        kept.closing.set()
        server.shutdown()
        server.server_close()
        serving.join()
