"""Which language model answers, in words, and which others there are: keys that are set, servers that run here.

Above: every shell that holds a call. Below: the models of a session, and `providers.endpoints`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from antiphon.calls.models import local_model
from antiphon.providers.endpoints import ENDPOINTS, servers_here
from antiphon.visible import one_line


def describe_model(model: Any) -> str:
    """A model as people know it: "openai.LLM gpt-4o-mini", "ollama.LLM llama3.2 at http://127.0.0.1:11434/v1"."""
    if is_stand_in(model):
        return str(model.label)  # which says that it is none
    name, place = getattr(model, "model", None), getattr(model, "base_url", None)
    told = f"{model.label} {name}" if isinstance(name, str) and name else str(model.label)
    return one_line(f"{told} at {place}" if isinstance(place, str) and place else told)


def is_stand_in(model: Any) -> bool:
    """Whether it is what answers where no language model was given."""
    return model is local_model("llm")


async def offers() -> list[str]:
    """The language models that could answer here, each in a line that says how."""
    found = [(f"--llm {name}", f"{variable} is set") for name, variable in _keys().items() if os.environ.get(variable)]
    for server in await servers_here():
        model = f"{server.name}/{server.models[0]}" if server.models else server.name
        found.append((f"--llm {model}", f"{ENDPOINTS[server.name].title} runs on this machine"))
    return [one_line(f"{why}. To have it answer: {how}") for how, why in found]


def _keys() -> Mapping[str, str]:
    vendors = {f"{name}/MODEL": one.key_variable for name, one in ENDPOINTS.items() if one.key_variable}
    return {"openai": "OPENAI_API_KEY", **vendors}
