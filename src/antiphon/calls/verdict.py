"""Whether a call went well, for whoever reads exit codes.

Above: the command line. Below: the report of a finished call.
"""

from __future__ import annotations

from collections.abc import Iterator

from antiphon.calls.record import CallReport
from antiphon.metrics import TurnMetrics


def shortcomings(report: CallReport, *, has_spoken: bool) -> list[str]:
    """What went wrong in a call, each in a few words; empty for one that went well.

    `has_spoken`: the caller said something. A tool that refuses with a `ToolError` has not failed.
    """
    return list(_shortcomings(report, has_spoken=has_spoken))


def _shortcomings(report: CallReport, *, has_spoken: bool) -> Iterator[str]:
    said = {turn.role for turn in report.turns}
    if has_spoken and "user" not in said:
        yield "nothing was heard of what the caller said"
    elif has_spoken and "assistant" not in said:
        yield "the agent said nothing"
    elif any(_failed(reply) for reply in report.replies) and not any(map(_succeeded, report.replies)):
        yield "no reply succeeded"
    for name in dict.fromkeys(report.failed_tools):
        yield f"the tool {name} raised"


def _failed(reply: TurnMetrics) -> bool:
    return any(response.failed for response in reply.responses)


def _succeeded(reply: TurnMetrics) -> bool:
    """The model answered, in the end, or the application did in its place."""
    by_model = [response for response in reply.responses if response.by_model]
    last = next(reversed(by_model or reply.responses), None)
    return last is not None and last.done is not None and not last.failed
