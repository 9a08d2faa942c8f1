"""What came of cases: for people, as data, and as JUnit's XML, which every CI shows.

Above: `antiphon eval`. Below: evaluations and comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from antiphon.evaluation.comparing import Comparison
from antiphon.evaluation.running import CaseResult, Evaluation
from antiphon.evaluation.tally import Tally
from antiphon.visible import one_line

MOST_FAILURES = 3
"""Of a case, that people are shown: the most frequent."""


def as_lines(
    evaluation: Evaluation, *, at_least: float, compared: Sequence[Comparison] = (), beside: str = ""
) -> list[str]:
    """As people read it."""
    lines = [f"{evaluation.agent}, {evaluation.runs} calls of {len(evaluation.results)} cases, with {evaluation.model}"]
    for result in evaluation.results:
        word = "pass" if result.rate >= at_least else "FAIL"
        lines.append(
            f"  {word}  {rate_told(result.passes, len(result.runs), result.interval)}  {one_line(result.case.name)}"
        )
        lines += [
            f"        {times_told(count)}{one_line(what)}"
            for what, count in list(result.failures.items())[:MOST_FAILURES]
        ]
    lines.append(f"  all   {rate_told(evaluation.passes, evaluation.runs, evaluation.interval)}")
    if compared:
        lines += ["", f"beside {beside}:"]
        lines += [f"  {_compared(one)}  {one_line(one.name)}" for one in compared]
    return lines


def as_json(
    evaluation: Evaluation, *, at_least: float, other: Evaluation | None = None, compared: Sequence[Comparison] = ()
) -> dict[str, Any]:
    """As data."""
    found = _data(evaluation)
    found["at_least"] = at_least
    found["passed"] = evaluation.is_at_least(at_least)
    if other is not None:
        found["beside"] = _data(other)
        found["compared"] = [
            {"name": one.name, "difference": one.difference, "better": one.better, "real": one.real} for one in compared
        ]
    return found


def as_junit(agent: str, results: Sequence[Tally], *, at_least: float) -> str:
    """As JUnit's XML: a test case for each of them."""
    failed = sum(result.rate < at_least for result in results)
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<testsuites><testsuite name={_attribute(agent)} tests="{len(results)}"'
        f' failures="{failed}" errors="0" skipped="0">',
    ]
    for result in results:
        name = f"  <testcase classname={_attribute(agent)} name={_attribute(result.name)}"
        if result.rate >= at_least:
            lines.append(f"{name}/>")
            continue
        summary = rate_told(result.passes, len(result.runs), result.interval)
        told = "\n".join(f"{times_told(count)}{one_line(what)}" for what, count in result.failures.items())
        lines.append(f"{name}><failure message={_attribute(summary)}>{escape(told)}</failure></testcase>")
    return "\n".join([*lines, "</testsuite></testsuites>", ""])


def _data(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "agent": evaluation.agent,
        "model": evaluation.model,
        "passes": evaluation.passes,
        "runs": evaluation.runs,
        "interval": list(evaluation.interval),
        "cases": [_case(result) for result in evaluation.results],
    }


def _case(result: CaseResult) -> dict[str, Any]:
    return {
        "name": result.case.name,
        "passes": result.passes,
        "runs": len(result.runs),
        "rate": result.rate,
        "interval": list(result.interval),
        "calls": [run.to_json() for run in result.runs],
    }


def rate_told(passes: int, runs: int, interval: tuple[float, float]) -> str:
    """How many passed, and where the true rate lies."""
    share = f"{100 * passes / runs:3.0f} %" if runs else "  - %"
    low, high = interval
    return f"{passes}/{runs} {share} ({100 * low:.0f} to {100 * high:.0f} %)"


def _compared(one: Comparison) -> str:
    if one.passes * one.other_runs == one.other_passes * one.runs:
        return "the same rate"
    word = "better" if one.difference > 0 else "worse"
    return f"{word} by {100 * abs(one.difference):.0f} points, real with {100 * one.real:.0f} %"


def times_told(count: int) -> str:
    """How often, if it was more than once."""
    return f"{count} times: " if count > 1 else ""


def _attribute(text: str) -> str:
    return quoteattr(one_line(text))
