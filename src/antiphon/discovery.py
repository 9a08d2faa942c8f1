"""What stands beside the framework and is found by name: entry points of installed distributions.

| group | an entry is | found as |
|---|---|---|
| `antiphon.providers` | a module with some of `LLM`, `STT`, `TTS` | `--llm name`, `--llm name/model` |
| `antiphon.transports` | a `Transport`, or what makes one of an address | `--transport name`, `name/address` |
| `antiphon.stores` | what makes a store of its address | by the scheme of the address: `name://host/place` |
| `antiphon.compat` | a module that answers for another framework's names | `antiphon.compat.name` |
| `console_scripts` | a command; ours is called `antiphon` | `AgentServer.run()` |

A distribution of yours names one in its `pyproject.toml`:

    [project.entry-points."antiphon.providers"]
    mine = "my_package.models"
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from antiphon.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@cache
def found(group: str) -> Mapping[str, EntryPoint]:
    """The entries of a group by name. Of two of one name the first installed is taken."""
    from importlib.metadata import entry_points  # a tenth of what importing the framework costs

    entries: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        entries.setdefault(entry.name, entry)
    return entries


def load_for(group: str, url: str) -> Any:
    """What is made of an address by the entry that goes by its scheme. Raises what `load` raises."""
    scheme, colon, _ = url.partition(":")
    if not colon:
        raise UsageError(f"{group}: expected an address with a scheme, such as name://place, got {url!r}.")
    return load(group, scheme)(url)


def load(group: str, name: str) -> Any:
    """What goes by `name` in a group. Raises `UsageError` if nothing does, or if it cannot be imported."""
    entry = found(group).get(name)
    if entry is None:
        known = ", ".join(sorted(found(group))) or "none: install the package, also when you work in its checkout"
        raise UsageError(f"{group}: expected one of those installed ({known}), got {name!r}. Install what brings it.")
    try:
        return entry.load()
    except ImportError as error:
        remedy = "Install what it needs."
        if error.name and (extra := extra_with(error.name)):
            remedy = f"Install it with: pip install 'antiphon[{extra}]'"
        raise UsageError(f"{group}: {name!r} cannot be imported: {error}. {remedy}") from error


EXTRAS = (
    "cli",
    "local",
    "dev",
    "audio",
    "mcp",
    "tasks",
    "livekit",
    "postgres",
    "openai",
    "processing",
    "webrtc",
    "eval",
    "records",
)
"""What users install, those first that bring little."""


def extra_with(module: str) -> str:
    """The extra of Antiphon that brings the package of this name, or module; "" if none does."""
    from importlib.metadata import PackageNotFoundError, requires

    wanted = re.sub(r"[-_.]+", "-", module.partition(".")[0]).lower()
    try:
        brought = requires("antiphon") or []
    except PackageNotFoundError:
        return ""
    extras = {
        found[1]
        for one in brought
        if re.split(r"[\s\[<>=!;~]", one, maxsplit=1)[0].lower() == wanted
        and (found := re.search(r"extra == ['\"]([\w-]+)['\"]", one))
    }
    return next((extra for extra in EXTRAS if extra in extras), "")
