"""`antiphon init NAME`: a folder with an agent, its test, and what is needed to run it elsewhere.

Above: `main`. Below: the file system, and the files in `template/`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import metadata
from importlib.resources import files
from pathlib import Path

from antiphon.errors import UsageError

FILES: Mapping[str, str] = {
    "agent.py": "agent.py.txt",
    "test_agent.py": "test_agent.py.txt",
    "requirements.txt": "requirements.txt.txt",
    ".env.example": "env.example.txt",
    ".gitignore": "gitignore.txt",
    "Dockerfile": "Dockerfile.txt",
    ".github/workflows/test.yml": "ci.yml.txt",
    "AGENTS.md": "AGENTS.md.txt",
    "README.md": "README.md.txt",
    "wheels/README.md": "wheels.md.txt",
}
"""What is made, and of which file of the template."""


def make_folder(folder: Path) -> list[Path]:
    """Make the folder, which must be new or empty. Returns its files. Raises `UsageError`."""
    name = re.sub(r"\s+", " ", re.sub(r"[^\w\s'&.-]|_", " ", folder.resolve().name)).strip()
    if not name:
        raise UsageError(f"init: {folder} gives the agent no name. Use letters, as in: antiphon init reception")
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f"init: {folder} is there already, and not empty. Choose another name.")
        template = files("antiphon.cli") / "template"
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "agent"
        words = {"name": name, "slug": slug, "version": _version()}
        made = []
        for path, source in FILES.items():
            text = (template / source).read_text(encoding="utf-8")
            for word, value in words.items():
                text = text.replace("{{" + word + "}}", value)
            made.append(folder / path)
            made[-1].parent.mkdir(parents=True, exist_ok=True)
            made[-1].write_text(text, encoding="utf-8")
    except OSError as error:
        told = error.strerror or error
        raise UsageError(f"init: {error.filename or folder}: {told}. Choose another place.") from error
    return made


def _version() -> str:
    try:
        return metadata.version("antiphon")
    except metadata.PackageNotFoundError:
        return "0.1.0"
