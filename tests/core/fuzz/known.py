"""Sessions of the suites' seeds that break a promise and are still open: nine, of a million facts of each seed.

A suite expects each of them to break just that promise. One that breaks it no longer fails the suite, until it is
taken from here. A change of the core or of the world may move them: `--survey --seed suite` finds them anew.
"""

from __future__ import annotations

KNOWN: dict[str, str] = {
    # Not looked into.
    "suite/2038": "silence is bridged when it is due",
    "suite/2413": "hand offs are entitled",
    "suite/7608": "a reply in the making answers hello",
    "consent/4524": "an absent caller is noticed",
    "consent/5037": "a turn is taken when it is over",
    "consent/6428": "what can be heard is played",
    "consent/7586": "who has said all is not interrupted",
    "consent/8807": "a turn is taken when it is over",
    "consent/10107": "who has said all is not interrupted",
}
