"""What all models have in common, whatever they hear, say or write.

Above: the contracts `LLM`, `STT`, `TTS` and `RealtimeModel`, and what treats them alike. Below: nothing.
"""

from __future__ import annotations

import logging
from typing import Any, ClassVar

from antiphon.options import is_given

logger = logging.getLogger("antiphon")

_told: set[tuple[type, str]] = set()
"""What was told already of a kind of model: options that it cannot change."""


class Model:
    """Safe to share between calls; needs neither key nor network until the first use."""

    adjustable: ClassVar[tuple[str, ...]] = ()
    """The attributes that `update_options` may set."""

    @property
    def label(self) -> str:
        """A name for logs and messages: "openai.LLM"."""
        return f"{type(self).__module__.rsplit('.', 1)[-1]}.{type(self).__name__}"

    def update_options(self, **options: Any) -> None:
        """Work differently from the next use on, in every session that shares this model.

        `adjustable` names what can be changed. Anything else is told in the log, once, and never an error: an agent
        written for another model runs with this one, too. `NOT_GIVEN` changes nothing.
        """
        for name, value in options.items():
            if not is_given(value) or self._adjust(name, value) or (type(self), name) in _told:
                continue
            _told.add((type(self), name))
            can = ", ".join(self.adjustable) or "nothing"
            logger.warning("%s cannot change %s (what it can change: %s); it goes on as it is", self.label, name, can)

    def _adjust(self, name: str, value: Any) -> bool:
        """Change one option. False: it cannot."""
        if name in self.adjustable:
            setattr(self, name, value)
        return name in self.adjustable

    async def prewarm(self) -> None:
        """Load or connect what takes long, before the first call."""

    async def aclose(self) -> None:
        """Release what it holds."""
