"""`openai.LLM`, `openai.STT`, `openai.TTS`, `openai.realtime.RealtimeModel`."""

from antiphon.providers import openai_realtime as realtime
from antiphon.providers.openai import LLM, STT, TTS

__all__ = ["LLM", "STT", "TTS", "realtime"]
