"""Where in the user's own code something went wrong.

Above: logs, records and the first start of a call. Below: tracebacks.
"""

from __future__ import annotations

import os
import sysconfig
import traceback
from functools import cache
from pathlib import Path

AGENT_MODULE = "_agent_file_"
"""How the names of the modules begin that agent files become."""


def users_line(error: BaseException) -> str:
    """The last line of the user's code on the way to an error: "agent.py:12"; "" if there is none.

    The path is as one would type it in this folder. Neither Python's library nor installed packages are the user's.
    """
    found = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        path = frame.f_code.co_filename
        if str(frame.f_globals.get("__name__")).startswith(AGENT_MODULE) or is_users(path):
            found = f"{as_typed(path)}:{line}"
    return found


def at_users_line(error: BaseException) -> str:
    """The same, to stand behind what is said of the error: " (agent.py:12)"; "" if there is none."""
    line = users_line(error)
    return f" ({line})" if line else ""


@cache
def is_users(path: str) -> bool:
    """Whether a file is the user's: neither Python's, nor of an installed package, nor ours."""
    return os.path.isabs(path) and not os.path.realpath(path).startswith(_not_users())


@cache
def _not_users() -> tuple[str, ...]:
    here = Path(__file__).parents[1]
    ours = [str(here), *(str(here.with_name(f"antiphon_{one}")) for one in ("livekit", "standin"))]
    installed = [path for name, path in sysconfig.get_paths().items() if name.endswith(("lib", "stdlib"))]
    return tuple(os.path.realpath(path) + os.sep for path in (*ours, *installed))


def as_typed(path: str) -> str:
    """A path as one would type it in this folder."""
    try:
        relative = os.path.relpath(path)
    except (OSError, ValueError):  # the folder is gone, or on another drive
        return path
    return path if relative.startswith("..") else relative
