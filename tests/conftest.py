"""What holds for every test: records refuse changes, and the log is as the test before found it."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

import antiphon.core.commands
import antiphon.core.facts
import antiphon.events
import antiphon.metrics  # noqa: F401  # loaded, so that their records are known
from antiphon.record import guard

guard()


@pytest.fixture(autouse=True)
def log_as_found() -> Iterator[None]:
    """A test that runs the command line in this process gets its handler, and its level; the next one does not."""
    logger = logging.getLogger("antiphon")
    handlers, level, propagate = logger.handlers[:], logger.level, logger.propagate
    yield
    logger.handlers[:] = handlers
    logger.setLevel(level)
    logger.propagate = propagate
