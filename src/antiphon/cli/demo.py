"""`antiphon demo`: the receptionist of `examples/`, called with the recordings beside it; one of them barges in."""

from __future__ import annotations

from pathlib import Path

from antiphon.errors import UsageError

BARGE_IN = "3@5.5"
"""The caller picks a slot while the agent is still listing them."""


def demo_files() -> tuple[Path, list[Path]]:
    """The agent file and the caller's recordings, in order. Raises `UsageError` outside a checkout."""
    for root in (Path.cwd(), *Path(__file__).resolve().parents):
        agent = root / "examples" / "receptionist.py"
        recordings = sorted((root / "examples" / "recordings").glob("demo-*.wav"))
        if agent.is_file() and recordings:
            return agent, recordings
    raise UsageError("demo: no examples/receptionist.py with recordings here. Run it inside a checkout of the project.")
