"""`antiphon lint`: what of an agent's instructions and tools will go wrong, said before there is a call.

The file is imported; no call is made, and no model is asked. Above: `main`. Below: `antiphon.lint`.
"""

from __future__ import annotations

import argparse
import contextlib
import sys

from antiphon.errors import UsageError
from antiphon.lint.checking import check
from antiphon.lint.reading import read_agents
from antiphon.lint.report import as_json, as_lines
from antiphon.lint.rules.spot import Asked
from antiphon.lint.table import RULES
from antiphon.visible import to_json


def lint(options: argparse.Namespace) -> bool:
    """Print what is found. Returns whether it is more than advice; with `--strict`, whether it is anything."""
    asked = Asked(tuple(dict.fromkeys(options.providers)), _rules(options.ignore))
    with contextlib.redirect_stdout(sys.stderr):  # the file may print
        agents = read_agents(options.file, livekit=options.livekit)
    findings = check(agents, asked)
    if options.json:
        print(to_json(as_json(agents, findings), indent=2))
    else:
        print("\n".join(as_lines(agents, findings)))
    return any(one.counts or options.strict for one in findings)


def _rules(names: list[str]) -> frozenset[str]:
    """Raises `UsageError` for a name that is no rule's."""
    known = [rule.name for rule in RULES]
    given = [name.strip() for one in names for name in one.split(",") if name.strip()]
    for name in given:
        if name not in known:
            raise UsageError(f"lint: --ignore {name}: expected a rule, one of {', '.join(known)}.")
    return frozenset(given)
