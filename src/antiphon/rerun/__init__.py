"""Recorded calls made again with an agent file, perhaps a changed one: where they part, and tests made of them.

```python
compared = compare(read(Path(".antiphon/records/20260331-183000-5f0c")), Path("agent.py"))
print(compared.divergence)          # None: the same, step by step
```

`antiphon.replay` is another thing: a journal replayed without the agent. Above: the command line, and tests. Below:
records, servers, the fakes of `antiphon.testing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon.exports import on_first_use

if TYPE_CHECKING:
    from antiphon.rerun.call import Answers, Gives, RecordedCall, Says, Spoke, Types
    from antiphon.rerun.running import Compared, Rerun, Settings, compare, rerun
    from antiphon.rerun.steps import Divergence, Step

_HOME = {
    "call": ("Answers", "Gives", "RecordedCall", "Says", "Spoke", "Types"),
    "running": ("Compared", "Rerun", "Settings", "compare", "rerun"),
    "steps": ("Divergence", "Step"),
}

__all__ = [
    "Answers",
    "Compared",
    "Divergence",
    "Gives",
    "RecordedCall",
    "Rerun",
    "Says",
    "Settings",
    "Spoke",
    "Step",
    "Types",
    "compare",
    "rerun",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__, _HOME)
