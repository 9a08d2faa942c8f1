"""An entrypoint runs once for each call, with what its parameter asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from antiphon.agent import Agent
from antiphon.chat import ChatContext
from antiphon.errors import UsageError
from antiphon.protocols import get_job_context
from antiphon.server.entrypoint import AgentServer, loading
from antiphon.server.job import JobContext, JobProcess
from antiphon.server.room import Room
from antiphon.session import AgentSession
from antiphon.testing import FakeLLM, run_virtual


def agent() -> Agent:
    return Agent(instructions="Be brief.", llm=FakeLLM(["Hello!"] * 3))


async def started(server: AgentServer) -> list[str | None]:
    """Run one text call with one turn; what the agent said."""
    async with server.job(Room()) as job:
        session = await job.wait_for_session()
        assert session is not None
        await session.run(user_input="Hi")
        return [m.text_content for m in session.history.messages() if m.role == "assistant"]


# -- the entrypoint


def test_a_handler_annotated_with_a_session_gets_one() -> None:
    server = AgentServer()

    @server.rtc_session
    async def entrypoint(call: AgentSession) -> None:
        await call.start(agent=agent(), room=call.room)

    assert run_virtual(started(server)) == ["Hello!"]


def test_a_handler_annotated_with_a_job_gets_one() -> None:
    server = AgentServer()

    @server.rtc_session()
    async def entrypoint(session: JobContext) -> None:
        await session.connect()
        await AgentSession().start(agent=agent(), room=session.room)

    assert run_virtual(started(server)) == ["Hello!"]


def test_without_an_annotation_the_name_decides() -> None:
    def server_for(handler: Callable[..., Awaitable[None]]) -> AgentServer:
        server = AgentServer()
        server.rtc_session(handler)
        return server

    async def with_session(session):  # type: ignore[no-untyped-def]
        await session.start(agent=agent())

    async def with_job(ctx):  # type: ignore[no-untyped-def]
        await AgentSession().start(agent=agent(), room=ctx.room)

    assert run_virtual(started(server_for(with_session))) == ["Hello!"]
    assert run_virtual(started(server_for(with_job))) == ["Hello!"]


def test_the_decorated_function_stays_what_it_was() -> None:
    server = AgentServer()

    async def entrypoint(session: AgentSession) -> None: ...

    assert server.rtc_session(entrypoint) is entrypoint
    assert server.entrypoint is entrypoint


def test_a_second_entrypoint_is_an_error() -> None:
    server = AgentServer()

    async def first(session: AgentSession) -> None: ...
    async def second(session: AgentSession) -> None: ...

    server.rtc_session(first)
    with pytest.raises(UsageError, match="'second' is a second entrypoint, after 'first'"):
        server.rtc_session(second)


def test_a_handler_of_another_shape_is_an_error() -> None:
    async def two(session: Any, more: Any) -> None: ...
    def plain(session: Any) -> None: ...

    with pytest.raises(UsageError, match="expected 'two' to take one parameter"):
        AgentServer().rtc_session(two)
    with pytest.raises(UsageError, match="expected a coroutine function, got 'plain'"):
        AgentServer().rtc_session(plain)  # type: ignore[type-var]


def test_a_server_without_an_entrypoint_says_so() -> None:
    async def call() -> None:
        async with AgentServer().job(Room()):
            pass

    with pytest.raises(UsageError, match="no entrypoint"):
        run_virtual(call())


# -- the job


def test_the_job_is_found_inside_its_call_and_nowhere_else() -> None:
    server = AgentServer()
    found: list[object] = []

    @server.rtc_session
    async def entrypoint(session: AgentSession) -> None:
        found.append(get_job_context())
        await session.start(agent=agent())

    async def call() -> None:
        async with server.job(Room("here")) as job:
            await job.wait_for_session()
            assert found == [job]
            assert job.session is not None
            assert job.session.room is job.room
            assert job.log_context_fields["room"] == "here"
        assert get_job_context(required=False) is None

    run_virtual(call())


def test_an_entrypoint_that_raises_ends_the_job() -> None:
    server = AgentServer()

    @server.rtc_session
    async def entrypoint(session: AgentSession) -> None:
        raise LookupError("no database")

    async def call() -> None:
        async with server.job(Room()) as job:
            assert await job.wait_for_session() is None
            assert isinstance(job.error, LookupError)
            assert await job.wait_for_shutdown() == "error"

    run_virtual(call())


def test_an_entrypoint_that_starts_no_session_is_an_error() -> None:
    server = AgentServer()

    @server.rtc_session
    async def entrypoint(session: AgentSession) -> None: ...

    async def call() -> None:
        async with server.job(Room()) as job:
            assert await job.wait_for_session() is None
            assert isinstance(job.error, UsageError)
            assert "returned without starting a session" in str(job.error)

    run_virtual(call())


def test_the_end_of_the_session_is_the_end_of_the_job() -> None:
    server = AgentServer()

    @server.rtc_session
    async def entrypoint(session: AgentSession) -> None:
        await session.start(agent=agent())
        session.shutdown()

    async def call() -> None:
        async with server.job(Room()) as job:
            assert await job.wait_for_shutdown() == "user_initiated"

    run_virtual(call())


def test_leaving_the_job_closes_its_session_and_calls_back_once_with_the_reason() -> None:
    server = AgentServer()
    called: list[str] = []

    @server.rtc_session
    async def entrypoint(ctx: JobContext) -> None:
        async def with_reason(reason: str) -> None:
            called.append(reason)

        async def without() -> None:
            called.append("plain")

        ctx.add_shutdown_callback(with_reason)
        ctx.add_shutdown_callback(without)
        await AgentSession().start(agent=agent())

    async def call() -> None:
        async with server.job(Room()) as job:
            session = await job.wait_for_session()
            job.shutdown("enough")
            job.shutdown("again")
        assert session is not None
        assert not session.is_running
        assert called == ["enough", "plain"]

    run_virtual(call())


def test_shutdown_callbacks_that_fail_or_hang_keep_nobody_waiting(caplog: pytest.LogCaptureFixture) -> None:
    async def call() -> None:
        job = JobContext(Room())
        called: list[str] = []

        async def broken() -> None:
            raise LookupError

        async def fine() -> None:
            called.append("fine")

        async def hangs() -> None:
            await asyncio.Event().wait()

        for callback in (broken, fine, hangs, fine):
            job.add_shutdown_callback(callback)
        began = asyncio.get_running_loop().time()
        await job.run_shutdown_callbacks(timeout=2.0)
        assert asyncio.get_running_loop().time() - began == 2.0
        assert called == ["fine"]

    run_virtual(call())
    assert "a shutdown callback raised" in caplog.text
    assert "did not end within 2 s" in caplog.text


def test_deleting_the_room_disconnects_the_caller_and_ends_the_job() -> None:
    async def call() -> None:
        job = JobContext(Room())
        gone: list[str] = []
        job.room.on("disconnected", gone.append)
        await job.delete_room()
        await job.delete_room()
        assert gone == ["room deleted"]
        assert not job.room.connected
        assert await job.wait_for_shutdown() == "room deleted"
        with pytest.raises(UsageError, match="has ended already"):
            await job.connect()

    run_virtual(call())


def test_two_calls_at_once_have_sessions_and_userdata_of_their_own() -> None:
    server = AgentServer()

    @server.rtc_session
    async def entrypoint(session: AgentSession) -> None:
        await session.start(agent=agent())

    async def one(name: str) -> tuple[str, int]:
        async with server.job(Room(name)) as job:
            session = await job.wait_for_session()
            assert session is not None
            session.userdata = name
            await session.run(user_input=name)
            assert get_job_context() is job
            return session.userdata, len(session.history.messages())

    async def both() -> None:
        results = list(await asyncio.gather(one("a"), one("b")))
        assert results == [("a", 2), ("b", 2)]

    run_virtual(both())


def test_userdata_of_the_process_is_shared_by_its_jobs() -> None:
    server = AgentServer()
    seen: list[object] = []

    @server.rtc_session
    async def entrypoint(ctx: JobContext) -> None:
        seen.append(ctx.proc.userdata.setdefault("model", object()))
        await AgentSession().start(agent=agent())

    async def calls() -> None:
        for _ in range(2):
            async with server.job(Room()) as job:
                await job.wait_for_session()

    run_virtual(calls())
    assert seen[0] is seen[1]


# -- which models run


def test_a_jobs_models_are_chosen_for_the_session_and_for_its_agents() -> None:
    server = AgentServer()
    chosen = FakeLLM(["Hello from the chosen one."])

    @server.rtc_session
    async def entrypoint(session: AgentSession) -> None:
        await session.start(agent=Agent(instructions="", llm=FakeLLM([])), room=session.room)

    async def call() -> None:
        async with server.job(Room(), models=lambda given: dict.fromkeys(given) | {"llm": chosen}) as job:
            session = await job.wait_for_session()
            assert session is not None
            await session.run(user_input="Hi")
            assert session.history.messages()[-1].text_content == "Hello from the chosen one."

    run_virtual(call())


# -- run()


def test_run_in_a_file_that_is_being_loaded_does_nothing() -> None:
    token = loading.set(True)
    try:
        pending = AgentServer().run()
    finally:
        loading.reset(token)

    async def wait() -> int:
        return await pending

    assert asyncio.run(wait()) == 0


# -- a call that continues another


class Greeter(Agent):
    """Greets whoever is new."""

    async def on_enter(self) -> None:
        await self.session.say("Welcome.")


def test_a_call_that_continues_another_knows_it_and_does_not_greet() -> None:
    server = AgentServer()

    @server.rtc_session
    async def entrypoint(session: AgentSession) -> None:
        await session.start(agent=Greeter(instructions="", llm=FakeLLM(["Go on."])), room=session.room)

    async def call() -> None:
        earlier = ChatContext.empty()
        earlier.add_message(role="user", content="My name is Anna.")
        async with server.job(Room()) as job:
            job.continue_from(earlier)
            session = await job.wait_for_session()
            assert session is not None
            await session.run(user_input="Hi")
            known = [m.text_content for m in session.current_agent.chat_ctx.messages()]
            assert known == ["My name is Anna.", "Hi", "Go on."]
            assert [m.text_content for m in earlier.messages()] == ["My name is Anna."]

    run_virtual(call())


def test_the_next_call_is_a_new_one() -> None:
    server = AgentServer()

    @server.rtc_session
    async def entrypoint(session: AgentSession) -> None:
        await session.start(agent=Greeter(instructions="", llm=FakeLLM(["Go on."])), room=session.room)

    async def call() -> None:
        async with server.job(Room()) as job:
            job.continue_from(ChatContext.empty())
            await job.wait_for_session()
        async with server.job(Room()) as job:
            session = await job.wait_for_session()
            assert session is not None
            await session.wait_for_idle()
            assert [m.text_content for m in session.history.messages()] == ["Welcome."]

    run_virtual(call())


def test_a_preparation_that_takes_too_long_is_told() -> None:
    async def forever(proc: JobProcess) -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        with pytest.raises(UsageError, match=r"forever\(\) did not return within 5.0 s"):
            await AgentServer(setup_fnc=forever, setup_timeout=5.0).set_up()

    run_virtual(main())
