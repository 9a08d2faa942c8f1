"""What needs packages that cannot be installed beside the others is left out here, and run by `make prove-plugins`."""

from __future__ import annotations

import importlib.util


def _is_there(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


# LiveKit's package wants another release of `livekit` than its rooms, which other tests speak to.
collect_ignore = [] if _is_there("livekit.agents") else ["test_livekit_plugin.py"]
