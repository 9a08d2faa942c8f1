"""`silero.VAD`, which runs in the process."""

from __future__ import annotations

from typing import Self

from antiphon.providers.local import SileroVAD


class VAD(SileroVAD):
    """The voice activity detector under the name that agent files use."""

    @classmethod
    def load(cls) -> Self:
        """A detector; its weights are read at first use, or by `prewarm`."""
        return cls()


__all__ = ["VAD"]
