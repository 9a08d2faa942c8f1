"""`antiphon demo`: the receptionist of `examples/`, called with the recordings beside it; one of them barges in."""

from __future__ import annotations

from pathlib import Path

from antiphon.errors import UsageError

BARGE_IN = "3@5.5"
"""The caller picks a slot while the agent is still listing them."""


def demo_files() -> tuple[Path, list[Path]]:
    """The agent file and the caller's recordings, in order: those of a checkout, else those that were installed.

    Raises `UsageError` where there are none.
    """
    here = Path(__file__).resolve()
    # A wheel has them beside the package's own folders, a checkout above it.
    for root in (Path.cwd(), *here.parents):
        agent = root / "examples" / "receptionist.py"
        recordings = sorted((root / "examples" / "recordings").glob("demo-*.wav"))
        if agent.is_file() and recordings:
            return agent, recordings
    raise UsageError("demo: no examples/receptionist.py with recordings here. Install the package anew.")
