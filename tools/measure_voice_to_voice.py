"""How long callers wait: from the last sound of a caller's turn to the first sound of the answer.

Reads stereo recordings (left the caller, right the agent) and nothing else: no log, no clock of the program measured.

    python tools/measure_voice_to_voice.py call.wav [more.wav ...] [--json]

- *Sound* is a sample above -45 dBFS (`--threshold`).
- A caller's *turn* is sound with gaps shorter than 1.2 s (`--turn-gap`). If the agent begins to speak inside such a
  gap, the turn ended there: what the caller says next is a turn of its own, and the first one is marked `cut in`.
- The *answer* is the first sound of the agent after the turn. An agent that is still speaking when the turn ends does
  not answer by going on: then the answer is its next beginning after a silence of 0.3 s (`--agent-gap`), and the turn
  is marked `talked over`.
- A turn that begins while the agent speaks is marked `barge-in`; one over which the agent begins, `begun over`.
- A turn without an answer before the caller's next turn, or before the end, has no latency and is counted.

Noise above the threshold counts as sound, so measure on clean callers.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Samples = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sound:
    """A stretch of sound. Seconds from the start of the recording; `end` is its last audible sample."""

    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Turn:
    """A caller's turn and what followed. Seconds from the start of the recording."""

    start: float
    end: float
    answer: float | None
    """When the agent's answer began, or None if there was none."""
    barge_in: bool
    """The agent was speaking when the turn began."""
    begun_over: bool
    """The agent began to speak while the turn went on."""
    talked_over: bool
    """The agent was still speaking when the turn ended."""
    cut_in: bool
    """The agent began so soon that the caller's next words might have been the same turn."""

    @property
    def latency(self) -> float | None:
        """Milliseconds from the turn's last sound to the answer's first."""
        return None if self.answer is None else (self.answer - self.end) * 1000


@dataclass(frozen=True, slots=True)
class Rules:
    """What counts as sound, turn and answer. Defaults are those of this file's docstring."""

    threshold_db: float = -45.0
    turn_gap: float = 1.2
    agent_gap: float = 0.3


