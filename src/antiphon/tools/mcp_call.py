"""A call of an MCP server's tool: what goes out, what may come back meanwhile, what the model is told of the result.

Above: `mcp`, which makes tools of these. Below: `mcp_connection`. What a server sends is data: its progress and its
questions are bounded and cleaned, its questions are asked only where the application allows it, and say who asks.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from antiphon.chat import ImageContent
from antiphon.errors import ToolDefinitionError
from antiphon.language import Language
from antiphon.options import NOT_GIVEN, DuplicateMode, DuplicateScope, Effect, NotGivenOr, OnInterrupt, Repeat
from antiphon.protocols import RunningCall
from antiphon.tools.confirm import Confirm
from antiphon.tools.function import CallContext, OutcomeUnknown, ToolError, ToolFlag
from antiphon.tools.mcp_connection import Connection, InDoubt, NotConnected
from antiphon.tools.options import Identity, Redact
from antiphon.tools.toolset import ServerFunction

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult

logger = logging.getLogger("antiphon")

PROGRESS_INTERVAL: Final = 5.0
"""Seconds between two reports of one call's progress; what a server sends in between is not passed on."""
MAX_QUESTIONS: Final = 5
"""Questions that one call may put to the caller; further ones are declined."""
MAX_SPOKEN: Final = 500
"""Characters of a question or of a report of progress."""

_NO_DATA: Final[tuple[Any, ...]] = (None, {}, {"result": None})
"""Structured results that say nothing; the last is how the SDK's servers wrap a None."""


@dataclass(slots=True, frozen=True, kw_only=True)
class MCPToolOptions:
    """What is said about one tool of a server, in the place of its author. As the options of `function_tool`."""

    flags: ToolFlag = ToolFlag.NONE
    effect: NotGivenOr[Effect] = NOT_GIVEN
    """Not given: what a trusted server says, else "writes"."""
    timeout: float | None = None
    """Seconds; None: by effect."""
    filler: str | None = None
    on_duplicate: NotGivenOr[DuplicateMode] = NOT_GIVEN
    duplicate_scope: DuplicateScope = "name"
    identity: Identity | None = None
    repeat: Repeat = "per_turn"
    on_interrupt: NotGivenOr[OnInterrupt] = NOT_GIVEN
    parallel: NotGivenOr[bool] = NOT_GIVEN
    confirm: NotGivenOr[Confirm] = NOT_GIVEN
    """Not given: what is irreversible is read back and asked first."""
    undo: str | None = None
    """What the model calls the tool that takes back what this one did."""
    idempotent: bool = False
    """The server does a call once however often it comes with one key: it is sent again where a connection broke."""
    report_progress: bool = False
    """The server's progress notifications become `ctx.update`, so that the call goes on in the background."""
    redact: Redact = ()
    """Names of arguments, and "return", of which all but the server see a mask: these may have what is secret."""
    max_result_chars: int = 20_000


Asker: TypeAlias = Callable[[str, Language], str]
"""Makes of a server's question what the caller hears."""


class RemoteCall(ServerFunction):
    """The function of a server's tool: it sends a call, and tells the model what came back.

    `name` is what the model calls the tool, `remote_name` what the server does. `asker` makes of a question what the
    caller hears; None: the server may not ask. `connection` gives the connection of the moment.
    """

    def __init__(
        self,
        name: str,
        remote_name: str,
        *,
        server: str,
        effect: Effect,
        may_repeat: bool,
        report_progress: bool,
        asker: Asker | None,
        connection: Callable[[], Connection | None],
    ) -> None:
        self.server = server
        self.name = name
        self._remote_name = remote_name
        self._effect = effect
        self._may_repeat = may_repeat
        self._report_progress = report_progress
        self._asker = asker
        self._connection = connection

    async def __call__(self, raw_arguments: dict[str, Any], ctx: CallContext | None = None) -> Any:
        from mcp import MCPError

        name, connection = self.name, self._connection()
        call = ctx if isinstance(ctx, RunningCall) else None
        try:
            if connection is None:
                raise NotConnected("its toolset is closed")
            result = await connection.call(
                self._remote_name,
                raw_arguments,
                may_repeat=self._may_repeat,
                on_progress=None if call is None or not self._report_progress else _Progress(call).report,
                ask=None if call is None else _Questions(call, self.server, self._asker).ask,
                key=None if call is None else call.idempotency_key,
            )
        except NotConnected as error:
            logger.warning("MCP server %s: %r was not called: %s", self.server, name, error)
            raise ToolError(
                f"`{name}` was not called: the service behind it cannot be reached now. Tell the user, go on"
                " without it, or try again in a minute."
            ) from error
        except InDoubt as error:
            logger.warning("MCP server %s: lost during a call of %r: %s", self.server, name, error)
            raise OutcomeUnknown(_lost_text(name, self._effect)) from error
        except MCPError as error:
            raise ToolError(f"`{name}` failed: {cleaned(str(error))}") from error
        return _told(name, result)


