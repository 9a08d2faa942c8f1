"""What a command finds where it is run: the agent file of the folder, and the settings of its `.env`.

Above: `main`. Below: the file system, and the environment of the process.
"""

from __future__ import annotations

import ast
import os
import platform
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from antiphon.errors import AgentFileError, UsageError
from antiphon.visible import one_line, shortened

AGENT_FILE = Path("agent.py")
"""What a command without a file takes."""

MIXED = (
    "it runs as Antiphon's, beside LiveKit's own livekit.agents, and their agents and tools do not know each other."
    " Write it for one of the two; plugins of LiveKit are wrapped by antiphon.providers.livekit_plugin."
)
"""What somebody is told whose file is written for both."""

_LONGEST_LINE = 500


def version() -> str:
    """Which Antiphon it is, and on what: for reports of defects."""
    try:
        installed = metadata.version("antiphon")
    except metadata.PackageNotFoundError:
        installed = "(not installed)"
    return f"antiphon {installed}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"


def agent_file(given: Path | None) -> Path:
    """The file that was given, or that of this folder. Raises `AgentFileError` if there is none."""
    if given is not None:
        return given
    if AGENT_FILE.is_file():
        return AGENT_FILE
    raise AgentFileError(f"there is no {AGENT_FILE} in this folder. Give the path of an agent file.")


def is_written_for_livekit(file: Path) -> bool:
    """Whether the file imports `livekit.agents`, and nothing of Antiphon. False for what is no Python."""
    names = _imported(file)
    return _is_among("livekit.agents", names) and not _is_among("antiphon", names)


def mixes_frameworks(file: Path) -> bool:
    """Whether the file imports Antiphon and `livekit.agents`, which is then not Antiphon's."""
    names = _imported(file)
    both = _is_among("livekit.agents", names) and _is_among("antiphon", names)
    return both and not _is_among("antiphon.compat", names)


def _imported(file: Path) -> set[str]:
    """The dotted names of what a file imports; none of what is no Python."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def _is_among(package: str, names: set[str]) -> bool:
    return any(f"{name}.".startswith(f"{package}.") for name in names)


def read_settings(folder: Path, notice: Callable[[str], None]) -> None:
    """Take the settings of the `.env` of this folder, or of the agent file's, into the environment, and say so.

    What is set already stays. Values are shown nowhere. Raises `UsageError` if the file cannot be read.
    """
    found = next((path for path in (Path(".env"), folder / ".env") if path.is_file()), None)
    if found is None:
        return
    try:
        from dotenv import dotenv_values
    except ModuleNotFoundError:
        notice(f"{found} is not read: that needs a package. Install it with: pip install python-dotenv")
        return
    try:
        settings = dotenv_values(found)
    except (OSError, ValueError) as error:
        raise UsageError(f"{found} cannot be read: {error}. Mend it, or take it away.") from None
    new = {name: value for name, value in settings.items() if value is not None and name not in os.environ}
    try:
        os.environ.update(new)
    except ValueError as error:
        raise UsageError(f"{found}: {error}. Mend it, or take it away.") from None
    if new:
        notice(shortened(one_line(f"Read {found}: {', '.join(new)}"), _LONGEST_LINE))
