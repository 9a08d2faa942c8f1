"""`antiphon download-files`: what calls would fetch or prepare the first time is there before it.

Above: `main.py`. Below: the models, each of which knows what it needs.
"""

from __future__ import annotations

from collections.abc import Mapping

from antiphon.calls.models import local_model, named_model
from antiphon.cli.screen import Screen
from antiphon.errors import AntiphonError, pass_on
from antiphon.protocols import ModelKind

KINDS: tuple[ModelKind, ...] = ("llm", "stt", "tts", "vad", "turn_detector")


async def download_files(named: Mapping[ModelKind, str], *, screen: Screen) -> None:
    """Load each model once: those that are named, and local ones for the rest. Raises `AntiphonError` if one fails."""
    for kind in KINDS:
        model = named_model(kind, named[kind]) if kind in named else local_model(kind)
        try:
            await model.prewarm()
        except Exception as error:
            pass_on(error)
            raise AntiphonError(f"{_name(model)} cannot be made ready: {error}") from error
        screen.notice(f"{_name(model)} is ready.")


def _name(model: object) -> str:
    return str(getattr(model, "label", type(model).__name__))
