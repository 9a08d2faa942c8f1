"""A call by WebRTC: the page's microphone and loudspeaker as media tracks, over networks that lose packets.

```
call.py     WebRTCCall: one call, from the page's offer to its end            public
input.py    the caller's voice: an unbroken clock out of packets that may be missing
output.py   the caller's ear: what is queued, and how much of it has sounded
rtp.py      packets, their counters, and their order                              pure
pacer.py    when to send, and what to do when that moment was missed          pure
peer.py     the one place that knows aiortc and Opus; loaded when a call begins
```

Needs the extra `webrtc`. Signalling is the application's: it carries the offer and the answer, by whatever way it has.
"""

from antiphon.transports.webrtc.call import WebRTCCall
from antiphon.transports.webrtc.input import WebRTCInput
from antiphon.transports.webrtc.output import WebRTCOutput

__all__ = ["WebRTCCall", "WebRTCInput", "WebRTCOutput"]
