"""Background and hold sound: `BackgroundAudioPlayer` plays under the agent's speech and while it works."""

from antiphon.background_audio.clips import BuiltinAudioClip
from antiphon.background_audio.player import AudioConfig, AudioSource, BackgroundAudioPlayer, PlayHandle

__all__ = ["AudioConfig", "AudioSource", "BackgroundAudioPlayer", "BuiltinAudioClip", "PlayHandle"]
