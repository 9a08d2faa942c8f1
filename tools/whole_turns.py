"""How many callers who paused inside a sentence were let finish it.

Reads what `antiphon call --json` printed for the recordings of `examples/recordings/pauses.json`, one file a call,
named after its recording:

    for wav in examples/recordings/pause-*.wav; do
        antiphon call examples/receptionist.py --caller "$wav" --json > "out/pauses/$(basename "$wav" .wav).json"
    done
    python tools/whole_turns.py out/pauses/pause-*.json [--json] [--at-least 0.95]

A call is *whole* if the caller's words came as one turn: one turn of the caller in the transcript, which holds words
from before and from after the pause. Otherwise it was *split* (several turns), *cut* (one half is missing) or *lost*
(no turn at all). Words that the recogniser got wrong do not matter as long as some of each half are there.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

Verdict = Literal["whole", "split", "cut", "lost"]


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one caller's turn."""

    name: str
    verdict: Verdict
    heard: tuple[str, ...]
    """The caller's turns as the transcript has them."""


def read(path: Path) -> Any:
    """The call that a file holds. Exits with a remedy if there is none, as when the command failed."""
    try:
        return json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise SystemExit(f"{path}: expected the JSON of a call, got {error}; make this call again") from None


def judge(name: str, entry: Mapping[str, Any], call: Mapping[str, Any]) -> Result:
    """Compare the transcript of a call with the manifest's entry for its recording."""
    heard = tuple(t["text"] for t in call["turns"] if t["role"] in ("user", "caller") and _words(t["text"] or ""))
    before, after = entry["before"], entry["after"]
    verdict: Verdict
    if not heard:
        verdict = "lost"
    elif len(heard) > entry["expected_turns"]:
        verdict = "split"
    elif _has_some_of(before, after, heard[0]) and _has_some_of(after, before, heard[0]):
        verdict = "whole"
    else:
        verdict = "cut"
    return Result(name, verdict, heard)


_FIGURES: Final = {
    word: str(number)
    for number, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())
} | {"thirty": "30"}


def _words(text: str) -> set[str]:
    """The words of a text; numbers as figures, alone and within the figures they are part of ("two thirty", "2:30")."""
    words: set[str] = set()
    for word in re.findall(r"[a-z']+|[0-9]+", text.lower()):
        figures = _FIGURES.get(word, word)
        words.add(figures)
        if figures.isdigit():
            words.update(figures[at : at + size] for size in (1, 2) for at in range(len(figures) - size + 1))
    return words


def _has_some_of(half: str, other: str, heard: str) -> bool:
    """Whether a word was heard that only this half has."""
    return bool((_words(half) - _words(other)) & _words(heard))


def main(arguments: Sequence[str] | None = None) -> None:
    """Judge the calls named on the command line; exit code 1 if fewer than `--at-least` are whole."""
    parser = argparse.ArgumentParser(description="Count the turns that a pause did not split.")
    parser.add_argument("calls", nargs="+", type=Path, metavar="JSON", help="what `antiphon call --json` printed")
    parser.add_argument("--manifest", type=Path, default=Path("examples/recordings/pauses.json"))
    parser.add_argument("--at-least", type=float, default=0.0, help="the share of whole turns that is required")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    given = parser.parse_args(arguments)
    entries = {Path(e["file"]).stem: e for e in json.loads(given.manifest.read_text("utf-8"))}
    unknown = [str(path) for path in given.calls if path.stem not in entries]
    if unknown:
        parser.error(f"not in {given.manifest}: {', '.join(unknown)}; name each file after its recording")
    results = [judge(path.stem, entries[path.stem], read(path)) for path in given.calls]
    counts = Counter(result.verdict for result in results)
    share = counts["whole"] / len(results)
    if given.json:
        details = [{"call": r.name, "verdict": r.verdict, "heard": r.heard} for r in results]
        json.dump({"whole": counts["whole"], "calls": len(results), "share": share, "details": details}, sys.stdout)
        print()
    else:
        for result in results:
            print(f"  {result.name}  {result.verdict:<6} {' | '.join(result.heard)}")
        print(f"{counts['whole']} of {len(results)} turns whole ({share:.0%})")
    if share < given.at_least:
        sys.exit(1)


if __name__ == "__main__":
    main()
