"""What calls cost the process that holds them: `python -m benchmarks.held_calls 1 10 30`.

Each number is a number of calls from pages by WebSocket, 48 kHz both ways in real time, with models that are fakes: the
caller speaks, and is answered for some seconds, again and again. The pages run in this process, the calls in a worker
of `antiphon start`; its processor time and its memory are printed, and the longest stall of its loop.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import re
import tempfile
from pathlib import Path

from antiphon.audio import AudioFrame
from tests.cli.test_start import Started, free_port, get, started
from tests.console.page import Page
from tests.console.serving import VOICE

SECONDS = 20.0
RATE = 48_000


async def main(numbers: list[int]) -> None:
    """Measure each."""
    print("calls   core per call   memory (MB)   longest stall (ms)   underruns   answers")
    for number in numbers:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "agent.py").write_text(VOICE)
            health = free_port()
            async with started(Path(folder), "--workers", "1", "--health-port", str(health)) as one:
                await measure(one, f"http://127.0.0.1:{health}", number)


async def measure(one: Started, health: str, number: int) -> None:
    """Hold so many calls for a while, and print what they cost."""
    _, text = await get(health, "/healthz")
    pid = int(re.search(r'"pid": (\d+)', text)[1])  # type: ignore[index]
    async with contextlib.AsyncExitStack() as stack:
        pages = []
        for _ in range(number):
            pages.append(page := await stack.enter_async_context(Page(one.url, rate=RATE)))
            await page.wait_for("ready", timeout=30.0)
        talking = [asyncio.create_task(talk(page)) for page in pages]
        await asyncio.sleep(3.0)
        before, stall = processor_time(pid), 0.0
        for _ in range(round(SECONDS)):
            await asyncio.sleep(1.0)
            _, text = await get(health, "/metrics")
            stall = max(stall, float(re.search(r"loop_stall_seconds{\S* (\S+)", text)[1]))  # type: ignore[index]
        core = (processor_time(pid) - before) / SECONDS / number
        memory = float(re.search(r"memory_bytes{\S* (\S+)", text)[1]) / 1e6  # type: ignore[index]
        underruns = sum(page.speaker.underruns for page in pages)
        answers = sum(len(page.of("message", role="assistant")) for page in pages)
        print(
            f"{number:5}   {core:13.4f}   {memory:11.0f}   {1000 * stall:18.0f}   {underruns:9}   {answers:7}",
            flush=True,
        )
        for task in talking:
            task.cancel()


async def talk(page: Page) -> None:
    """Speak for a second, listen for six."""
    loud = AudioFrame((b"\x00\x20" * RATE), RATE)
    while True:
        page.speak(loud)
        await asyncio.sleep(7.0)


def processor_time(pid: int) -> float:
    """Seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("numbers", nargs="+", type=int, metavar="CALLS")
    asyncio.run(main(parser.parse_args().numbers))
