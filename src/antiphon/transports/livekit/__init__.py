"""A call in a LiveKit room, by LiveKit's own package: the agent is one participant, the caller another.

```
call.py      LiveKitCall: one call, from joining to leaving                       public
caller.py    who of the participants is the caller, and whether they are there
input.py     the caller's voice: 20 ms frames, whatever becomes of the track
output.py    the caller's ear: what is queued, and how much of it has sounded
library.py   the one place that loads `livekit.rtc`
```

Needs the extra `livekit`. Dispatch, and what front ends are shown, is `antiphon.server.livekit`'s.
"""

from antiphon.transports.livekit.call import LiveKitCall
from antiphon.transports.livekit.input import LiveKitInput
from antiphon.transports.livekit.output import LiveKitOutput

__all__ = ["LiveKitCall", "LiveKitInput", "LiveKitOutput"]
