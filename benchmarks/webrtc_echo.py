"""Sound by WebRTC between headless Chromium and this process: `python -m benchmarks.webrtc_echo`.

The browser's microphone is a file of short bursts; the server sends back what it hears. A worklet in the page finds the
bursts on their way out and on their way back, the server finds them in between. Over loopback, without loss and then
through a relay that loses 2 % of the packets and delays the others by 20 ms each way. Exit code 1 above the limits:
140 ms for the echo without loss, 60 ms for the way up with it. Also printed: the processor time of the process for a
call, which serves the page and measures, too.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import soundfile
import uvicorn
from playwright.async_api import async_playwright
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket, WebSocketDisconnect

import antiphon
from antiphon.audio import AudioFrame
from antiphon.transports.webrtc import WebRTCCall
from tests.transports.relay import BadNetwork, Weather

RATE: Final = 48_000
PERIOD: Final = 0.5
"""Seconds between bursts."""
LOUD: Final = 0.05
ECHO_LIMIT, UPLINK_LIMIT = 140.0, 60.0
"""Milliseconds."""
STATIC: Final = Path(antiphon.__file__).parent / "console" / "static"
FLAGS: Final = [
    "--no-sandbox",
    "--disable-gpu",
    "--use-fake-ui-for-media-stream",
    "--use-fake-device-for-media-stream",
    "--allow-loopback-in-peer-connection",
    "--autoplay-policy=no-user-gesture-required",
]

PAGE: Final = """<!doctype html><title>echo</title><script type="module">
import { connect } from "/static/webrtc.js";
window.begin = async () => {
  const microphone = await navigator.mediaDevices.getUserMedia({
    audio: { echoCancellation: false, noiseSuppression: false, autoGainControl: false } });
  const context = new AudioContext({ latencyHint: "interactive" });
  await context.audioWorklet.addModule("/onsets.js");
  const node = new AudioWorkletNode(context, "onsets", { numberOfInputs: 2, numberOfOutputs: 1 });
  window.onsets = { out: [], back: [] };
  node.port.onmessage = ({ data }) => window.onsets[data.what].push([data.audio, data.wall]);
  context.createMediaStreamSource(microphone).connect(node, 0, 0);
  node.connect(context.destination);
  const socket = new WebSocket(`ws://${location.host}/call`);
  await new Promise((resolve) => (socket.onopen = resolve));
  const started = performance.now();
  const { connection } = await connect({ socket, microphone, audioContext: context, onRemoteStream: (stream) => {
    const element = new Audio();
    element.srcObject = stream;
    void element.play();
    context.createMediaStreamSource(stream).connect(node, 0, 1);
  } });
  window.connection = connection;
  return performance.now() - started;
};
window.buffered = async () => {
  for (const report of (await window.connection.getStats()).values()) {
    if (report.type === "inbound-rtp") return 1000 * report.jitterBufferDelay / report.jitterBufferEmittedCount;
  }
};
</script>"""

ONSETS: Final = """registerProcessor("onsets", class extends AudioWorkletProcessor {
  last = { out: -1, back: -1 };
  process([out, back]) {
    this.look("out", out[0]);
    this.look("back", back[0]);
    return true;
  }
  look(what, samples) {
    const at = samples ? samples.findIndex((sample) => Math.abs(sample) > LOUD) : -1;
    if (at < 0) return;
    const audio = (currentFrame + at) / sampleRate;
    if (audio > this.last[what] + 0.2) this.port.postMessage({ what, audio, wall: Date.now() });
    this.last[what] = audio;
  }
});""".replace("LOUD", str(LOUD))


@dataclass
class Echo:
    """The server: sends back what it hears."""

    weather: Weather | None
    onsets: list[float] = field(default_factory=list)
    """When a burst began, in milliseconds of wall time."""
    _loud_at: float = 0.0
    call: WebRTCCall | None = None

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/", lambda request: HTMLResponse(PAGE)),
                Route("/onsets.js", lambda request: PlainTextResponse(ONSETS, media_type="text/javascript")),
                WebSocketRoute("/call", self.answer),
                Mount("/static", StaticFiles(directory=STATIC)),
            ]
        )

    async def answer(self, socket: WebSocket) -> None:
        await socket.accept()
        offer = json.loads(await socket.receive_text())["sdp"]
        async with contextlib.AsyncExitStack() as stack:
            call = self.call = WebRTCCall(["127.0.0.1"])
            stack.push_async_callback(call.aclose)
            call.input.start(lambda frame: self.hear(call, frame), lambda: None)
            if self.weather is None:
                answer = await call.answer(offer)
            else:
                network = await stack.enter_async_context(BadNetwork.open(self.weather))
                answer = network.answer(await call.answer(network.offer(offer)))
            await socket.send_json({"type": "answer", "sdp": answer})
            with contextlib.suppress(WebSocketDisconnect):
                await socket.receive_text()

    def hear(self, call: WebRTCCall, frame: AudioFrame) -> None:
        now = time.time()
        loud = np.flatnonzero(np.abs(np.frombuffer(frame.data, "<i2").astype(np.int32)) > LOUD * 32768)
        if loud.size:
            if now > self._loud_at + 0.2:
                self.onsets.append(1000 * (now - frame.duration + loud[0] / RATE))
            self._loud_at = now
        call.output.write(frame)


@dataclass
class Figures:
    """Milliseconds, but for the processor time."""

    up: list[float]
    echo: list[float]
    connected: float
    buffered: float
    processor: float
    """Percent of a core."""

    def __str__(self) -> str:
        return (
            f"way up {statistics.median(self.up):.0f} ms (largest {max(self.up):.0f}, of {len(self.up)}),"
            f" echo {statistics.median(self.echo):.0f} ms ({min(self.echo):.0f}-{max(self.echo):.0f}),"
            f" connected after {self.connected:.0f} ms, Chromium's jitter buffer {self.buffered:.0f} ms,"
            f" server {self.processor:.1f} % of a core"
        )


@contextlib.asynccontextmanager
async def serving(app: Starlette) -> AsyncIterator[str]:
    """Serve on a free port. Yields the URL."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error"))
    task = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    finally:
        server.should_exit = True
        await task


