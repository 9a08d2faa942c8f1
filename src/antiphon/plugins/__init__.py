"""Model vendors under the names that agent files import: thin, over `antiphon.providers`."""

from __future__ import annotations

import pkgutil
from typing import NoReturn


def __getattr__(name: str) -> NoReturn:
    # An import asks here first, also for a vendor that is there and not imported yet.
    if name.startswith("__") or name in _vendors():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise ImportError(
        f"{__name__} has no {name!r}, but {', '.join(_vendors())}. An endpoint that is compatible with OpenAI's is used"
        " with openai.LLM, openai.STT or openai.TTS and its base_url=; for any other write a class of your own over"
        " antiphon.llm.LLM, antiphon.stt.STT or antiphon.tts.TTS, and give it as llm=, stt= or tts=.",
        name=f"{__name__}.{name}",
    )


def _vendors() -> list[str]:
    return sorted(module.name for module in pkgutil.iter_modules(__path__))
