"""The connection to an endpoint that speaks OpenAI's protocol: one SDK client, made at first use, and its errors.

Above: `LLM`, `STT` and `TTS` of `antiphon.providers.openai`. Below: the `openai` package, which is imported here only,
and not before it is needed: that takes a second.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from antiphon.errors import ProviderConnectionError, ProviderError, ProviderStatusError, ProviderTimeout
from antiphon.providers.remote import RemoteProvider

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class OpenAIEndpoint(RemoteProvider):
    """Where requests go, and with which key. The base of what speaks the protocol.

    `client` is an `openai.AsyncOpenAI` of yours; it is used as it is and never closed. An endpoint on this machine or
    in its network needs no key.
    """

    key_variable = "OPENAI_API_KEY"
    package = "openai"
    extra = "openai"

    def connect_to(
        self,
        *,
        base_url: str | None,
        api_key: str | None,
        timeout: float,
        max_retries: int,
        client: AsyncOpenAI | None,
    ) -> None:
        """Note where to connect. Nothing is opened."""
        self._base_url = base_url
        self._api_key = api_key
        self._timeout = timeout
        self._max_retries = max_retries
        self._given = client
        self._own: tuple[asyncio.AbstractEventLoop, AsyncOpenAI] | None = None

    @property
    def base_url(self) -> str | None:
        """The endpoint given, else that of the environment, else None: OpenAI's own."""
        return self._base_url or os.environ.get("OPENAI_BASE_URL") or None

    @property
    def api_key(self) -> str | None:
        if self._given is not None:
            return self._given.api_key or "given with the client"
        if self._api_key:
            return self._api_key
        if self._base_url is not None and _is_near(self._base_url):
            return "none"  # the SDK wants one; and the environment's is not meant for this endpoint
        return super().api_key or ("none" if self.base_url is not None and _is_near(self.base_url) else None)

    def client(self) -> AsyncOpenAI:
        """The client for the running loop. Raises `MissingKey`."""
        key = self.require()
        if self._given is not None:
            return self._given
        loop = asyncio.get_running_loop()
        if self._own is None or self._own[0] is not loop:
            from openai import AsyncOpenAI

            # A client of a loop that is gone cannot be closed any more; its sockets went with the loop.
            client = AsyncOpenAI(
                api_key=key, base_url=self.base_url, timeout=self._timeout, max_retries=self._max_retries
            )
            self._own = (loop, client)
        return self._own[1]

    async def prewarm(self) -> None:
        """Import the SDK in a thread, so that the first request finds it there. Does nothing without a key."""
        if self.unusable() is None:
            await asyncio.to_thread(_import_sdk)

    async def aclose(self) -> None:
        """Close the connections. The provider may be used again; it then opens new ones."""
        own, self._own = self._own, None
        if own is not None and own[0] is asyncio.get_running_loop():
            await own[1].close()

    @contextmanager
    def translated_errors(self) -> Iterator[None]:
        """Errors of the SDK become `ProviderError`s that name this provider."""
        import httpx2
        import openai

        try:
            yield
        except openai.APITimeoutError as error:
            raise self._too_late() from error
        except openai.APIConnectionError as error:
            raise self.broken(error.__cause__ or error) from error
        except openai.APIStatusError as error:
            raise self._status_error(error) from None  # it quotes the whole answer, which may be a page of megabytes
        except openai.APIError as error:
            raise ProviderError(f"{self.label}: {self._place} says: {error.message}", provider=self.label) from None
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self.broken(f"it sent what is no JSON ({error})") from error
        # While a body is read, the SDK lets the errors of its HTTP library through.
        except httpx2.TimeoutException as error:
            raise self._too_late() from error
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise self.broken(error) from error

    def broken(self, why: object) -> ProviderConnectionError:
        """The connection cannot be had, or cannot be used any more."""
        said = why if isinstance(why, str) else f"{type(why).__name__}: {why}".removesuffix(": ")
        hint = " Does its server run?" if self.base_url is not None and _is_near(self.base_url) else ""
        return ProviderConnectionError(
            f"{self.label}: the connection to {self._place} broke: {said}.{hint}", provider=self.label
        )

    def _too_late(self) -> ProviderTimeout:
        return ProviderTimeout(
            f"{self.label}: no answer from {self._place} within {self._timeout:g} s. Raise timeout=, or check it.",
            provider=self.label,
        )

    @property
    def _place(self) -> str:
        if self._given is not None:
            return str(self._given.base_url)
        return self.base_url or "api.openai.com"

    def _status_error(self, error: Any) -> ProviderStatusError:
        status = int(error.status_code)
        message = f"{self.label}: {self._place} answered {status}: {error.message}"
        if status in (401, 403):
            message += f" Check the key: {self.key_variable}, or api_key=."
        if "v1/responses" in error.message or "not a chat model" in error.message:
            message += " The Responses API is not spoken here: choose a model of Chat Completions, such as gpt-4o-mini."
        spent = error.code == "insufficient_quota"  # a 429 that no waiting cures
        return ProviderStatusError(
            message, status=status, body=error.body, provider=self.label, retryable=False if spent else None
        )


def _import_sdk() -> None:
    import openai
    import openai.resources.chat  # noqa: F401 - imported lazily by the SDK, and slow


def _is_near(url: str) -> bool:
    """True for this machine and private networks, whose servers as a rule ask for no key."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith((".localhost", ".local", ".internal")):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_private
