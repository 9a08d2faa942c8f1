"""A text chat with an agent in the terminal, or over a pipe: one line in, the answer out, until the input ends."""

from __future__ import annotations

import asyncio
import contextlib
import io
import sys
import threading
from collections.abc import AsyncIterator
from typing import Any

from antiphon.calls.models import ModelChoice
from antiphon.calls.record import CallRecord, Turn
from antiphon.calls.start import raise_error, start_session
from antiphon.calls.verdict import shortcomings
from antiphon.cli.call import say
from antiphon.cli.introduce import introduce
from antiphon.cli.keys import can_read_keys
from antiphon.cli.prompt import TypedChat
from antiphon.cli.screen import Screen
from antiphon.server.entrypoint import AgentServer
from antiphon.server.job import job_of
from antiphon.server.room import Room

LONGEST_LINE = 8_000
"""Characters of one turn from a pipe or a file; what is longer is several turns."""


async def chat(server: AgentServer, *, models: ModelChoice, screen: Screen, resume: str | None = None) -> list[str]:
    """Talk to the agent until the input ends, Ctrl-D is pressed, or the agent ends the call.

    `resume`: the id of a call whose process has ended, which goes on here. Returns what went wrong, each in a few
    words, where nobody sat there to see it.
    """
    has_spoken = False
    loop = asyncio.get_running_loop()
    began = loop.time()
    interactive = sys.stdin is not None and sys.stdin.isatty()
    keyboard = TypedChat(screen) if can_read_keys() and screen.console.is_terminal else None

    def on_turn(turn: Turn) -> None:
        # What was typed at the prompt stands on the screen already.
        if turn.role == "assistant" or not interactive:
            screen.turn(turn)

    record = CallRecord(lambda: loop.time() - began)
    screen.follow(record, on_turn)
    async with (
        keyboard.shown() if keyboard is not None else contextlib.nullcontext(),
        server.job(Room(), models=models, job=job_of(resume)) as job,
    ):
        job.on_session(record.listen)
        session = await start_session(job)
        await introduce(session, screen, "llm", more=" Ctrl-D ends the call.")
        await session.wait_for_idle()
        ended = asyncio.create_task(job.wait_for_shutdown())
        try:
            lines = typed_lines("> " if interactive else "", ended) if keyboard is None else keyboard.lines(ended)
            async for line in lines:
                if not session.is_running:  # it has just ended, and its job is about to
                    break
                has_spoken = True
                await say(session, line)
            raise_error(job)
        finally:
            ended.cancel()
    return [] if interactive else shortcomings(record.report(loop.time() - began), has_spoken=has_spoken)


async def typed_lines(prompt: str, ended: asyncio.Future[Any]) -> AsyncIterator[str]:
    """The lines typed, without empty ones, until the input ends or `ended` is done.

    A thread reads, one line at a time and only when asked: input may be a terminal, a pipe or a file, and a thread that
    still waits for the terminal must not keep the program from ending.
    """
    loop = asyncio.get_running_loop()
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # a file may hold anything
    while not ended.done():
        if prompt:
            sys.stdout.write(prompt)
            sys.stdout.flush()
        line: asyncio.Future[str] = loop.create_future()
        threading.Thread(target=_read, args=(loop, line), daemon=True).start()
        await asyncio.wait([line, ended], return_when=asyncio.FIRST_COMPLETED)
        if not line.done() or not line.result():
            if prompt:
                sys.stdout.write("\n")
            return
        if text := line.result().strip():
            yield text


def _read(loop: asyncio.AbstractEventLoop, line: asyncio.Future[str]) -> None:
    try:
        text = sys.stdin.readline(LONGEST_LINE)
    except (OSError, ValueError, AttributeError):  # the terminal is gone, or there never was an input
        text = ""

    def deliver() -> None:
        if not line.done():
            line.set_result(text)

    if not loop.is_closed():
        loop.call_soon_threadsafe(deliver)
