"""The real `livekit.rtc`, whoever else answers to its name.

Above: rooms, and the cleaning of microphones. Our compatibility layer may answer for `livekit.rtc`, now or later, and a
program that runs on that must not meet two kinds of rooms: while it is installed, the real one is kept out of
`sys.modules`.
"""

from __future__ import annotations

import importlib
import sys
from functools import cache
from types import ModuleType


@cache
def real_rtc() -> ModuleType:
    """The real `livekit.rtc`, ready for use. Takes half a second the first time. Raises `ImportError` without it."""
    loaded = sys.modules.get("livekit.rtc")
    if loaded is not None and getattr(loaded, "__file__", None):
        return loaded
    finders = list(sys.meta_path)
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if _is_livekit(name)}
    sys.meta_path[:] = [f for f in finders if type(f).__module__.split(".")[0] != "antiphon_livekit"]
    try:
        library = importlib.import_module("livekit.rtc")
        library.AudioProcessingModule()  # what it loads late, it loads by name
    finally:
        sys.meta_path[:] = finders
        for name in [name for name in sys.modules if _is_livekit(name)]:
            del sys.modules[name]
        sys.modules.update(before)
    return library


def _is_livekit(name: str) -> bool:
    return name == "livekit" or name.startswith("livekit.")
