"""Imports of `livekit.agents` and `livekit.plugins`, answered from the table in `surface`.

Theory of operation. A finder at the head of `sys.meta_path` answers for the modules that the table lists. Where a real
`livekit` is there it stays, namespace package or not, and only `livekit.agents`, `livekit.plugins` and `livekit.rtc`
are ours while installed: the rooms of a call here are ours, and what cleans microphones brings a real `livekit.rtc`
along that was not meant for the file. `livekit.api` is the real one if there is one. Every module of ours is a package
without a path: `from livekit.agents import X` then first asks the module for X (an `AttributeError`, so that `hasattr`
works), and after that asks the finder for a submodule X, whose `ImportError` is the one that the reader sees.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from antiphon_livekit import surface

_OURS = ("livekit.agents", "livekit.plugins", "livekit.rtc")
"""Taken over even where there are real ones."""


def install() -> None:
    """Answer imports of LiveKit's names from now on. May be called twice."""
    if installed():
        return
    _finder.displaced = {name: module for name, module in sys.modules.items() if _is_ours(name)}
    _forget(_finder.displaced)
    sys.meta_path.insert(0, _finder)
    importlib.invalidate_caches()


def uninstall() -> None:
    """Give the names back: modules that had been imported before `install` are in their places again."""
    if not installed():
        return
    sys.meta_path.remove(_finder)
    _forget([name for name, module in sys.modules.items() if isinstance(module, VirtualModule)])
    for name, module in sorted(_finder.displaced.items()):
        sys.modules[name] = module
        parent, _, child = name.rpartition(".")
        if parent in sys.modules:
            setattr(sys.modules[parent], child, module)
    _finder.displaced = {}


def installed() -> bool:
    """Whether imports of LiveKit's names are answered here."""
    return _finder in sys.meta_path


def _is_ours(name: str) -> bool:
    return any(name == ours or name.startswith(f"{ours}.") for ours in _OURS)


def _forget(names: Any) -> None:
    for name in list(names):
        del sys.modules[name]
        parent, _, child = name.rpartition(".")
        if parent in sys.modules:
            vars(sys.modules[parent]).pop(child, None)


class VirtualModule(ModuleType):
    """A module whose names are looked up in the table when they are first used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = surface.find(self.__name__, name)
        if found is not None and found.home:
            value = found.load()
        elif f"{self.__name__}.{name}" in surface.MODULES:
            return importlib.import_module(f"{self.__name__}.{name}")
        else:
            raise AttributeError(surface.refusal(self.__name__, name))
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *self.__all__})

    @property
    def __all__(self) -> list[str]:
        names = [name.name for name in surface.MODULES[self.__name__] if name.home]
        prefix = f"{self.__name__}."
        return names + [m.removeprefix(prefix) for m in surface.MODULES if m.startswith(prefix) and m.count(".") == 2]


class _Loader(importlib.abc.Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return VirtualModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__doc__ = f"`{module.__name__}`, on Antiphon."


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self) -> None:
        self.displaced: dict[str, ModuleType] = {}
        """Real modules that were imported before we were installed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "livekit" and not fullname.startswith("livekit."):
            return None
        if not _is_ours(fullname) and self._is_elsewhere(fullname, path):
            return None
        if fullname in surface.MODULES:
            return importlib.machinery.ModuleSpec(fullname, _Loader(), origin="antiphon", is_package=True)
        parent, _, child = fullname.rpartition(".")
        if parent in surface.MODULES:
            raise ImportError(surface.refusal(parent, child), name=fullname)
        return None

    def _is_elsewhere(self, fullname: str, path: Sequence[str] | None) -> bool:
        """Whether there is a real module of this name."""
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if finder is not self and find is not None and find(fullname, path, None) is not None:
                return True
        return False


_finder = _Finder()
