"""Calls as data: what a session's conversation was told, kept in a file, and replayed in another process.

```python
journal = replay.read(Path("call.jsonl"))    # what `antiphon call --journal` or a `JournalWriter` wrote
again = replay.replay(journal)               # commands, notices and history, as they were
```

The format is in `journal.py`, what values look like in `core/codec.py`. A journal names agents, tasks and tools by
their ids: none of them need be there. Above: the shells. Below: the core, which this package may drive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon.exports import on_first_use

if TYPE_CHECKING:
    from antiphon.core.lines import Head
    from antiphon.replay.journal import Entry, Journal, read
    from antiphon.replay.replaying import Difference, FinalState, Replay, Step, replay, steps
    from antiphon.replay.writer import JournalWriter

__all__ = [
    "Difference",
    "Entry",
    "FinalState",
    "Head",
    "Journal",
    "JournalWriter",
    "Replay",
    "Step",
    "read",
    "replay",
    "steps",
]

if not TYPE_CHECKING:  # who writes journals need not load what replays them
    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "journal": ("Entry", "Head", "Journal", "read"),
            "replaying": ("Difference", "FinalState", "Replay", "Step", "replay", "steps"),
            "writer": ("JournalWriter",),
        },
    )
