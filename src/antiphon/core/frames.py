"""The agents on the stack.

A *frame* is an agent on the stack: the bottom one is the session's, an `AgentTask` pushes another and its end
removes it. The caller's turns belong to the top frame. A hand-off replaces the agent inside its frame.

Above: the floor, and `rules.handoff`, which moves them. Below: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from antiphon.core.facts import Handoff
from antiphon.core.stages import Bond
from antiphon.core.state import Frame, Run


class Frames:
    """The stack, bottom first, and the tasks that wait for a place on it."""

    __slots__ = ("_stack", "_waiting", "top")

    def __init__(self, agent: str) -> None:
        self.top = Frame(agent)
        """The frame in charge."""
        self._stack = [self.top]
        self._waiting: list[Frame] = []
        """Tasks that wait for a sibling's end."""

    def __iter__(self) -> Iterator[Frame]:
        return iter(self._stack)

    def __reversed__(self) -> Iterator[Frame]:
        return reversed(self._stack)

    def __contains__(self, frame: Frame) -> bool:
        return frame in self._stack

    @property
    def all(self) -> list[Frame]:
        """Those on the stack, and those that wait."""
        return [*self._stack, *self._waiting]

    # -- which one

    def of_agent(self, agent: str | None) -> Frame:
        """The highest one with that agent; else the one in charge."""
        return next((frame for frame in reversed(self._stack) if frame.agent == agent), self.top)

    def home(self, run: Run) -> Frame:
        """The frame whose agent learns what a tool reports: while a call waits for it, the one that has the call."""
        return self.still_there(run.speech.frame if run.bond is Bond.ATTACHED else run.frame)

    def still_there(self, frame: Frame) -> Frame:
        """The frame, or the lowest one if it is gone."""
        return frame if frame in self._stack else self._stack[0]

    def is_held_up_by(self, run: Run, frame: Frame) -> bool:
        """The run awaits a task that the frame serves or stands above: it goes on only when that frame is gone."""
        beneath = self._stack[: self._stack.index(frame)]
        return any(task.run == run.id for task in (*beneath, frame)) or any(
            task.run == run.id and task.parent in beneath for task in self._waiting
        )

    def waiting_for(self, gone: list[Frame]) -> list[Frame]:
        """The tasks whose agents wait for the floor of one of these."""
        return [frame for frame in self._waiting if frame.parent in gone]

    # -- what happens

    def hand_over(self, frame: Frame, handoff: Handoff) -> None:
        """Another agent is to take the frame over, unless it is gone."""
        if frame in self._stack:
            frame.hands_over(handoff)

    def push(self, frame: Frame) -> None:
        """A task's agent takes the floor."""
        self._stack.append(frame)
        self.top = frame

    def wait(self, frame: Frame) -> None:
        """A task waits for a sibling's end."""
        self._waiting.append(frame)

    def stop_waiting(self, frame: Frame) -> bool:
        """A task is over, or never begins. True if it waited."""
        if frame not in self._waiting:
            return False
        self._waiting.remove(frame)
        return True

    def take_off(self, frame: Frame) -> list[Frame]:
        """A task is over: its frame goes, and all above it. Returns them, lowest first."""
        position = self._stack.index(frame)
        gone = self._stack[position:]
        del self._stack[position:]
        self.top = self._stack[-1]
        return gone

    def next_task(self) -> Frame | None:
        """The task that waited for the floor of the agent in charge, and gets it now."""
        siblings = [frame for frame in self._waiting if frame.parent is self.top]
        if not siblings:
            return None
        first = min(siblings, key=_call_order)
        self._waiting.remove(first)
        return first


def _call_order(frame: Frame) -> int:
    """Runs are numbered as they start: in call order. Tasks of one run, and of hooks, keep their own order."""
    return frame.run or 0
