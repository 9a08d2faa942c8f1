"""The routes of the studio: its page's files, and calls as JSON for it.

Above: `antiphon dev`, which has them beside its own page, and `antiphon studio`. Below: the shelf of records, and live
calls. Records are personal data: every answer needs what `Access` asks for, and nobody on the way keeps a copy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from antiphon.console.access import Access
from antiphon.console.protocol import Refused
from antiphon.console.studio.asked import search_of
from antiphon.console.studio.live import Live
from antiphon.console.studio.shelf import Gone, Shelf
from antiphon.console.studio.story import audio_of, piece
from antiphon.errors import AntiphonError, UsageError
from antiphon.records.format import AUDIO
from antiphon.records.steps import request_data
from antiphon.visible import to_json, visible_data

if TYPE_CHECKING:
    from starlette.requests import Request

    Answer = Callable[[Request], Awaitable[Response]]

SECRET = {"Cache-Control": "no-store"}
"""Of what was said in a call, no browser and nobody on the way keeps a copy."""

STORY = Path(__file__).parents[2] / "calls" / "static" / "story"
"""The code and the look that reports of calls have in them."""

NO_CALL = "There is no such call: it was erased, or never was."


class Studio:
    """What the page asks for. `shelf` None: there are no records here."""

    def __init__(self, shelf: Shelf | None, live: Live, access: Access) -> None:
        self.shelf = shelf
        self.live = live
        self._access = access

    def routes(self) -> list[BaseRoute]:
        """Under /studio/, the page's files; under /studio/api/, what it asks for; under /story/, what tells a call."""
        answers: dict[str, Answer] = {
            "calls": self._calls,
            "figures": self._figures,
            "words": self._words,
            "call": self._call,
            "step": self._step,
            "live": self._live_call,
            "sound": self._sound,
        }
        return [
            *(Route(f"/studio/api/{name}", self._guarded(answer)) for name, answer in answers.items()),
            Mount("/story", StaticFiles(directory=STORY)),
        ]

    async def aclose(self) -> None:
        """Nothing is asked of the records any more."""
        if self.shelf is not None:
            await self.shelf.aclose()

    def _guarded(self, answer: Answer) -> Answer:
        """The same for whoever may ask; what cannot be had is told in words."""

        async def guarded(request: Request) -> Response:
            try:
                self._access.check(request, asyncio.get_running_loop().time())
                return await answer(request)
            except Refused as refusal:
                return _told(refusal.reason, refusal.code - 4000)
            except Gone:
                return _told(NO_CALL, 404)
            except UsageError as error:
                return _told(str(error), 400)
            except AntiphonError as error:
                return _told(str(error), 422)
            except TimeoutError:
                return _told("The store did not answer in time. Is it in reach?", 503)
            except OSError as error:
                return _told(f"{error}. Look whether the place of the records is in reach, and may be read.", 503)

        return guarded

    @property
    def _records(self) -> Shelf:
        if self.shelf is None:
            raise Gone
        return self.shelf

    async def _calls(self, request: Request) -> Response:
        wanted = search_of(request.query_params)
        live = await self.live.listed()
        found: dict[str, Any] = {"calls": [], "count": 0, "all": 0, "broken": [], "whole": True}
        if self.shelf is not None:
            found = await self.shelf.listed(wanted)
            ended = {one["id"] for one in found["calls"]}
            live = [one for one in live if one["id"] not in ended]
        place = None if self.shelf is None else str(self.shelf)
        return _json({**found, "live": live, "place": place, "trouble": self.live.trouble})

    async def _figures(self, request: Request) -> Response:
        return _json(await self._records.figures(search_of(request.query_params)))

    async def _words(self, request: Request) -> Response:
        return _json({} if self.shelf is None else await self.shelf.words())

    async def _call(self, request: Request) -> Response:
        told = await self._records.story(request.query_params.get("name", ""))
        return await asyncio.to_thread(_json, told)

    async def _step(self, request: Request) -> Response:
        """The input of a step, of a call that has ended or goes on."""
        number, call = request.query_params.get("number", ""), request.query_params.get("id")
        if not number.isdecimal() or len(number) > 9:
            raise UsageError(f"number: expected that of a step, got {number[:20]!r}")
        if call is not None:
            told = self.live.step(call, int(number))
        else:
            record = await self._records.record(request.query_params.get("name", ""))
            told = await asyncio.to_thread(lambda: request_data(record.requests, int(number)))
        if told is None:
            return _told("Not recorded: there is no such request.", 404)
        return _json(told)

    async def _live_call(self, request: Request) -> Response:
        call = request.query_params.get("id", "")
        told = await self.live.story(call)
        if told is not None:
            return await asyncio.to_thread(_json, told)  # calls by voice may be held by this loop
        # It has ended: its record says how, as soon as it is written.
        name = None if self.shelf is None else await self.shelf.name_of(call)
        return _json({"ended": True, "name": name})

    async def _sound(self, request: Request) -> Response:
        record = await self._records.record(request.query_params.get("name", ""))
        where = await asyncio.to_thread(audio_of, record)
        if where is None:
            return _told("This record has no sound that can be played.", 404)
        if isinstance(where, Path):
            return FileResponse(where, media_type="audio/wav", headers=SECRET)
        content = await asyncio.to_thread(record.files.read, AUDIO)
        if content is None:
            return _told("The sound of this record is missing.", 404)
        try:
            part = piece(request.headers.get("range", ""), len(content))
        except ValueError:
            return Response(status_code=416, headers={"Content-Range": f"bytes */{len(content)}", **SECRET})
        headers = {"Accept-Ranges": "bytes", **SECRET}
        if part is None:
            return Response(content, media_type="audio/wav", headers=headers)
        first, last = part
        headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
        return Response(content[first : last + 1], 206, media_type="audio/wav", headers=headers)


_FIGURES = frozenset({"replies", "peaks", "callerSpans", "agentSpans"})
"""What of a story is numbers, thousands of them, and names of stages."""


def _json(data: dict[str, Any]) -> Response:
    told = {name: value if name in _FIGURES else visible_data(value) for name, value in data.items()}
    return Response(to_json(told, separators=(",", ":")), media_type="application/json", headers=SECRET)


def _told(text: str, status: int) -> Response:
    return PlainTextResponse(" ".join(text.split())[:1000], status, headers=SECRET)
