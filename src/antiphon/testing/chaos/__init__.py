"""Calls in which everything goes wrong, and what must hold of them: no action lost, none doubled, each outcome told.

`ChaosLLM` wraps a model and makes its calls again. A `Case` is more: a caller with an errand, an honest model, and
faults at points of the call; `make_call` makes it in virtual time, `judge` holds it to what the caller wished for.

```python
made = make_call(Case(errand, (Fault("timed-out", 2), Fault("barge-in", 31))))
verdict = await judge(made)
assert not verdict.findings
```

Above: tests, and the command `antiphon chaos`. Below: `antiphon.testing`, and the public names of sessions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon.exports import on_first_use

if TYPE_CHECKING:
    from antiphon.testing.chaos.call import Case, Made, make_call
    from antiphon.testing.chaos.errand import Bench, Errand, Wish, World
    from antiphon.testing.chaos.faults import KILLS, KINDS, Fault, points
    from antiphon.testing.chaos.models import ChaosLLM, Reissued
    from antiphon.testing.chaos.verdict import Finding, Verdict, judge

_HOME = {
    "call": ("Case", "Made", "make_call"),
    "errand": ("Bench", "Errand", "Wish", "World"),
    "faults": ("KILLS", "KINDS", "Fault", "points"),
    "verdict": ("Finding", "Verdict", "judge"),
    "models": ("ChaosLLM", "Reissued"),
}

__all__ = [
    "KILLS",
    "KINDS",
    "Bench",
    "Case",
    "ChaosLLM",
    "Errand",
    "Fault",
    "Finding",
    "Made",
    "Reissued",
    "Verdict",
    "Wish",
    "World",
    "judge",
    "make_call",
    "points",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__, _HOME)