class _Progress:
    """Passes a call's progress on, no more often than anybody wants to hear of it."""

    def __init__(self, call: RunningCall) -> None:
        self._call = call
        self._told: str | None = None
        self._next = 0.0

    async def report(self, progress: float, total: float | None, message: str | None) -> None:
        """A notification of the server."""
        now = asyncio.get_running_loop().time()
        text = cleaned(message or "") or (f"{progress:g} of {total:g} done" if total else f"{progress:g} done")
        if now >= self._next and text != self._told:
            self._next, self._told = now + PROGRESS_INTERVAL, text
            await self._call.update(text)


class _Questions:
    """Puts a server's questions to the caller, if it may ask: a few, which say who asks."""

    def __init__(self, call: RunningCall, server: str, asker: Asker | None) -> None:
        self._call = call
        self._server = server
        self._asker = asker
        self._number = 0

    async def ask(self, params: ElicitRequestParams) -> ElicitResult:
        """One question. Pages to visit cannot be shown in a call: such a question is declined."""
        from mcp_types import ElicitRequestFormParams, ElicitResult

        refusal = self._refusal(isinstance(params, ElicitRequestFormParams))
        if refusal is None and isinstance(params, ElicitRequestFormParams) and self._asker is not None:
            schema = params.requested_schema
            try:
                question = self._asker(cleaned(params.message), self._call.language)
                answer = await self._call.elicit(question, schema if isinstance(schema, dict) else dict(schema))
                return ElicitResult(action=answer.action, content=answer.content)
            except ToolDefinitionError as error:
                refusal = f"the form of its answer cannot be used: {cleaned(str(error))}"
        logger.warning("MCP server %s: a question to the caller was declined: %s", self._server, refusal)
        return ElicitResult(action="decline")

    def _refusal(self, is_form: bool) -> str | None:
        self._number += 1
        if self._asker is None:
            return "it may not ask. Give its toolset elicitation=True if it may"
        if not is_form:
            return "it wants the caller to visit a page, which a call cannot show"
        if self._number > MAX_QUESTIONS:
            return f"one call may ask {MAX_QUESTIONS} times"
        return None


def cleaned(text: str, limit: int = MAX_SPOKEN) -> str:
    """A server's words in one line of at most `limit` characters, without control characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * limit]).split())
    return line if len(line) <= limit and len(text) <= 4 * limit else f"{line[:limit]} [cut]"


def _lost_text(name: str, effect: Effect) -> str:
    if effect == "reads":
        return f"`{name}` gave no result: the connection to the service behind it broke, twice. Try again in a minute."
    return (
        f"The connection broke while `{name}` ran: it is unknown whether it happened; do not repeat it. Find out first,"
        " with another tool or by asking the user."
    )


def _told(name: str, result: CallToolResult) -> Any:
    """What the model is told of a result: text, pictures beside it, or structured data. Raises `ToolError`."""
    blocks = [_block(block) for block in result.content]
    texts = [block for block in blocks if isinstance(block, str)]
    if result.is_error:
        raise ToolError("\n".join(texts) or f"`{name}` failed, and the service did not say why.")
    text = "\n".join(texts)
    structured = result.structured_content
    if structured not in _NO_DATA and not _says_the_same(text, structured):
        data = json.dumps(structured, ensure_ascii=False)
        text = f"{text}\n{data}" if text else data
    images = [block for block in blocks if isinstance(block, ImageContent)]
    if images:
        return [text, *images] if text else (images[0] if len(images) == 1 else images)
    return text or f"`{name}` is done. It gave no result."


def _block(block: Any) -> str | ImageContent:
    match block.type:
        case "text":
            return str(block.text)
        case "image":
            try:
                return ImageContent(image=base64.b64decode(block.data), mime_type=block.mime_type)
            except binascii.Error:
                return "[a picture that could not be read]"
        case "resource" if (text := getattr(block.resource, "text", None)) is not None:
            return str(text)
        case "resource":
            return f"[a file: {block.resource.uri}]"
        case "resource_link":
            return f"[{block.name}: {block.uri}]"
        case _:
            return f"[{block.type}: cannot be shown]"


def _says_the_same(text: str, structured: Any) -> bool:
    """Whether `text` holds the structured data already: as JSON, or as the one value that it wraps."""
    values = [structured]
    if isinstance(structured, dict) and structured.keys() == {"result"}:
        values.append(structured["result"])
    if text in [value for value in values if isinstance(value, str)]:
        return True
    try:
        return json.loads(text) in values
    except ValueError:
        return False
