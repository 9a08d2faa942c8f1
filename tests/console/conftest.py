"""A browser, a server that plays scripts, and pages of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from tests.console.page_browser import chromium, watched
from tests.console.page_double import Double, Script

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Open: TypeAlias = "Callable[..., Page]"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def double() -> Iterator[Double]:
    double = Double()
    with double.running():
        yield double


@pytest.fixture
def open_page(browser: Browser, double: Double) -> Iterator[Open]:
    contexts = []

    def open_page(*scripts: Script, query: str = "", before: str = "", **options: Any) -> Page:
        double.play(*scripts)
        context = browser.new_context(**options)
        contexts.append(context)
        page = watched(context.new_page())
        if before:
            page.add_init_script(before)
        page.goto(double.url + query)
        return page

    yield open_page
    for context in contexts:
        context.close()
    double.about = None
