"""`cartesia.TTS`."""

from antiphon.providers.cartesia import TTS

__all__ = ["TTS"]
