"""What must hold of every call: nothing lost, nothing doubled, no dead air.

By the facts (history, what the model was asked, what became of each tool) and by the rendered sound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, fields

from antiphon import AgentHandoff, ChatMessage, FunctionCall
from antiphon.testing import Sound, check_pairs, transcript
from tests.situations.walks.walk import MAX_SILENCE, VOICE_PATIENCE
from tests.situations.walks.walked import Said, Walk
from tests.situations.walks.world import ANSWERS, FAILURE, FALLBACK, results_in, turns_in

TOLERANCE = 0.1
"""Seconds that a silence may be longer than the budget."""
MAX_PAUSE = 0.15
"""Seconds from the caller's first sound, or a typed turn, to the agent's silence."""
GRACE = 1.0
"""Seconds more that a reply has to begin once the results of its round are in."""


@dataclass(slots=True)
class Findings:
    """What was found in calls. The `Counter`s above `figures` must stay empty."""

    turns_lost: Counter[str] = field(default_factory=Counter)
    results_never_voiced: Counter[str] = field(default_factory=Counter)
    results_voiced_twice: Counter[str] = field(default_factory=Counter)
    silences: Counter[str] = field(default_factory=Counter)
    """Longer than allowed while work was pending."""
    slow_pauses: Counter[str] = field(default_factory=Counter)
    """The agent spoke on for longer than allowed."""
    other: Counter[str] = field(default_factory=Counter)
    figures: Counter[str] = field(default_factory=Counter)
    """How much of everything there was."""
    longest_silence: float = 0.0
    """Seconds, with work pending."""
    slowest_pause: float = 0.0
    """Seconds from the caller's first sound over the agent to its silence."""
    reactions: list[float] = field(default_factory=list)
    """Seconds from each turn's last sound to the agent's first."""

    @property
    def problems(self) -> list[str]:
        """All that was wrong, each with its seed."""
        kinds = {
            "turn lost": self.turns_lost,
            "result never voiced": self.results_never_voiced,
            "result voiced twice": self.results_voiced_twice,
            "silence": self.silences,
            "slow pause": self.slow_pauses,
            "": self.other,
        }
        return [f"{kind}: {what}" for kind, found in kinds.items() for what in found]

    def add(self, other: Findings) -> None:
        """Take over what was found elsewhere."""
        for counter in fields(self):
            if isinstance(mine := getattr(self, counter.name), Counter):
                mine.update(getattr(other, counter.name))
        self.longest_silence = max(self.longest_silence, other.longest_silence)
        self.slowest_pause = max(self.slowest_pause, other.slowest_pause)
        self.reactions += other.reactions


def examine(walk: Walk) -> Findings:
    """Everything that is to be said of a call."""
    found = Findings()
    for turn in _lost_turns(walk):
        found.turns_lost[f"{walk.seed}: {turn}"] += 1
    for result in _never_voiced(walk):
        found.results_never_voiced[f"{walk.seed}: {result}"] += 1
    for result in _voiced_twice(walk):
        found.results_voiced_twice[f"{walk.seed}: {result}"] += 1
    for silence, allowed in _silences(walk):
        found.longest_silence = max(found.longest_silence, silence.duration)
        if silence.duration > allowed:
            found.silences[f"{walk.seed}: {silence.duration:.2f} s from {silence.start:.2f} s"] += 1
    for what in _other(walk):
        found.other[f"{walk.seed}: {what}"] += 1
    _measure(walk, found)
    return found


# -- facts


def _spoken(walk: Walk) -> list[str]:
    """What the agents were heard to say, by the history."""
    return [m.text_content or "" for m in walk.call.session.history.messages() if m.role == "assistant"]


def _lost_turns(walk: Walk) -> Iterator[str]:
    """Words of the caller that are not in the history, or there twice; turns to which nothing was said."""
    understood = Counter(
        word
        for message in walk.call.session.history.messages()
        if message.role == "user"
        for word in (message.text_content or "").split()
    )
    answered = _answered(walk)
    for said in walk.said:
        for word in said.words:
            if understood[word] > 1:
                yield f"{word} of {said.name} was understood {understood[word]} times"
        if _is_unheard(walk, said):
            continue  # the recogniser failed, and there was no other
        missing = [word for word in said.words if not understood[word]]
        if missing:
            yield f"{said.name} came without {' '.join(missing)}"
        elif said.name not in answered and not _is_outdated(said):
            yield f"{said.name} was not answered"


def _is_unheard(walk: Walk, said: Said) -> bool:
    return said.way == "spoken" and any(fault.start <= said.end and said.start <= fault.end for fault in walk.deaf)


def _is_outdated(said: Said) -> bool:
    """The reply that was asked for was interrupted: whoever did it is answered, or it was a noise."""
    return said.way == "put" and said.reply is not None and said.reply.interrupted


def _answered(walk: Walk) -> set[str]:
    """Turns to which something was heard: a reply made with them in view, or a line in its place."""
    heard = {tag for text in _spoken(walk) for tag in text.lower().split()}
    answered = {turn for asked in walk.world.asked if f"a{asked.number}" in heard for turn in asked.turns}
    since: set[str] = set()
    handed_over: set[str] = set()
    for item in walk.call.session.history.items:
        if isinstance(item, AgentHandoff) or (isinstance(item, FunctionCall) and item.name in ANSWERS):
            handed_over |= since  # they led to another agent, whose first words are the answer
        elif isinstance(item, ChatMessage):
            text = item.text_content or ""
            if item.role == "user":
                since.update(turns_in(text))
            else:
                answered |= handed_over
                if any(line.startswith(text) or text.startswith(line) for line in (FALLBACK, FAILURE)):
                    answered |= since
    return answered


