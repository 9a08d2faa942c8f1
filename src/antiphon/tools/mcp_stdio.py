"""An MCP server that is a program of this machine: messages over its stdin and stdout, its stderr in our log.

Above: `mcp_servers`. Below: the SDK's message types. The SDK has such a transport; this one trusts the program less. A
line has a greatest length, what is no message is counted and dropped, stderr never reaches the terminal, a program that
does not read is given up, and the end, which kills whatever the program has started, takes less than a second.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from antiphon.visible import one_line

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.shared.message import SessionMessage

logger = logging.getLogger("antiphon")

MAX_MESSAGE: Final = 4_000_000
"""Bytes of one message. A longer answer is not read, and the call that waits for it fails."""
MAX_PARTS: Final = 150_000
"""Values in one message: reading them, with all that the SDK checks, takes a quarter of a second."""
MAX_SKIPPED: Final = 16 * MAX_MESSAGE
"""Bytes that are dropped, of a line that does not end or of what is no message, before the program is given up."""
WRITE_LIMIT: Final = 2.0
"""Seconds in which the program must read what is sent to it."""
END_STEPS: Final = (0.3, 0.2, 0.2)
"""Seconds that the program has after its stdin is closed, after SIGTERM, and after SIGKILL."""
LOG_LINES: Final = 20
"""Lines of stderr that are logged in a second; what is beyond is counted."""

_CHUNK: Final = 65_536
_LOG_LINE: Final = 500
_ID = re.compile(rb'"id"\s*:\s*(\d{1,15}|"[^"\\]{1,64}")')


@asynccontextmanager
async def stdio_transport(
    command: str, args: Sequence[str], *, env: Mapping[str, str], cwd: str | Path | None, name: str
) -> AsyncIterator[tuple[Any, Any]]:
    """Start the program and exchange messages with it; the streams are what the SDK's client takes.

    `env` is added to the few variables that such programs inherit. Raises `OSError` if it cannot be started.
    """
    import anyio
    from mcp.client.stdio import get_default_environment
    from mcp.shared.message import SessionMessage

    process = await asyncio.create_subprocess_exec(
        shutil.which(command) or command,
        *args,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**get_default_environment(), **env},
        cwd=cwd,
        start_new_session=True,  # Ctrl-C is for us: we end it
    )
    received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    tasks = [
        asyncio.create_task(_read(process, received, name), name=f"MCP {name} stdout"),
        asyncio.create_task(_write(process, to_send, received, name), name=f"MCP {name} stdin"),
        asyncio.create_task(_log(process, name), name=f"MCP {name} stderr"),
    ]
    try:
        yield incoming, outgoing
    finally:
        incoming.close()
        outgoing.close()
        try:
            await _end(process, name)
        finally:
            _signal(process, _KILL)  # also when whoever closes is in a hurry
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=END_STEPS[-1])
            # A grandchild may hold the pipes open.
            process._transport.close()  # type: ignore[attr-defined]  # nothing public closes it


# -- what it says


async def _read(
    process: asyncio.subprocess.Process, received: MemoryObjectSendStream[SessionMessage | Exception], name: str
) -> None:
    import anyio

    assert process.stdout is not None
    lines = _Lines()
    async with received:
        while chunk := await process.stdout.read(_CHUNK):
            for line in lines.feed(chunk):
                message = _message(line)
                if message is None:
                    lines.skipped += len(line) + 1
                    if not lines.has_complained:
                        lines.has_complained = True
                        text = one_line(line[:200].decode(errors="replace"), 200)
                        logger.warning("MCP server %s: not a message on its stdout: %s", name, text)
                    continue
                try:
                    await received.send(message)
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    return
            if lines.skipped > MAX_SKIPPED:
                logger.warning("MCP server %s: given up: its stdout is full of what is no message", name)
                return


class _Lines:
    """Cuts what comes into lines, in time that grows with it, and keeps no more than a message."""

    def __init__(self) -> None:
        self.skipped = 0
        """Bytes that were of no use."""
        self.has_complained = False
        self._pieces: list[bytes] = []
        self._length = 0
        self._is_skipping = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that are whole now. In the place of one that is too long: its first bytes."""
        *ends, rest = chunk.split(b"\n")
        lines = []
        for end in ends:
            self._add(end)
            if not self._is_skipping and self._length:
                lines.append(b"".join(self._pieces))
            self._pieces, self._length, self._is_skipping = [], 0, False
        was_skipping = self._is_skipping
        self._add(rest)
        if self._is_skipping and not was_skipping:
            lines.append(b"".join(self._pieces))
            self._pieces = []
        return lines

    def _add(self, piece: bytes) -> None:
        if self._is_skipping:
            self.skipped += len(piece)
            return
        self._pieces.append(piece)
        self._length += len(piece)
        self._is_skipping = self._length > MAX_MESSAGE


