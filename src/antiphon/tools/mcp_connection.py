"""A connection to an MCP server that is kept up.

Above: `mcp`, which makes tools of what the server offers. Below: the official SDK, imported when a connection opens.

The SDK's `Client` lives in a task of its own, the keeper: when a transport breaks, the SDK cancels the task that holds
the client, and that must never be a tool's. The keeper's life is one loop:

    connect, list the tools --> online --(broken)--> wait, longer each time, or until a call wants the connection -.
        ^                          |  `--(the list changed)--> list again                                          |
        |                          `--(closing)--> end                                                             |
        `----------------------------------------------------------------------------------------------------------'

A call whose connection breaks after it was sent is in doubt: whether the server has done it cannot be known. It is
sent again only if the caller says that this is harmless.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from antiphon.errors import pass_on
from antiphon.scope import is_cancelled
from antiphon.timer import within
from antiphon.tools.mcp_guard import Transport, guarded
from antiphon.visible import guard_logs

if TYPE_CHECKING:
    from mcp import Client
    from mcp.shared.dispatcher import ProgressFnT
    from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult
    from mcp_types import Tool as RemoteTool

logger = logging.getLogger("antiphon")

FIRST_DELAY: Final = 0.2
"""Seconds before the second attempt to connect; each further one waits twice as long."""
MAX_DELAY: Final = 30.0
"""Seconds between attempts at most."""
STEADY: Final = 5.0
"""A connection that lasted so many seconds was a good one: after it, attempts begin with `FIRST_DELAY` again."""
LISTEN_PAUSE: Final = 1.0
"""Seconds before changes are listened for again, after the server ended that."""
CALL_LIMIT: Final = 900.0
"""Seconds that a call may take here. The session's limits are shorter, and stop while the caller is asked."""
CLOSE_PATIENCE: Final = 0.85
"""Seconds that a connection has to close: a little less than the second that a session has."""
FORGOTTEN_GRACE: Final = 0.5
"""Seconds that calls under way have to hear what becomes of them, once the server has forgotten their session."""
RELIST_PAUSE: Final = 1.0
"""Seconds at least between two readings of the list of tools."""
MAX_LISTED: Final = 10_000
"""Tools that are read of a list."""
MAX_PAGES: Final = 100
"""Pages of tools that are read; a server whose list never ends must not hold us."""
KEY: Final = "antiphon/idempotency-key"
"""What the key of a call's wish is called in `_meta`."""

SDK_LOGGERS: Final = (
    "client",
    "mcp.client.caching",
    "mcp.client.client",
    "mcp.client.sse",
    "mcp.client.stdio",
    "mcp.client.streamable_http",
    "mcp.shared.direct_dispatcher",
    "mcp.shared.dispatcher",
    "mcp.shared.jsonrpc_dispatcher",
    "mcp.shared.tool_name_validation",
)
"""Where the SDK tells of what a server sent that it cannot take: a line for each, in the server's words."""

Ask: TypeAlias = "Callable[[ElicitRequestParams], Coroutine[Any, Any, ElicitResult]]"
"""Puts a question of the server to the caller."""


class NotConnected(Exception):
    """There is no connection, and an attempt to make one has just failed. Nothing was sent."""


class InDoubt(Exception):
    """The connection broke, or nothing came back, after a call was sent."""


class _Forgotten(Exception):
    """The server no longer knows the session in which the call was sent: it has not done it."""


