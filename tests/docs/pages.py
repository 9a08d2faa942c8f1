"""The pages of `docs/`: their blocks of code, headings and links."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path.name for path in DOCS.glob("*.md"))

_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@cache
def text(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def blocks(page: str) -> list[str]:
    """Its Python."""
    return re.findall(r"^```python\n(.*?)^```", text(page), re.MULTILINE | re.DOTALL)


@cache
def anchors(page: str) -> frozenset[str]:
    """What may be linked to on it, as the site and GitHub have it."""
    prose = _FENCED.sub("", text(page))
    headings = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    given = re.findall(r'<a id="([^"]+)">', prose)
    return frozenset([*map(slug, headings), *given])


def slug(heading: str) -> str:
    words = re.sub(r"[^\w\s-]", "", re.sub(r"\]\([^)]*\)", "", heading).lower())
    return words.strip().replace(" ", "-")


def links(page: str) -> list[str]:
    """What it links to, but for other sites."""
    found = _LINK.findall(_FENCED.sub("", text(page)))
    return [link for link in found if "://" not in link]
