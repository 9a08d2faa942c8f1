"""How the tree measures.

python -m tests.house            the table
python -m tests.house --json     the figures as data
python -m tests.house --places   and where they are
python -m tests.house --update   lower the ratchet to the figures of today; refuses to raise it
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from typing import Any

from tests.house import measure, ratchet
from tests.house.tree import Tree, tree
from tests.house.writes import writes


def summary(of: Tree) -> dict[str, Any]:
    """The figures of the table."""
    lines = sorted(module.lines for module in of.modules.values())
    found = writes(of)
    foreign = [one for one in found if not one.through_self]
    by_package = measure.lines_by_package(of)
    longest = max(of.functions(), key=lambda one: one.lines)
    return {
        "lines": sum(lines),
        "framework lines": measure.framework_lines(of),
        "modules": len(lines),
        "module lines": {
            "median": round(statistics.median(lines)),
            "p90": lines[int(0.9 * len(lines))],
            "max": lines[-1],
        },
        "largest circle": {name: _largest(of, name) for name in measure.WHENS},
        "longest function": {"name": longest.name, "lines": longest.lines},
        "long functions": len(measure.long_functions(of)),
        "long modules": len(measure.long_modules(of)),
        "broad classes": {one.name: len(one.methods) for one in measure.broad_classes(of)},
        "writes": len(foreign),
        "writes per 1,000 lines": round(ratchet.rate(len(foreign), sum(lines)), 1),
        "by package": {
            name: round(ratchet.rate(sum(one.function.module.package == name for one in foreign), count), 1)
            for name, count in sorted(by_package.items())
        },
        "writes through self": len(found) - len(foreign),
        "private reach": len(measure.private_reach(of)),
        "not public": len(measure.not_public(of)),
    }


def _largest(of: Tree, name: str) -> int:
    return max((len(circle.modules) for circle in measure.circles(of, measure.WHENS[name])), default=0)


def table(of: Tree) -> str:
    """The figures as Markdown."""
    s = summary(of)
    rates = sorted(s["by package"].items(), key=lambda item: -item[1])
    size, circle = s["module lines"], s["largest circle"]
    rows = (
        ("lines of the framework, without stand-in and LiveKit's names", f"{s['framework lines']:,}", "40,000"),
        ("modules: median / p90 / max lines", f"{size['median']} / {size['p90']} / {size['max']}", "max 600"),
        ("modules > 600 lines", s["long modules"], "0"),
        ("largest import circle: run time / + types / + local", " / ".join(map(str, circle.values())), "0 / 0 / 0"),
        ("accesses of `x._y` across modules", s["private reach"], "2"),
        ("writes into other objects, per 1,000 lines", s["writes per 1,000 lines"], "3 everywhere"),
        ("... by package", ", ".join(f"{name} {one}" for name, one in rates if one), ""),
        ("... reached through `self`, counted apart", s["writes through self"], ""),
        ("longest function; functions > 60 lines", f"{s['longest function']['lines']}; {s['long functions']}", "60; 0"),
        (
            "classes with > 20 public methods",
            f"{len(s['broad classes'])} ({', '.join(f'{name} {one}' for name, one in s['broad classes'].items())})",
            "`AgentSession`, `Agent`, and contracts of others",
        ),
        ("names in `tools`, `tasks`, `toolkit` that users do not have", s["not public"], "0"),
    )
    lines = [f"| {name} | {value} | {goal} |" for name, value, goal in rows]
    return "\n".join(["| | today | goal |", "|---|---|---|", *lines])


def places(of: Tree) -> str:
    """Where it is."""
    told = [one.place for one in measure.long_functions(of)]
    told += [f"{one.path}: {one.lines} lines" for one in measure.long_modules(of)]
    told += [f"{one.place}: {len(one.methods)} public methods" for one in measure.broad_classes(of)]
    for name, whens in measure.WHENS.items():
        told += [f"circle, {name}: {', '.join(circle.modules)}" for circle in measure.circles(of, whens)]
    told += [f"{one}{' (through self)' if one.through_self else ''}" for one in writes(of)]
    told += [one.place for one in measure.private_reach(of)]
    told += [f"{module.path}:{one.line} imports {one.name} of {one.source}" for one, module in measure.not_public(of)]
    return "\n".join(told)


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.house", description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="the figures as data")
    parser.add_argument("--places", action="store_true", help="and where they are")
    parser.add_argument("--update", action="store_true", help="lower the ratchet to the figures of today")
    given = parser.parse_args(arguments)
    of = tree()
    if given.update:
        refused = ratchet.update(of)
        print("\n".join(["Not written, because these rose:", *refused]) if refused else f"written: {ratchet.FILE}")
        return 1 if refused else 0
    print(json.dumps(summary(of), indent=1) if given.json else table(of))
    if given.places:
        print(places(of))
    return 0


if __name__ == "__main__":
    sys.exit(main())
