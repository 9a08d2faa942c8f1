"""`make prove-replay`: recorded simulated calls made again with the agents that held them, which are unchanged.

python -m tests.rerun --calls 200 --seed 1
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
from collections import Counter
from pathlib import Path

from antiphon.errors import AntiphonError
from antiphon.rerun import Settings, compare
from antiphon.scenarios.definition import Medium
from tests.rerun.made import KINDS, record_of_call, scenarios_of

MEDIA: tuple[Medium, ...] = ("sound", "text")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.rerun")
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    logging.getLogger("antiphon").setLevel(logging.CRITICAL)
    plan = [(kind, scenario, medium) for kind in KINDS for scenario in scenarios_of(kind) for medium in MEDIA]
    counts: Counter[str] = Counter()
    began = time.monotonic()
    for number in range(options.calls):
        kind, scenario, medium = plan[number % len(plan)]
        seed = options.seed + number // len(plan)
        with tempfile.TemporaryDirectory() as place:
            try:
                record = record_of_call(kind.agent, scenario, seed=seed, medium=medium, place=Path(place))
                compared = compare(record, kind.agent, Settings(run_tools=kind.run_tools))
            except AntiphonError as error:
                print(f"{kind.example}, {scenario.name}, {medium}, seed {seed}: {error}")
                continue
        counts["interrupted"] += any(turn["interrupted"] for turn in record.head["turns"])
        counts["tool calls"] += len(record.head["tool_calls"])
        counts["requests"] += len(record.requests)
        counts["steps"] += len(compared.recorded)
        counts["seconds"] += round(record.head["duration"])
        counts[medium] += 1
        if compared.divergence is None:
            counts["equal"] += 1
        else:
            print(f"{kind.example}, {scenario.name}, {medium}, seed {seed}: {compared.divergence}")
    took = time.monotonic() - began
    print(
        f"{counts['equal']} of {options.calls} calls equal: {len(KINDS)} agents, {len(plan) // 2} callers,"
        f" {counts['sound']} by voice, {counts['text']} in text, {counts['interrupted']} with an interruption,"
        f" {counts['tool calls']} tool calls, {counts['requests']} requests, {counts['steps']} steps,"
        f" {counts['seconds'] / 60:.0f} minutes of talk, in {took:.0f} s (seed {options.seed})"
    )
    return 0 if counts["equal"] == options.calls else 1


if __name__ == "__main__":
    raise SystemExit(main())
