"""What a call used: tokens of every request, also of those that were made ahead and discarded, or stopped half-way.

A model that is stopped often never says what it had cost. Its request is then counted with what the request before it
had, and what it had written is counted as estimated; both stand apart from what models said.

Above: the recording of a call. Below: the session's `trace` events; prices, which the application gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from antiphon.events import TraceEvent
from antiphon.session import AgentSession
from antiphon.telemetry.models import Named, named
from antiphon.telemetry.prices import Price, price_of
from antiphon.text.tokens import tokens_of


@dataclass(slots=True)
class ModelUsage:
    """What one language model was used for. Tokens are those that it reported, unless it says otherwise."""

    requests: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    """How requests ended: done, stopped, discarded, failed, open."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    """Of the prompt's."""
    unwanted_tokens: int = 0
    """Of all, the estimated ones included: those of requests that were stopped, discarded or failed."""
    unreported: int = 0
    """Requests of which it never said what they cost."""
    estimated_prompt_tokens: int = 0
    estimated_completion_tokens: int = 0
    """Of these."""
    last_prompt: int = 0

    def ended(self, data: Mapping[str, Any], written: str) -> tuple[int, int, int]:
        """A request is over. Returns its tokens: of the prompt, written, cached."""
        outcome = str(data.get("outcome", "open"))
        self.requests += 1
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        if data.get("prompt") is None and data.get("completion") is None:
            prompt, completion, cached = self.last_prompt, tokens_of(written) if written else 0, 0
            self.unreported += 1
            self.estimated_prompt_tokens += prompt
            self.estimated_completion_tokens += completion if self.last_prompt else 0
            completion = completion if self.last_prompt else 0
        else:
            prompt, completion, cached = (int(data.get(name) or 0) for name in ("prompt", "completion", "cached"))
            self.last_prompt = prompt
            self.prompt_tokens += prompt
            self.completion_tokens += completion
            self.cached_tokens += cached
        if outcome != "done":
            self.unwanted_tokens += prompt + completion
        return prompt, completion, cached


class Usage:
    """Follows one session. `prices`: by model, as telemetry has them."""

    def __init__(self, session: AgentSession[Any], prices: Mapping[str, Price]) -> None:
        self._session = session
        self._prices = prices
        self._models: dict[Named, ModelUsage] = {}
        self._asked: dict[str, Named] = {}
        """By stretch: whose request it is."""
        self._costs: dict[Named, float] = {}
        self._unwanted_cost = 0.0
        session.on("trace", self._traced)

    def _traced(self, event: TraceEvent) -> None:
        if event.kind == "model" and event.what == "begin":
            agent = self._session.agent_by_id(event.data["agent"]) if event.data.get("agent") else None
            self._asked[event.stretch] = named(getattr(agent, "llm", None))
        elif event.what == "end" and (model := self._asked.pop(event.stretch, None)) is not None:
            used = self._models.setdefault(model, ModelUsage())
            tokens = used.ended(event.data, event.said.get("text", ""))
            price = price_of(self._prices, model.provider, model.model)
            if price is not None:
                cost = price.of(*tokens)
                self._costs[model] = self._costs.get(model, 0.0) + cost
                self._unwanted_cost += cost if event.data.get("outcome") != "done" else 0.0

    def usage(self) -> dict[str, Any]:
        """The object `usage` of `metrics.json`."""
        models = {}
        for model, used in self._models.items():
            told = asdict(used)
            del told["last_prompt"]
            models[_shown(model)] = told
        tokens = sum(
            used.prompt_tokens
            + used.completion_tokens
            + used.estimated_prompt_tokens
            + used.estimated_completion_tokens
            for used in self._models.values()
        )
        return {"models": models, "tokens": tokens}

    def cost(self) -> dict[str, Any] | None:
        """The object `cost`, in the currency of the prices; None: no price of its models is known."""
        if not self._costs:
            return None
        return {
            "total": round(sum(self._costs.values()), 8),
            "unwanted": round(self._unwanted_cost, 8),
            "models": {_shown(model): round(cost, 8) for model, cost in self._costs.items()},
            "unpriced": [_shown(model) for model in self._models if model not in self._costs],
        }


def _shown(model: Named) -> str:
    return f"{model.provider}/{model.model}" if model.model else model.provider
