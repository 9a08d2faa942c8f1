"""A page server under attack while somebody else talks.

`python -m tests.console.attacked [NAME ...]` prints what came of each attack.

A stall is measured two ways. `busy`: the longest time for which the server's loop computed without a break, in CPU
seconds, which no other program on the machine can lengthen. `gap`: the longest time by which the loop was late, in real
seconds, which also counts what the machine did besides.
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from websockets.exceptions import WebSocketException

from antiphon.console.serve import PageServer, Place
from tests.console.attacks import ATTACKS, OVER_TLS
from tests.console.page import Page
from tests.console.serving import VOICE, serving, write

TOKEN = "right"
BEAT = 0.005


@dataclass(slots=True)
class Effect:
    """What an attack came to."""

    busy: float = 0.0
    gap: float = 0.0
    logged: int = 0
    """Bytes of log."""
    heard: bool = False
    """Whether the other caller was answered, in sound, while the attack ran."""
    let_in: bool = False
    """Whether somebody from another address came in meanwhile."""
    grown: int = 0
    """Bytes of memory."""

    def __str__(self) -> str:
        return (
            f"busy {1000 * self.busy:6.0f} ms  gap {1000 * self.gap:6.0f} ms  log {self.logged:9,} B"
            f"  memory {self.grown / 1e6:+6.0f} MB  the other call: {'heard' if self.heard else 'NOT HEARD'}"
            f"  another caller: {'let in' if self.let_in else 'KEPT OUT'}"
        )


class _Counting(logging.Handler):
    def __init__(self, effect: Effect) -> None:
        super().__init__()
        self._effect = effect

    def emit(self, record: logging.LogRecord) -> None:
        self._effect.logged += len(self.format(record)) + 1


@asynccontextmanager
async def watched(effect: Effect) -> AsyncIterator[None]:
    """Fill `effect` with what happens inside."""

    async def beat() -> None:
        while True:
            began, computed = time.monotonic(), time.thread_time()
            await asyncio.sleep(BEAT)
            effect.gap = max(effect.gap, time.monotonic() - began - BEAT)
            effect.busy = max(effect.busy, time.thread_time() - computed)

    handler = _Counting(effect)
    loggers = [logging.getLogger(name) for name in ("", "uvicorn")]
    for logger in loggers:
        logger.addHandler(handler)
    memory = os.open("/proc/self/statm", os.O_RDONLY)  # now: descriptors may run out
    before = _resident(memory)
    beating = asyncio.create_task(beat())
    try:
        yield
    finally:
        beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)
        effect.grown = _resident(memory) - before
        os.close(memory)
        for logger in loggers:
            logger.removeHandler(handler)


def _resident(memory: int) -> int:
    return int(os.pread(memory, 200, 0).split()[1]) * resource.getpagesize()


def place_for(name: str) -> Place:
    """Where the page is served that this attack is on."""
    return Place(port=0, token=TOKEN, tls=name in OVER_TLS)


async def attack(server: PageServer, name: str, *, seconds: float = 3.0) -> Effect:
    """Let another caller talk while this attack runs for so many seconds."""
    effect = Effect()
    port = server.url.partition("?")[0].rstrip("/").rpartition(":")[2]
    async with Page(server.url) as bystander:
        await bystander.wait_for("ready")
        await bystander.send("text", text="Before")
        await bystander.until(lambda: bystander.speaker.heard)
        attacker = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.console.attacks", name, port, TOKEN, str(seconds)
        )
        try:
            await asyncio.sleep(0.3)  # its interpreter starts
            async with watched(effect):
                heard = len(bystander.speaker.heard)
                turn = asyncio.create_task(bystander.send("text", text="Meanwhile"))
                await asyncio.sleep(seconds / 2)
                effect.let_in = await _comes_in(server, seconds / 2)
                await turn
                effect.heard = len(bystander.speaker.heard) > heard
        finally:
            if attacker.returncode is None:
                attacker.kill()
            await attacker.wait()
    return effect


async def _comes_in(server: PageServer, seconds: float) -> bool:
    """Whether a page at another address can begin a call now, within so many seconds."""
    left = asyncio.create_task(asyncio.sleep(seconds))
    try:
        async with Page(server.url, audio=False, address="127.0.0.2") as newcomer:
            await newcomer.wait_for("ready", timeout=seconds)
        return True
    except (OSError, TimeoutError, WebSocketException):
        return False
    finally:
        await left


async def main(names: list[str]) -> None:
    """Print the effect of each attack on a server of its own."""
    for name in names or list(ATTACKS):
        with tempfile.TemporaryDirectory() as folder:
            async with serving(write(Path(folder), VOICE), place=place_for(name)) as server:
                try:
                    async with asyncio.timeout(40):
                        effect: object = await attack(server, name)
                except Exception as error:
                    effect = f"the other call broke: {type(error).__name__}"
                print(f"{name:24} {effect}", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
