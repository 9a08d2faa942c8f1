"""The studio with many calls: how long a list, a search, figures and a time line take, over HTTP and in a browser.

python -m benchmarks.studio                       1,000 calls, made by the real writer; prints the slowest of five
python -m benchmarks.studio --records FOLDER      the records of a folder; one that is not there is filled first
python -m benchmarks.studio --calls 5000 --browser
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from antiphon import Agent, AgentServer, AgentSession, RunContext, ToolError, function_tool
from antiphon.calls.start import start_session
from antiphon.records import Records
from antiphon.server.room import Room
from antiphon.testing import FakeLLM, Reply, run_virtual

REQUIRED = 0.2
"""Seconds in which each must answer."""
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "next Saturday")


@function_tool(effect="reads")
async def look(day: str) -> str:
    """Look for free tables."""
    await asyncio.sleep(0.05 + random.random() ** 4 * 4)
    return f"Free on {day}: 7 PM and 8 PM."


@function_tool(effect="writes", confirm="A table for {people} on {day}. Shall I book it?")
async def book(ctx: RunContext[Any], day: str, people: int) -> str:
    """Book a table."""
    await asyncio.sleep(0.2 + random.random() * 2)
    if people > 12:
        raise ToolError("We seat 12 at most. Ask whether a smaller party would do.")
    return f"Booked for {people} on {day}."


async def hold(server: AgentServer, number: int) -> None:
    """One call: a look, at times with arguments that are none; a booking that is read back; a question."""
    pick = random.Random(number)
    day, people = pick.choice(DAYS), pick.choice((2, 4, 6, 14))
    bad = [Reply(calls=[("look", {"date": day})])] if number % 7 == 0 else []
    replies: list[Any] = [
        *bad,
        Reply(calls=[("look", {"day": day})]),
        f"On {day} there is 7 and 8 PM.",
        Reply(calls=[("book", {"day": day, "people": people})]),
        f"Caller {number}, that is done.",
        "We are in Church Street.",
        "Goodbye.",
    ]
    says = [
        f"Is there a table on {day}?",
        f"For {people}, please",
        "yes",
        "Where are you?",
        f"Thanks, this is {number}",
    ]

    @server.rtc_session
    async def entrypoint(session: AgentSession) -> None:
        agent = Agent(instructions="You take reservations.", tools=[look, book], id="desk")
        await session.start(agent=agent, room=session.room, llm=FakeLLM(list(replies), ttft=0.2 + pick.random() / 2))

    async with server.job(Room()) as job:
        session = await start_session(job)
        for text in says:
            await session.run(user_input=text)
            await asyncio.sleep(pick.random() * 3)


def fill(folder: Path, calls: int) -> None:
    """Make that many records, by calls of scripted models in virtual time."""
    random.seed(1)
    records = Records(folder, title="Call with desk.py")
    for number in range(calls):
        run_virtual(hold(AgentServer(records=records), number))


def lay_long(folder: Path, *, hours: float = 2.0) -> str:
    """A call of so many hours, as its record would be, made of the shape of a short one. Returns its name."""
    source = next(one for one in sorted(folder.iterdir()) if (one / "record.json").is_file())
    head, metrics = json.loads((source / "record.json").read_text()), json.loads((source / "metrics.json").read_text())
    span = max(60.0, head["duration"])
    times = int(hours * 3600 / span)

    def moved(value: Any, by: float, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: moved(one, by, name) for name, one in value.items()}
        if isinstance(value, list):
            return [moved(one, by, key) for one in value]
        return round(value + by, 4) if isinstance(value, float) and key in _MOMENTS else value

    for name, whole in (("turns", head), ("tool_calls", head), ("replies", metrics)):
        parts = list(whole[name])
        whole[name] = [moved(one, n * span) for n in range(times) for one in parts]
    head |= {"id": "of-two-hours", "duration": times * span, "ended": head["began"] + times * span}
    name = f"{source.name[:15]}-of-two-hours"
    target = folder / name
    target.mkdir(exist_ok=True)
    (target / "record.json").write_text(json.dumps(head))
    (target / "metrics.json").write_text(json.dumps(metrics))
    (target / "sound.json").write_text(json.dumps(_sound(times * span)))
    return name


_MOMENTS = frozenset(
    "started ended asked first_token first_text done first_byte first_audio decided waiting_since first_answer"
    " speech_ended transcribed interrupted_at llm_first_token llm_done tts_first_byte".split()
)


def _sound(duration: float) -> dict[str, Any]:
    peaks = [random.randrange(100) for _ in range(8_000)]
    spans = [{"start": float(at), "end": at + 8.0} for at in range(0, int(duration), 20)]
    rate = len(peaks) / duration
    return {
        "duration": duration,
        "peaks": {"rate": rate, "caller": peaks, "agent": peaks[::-1]},
        "callerSpans": spans,
        "agentSpans": spans,
        "cuts": [],
        "gaps": [],
    }


async def measure(folder: Path, long: str, *, browser: bool) -> dict[str, float]:
    """By what is asked, the slowest of five, in seconds."""
    import httpx2 as httpx

    from antiphon.console.serve import Place
    from antiphon.console.studio.serve import studio_server
    from antiphon.records.places import place_of

    found: dict[str, float] = {}
    async with studio_server(Place(port=0), place_of(folder)) as studio, httpx.AsyncClient(timeout=120) as client:
        api = studio.url + "/studio/api/"

        async def get(path: str) -> Any:
            answer = await client.get(api + path)
            assert answer.status_code == 200, answer.text
            return answer.json()

        began = time.perf_counter()
        while not (listed := await get("calls"))["whole"]:
            pass  # each answer waits for the index a while
        found["(the index made anew)"] = time.perf_counter() - began
        name = listed["calls"][0]["name"]
        asked = {
            "the list": "calls",
            "all calls in one list": "calls?most=5000",
            "a search for words": "calls?said=thanks+977",
            "a search for what is to be mended": "calls?finding=wrong-arguments",
            "latency and cost": "figures",
            "a call": f"call?name={name}",
            "a call of two hours": f"call?name={long}",
        }
        for what, path in asked.items():
            found[what] = await slowest(lambda path=path: get(path))  # type: ignore[misc]  # a loop's name, bound now
        if browser:
            with ProcessPoolExecutor(1) as beside:  # what drives the browser takes no time of the server
                work = asyncio.get_running_loop().run_in_executor(beside, in_a_browser, studio.url, name, long)
                found |= await work
    return found


async def slowest(work: Callable[[], Awaitable[Any]], times: int = 5) -> float:
    """The longest of a few."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        await work()
        taken.append(time.perf_counter() - began)
    return max(taken)


