"""How many recorded callers got the booking they asked for.

Reads what `antiphon call --json` printed for the calls of the evaluation set (`tools/make_recordings.py evaluation`),
one file a call, named after its folder:

    for call in out/evaluation/*/; do
        antiphon call examples/receptionist.py --caller "$call"*.wav --json > "out/bookings/$(basename "$call").json"
    done
    python tools/right_bookings.py out/bookings/*.json --manifest out/evaluation/evaluation.json

A call is *right* if the last expected call (the booking) succeeded exactly once, with arguments that the manifest
accepts, and no other booking did; capitals and punctuation do not matter. What was looked up before is counted
apart. Otherwise it is *wrong* (other arguments), *missing* or *doubled*.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Verdict = Literal["right", "wrong", "missing", "doubled"]


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one call."""

    name: str
    group: str
    """Engine of the voice and condition of the audio."""
    verdict: Verdict
    looked_up: bool
    """All lookups expected before the booking were made, with the right arguments."""
    made: tuple[str, ...]


def read(path: Path) -> Any:
    """The call that a file holds. Exits with a remedy if there is none, as when the command failed."""
    try:
        return json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise SystemExit(f"{path}: expected the JSON of a call, got {error}; make this call again") from None


def judge(entry: Mapping[str, Any], call: Mapping[str, Any]) -> Result:
    """Compare the tool calls of a call with those that the manifest expects."""
    *lookups, booking = entry["expected_calls"]
    made = call["tool_calls"]
    bookings = [m for m in made if m["name"] == booking["name"] and not m["is_error"]]
    verdict: Verdict
    if not bookings:
        verdict = "missing"
    elif len(bookings) > 1:
        verdict = "doubled"
    else:
        verdict = "right" if fits(booking, bookings[0]) else "wrong"
    return Result(
        name=entry["call"],
        group=f"{entry['voice'].split()[0]}, {entry['condition']}",
        verdict=verdict,
        looked_up=all(any(fits(lookup, m) for m in made) for lookup in lookups),
        made=tuple(f"{m['name']}({json.dumps(m['arguments'])})" for m in made),
    )


def fits(expected: Mapping[str, Any], made: Mapping[str, Any]) -> bool:
    """Whether a call has the expected name and, in each argument, one of the accepted forms."""
    arguments = made["arguments"]
    return expected["name"] == made["name"] and all(
        _plain(arguments.get(name)) in {_plain(form) for form in forms} for name, forms in expected["arguments"].items()
    )


def _plain(value: object) -> str:
    return " ".join(re.findall(r"[a-z0-9:]+", str(value).lower()))


def main(arguments: Sequence[str] | None = None) -> None:
    """Judge the calls named on the command line; exit code 1 if fewer than `--at-least` are right."""
    parser = argparse.ArgumentParser(description="Count the bookings that are as the caller wanted.")
    parser.add_argument("calls", nargs="+", type=Path, metavar="JSON", help="what `antiphon call --json` printed")
    parser.add_argument("--manifest", type=Path, required=True, help="evaluation.json of the recordings")
    parser.add_argument("--at-least", type=float, default=0.0, help="the share of right bookings that is required")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    given = parser.parse_args(arguments)
    entries = {entry["call"]: entry for entry in json.loads(given.manifest.read_text("utf-8"))}
    unknown = [str(path) for path in given.calls if path.stem not in entries]
    if unknown:
        parser.error(f"not in {given.manifest}: {', '.join(unknown)}; name each file after its call")
    results = [judge(entries[path.stem], read(path)) for path in given.calls]
    right = sum(result.verdict == "right" for result in results)
    if given.json:
        details = [{"call": r.name, "verdict": r.verdict, "looked_up": r.looked_up, "made": r.made} for r in results]
        json.dump({"right": right, "calls": len(results), "details": details}, sys.stdout, indent=2)
        print()
    else:
        _print_table(results)
        print(f"{right} of {len(results)} bookings right ({right / len(results):.0%})")
    if right < given.at_least * len(results):
        sys.exit(1)


def _print_table(results: Sequence[Result]) -> None:
    groups: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        groups[result.group].append(result)
    for group, members in sorted(groups.items()):
        print(f"{group}: {sum(m.verdict == 'right' for m in members)} of {len(members)} right")
        for m in members:
            lookups = "" if m.looked_up else "  (lookup missing or wrong)"
            print(f"  {m.name:<28}{m.verdict}{lookups}")
            if m.verdict != "right":
                print("".join(f"      {line}\n" for line in m.made), end="")


if __name__ == "__main__":
    main()
