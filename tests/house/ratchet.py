"""The ratchet: what the bars stand at today. A figure may fall, and not rise.

The figures are in `ratchet.json`, by bar and by the name of the place without its module (`Floor.carry`), so that code
may move between files. A place that got another name takes the figure of one that is gone. `python -m tests.house
--update` writes the figures down where they have fallen, and refuses to raise one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests.house import measure
from tests.house.measure import WHENS
from tests.house.tree import Tree
from tests.house.writes import Write, writes

FILE = Path(__file__).with_name("ratchet.json")
NEW_HEAD = 60
"""Lines by which a circle may grow when a module in it is split: each half has a head of its own."""

Figures = dict[str, Any]
Sizes = Mapping[str, int]


@cache
def figures(tree: Tree) -> Figures:
    """The tree of today."""
    all_writes = writes(tree)
    lines = measure.lines_by_package(tree)
    return {
        "circles": {name: _circles(tree, name) for name in WHENS},
        "long functions": _named((one.name, one.lines) for one in measure.long_functions(tree)),
        "long modules": _named((one.name.split(".")[-1], one.lines) for one in measure.long_modules(tree)),
        "broad classes": _named((one.name, len(one.methods)) for one in measure.broad_classes(tree)),
        "writes": {name: _writes(all_writes, name, lines[name]) for name in sorted(lines)},
        "writes through self": _counted(one.function.name for one in all_writes if one.through_self),
        "private reach": _counted(one.name for one in measure.private_reach(tree)),
        "not public": _counted(f"{module.package}: {one.name}" for one, module in measure.not_public(tree)),
    }


def _named(sizes: Iterable[tuple[str, int]]) -> dict[str, int]:
    named: dict[str, int] = {}
    for name, size in sizes:
        while name in named:
            name += "'"
        named[name] = size
    return dict(sorted(named.items()))


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _circles(tree: Tree, name: str) -> dict[str, Any]:
    found = measure.circles(tree, WHENS[name])
    modules = sorted(module for circle in found for module in circle.modules)
    return {"modules": modules, "lines": sum(circle.lines for circle in found)}


def _writes(all_writes: list[Write], package: str, lines: int) -> dict[str, Any]:
    own = [one for one in all_writes if one.function.module.package == package and not one.through_self]
    return {"lines": lines, "places": _counted(one.function.name for one in own)}


def rate(writes: int, lines: int) -> float:
    """Writes per 1,000 lines."""
    return 1000 * writes / lines if lines else 0.0


# -- what rose


def grown(recorded: Sizes, today: Sizes) -> dict[str, int]:
    """The places that are larger than recorded. One that is new may be what a recorded one, now gone, was."""
    gone = sorted(size for name, size in recorded.items() if name not in today)
    found = {}
    for name, size in today.items():
        if name in recorded:
            if size > recorded[name]:
                found[name] = size
            continue
        same = next((one for one in gone if one >= size), None)
        if same is None:
            found[name] = size
        else:
            gone.remove(same)
    return found


def more(recorded: Sizes, today: Sizes) -> list[str]:
    """The places with more of it than recorded, if all together are more."""
    if sum(today.values()) <= sum(recorded.values()):
        return []
    return [name for name, count in today.items() if count > recorded.get(name, 0)]


def wider(recorded: Mapping[str, Any], today: Mapping[str, Any]) -> bool:
    """A module joined the circles. One that was split did not: their lines are as many as before."""
    joined = len(today["modules"]) > len(recorded["modules"])
    return joined and (today["lines"] > recorded["lines"] + NEW_HEAD or not recorded["modules"])


def written_more(recorded: Mapping[str, Any], today: Mapping[str, Any]) -> dict[str, list[str]]:
    """The packages with more writes into other objects, by number and by rate, and where they are; "": all together.

    Up to `MOST_WRITES` per 1,000 lines nothing is said. What moved from one package to another is no rise.
    """
    found: dict[str, list[str]] = {}
    for package, now in today.items():
        before = recorded.get(package, {"lines": 0, "places": {}})
        allowed = sum(before["places"].values()) + _moved(recorded, today, package)
        if _rose(allowed, before["lines"], now):
            places = before["places"]
            found[package] = [name for name, count in now["places"].items() if count > places.get(name, 0)]
    if _rose(*_sum(recorded), {"lines": _sum(today)[1], "places": {"": _sum(today)[0]}}):
        found[""] = [name for package in today for name in found.get(package, ())]
    return found


def _rose(allowed: int, lines_before: int, now: Mapping[str, Any]) -> bool:
    count, rate_now = sum(now["places"].values()), rate(sum(now["places"].values()), now["lines"])
    return rate_now > measure.MOST_WRITES and count > allowed and rate_now > rate(allowed, lines_before)


def _sum(packages: Mapping[str, Any]) -> tuple[int, int]:
    return (
        sum(sum(one["places"].values()) for one in packages.values()),
        sum(one["lines"] for one in packages.values()),
    )


def _moved(recorded: Mapping[str, Any], today: Mapping[str, Any], package: str) -> int:
    """Writes of functions that another package had, and this one has now."""
    here = recorded.get(package, {"places": {}})["places"]
    moved = 0
    for name, count in today[package]["places"].items():
        if name not in here:
            elsewhere = [
                one["places"][name]
                for other, one in recorded.items()
                if name in one["places"] and name not in today.get(other, {"places": {}})["places"]
            ]
            moved += min(count, sum(elsewhere))
    return moved


def rises(recorded: Figures, today: Figures) -> list[str]:
    """Everything that rose, in words."""
    told = [
        f"circles, {name}: {len(one['modules'])} modules, {len(recorded['circles'][name]['modules'])} recorded"
        for name, one in today["circles"].items()
        if wider(recorded["circles"][name], one)
    ]
    for bar in ("long functions", "long modules", "broad classes"):
        told += [f"{bar}: {name} {size}" for name, size in grown(recorded[bar], today[bar]).items()]
    for bar in ("writes through self", "private reach", "not public"):
        told += [f"{bar}: {name}" for name in more(recorded[bar], today[bar])]
    told += [
        f"writes, {package or 'the tree'}: {', '.join(names)}"
        for package, names in written_more(recorded["writes"], today["writes"]).items()
    ]
    return told


# -- the file


def load() -> Figures:
    """What is recorded."""
    recorded: Figures = json.loads(FILE.read_text(encoding="utf-8"))
    return recorded


def update(tree: Tree) -> list[str]:
    """Write the figures of today down, unless one rose; what rose.

    Writes that went from one package to another are taken if all together are not more.
    """
    today = figures(tree)
    told = rises(load(), today) if FILE.exists() else []
    whole = any(one.startswith("writes, the tree") for one in told)
    refused = [one for one in told if whole or not one.startswith("writes, ")]
    if not refused:
        FILE.write_text(json.dumps(today, indent=1) + "\n", encoding="utf-8")
    return refused
