"""Let a simulated world and the conversation core take turns, and have every step held to the promises.

    python -m tests.core.fuzz --sessions 1000 --seed 1
    python -m tests.core.fuzz --facts 1000000
    python -m tests.core.fuzz --only 1/472            one session, its journal printed
    python -m tests.core.fuzz --replay journal.jsonl  a recorded journal

A session is known by its seed and number. It goes on until the world is calm and everything has come to rest; then it
is closed, unless that happened before. On a violation the seed and the end of the journal are printed, and the journal
can be kept with `--dump`.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from types import FrameType, MappingProxyType

from antiphon.core import commands as do
from antiphon.core import facts as f
from antiphon.core.codec import to_data
from antiphon.core.conversation import Conversation
from antiphon.core.lines import Head
from antiphon.errors import JournalError
from antiphon.replay.journal import Entry, Journal, read
from antiphon.replay.replaying import steps
from antiphon.timer import catch_up
from tests.core.fuzz.promises.promise import Violation
from tests.core.fuzz.watch import Watch
from tests.core.fuzz.world import Temper, World, draw_consent, draw_options, draw_temper, prompt_voice
from tests.proofs import closing

AGENT = "a1"
CPU_LIMIT = 2.0
"""Seconds of processor time for one session: far more than any needs, unless the core loops."""
MAX_ENTRIES = 20_000
MAX_COMMANDS = 300
"""In answer to one fact."""
REPLAYED = 20
"""One session in so many is replayed from its journal and compared."""


@dataclass(slots=True)
class Session:
    """One session as it went."""

    journal: Journal
    commands: list[list[do.Command]] = field(default_factory=list)

    def note(self, about: str | None = None, **notes: bool) -> None:
        """Have the journal's head say so."""
        head = self.journal.head
        self.journal.head = replace(head, about=head.about if about is None else about, notes={**head.notes, **notes})


