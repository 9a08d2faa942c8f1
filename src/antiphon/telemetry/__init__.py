"""Calls told to OpenTelemetry: a trace for each, by the semantic conventions for generative AI, metrics, and logs.

```python
telemetry = Telemetry.otlp("http://127.0.0.1:4318")   # or Telemetry(), by the providers that the application has set
telemetry.watch(session)                              # before session.start
```

`antiphon start --otlp` does the same for every call. Unless somebody asks for it nothing is sent, nothing of
OpenTelemetry is imported, and no session is observed. Above: applications and commands. Below: the events `trace` and
`turn_metrics` of sessions, and OpenTelemetry, of which `Telemetry(...)` needs the API alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon.exports import on_first_use

if TYPE_CHECKING:
    from antiphon.telemetry.ids import trace_id_of
    from antiphon.telemetry.prices import Price, read_prices
    from antiphon.telemetry.telemetry import Telemetry

__all__ = ["Price", "Telemetry", "read_prices", "trace_id_of"]

if not TYPE_CHECKING:  # a price is data: who writes it down needs no OpenTelemetry
    __getattr__, __dir__ = on_first_use(
        __name__, {"ids": ("trace_id_of",), "prices": ("Price", "read_prices"), "telemetry": ("Telemetry",)}
    )
