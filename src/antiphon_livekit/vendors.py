"""The names of LiveKit's plugins: models of vendors, by the model that takes their place here."""

from __future__ import annotations

from collections.abc import Mapping

from antiphon_livekit.names import Name, absent, ours, renamed

OTHER_VENDORS: Mapping[str, str] = {
    "anthropic": "LLM",
    "assemblyai": "STT",
    "aws": "LLM STT TTS",
    "azure": "STT TTS",
    "baseten": "LLM STT TTS",
    "cerebras": "LLM",
    "clova": "STT",
    "elevenlabs": "STT TTS",
    "fal": "STT",
    "fireworksai": "LLM STT",
    "gladia": "STT",
    "google": "LLM STT TTS",
    "groq": "LLM STT TTS",
    "hume": "TTS",
    "inworld": "TTS",
    "lmnt": "TTS",
    "mistralai": "LLM STT",
    "neuphonic": "TTS",
    "playai": "TTS",
    "resemble": "TTS",
    "rime": "TTS",
    "sarvam": "STT TTS",
    "smallestai": "TTS",
    "soniox": "STT",
    "speechmatics": "STT TTS",
    "spitch": "STT TTS",
}
"""Vendors whose models have a name only: a local one takes their place, with a line that says so."""

VENDORS_BY_PYDANTIC_AI = ("anthropic", "cerebras", "google", "groq", "mistralai")
"""Those of them whose language models are used, by way of pydantic-ai."""


def _vendor_note(vendor: str, kind: str) -> str:
    if kind == "LLM" and vendor in VENDORS_BY_PYDANTIC_AI:
        return "by way of pydantic-ai; options that it does not know are told"
    return "not built yet: a local model takes its place"


def _realtime(vendor: str) -> list[Name]:
    note = "not built yet: a local model with a local voice takes its place"
    return [renamed("RealtimeModel", f"antiphon_livekit.models:{vendor}_RealtimeModel", note)]


PLUGINS: Mapping[str, list[Name]] = {
    "livekit.plugins": [],
    "livekit.plugins.openai": [
        renamed("LLM", "antiphon_livekit.models:openai_LLM", "options that it does not know are told"),
        renamed("STT", "antiphon_livekit.models:openai_STT", "options that it does not know are told"),
        renamed("TTS", "antiphon_livekit.models:openai_TTS", "options that it does not know are told"),
        *absent("use openai.LLM", "responses"),
    ],
    "livekit.plugins.openai.realtime": [
        renamed(
            "RealtimeModel", "providers.openai_realtime:RealtimeModel", "options that it does not know are a TypeError"
        )
    ],
    "livekit.plugins.google.realtime": _realtime("google"),
    "livekit.plugins.google.beta": [],
    "livekit.plugins.google.beta.realtime": _realtime("google"),
    "livekit.plugins.deepgram": [
        renamed("STT", "antiphon_livekit.models:deepgram_STT", "options that it does not know are told"),
        renamed("TTS", "antiphon_livekit.models:deepgram_TTS", "options that it does not know are told"),
        *absent("use deepgram.STT", "STTv2"),
    ],
    "livekit.plugins.cartesia": [
        renamed("TTS", "antiphon_livekit.models:cartesia_TTS", "options that it does not know are told"),
        *absent("use deepgram.STT", "STT"),
    ],
    "livekit.plugins.silero": [
        renamed("VAD", "antiphon_livekit.models:VAD", "its options are its own; those of load() are told")
    ],
    "livekit.plugins.turn_detector": [],
    "livekit.plugins.turn_detector.multilingual": [
        renamed(
            "MultilingualModel", "antiphon_livekit.models:TurnDetector", "judges the words, in English, without a model"
        )
    ],
    "livekit.plugins.turn_detector.english": [
        renamed("EnglishModel", "antiphon_livekit.models:TurnDetector", "judges the words, without a model")
    ],
    "livekit.plugins.noise_cancellation": ours("quiet", "NC BVC BVCTelephony", "audio is heard as it comes"),
    **{
        f"livekit.plugins.{vendor}": [
            renamed(kind, f"antiphon_livekit.models:{vendor}_{kind}", _vendor_note(vendor, kind))
            for kind in kinds.split()
        ]
        for vendor, kinds in OTHER_VENDORS.items()
    },
}
