"""Many calls from the page at once, over real sockets: `python -m benchmarks.page_calls --calls 20 --seconds 20`.

A server in a process of its own, with scripted models; pages in this one that talk and listen in real time, with the
page's own playout ring (`tests/console/page.py`). Counted: underruns, that is sound that came after the ring had run
dry; seconds of sound that were played; the server's processor time. `--echo` calls beside them get back what they
send: from a sample in the microphone to the same sample in the loudspeaker.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from antiphon import Agent, AgentServer, JobContext
from antiphon.audio import AudioFrame
from antiphon.console.access import Limits
from antiphon.console.calls import Models
from antiphon.console.reload import AgentFile
from antiphon.console.serve import Place, page_server
from antiphon.options import is_given
from antiphon.protocols import ModelKind
from antiphon.session import AgentSession
from antiphon.testing import FakeLLM, FakeSTT, FakeTTS, FakeVAD
from antiphon.testing.audio import silence, speech
from tests.console.page import Page

RATE = 48_000
ANSWER = "There are four free times on that day, and any of them would do; which one shall I write down for you?"
BEEP, ECHO_PERIOD = 0.1, 0.5
"""Seconds that a beep lasts, and from one to the next."""

talking, echoing = AgentServer(), AgentServer()


@talking.rtc_session
async def talk(session: AgentSession[Any]) -> None:
    """An agent that answers every sound with the same sentence."""
    await session.start(
        Agent(instructions=""),
        room=session.room,
        llm=FakeLLM({"": ANSWER}, ttft=0.05),
        stt=FakeSTT(["what is free"] * 10_000),
        vad=FakeVAD(),
        tts=FakeTTS(),
    )


@echoing.rtc_session
async def echo(context: JobContext) -> None:
    """A line that gives back what it is given. The session beside it is silent."""
    assert context.room.audio_input is not None and context.room.audio_output is not None
    microphone, loudspeaker = context.room.audio_input, context.room.audio_output

    def give_back(frame: AudioFrame) -> None:
        if any(frame.data):  # silence would only keep the page's ring filled
            loudspeaker.write(frame)

    microphone.start(give_back, lambda: None)
    loudspeaker.start()
    await AgentSession(llm=FakeLLM([])).start(Agent(instructions=""))


def as_given(wanted: Mapping[ModelKind, Any]) -> Mapping[ModelKind, Any]:
    """The models that the agents name."""
    return {kind: model if is_given(model) else None for kind, model in wanted.items()}


@asynccontextmanager
async def watching_stalls(who: str) -> AsyncIterator[None]:
    """Print by how much this process woke up late at worst: by its own doing, or that of a busy machine."""
    loop = asyncio.get_running_loop()
    worst = 0.0

    async def watch() -> None:
        nonlocal worst
        while True:
            due = loop.time() + 0.02
            await asyncio.sleep(0.02)
            worst = max(worst, loop.time() - due)

    task = asyncio.create_task(watch())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
        print(f"longest stall of the {who}: {1000 * worst:.0f} ms", flush=True)


async def serve(calls: int) -> None:
    """Both servers, until standard input ends."""
    with tempfile.TemporaryDirectory() as folder:
        talk_file, echo_file = (AgentFile(Path(folder) / "agent.py", server=server) for server in (talking, echoing))
        models = Models(as_given, as_given)
        options = {"models": models, "limits": Limits(max_calls=calls), "folder": Path(folder)}
        async with page_server(talk_file, Place(port=0), **options) as one:  # type: ignore[arg-type]  # mixed values
            async with page_server(echo_file, Place(port=0), **options) as two:  # type: ignore[arg-type]
                print(one.url, two.url, flush=True)
                async with watching_stalls("server"):
                    await asyncio.to_thread(sys.stdin.read)


async def caller(url: str, number: int, until: float) -> tuple[float, int, list[float]]:
    """Talks and listens until then. Seconds heard, underruns, delays from the end of speech to the first sound."""
    loop = asyncio.get_running_loop()
    delays: list[float] = []
    async with Page(url, rate=RATE) as page:
        await page.wait_for("ready", timeout=30)
        page.speak(silence(0.1 * number, RATE))
        while loop.time() < until:
            sounds = len(page.speaker.track.sounds)
            page.speak(speech(0.6, RATE))
            await page.until(lambda: not page.speaking, 60)
            spoken = loop.time()
            await page.until(partial(has_answered, page, times=len(delays) + 1), 60)
            delays.append(page.speaker.track.sounds[sounds].start - spoken)
        heard = sum(sound.duration for sound in page.speaker.track.sounds)
        return heard, page.speaker.underruns, delays


async def beeper(url: str, until: float) -> list[float]:
    """Sends a beep every half second and hears it come back. Seconds from microphone to loudspeaker."""
    loop = asyncio.get_running_loop()
    trips: list[float] = []
    async with Page(url, rate=RATE) as page:
        await page.wait_for("ready", timeout=30)
        while loop.time() < until:
            sounds = len(page.speaker.track.sounds)
            page.speak(speech(BEEP, RATE))
            said = page.next_frame
            await page.until(partial(has_sounded, page, times=sounds + 1), 5)
            trips.append(page.speaker.track.sounds[sounds].start - said)
            page.speak(AudioFrame.silence(ECHO_PERIOD - BEEP, RATE))
            await page.until(lambda: not page.speaking, 5)
    return trips


def has_answered(page: Page, *, times: int) -> bool:
    """Whether the agent's answer is over."""
    return len(page.of("message", role="assistant")) >= times


