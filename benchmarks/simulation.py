"""How fast scenarios run: 1,000 different callers of the receptionist, whole calls with fake voices, or in text.

    python benchmarks/simulation.py                     1,000 scenarios, on two processes
    python benchmarks/simulation.py --jobs 1 --calls 100 --medium text
    python benchmarks/simulation.py --calls 10 --medium voice --jobs 1

Callers differ by day, time, name and behaviour: they book, change their mind at the read-back, speak over the list,
hum, hang up. Printed are the seconds of the clock, the calls' own time, and how many times real time a core is.
"""

from __future__ import annotations

import argparse
import itertools
import json
import tempfile
from pathlib import Path
from typing import Any, Final

from antiphon.scenarios import Settings, simulate

ROOT: Final = Path(__file__).parents[1]
DAYS: Final = ("next Monday", "next Tuesday", "next Wednesday", "next Thursday", "next Friday")
TIMES: Final = ("9 AM", "2 PM", "4:30 PM")
NAMES: Final = ("Sarah Chen", "Tom Baker", "Maria Lopez", "John Smith", "Emma Fischer", "David Miller", "Laura Rossi")
WAYS: Final = ("books", "changes", "interrupts", "hums", "declines", "hangs up")


def caller(way: str, day: str, time: str, name: str) -> dict[str, Any]:
    """Who calls, and how they behave."""
    ask, book = f"Do you have anything {day}?", f"I would like to book {day} at {time}"
    knows: dict[str, Any] = {"your (full )?name": f"It is {name}", "shall I book": "Yes please"}
    moments: list[dict[str, Any]] = []
    match way:
        case "changes":
            knows["shall I book"] = ["No, make it 11:30 AM please", "Yes please"]
        case "interrupts":
            moments = [{"hears": "11:30", "after": [0.0, 1.0], "say": book}]
        case "hums":
            moments = [{"reply": 1, "after": [0.5, 2.0], "hum": "mm hmm"}]
        case "declines":
            knows["shall I book"] = "No, I changed my mind"
        case "hangs up":
            moments = [{"hears": "shall I", "hang_up": True}]
    return {"wishes": [ask] if way == "interrupts" else [ask, book], "knows": knows, "moments": moments}


def scenarios(count: int) -> list[dict[str, Any]]:
    """So many, no two alike as long as there are enough."""
    ways = itertools.cycle(itertools.product(NAMES, DAYS, TIMES, WAYS))
    return [
        {"name": f"{number}: {way}, {day} at {time}, {name}", "caller": caller(way, day, time, name)}
        for number, (name, day, time, way) in zip(range(count), ways, strict=False)
    ]


def main() -> None:
    """Run them and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--medium", choices=("sound", "text", "voice"), default="sound")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenarios.json"
        file.write_text(json.dumps({"scenarios": scenarios(options.calls)}), encoding="utf-8")
        settings = Settings(models={"llm": "local"}, jobs=options.jobs, medium=options.medium)
        done = simulate(ROOT / "examples" / "receptionist.py", [file], settings)
    print(f"{done.runs} calls, {done.passes} passed, {done.simulated / 60:.1f} minutes of talk")
    print(f"{done.seconds:.1f} s of the clock, {done.cpu:.1f} s of processors, {options.jobs} processes")
    print(f"{done.simulated / done.cpu:.0f} times real time a core")
    for result in done.results:
        if result.failed is not None:
            print(f"  {result.name}: {result.failed.failures[0][:200]}")


if __name__ == "__main__":
    main()
