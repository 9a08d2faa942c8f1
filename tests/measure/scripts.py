"""The measuring scripts as modules: they stand alone in `tools/`, outside every package."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
RECORDINGS = ROOT / "examples" / "recordings"


def load(name: str) -> ModuleType:
    """The script `tools/<name>.py`."""
    module_name = f"measuring_{name}"
    if module_name not in sys.modules:
        spec = importlib.util.spec_from_file_location(module_name, ROOT / "tools" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module  # dataclasses look their module up
        spec.loader.exec_module(module)
    return sys.modules[module_name]
