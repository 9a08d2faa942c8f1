"""Cases for an agent: what a caller says, and what has to follow. How often it does, and how sure that is.

Above: `antiphon eval`, the pytest plugin, tests of yours. Below: `cases` (what a file may say), `running` (calls),
`statistics`, `report`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon.exports import on_first_use

if TYPE_CHECKING:
    from antiphon.evaluation.cases import Case, Cases, Expected, Turn, read_cases
    from antiphon.evaluation.comparing import Comparison, compare
    from antiphon.evaluation.running import CaseResult, Evaluation, Settings, evaluate
    from antiphon.evaluation.statistics import better_probability, wilson

_HOME = {
    "cases": ("Case", "Cases", "Expected", "Turn", "read_cases"),
    "comparing": ("Comparison", "compare"),
    "running": ("CaseResult", "Evaluation", "Settings", "evaluate"),
    "statistics": ("better_probability", "wilson"),
}

__all__ = [
    "Case",
    "CaseResult",
    "Cases",
    "Comparison",
    "Evaluation",
    "Expected",
    "Settings",
    "Turn",
    "better_probability",
    "compare",
    "evaluate",
    "read_cases",
    "wilson",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__, _HOME)
