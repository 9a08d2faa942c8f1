"""Calls that nobody wrote: a caller who does anything at any instant, and what must hold of every call.

A test with `antiphon.testing` says what its caller says. Here the caller decides, from a seed that repeats the call to
the sample:

```python
async def main():
    async with SimulatedCall(FakeLLM(lambda request: "A table for two it is.")) as call:
        await call.start(Host())
        caller = RandomCaller(call, random.Random("7"))
        await caller.talk()
        await call.settled()
    assert max(silence.duration for silence in call.timeline.silences(call.pending)) < 2.5

run_virtual(main())
```

`RandomCaller` speaks, pauses, coughs, hums and barges in; `Hands` type and press keys meanwhile; a `CallerLog` keeps
what both did. A *walk* is a whole call of theirs with agents that keep book of what they were asked and what came of
it (`World`), and with providers that fail (`Faults`): `walk(seed)` makes it, `examine` finds what was lost, doubled or
late, `story` tells it, and `stroll` makes thousands.

Above: tests and command lines. Below: `antiphon.testing`, and the public names of sessions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon.exports import on_first_use

if TYPE_CHECKING:
    from antiphon.sim.caller import RandomCaller
    from antiphon.sim.caller_log import CallerLog, Said
    from antiphon.sim.checks import Findings, examine
    from antiphon.sim.faults import Faults
    from antiphon.sim.hands import Hands
    from antiphon.sim.many import Stride, stroll
    from antiphon.sim.walks import Walk, seeds, story, walk, walking
    from antiphon.sim.world import World

_HOME = {
    "caller": ("RandomCaller",),
    "caller_log": ("CallerLog", "Said"),
    "checks": ("Findings", "examine"),
    "faults": ("Faults",),
    "hands": ("Hands",),
    "many": ("Stride", "stroll"),
    "walks": ("Walk", "seeds", "story", "walk", "walking"),
    "world": ("World",),
}

__all__ = [
    "CallerLog",
    "Faults",
    "Findings",
    "Hands",
    "RandomCaller",
    "Said",
    "Stride",
    "Walk",
    "World",
    "examine",
    "seeds",
    "story",
    "stroll",
    "walk",
    "walking",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__, _HOME)
