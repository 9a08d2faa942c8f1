"""More than one provider behind one name: when one fails or stalls, the next one goes on.

`FallbackLLM`, `FallbackSTT` and `FallbackTTS` are an `LLM`, an `STT` and a `TTS` themselves; whoever uses them sees a
provider that seldom fails. Nothing that was said, called or understood is replayed: a response, an utterance or a
text goes to the next provider only as far as nothing of it has been given yet.

Above: sessions. Below: the providers, by their contracts alone. `roster` knows who is up, `attempt` keeps one
provider's work apart from the next one's.
"""

from __future__ import annotations

from antiphon.adapters.fallback.llm import FallbackLLM
from antiphon.adapters.fallback.roster import AllProvidersFailed, AvailabilityChanged, Backoff
from antiphon.adapters.fallback.stt import FallbackSTT
from antiphon.adapters.fallback.tts import FallbackTTS

__all__ = ["AllProvidersFailed", "AvailabilityChanged", "Backoff", "FallbackLLM", "FallbackSTT", "FallbackTTS"]
