"""LiveKit's names are answered by this package in a test that asks for it, and by nobody after it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from antiphon.compat import livekit
from antiphon_livekit.notices import forget


@pytest.fixture
def installed() -> Iterator[None]:
    livekit.install()
    forget()
    yield
    livekit.uninstall()
