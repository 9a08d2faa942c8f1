"""The closing line of a proof, as it is kept in docs/proofs.md."""

from __future__ import annotations

import subprocess
import time
from datetime import date
from pathlib import Path


def commit() -> str:
    """What is proven: the commit, with a `+` if files were changed since. "?" where git cannot tell."""
    told = subprocess.run(
        ["git", "describe", "--always", "--exclude=*", "--dirty=+"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return told.stdout.strip() or "?"


def closing(name: str, what: str, seed: str, findings: int, began: float) -> str:
    """What was proven, how much of it, from which seed, with what outcome, since `began` (`time.perf_counter()`)."""
    outcome = "no finding" if not findings else "1 finding" if findings == 1 else f"{findings:,} findings"
    took = time.perf_counter() - began
    return f"prove-{name}, {commit()}, {date.today()}: {what}, seed {seed}, in {took:.0f} s: {outcome}"
