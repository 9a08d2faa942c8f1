"""What is at work in a call, for whoever goes on with it elsewhere: its agents, its open calls, what is being said.

It is kept as one part of the call, written anew when it has changed. History and rows are kept beside it: what stands
there is not here.

Above: `keeping`, which shows it what happens, and who resumes a call, and reads it. Below: the core's vocabulary.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from antiphon.chat import FunctionCallOutput
from antiphon.core.codec import reader, to_data
from antiphon.core.commands import Adopt, Command, Generate, RebindRun, Record, RunTool
from antiphon.core.facts import (
    AgentTaskFinished,
    AgentTaskStarted,
    CutCall,
    Fact,
    ModelsChanged,
    PlayoutFinished,
    PlayoutProgressed,
)
from antiphon.core.notices import (
    ConsentAsked,
    ConsentDecided,
    HandedOff,
    MustHearSettled,
    Notice,
    TaskBegan,
    ToolDropped,
    ToolEnded,
)
from antiphon.options import MustHearLine
from antiphon.runtime.parts import read_part, written_part

PART = "call"
"""Its name among the parts of the call."""

FORMAT = 1
"""Grows when a reader of the format before would misunderstand."""

_REPLIES = 32
_LAST_WORDS = ("finished", "late")
"""What the ids of outputs end with that are the last of a call in the background."""


@dataclass(frozen=True, slots=True)
class AtWork:
    """What was at work when it was written."""

    open: tuple[CutCall, ...] = ()
    """Calls of tools that do not write, in the order in which they were started."""
    heard: str = ""
    """Of the reply that was being said."""
    asks: bool = False
    """The caller was asked whether a call may be made. That is asked anew: a yes to what was asked then is void."""
    models: Mapping[str, str] = field(default_factory=dict)
    """What was changed in mid-call, by kind: labels of models, and the code of the language."""
    heard_lines: tuple[MustHearLine, ...] = ()
    """What the caller must hear, and has heard."""

    def to_part(self) -> bytes:
        """As it is kept."""
        return written_part(
            FORMAT,
            {
                "open": [to_data(one) for one in self.open],
                "heard": self.heard,
                "asks": self.asks,
                "models": dict(self.models),
                "heard_lines": [to_data(one) for one in self.heard_lines],
            },
        )

    @classmethod
    def of_part(cls, part: bytes | None) -> AtWork:
        """What stands in a part; None: nothing was kept. Raises `StoreError`."""
        return cls() if part is None else read_part(part, "what was at work", FORMAT, cls._of_data)

    @classmethod
    def _of_data(cls, data: Mapping[str, Any]) -> AtWork:
        models = {str(kind): str(label) for kind, label in data.get("models", {}).items()}
        lines = tuple(map(reader(MustHearLine), data.get("heard_lines", ())))
        cut = tuple(map(reader(CutCall), data["open"]))
        return cls(cut, str(data["heard"]), bool(data.get("asks")), models, lines)


@dataclass(slots=True)
class _Open:
    """A run that has not ended, or whose outcome the history does not have yet."""

    cut: CutCall
    is_over: bool = False

    def serves(self, cut: CutCall) -> None:
        self.cut = cut

    def ended(self) -> None:
        self.is_over = True


class KeptState:
    """Follows one call. `agent`: the first one's id; `heard_lines`: what was heard of `must_hear` before."""

    __slots__ = ("_asks", "_frames", "_heard", "_lines", "_models", "_open", "_replies", "_tasks")

    def __init__(self, agent: str, heard_lines: Iterable[MustHearLine] = ()) -> None:
        self._lines = {line.text: line for line in heard_lines}
        self._frames: list[tuple[str, int | None]] = [(agent, None)]
        self._tasks: dict[int, str] = {}
        """By number: the agent of a task that has not begun."""
        self._asks = False
        self._models: dict[str, str] = {}
        self._open: dict[int, _Open] = {}
        """By run."""
        self._replies: deque[int] = deque(maxlen=_REPLIES)
        """Segments that a model wrote last: many are never played."""
        self._heard: dict[int, str] = {}
        """By segment, what was heard of replies that are being said."""

    @property
    def agents(self) -> tuple[str, ...]:
        """Their ids, the lowest first, the one in charge last."""
        return tuple(agent for agent, _ in self._frames)

    @property
    def at_work(self) -> AtWork:
        """What is at work now."""
        cut = tuple(one.cut for one in self._open.values())
        return AtWork(cut, " ".join(self._heard.values()), self._asks, dict(self._models), tuple(self._lines.values()))

    # -- what happens: True if it makes a difference to who resumes the call

    def fact(self, fact: Fact) -> bool:
        """Something happened."""
        match fact:
            case PlayoutProgressed() if fact.heard and fact.segment in self._replies:
                self._heard[fact.segment] = fact.heard
            case PlayoutFinished():
                return self._heard.pop(fact.segment, None) is not None
            case AgentTaskStarted():
                self._tasks[fact.task] = fact.agent
                return False
            case ModelsChanged():
                language = "" if fact.language is None else fact.language.phrases.code
                changed = {"stt": fact.stt, "llm": fact.llm, "tts": fact.tts, "language": language}
                self._models.update((kind, label) for kind, label in changed.items() if label)
            case AgentTaskFinished():
                self._tasks.pop(fact.task, None)
                at = next((at for at, (_, task) in enumerate(self._frames) if task == fact.task), len(self._frames))
                del self._frames[at:]
            case _:
                return False
        return True

    def command(self, command: Command) -> bool:
        """Something is about to be done."""
        match command:
            case RunTool() if not command.policy.writes:
                self._open[command.run] = _Open(CutCall(command.call, command.policy))
            case RebindRun() if (known := self._open.get(command.run)) is not None:
                known.serves(replace(known.cut, call=command.call))
            case Generate() | Adopt():
                self._replies.append(command.segment)
                return False
            case Record(item=FunctionCallOutput() as output, carried=False):
                return self._written_down(*output.call_id.partition("/")[::2])
            case _:
                return False
        return True

    def notice(self, notice: Notice) -> bool:
        """Something came to pass."""
        match notice:
            case ToolDropped() | ToolEnded(outcome="dropped" | "cancelled"):
                return self._open.pop(notice.run, None) is not None
            case ToolEnded():
                if (known := self._open.get(notice.run)) is not None:
                    known.ended()
                return False
            case ConsentAsked() | ConsentDecided():
                self._asks = isinstance(notice, ConsentAsked)
            case MustHearSettled() if notice.heard_at is not None:
                self._lines[notice.text] = MustHearLine(notice.text, notice.begun, notice.heard_at)
            case HandedOff():
                self._frames[-1] = (notice.agent, self._frames[-1][1])
            case TaskBegan() if notice.task in self._tasks:
                self._frames.append((self._tasks[notice.task], notice.task))
            case _:
                return False
        return True

    def _written_down(self, call_id: str, what: str) -> bool:
        """The history has an output of a call: the last one, if its run has ended."""
        ended = [
            run
            for run, one in self._open.items()
            if one.cut.call.call_id == call_id and (one.is_over or what in _LAST_WORDS)
        ]
        for run in ended:
            del self._open[run]
        return bool(ended)
