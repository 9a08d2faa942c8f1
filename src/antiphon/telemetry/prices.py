"""What tokens cost.

Above: telemetry. Below: nothing. Prices are the application's: there are none in the framework, which would be wrong
by next month.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

from antiphon.errors import UsageError
from antiphon.record import record


@record
class Price:
    """Of a model, for a million tokens, in whatever currency all prices are given in."""

    input: float
    output: float
    cached: float | None = None
    """Of tokens of the prompt that the provider had cached; None: as much as the others."""

    def of(self, prompt: int, completion: int, cached: int) -> float:
        """What a request cost. `cached` are among those of the prompt."""
        of_cached = self.input if self.cached is None else self.cached
        return ((prompt - cached) * self.input + cached * of_cached + completion * self.output) / 1e6


def read_prices(path: Path) -> dict[str, Price]:
    """Prices from a file of JSON: `{"gpt-4o-mini": {"input": 0.15, "output": 0.6, "cached": 0.075}}`.

    Raises `UsageError`, which names what is wrong.
    """
    form = 'expected {"MODEL": {"input": 0.15, "output": 0.60}}, prices for a million tokens'
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {form}; it cannot be read: {error}.") from error
    if not isinstance(data, dict):
        raise UsageError(f"{path}: {form}; got {type(data).__name__}.")
    return {model: _price(f"{path}: {model!r}", given) for model, given in data.items()}


def _price(where: str, given: object) -> Price:
    names = {"input", "output", "cached"}
    numbers = given if isinstance(given, dict) else {}
    if not {"input", "output"} <= set(numbers) <= names or not all(map(_is_price, numbers.values())):
        raise UsageError(
            f"{where}: expected numbers for input and output, and perhaps for cached, got {given!r}."
            ' Write it like {"input": 0.15, "output": 0.60}.'
        )
    return Price(**numbers)


def _is_price(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def price_of(prices: Mapping[str, Price], provider: str, model: str) -> Price | None:
    """The price of "openai/gpt-4o-mini", else of "gpt-4o-mini"."""
    return prices.get(f"{provider}/{model}") or prices.get(model)
