"""Sessions of the suite's seed that break a promise and are still open.

The suite expects each of them to break just that promise. One that breaks it no longer fails the suite, until it is
taken from here. A change of the core or of the world may move them: `--survey --seed suite` finds them anew.
"""

from __future__ import annotations

KNOWN: dict[str, str] = {
    # Not looked into. In the first, results are not heard, and a fallback line has answered the turn.
    "suite/1237": "every reply answers somebody",
    "suite/3675": "every reply answers somebody",
    "suite/9430": "every reply answers somebody",
    "suite/4615": "a silent caller is asked",
    "suite/4972": "who has said all is not interrupted",
    # A sign of listening in front of the agent's question. Then the application cuts the question; a voice that failed
    # says it again, and the promise may be too strict.
    "suite/6073": "no silence follows a word",
    "suite/11101": "no silence follows a word",
}
