"""Where a LiveKit server is, the keys to it, and what is asked of it beside rooms and jobs.

Above: whoever joins rooms or works for the server. Below: `livekit.api`, loaded when it is needed.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from antiphon.errors import UsageError
from antiphon.server.entrypoint import Permissions

if TYPE_CHECKING:
    from livekit import api as livekit_api

AGENT_NAME = "lk.agent.name"
"""The attribute that tells an agent's name."""
STATE = "lk.agent.state"
"""The attribute that tells what an agent does."""


@dataclass(frozen=True)
class LiveKitServer:
    """A LiveKit server. `url` is "wss://..." or "ws://..."."""

    url: str
    key: str
    secret: str = field(repr=False)

    @classmethod
    def from_environment(
        cls, url: str | None = None, key: str | None = None, secret: str | None = None
    ) -> LiveKitServer:
        """What is not given is taken from LIVEKIT_URL, LIVEKIT_API_KEY, LIVEKIT_API_SECRET.

        Raises `UsageError` for what is missing or no address.
        """
        values = {
            "LIVEKIT_URL": url or os.environ.get("LIVEKIT_URL", ""),
            "LIVEKIT_API_KEY": key or os.environ.get("LIVEKIT_API_KEY", ""),
            "LIVEKIT_API_SECRET": secret or os.environ.get("LIVEKIT_API_SECRET", ""),
        }
        missing = [name for name, value in values.items() if not value]
        if missing:
            raise UsageError(f"no LiveKit server is known: set {', '.join(missing)} in the environment.")
        scheme, place, path, _, _ = urlsplit(values["LIVEKIT_URL"])
        schemes = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}
        if scheme not in schemes or not place:
            raise UsageError(f"LIVEKIT_URL: expected wss://host or ws://host, got {values['LIVEKIT_URL']!r}.")
        address = urlunsplit((schemes[scheme], place, path.rstrip("/"), "", ""))
        return cls(address, values["LIVEKIT_API_KEY"], values["LIVEKIT_API_SECRET"])

    def worker_token(self) -> str:
        """Lets a worker register."""
        api = _api()
        return str(api.AccessToken(self.key, self.secret).with_grants(api.VideoGrants(agent=True)).to_jwt())

    def agent_token(
        self,
        room: str,
        *,
        identity: str = "",
        attributes: Mapping[str, str] | None = None,
        permissions: Permissions | None = None,
    ) -> str:
        """Lets an agent into a room without a dispatch. `identity`: "" is a new one."""
        api, may = _api(), permissions or Permissions()
        made = api.AccessToken(self.key, self.secret).with_kind("agent").with_attributes(dict(attributes or {}))
        grants = api.VideoGrants(
            room_join=True,
            room=room,
            agent=True,
            can_publish=may.can_publish,
            can_subscribe=may.can_subscribe,
            can_publish_data=may.can_publish_data,
            can_update_own_metadata=may.can_update_metadata,
            hidden=may.hidden,
        )
        return str(made.with_identity(identity or f"agent-{uuid.uuid4().hex[:12]}").with_grants(grants).to_jwt())

    @cached_property
    def api(self) -> livekit_api.LiveKitAPI:
        """LiveKit's own client for all else. It lives until `aclose`; the first use needs a running loop."""
        client: livekit_api.LiveKitAPI = _api().LiveKitAPI(self.url, self.key, self.secret)
        return client

    async def delete_room(self, name: str) -> None:
        """Remove a room, which disconnects everybody in it. No effect if there is none of that name."""
        api = _api()
        try:
            await self.api.room.delete_room(api.DeleteRoomRequest(room=name))
        except api.TwirpError as error:
            if error.code != api.TwirpErrorCode.NOT_FOUND:
                raise

    async def somebody_waits(self, room: str) -> bool:
        """Whether a person or a telephone is in a room."""
        api = _api()
        try:
            found = await self.api.room.list_participants(api.ListParticipantsRequest(room=room))
        except api.TwirpError as error:
            if error.code != api.TwirpErrorCode.NOT_FOUND:
                raise
            return False
        return any(one.kind in (api.ParticipantInfo.STANDARD, api.ParticipantInfo.SIP) for one in found.participants)

    async def remove(self, room: str, identity: str) -> None:
        """Remove a participant. No effect if there is none of that identity."""
        api = _api()
        try:
            await self.api.room.remove_participant(api.RoomParticipantIdentity(room=room, identity=identity))
        except api.TwirpError as error:
            if error.code != api.TwirpErrorCode.NOT_FOUND:
                raise

    async def dispatch(self, agent_name: str, room: str, metadata: str = "") -> None:
        """Ask for an agent in a room."""
        api = _api()
        await self.api.agent_dispatch.create_dispatch(
            api.CreateAgentDispatchRequest(agent_name=agent_name, room=room, metadata=metadata)
        )

    async def aclose(self) -> None:
        """Close the client."""
        if "api" in vars(self):
            await self.api.aclose()


def _api() -> Any:
    try:
        from livekit import api
    except ImportError as error:
        raise UsageError(
            f"a LiveKit server needs the package livekit-api ({error}). Install it with:"
            " pip install 'antiphon[livekit]'"
        ) from None
    return api