class Failed(Exception):
    """A session in which a promise was broken (or the core raised), with what led to it."""

    def __init__(self, seed: str, session: Session, cause: Exception) -> None:
        super().__init__(f"session {seed}: {type(cause).__name__}: {cause}")
        self.session = session
        self.facts = len(session.journal.entries)
        """All up to here, those of the sessions before included."""


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Turn a core that loops for ever into a violation. Only where timers exist, and in the main thread."""

    def out_of_time(_: int, frame: FrameType | None) -> None:
        where = f"{frame.f_code.co_qualname} line {frame.f_lineno}" if frame else "?"
        raise Violation(f"settle: still busy after {seconds} s, in {where}")

    before = signal.signal(signal.SIGVTALRM, out_of_time)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


def run_session(seed: str, counters: Counter[str], *, replay: bool = False) -> Session:
    """Run one session. Raises `Failed`."""
    rng = Random(seed)
    options, temper = draw_options(rng), draw_temper(rng)
    if is_gated(seed):
        options = draw_consent(rng, options)
    # At rest: the world had answered everything when it ended. Prompt voice: seconds after which a line that was made
    # ahead could surely be heard; facts came in time, no sound was stuck.
    notes = {"at_rest": False, "prompt_voice": prompt_voice(options, temper)}
    session = Session(Journal(Head(options, AGENT, about=f"session {seed}", notes=notes)))
    try:
        with cpu_limit(CPU_LIMIT):
            _converse(rng, session, temper, _watch_of(session.journal, counters))
            if replay:
                _compare(session)
                counters["replayed"] += 1
    except Exception as error:
        raise Failed(seed, session, error) from error
    return session


def is_gated(about: str) -> bool:
    """Whether it is a session, or its seed, in which tools that write are read back first."""
    return about.removeprefix("session ").startswith("consent")


def _watch_of(journal: Journal, counters: Counter[str] | None = None) -> Watch:
    head = journal.head
    return Watch(head.options, head.agent, counters, head.notes.get("prompt_voice"), head.mark)


def _converse(rng: Random, session: Session, temper: Temper, watch: Watch) -> None:
    options = session.journal.head.options
    conversation = Conversation(options, agent=AGENT)
    entries, log = session.journal.entries, session.commands
    now = 0.0
    drawn = 0
    lag, excused = temper.lag, float("-inf")

    def new_id() -> int:
        nonlocal drawn
        drawn += 1
        return conversation.new_id()

    world = World(rng, options, temper, new_id, gated=is_gated(session.journal.head.about))

    def enter(fact: f.Fact | None, commands: list[do.Command]) -> None:
        nonlocal drawn
        entries.append(Entry(now, fact, drawn))
        drawn = 0
        log.append(commands)
        watch.observe(now, fact, commands, conversation.deadline, conversation.idle)
        if len(commands) > MAX_COMMANDS:
            raise Violation(f"settle: {len(commands)} commands in answer to one fact")
        world.now = now
        world.perform(commands)

    def jump() -> None:
        """The loop stands still for a while; mostly its driver tells of it."""
        nonlocal now, excused
        now += rng.choice((0.001, 0.3, 3.0, 20.0))
        due = conversation.deadline
        if due is not None and due > excused and (wait := catch_up(now - due)) and rng.random() < 0.8:
            excused = now + wait
            fact = f.StoodStill(excused - due)
            conversation.receive(fact, now)
            enter(fact, conversation.take_commands())

    conversation.start(now)
    enter(None, conversation.take_commands())
    at_rest = False
    while len(entries) < MAX_ENTRIES:
        due, deadline = world.next_time, conversation.deadline
        if due is None and deadline is None:
            if at_rest or watch.trace.is_closed:
                break
            at_rest = True
            if not watch.trace.is_closing:
                session.note(at_rest=True)
                watch.at_rest(conversation.idle)
                session.note(at_rest=False)
                world.at(1.0, f.CloseRequested(drain=rng.random() < 0.3))
                continue
            break
        if deadline is not None and (due is None or deadline < due or (deadline == due and rng.random() < 0.5)):
            now = max(now, deadline)
            if rng.random() < lag:
                jump()
            conversation.advance(now)
            enter(None, conversation.take_commands())
            continue
        assert due is not None
        now = max(now, due)
        if rng.random() < lag:
            jump()
        fact = world.step(now)
        if fact is not None:
            conversation.receive(fact, now)
            enter(fact, conversation.take_commands())
    else:
        raise Violation(f"rest: after {MAX_ENTRIES} entries the session still goes on")
    watch.at_end()


def _compare(session: Session) -> None:
    """The journal alone must bring forth the same commands, and so the same history."""
    for number, commands in enumerate(commands_of(session.journal)):
        expected = session.commands[number]
        if to_data(commands) != to_data(expected):
            raise Violation(f"replay: entry {number} brings {commands} instead of {expected}")


def commands_of(journal: Journal, watch: Watch | None = None) -> Iterator[list[do.Command]]:
    """Replay a journal; the commands of each entry. The first entry is `start`."""
    step = None
    for step in steps(journal):
        if step.error is not None:
            raise step.error
        commands = list(step.commands)
        if watch is not None:
            watch.observe(step.entry.at, step.entry.fact, commands, step.deadline, step.idle)
        yield commands
    if watch is not None and step is not None and journal.head.notes.get("at_rest") and step.deadline is None:
        watch.at_rest(step.idle)


def check_journal(journal: Journal) -> Watch:
    """Replay a recorded journal and hold it to the promises. Raises `Violation`."""
    watch = _watch_of(journal)
    with cpu_limit(CPU_LIMIT):
        for commands in commands_of(journal, watch):
            if len(commands) > MAX_COMMANDS:
                raise Violation(f"settle: {len(commands)} commands in answer to one fact")
    return watch


def tell(session: Session, last: int = 60) -> str:
    """The end of a session, as lines."""
    lines: list[str] = []
    first = max(0, len(session.journal.entries) - last)
    commands = session.commands + [[]] * (len(session.journal.entries) - len(session.commands))
    for number in range(first, len(session.journal.entries)):
        entry = session.journal.entries[number]
        lines.append(f"{number:5} {entry.at:9.3f}  {entry.fact if entry.fact is not None else 'tick'}")
        lines += [f"                     -> {command}" for command in commands[number]]
    return "\n".join(lines)


def fuzz(
    *,
    seed: str,
    sessions: int | None = None,
    facts: int | None = None,
    counters: Counter[str],
    known: Mapping[str, str] = MappingProxyType({}),
) -> int:
    """Run sessions until there were so many, or so many entries. The number of entries. Raises `Failed`.

    `known`: the promise that a session is known to break. Raises `AssertionError` if it breaks none, or another one.
    """
    entries = number = 0
    while (sessions is None or number < sessions) and (facts is None or entries < facts):
        name = f"{seed}/{number}"
        try:
            session = run_session(name, counters, replay=number % REPLAYED == 0)
        except Failed as failed:
            failed.facts += entries
            if not str(failed.__cause__).startswith(f"{known.get(name)}:"):
                raise
            session = failed.session
        else:
            assert name not in known, f"{name} no longer breaks a promise: take it from the known ones"
        entries += len(session.journal.entries)
        number += 1
    counters["sessions"] += number
    return entries


def main(arguments: list[str] | None = None) -> int:
    """The command line. 0: no promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.core.fuzz", description=__doc__.split("\n")[0])
    parser.add_argument("--sessions", type=int, help="how many sessions")
    parser.add_argument("--facts", type=int, help="how many journal entries (facts and ticks)")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the number of the first session of a survey")
    parser.add_argument("--only", metavar="SEED/N", help="one session, and print its whole journal")
    parser.add_argument("--replay", type=Path, metavar="FILE", nargs="+", help="check recorded journals")
    parser.add_argument("--survey", action="store_true", help="go on after a violation; list them all, by kind")
    parser.add_argument("--dump", type=Path, metavar="FILE", help="keep the journal of a failed session")
    parser.add_argument("--quiet", action="store_true", help="only the verdict")
    given = parser.parse_args(arguments)
    counters: Counter[str] = Counter()
    started = time.perf_counter()
    try:
        if given.replay is not None:
            entries = sum(len(_replayed(path)) for path in given.replay)
        elif given.survey:
            return _survey(given.seed, given.first, given.sessions or 1000)
        elif given.only is not None:
            session = run_session(given.only, counters, replay=True)
            print(tell(session, last=MAX_ENTRIES))
            entries = len(session.journal.entries)
        else:
            sessions = given.sessions if given.sessions is not None or given.facts is not None else 1000
            entries = fuzz(seed=given.seed, sessions=sessions, facts=given.facts, counters=counters)
    except JournalError as error:
        print(error, file=sys.stderr)
        return 1
    except Failed as failed:
        if not given.quiet:
            print(tell(failed.session, last=MAX_ENTRIES if given.only is not None else 60))
        print(f"{failed}\nafter {failed.facts} facts", file=sys.stderr)
        if not isinstance(failed.__cause__, Violation):
            sys.excepthook(type(failed), failed, failed.__traceback__)
        if given.dump is not None:
            failed.session.note(about=str(failed))
            failed.session.journal.save(given.dump)
        if given.only is None and given.replay is None:
            print(closing("fuzz", "facts up to the first that broke a promise", given.seed, 1, started))
        return 1
    took = time.perf_counter() - started
    if not given.quiet:
        for name, count in sorted(counters.items(), key=lambda item: -item[1]):
            print(f"{count:9}  {name}")
    print(f"{entries} entries in {took:.1f} s ({entries / took:,.0f} a second), no promise broken")
    if given.only is None and given.replay is None:
        print(closing("fuzz", f"{entries:,} facts in {counters['sessions']:,} sessions", given.seed, 0, started))
    return 0


