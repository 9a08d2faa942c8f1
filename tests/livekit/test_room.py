"""A whole call in a LiveKit room: what the caller hears and is shown, and how it ends. On a real server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from livekit import api

from antiphon.errors import AntiphonError
from antiphon.events import CloseReason
from antiphon.server.job import JobContext
from antiphon.server.livekit.server import LiveKitServer
from antiphon.session import AgentSession
from antiphon.testing import wait_until
from antiphon_livekit import servers
from tests.livekit.agents import Greeter, held, serving, sounding, voice
from tests.livekit.caller import RoomCaller, new_room
from tests.livekit.real import Address, needs_server

pytestmark = [*needs_server, pytest.mark.timeout(60)]


SILENT_AFTER = 0.35
"""Seconds in which the agent falls silent; on a machine that does nothing else it takes half of them."""


def run(work: Any) -> None:
    asyncio.run(work)


def test_a_caller_is_greeted_answered_and_left_when_they_hang_up(livekit_server: Address) -> None:
    async def check() -> None:
        room = new_room()
        jobs: list[JobContext] = []
        closed: list[CloseReason] = []

        def prepare(context: JobContext) -> None:
            jobs.append(context)
            context.on_session(lambda s: s.on("close", lambda event: closed.append(event.reason)))

        caller = await RoomCaller(livekit_server, room).join()
        async with held(livekit_server, serving(prepare=prepare), room) as holding:
            await wait_until(lambda: ("agent", "Hello there!") in words(caller))
            await wait_until(lambda: caller.states()[-1:] == ["listening"])
            begun = now()
            await caller.say(voice(1.0))
            await wait_until(lambda: ("agent", "Of course.") in words(caller))
            assert ("caller", "A table please.") in words(caller)
            assert sounding(caller, begun)[0].at - (begun + 1.0) < 1.5
            assert list(jobs[0].room.participants) == ["caller"]
            await caller.leave()
            assert await holding.ended(2.0) == "the caller hung up"
        assert closed == [CloseReason.PARTICIPANT_DISCONNECTED]
        assert not jobs[0].room.connected

    run(check())


def test_a_caller_who_speaks_over_the_agent_is_given_the_word_at_once(livekit_server: Address) -> None:
    async def check() -> None:
        room = new_room()
        story = "Once upon a time there was a very long story that nobody ever heard to its very end, and so on. " * 3
        caller = await RoomCaller(livekit_server, room).join()
        async with held(livekit_server, serving(lambda: Greeter(story)), room):
            await wait_until(lambda: sounding(caller))
            await asyncio.sleep(1.0)
            begun = now()
            await caller.say(voice(1.5))
            await wait_until(lambda: [text for sender, text in words(caller) if sender == "agent"])
            assert last_sound(caller, begun, begun + 1.5) < begun + SILENT_AFTER
            (cut,) = [text for sender, text in words(caller) if sender == "agent"]
            assert story.startswith(cut) and 0 < len(cut) < 100
            await caller.leave()

    run(check())


def test_a_typed_turn_is_answered(livekit_server: Address) -> None:
    async def check() -> None:
        room = new_room()
        caller = await RoomCaller(livekit_server, room).join(microphone=False)
        stranger = await RoomCaller(livekit_server, room, "stranger").join(microphone=False)
        model = Greeter()
        async with held(livekit_server, serving(lambda: model), room):
            await wait_until(lambda: ("agent", "Hello there!") in words(caller))
            await stranger.room.local_participant.send_text("Who am I?", topic="lk.chat")
            await caller.room.local_participant.send_text("A table, please.", topic="lk.chat")
            await wait_until(lambda: ("agent", "Of course.") in words(caller))
            assert [m.text_content for m in model.chat_ctx.messages() if m.role == "user"] == ["A table, please."]
        await stranger.leave()
        await caller.leave()

    run(check())


def test_keys_methods_and_attributes_reach_the_agent_and_the_caller(livekit_server: Address) -> None:
    async def check() -> None:
        room = new_room()
        keys: list[str] = []

        async def prepare(context: JobContext) -> None:
            context.room.on("dtmf", lambda key: keys.append(key.digit))
            await context.connect()
            context.room.rtc.local_participant.register_rpc_method("shout", lambda call: call.payload.upper())
            caller = await context.wait_for_participant()
            assert caller.identity == "caller"
            await context.room.rtc.local_participant.set_attributes({"mood": "good"})

        caller = await RoomCaller(livekit_server, room).join()
        async with held(livekit_server, serving(prepare=prepare), room):
            await wait_until(lambda: "listening" in caller.states())
            local = caller.room.local_participant
            assert await local.perform_rpc(destination_identity="agent", method="shout", payload="hi") == "HI"
            await local.publish_dtmf(code=5, digit="5")
            await wait_until(lambda: keys == ["5"])
            await wait_until(lambda: caller.agent.attributes.get("mood") == "good")
        await caller.leave()

    run(check())


def test_the_agent_listens_to_whom_it_is_told_to_and_stays_until_they_go(livekit_server: Address) -> None:
    async def check() -> None:
        room = new_room()

        def prepare(context: JobContext) -> None:
            context.room.listen_to("boss")

        other = await RoomCaller(livekit_server, room, "other").join()
        boss = await RoomCaller(livekit_server, room, "boss").join()
        async with held(livekit_server, serving(lambda: Greeter(""), prepare), room) as holding:
            await wait_until(lambda: "listening" in boss.states())
            await other.say(voice(0.6))
            await asyncio.sleep(1.0)
            await other.leave()
            await boss.say(voice(0.6))
            await wait_until(lambda: ("boss", "A table please.") in words(boss))
            assert not holding.task.done()
            await boss.leave()
            await holding.ended(2.0)

    run(check())


def test_a_greeting_waits_for_the_caller(livekit_server: Address) -> None:
    async def check() -> None:
        room = new_room()
        async with held(livekit_server, serving(), room) as holding:
            await wait_until(lambda: holding.call.track_sid)
            await asyncio.sleep(1.0)
            caller = await RoomCaller(livekit_server, room).join()
            await wait_until(lambda: ("agent", "Hello there!") in words(caller))
            seconds = sum(piece.frame.duration for piece in sounding(caller))
            assert seconds == pytest.approx(0.03 * len("Hello there!"), abs=0.08)
        await caller.leave()

    run(check())


def test_a_deleted_room_ends_the_call_for_everybody(livekit_server: Address) -> None:
    async def check() -> None:
        room = new_room()
        server = LiveKitServer(livekit_server.url, livekit_server.key, livekit_server.secret)
        jobs: list[JobContext] = []
        caller = await RoomCaller(livekit_server, room).join()
        async with held(
            livekit_server, serving(prepare=jobs.append), room, delete=lambda: server.delete_room(room)
        ) as holding:
            await wait_until(lambda: "listening" in caller.states())
            await jobs[0].delete_room()
            await holding.ended(2.0)
            reason = caller.rtc.DisconnectReason.ROOM_DELETED
            await wait_until(lambda: ("disconnected", reason) in caller.events)
        await caller.leave()
        await server.delete_room(room)  # there is none: no effect
        await server.aclose()

    run(check())


def test_a_file_written_for_livekit_has_livekits_own_room(livekit_server: Address) -> None:
    async def check() -> None:
        room = new_room()
        seen: list[Any] = []
        office = servers.AgentServer()

        @office.rtc_session
        async def entrypoint(ctx: servers.JobContext) -> None:
            ctx.room.on("participant_attributes_changed", lambda changed, who: seen.append((who.identity, changed)))
            await ctx.connect()
            caller = await ctx.wait_for_participant()
            seen.append((caller.identity, list(ctx.room.remote_participants), ctx.room.isconnected()))
            await ctx.room.local_participant.set_attributes({"mood": "good"})
            await AgentSession().start(Greeter(), room=ctx.room)

        caller = await RoomCaller(livekit_server, room).join()
        async with held(livekit_server, office, room) as holding:
            await wait_until(lambda: ("agent", "Hello there!") in words(caller))
            assert seen[0] == ("caller", ["caller"], True)
            assert ("agent", {"mood": "good"}) in seen
            await caller.leave()
            await holding.ended(2.0)

    run(check())


def test_a_caller_who_was_lost_may_come_back_for_a_while(livekit_server: Address) -> None:
    async def check() -> None:
        room = new_room()
        caller = await RoomCaller(livekit_server, room).join()
        async with held(livekit_server, serving(), room, patience=1.5) as holding:
            await wait_until(lambda: ("agent", "Hello there!") in words(caller))
            again = await RoomCaller(livekit_server, room).join()  # the same one, from elsewhere
            await wait_until(lambda: again.agent is not None and holding.call.caller is not None)
            await asyncio.sleep(0.5)
            await again.say(voice(1.0))
            await wait_until(lambda: ("agent", "Of course.") in words(again))
            await asyncio.sleep(1.0)
            assert not holding.task.done()
            server = LiveKitServer(livekit_server.url, livekit_server.key, livekit_server.secret)
            await server.api.room.remove_participant(api.RoomParticipantIdentity(room=room, identity="caller"))
            assert await holding.ended(4.0) == "the caller was lost, and not back within 1.5 s"
            await server.aclose()
        await again.leave()
        await caller.leave()

    run(check())


def test_an_agent_may_stay_when_its_caller_has_left(livekit_server: Address) -> None:
    async def check() -> None:
        room = new_room()

        def prepare(context: JobContext) -> None:
            context.room.listen_to(None, close_on_disconnect=False)

        first = await RoomCaller(livekit_server, room, "first").join()
        async with held(livekit_server, serving(prepare=prepare), room) as holding:
            await wait_until(lambda: ("agent", "Hello there!") in words(first))
            await first.leave()
            second = await RoomCaller(livekit_server, room, "second").join()
            await wait_until(lambda: second.agent is not None)
            await asyncio.sleep(0.5)
            await second.say(voice(1.0))
            await wait_until(lambda: ("agent", "Of course.") in words(second))
            assert not holding.task.done()
            await second.leave()

    run(check())


@pytest.mark.parametrize("scenario", ["SIMULATE_SIGNAL_RECONNECT", "SIMULATE_FULL_RECONNECT"])
def test_the_conversation_goes_on_after_a_reconnection(livekit_server: Address, scenario: str) -> None:
    async def check() -> None:
        room = new_room()
        caller = await RoomCaller(livekit_server, room).join()
        async with held(livekit_server, serving(), room) as holding:
            await wait_until(lambda: ("agent", "Hello there!") in words(caller))
            back = asyncio.Event()
            holding.call.rtc.on("reconnected", back.set)
            await holding.call.rtc.simulate_scenario(getattr(caller.rtc.SimulateScenarioKind, scenario))
            async with asyncio.timeout(10):
                await back.wait()
            await wait_until(lambda: caller.agent is not None)
            await caller.say(voice(1.0))
            await wait_until(lambda: ("agent", "Of course.") in words(caller))
            await caller.leave()
            await holding.ended(2.0)

    run(check())


def test_a_join_that_is_given_up_half_way_harms_nobody(livekit_server: Address) -> None:
    async def check() -> None:
        for delay in (0.0, 0.01, 0.03):
            async with held(livekit_server, serving(), new_room()):
                await asyncio.sleep(delay)

    run(check())


def test_a_room_that_cannot_be_joined_is_told(livekit_server: Address) -> None:
    async def check() -> None:
        wrong = Address(livekit_server.url, livekit_server.key, "another secret")
        async with held(wrong, serving(), new_room()) as holding:
            with pytest.raises(AntiphonError, match=r"could not be joined.*401"):
                await holding.ended(12.0)

    run(check())


def words(caller: RoomCaller) -> list[tuple[str, str]]:
    """What the transcripts showed that is final, and whose it was."""
    return [
        (sender, text)
        for sender, text, attributes in caller.transcripts
        if attributes["lk.transcription_final"] == "true"
    ]


def now() -> float:
    return asyncio.get_running_loop().time()


def last_sound(caller: RoomCaller, since: float, until: float) -> float:
    """When the agent's voice was last heard between two moments."""
    pieces = [piece for piece in sounding(caller, since) if piece.at < until]
    return pieces[-1].at + pieces[-1].frame.duration if pieces else since
