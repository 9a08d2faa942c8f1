"""Background sound, with the parameters that LiveKit's player takes."""

from __future__ import annotations

from typing import Any

from antiphon.background_audio import BackgroundAudioPlayer as Player
from antiphon.background_audio.player import Choice


class BackgroundAudioPlayer(Player):
    """Plays sounds in a call. Settings of a published track and of a stream's patience have no meaning here."""

    def __init__(self, *, ambient_sound: Choice | None = None, thinking_sound: Choice | None = None, **_: Any) -> None:
        super().__init__(ambient_sound=ambient_sound, thinking_sound=thinking_sound)

    async def start(self, *, room: Any, agent_session: Any = None, **_: Any) -> None:
        """Begin to play in a room. Without `agent_session` there is no thinking sound."""
        if agent_session is None:
            self.think_silently()
        await super().start(room=room, agent_session=agent_session)
