"""How soon the agent falls silent when the caller speaks over it: `python -m benchmarks.page_barge_in --trials 16`.

Everything is real but the language model: Chromium with a recorded caller in its microphone, the page's WebSocket and
worklet, `antiphon dev`, the local speech models. The agent talks at length; every few seconds the caller talks over
it. The worklet marks on one clock, the device's, the caller's first audible sample and the last of the agent's. Beside
it, the page's own part: from the server's `pause` or `clear` until nothing sounds. Exit code 1 if the 95th percentile
is above the voice that an interruption takes plus 200 ms.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from tests.console.page_browser import chromium, phase
from tests.console.test_page_calls import LOADED, dev_server, microphone

PERIOD: Final = 9.0
"""Seconds from one interruption to the next: a turn, and enough of the agent's answer to talk over."""
CALLERS: Final = ("demo-1", "demo-2", "demo-6", "demo-5")
MIN_SPEECH: Final = 0.1
"""Seconds of voice that the local voice detection takes for speech, not for a cough."""
LIMIT: Final = MIN_SPEECH + 0.2
TRANSPORT_LIMIT: Final = 0.06
AGENT: Final = """
from antiphon import Agent, AgentServer
from antiphon.testing import FakeLLM

SPEECH = (
    "On Monday there is a free hour at nine, another one at eleven, and a third one at half past two, and on Tuesday we"
    " have the whole of the morning, and on Wednesday we have the whole of the afternoon, and on Thursday there is a"
    " free hour at ten, another one at noon, and a third one at four, and on Friday we have nothing at all, but on"
    " Saturday there is a free hour at nine, another one at ten, and a third one at eleven."
)
server = AgentServer()

@server.rtc_session
async def entrypoint(session):
    await session.start(Agent(instructions=""), room=session.room, llm=FakeLLM({"": SPEECH}, ttft=0.05))
"""
"""An agent that answers everything at length. Its voice and its ears are the local ones."""

Mark: TypeAlias = tuple[str, float]


@dataclass(frozen=True, slots=True)
class Trial:
    """One interruption. Seconds on the device's clock."""

    began: float
    """The caller's first audible sample."""
    told: float
    """The server's `pause` or `clear` arrived."""
    silent: float
    """The agent's last audible sample."""

    @property
    def delay(self) -> float:
        """From the caller's onset to silence."""
        return self.silent - self.began

    @property
    def transport(self) -> float:
        """The page's part of it; 0 where the agent was between two words when it was told."""
        return max(0.0, self.silent - self.told)


def trials(marks: Sequence[Mark]) -> list[Trial]:
    """The interruptions among the marks: the caller began, the server told, the agent was silent, in 3 seconds."""
    found = []
    for began in (at for what, at in marks if what == "caller begins"):
        told = min((at for what, at in marks if what.endswith("received") and at > began), default=began + 9)
        # Silence is noticed late, and told with the time at which it began.
        silent = min((at for what, at in marks if what == "agent silent" and at > began), default=began + 9)
        if told < began + 3 and silent < began + 3:
            found.append(Trial(began, told, silent))
    return found


def measure(count: int, seed: int) -> list[Trial]:
    """Hold a call with that many interruptions."""
    dice = random.Random(seed)
    times = [LOADED] + [LOADED + number * PERIOD + dice.uniform(-0.5, 0.5) for number in range(1, count + 1)]
    turns = [(CALLERS[number % len(CALLERS)], at) for number, at in enumerate(times)]
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        caller = microphone(folder / "caller.wav", turns, times[-1] + 6)
        agent = folder / "agent.py"
        agent.write_text(AGENT)
        address = stack.enter_context(dev_server(agent))
        page = stack.enter_context(chromium(caller)).new_page()
        page.goto(address + "?processing=off&transport=websocket&measure=1")
        page.click("#call")
        phase(page, "live", 30)
        page.wait_for_timeout(1000 * (times[-1] + 4))
        return trials([(one["what"], one["at"]) for one in page.evaluate("window.measured")])


def line(name: str, values: Sequence[float]) -> str:
    """Figures in milliseconds."""
    middle, late = statistics.median(values), statistics.quantiles(values, n=20, method="inclusive")[-1]
    return f"{name}: median {1000 * middle:.0f} ms, p95 {1000 * late:.0f} ms, longest {1000 * max(values):.0f} ms"


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    found = measure(options.trials, options.seed)
    if len(found) < 2:
        print("hardly anything was interrupted; is the machine too busy?", file=sys.stderr)
        return 1
    print(f"{len(found)} interruptions of {options.trials}; at the others the agent drew breath")
    print(line("caller's first sample to the agent's last", [one.delay for one in found]))
    print(line("of it, from the server's word to silence", [one.transport for one in found]))
    late = statistics.quantiles([one.delay for one in found], n=20, method="inclusive")[-1]
    return int(late > LIMIT or max(one.transport for one in found) > TRANSPORT_LIMIT)


if __name__ == "__main__":
    sys.exit(main())
