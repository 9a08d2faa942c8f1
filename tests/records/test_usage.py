"""What a call used counts all that was asked of models: also what was made ahead and discarded, or stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from antiphon.events import TraceEvent
from antiphon.records.usage import ModelUsage, Usage
from antiphon.telemetry import Price
from tests.records.recorded import recorded

PRICES = {"fakes/fake": Price(input=1_000_000, output=2_000_000)}
"""A token read costs one, a token written two."""


class Told:
    """A session that tells what it is made to."""

    def on(self, name: str, callback: Any) -> None:
        assert name == "trace"
        self.tell = callback

    def agent_by_id(self, agent: str) -> Any:
        class OfAgent:
            class llm:
                label, model = "openai.LLM", "mini"

        return OfAgent

    def response(self, number: int, outcome: str, text: str = "", **tokens: int) -> None:
        at, stretch = float(number), f"gen_{number}"
        self.tell(TraceEvent(what="begin", kind="model", stretch=stretch, at=at, data={"agent": "desk"}))
        data, said = {"outcome": outcome, **tokens}, {"text": text}
        self.tell(TraceEvent(what="end", kind="model", stretch=stretch, at=at, data=data, said=said))


def used(prices: Any = None) -> tuple[Told, Usage]:
    session: Any = Told()
    return session, Usage(session, prices or {"mini": Price(input=1_000_000, output=2_000_000)})


def test_a_real_call_has_what_its_model_reported_and_its_price(tmp_path: Path) -> None:
    record = recorded(tmp_path, prices=PRICES)
    (name, model) = next(iter(record.metrics["usage"]["models"].items()))
    sums = record.metrics["metrics"]
    assert name == "fakes/fake" and model["requests"] == 2 and model["outcomes"] == {"done": 2}
    assert model["prompt_tokens"] == sums["prompt_tokens"] and model["unwanted_tokens"] == 0
    expected = sums["prompt_tokens"] + 2 * sums["completion_tokens"]
    assert record.metrics["cost"]["total"] == expected > 0
    assert record.metrics["usage"]["tokens"] == sums["prompt_tokens"] + sums["completion_tokens"]


def test_without_prices_there_is_no_cost(tmp_path: Path) -> None:
    assert "cost" not in recorded(tmp_path).metrics


def test_what_was_made_ahead_and_discarded_counts() -> None:
    session, usage = used()
    session.response(1, "discarded", prompt=100, completion=10, cached=0)
    session.response(2, "done", prompt=100, completion=20, cached=0)
    told, cost = usage.usage(), usage.cost()
    assert told["tokens"] == 230 and told["models"]["openai/mini"]["unwanted_tokens"] == 110
    assert cost is not None and (cost["total"], cost["unwanted"]) == (260, 120)


def test_what_was_stopped_and_never_reported_is_estimated_and_told_apart() -> None:
    session, usage = used()
    session.response(1, "done", prompt=100, completion=20, cached=0)
    session.response(2, "stopped", text="so much was written")
    told = usage.usage()["models"]["openai/mini"]
    assert (told["prompt_tokens"], told["unreported"], told["estimated_prompt_tokens"]) == (100, 1, 100)
    assert told["estimated_completion_tokens"] > 0 and told["unwanted_tokens"] > 100
    cost = usage.cost()
    assert cost is not None and cost["unwanted"] >= 100


def test_of_a_model_that_counts_nothing_nothing_is_made_up() -> None:
    model = ModelUsage()
    assert model.ended({"outcome": "done"}, "some words") == (0, 0, 0)
    assert (model.requests, model.unreported, model.estimated_completion_tokens) == (1, 1, 0)


def test_models_without_a_price_are_named() -> None:
    session, usage = used({"other": Price(input=1, output=1)})
    session.response(1, "done", prompt=1, completion=1, cached=0)
    assert usage.cost() is None