class _Link:
    """One connection, from its beginning to its break."""

    def __init__(self) -> None:
        self.client: Client | None = None
        self.is_broken = False
        self.is_forgotten = False
        """The server no longer knows the session: no call is sent any more."""
        self.is_stale = False
        """The server said that its tools changed."""
        self._stirred = asyncio.Event()

    def broke(self) -> None:
        """It is of no use any more."""
        self.is_broken = True
        self._stirred.set()

    def forgotten(self) -> None:
        """The server no longer knows the session. Calls that were sent beside may hear the same, for a moment."""
        if not self.is_forgotten:
            self.is_forgotten = True
            asyncio.get_running_loop().call_later(FORGOTTEN_GRACE, self.broke)

    def changed(self) -> None:
        """The tools shall be listed again."""
        self.is_stale = True
        self._stirred.set()

    def stir(self) -> None:
        """Whoever waits shall look again."""
        self._stirred.set()

    async def stirred(self, limit: float | None = None) -> None:
        """Until something happened, or `limit` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit):
                await self._stirred.wait()
        self._stirred.clear()


class _Call:
    """A call under way: where its questions go, and the context of the tool that made it."""

    def __init__(self, ask: Ask | None, link: _Link | None = None) -> None:
        self.is_forgotten = False
        """The server said that it does not know the session."""
        self.link = link
        self._ask = ask
        self._context = contextvars.copy_context()
        self._asking: set[asyncio.Task[ElicitResult]] = set()

    async def ask(self, params: ElicitRequestParams) -> ElicitResult:
        """Ask in the tool's own context: the SDK calls back from wherever it reads."""
        from mcp_types import ElicitResult

        if self._ask is None:
            return ElicitResult(action="cancel")
        task = asyncio.get_running_loop().create_task(self._ask(params), context=self._context)
        self._asking.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if is_cancelled():
                task.cancel()
                raise
            return ElicitResult(action="cancel")
        finally:
            self._asking.discard(task)

    def forgotten(self) -> None:
        """The server no longer knows the session in which it was sent."""
        self.is_forgotten = True
        if self.link is not None:
            self.link.forgotten()

    async def end(self) -> None:
        """Nobody waits for answers any more."""
        for task in self._asking:
            task.cancel()
        if self._asking:
            await asyncio.wait(set(self._asking), timeout=CLOSE_PATIENCE)


_current_call: contextvars.ContextVar[_Call | None] = contextvars.ContextVar("antiphon_mcp_call", default=None)


def session_forgotten() -> None:
    """The server answers that it does not know the session. Called where a request of a call is answered."""
    if (call := _current_call.get()) is not None:
        call.forgotten()


