"""The names of a package, each loaded when it is first used: having many names costs nothing, using one costs its own.

Above: the `__init__` of packages. Below: nothing. A package imports its names under `TYPE_CHECKING` for those who read
it, and defines what is here only for those who run it; so a type checker still knows a name that is misspelt.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping


def on_first_use(
    package: str, home: Mapping[str, Iterable[str]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of `package`. `home` has the names of each of its modules: {"agent": ("Agent",)}."""
    modules = {name: module for module, names in home.items() for name in names}
    this = sys.modules[package]

    def load(name: str) -> object:
        if name not in modules:
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}; dir({package}) lists what it has", name=name, obj=this
            )
        value: object = getattr(importlib.import_module(f"{package}.{modules[name]}"), name)
        setattr(this, name, value)
        return value

    def names() -> list[str]:
        return list(this.__all__)

    return load, names
