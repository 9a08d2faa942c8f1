"""The metrics: their names, units and buckets.

Above: the spans of a call, which record here what they know at the end of each. Below: OpenTelemetry's API.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.metrics import Histogram, Meter

DURATIONS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
"""Seconds: what the conventions recommend."""
DELAYS = (0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
"""Seconds: what a caller notices. The same as in `/metrics`."""
LENGTHS = (5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
"""Seconds of calls."""
TOKENS = tuple(4**power for power in range(14))


class Instruments:
    """Those of one `Telemetry`."""

    def __init__(self, meter: Meter) -> None:
        def seconds(name: str, about: str, buckets: tuple[float, ...] = DURATIONS) -> Histogram:
            return meter.create_histogram(name, "s", about, explicit_bucket_boundaries_advisory=buckets)

        self.model_duration = seconds("gen_ai.client.operation.duration", "How long a response of a model took.")
        self.first_chunk = seconds(
            "gen_ai.client.operation.time_to_first_chunk", "From the request to the model's first text or call."
        )
        self.tokens = meter.create_histogram(
            "gen_ai.client.token.usage", "{token}", "Tokens of a request.", explicit_bucket_boundaries_advisory=TOKENS
        )
        self.tool_duration = seconds("gen_ai.execute_tool.duration", "How long a run of a tool took.")
        self.calls = meter.create_up_down_counter("antiphon.call.active", "{call}", "Calls that are on.")
        self.call_duration = seconds("antiphon.call.duration", "How long a call took.", LENGTHS)
        self.turns = meter.create_counter("antiphon.turn.count", "{turn}", "Replies of the agent that are over.")
        self.response_delay = seconds(
            "antiphon.turn.response_delay", "From the end of the caller's sound to the first they heard.", DELAYS
        )
        self.dead_air = seconds("antiphon.turn.dead_air", "Silence in which a reply was owed.", DELAYS)
        self.tool_calls = meter.create_counter("antiphon.tool.calls", "{call}", "Calls of tools that are over.")
        self.outcomes = meter.create_counter("antiphon.tool.outcomes", "{write}", "What became of tools that write.")
        self.joined = meter.create_counter("antiphon.tool.joined", "{call}", "Equal calls served by a run at work.")
        self.consents = meter.create_counter("antiphon.consent.decisions", "{decision}", "Answers to read-backs.")
        self.handoffs = meter.create_counter("antiphon.handoffs", "{handoff}", "Calls handed to another agent.")
        self.cost = meter.create_counter("antiphon.cost", "{currency}", "What tokens cost, by the prices given.")

    def call_began(self) -> None:
        """A call is on."""
        self.calls.add(1)

    def call_ended(self) -> None:
        """It is over."""
        self.calls.add(-1)

    def tool_refused(self, name: str) -> None:
        """A call of a tool did not run at all."""
        self.tool_calls.add(1, {"gen_ai.tool.name": name, "antiphon.tool.status": "refused"})
