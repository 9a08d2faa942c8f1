"""What tokens cost.

Above: telemetry. Below: nothing. Prices are the application's: there are none in the framework, which would be wrong
by next month.
"""

from __future__ import annotations

from collections.abc import Mapping

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


def price_of(prices: Mapping[str, Price], provider: str, model: str) -> Price | None:
    """The price of "openai/gpt-4o-mini", else of "gpt-4o-mini"."""
    return prices.get(f"{provider}/{model}") or prices.get(model)