def in_a_browser(url: str, name: str, long: str) -> dict[str, float]:
    """From the press to the picture, the median of three, in seconds."""
    from tests.console.page_browser import chromium

    wanted = {
        "browser: the list": ("#/", "#ended li"),
        "browser: a search": ("#/?said=thanks+977", "#ended li"),
        "browser: a time line": (f"#/call/{name}", ".story svg rect"),
        "browser: a time line of two hours": (f"#/call/{long}", ".story svg rect"),
    }
    found = {}
    with chromium() as browser:
        page = browser.new_page()
        page.goto(f"{url}/studio/")
        page.wait_for_selector("#ended li")
        for what, (hash_, selector) in wanted.items():
            taken = []
            for _ in range(3):
                page.evaluate("location.hash = '#/figures'")
                page.wait_for_selector("main table")
                taken.append(page.evaluate(_WAIT, [hash_, selector]))
            found[what] = statistics.median(taken) / 1000
    return found


_WAIT = """([hash, selector]) => new Promise((done) => {
  const began = performance.now();
  const seen = new MutationObserver(() => {
    if (!document.querySelector(selector)) return;
    seen.disconnect();
    requestAnimationFrame(() => done(performance.now() - began));
  });
  document.querySelector("main").replaceChildren();
  seen.observe(document, { childList: true, subtree: true });
  location.hash = hash;
})"""
"""Until the frame in which it is drawn."""


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=Path, help="where they are, or are to be made")
    parser.add_argument("--calls", type=int, default=1_000)
    parser.add_argument("--browser", action="store_true", help="in Chromium, too")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.records or Path(temporary) / "records"
        if not folder.is_dir():
            began = time.perf_counter()
            fill(folder, given.calls)
            print(f"{given.calls} calls were held and recorded in {time.perf_counter() - began:.0f} s")
        (folder / "index.db").unlink(missing_ok=True)
        found = asyncio.run(measure(folder, lay_long(folder), browser=given.browser))
    for what, seconds in found.items():
        is_free = what.startswith("(") or "two hours" in what
        verdict = "" if is_free or seconds <= REQUIRED else f"   required: {1000 * REQUIRED:.0f} ms"
        print(f"{1000 * seconds:8.1f} ms  {what}{verdict}")


if __name__ == "__main__":
    main()
