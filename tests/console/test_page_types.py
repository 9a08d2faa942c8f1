"""The page is typed by JSDoc. The TypeScript compiler checks it: `npm install --prefix .venv typescript@6.0.3`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.console.page_browser import node

ROOT = Path(__file__).parents[2]
COMPILER = Path(sys.prefix) / "node_modules" / "typescript" / "bin" / "tsc"


def test_the_page_is_well_typed() -> None:
    if not COMPILER.is_file():
        pytest.skip(f"needs TypeScript: npm install --prefix {sys.prefix} typescript@6.0.3")
    done = subprocess.run([node(), COMPILER, "--project", ROOT], capture_output=True, text=True, check=False)
    assert done.stdout == ""
    assert done.returncode == 0