def sounds(samples: Samples, rate: int, threshold_db: float, gap: float) -> list[Sound]:
    """The stretches of sound, those less than `gap` seconds apart merged."""
    audible = np.flatnonzero(np.abs(samples) > 10 ** (threshold_db / 20))
    if audible.size == 0:
        return []
    breaks = np.flatnonzero(np.diff(audible) >= gap * rate)
    starts = audible[np.concatenate([[0], breaks + 1])]
    ends = audible[np.concatenate([breaks, [audible.size - 1]])]
    return [Sound(start / rate, end / rate) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def turns(caller: Samples, agent: Samples, rate: int, rules: Rules | None = None) -> list[Turn]:
    """The caller's turns in order. Both channels begin at the same instant."""
    rules = rules or Rules()
    speech = sounds(agent, rate, rules.threshold_db, rules.agent_gap)
    # Gaps shorter than a syllable are not listened to, so that an agent who talks over the caller splits nothing.
    pieces = sounds(caller, rate, rules.threshold_db, min(0.2, rules.turn_gap))
    merged: list[Sound] = []
    cut_in: list[bool] = []
    for piece in pieces:
        if merged and piece.start - merged[-1].end < rules.turn_gap:
            if not any(merged[-1].end < s.start < piece.start for s in speech):
                merged[-1] = Sound(merged[-1].start, piece.end)
                continue
            cut_in[-1] = True
        merged.append(piece)
        cut_in.append(False)
    found = []
    for number, turn in enumerate(merged):
        until = merged[number + 1].start if number + 1 < len(merged) else float("inf")
        found.append(
            Turn(
                start=turn.start,
                end=turn.end,
                answer=next((s.start for s in speech if turn.end < s.start < until), None),
                barge_in=any(s.start < turn.start <= s.end for s in speech),
                begun_over=any(turn.start <= s.start < turn.end for s in speech),
                talked_over=any(s.start <= turn.end < s.end for s in speech),
                cut_in=cut_in[number],
            )
        )
    return found


def summary(found: Sequence[Turn]) -> dict[str, float | int | None]:
    """Counts, and median, p95 and maximum of the latencies in milliseconds (None where nothing was answered)."""
    latencies = [t.latency for t in found if t.latency is not None]
    median, p95, most = np.percentile(latencies, [50, 95, 100]).tolist() if latencies else (None, None, None)
    return {
        "turns": len(found),
        "answered": len(latencies),
        "unanswered": len(found) - len(latencies),
        "barge_ins": sum(t.barge_in for t in found),
        "begun_over": sum(t.begun_over for t in found),
        "talked_over": sum(t.talked_over for t in found),
        "cut_in": sum(t.cut_in for t in found),
        "median_ms": median,
        "p95_ms": p95,
        "max_ms": most,
    }


def read(path: Path) -> tuple[Samples, Samples, int]:
    """Caller, agent and sample rate of a stereo recording. Exits with a remedy if it is not one."""
    import soundfile

    try:
        samples, rate = soundfile.read(path, dtype="float64", always_2d=True)
    except (OSError, soundfile.LibsndfileError) as error:
        raise SystemExit(f"{path}: cannot be read as audio ({error}); give a stereo WAV file") from None
    if samples.shape[1] != 2:
        raise SystemExit(f"{path}: expected 2 channels (left caller, right agent), got {samples.shape[1]}")
    return samples[:, 0], samples[:, 1], rate


def _as_json(turn: Turn) -> dict[str, object]:
    return {**asdict(turn), "latency_ms": turn.latency}


def _row(number: int, turn: Turn) -> str:
    waited = "no answer" if turn.latency is None else f"{turn.latency:6.0f} ms"
    marks = {
        "barge-in": turn.barge_in,
        "begun over": turn.begun_over,
        "talked over": turn.talked_over,
        "cut in": turn.cut_in,
    }
    noted = ", ".join(name for name, holds in marks.items() if holds)
    return f"  turn {number:>2}  {turn.start:8.2f} to {turn.end:8.2f} s  {waited:>9}  {noted}".rstrip()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the recordings named on the command line, one by one and together."""
    usual = Rules()
    parser = argparse.ArgumentParser(description="Measure how long callers wait for an answer in stereo recordings.")
    parser.add_argument("recordings", nargs="+", type=Path, metavar="WAV", help="left the caller, right the agent")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    parser.add_argument("--threshold", type=float, default=usual.threshold_db, help="dBFS above which there is sound")
    parser.add_argument("--turn-gap", type=float, default=usual.turn_gap, help="seconds of silence that part two turns")
    parser.add_argument("--agent-gap", type=float, default=usual.agent_gap, help="seconds that part two agent speeches")
    given = parser.parse_args(arguments)
    rules = Rules(given.threshold, given.turn_gap, given.agent_gap)
    by_file = {str(path): turns(*read(path), rules) for path in given.recordings}
    total = summary([turn for found in by_file.values() for turn in found])
    if given.json:
        files = {name: [_as_json(turn) for turn in found] for name, found in by_file.items()}
        json.dump({"files": files, "summary": total}, sys.stdout, indent=2)
        print()
        return
    for name, found in by_file.items():
        print(name)
        for number, turn in enumerate(found, 1):
            print(_row(number, turn))
    print(f"{total['answered']} of {total['turns']} turns answered", end="")
    print(f"; {total['barge_ins']} barge-in, {total['begun_over']} begun over", end="")
    print(f", {total['talked_over']} talked over, {total['cut_in']} cut in")
    if total["answered"]:
        print(f"median {total['median_ms']:.0f} ms, p95 {total['p95_ms']:.0f} ms, max {total['max_ms']:.0f} ms")


if __name__ == "__main__":
    main()
