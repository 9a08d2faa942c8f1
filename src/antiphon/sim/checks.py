"""What must hold of every call: nothing lost, nothing doubled, no dead air.

By the facts (history, what the model was asked, what became of each tool) and by the rendered sound.

Above: whoever made the call. Below: the walk, which is over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from itertools import pairwise

from antiphon.chat import AgentHandoff, ChatMessage, FunctionCall
from antiphon.metrics import ResponseMetrics, TurnMetrics
from antiphon.sim.caller_log import Said
from antiphon.sim.walks import AWAY, MAX_SILENCE, VOICE_PATIENCE, Walk
from antiphon.sim.world import ANSWERS, FAILURE, FALLBACK, SPEAKING, results_in, turns_in
from antiphon.testing import Sound, check_pairs, transcript

TOLERANCE = 0.1
"""Seconds that a silence may be longer than the budget."""
MAX_PAUSE = 0.15
"""Seconds from the caller's first sound, or a typed turn, to the agent's silence."""
NOTICED_LATE = 0.25
"""Seconds by which the end of the caller's voice is noticed late where who hears it failed."""
REPLY = 5.0
"""Seconds from a word of the caller's in which something must be heard of the agent."""
GRACE = 1.0
"""Seconds more that a reply has to begin once the results of its round are in."""
A_MOMENT = 0.05
"""Seconds from when something is given to the loudspeaker to its sound, at most."""
VOICE = 0.5
"""Seconds that it has to be heard once its text is in."""


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

    def merge(self, other: Findings) -> None:
        """Take over what was found elsewhere."""
        for counter in fields(self):
            if isinstance(mine := getattr(self, counter.name), Counter):
                mine.update(getattr(other, counter.name))
        self.longest_silence = max(self.longest_silence, other.longest_silence)
        self.slowest_pause = max(self.slowest_pause, other.slowest_pause)
        self.reactions += other.reactions


def examine(walk: Walk) -> Findings:
    """Everything that is to be said of a call."""
    silences = list(_silences(walk))
    hushes = list(_hushes(walk))
    figures = _figures(walk)
    figures["barge-ins over sound"] = len(hushes)
    return Findings(
        turns_lost=_named(walk, _lost_turns(walk)),
        results_never_voiced=_named(walk, _never_voiced(walk)),
        results_voiced_twice=_named(walk, _voiced_twice(walk)),
        silences=_named(
            walk,
            (f"{one.duration:.2f} s from {one.start:.2f} s" for one, allowed in silences if one.duration > allowed),
        ),
        slow_pauses=_named(
            walk,
            (
                f"{hush:.2f} s after {said.name}, {said.way}, at {said.start:.2f} s"
                for said, hush in hushes
                if hush > MAX_PAUSE
            ),
        ),
        other=_named(walk, _other(walk)),
        figures=figures,
        longest_silence=max((silence.duration for silence, _ in silences), default=0.0),
        slowest_pause=max((hush for _, hush in hushes), default=0.0),
        reactions=list(_reactions(walk)),
    )


def _named(walk: Walk, problems: Iterable[str]) -> Counter[str]:
    return Counter(f"{walk.seed}: {problem}" for problem in problems)


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
    for said in walk.log.said:
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
    return said.way == "spoken" and any(
        fault.start <= said.end and said.start <= fault.end for fault in (*walk.deaf, *walk.misheard)
    )


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
    return answered.union(_taken_for_answers(walk, heard))


def _taken_for_answers(walk: Walk, heard: set[str]) -> Iterator[str]:
    """Turns that a task took for its answer, where what was heard next came from the agent that had asked for it.

    A call beside that one may still be at work then, and both are written down behind what was heard.
    """
    shown: dict[str, frozenset[str]] = {}
    for asked, following in pairwise(walk.world.asked):
        news = asked.turns - shown.get(asked.agent, frozenset())
        shown[asked.agent] = asked.turns
        is_over = following.agent != asked.agent and not set(ANSWERS).isdisjoint(asked.calls)
        if is_over and f"a{following.number}" in heard:
            yield from news


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
    yield from _dead_ends(walk)
    for error in walk.errors:
        yield f"{error!r}"
    try:
        check_pairs(walk.call.session.history)
    except AssertionError as error:
        yield f"{error}"
    if walk.kind == "three models":
        yield from walk.world.prefixes.unstable
    yield from _stubs(walk)
    if walk.falls_silent:
        yield from _left_alone(walk)
    if walk.goodbye is not None and (walk.goodbye == "more") is (walk.closed is not None):
        yield f"the caller answered a goodbye with {walk.goodbye}, and the call ended at {walk.closed}"
    runs = Counter(run.arguments for run in walk.world.runs if run.kind == "write")
    for arguments, times in runs.items():
        if times > 1 and not _failed(walk, arguments):
            yield f"write({arguments}) ran {times} times"


def _left_alone(walk: Walk) -> Iterator[str]:
    """A caller who fell silent and was not asked, asked again, and told goodbye, or the call went on behind it."""
    if walk.closed is None:
        yield "the caller fell silent, and the call did not end"
    lines, said = [AWAY.ask, AWAY.again, AWAY.goodbye], _spoken(walk)
    if walk.has_voice and said[-3:] != lines:
        yield f"the caller fell silent, and was told {said[-3:]}"


