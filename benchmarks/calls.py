"""Makes the recorded calls and prints what became of them: `python benchmarks/calls.py demo pauses evaluation`.

Each call is one `antiphon call` in a process of its own, in real time, with the default settings and whatever models
are at hand. Its JSON and its stereo recording are kept in `--out`, and the scripts in `tools/`, which know nothing of
the program, judge them:

- `demo`: the shipped caller of the demo, barge-in included;
- `pauses`: the twenty shipped callers who pause inside an unfinished sentence: how many turns stayed whole;
- `evaluation`: the callers made by `tools/make_recordings.py evaluation`: how many bookings were right.

Voice to voice is measured over all recordings of a set whose caller is clean: noise above the threshold is sound. With
`--jobs` above 1 calls share the cores, and latencies are worse than a caller alone would see.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
AGENT: Final = ROOT / "examples" / "receptionist.py"
ANTIPHON: Final = Path(sys.executable).with_name("antiphon")
SHIPPED: Final = ROOT / "examples" / "recordings"
EVALUATION: Final = ROOT / "out" / "evaluation"
LIMIT: Final = 300.0
"""Seconds that one call may take."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A call to be made."""

    name: str
    turns: tuple[Path, ...]
    options: tuple[str, ...] = ()
    clean: bool = True
    """Nothing but the caller's voice is above the threshold of the measurement."""


def planned(name: str) -> list[Planned]:
    """The calls of a set, in order."""
    match name:
        case "demo":
            entries = json.loads((SHIPPED / "demo.json").read_text("utf-8"))
            return [Planned("demo", tuple(SHIPPED / e["file"] for e in entries), ("--barge-in", "3@5.0"))]
        case "pauses":
            entries = json.loads((SHIPPED / "pauses.json").read_text("utf-8"))
            return [Planned(Path(e["file"]).stem, (SHIPPED / e["file"],)) for e in entries]
        case _:
            manifest = EVALUATION / "evaluation.json"
            if not manifest.is_file():
                raise SystemExit(f"{manifest} is missing; make it as tools/make_recordings.py says")
            return [
                Planned(
                    e["call"],
                    tuple(EVALUATION / turn["file"] for turn in e["turns"]),
                    clean=e["condition"] != "noise",
                )
                for e in json.loads(manifest.read_text("utf-8"))
            ]


def make(call: Planned, folder: Path) -> bool:
    """Make a call. False if it failed, which is said."""
    command = [str(ANTIPHON), "call", str(AGENT), "--caller", *map(str, call.turns)]
    command += [*call.options, "--json", "--out", str(folder / f"{call.name}.wav")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    (folder / f"{call.name}.json").write_text(result.stdout, "utf-8")
    (folder / f"{call.name}.log").write_text(result.stderr, "utf-8")
    if result.returncode:
        print(f"{call.name}: failed with exit code {result.returncode}; see {folder / call.name}.log")
    return result.returncode == 0


def judge(name: str, calls: Sequence[Planned], folder: Path) -> None:
    """Print what the independent scripts say of a set that was made."""
    transcripts = [str(folder / f"{call.name}.json") for call in calls]
    recordings = [str(folder / f"{call.name}.wav") for call in calls if call.clean]
    if name == "pauses":
        _tool("whole_turns.py", *transcripts)
    if name == "evaluation":
        _tool("right_bookings.py", *transcripts, "--manifest", str(EVALUATION / "evaluation.json"))
    if recordings:
        _tool("measure_voice_to_voice.py", *recordings)


def _tool(script: str, *arguments: str) -> None:
    sys.stdout.flush()
    subprocess.run([sys.executable, str(ROOT / "tools" / script), *arguments], check=False)


def main() -> None:
    """Make the sets named on the command line, one after the other."""
    parser = argparse.ArgumentParser(description="Make the recorded calls and judge them.")
    parser.add_argument("sets", nargs="+", choices=["demo", "pauses", "evaluation"])
    parser.add_argument("--only", default="", help="calls whose name contains this")
    parser.add_argument("--jobs", type=int, default=1, help="calls at once")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "calls", help="folder for recordings and JSON")
    parser.add_argument("--judge", action="store_true", help="judge the calls that are there; make none")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.sets:
        calls = [call for call in planned(name) if given.only in call.name]
        if not given.judge:
            with ThreadPoolExecutor(given.jobs) as pool:
                made = list(pool.map(lambda call: make(call, given.out), calls))
            calls = [call for call, well in zip(calls, made, strict=True) if well]
        print(f"{name}: {len(calls)} calls, load {os.getloadavg()[0]:.1f}")
        if calls:
            judge(name, calls, given.out)


if __name__ == "__main__":
    main()
