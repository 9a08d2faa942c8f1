"""Records of calls that have ended: one folder, or one file, for each, in a place that they are listed and searched in.

```python
async with Records("calls") as records:     # a path, or any fsspec URL
    records.follow(session)                 # before the session starts; AgentServer(records=) does so for each call
```

`format` says what a record is, `places` where it lies, `recording` how it is made, `index` and `searching` how it is
found. Above: servers and shells. Below: the fold of a call (`calls.record`), its journal (`replay`), its sound.
`docs/records.md` is the format for those who read it without us.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon.exports import on_first_use

if TYPE_CHECKING:
    from antiphon.records.current import call_records
    from antiphon.records.delivery import Webhook
    from antiphon.records.format import FORMAT, Record
    from antiphon.records.index import Index
    from antiphon.records.keeping import Records
    from antiphon.records.places import read
    from antiphon.records.searching import Found, Search, search

__all__ = ["FORMAT", "Found", "Index", "Record", "Records", "Search", "Webhook", "call_records", "read", "search"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "current": ("call_records",),
            "delivery": ("Webhook",),
            "format": ("FORMAT", "Record"),
            "index": ("Index",),
            "keeping": ("Records",),
            "places": ("read",),
            "searching": ("Found", "Search", "search"),
        },
    )
