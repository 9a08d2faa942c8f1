"""How well, and how fast, `tool_search` finds tools: `python benchmarks/tool_search.py`.

The question sets of `bfcl-eval` (`pip install --no-deps bfcl-eval==2026.3.23`) with one turn and known answers, all
their tools in one library. A question counts as found if every tool that answers it is among the first five. Printed
beside: plain BM25 over the same texts. Of tools with one name the first is kept; the query is the user's last message.
"""

from __future__ import annotations

import importlib.util
import json
import math
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from antiphon.tools.function import ToolSpec
from antiphon.tools.ranking import ToolIndex

SETS = (
    "simple_python",
    "simple_java",
    "simple_javascript",
    "multiple",
    "parallel",
    "parallel_multiple",
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
)
TOP = 5

Search = Callable[[str, int], Sequence[int]]


@dataclass(frozen=True)
class Question:
    """What a user asks, and the tools that answer it."""

    set: str
    text: str
    answers: frozenset[str]


def load() -> tuple[list[ToolSpec], list[Question]]:
    """All tools and all questions of the sets."""
    found = importlib.util.find_spec("bfcl_eval")
    if found is None or found.origin is None:
        sys.exit("bfcl-eval is not installed: pip install --no-deps bfcl-eval==2026.3.23")
    data = Path(found.origin).parent / "data"
    tools: dict[str, ToolSpec] = {}
    questions: list[Question] = []
    for name in SETS:
        answers = {row["id"]: row["ground_truth"] for row in _rows(data / f"possible_answer/BFCL_v4_{name}.json")}
        for row in _rows(data / f"BFCL_v4_{name}.json"):
            for tool in row["function"]:
                tools.setdefault(tool["name"], ToolSpec(tool["name"], tool["description"], tool["parameters"]))
            said = [message["content"] for turn in row["question"] for message in turn if message["role"] == "user"]
            wanted = frozenset(called for call in answers[row["id"]] for called in call)
            questions.append(Question(name, said[-1], wanted))
    return list(tools.values()), questions


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def plain_bm25(specs: Sequence[ToolSpec], *, k1: float = 1.5, b: float = 0.75) -> Search:
    """Okapi BM25 over name, description and parameters as one text, cut at everything that is no word character."""

    def text(spec: ToolSpec) -> str:
        properties = spec.parameters.get("properties", {})
        described = [f"{name} {schema.get('description', '')}" for name, schema in properties.items()]
        return " ".join([spec.name, spec.description, *described])

    def cut(text: str) -> list[str]:
        return re.findall(r"\w+", text.lower())

    counts = [Counter(cut(text(spec))) for spec in specs]
    usual = sum(one.total() for one in counts) / len(counts)
    places: dict[str, list[tuple[int, float]]] = {}
    for place, one in enumerate(counts):
        for word, times in one.items():
            weight = times * (k1 + 1) / (times + k1 * (1 - b + b * one.total() / usual))
            places.setdefault(word, []).append((place, weight))

    def search(query: str, limit: int) -> list[int]:
        totals: Counter[int] = Counter()
        for word in cut(query):
            having = places.get(word, [])
            rarity = math.log(1 + (len(specs) - len(having) + 0.5) / (len(having) + 0.5))
            for place, weight in having:
                totals[place] += rarity * weight  # type: ignore[assignment]  # a Counter of floats
        return [place for place, _ in totals.most_common(limit)]

    return search


def report(label: str, search: Search, specs: Sequence[ToolSpec], questions: Sequence[Question]) -> None:
    """Print the share of questions found, by set, and the time a query takes."""
    found: Counter[str] = Counter()
    times = []
    for question in questions:
        began = time.perf_counter()
        places = search(question.text, TOP)
        times.append((time.perf_counter() - began) * 1000)
        found[question.set] += question.answers <= {specs[place].name for place in places}
    times.sort()
    total = Counter(question.set for question in questions)
    print(f"{label}: {sum(found.values()) / len(questions):.1%} of {len(questions)} questions, top {TOP}")
    print(f"  ms a query: mean {sum(times) / len(times):.2f}, p50 {times[len(times) // 2]:.2f}, ", end="")
    print(f"p99 {times[int(len(times) * 0.99)]:.2f}, max {times[-1]:.2f}")
    print("  " + ", ".join(f"{name} {found[name] / total[name]:.1%}" for name in SETS))


def main() -> None:
    """Load, build, measure, print."""
    specs, questions = load()
    began = time.perf_counter()
    index = ToolIndex(specs)
    print(f"{len(specs)} tools, indexed in {(time.perf_counter() - began) * 1000:.0f} ms")
    report("tool_search", index.search, specs, questions)
    report("plain BM25", plain_bm25(specs), specs, questions)


if __name__ == "__main__":
    main()
