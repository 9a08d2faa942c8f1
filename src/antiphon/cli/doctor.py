"""`antiphon doctor`: what is there, and what to do about what is not.

Packages by extra, models of this machine, sound devices, keys, and servers of models on this machine. It loads no model
and speaks to nobody but this machine's own ports. Values of keys are shown nowhere.

Above: `main`. Below: the metadata of installed packages, `calls.models`, and the sound system.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from antiphon.calls.models import VENDORS, named_model
from antiphon.cli import surroundings
from antiphon.errors import AntiphonError
from antiphon.providers.endpoints import ENDPOINTS, models_at
from antiphon.visible import one_line

EXTRAS: Mapping[str, str] = {
    "cli": "the command line",
    "local": "models on this machine",
    "dev": "the page",
    "audio": "microphone and loudspeaker",
    "processing": "a microphone without echo and noise",
    "mcp": "tools of MCP servers",
    "tasks": "telephone numbers and e-mail addresses",
    "telephone": "calls by telephone",
    "livekit": "LiveKit's rooms",
    "postgres": "calls kept in PostgreSQL",
}
"""The extras that users choose from, and what each is for."""


@dataclass(slots=True, frozen=True)
class Check:
    """One thing that was looked for."""

    name: str
    ok: bool
    found: str
    do: str = ""
    """What to do to have it; "" if it is there, or nothing is to be done."""

    def line(self) -> str:
        """For a terminal."""
        told = f"{'ok' if self.ok else '--':3} {self.name:<24} {one_line(self.found)}"
        return f"{told}. {self.do}" if self.do else told


async def examine() -> list[Check]:
    """Look for everything."""
    version = surroundings.version()
    checks = [Check("version", "not installed" not in version, version)]
    checks += [_extra(name, purpose) for name, purpose in EXTRAS.items()]
    checks += [_recogniser(), _devices(), *_keys()]
    checks += await asyncio.gather(*(_server(name, one.port) for name, one in ENDPOINTS.items() if one.port))
    return checks


# -- packages


def _extra(name: str, purpose: str) -> Check:
    missing = [package for package in _packages(name) if not _is_installed(package)]
    remedy = f"pip install 'antiphon[{name}]'"
    if not missing:
        return Check(f"extra {name}", True, purpose)
    return Check(f"extra {name}", False, f"{purpose}: no {', '.join(missing[:4])}", remedy)


def _packages(extra: str) -> Iterator[str]:
    """The packages that an extra brings on this system."""
    try:
        wanted = metadata.requires("antiphon") or []
    except metadata.PackageNotFoundError:
        return
    for requirement in wanted:
        if re.search(rf"extra == ['\"]{extra}['\"]", requirement) and "python_version" not in requirement:
            yield re.match(r"[\w.-]+", requirement)[0]  # type: ignore[index]  # every requirement begins with a name


def _is_installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


# -- models and sound


def _recogniser() -> Check:
    home = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(home) if home else Path.home() / ".cache") / "antiphon"
    if any(folder.glob("moonshine-*")):
        return Check("recogniser", True, f"prepared in {folder}")
    return Check("recogniser", False, "the first call by voice prepares it, in about 15 s", "antiphon download-files")


def _devices() -> Check:
    from antiphon.transports.devices import list_devices

    try:
        devices = list_devices()
    except AntiphonError as error:
        return Check("sound devices", False, "none", str(error))
    kinds = [device.kind for device in devices]
    found = f"{kinds.count('microphone')} microphones, {kinds.count('loudspeaker')} loudspeakers"
    both = "microphone" in kinds and "loudspeaker" in kinds
    return Check("sound devices", both, found, "" if both else "Talk from the page: antiphon dev")


# -- keys


def _keys() -> Iterator[Check]:
    for kind, vendors in VENDORS.items():
        for vendor in vendors:
            model = named_model(kind, vendor)
            why = model.unusable()
            remedy = "" if why is None else _remedy(why, model.extra)
            yield Check(f"{kind} {vendor}", why is None, why or _USABLE, remedy)
    for name, endpoint in ENDPOINTS.items():
        if endpoint.key_variable:
            wanted = [
                one for one in (endpoint.key_variable, endpoint.place_variable) if one and not os.environ.get(one)
            ]
            why = " and ".join(f"no {one}" for one in wanted)
            remedy = f"Set {' and '.join(wanted)}, in the environment or in .env" if why else ""
            yield Check(f"llm {name}", not why, why or _USABLE, remedy)


_USABLE = "can be used: not asked whether it answers"


def _remedy(why: str, extra: str) -> str:
    if why.startswith("no package"):
        return f"pip install 'antiphon[{extra}]'"
    return f"Set {why.removeprefix('no ')}, in the environment or in .env" if why.startswith("no ") else ""


# -- servers on this machine


async def _server(name: str, port: int) -> Check:
    """Whether a server of models answers at its port, and with which models."""
    title = ENDPOINTS[name].title
    models = await models_at("127.0.0.1", port)
    if models is None:
        return Check(f"server {title}", False, f"nothing that serves models at 127.0.0.1:{port}")
    found = f"at 127.0.0.1:{port}: {', '.join(models[:6]) or 'no model yet'}"
    return Check(f"server {title}", True, found, f"Use --llm {name}/{models[0] if models else 'MODEL'}")