class Connection:
    """Keeps one MCP server connected between `open` and `close`.

    `connect_timeout` is for each attempt, listing the tools included; `request_timeout` for every later request that is
    no call. `on_tools` is told what the server offers, at first and on each change.
    """

    def __init__(
        self,
        transport: Callable[[], Transport],
        *,
        name: str,
        connect_timeout: float,
        request_timeout: float,
        on_tools: Callable[[list[RemoteTool]], Awaitable[None]],
    ) -> None:
        self._transport = transport
        self._name = name
        self._connect_timeout = connect_timeout
        self._request_timeout = request_timeout
        self._on_tools = on_tools
        self._link: _Link | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._attempt: asyncio.Future[Exception | None] | None = None
        """How the attempt that is being made, or the next one, ends."""
        self._is_closing = False
        self._wanted = asyncio.Event()
        """A call waits for the connection, or it closes: no use in waiting out a delay."""
        self._calls: list[_Call] = []

    @property
    def is_online(self) -> bool:
        """Whether calls can be sent now."""
        return self._link is not None

    async def open(self) -> None:
        """Connect. Raises what the first attempt failed with; it is closed then."""
        guard_logs(*SDK_LOGGERS)
        self._is_closing = False
        self._attempt = asyncio.get_running_loop().create_future()
        self._keeper = asyncio.create_task(self._keep(), name=f"MCP {self._name}")
        try:
            failure = await asyncio.shield(self._attempt)
        except BaseException:
            await self.close()
            raise
        if failure is not None:
            await self.close()
            raise failure

    async def close(self) -> None:
        """End the connection and its server process, if it has one. May be called twice."""
        self.give_up()
        keeper, self._keeper = self._keeper, None
        if keeper is None:
            return
        try:
            await asyncio.wait([keeper], timeout=CLOSE_PATIENCE)
        finally:
            # Also when whoever closes is in a hurry: the keeper's end is the process's end.
            keeper.cancel()

    def give_up(self) -> None:
        """Begin to close. An `open` that still waits fails at once."""
        self._is_closing = True
        self._wanted.set()
        if self._link is not None:
            self._link.stir()
        elif self._keeper is not None:
            self._keeper.cancel()

    async def refresh(self) -> None:
        """Have the tools listed again, soon."""
        if self._link is not None:
            self._link.changed()

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        *,
        may_repeat: bool,
        on_progress: ProgressFnT | None = None,
        ask: Ask | None = None,
        key: str | None = None,
    ) -> CallToolResult:
        """Call a tool. `may_repeat`: after a broken connection it is sent once more, else `InDoubt` is raised.

        `key`: what the server may know the wish by, the same however often it hears of it; sent as `_meta`'s `KEY`.

        Raises `NotConnected`, `InDoubt`, `mcp.MCPError` for what the server refuses, and what the SDK raises for an
        answer that is no MCP.
        """
        may_open_anew = True
        while True:
            link = await self._online_link()
            try:
                meta = None if key is None else {KEY: key}
                return await self._exchange(link, partial(_send, name, arguments, on_progress, meta), ask)
            except _Forgotten as error:
                if not may_open_anew:
                    raise NotConnected(str(error)) from error
                may_open_anew = False
            except InDoubt:
                link.broke()
                if not may_repeat:
                    raise
                may_repeat = False

    async def _exchange(
        self, link: _Link, send: Callable[[Client], Awaitable[CallToolResult]], ask: Ask | None
    ) -> CallToolResult:
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT

        assert link.client is not None  # set before the link is shown to calls
        call = _Call(ask, link)
        self._calls.append(call)
        token = _current_call.set(call)
        try:
            return await send(link.client)
        except MCPError as error:
            if call.is_forgotten:
                raise _Forgotten("it forgets each session that is opened") from error
            if error.code in (CONNECTION_CLOSED, REQUEST_TIMEOUT):
                raise InDoubt(str(error)) from error
            raise
        except BaseException as error:
            pass_on(error)
            # Streams that were closed under the call, a client that ended: the SDK has no one class for these.
            if call.is_forgotten:
                raise _Forgotten("it forgets each session that is opened") from error
            if link is self._link and not link.is_broken and not isinstance(error, OSError):
                raise
            raise InDoubt(_reason(error)) from error
        finally:
            _current_call.reset(token)
            self._calls.remove(call)
            if link.is_forgotten and all(other.link is not link for other in self._calls):
                link.broke()
            await call.end()

    async def _online_link(self) -> _Link:
        if self._link is not None and not (self._link.is_broken or self._link.is_forgotten):
            return self._link
        if self._keeper is None or self._attempt is None:
            raise NotConnected("it is not set up, or closed already")
        self._wanted.set()
        try:
            async with asyncio.timeout(self._connect_timeout):
                failure = await asyncio.shield(self._attempt)
        except TimeoutError:
            raise NotConnected(f"no connection within {self._connect_timeout:g} s") from None
        if failure is not None or self._link is None:
            raise NotConnected(_reason(failure) if failure else "it broke again")
        return self._link

    # -- the keeper

    async def _keep(self) -> None:
        loop = asyncio.get_running_loop()
        delay = FIRST_DELAY
        try:
            while not self._is_closing:
                began = loop.time()
                self._wanted.clear()
                failure = await self._stay_connected()
                if self._is_closing:
                    return
                logger.warning("MCP server %s: not connected: %s", self._name, failure)
                if loop.time() - began > STEADY:
                    delay = FIRST_DELAY
                await self._pause(delay)
                delay = min(2 * delay, MAX_DELAY)
        finally:
            self._settle(NotConnected("it was closed"))

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wanted.wait()

    def _settle(self, failure: Exception | None) -> None:
        """Tell those who wait how the attempt ended."""
        attempt, self._attempt = self._attempt, asyncio.get_running_loop().create_future()
        if attempt is not None and not attempt.done():
            attempt.set_result(failure)

    async def _stay_connected(self) -> Exception | None:
        """One connection, from the attempt to its end. Returns what ended it; None: it was closed."""
        link = _Link()
        is_settled = False
        limit = asyncio.timeout(self._connect_timeout)
        try:
            async with contextlib.AsyncExitStack() as stack:
                async with limit:
                    link.client = await stack.enter_async_context(self._client(link))
                    tools = await self._list(link)
                await self._on_tools(tools)
                self._link = link
                self._settle(None)
                is_settled = True
                stack.push_async_callback(_end, asyncio.create_task(self._listen(link), name=f"MCP {self._name} news"))
                stack.callback(self._offline)
                await self._serve(link)
            return None if self._is_closing else ConnectionError("the server ended the connection")
        except asyncio.CancelledError:
            # The SDK cancels the task that holds a client when its transport breaks.
            if is_cancelled():
                raise
            failure: Exception = ConnectionError("the connection broke")
        except BaseException as error:
            pass_on(error)
            # The SDK wraps what it is told in groups, a time limit too.
            late = f"no answer within {self._connect_timeout:g} s"
            failure = ConnectionError(late if limit.expired() else _reason(error))
            failure.__cause__ = error
        if not is_settled:
            self._settle(failure)
        return failure

    def _offline(self) -> None:
        self._link = None

    async def _serve(self, link: _Link) -> None:
        """Until the link breaks or is closed: list the tools again when they changed."""
        loop = asyncio.get_running_loop()
        listed = loop.time()
        while not self._is_closing and not link.is_broken:
            if link.is_stale and (early := listed + RELIST_PAUSE - loop.time()) > 0:
                await link.stirred(early)
                continue
            if link.is_stale:
                link.is_stale = False
                listed = loop.time()
                try:
                    async with within(self._request_timeout):
                        tools = await self._list(link)
                except TimeoutError:
                    logger.warning("MCP server %s: its tools changed, but it does not list them", self._name)
                else:
                    await self._on_tools(tools)
            await link.stirred()

    async def _listen(self, link: _Link) -> None:
        """Hear of changes from servers that are to be asked for them; others send them by themselves."""
        from mcp import MCPError
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

        assert link.client is not None
        while True:
            try:
                async with link.client.listen(tools_list_changed=True) as events:
                    link.changed()  # what happened before this began was not told
                    async for _ in events:
                        link.changed()
            except (ListenNotSupportedError, MCPError, TimeoutError):
                return
            except SubscriptionLost:
                pass
            link.changed()  # whether the server is still there shows when the tools are listed
            await asyncio.sleep(LISTEN_PAUSE)

    async def _list(self, link: _Link) -> list[RemoteTool]:
        assert link.client is not None
        tools: list[RemoteTool] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await link.client.list_tools(cursor=cursor)
            tools += page.tools
            cursor = page.next_cursor
            if not cursor or len(tools) >= MAX_LISTED:
                break
        return tools[:MAX_LISTED]

    def _client(self, link: _Link) -> Client:
        from mcp import Client

        async def heard(message: object) -> None:
            """The guard has heard it already; the SDK's own way is a checkpoint for each."""

        async def ask(context: object, params: ElicitRequestParams) -> ElicitResult:
            return await self._call_that_asks().ask(params)

        return Client(
            guarded(self._transport(), name=self._name, on_change=link.changed, on_end=link.broke),
            read_timeout_seconds=self._request_timeout,
            message_handler=heard,
            elicitation_callback=ask,
            cache=None,
        )

    def _call_that_asks(self) -> _Call:
        """The call that a question belongs to. Older servers do not say: then the last one made that is under way."""
        call = _current_call.get()
        if call is not None:
            return call
        return self._calls[-1] if self._calls else _Call(None)


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task], timeout=CLOSE_PATIENCE)
    if task.done() and not task.cancelled() and (error := task.exception()) is not None:
        logger.debug("listening for changes ended: %s", error)


def _reason(error: BaseException | None) -> str:
    """What is at the bottom of an error: the SDK wraps them in groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if error is None:
        return "it ended"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


async def _send(
    name: str, arguments: dict[str, Any], on_progress: ProgressFnT | None, meta: Any, client: Client
) -> CallToolResult:
    return await client.call_tool(name, arguments, CALL_LIMIT, on_progress, meta=meta)
