"""LiveKit's names on Antiphon: `antiphon_livekit`, found by its entry point.

from antiphon.compat import livekit
livekit.install()
"""

from __future__ import annotations

from antiphon.discovery import load

_names = load("antiphon.compat", "livekit")

install, installed, uninstall = _names.install, _names.installed, _names.uninstall
collecting = _names.collecting

__all__ = ["collecting", "install", "installed", "uninstall"]
