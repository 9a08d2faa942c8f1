"""The site as it is built: links that lead somewhere, nothing of elsewhere, a search that finds."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from lunr import lunr

from tests.docs.pages import ROOT

QUESTIONS = {
    "how does a tool get the session": "tutorial",
    "store state between tool calls userdata": "tutorial",
    "ToolError or a regular exception": "tutorial",
    "say without interruption": "tutorial",
    "book an appointment tutorial": "tutorial",
    "structured output emotion voice instructions": "structured",
    "wait_if_not_interrupted": "interruption",
    "what happens when the caller interrupts a tool": "interruption",
    "hide tool from greeting IGNORE_ON_ENTER": "changing_tools",
    "AgentConfigUpdate": "changing_tools",
    "share a tool between agents": "changing_tools",
    "create tools from a raw schema": "changing_tools",
    "update_chat_ctx": "retrieval",
    "retrieval RAG user feedback": "retrieval",
    "call an HTTP API from a tool": "http",
    "credentials api key environment": "http",
    "supervisor pattern": "supervisor",
    "running tasks cancel background": "background",
    "duplicate call while one runs": "background",
    "EndCallTool callbacks": "ending",
    "hand off to another agent": "agents",
    "MCP server tools filter": "tools",
    "limit tool rounds max_tool_steps": "tool_design",
    "cached TTS hold message": "interruption",
    "Node.js llm.tool zod": "node",
    "coming from Pipecat": "pipecat",
}
"""What somebody asks who has read the documents, and the page that answers."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly: a link or an anchor that leads nowhere fails."""
    folder = tmp_path_factory.mktemp("site")
    build = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert build.returncode == 0, build.stdout + build.stderr
    return folder


class Fetched(HTMLParser):
    """What a page fetches when it is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("script", "img", "iframe", "source"):
            self.found.append(given.get("src") or "")
        if tag == "link" and given.get("rel") in ("stylesheet", "icon", "preconnect", "preload"):
            self.found.append(given.get("href") or "")


@pytest.mark.timeout(600)
def test_it_is_built_strictly_and_fetches_nothing_from_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 100
    for page in pages:
        parser = Fetched()
        parser.feed(page.read_text(encoding="utf-8"))
        assert [url for url in parser.found if "//" in url] == [], page
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert not re.search(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", text), style


@pytest.mark.timeout(600)
def test_each_page_is_there_as_markdown_and_all_are_listed(site: Path) -> None:
    pages = {str(page.relative_to(site).with_suffix("")) for page in site.rglob("*.html")} - {"404"}
    written = {str(page.relative_to(site).with_suffix("")) for page in site.rglob("*.md")}
    listed = set(re.findall(r"\]\((\S+)\.md\)", (site / "llms.txt").read_text(encoding="utf-8")))
    assert pages == written == listed


def found(index: Any, documents: list[dict[str, Any]], question: str) -> list[str]:
    """The first three pages, as the box on the site has them: a page counts by its best section."""
    pages: list[str] = []
    for hit in index.search(question):
        page = documents[int(hit["ref"])]["location"].partition("#")[0].removesuffix(".html")
        if page not in pages:
            pages.append(page)
    return pages[:3]


@pytest.mark.timeout(600)
def test_what_the_documents_raise_is_found_among_the_first_three(site: Path) -> None:
    read = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    documents = [
        {**document, "id": str(number), "text": re.sub(r"<[^>]+>", " ", document["text"])}
        for number, document in enumerate(read["docs"])
    ]
    fields = [{"field_name": "title", "boost": 10}, "text"]
    weighed = [(document, {"boost": document.get("boost", 1)}) for document in documents]
    index = lunr(ref="id", fields=fields, documents=weighed)
    missed = {
        question: pages
        for question, page in QUESTIONS.items()
        if page not in (pages := found(index, documents, question))
    }
    assert missed == {}
