"""A carrier's REST interface: calls are made, looked at, changed and ended.

Above: transfers, the end of a call, calls to people. Below: an HTTP client, which is loaded when it is first needed.
Twilio's and Telnyx's TeXML interface take the same parameters at the same places.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from antiphon.errors import AntiphonError, UsageError, missing_package
from antiphon.server.telephone.settings import Settings

if TYPE_CHECKING:
    import httpx2

logger = logging.getLogger("antiphon")

TIMEOUT = 10.0
"""Seconds that the carrier has for an answer."""
OVER = frozenset({"completed", "busy", "no-answer", "failed", "canceled"})
"""What is said of a call that has ended."""


class CarrierError(AntiphonError):
    """The carrier did not do what it was asked for. `status` is HTTP's, 0 where there was no answer."""

    def __init__(self, what: str, status: int = 0, *, was_sent: bool = True) -> None:
        super().__init__(what)
        self.status = status
        self._was_sent = was_sent

    @property
    def may_have_happened(self) -> bool:
        """The request went out, and no answer says that it was refused."""
        return self._was_sent and (self.status in (0, 408) or self.status >= 500)


@dataclass(slots=True, frozen=True)
class Leg:
    """How it stands with a call."""

    id: str
    status: str
    """The carrier's word: queued, initiated, ringing, in-progress, or one of `OVER`."""
    answered_by: str = ""
    """What answered, if the carrier was asked to find out: human, machine_start, ..., fax, unknown."""

    @property
    def is_machine(self) -> bool:
        """A voicemail, a fax."""
        return self.answered_by.startswith("machine") or self.answered_by == "fax"


class CarrierApi:
    """Of one account. `client` is closed by whoever gave it; without one there is one of its own."""

    def __init__(self, settings: Settings, client: httpx2.AsyncClient | None = None) -> None:
        self._settings = settings
        self._client = client
        self._is_own = client is None
        dialect = settings.dialect
        self._base = (settings.api_url or dialect.api).format(account=quote(settings.account, safe=""))

    @property
    def is_usable(self) -> bool:
        """Whether the account is known."""
        return bool(self._settings.account and self._settings.api_key)

    def check_usable(self, what: str) -> None:
        """Raise `UsageError` if the account is not known. `what` names what it is needed for."""
        if not self.is_usable:
            dialect = self._settings.dialect
            raise UsageError(f"{what}: expected {dialect.account} and {dialect.key} in the environment. Set both.")

    async def create(
        self,
        to: str,
        from_: str,
        *,
        url: str = "",
        markup: str = "",
        status_url: str = "",
        ring: float = 30.0,
        find_machines: bool = False,
        tell_progress: bool = False,
    ) -> str:
        """Call `to`, and do what `markup` says when somebody answers, or what `url` answers. Returns the call's id.

        `tell_progress`: `status_url` is asked at each step, and not at the end alone.
        """
        given = {"To": to, "From": from_, "Timeout": str(round(ring))}
        given.update({"Url": url} if url else {self._settings.dialect.markup: markup})
        if status_url:
            given["StatusCallback"] = status_url
        if tell_progress:
            given["StatusCallbackEvent"] = "initiated ringing answered completed"
        if find_machines:
            given["MachineDetection"] = "Enable"
        answer = await self._ask("POST", "Calls", given)
        found = answer.get("sid")
        if not isinstance(found, str) or not found:
            raise CarrierError("the carrier answered without the id of the call that it was to make")
        return found

    async def look(self, call: str) -> Leg:
        """How it stands with a call."""
        answer = await self._ask("GET", f"Calls/{quote(call, safe='')}")
        return Leg(call, str(answer.get("status") or ""), str(answer.get("answered_by") or ""))

    async def made(self, to: str, from_: str, *, since: float) -> list[str]:
        """The calls from here between these numbers that were made since (seconds since the epoch), the last first.

        One whose time the carrier does not say counts.
        """
        answer = await self._ask("GET", "Calls", query={"To": to, "From": from_, "PageSize": "50"})
        listed = answer.get("calls")
        if not isinstance(listed, list):
            raise CarrierError("the carrier was asked for its calls, and answered without a list of them")
        return [
            str(one["sid"])
            for one in listed
            if isinstance(one, dict)
            and one.get("sid")
            and one.get("to", to) == to
            and not str(one.get("direction") or "outbound").startswith("inbound")
            and _made_at(one) >= since
        ]

    async def redirect(self, call: str, markup: str) -> None:
        """Have a call do something else from now on. Its stream ends."""
        await self._ask("POST", f"Calls/{quote(call, safe='')}", {self._settings.dialect.markup: markup})

    async def end(self, call: str) -> None:
        """End a call, whether it rings or was answered. One that is over is no error."""
        try:
            await self._ask("POST", f"Calls/{quote(call, safe='')}", {"Status": "completed"})
        except CarrierError as error:
            if error.status not in (400, 404, 409):
                raise

    async def people_in(self, conference: str) -> int:
        """How many are in the conference of this name; 0 where there is none."""
        found = await self._ask("GET", "Conferences", query={"FriendlyName": conference, "Status": "in-progress"})
        listed = found.get("conferences")
        if not isinstance(listed, list) or not listed or not isinstance(listed[0], dict):
            return 0
        place = f"Conferences/{quote(str(listed[0].get('sid') or ''), safe='')}/Participants"
        people = (await self._ask("GET", place)).get("participants")
        return len(people) if isinstance(people, list) else 0

    async def aclose(self) -> None:
        """Let go of the carrier."""
        client, self._client = self._client, None
        if client is not None and self._is_own:
            await client.aclose()

    async def _ask(
        self, method: str, place: str, given: Mapping[str, str] | None = None, *, query: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        self.check_usable(f"the API of {self._settings.dialect.name}")
        client = self._opened()
        url = f"{self._base}/{place}{self._settings.dialect.suffix}"
        headers, auth = {}, None
        if self._settings.dialect.key == self._settings.dialect.secret:
            auth = (self._settings.account, self._settings.api_key)
        else:
            headers["Authorization"] = f"Bearer {self._settings.api_key}"
        try:
            response = await client.request(method, url, data=given, params=query, headers=headers, auth=auth)
            answer = response.json() if response.content else {}
        except (_http_error(), ValueError) as error:
            was_sent = not isinstance(error, _never_sent())
            told = f"the carrier was asked for {place}: {type(error).__name__}: {error}"
            raise CarrierError(told, was_sent=was_sent) from error
        said = answer if isinstance(answer, dict) else {}
        if response.status_code >= 400:
            why = str(said.get("message") or "")[:300]
            raise CarrierError(
                f"the carrier refused {place}: {response.status_code} {why}".rstrip(), response.status_code
            )
        return said

    def _opened(self) -> httpx2.AsyncClient:
        if self._client is None:
            try:
                import httpx2
            except ModuleNotFoundError:
                raise missing_package("a carrier's API", "httpx2", "telephone") from None
            self._client = httpx2.AsyncClient(timeout=TIMEOUT)
        return self._client


def _made_at(call: Mapping[str, Any]) -> float:
    """Seconds since the epoch; infinite where nobody says."""
    try:
        return parsedate_to_datetime(str(call.get("date_created") or call.get("start_time") or "")).timestamp()
    except ValueError:
        return math.inf


def _never_sent() -> tuple[type[Exception], ...]:
    import httpx2

    return (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)


def _http_error() -> type[Exception]:
    import httpx2

    return httpx2.HTTPError
