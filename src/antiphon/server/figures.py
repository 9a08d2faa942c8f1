"""Figures of processes that run calls: counted in each, added up by the supervisor, told as Prometheus reads them.

A figure is a name, with its labels in it, and a number. So those of several processes are added up by name.

Above: whoever runs calls, and whoever answers `/metrics`. Below: the events of sessions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from antiphon.events import ConsentDecidedEvent, ToolAdoptedEvent, ToolOutcomeEvent, TurnMetricsEvent
from antiphon.metrics import TurnMetrics
from antiphon.server.job import JobContext
from antiphon.session import AgentSession

Snapshot: TypeAlias = dict[str, float]

FAMILIES: Mapping[str, tuple[str, str]] = {
    "antiphon_calls_active": ("gauge", "Calls that are on."),
    "antiphon_calls_total": ("counter", "Calls that began."),
    "antiphon_calls_failed_total": ("counter", "Calls whose entrypoint raised."),
    "antiphon_calls_refused_total": ("counter", "Calls that were not taken, by reason."),
    "antiphon_turns_total": ("counter", "Replies of the agent, by what began them."),
    "antiphon_interruptions_total": ("counter", "Replies that the caller cut."),
    "antiphon_response_delay_seconds": ("histogram", "From the end of the caller's sound to the first they heard."),
    "antiphon_tool_calls_total": ("counter", "Calls of tools, by what came of them."),
    "antiphon_tool_outcomes_total": ("counter", "What became of tools that write: succeeded, failed, unknown."),
    "antiphon_tools_joined_total": ("counter", "Equal calls that were served by a run that was at work."),
    "antiphon_consents_total": ("counter", "Calls that were read back, by what the caller decided."),
    "antiphon_dead_air_seconds_total": ("counter", "Silence in which a reply was owed."),
    "antiphon_tokens_total": ("counter", "Tokens of language models, by kind; those that were cached are input, too."),
    "antiphon_unbacked_claims_total": ("counter", "Sentences that claim what no tool has done."),
    "antiphon_workers": ("gauge", "Processes that hold calls, by state."),
    "antiphon_worker_restarts_total": ("counter", "Processes that were replaced, by reason."),
    "antiphon_load": ("gauge", "How busy a process is, 0 to 1."),
    "antiphon_loop_stall_seconds": ("gauge", "The longest time that a process kept its calls waiting, of late."),
    "antiphon_memory_bytes": ("gauge", "Memory of a process."),
}

DELAYS = (0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
"""Seconds: the buckets of delays."""

_ALWAYS = ("antiphon_calls_total", "antiphon_response_delay_seconds_count", "antiphon_response_delay_seconds_sum")
"""Told also while they are 0."""
_LASTING = ("_total", "_bucket", "_sum", "_count")


class Figures:
    """Those of the calls of this process."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._active = 0
        self._delays = [0] * len(DELAYS)

    @property
    def active(self) -> int:
        """Calls that are on."""
        return self._active

    @contextmanager
    def call(self, context: JobContext) -> Iterator[None]:
        """Count a call for as long as this lasts."""
        self._active += 1
        self._counts["antiphon_calls_total"] += 1
        context.on_session(self._listen)
        try:
            yield
        finally:
            self._active -= 1
            if context.error is not None:
                self._counts["antiphon_calls_failed_total"] += 1

    def refused(self, reason: str) -> None:
        """A call was not taken."""
        self._counts[labelled("antiphon_calls_refused_total", reason=reason)] += 1

    def snapshot(self) -> Snapshot:
        """All of them, as they are now."""
        none = dict.fromkeys(_ALWAYS, 0.0)
        found: Snapshot = {"antiphon_calls_active": self._active, **none, **self._counts}
        for bound, number in zip(DELAYS, self._delays, strict=True):
            found[labelled("antiphon_response_delay_seconds_bucket", le=f"{bound:g}")] = number
        count = found["antiphon_response_delay_seconds_count"]
        return {**found, labelled("antiphon_response_delay_seconds_bucket", le="+Inf"): count}

    def _listen(self, session: AgentSession[Any]) -> None:
        session.on("turn_metrics", self._turn)
        session.on("tool_outcome", self._outcome)
        session.on("tool_adopted", self._joined)
        session.on("consent_decided", self._consent)

    def _turn(self, event: TurnMetricsEvent) -> None:
        reply = event.metrics
        self._counts[labelled("antiphon_turns_total", origin=reply.origin)] += 1
        if reply.interrupted_at is not None:
            self._counts["antiphon_interruptions_total"] += 1
        for tool in reply.tools:
            self._counts[labelled("antiphon_tool_calls_total", status=tool.status)] += 1
        self._used(reply)
        if (delay := reply.response_delay) is not None:
            self._counts["antiphon_response_delay_seconds_count"] += 1
            self._counts["antiphon_response_delay_seconds_sum"] += delay  # type: ignore[assignment]
            self._delays = [number + (delay <= bound) for bound, number in zip(DELAYS, self._delays, strict=True)]

    def _used(self, reply: TurnMetrics) -> None:
        """What it took beside its time."""
        cached = sum(response.cached_tokens for response in reply.responses)
        claims = sum(response.unbacked_claims for response in reply.responses)
        tokens = {"input": reply.prompt_tokens, "output": reply.completion_tokens, "cached": cached}
        more: Snapshot = {labelled("antiphon_tokens_total", type=kind): number for kind, number in tokens.items()}
        more |= {"antiphon_dead_air_seconds_total": reply.dead_air, "antiphon_unbacked_claims_total": claims}
        for name, number in more.items():
            if number:
                self._counts[name] += number  # type: ignore[assignment]  # seconds, too

    def _outcome(self, event: ToolOutcomeEvent) -> None:
        self._counts[labelled("antiphon_tool_outcomes_total", outcome=event.outcome)] += 1

    def _joined(self, event: ToolAdoptedEvent) -> None:
        self._counts["antiphon_tools_joined_total"] += 1

    def _consent(self, event: ConsentDecidedEvent) -> None:
        self._counts[labelled("antiphon_consents_total", decision=event.decision)] += 1


def labelled(name: str, **labels: str) -> str:
    """The name of a figure with labels. Their values are ours, and hold nothing to be escaped."""
    told = ",".join(f'{key}="{value}"' for key, value in labels.items())
    return f"{name}{{{told}}}"


def lasting(snapshot: Snapshot) -> Snapshot:
    """Those that only ever grow: of a process that has ended, they stay."""
    return {name: value for name, value in snapshot.items() if name.partition("{")[0].endswith(_LASTING)}


def added_up(*snapshots: Snapshot) -> Snapshot:
    """The sum of each."""
    total: Counter[str] = Counter()
    for one in snapshots:
        total.update(one)
    return dict(total)


def as_text(snapshot: Snapshot) -> str:
    """What Prometheus reads: its text format, version 0.0.4."""
    lines = []
    for family, (kind, about) in FAMILIES.items():
        samples = [f"{name} {value:.10g}" for name, value in snapshot.items() if _family(name) == family]
        if samples:
            lines += [f"# HELP {family} {about}", f"# TYPE {family} {kind}", *samples]
    return "\n".join(lines) + "\n"


def _family(name: str) -> str:
    plain = name.partition("{")[0]
    for suffix in ("_bucket", "_sum", "_count"):
        if plain.removesuffix(suffix) in FAMILIES:
            return plain.removesuffix(suffix)
    return plain
