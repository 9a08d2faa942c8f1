"""What all models have in common, whatever they hear, say or write.

Above: the contracts `LLM`, `STT`, `TTS` and `RealtimeModel`, and what treats them alike. Below: nothing.
"""

from __future__ import annotations


class Model:
    """Safe to share between calls; needs neither key nor network until the first use."""

    @property
    def label(self) -> str:
        """A name for logs and messages: "openai.LLM"."""
        return f"{type(self).__module__.rsplit('.', 1)[-1]}.{type(self).__name__}"

    async def prewarm(self) -> None:
        """Load or connect what takes long, before the first call."""

    async def aclose(self) -> None:
        """Release what it holds."""
