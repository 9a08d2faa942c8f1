"""Calls that are asked for by HTTP: whoever has the server's token has one made, looks at it, or ends it.

Above: `telephone`, under whose addresses they are. Below: `Dialing`. A call costs money, so that without a token nobody
has one made, not even from this machine: a tunnel makes the whole world seem to be there.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from antiphon.console.protocol import Refused
from antiphon.console.wires import MAX_BODY
from antiphon.errors import UsageError
from antiphon.server.telephone import DialBusy, Dialing, DialRequest

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.routing import BaseRoute

    from antiphon.console.calls import Calls
    from antiphon.server.telephone import Settings

FIELDS = {"to": str, "from": str, "agent": str, "metadata": (str, dict), "ring_timeout": (int, float), "key": str}
"""What a request may say, and of which types."""
_NO_STORE = {"Cache-Control": "no-store"}


def dial_routes(root: str, calls: Calls, settings: Settings, dialing: Dialing) -> list[BaseRoute]:
    """`POST root/calls` makes a call, `GET root/calls/ID` tells how it stands, `DELETE` ends it."""

    async def make(request: Request) -> Response:
        if not settings.public_url:
            raise UsageError("dial: the carrier must know where this server is. Start with --public-url https://...")
        said = await _said(request)
        key = said.get("key") or request.headers.get("idempotency-key", "")
        if not key:
            raise UsageError("dial: expected a key (or the header Idempotency-Key). Give the id of what it is for.")
        server = calls.file.server
        agent = said.get("agent", "")
        if server is None:
            raise DialBusy("dial: the agent file cannot be served at this moment. See the log.")
        server.check_agent(agent)
        wish = DialRequest.checked(
            said.get("to", ""),
            said.get("from") or settings.number,
            agent_name=agent,
            metadata=said.get("metadata", ""),
            ring_timeout=said.get("ring_timeout", 30.0),
            key=key,
        )
        call = await dialing.dial(wish)
        return JSONResponse(call.to_json(), 202, headers=_NO_STORE)

    async def look(request: Request) -> Response:
        call = await dialing.find(request.path_params["id"])
        if call is None:
            return JSONResponse({"error": "there is no call of this id, or it was long ago"}, 404)
        if request.method == "DELETE":
            call.hang_up()
        return JSONResponse(call.to_json(), headers=_NO_STORE)

    return [
        Route(f"{root}/calls", _for_owners(calls, make), methods=["POST"]),
        Route(f"{root}/calls/{{id}}", _for_owners(calls, look), methods=["GET", "DELETE"]),
    ]


def _for_owners(
    calls: Calls, answer: Callable[[Request], Awaitable[Response]]
) -> Callable[[Request], Awaitable[Response]]:
    """Only whoever has the token is answered, and what is wrong is said."""

    async def guarded(request: Request) -> Response:
        if not calls.access.token:
            return JSONResponse({"error": "calls are made for those with a token. Start with --token TEXT."}, 403)
        try:
            scheme, _, token = request.headers.get("authorization", "").partition(" ")
            given = token if scheme.lower() == "bearer" else None
            calls.access.check(request, asyncio.get_running_loop().time(), token=given)
            return await answer(request)
        except Refused as refusal:
            return JSONResponse({"error": refusal.reason}, refusal.code - 4000)
        except DialBusy as busy:
            return JSONResponse({"error": str(busy)}, 503, headers={"Retry-After": "5"})
        except UsageError as error:
            return JSONResponse({"error": str(error)}, 400)

    return guarded


async def _said(request: Request) -> dict[str, Any]:
    """The fields of a request. Raises `UsageError`."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_BODY:
            raise UsageError(f"dial: expected a request of {MAX_BODY} bytes at most. Give less metadata.")
    try:
        said = json.loads(body)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        raise UsageError('dial: expected a JSON object. Send {"to": "+15550123456", "key": "reminder-7"}.')
    for name, value in said.items():
        types: Any = FIELDS.get(name)
        if types is None:
            raise UsageError(f"dial: expected the fields {', '.join(FIELDS)}, got {name[:40]!r}. Leave it out.")
        if not isinstance(value, types) or isinstance(value, bool):
            raise UsageError(f"dial: expected {name!r} to be {_named(types)}, got {type(value).__name__}. Change it.")
    return said


def _named(types: Any) -> str:
    return " or ".join(one.__name__ for one in (types if isinstance(types, tuple) else (types,)))
