"""Sessions of the suites' seeds that break a promise and are still open: none, of a million facts of each seed.

A suite expects each of them to break just that promise. One that breaks it no longer fails the suite, until it is
taken from here. A change of the core or of the world may move them: `--survey --seed suite` finds them anew.
"""

from __future__ import annotations

KNOWN: dict[str, str] = {}
