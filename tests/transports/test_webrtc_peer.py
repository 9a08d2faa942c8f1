"""aiortc, Opus and SDP behind one door: what is served, what is refused, and what of aiortc is reached into."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import numpy as np
import pytest
from aiortc import RTCConfiguration, RTCPeerConnection, RTCRtpReceiver
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon.audio import AudioFrame
from antiphon.errors import UsageError
from antiphon.transports.webrtc import WebRTCCall
from antiphon.transports.webrtc.peer import (
    MAX_CANDIDATES,
    OpusDecoder,
    OpusEncoder,
    check_offer,
    tap_packets,
    use_addresses,
)
from tests.transports.far_end import LOOPBACK, RATE, FarEnd, loudness, tone


async def _offer() -> str:
    far = FarEnd()
    try:
        return await far.offer()
    finally:
        await far.hang_up()


@pytest.fixture(scope="module")
def offer() -> str:
    """As a browser makes it."""
    return asyncio.run(_offer())


async def _answer(offer: str) -> str:
    call = WebRTCCall(LOOPBACK)
    try:
        return await call.answer(offer)
    finally:
        await call.aclose()


def refusal(offer: str) -> str:
    with pytest.raises(UsageError) as refused:
        asyncio.run(_answer(offer))
    return str(refused.value)


# -- what of aiortc is reached into


def test_a_receiver_of_aiortc_has_the_buffer_that_the_tap_replaces() -> None:
    """Fails with the release of aiortc that moves it: then `tap_packets` has to follow."""

    async def look() -> None:
        connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        receiver: Any = connection.addTransceiver("audio").receiver
        buffer = receiver._RTCRtpReceiver__jitter_buffer
        assert callable(buffer.add)
        tap_packets(receiver, lambda packet: None)
        assert receiver._RTCRtpReceiver__jitter_buffer is not buffer
        assert callable(receiver.transport.transport.iceGatherer._connection.get_component_candidates)
        await connection.close()

    asyncio.run(look())


def test_an_aiortc_that_moved_its_buffer_is_refused_with_the_remedy() -> None:
    class Moved(RTCRtpReceiver):
        def __init__(self) -> None:
            pass

    with pytest.raises(UsageError, match=r"expected aiortc 1\.16.*pip install 'antiphon\[webrtc\]'"):
        tap_packets(Moved(), lambda packet: None)


def test_no_address_but_those_given_is_offered(offer: str) -> None:
    answer = asyncio.run(_answer(offer))
    assert re.findall(r"a=candidate:\S+ 1 udp \d+ (\S+)", answer) == list(LOOPBACK)


def test_no_server_is_asked_for_this_machines_address() -> None:
    """A host candidate is all there is: nothing reflexive, nothing relayed."""

    async def look() -> list[str]:
        far = FarEnd()
        use_addresses(far.connection.getTransceivers()[0].receiver, LOOPBACK)
        call = WebRTCCall()
        try:
            return re.findall(r"a=candidate:.* typ (\w+)", await call.answer(await far.offer()))
        except UsageError:
            return []  # a machine with loopback alone
        finally:
            await call.aclose()
            await far.hang_up()

    assert set(asyncio.run(look())) <= {"host"}


# -- Opus


def test_speech_passes_opus_both_ways() -> None:
    encoder, decoder = OpusEncoder(), OpusDecoder()
    data = tone(1.0).data
    heard = b"".join(decoder.decode(encoder.encode(data[at : at + 1920])) for at in range(0, len(data), 1920))
    samples = AudioFrame(heard, RATE).to_float32()
    assert samples.size == RATE
    assert loudness(samples[RATE // 10 :]) == pytest.approx(0.3 / np.sqrt(2), rel=0.1)


def test_silence_stays_silence() -> None:
    encoder, decoder = OpusEncoder(), OpusDecoder()
    heard = b"".join(decoder.decode(encoder.encode(bytes(1920))) for _ in range(50))
    assert loudness(AudioFrame(heard, RATE).to_float32()) < 1e-4


@given(st.binary(max_size=200))
def test_a_broken_packet_is_no_sound_and_no_error(payload: bytes) -> None:
    decoder = OpusDecoder()
    sound = decoder.decode(payload)
    assert len(sound) % 2 == 0
    assert decoder.decode(OpusEncoder().encode(bytes(1920))) is not None


# -- offers


def test_a_browsers_offer_is_answered_with_opus_alone(offer: str) -> None:
    answer = asyncio.run(_answer(offer))
    assert re.findall(r"a=rtpmap:\d+ (\S+)", answer) == ["opus/48000/2"]
    assert "a=sendrecv" in answer


def test_a_page_without_microphone_may_listen(offer: str) -> None:
    assert "a=sendonly" in asyncio.run(_answer(offer.replace("a=sendrecv", "a=recvonly")))


@pytest.mark.parametrize("text", ["", "hello", "v=0\r\nm=audio", "v=0\r\na=mid:0\r\n", "{}", "v=0\nm=audio 9 X a b"])
def test_what_is_not_sdp_is_refused_with_the_remedy(text: str) -> None:
    message = refusal(text)
    assert message.startswith("WebRTC offer: expected")
    assert "Send the offer as the browser made it" in message or "Add one audio track" in message


def test_parameters_of_a_codec_that_is_not_named_are_refused_in_words() -> None:
    with pytest.raises(UsageError, match="expected SDP as a browser makes it"):
        check_offer("v=0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=fmtp:111 minptime=10\r\n")


def test_an_offer_without_audio_is_refused_and_says_what_it_has(offer: str) -> None:
    head = offer[: offer.index("m=audio")]
    assert "expected exactly one audio section, got none" in refusal(head)
    assert "got application" in refusal(
        offer.replace("m=audio", "m=application").replace("UDP/TLS/RTP/SAVPF 96 9 0 8", "UDP/DTLS/SCTP 5000")
    )


def test_video_is_refused(offer: str) -> None:
    section = offer[offer.index("m=audio") :]
    video = section.replace("m=audio", "m=video").replace("a=mid:0", "a=mid:1")
    assert "expected exactly one audio section, got audio, video" in refusal(offer + video)


def test_an_offer_without_opus_is_refused(offer: str) -> None:
    assert "expected Opus among its audio codecs" in refusal(offer.replace("opus/48000/2", "ilbc/8000"))


def test_an_offer_without_fingerprint_is_refused(offer: str) -> None:
    assert "expected a DTLS fingerprint" in refusal(re.sub(r"a=fingerprint:.*\r\n", "", offer))


def test_an_offer_with_a_flood_of_candidates_is_refused(offer: str) -> None:
    flood = "a=candidate:1 1 udp 1 192.0.2.1 9 typ host\r\n" * (MAX_CANDIDATES + 1)
    assert f"expected at most {MAX_CANDIDATES} ICE candidates" in refusal(offer + flood)


def test_an_overlong_offer_is_refused(offer: str) -> None:
    assert "expected at most 32768 characters" in refusal(offer + "a=x-long:0\r\n" * 4000)


def test_addresses_that_are_not_of_this_machine_are_refused(offer: str) -> None:
    async def answer() -> None:
        call = WebRTCCall(["192.0.2.1"])
        try:
            await call.answer(offer)
        finally:
            await call.aclose()

    with pytest.raises(UsageError, match=r"no such address: 192\.0\.2\.1\. Give one of its addresses as ice_hosts"):
        asyncio.run(answer())


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_an_offer_damaged_anywhere_is_served_or_refused_in_words(offer: str, data: st.DataObject) -> None:
    lines = offer.split("\r\n")
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        line = lines[at]
        lines[at : at + 1] = data.draw(
            st.sampled_from([[], [line, line], [line[: len(line) // 2]], [line.replace(" ", "", 1)], [line[::-1]]])
        )
        lines = lines or [""]
    damaged = "\r\n".join(lines)
    try:
        check_offer(damaged)
        answer = asyncio.run(_answer(damaged))
    except UsageError as refused:
        assert str(refused).startswith("WebRTC")
    else:
        assert answer.startswith("v=0")