def has_sounded(page: Page, *, times: int) -> bool:
    """Whether something was heard so often."""
    return len(page.speaker.track.sounds) >= times


def processor_time(pid: int) -> float:
    """Seconds that a process has used, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def percentile(values: list[float], share: float) -> float:
    """Of these values, the one that so large a share does not exceed."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


async def measure(calls: int, seconds: float, echoes: int) -> None:
    """Run everything and print what was seen."""
    server = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "benchmarks.page_calls",
        "--serve",
        f"--calls={calls + echoes}",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert server.stdout is not None and server.stdin is not None
    try:
        printed = (await server.stdout.readline()).decode()
        assert re.match(r"http\S+ http\S+\n", printed), printed
        talk_url, echo_url = printed.split()
        loop = asyncio.get_running_loop()
        began, used = loop.time(), processor_time(server.pid)
        until = began + seconds
        callers = [caller(talk_url, number, until) for number in range(calls)]
        beepers = [beeper(echo_url, until) for _ in range(echoes)]
        async with watching_stalls("pages"):
            heard, trips = await asyncio.gather(asyncio.gather(*callers), asyncio.gather(*beepers))
        wall, used = loop.time() - began, processor_time(server.pid) - used
    finally:
        server.stdin.close()
        print((await server.stdout.read()).decode(), end="")
        await server.wait()
    delays = [delay for _, _, ones in heard for delay in ones]
    back = [trip for ones in trips for trip in ones]
    print(f"{calls} calls, {wall:.0f} s: {sum(n for _, n, _ in heard)} underruns", end="")
    print(f" in {sum(s for s, _, _ in heard):.0f} s of sound and {len(delays)} answers")
    print(f"server: {100 * used / wall:.0f} % of a core, {100 * used / wall / (calls + echoes):.1f} % for each call")
    if delays:
        print(f"end of speech to first sound: median {1000 * statistics.median(delays):.0f} ms", end="")
        print(f", p95 {1000 * percentile(delays, 0.95):.0f} ms")
    if back:
        print(f"echo, microphone to loudspeaker: median {1000 * statistics.median(back):.1f} ms", end="")
        print(f", p99 {1000 * percentile(back, 0.99):.1f} ms, of {len(back)}")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--echo", type=int, default=1, metavar="N", help="calls that are given back what they send")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    asyncio.run(serve(options.calls) if options.serve else measure(options.calls, options.seconds, options.echo))


if __name__ == "__main__":
    main()
