"""Offers of WebRTC, as a page makes them, up to where a connection would be made."""

from __future__ import annotations

from random import Random

from antiphon.errors import UsageError
from antiphon.transports.webrtc.call import check_length
from antiphon.transports.webrtc.peer import check_offer
from tests.wires import mutate
from tests.wires.wire import Wire

CANDIDATE = "a=candidate:1 1 udp 2130706431 192.168.1.7 50000 typ host"
OFFER = (
    "v=0", "o=- 1 2 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0", "a=msid-semantic: WMS *",
    "m=audio 9 UDP/TLS/RTP/SAVPF 111 0", "c=IN IP4 0.0.0.0", "a=rtcp:9 IN IP4 0.0.0.0", "a=ice-ufrag:abcd",
    "a=ice-pwd:0123456789012345678901", "a=ice-options:trickle", "a=fingerprint:sha-256 " + ":".join(["AB"] * 32),
    "a=setup:actpass", "a=mid:0", "a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level", "a=sendrecv", "a=rtcp-mux",
    "a=rtpmap:111 opus/48000/2", "a=rtcp-fb:111 transport-cc", "a=fmtp:111 minptime=10;useinbandfec=1",
    "a=rtpmap:0 PCMU/8000", "a=ssrc:1 cname:x", "a=ssrc-group:FID 1 2", CANDIDATE,
    "a=candidate:2 1 tcp 1 x.local 9 typ srflx raddr 0.0.0.0 rport 9 tcptype active", "a=end-of-candidates",
)  # fmt: skip
MORE = (
    "m=video 9 UDP/TLS/RTP/SAVPF 96", "m=application 9 UDP/DTLS/SCTP webrtc-datachannel", "a=sctp-port:5000", "m=",
    "a=", "a=rtpmap:x", "a=fmtp:111", "a=ssrc:x", "a=candidate:", "a=fingerprint:", "m=audio x y z",
    "m=audio 9 p " + "1 " * 9_000,
    "a=group:BUNDLE", "a=extmap:x y", "c=IN", "a=rtpmap:111 " + "/" * 5_000, "a=candidate:" + "1 " * 9_000,
)  # fmt: skip


def make(random: Random) -> str:
    lines = list(OFFER)
    for _ in range(random.choice((0, 1, 1, 2, 6))):
        at = random.randrange(len(lines) + 1)
        match random.randrange(5):
            case 0 if lines:
                del lines[at : at + random.randrange(1, 4)]
            case 1 if lines:
                lines.insert(at, random.choice(lines))
            case 2:
                lines.insert(at, random.choice(MORE))
            case 3 if lines:
                lines[at - 1] = mutate.torn_text(random, lines[at - 1])
            case _:
                lines[at:at] = [random.choice((CANDIDATE, *MORE[:12]))] * random.choice((2, 70, 1_500))
    return random.choice(("\r\n", "\r\n", "\r\n", "\n")).join(lines) + "\r\n"


def feed(sdp: str) -> None:
    check_length(sdp)
    check_offer(sdp)


WIRE = Wire("offers", make, feed, declared=(UsageError,), share=0.5)