def _stubs(walk: Walk) -> Iterator[str]:
    """Fillers that were begun although the text of the reply was in, and was about to sound."""
    for reply in walk.replies:
        fillers = [one for one in reply.responses if one.filler and one.first_byte is not None]
        answers = [one for one in reply.responses if one.by_model and one.first_text is not None]
        for filler in fillers:
            begun = filler.first_audio or 0.0
            for answer in answers:
                in_since = _sayable(reply, answer)
                was_ready = (filler.first_byte or 0.0) <= in_since  # else it may have been begun before
                if was_ready and in_since + A_MOMENT < begun < min(in_since + VOICE, answer.first_audio or 0.0):
                    yield f"a filler was begun at {begun:.2f}, and the text of the reply came at {in_since:.2f}"


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
        texts = [time for time in _texts_in(walk) if silence.start <= time <= silence.start + allowed]
        if texts:
            allowed = max(allowed, texts[-1] - silence.start + VOICE + TOLERANCE)
        if any(silence.start - 1.0 <= time <= silence.end for time in walk.world.voice_failed):
            allowed += 2 * VOICE_PATIENCE
        if any(deaf.start <= silence.start <= deaf.end for deaf in walk.deaf):
            allowed += NOTICED_LATE
        yield silence, allowed


def _dead_ends(walk: Walk) -> Iterator[str]:
    """Words of the caller, whatever they were taken for, behind which the agent was not heard any more.

    A tool may wish for that: it goes to the background, and no word is to be said of it. Where the model hears by
    itself, words without a turn of their own are its own business.
    """
    if walk.kind != "three models":
        return
    heard = walk.call.caller.utterances
    for number, said in enumerate(heard):
        until = heard[number + 1].start if number + 1 < len(heard) else walk.line.end
        if not said.words or until < said.end + REPLY or any(d.start <= said.end <= d.end for d in walk.deaf):
            continue
        if any(run.silent and said.end <= run.began < said.end + REPLY for run in walk.world.runs):
            continue
        if not any(sound.end > said.end and sound.start < said.end + REPLY for sound in walk.line.agent):
            yield f"nothing was heard behind {said.text!r} at {said.end:.2f} s"


def _texts_in(walk: Walk) -> list[float]:
    """When the text of each reply, and what tools said, could begin to be said."""
    responses = ((reply, one) for reply in walk.replies for one in reply.responses if not one.filler)
    said_by_tools = [run.began for run in walk.world.runs if run.kind in SPEAKING]
    return sorted([*said_by_tools, *(_sayable(reply, one) for reply, one in responses if one.first_text is not None)])


def _sayable(reply: TurnMetrics, response: ResponseMetrics) -> float:
    """When the text of a response could begin to be said: it is in, and the turn that it answers is taken."""
    return max(response.first_text or 0.0, reply.decided or 0.0)


def _noticed(walk: Walk) -> Iterator[Said]:
    """Turns that the agent, if it speaks, falls silent for and answers."""
    for said in walk.log.said:
        if _is_unheard(walk, said):
            continue  # nobody is there to notice
        if said.way == "put":
            continue  # it waits until the agent has spoken
        if said.way == "typed" and (said.reply is None or said.reply.interrupted):
            continue  # what sounds is a filler, which goes on, or already the answer
        yield said


def _hushes(walk: Walk) -> Iterator[tuple[Said, float]]:
    """Turns over the agent's sound, each with the seconds until its silence."""
    for said in _noticed(walk):
        hush = walk.line.agent_falls_silent(said.start) - said.start
        if hush > 0 and not _is_protected(walk, said.start, said.start + hush):
            yield said, hush


def _reactions(walk: Walk) -> Iterator[float]:
    for said in _noticed(walk):
        begins = walk.line.agent_begins(said.end)
        if begins is not None:
            yield begins - said.end


def _is_protected(walk: Walk, start: float, end: float) -> bool:
    """Meanwhile a tool ran, or its result was told, that must not be interrupted."""
    runs = [run for run in walk.world.runs if run.kind in ("protected", "announce")]
    return any(run.began <= end and start <= max(run.told or 0.0, run.ended or walk.line.end) for run in runs)


def _pauses(walk: Walk, start: float, end: float) -> int:
    inside = [sound for sound in walk.line.caller if sound.start >= start - 0.001 and sound.end <= end + 0.001]
    return max(0, len(inside) - 1)


# -- how much there was


def _figures(walk: Walk) -> Counter[str]:
    log = walk.log
    figures = Counter(
        {
            "calls": 1,
            f"calls, {walk.kind}": 1,
            "seconds": round(walk.duration),
            "turns": len(log.said),
            "barge-ins": sum(said.barged_in for said in log.said),
            "coughs": len(log.noises),
            "hums": len(log.hums),
            "pauses inside turns": sum(_pauses(walk, said.start, said.end) for said in log.said),
            "provider faults": walk.faults,
            "requests": len(walk.world.asked),
            "hand-offs": sum(line.startswith("handoff:") for line in transcript(walk.call.session.history)),
            "results delivered": len(_tellings(walk)),
        }
    )
    for said in log.said:
        if said.way != "spoken":
            figures.update((f"turns {said.way}", f"turns {said.way} {said.moment}"))
    figures.update(f"keys {moment}" for _, _, moment in log.keys)
    figures.update(f"runs of {run.kind}" for run in walk.world.runs)
    if walk.falls_silent:
        figures["callers who fell silent"] += 1
    if walk.goodbye is not None:
        figures[f"goodbyes, then {walk.goodbye}"] += 1
    return figures
