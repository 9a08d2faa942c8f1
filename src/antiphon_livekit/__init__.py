"""Programs that import `livekit.agents` and `livekit.plugins`, on Antiphon.

    from antiphon.compat import livekit
    livekit.install()

From then on those imports resolve to this package, whether or not LiveKit is installed; an installed one is not
touched, and `uninstall()` gives the names back to it. `antiphon console --livekit agent.py` does the same for a file
that is to be run unchanged. `surface` says, name by name, what is supported, what differs and what is absent.

Above: programs, and the command line. Below: `finder`, which answers imports from the table in `surface`; the other
modules hold what is not the same object here and there.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from antiphon_livekit.finder import install, installed, uninstall

if TYPE_CHECKING:
    from antiphon.server.entrypoint import AgentServer


def collecting() -> AbstractContextManager[MutableSequence[AgentServer]]:
    """While it lasts, programs that serve agents give their servers here instead of serving."""
    from antiphon_livekit import servers

    return servers.collecting()


__all__ = ["collecting", "install", "installed", "uninstall"]