def _message(line: bytes) -> SessionMessage | None:
    """The message of a line; None: it is no message. An error, for whoever waits for it, if it cannot be read."""
    from mcp.shared.message import SessionMessage
    from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

    reason = too_much(len(line), parts_in(line))
    if reason is None:
        try:
            return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValueError:
            reason = "the answer is not valid"
        try:  # halves of surrogate pairs, which Python reads and nobody else
            whole = json.dumps(json.loads(line), ensure_ascii=False).encode(errors="replace")
            return SessionMessage(jsonrpc_message_adapter.validate_json(whole, by_name=False))
        except (ValueError, RecursionError):
            pass
    head = line[:200]
    found = _ID.search(head) if b'"jsonrpc"' in head else None
    if found is None:
        return None
    written = found[1].decode(errors="replace")
    identity = written.strip('"') if written.startswith('"') else int(written)
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=identity, error=ErrorData(code=PARSE_ERROR, message=reason)))


def parts_in(text: bytes) -> int:
    """About how many values there are in a piece of JSON."""
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def too_much(length: int, parts: int) -> str | None:
    """Why a message is not read, or None."""
    if length > MAX_MESSAGE:
        return f"the answer is longer than {MAX_MESSAGE:,} bytes"
    return f"the answer has more than {MAX_PARTS:,} parts" if parts > MAX_PARTS else None


async def _write(
    process: asyncio.subprocess.Process,
    to_send: MemoryObjectReceiveStream[SessionMessage],
    received: MemoryObjectSendStream[SessionMessage | Exception],
    name: str,
) -> None:
    assert process.stdin is not None
    async with to_send:
        try:
            async for message in to_send:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(text.encode(errors="replace") + b"\n")
                async with asyncio.timeout(WRITE_LIMIT):
                    await process.stdin.drain()
        except TimeoutError:
            logger.warning("MCP server %s: given up: it has not read for %g s", name, WRITE_LIMIT)
        except OSError:
            pass  # it has ended, which its stdout tells
    # Nothing can be sent any more: whoever waits for an answer shall hear of it.
    received.close()


async def _log(process: asyncio.subprocess.Process, name: str) -> None:
    """Its stderr, line by line. It is read in any case: a program whose stderr is full stands still."""
    assert process.stderr is not None
    loop = asyncio.get_running_loop()
    second, logged, left_out = loop.time(), 0, 0
    rest = b""
    while chunk := await process.stderr.read(_CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > _LOG_LINE:
            lines, rest = [*lines, rest], b""
        if loop.time() - second >= 1.0:
            if left_out:
                logger.info("MCP server %s: %d more lines on its stderr", name, left_out)
            second, logged, left_out = loop.time(), 0, 0
        for line in lines[: LOG_LINES - logged]:
            logger.info("MCP server %s: %s", name, one_line(line[: 4 * _LOG_LINE].decode(errors="replace"), _LOG_LINE))
        left_out += max(0, len(lines) - (LOG_LINES - logged))
        logged = min(LOG_LINES, logged + len(lines))
    if rest or left_out:
        text = one_line(rest.decode(errors="replace"), _LOG_LINE) or f"{left_out} more lines on its stderr"
        logger.info("MCP server %s: %s", name, text)


# -- its end

_TERM: Final = signal.SIGTERM
_KILL: Final = getattr(signal, "SIGKILL", signal.SIGTERM)


async def _end(process: asyncio.subprocess.Process, name: str) -> None:
    """Close its stdin, as the protocol says; one that does not end by that is ended, with what it has started."""
    if process.stdin is not None:
        process.stdin.close()
    for wanted, seconds in zip((None, _TERM, _KILL), END_STEPS, strict=True):
        if wanted is not None:
            _signal(process, wanted)
        if await _has_ended(process, seconds):
            return
    logger.warning("MCP server %s: process %d is still there after it was killed", name, process.pid)


async def _has_ended(process: asyncio.subprocess.Process, seconds: float) -> bool:
    # Not process.wait(): that waits for the pipes, too, which a grandchild may hold.
    deadline = asyncio.get_running_loop().time() + seconds
    while process.returncode is None:
        if asyncio.get_running_loop().time() >= deadline:
            return False
        await asyncio.sleep(0.01)
    return True


def _signal(process: asyncio.subprocess.Process, wanted: signal.Signals) -> None:
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, wanted)  # its group is its own: see start_new_session
        elif process.returncode is None:
            process.send_signal(wanted)