def _tellings(walk: Walk) -> Counter[str]:
    return Counter(result for text in _spoken(walk) for result in results_in(text.lower()))


def _never_voiced(walk: Walk) -> Iterator[str]:
    told = _tellings(walk)
    for run in walk.world.runs:
        if run.kept and run.status in ("done", "failed") and not told[run.result]:
            yield f"{run.result} of {run.kind}({run.arguments}), {run.status} at {run.ended:.2f}"


def _voiced_twice(walk: Walk) -> Iterator[str]:
    for result, times in _tellings(walk).items():
        if times > 1:
            yield f"{result}, {times} times"


def _other(walk: Walk) -> Iterator[str]:
    for error in walk.errors:
        yield f"{error!r}"
    try:
        check_pairs(walk.call.session.history)
    except AssertionError as error:
        yield f"{error}"
    if walk.goodbye is not None and (walk.goodbye == "more") is (walk.closed is not None):
        yield f"the caller answered a goodbye with {walk.goodbye}, and the call ended at {walk.closed}"
    runs = Counter(run.arguments for run in walk.world.runs if run.kind == "write")
    for arguments, times in runs.items():
        if times > 1 and not _failed(walk, arguments):
            yield f"write({arguments}) ran {times} times"


def _failed(walk: Walk, arguments: int) -> bool:
    return any(run.status != "done" for run in walk.world.runs if run.arguments == arguments)


# -- sound


def _silences(walk: Walk) -> Iterator[tuple[Sound, float]]:
    """Silences with work pending, each with what is allowed. Without a voice nothing can bridge them."""
    if not walk.has_voice:
        return
    for silence in walk.line.silences(walk.call.pending):
        allowed = MAX_SILENCE + TOLERANCE
        rounds = [time for time in walk.rounds if silence.start <= time <= silence.end]
        if rounds:  # a call that returns at once may follow another within the silence
            allowed = max(allowed, rounds[-1] - silence.start + TOLERANCE) + GRACE
        if any(silence.start - 1.0 <= time <= silence.end for time in walk.world.voice_failed):
            allowed += 2 * VOICE_PATIENCE
        yield silence, allowed


def _measure(walk: Walk, found: Findings) -> None:
    figures, line = found.figures, walk.line
    figures["calls"] += 1
    figures[f"calls, {walk.kind}"] += 1
    figures["seconds"] += round(walk.duration)
    figures["turns"] += len(walk.said)
    figures["barge-ins"] += sum(said.barged_in for said in walk.said)
    figures["coughs"] += len(walk.noises)
    figures["hums"] += len(walk.hums)
    for said in walk.said:
        if said.way != "spoken":
            figures[f"turns {said.way}"] += 1
            figures[f"turns {said.way} {said.moment}"] += 1
    for _, _, moment in walk.keys:
        figures[f"keys {moment}"] += 1
    figures["pauses inside turns"] += sum(_pauses(walk, said.start, said.end) for said in walk.said)
    figures["provider faults"] += walk.faults
    figures["requests"] += len(walk.world.asked)
    if walk.goodbye is not None:
        figures[f"goodbyes, then {walk.goodbye}"] += 1
    figures["hand-offs"] += transcript_count(walk, "handoff:")
    for run in walk.world.runs:
        figures[f"runs of {run.kind}"] += 1
    figures["results delivered"] += len(_tellings(walk))
    for said in walk.said:
        if _is_unheard(walk, said):
            continue  # nobody is there to notice
        if said.way == "put":
            continue  # it waits until the agent has spoken
        if said.way == "typed" and (said.reply is None or said.reply.interrupted):
            continue  # what sounds is a filler, which goes on, or already the answer
        start = said.start
        hush = line.agent_falls_silent(start) - start
        if hush > 0 and not _is_protected(walk, start, start + hush):
            figures["barge-ins over sound"] += 1
            found.slowest_pause = max(found.slowest_pause, hush)
            if hush > MAX_PAUSE:
                found.slow_pauses[f"{walk.seed}: {hush:.2f} s after {said.name}, {said.way}, at {start:.2f} s"] += 1
        begins = line.agent_begins(said.end)
        if begins is not None:
            found.reactions.append(begins - said.end)


def _is_protected(walk: Walk, start: float, end: float) -> bool:
    """A tool ran meanwhile that must not be interrupted."""
    runs = [run for run in walk.world.runs if run.kind in ("protected", "announce")]
    return any(run.began <= end and start <= (run.ended or walk.line.end) for run in runs)


def _pauses(walk: Walk, start: float, end: float) -> int:
    inside = [sound for sound in walk.line.caller if sound.start >= start - 0.001 and sound.end <= end + 0.001]
    return max(0, len(inside) - 1)


def transcript_count(walk: Walk, kind: str) -> int:
    """Lines of the history that begin so."""
    return sum(text.startswith(kind) for text in transcript(walk.call.session.history))