def bursts(path: Path) -> None:
    """A file that Chromium plays over and over: 60 ms of a tone every half second."""
    times = np.arange(round(PERIOD * RATE)) / RATE
    tone = 0.5 * np.sin(2 * np.pi * 1000 * times) * ((times > 0.2) & (times < 0.26))
    soundfile.write(path, np.tile(tone, 20), RATE, subtype="PCM_16")


async def measure(weather: Weather | None, seconds: float) -> Figures:
    """One call of that length from Chromium."""
    echo = Echo(weather)
    with tempfile.TemporaryDirectory() as folder:
        wav = Path(folder) / "bursts.wav"
        bursts(wav)
        async with serving(echo.app()) as url, async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=[*FLAGS, f"--use-file-for-fake-audio-capture={wav}"]
            )
            try:
                page = await browser.new_page()
                await page.goto(url)
                connected: float = await page.evaluate("begin()")
                await asyncio.sleep(3)  # until Chromium's jitter buffer has settled
                used, began = time.process_time(), time.monotonic()
                await asyncio.sleep(seconds)
                processor = 100 * (time.process_time() - used) / (time.monotonic() - began)
                onsets: dict[str, Any] = await page.evaluate("window.onsets")
                buffered: float = await page.evaluate("buffered()")
            finally:
                await browser.close()
    out = onsets["out"][6:-2]
    up = [_after(wall, echo.onsets) for _, wall in out]
    back = [1000 * at for at, _ in onsets["back"]]
    there = [_after(1000 * audio, back) for audio, _ in out]
    return Figures(up, there, connected, buffered, processor)


def _after(moment: float, moments: list[float]) -> float:
    """How long after it the next one of them came; a little before counts as 0."""
    return max(min((later - moment for later in moments if later > moment - 30), default=1000 * PERIOD), 0.0)


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=15.0, help="for each row")
    seconds = parser.parse_args().seconds
    plain = asyncio.run(measure(None, seconds))
    print(f"no loss:          {plain}")
    lossy = asyncio.run(measure(Weather(delay=0.02, loss=0.02), seconds))
    print(f"20 ms, 2 % lost:  {lossy}")
    good = statistics.median(plain.echo) <= ECHO_LIMIT and statistics.median(lossy.up) <= UPLINK_LIMIT
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
