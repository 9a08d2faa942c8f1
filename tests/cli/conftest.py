"""Packages of others, installed for one test."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from antiphon.discovery import found


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Install a package: `stranger(entry_points, module=text, ...)`."""

    imported: list[str] = []

    def install(entry_points: str, **modules: str) -> None:
        for name, text in modules.items():
            (tmp_path / f"{name}.py").write_text(text)
            imported.append(name)
        info = tmp_path / "strangers-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: strangers\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(entry_points)
        monkeypatch.syspath_prepend(str(tmp_path))
        found.cache_clear()

    yield install
    found.cache_clear()
    for name in imported:
        sys.modules.pop(name, None)
