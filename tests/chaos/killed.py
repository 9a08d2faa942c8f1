"""Processes that are killed with SIGKILL in the middle of a task, and others that go on with their calls.

`python -m tests.chaos.killed --kills 30 --seed suite`: of each task a process makes the call, with a store on disk, and
kills itself at a step of its journal that the seed draws. When its lease has run out, another process resumes the call
and brings it to its end. What was done in the world is written down beside the store, so it is judged by what the
caller wished for. Children are forked from one process that has imported all, in virtual time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from antiphon.agent import Agent
from antiphon.events import JournalEvent
from antiphon.session import AgentSession
from antiphon.store import LEASE, RowState, Store, acknowledged, open_store
from antiphon.testing import clock, run_virtual
from antiphon.testing.chaos import Bench, Case, Errand, Fault, World, make_call
from antiphon.testing.chaos.bench import CountingBench, Start
from antiphon.testing.chaos.call import FaultyLLM
from antiphon.testing.chaos.clerk import OUTCOME, Clerk
from antiphon.testing.chaos.errand import Key, Wish, heard, key_of, said
from antiphon.testing.chaos.faults import Faults
from tests.chaos.bfcl import tasks
from tests.proofs import closing

QUESTION = "and what came of it"
LIMIT = 60.0
"""Seconds that a child has."""


class WrittenWorld(World):
    """A world whose effects stand in a file, before anybody hears of them: what a killed process did is done."""

    def __init__(self, world: World, path: Path) -> None:
        self._world = world
        self._path = path

    def agent(self, bench: Bench) -> Agent:
        return self._world.agent(bench)

    def writes(self, tool: str) -> bool:
        return self._world.writes(tool)

    def state(self) -> str:
        return self._world.state()

    async def act(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        self._write([tool, dict(arguments)])
        return await self._world.act(tool, arguments)

    def _write(self, effect: Any) -> None:
        with open(self._path, "ab", buffering=0) as file:
            file.write(json.dumps(effect).encode() + b"\n")

    async def as_it_is(self) -> list[Wish]:
        """Do what was done before, in another process."""
        done = done_in(self._path)
        for wish in done:
            await self._world.act(wish.tool, wish.arguments)
        return done


def done_in(path: Path) -> list[Wish]:
    """What stands in the file."""
    return [Wish(*json.loads(line)) for line in path.read_bytes().splitlines()] if path.exists() else []


class Call:
    """What one process does of a call. `kill_at`: the fact at which it ends; 0: it brings the call to its end."""

    def __init__(self, errand: Errand, folder: Path, address: str, kill_at: int) -> None:
        self._errand = errand
        self._address = address
        self._kill_at = kill_at
        self._world = WrittenWorld(errand.world(), folder / "world.jsonl")
        self._path = folder / "call.json"
        self._facts = 0
        self._first_command = 0.0
        self._llm = FaultyLLM(Clerk(errand), Faults(), ttft=0.2, tokens_per_second=1000.0)

    async def made(self) -> None:
        """From its beginning, until the process is killed."""
        async with open_store(self._address) as store, self._session(store) as session:
            self._path.write_text(session.call_id)
            await session.start(self._world.agent(CountingBench(self._world, Faults())))
            await self._converse(session)

    async def resumed(self) -> dict[str, Any]:
        """From where it was cut, to its end. What is to be judged of it."""
        done = await self._world.as_it_is()
        before = CountingBench(self._world, Faults())
        before.starts.extend(Start(at, wish, True) for at, wish in enumerate(done, 1))
        async with open_store(self._address) as store:
            call = self._path.read_text()
            if await store.load(call) is None:  # it was killed before anything of it was kept
                call = ""
            session = self._session(store)
            agent = self._world.agent(CountingBench(self._world, Faults(), before=before))
            began = time.perf_counter()
            await (session.resume(call, agents=[agent]) if call else session.start(agent))
            await self._converse(session)
            messages = [one.text_content or "" for one in session.history.messages() if one.role == "assistant"]
            await session.aclose()
            await acknowledged(store.flush())  # virtual time does not wait for a disk
            rows = [row for _, row in await store.rows(call=session.call_id)]
        return {
            "seconds": self._first_command - began,
            "told": sorted({word for text in messages for word in OUTCOME.findall(text)}),
            "unknown": [
                list(key_of(str(row.extra.get("name")), json.loads(row.arguments)))
                for row in rows
                if row.state is RowState.UNKNOWN
            ],
            "open": sum(row.closed_at is None for row in rows),
            "state": self._world.state(),
        }

    def _session(self, store: Store) -> AgentSession[Any]:
        session = AgentSession[Any](llm=self._llm, store=store, max_tool_steps=60, user_away_timeout=None)
        session.on("journal", self._journal)
        return session

    def _journal(self, event: JournalEvent) -> None:
        if event.command is not None:
            self._first_command = self._first_command or time.perf_counter()
            return
        self._facts += event.fact is not None
        if self._kill_at and self._facts == self._kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    async def _converse(self, session: AgentSession[Any]) -> None:
        await session.wait_for_idle()
        for turn in range(1, len(self._errand.turns) + 1):
            if not any(turn in heard(one.text_content or "") for one in session.history.messages()):
                session.submit_user_turn(said(turn))
                await session.wait_for_idle()
        for _ in range(4):
            session.submit_user_turn(QUESTION)
            await session.wait_for_idle()


@dataclass(slots=True)
class Proof:
    """What was found."""

    kills: int = 0
    writes: int = 0
    unknown: int = 0
    wrong: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """From `resume()` to the first command."""

    def add(self, errand: Errand, at: int, folder: Path, result: dict[str, Any] | None) -> None:
        """One more call."""
        self.kills += 1
        name = f"{errand.name} killed at fact {at}"
        if result is None:
            self.wrong.append(f"{name}: it was not brought to its end")
            return
        self.seconds.append(result["seconds"])
        world, effects = errand.world(), done_in(folder / "world.jsonl")
        wished, done = errand.counts(world), Counter(wish.key for wish in effects if world.writes(wish.tool))
        self.writes += done.total()
        unknown: set[Key] = {(tool, arguments) for tool, arguments in result["unknown"]}
        places = {wish.key: place for place, wish in reversed(list(enumerate(errand.wishes)))}
        for key in wished.keys() | done.keys():
            is_said = key in unknown and f"doubt{places.get(key)}" in result["told"]
            self.unknown += key in unknown
            if done[key] > wished[key]:
                self.wrong.append(f"{name}: {key} was done {done[key]} times, and wished for {wished[key]} times")
            if key in unknown and not is_said:
                self.wrong.append(f"{name}: nobody knows what came of {key}, and the caller was not told that")
            if done[key] < wished[key] and not is_said:
                self.wrong.append(f"{name}: {key} was lost")
        if result["open"]:
            self.wrong.append(f"{name}: {result['open']} outcomes were not told")
        state = asyncio.run(errand.plain(None if done == wished else effects))
        if result["state"] != state:
            self.wrong.append(f"{name}: the world is not as it is once all was done plainly")

    @property
    def p95(self) -> float:
        """Seconds from `resume()` to its first command."""
        return statistics.quantiles(self.seconds, n=20)[-1] if len(self.seconds) > 1 else sum(self.seconds)


def prove(kills: int, seed: str, address: Callable[[Path], str], at_once: int = 10) -> Proof:
    """Kill so many processes, each in another task, and have others go on."""
    rng, proof = random.Random(seed), Proof()
    make_call(Case(next(tasks()), (Fault("killed", 9),), stored=True))  # all that it needs is imported
    everything = list(tasks())
    chosen = [rng.choice(everything) for _ in range(kills)]
    with tempfile.TemporaryDirectory() as place:
        for begin in range(0, kills, at_once):
            made = []
            for number, errand in enumerate(chosen[begin : begin + at_once], begin):
                folder = Path(place) / str(number)
                folder.mkdir()
                at = rng.randint(1, make_call(Case(errand)).met["fact"])
                _forked(Call(errand, folder, address(folder), at).made)
                made.append((errand, folder, at))
            time.sleep(LEASE + 0.1)
            for errand, folder, at in made:
                result = _forked(Call(errand, folder, address(folder), 0).resumed)
                proof.add(errand, at, folder, result)
    return proof


def _forked(work: Callable[[], Any]) -> Any:
    """What a child process returns; None: it was killed, or broke."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        signal.alarm(int(LIMIT))
        clock.THREAD_PATIENCE = LIMIT  # a disk that others keep busy is waited for
        logging.getLogger("antiphon").setLevel(logging.CRITICAL)
        try:
            result = run_virtual(work(), timeout=24 * 3600.0)
            os.write(write, json.dumps(result).encode())
            os._exit(0)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(1)
    os.close(write)
    with open(read, "rb") as file:
        told = file.read()
    _, status = os.waitpid(child, 0)
    return json.loads(told) if told and not status else None


def main() -> int:
    """Returns 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.killed", description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=300, help="how many processes are killed (default: 300)")
    parser.add_argument(
        "--seed", default=str(time.time_ns() % 1_000_000), help="of tasks and steps (default: the clock)"
    )
    parser.add_argument("--postgres", metavar="ADDRESS", help="keep calls there, in place of a file of SQLite for each")
    given = parser.parse_args()
    began = time.perf_counter()
    proof = prove(given.kills, given.seed, lambda folder: given.postgres or f"sqlite:///{folder / 'calls.db'}")
    for wrong in proof.wrong:
        print(wrong)
    print(
        f"{proof.kills:,} processes killed, {proof.writes:,} writes, {proof.unknown:,} unknown, and said to be;"
        f" resume() to its first command p95 {proof.p95 * 1000:.0f} ms"
    )
    print(closing("resume", f"{proof.kills:,} processes killed", given.seed, len(proof.wrong), began))
    return int(bool(proof.wrong))


if __name__ == "__main__":
    sys.exit(main())
