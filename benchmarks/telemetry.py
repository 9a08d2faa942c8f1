"""What telling OpenTelemetry of calls costs: the same calls with it and without, in turn, in processor time.

    python -m benchmarks.telemetry [--calls 12] [--pairs 7]

A call is by voice, in virtual time: eight turns in 80 s, each with a tool that writes and a filler. "On" is all there
is: traces with what was said in them, metrics, the log from INFO on, and the figures of `/metrics`; all of it is sent
to a collector in another process, and the threads that send are counted, too. The sound is that of fakes, so it is the
same on both sides. Printed is the median over pairs, for a second of a call.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import statistics
import subprocess
import sys
import time
from typing import Any

from antiphon import Agent, AgentSession, function_tool
from antiphon.server.entrypoint import AgentServer
from antiphon.server.figures import Figures
from antiphon.server.job import JobContext
from antiphon.server.room import Room
from antiphon.telemetry import Price, Telemetry
from antiphon.testing import FakeLLM, FakeMicrophone, FakeSpeaker, FakeSTT, FakeTTS, FakeVAD, Reply, run_virtual

TURNS = 8
LENGTH = 10.0
"""Seconds of a turn, with its answer."""
LIMIT = 0.25
"""Milliseconds for a second of a call."""

COLLECTOR = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


@function_tool(effect="writes")
async def book(day: str, people: int) -> str:
    """Book a table.

    Args:
        day: The day.
        people: How many come.
    """
    await asyncio.sleep(2.5)
    return f"booked for {people} on {day}, by the window, at eight o'clock"


def server_of(microphone: FakeMicrophone, telemetry: Telemetry | None) -> AgentServer:
    """Whoever takes the calls."""
    server = AgentServer()

    @server.rtc_session
    async def entrypoint(context: JobContext) -> None:
        turns: list[list[Reply | str]] = [
            [Reply(calls=[("book", {"day": f"day {number}", "people": 4})]), "Your table is booked, by the window."]
            for number in range(TURNS)
        ]
        session = AgentSession[Any](
            llm=FakeLLM([one for turn in turns for one in turn]),
            stt=FakeSTT(["A table for four people on that day, please"] * (TURNS + 1)),
            vad=FakeVAD(),
            tts=FakeTTS(),
        )
        if telemetry is not None:
            telemetry.watch(session)
        agent = Agent(instructions="You take reservations.", tools=[book])
        await session.start(agent, room=context.room, input=microphone, output=FakeSpeaker())

    return server


def one_call(telemetry: Telemetry | None) -> None:
    """Eight turns."""
    microphone = FakeMicrophone()
    server = server_of(microphone, telemetry)
    if telemetry is not None:
        server.watch_jobs(Figures().call)

    async def main() -> None:
        async with server.job(Room()) as job:
            session = await job.wait_for_session()
            assert session is not None
            for _ in range(TURNS):
                await microphone.speak(1.5)
                await asyncio.sleep(LENGTH - 1.5)

    run_virtual(main(), timeout=600)


def cost(calls: int, telemetry: Telemetry | None) -> float:
    """Processor milliseconds for a second of a call, all threads."""
    began = time.process_time()
    for _ in range(calls):
        one_call(telemetry)
        if telemetry is not None:
            telemetry.flush()  # in real time it would have been sent meanwhile
    return (time.process_time() - began) / (calls * TURNS * LENGTH) * 1000


def main() -> None:
    """Measure, and say whether it is within the limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=12)
    parser.add_argument("--pairs", type=int, default=7)
    options = parser.parse_args()
    logging.getLogger("antiphon").setLevel(logging.INFO)
    logging.getLogger("antiphon").propagate = False
    with subprocess.Popen([sys.executable, "-c", COLLECTOR], stdout=subprocess.PIPE, text=True) as collector:
        try:
            assert collector.stdout is not None
            address = f"http://127.0.0.1:{collector.stdout.readline().strip()}"
            prices = {"fake": Price(2.5, 10.0, cached=1.25)}
            telemetry = Telemetry.otlp(address, content=True, prices=prices)
            cost(1, telemetry), cost(1, None)
            pairs = [(cost(options.calls, None), cost(options.calls, telemetry)) for _ in range(options.pairs)]
            telemetry.close()
        finally:
            collector.kill()
    added = sorted(on - off for off, on in pairs)
    off, on, more = (statistics.median(values) for values in (*zip(*pairs, strict=True), added))
    print(f"off: {off:.3f} ms of a processor for a second of a call; on: {on:.3f} ms")
    print(f"telemetry: {more:.3f} ms ({added[0]:.3f} to {added[-1]:.3f} over {len(pairs)} pairs); limit {LIMIT} ms")
    sys.exit(more > LIMIT)


if __name__ == "__main__":
    main()
