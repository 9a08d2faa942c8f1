"""Each heading and each link of the five documents has a place here, and each place is there."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import DOCS, PAGES, ROOT, anchors, links, text
from tests.seeds.documents import SEEDS, page

NOT_HEADINGS = {"Chapter 625m", "Question 1 of 3", "Skip to main content"}
"""Short lines of a page without marks that head nothing."""
_ROW = re.compile(r"^\| (.+?) \| (\[.+) \|$", re.MULTILINE)


def table(document: str) -> dict[str, str]:
    """The rows of a document: what it has, and where that is here."""
    section = re.split(r"^## ", text("documents.md"), flags=re.MULTILINE)
    (part,) = (part for part in section if part.startswith(document))
    return dict(_ROW.findall(part))


_CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_MEMBER = r"Module \S+|class \w+|async def \w+|var \w+|prop \w+|[A-Z]\w+(?: \w+)?"


def headings(document: str) -> list[str]:
    written = page(document)
    if document == "001":
        return re.findall(r"^#+ (.*)$", _CODE.sub("", written), re.MULTILINE)
    if document in ("002", "004"):
        return re.findall(rf"^({_MEMBER})(?= \(|\(|-?$)", written, re.MULTILINE)
    lines = ["", *written.splitlines(), ""]
    alone = [
        line
        for before, line, after in zip(lines, lines[1:], lines[2:], strict=False)
        if line and not before.strip() and not after.strip()
    ]
    short = [line for line in alone if len(line) <= 70 and not line.endswith((".", ":", ",", "?"))]
    named = [line for line in short if re.match(r"[A-Z]|say\(|session\.", line)]
    return [line for line in named if line not in NOT_HEADINGS and not re.match(r"Try saying|RunContextsession", line)]


needs_documents = pytest.mark.skipif(not SEEDS.is_dir(), reason="the seed documents are not here")


@needs_documents
@pytest.mark.parametrize("document", ["000", "001", "002", "003", "004"])
def test_every_heading_is_in_the_table(document: str) -> None:
    found = headings(document)
    assert len(found) >= 6
    assert [heading for heading in found if heading not in table(document)] == []


@needs_documents
def test_every_link_is_in_the_table() -> None:
    linked = re.findall(r"\]\(([^)]+)\)", page("001"))
    assert len(linked) > 20
    assert [link for link in linked if link not in table("001")] == []


@pytest.mark.parametrize("name", PAGES)
def test_what_a_page_links_to_is_there(name: str) -> None:
    missing = []
    for link in links(name):
        target, _, anchor = link.partition("#")
        target = target or name
        if target.startswith("api/") or target in ("benchmarks.md", "changelog.md", "llms.txt"):
            continue  # made when the site is built, which breaks if they are not there
        path = (DOCS / target).resolve()
        if not path.exists() or (anchor and path.parent == DOCS and anchor not in anchors(path.name)):
            missing.append(link)
        assert path.is_relative_to(ROOT)
    assert missing == []
