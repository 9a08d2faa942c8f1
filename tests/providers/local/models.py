"""Which local models are installed, as marks for the tests that need them."""

from __future__ import annotations

import pytest

from antiphon.providers.local.convert import SOURCES
from antiphon.providers.local.weights import HIBARI, SILERO, Weights


def _needs(weights: Weights) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not weights.is_installed(), reason=f"needs {weights.requirement}: {weights.install}")


needs_silero = _needs(SILERO)
needs_hibari = _needs(HIBARI)
needs_moonshine = _needs(SOURCES[0])
