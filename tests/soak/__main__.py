"""`python -m tests.soak --simulated 2000 --real 1300 --seed S`: make calls, and see what stays of them."""

from __future__ import annotations

import argparse
import asyncio
import logging
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial

from antiphon.language import ENGLISH, Asked, decide
from tests.proofs import closing
from tests.soak import real, simulated
from tests.soak.level import Level, what_grew
from tests.soak.serving import serve


def main() -> int:
    """Returns 1 if anything grew, or a call failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--simulated", type=int, default=2000, metavar="N", help="in virtual time (default: 2000)")
    parser.add_argument("--real", type=int, default=1300, metavar="N", help="over sockets (default: 1300)")
    parser.add_argument("--seed", default=str(time.time_ns() % 1_000_000), help="of all of them (default: the clock)")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    logging.getLogger("antiphon").setLevel(logging.CRITICAL + 1)  # faults are on purpose
    if arguments.simulated and arguments.real and not arguments.serve:
        return both(arguments.simulated, arguments.real, arguments.seed)
    decide("yes", Asked("Shall I book it?"), ENGLISH.consent)  # what replies are read by is made with the first of them
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder  # what is left there was left by this process
        if arguments.serve:
            asyncio.run(serve())
            return 0
        if arguments.simulated:
            return in_virtual_time(arguments.simulated, arguments.seed)
        return over_sockets(arguments.real, arguments.seed)


def both(simulated_calls: int, real_calls: int, seed: str) -> int:
    """Each in a process of its own, at the same time."""
    began = time.perf_counter()
    print(f"seed {seed}", flush=True)
    parts = [("--simulated", simulated_calls, "--real"), ("--real", real_calls, "--simulated")]
    running = [
        subprocess.Popen([sys.executable, "-m", "tests.soak", "--seed", seed, part, str(calls), other, "0"])
        for part, calls, other in parts
    ]
    codes = [one.wait() for one in running]
    what = f"{simulated_calls:,} simulated and {real_calls:,} real calls"
    print(closing("soak", what, seed, sum(map(bool, codes)), began))
    return int(any(codes))


def in_virtual_time(calls: int, seed: str) -> int:
    """The simulated part."""
    levels, failed = simulated.soak(calls, seed, partial(tell, "simulated", time.perf_counter()))
    return told("simulated", levels, failed)


def over_sockets(calls: int, seed: str) -> int:
    """The real part."""
    levels, callers = asyncio.run(real.soak(calls, seed, partial(tell, "real", time.perf_counter())))
    kinds = ", ".join(f"{count} {name}" for name, count in sorted(callers.made.items()))
    print(f"real       {kinds}")
    return told("real", levels, callers.failed)


def tell(part: str, began: float, level: Level) -> None:
    """One line of progress."""
    print(f"{part:10} {level} at {time.perf_counter() - began:4.0f} s", flush=True)


def told(part: str, levels: Sequence[Level], failed: Sequence[str]) -> int:
    """The verdict, in words. 1 if anything is wrong."""
    wrong = [f"GREW {what}" for what in what_grew(levels)] + ([f"{len(failed)} calls failed"] if failed else [])
    print(f"{part:10} {'; '.join(wrong) or 'flat'}", flush=True)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
