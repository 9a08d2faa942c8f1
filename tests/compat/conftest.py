"""LiveKit's names are answered by this package in a test that asks for it, and by nobody after it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

import pytest

from antiphon.compat import livekit
from antiphon_livekit.notices import forget


class _WithoutApi(PathFinder):
    """Finds everything but the `livekit.api` that is installed for the tests of rooms."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = super().find_spec(fullname, path, target)
        is_installed = spec is not None and "site-packages" in (spec.origin or "")
        return None if is_installed and fullname.startswith(("livekit.api", "livekit.protocol")) else spec


@pytest.fixture
def without_api(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where LiveKit's packages are not installed."""
    monkeypatch.setattr(sys, "meta_path", [_WithoutApi if one is PathFinder else one for one in sys.meta_path])
    for name in [name for name in sys.modules if name.partition(".")[0] == "livekit"]:
        monkeypatch.delitem(sys.modules, name)


@pytest.fixture
def installed() -> Iterator[None]:
    livekit.install()
    forget()
    yield
    livekit.uninstall()
