"""The arguments of a tool call, as a model writes them."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from antiphon.tools.arguments import BadArguments, canonical_text, parse_arguments
from tests.wires import mutate
from tests.wires.wire import Finding, Wire, well_formed

SEEDS: tuple[Any, ...] = (
    {},
    {"date": "next Friday", "people": 4},
    {"items": [{"name": "tea", "price": 2.5}, {"name": "cake", "price": None}], "to_go": True},
    {"note": 'she said "yes", {really}', "emoji": "👍", "path": "C:\\x\\ud55c"},
)
WRAPPINGS = ("```json\n{}\n```", "<tool_call>{}</tool_call>", "{} Shall I?", "<|python_tag|>{}", "{}{}", "{},")
PIECES = (
    "{", "}", "[", "]", ":", ",", '"', "'", "\\", "\\\\", '\\"', "\\'", " ", "\n", "a", "1", '{"a":1}', "'a': ", '"a"',
    "```", "json", "<|", "|>", "<s>", "true", "null", "//", "#", "/*", "(", ")", "...", "\\u0041", "\ud800", "é",
)  # fmt: skip


def make(random: Random) -> Any:
    seed = random.choice(SEEDS)
    match random.randrange(8):
        case 0:
            return mutate.changed(random, seed)
        case 1:
            return random.choice(WRAPPINGS).replace("{}", json.dumps(seed))
        case 2:
            return json.dumps(mutate.written(random, seed))
        case 3:
            return str(seed)  # as Python writes it
        case 4 if random.random() < 0.1:
            return mutate.deep(random)
        case 4 if random.random() < 0.3:
            return mutate.long(random, PIECES)
        case 5:
            return mutate.torn_text(random, str(seed))
        case _:
            return mutate.written(random, mutate.changed(random, seed))


def feed(given: Any) -> None:
    read = parse_arguments(given)
    if not isinstance(read.arguments, dict):
        raise Finding(f"expected an object, got {read.arguments!r}")
    well_formed(read.text, "the text of the arguments")
    if not isinstance(json.loads(read.text, parse_constant=_refuse), dict):
        raise Finding(f"the text is no object: {read.text!r}")
    canonical_text(read.arguments)


def _refuse(name: str) -> None:
    raise Finding(f"the text holds {name}, which is no JSON")


WIRE = Wire("arguments", make, feed, declared=(BadArguments,), share=2.0)
