"""How networks are loaded."""

from __future__ import annotations

import subprocess
import sys

import pytest

IMPORTS = """
import sys

class Told:
    def find_spec(self, name, path=None, target=None):
        if name in ("numpy", "onnxruntime"):
            print(name)
        return None

sys.meta_path.insert(0, Told())
from pathlib import Path
from antiphon.providers.local.onnx_session import onnx_session
try:
    onnx_session(Path("no such file"))
except Exception as error:
    print(type(error).__name__)
"""


def test_numpy_is_whole_before_a_network_is_loaded_from_c() -> None:
    """Two threads that import it from outside and from inside wait for each other, and one gets half a module."""
    pytest.importorskip("onnxruntime", reason="networks need the extra `local`: pip install 'antiphon[local]'")
    told = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, timeout=60, check=True)
    assert told.stdout.split() == ["numpy", "onnxruntime", "NoSuchFile"]
