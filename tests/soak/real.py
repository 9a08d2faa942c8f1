"""Real calls, over sockets, to a page server in a process of its own.

Some talk, some type, some come back, some use WebRTC; some hang up in mid-word, some send rubbish, some have a wrong
token, some send half a request and wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import sys
import traceback
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from websockets import ConnectionClosed, InvalidStatus
from websockets.asyncio.client import connect

from antiphon.testing.audio import silence, speech
from tests.console.page import Page, socket_url
from tests.soak.level import POINTS, Level
from tests.transports.far_end import FarEnd

RATE = 16_000
CALLS_PER_SECOND = 5.0
PATIENCE = 15.0
"""Seconds: the machine may be busy, and tools take their time."""

START = json.dumps({"type": "start", "rate": RATE})
RUBBISH: tuple[tuple[str | bytes, ...], ...] = (
    (),  # nothing at all: `start` does not come in time
    ("{",),
    (b"\0",),
    ("[" * 10_000,),
    ('{"type": "start", "rate": 1}',),
    (START, START),
    (START, b"\0" * 3),
    (START, b"\0" * 20_000),
    (START, "x" * 100_000),
    (START, '{"type": "text", "text": "\\ud800"}', "{}"),
    (START, '{"type": "played", "epoch": 7, "samples": 9007199254740991}', '{"type": "dtmf", "digit": "x"}'),
    (START, '{"type": "offer", "sdp": "v=0"}'),
    (json.dumps({"type": "start", "rate": RATE, "transport": "webrtc"}), '{"type": "offer", "sdp": "v=0"}'),
    (json.dumps({"type": "start", "rate": RATE, "transport": "webrtc"}),),
)


class Callers:
    """Everybody who calls, at one address."""

    def __init__(self, url: str, seed: str) -> None:
        self._url = url
        self._seed = seed
        self._place = urlsplit(url)
        self._earlier: list[str] = []
        """Ids of calls that may be continued."""
        self.made: dict[str, int] = {}
        """How many there were of each kind."""
        self.failed: list[str] = []
        """Calls that did not go as they should."""

    async def call(self, number: int) -> None:
        """One of the kinds, by chance."""
        rng = random.Random(f"{self._seed}/{number}")
        kinds: dict[Callable[[random.Random], Coroutine[Any, Any, None]], int] = {
            self._talks: 30,
            self._hangs_up_in_mid_word: 15,
            self._types: 25,
            self._comes_back: 8,
            self._by_webrtc: 4,
            self._sends_rubbish: 10,
            self._has_a_wrong_token: 4,
            self._sends_half_a_request: 4,
        }
        kind = rng.choices(list(kinds), list(kinds.values()))[0]
        name = kind.__name__.strip("_").replace("_", " ")
        self.made[name] = self.made.get(name, 0) + 1
        try:
            async with asyncio.timeout(2 * PATIENCE):
                await kind(rng)
        except Exception as error:
            steps = [step.name for step in traceback.extract_tb(error.__traceback__) if step.filename == __file__]
            self.failed.append(f"{self._seed}/{number} {name}, in {steps[-1]}: {error!r}")
            print("real       failed:", self.failed[-1], flush=True)

    # -- those who behave

    async def _talks(self, rng: random.Random) -> None:
        async with Page(self._url, rate=RATE) as page:
            await self._begin(page)
            for _ in range(rng.randint(1, 2)):  # the second comes while the agent speaks, mostly
                heard = len(page.speaker.heard)
                page.speak(speech(rng.uniform(0.3, 0.8), RATE), silence(0.4, RATE))
                await page.until(lambda: len(page.speaker.heard) > heard, PATIENCE)  # noqa: B023  # awaited here
                await asyncio.sleep(rng.uniform(0.0, 1.5))
            await self._end(page)

    async def _types(self, rng: random.Random) -> None:
        async with Page(self._url, audio=False) as page:
            await self._begin(page)
            await self._type(page, rng.randint(1, 3))
            await self._end(page)

    async def _comes_back(self, rng: random.Random) -> None:
        earlier = self._earlier.pop() if self._earlier else "a call that nobody knows"
        async with Page(self._url, audio=False, resume=earlier) as page:
            await self._begin(page)
            await self._type(page, 1)
            await self._end(page)

    async def _by_webrtc(self, rng: random.Random) -> None:
        far = FarEnd()
        try:
            async with Page(self._url, transport="webrtc") as page:
                await page.send("offer", sdp=await far.offer())
                answer = await page.wait_for("answer", timeout=PATIENCE)
                await far.accept(answer["sdp"])
                await page.wait_for("ready", timeout=PATIENCE)
                far.say(speech(0.6, 48_000))
                await asyncio.sleep(rng.uniform(0.2, 2.0))
                if rng.random() < 0.5:
                    await self._end(page)
        finally:
            await far.hang_up()

    # -- those who do not

    async def _hangs_up_in_mid_word(self, rng: random.Random) -> None:
        async with Page(self._url, rate=RATE) as page:
            await self._begin(page)
            page.speak(speech(1.0, RATE), silence(0.4, RATE))
            if rng.random() < 0.5:
                await page.until(lambda: page.speaker.heard, PATIENCE)
            else:
                await asyncio.sleep(rng.uniform(0.0, 1.0))
            page.socket.transport.abort()

    async def _sends_rubbish(self, rng: random.Random) -> None:
        async with connect(socket_url(self._url, "/call"), max_size=None) as socket:
            with contextlib.suppress(ConnectionClosed):
                for message in rng.choice(RUBBISH):
                    await socket.send(message)
                async with asyncio.timeout(PATIENCE):
                    async for _ in socket:
                        pass
            if socket.close_code not in range(4400, 4500):
                raise AssertionError(f"expected to be refused, was closed with {socket.close_code}")

    async def _has_a_wrong_token(self, rng: random.Random) -> None:
        url = socket_url(self._url, "/call", rng.choice(["wrong", "r%C3%AFght", "x" * 4_000]))
        here = f"127.0.{rng.randint(1, 250)}.{rng.randint(1, 250)}", 0
        try:
            async with connect(url, local_addr=here):
                raise AssertionError("a wrong token opened a call")
        except InvalidStatus as error:
            if error.response.status_code not in (401, 429):
                raise

    async def _sends_half_a_request(self, rng: random.Random) -> None:
        _, writer = await self._connect()
        writer.write(rng.choice([b"", b"GET /ca", b"GET /call HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websoc"]))
        await asyncio.sleep(rng.uniform(0.0, 2.0))
        writer.transport.abort()

    # -- what they do

    async def _begin(self, page: Page) -> None:
        await page.wait_for("ready", timeout=PATIENCE)

    async def _type(self, page: Page, turns: int) -> None:
        for turn in range(turns):
            said = len(page.of("message", role="assistant"))
            await page.send("text", text=f"This is turn {turn}.")
            await page.until(lambda: len(page.of("message", role="assistant")) > said, PATIENCE)  # noqa: B023  # the same

    async def _end(self, page: Page) -> None:
        """Hang up, and look at what is left of the call."""
        await page.send("hang_up")
        ended = await page.wait_for("ended", timeout=PATIENCE)
        self._earlier = [*self._earlier[-20:], page.of("ready")[0]["call"]]
        for path in filter(None, (ended["report"], ended["recording"])):
            if not (await self._get(path)).startswith(b"HTTP/1.1 200"):
                raise AssertionError(f"{path} is not to be had")

    async def _get(self, path: str) -> bytes:
        reader, writer = await self._connect()
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {self._place.netloc}\r\nConnection: close\r\n\r\n".encode())
        try:
            return await reader.read()
        finally:
            writer.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(self._place.hostname, self._place.port)


async def soak(calls: int, seed: str, tell: Callable[[Level], None]) -> tuple[list[Level], Callers]:
    """Hold so many calls. Returns the server's levels, of which the first is that after the warm-up."""
    async with _server() as server:
        assert server.stdin is not None and server.stdout is not None
        callers = Callers((await server.stdout.readline()).decode().strip(), seed)
        levels: list[Level] = []
        for point in range(POINTS):
            numbers = range(calls * point // POINTS, calls * (point + 1) // POINTS)
            async with asyncio.TaskGroup() as group:
                for number in numbers:
                    group.create_task(callers.call(number))
                    await asyncio.sleep(1 / CALLS_PER_SECOND)
            server.stdin.write(f"{numbers.stop}\n".encode())
            levels.append(Level(**json.loads(await server.stdout.readline())))
            tell(levels[-1])
        return levels, callers


@asynccontextmanager
async def _server() -> AsyncIterator[asyncio.subprocess.Process]:
    pipe = asyncio.subprocess.PIPE
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.soak", "--serve", stdin=pipe, stdout=pipe, env=dict(os.environ)
    )
    try:
        yield server
    finally:
        assert server.stdin is not None
        server.stdin.close()
        try:
            async with asyncio.timeout(20):
                await server.wait()
        except TimeoutError:
            server.kill()
            await server.wait()