def _survey(seed: str, first: int, sessions: int) -> int:
    """Run sessions whatever happens: name those that fail, and print one of each kind of violation, the shortest."""
    found: dict[str, tuple[int, int, str]] = {}
    entries, started = 0, time.perf_counter()
    for number in range(first, first + sessions):
        try:
            session = run_session(f"{seed}/{number}", Counter(), replay=number % REPLAYED == 0)
        except Failed as failed:
            session = failed.session
            print(str(failed)[:160], flush=True)
            kind = " ".join(re.sub(r"\(.*\)|'[^']*'|[\[{].*|[0-9]+", "_", str(failed.__cause__)).split()[:12])
            length = len(failed.session.journal.entries)
            count, shortest, example = found.get(kind, (0, length + 1, ""))
            if length < shortest:
                shortest, example = length, str(failed)
            found[kind] = (count + 1, shortest, example)
        entries += len(session.journal.entries)
    for count, length, example in sorted(found.values(), reverse=True):
        print(f"{count:6} times; after {length} entries: {example[:300]}")
    broken = sum(one[0] for one in found.values())
    print(f"{broken} of {sessions} sessions broke a promise")
    print(closing("fuzz", f"{entries:,} facts in {sessions:,} sessions", seed, broken, started))
    return 1 if found else 0


def _replayed(path: Path) -> list[Entry]:
    journal = read(path)
    session = Session(journal)
    watch = _watch_of(journal)
    try:
        for commands in commands_of(journal, watch):
            session.commands.append(commands)
    except Violation as violation:
        session.commands.append([])
        shown = Session(Journal(journal.head, journal.entries[: len(session.commands)]), session.commands)
        raise Failed(str(path), shown, violation) from violation
    print(tell(session, last=MAX_ENTRIES))
    return journal.entries
