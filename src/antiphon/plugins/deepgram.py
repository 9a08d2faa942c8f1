"""`deepgram.STT`, `deepgram.TTS`."""

from antiphon.providers.deepgram import STT, TTS

__all__ = ["STT", "TTS"]
