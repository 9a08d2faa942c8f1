"""What of an agent's instructions and tools will go wrong in calls, said before there is one.

Above: `antiphon lint`, and tests of yours. Below: `reading` (a file to a description of its agents), `table` (the
rules, each a pure function of that description), `checking` (what they find, and what was to be left out).

```python
from pathlib import Path
from antiphon.lint import check, read_agents

def test_no_finding() -> None:
    assert [str(one) for one in check(read_agents(Path("agent.py"))) if one.counts] == []
```
"""

from __future__ import annotations

from antiphon.lint.checking import Finding, check
from antiphon.lint.reading import describe_agent, read_agents
from antiphon.lint.rules.spot import Asked
from antiphon.lint.table import RULES, Rule

__all__ = ["RULES", "Asked", "Finding", "Rule", "check", "describe_agent", "read_agents"]
