"""Call accuracy and speed of the stand-in over the dialogues of its own tests.

Run from the checkout: `.venv/bin/python -m benchmarks.standin [-v]`. A turn is right if it makes exactly the calls it
should, with exactly the arguments it should.
"""

from __future__ import annotations

import sys
import time

from tests.standin.engine_agents import AGENTS
from tests.standin.engine_dialogues import DIALOGUES


def main() -> int:
    """Print one line a dialogue (with -v one a turn), the totals, and the time a request takes."""
    verbose = "-v" in sys.argv
    right = turns = calls_right = calls = 0
    spent: list[float] = []
    for agent, dialogue in DIALOGUES:
        talk = AGENTS[agent]()
        lines = []
        good = True
        for text, expected in dialogue:
            started = time.process_time()
            turn = talk.say(text)
            spent.append((time.process_time() - started) / (1 + len(turn.calls)))
            ok = turn.calls == expected
            good &= ok
            right, turns = right + ok, turns + 1
            calls_right += sum(1 for call in expected if call in turn.calls)
            calls += len(expected)
            lines.append(f"  {'ok ' if ok else 'BAD'} > {text}\n      {turn.calls or ''}\n      < {turn.said}")
            if not ok:
                lines.append(f"      expected {expected}")
        print(f"{'ok ' if good else 'BAD'} {agent}: {dialogue[0][0]}")
        if verbose or not good:
            print("\n".join(lines))
    spent.sort()
    print(f"turns right: {right}/{turns} ({right / turns:.1%}); calls right: {calls_right}/{calls}")
    print(
        f"CPU time a request: median {spent[len(spent) // 2] * 1e3:.2f} ms,"
        f" p95 {spent[int(len(spent) * 0.95)] * 1e3:.2f} ms"
    )
    return 0 if right == turns else 1


if __name__ == "__main__":
    raise SystemExit(main())
