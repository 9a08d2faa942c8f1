"""`openai.LLM`, `openai.STT`, `openai.TTS`."""

from antiphon.providers.openai import LLM, STT, TTS

__all__ = ["LLM", "STT", "TTS"]
