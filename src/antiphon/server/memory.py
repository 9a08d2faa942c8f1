"""The garbage collector of a process that runs many calls.

Python collects after every 700 new containers. A call makes a few dozen in each turn and almost all of them are
freed by reference counting, so with a thousand calls in a process a third of the time goes into looking at objects
that live on. A process of ours collects less often, and never looks at what was loaded before the first call.

Above: the server and the command line, which own their process. A library must not do this, so a session does not.
"""

from __future__ import annotations

import gc

YOUNG, MIDDLE, OLD = 50_000, 20, 20
"""Thresholds of the three generations. 50,000 containers are some 10 MB at most."""


def settle_memory() -> None:
    """Call once, when everything that stays is loaded and before the first call. May be called again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)
