"""Entrypoints as LiveKit's files write them, each run as a job of this process."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from antiphon.audio import AudioFrame as NativeFrame
from antiphon.compat import livekit
from antiphon.errors import AgentFileError, UsageError
from antiphon.protocols import DtmfReceived
from antiphon.server.agent_file import load_agent_file
from antiphon.server.entrypoint import AgentServer as NativeServer
from antiphon.server.entrypoint import Permissions
from antiphon.server.room import Room as NativeRoom
from antiphon.testing import FakeLLM, run_virtual
from antiphon_livekit.agents import Agent
from antiphon_livekit.rooms import AudioFrame, DeleteRoomRequest, ParticipantKind, Room
from antiphon_livekit.servers import (
    AgentServer,
    JobContext,
    JobProcess,
    WorkerOptions,
    WorkerPermissions,
    collecting,
    get_job_context,
    run_app,
)
from antiphon_livekit.sessions import AgentSession
from antiphon_livekit.utilities import http_session


def serve(entrypoint: Any, *, room: NativeRoom | None = None, **options: Any) -> JobContext:
    """Run one job until its session has started, end it, and return it."""

    async def main() -> JobContext:
        server = WorkerOptions(entrypoint, **options).server()
        async with server.job(room or NativeRoom()) as job:
            await job.wait_for_session()
            if job.error is not None:
                raise job.error
        assert isinstance(job, JobContext)
        return job

    return run_virtual(main())


async def begin(ctx: JobContext) -> AgentSession[Any]:
    session = AgentSession[Any](llm=FakeLLM([]))
    await session.start(agent=Agent(instructions=""), room=ctx.room)
    return session


def test_an_entrypoint_gets_a_room_with_one_caller() -> None:
    seen: dict[str, Any] = {}

    async def entrypoint(ctx: JobContext) -> None:
        await ctx.connect(auto_subscribe="audio_only")
        caller = await ctx.wait_for_participant()
        seen.update(
            caller=caller.identity,
            kind=caller.kind,
            everybody=list(ctx.room.remote_participants),
            agent=ctx.agent.identity,
            name=ctx.room.name,
            job_room=ctx.job.room.name,
            same=get_job_context() is ctx,
        )
        session = await begin(ctx)
        assert session.room is ctx.room and ctx.primary_session is session

    serve(entrypoint, room=NativeRoom("reception"))
    assert seen == {
        "caller": "caller",
        "kind": ParticipantKind.PARTICIPANT_KIND_STANDARD,
        "everybody": ["caller"],
        "agent": "agent",
        "name": "reception",
        "job_room": "reception",
        "same": True,
    }


def test_prewarming_is_done_once_before_the_first_call() -> None:
    order: list[str] = []

    def prewarm(proc: JobProcess) -> None:
        order.append("prewarm")
        proc.userdata["vad"] = "loaded"

    async def entrypoint(ctx: JobContext) -> None:
        order.append(f"call with vad {ctx.proc.userdata['vad']}")
        await begin(ctx)

    async def main() -> None:
        server = AgentServer(setup_fnc=prewarm)
        server.rtc_session(entrypoint)
        for _ in range(2):
            async with server.job(NativeRoom()) as job:
                await job.wait_for_session()

    run_virtual(main())
    assert order == ["prewarm", "call with vad loaded", "call with vad loaded"]


def test_a_prewarming_that_fails_is_named() -> None:
    def prewarm(proc: JobProcess) -> None:
        raise OSError("no disk")

    with pytest.raises(UsageError, match=r"prewarm\(\) raised OSError: no disk"):
        serve(begin, prewarm_fnc=prewarm)


def test_the_end_of_the_session_is_told_after_it() -> None:
    ended: list[bool] = []

    async def main() -> None:
        server = AgentServer()

        async def over(ctx: JobContext) -> None:
            ended.append(ctx.primary_session.is_running)

        @server.rtc_session(on_session_end=over)
        async def entrypoint(ctx: JobContext) -> None:
            await begin(ctx)

        async with server.job(NativeRoom()) as job:
            await job.wait_for_session()
            assert ended == []

    run_virtual(main())
    assert ended == [False]


def test_what_needs_a_livekit_server_says_so() -> None:
    async def entrypoint(ctx: JobContext) -> None:
        with pytest.raises(UsageError, match=r"api\.sip: .*ctx\.shutdown\(\)"):
            _ = ctx.api.sip
        with pytest.raises(UsageError, match=r"api\.room\.list_rooms"):
            await ctx.api.room.list_rooms()
        with pytest.raises(UsageError, match="no telephone"):
            await ctx.transfer_sip_participant("caller", "tel:+1")
        with pytest.raises(UsageError, match="one caller"):
            ctx.add_participant_entrypoint(entrypoint)
        with pytest.raises(RuntimeError, match="no client"):
            await ctx.room.local_participant.perform_rpc(destination_identity="x", method="ask", payload="")
        with pytest.raises(RuntimeError, match="no session"):
            _ = ctx.primary_session
        await begin(ctx)

    serve(entrypoint)


def test_deleting_the_room_by_the_api_ends_the_call() -> None:
    async def hang_up(ctx: JobContext) -> None:
        session = await begin(ctx)
        await ctx.api.room.delete_room(DeleteRoomRequest(room=ctx.room.name))
        assert not ctx.room.isconnected()
        assert session.is_running  # until the job has ended

    assert serve(hang_up).reason == "room deleted"


def test_a_frame_is_made_as_livekits_is() -> None:
    frame = AudioFrame(b"\0\0" * 480, 48_000, 1, 480)
    assert isinstance(frame, NativeFrame)
    assert (frame.samples_per_channel, frame.duration) == (480, 0.01)
    assert AudioFrame.create(24_000, 2, 240).samples_per_channel == 240


def test_a_room_tells_keys_and_its_end() -> None:
    async def main() -> None:
        reasons: list[str] = []
        keys: list[DtmfReceived] = []
        native = NativeRoom()
        room = Room(native)
        room.on("disconnected", reasons.append)
        room.on("dtmf", keys.append)
        native.receive_dtmf("5")
        await room.disconnect()
        await room.disconnect()
        assert reasons == ["disconnected"] and not room.isconnected()
        assert keys == [DtmfReceived("5")]

    run_virtual(main())


def test_a_http_session_lives_as_long_as_its_job() -> None:
    sessions: list[Any] = []

    async def entrypoint(ctx: JobContext) -> None:
        sessions.extend([http_session(), http_session()])
        assert not sessions[0].closed
        await begin(ctx)

    async def main() -> None:
        server = WorkerOptions(entrypoint).server()
        async with server.job(NativeRoom()) as job:
            await job.wait_for_session()

    asyncio.run(main())
    assert sessions[0] is sessions[1] and sessions[0].closed


def test_an_option_that_nobody_knows_is_refused() -> None:
    with pytest.raises(TypeError, match="entry_point"):
        WorkerOptions(begin, entry_point=1)
    with pytest.raises(TypeError, match="threads"):
        AgentServer(threads=4)


# -- files

FILE = """
from livekit.agents import Agent, AgentSession, JobContext, WorkerOptions, cli

class One(Agent):
    def __init__(self):
        super().__init__(instructions="")

class Two(One):
    pass

async def entrypoint(ctx: JobContext):
    await AgentSession().start(agent=Two(), room=ctx.room)

"""
OPTIONS = "cli.run_app(WorkerOptions(entrypoint_fnc=entrypoint))\n"


@pytest.fixture
def write(tmp_path: Path) -> Any:
    yield lambda code: (tmp_path / "agent.py").write_text(FILE + code) and tmp_path / "agent.py"
    livekit.uninstall()


@pytest.mark.parametrize("guard", ['if __name__ == "__main__":\n    ', "if '__main__' == __name__:\n    ", ""])
def test_a_file_says_what_to_serve_where_it_would_be_run(write: Any, guard: str) -> None:
    path = write(guard + OPTIONS)
    server = load_agent_file(path, livekit=True)
    assert isinstance(server, AgentServer)
    assert server.entrypoint is not None and server.entrypoint.__name__ == "entrypoint"


def test_a_file_without_a_server_is_loaded_as_any_other(write: Any) -> None:
    server = load_agent_file(write("agent = One()\n"), livekit=True)
    assert type(server) is NativeServer


def test_an_error_in_the_main_block_has_a_line(write: Any) -> None:
    path = write('if __name__ == "__main__":\n    print("here")\n    cli.run_app(WorkerOptions(nobody))\n')
    line = path.read_text().splitlines().index("    cli.run_app(WorkerOptions(nobody))") + 1
    with pytest.raises(AgentFileError, match=rf"agent\.py:{line}: NameError"):
        load_agent_file(path, livekit=True)


def test_an_absent_name_is_one_line(write: Any) -> None:
    with pytest.raises(AgentFileError, match=r"agent\.py:\d+: ImportError: livekit\.agents\.AMD is not available"):
        load_agent_file(write("from livekit.agents import AMD\n"), livekit=True)


def test_a_file_for_livekit_that_is_run_without_the_option_says_so(write: Any) -> None:
    with pytest.raises(AgentFileError, match=r"No module named 'livekit(\.agents)?'\. Run .* with --livekit\."):
        load_agent_file(write(""))


def test_a_package_that_such_files_import_is_named_with_its_extra(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dotenv", None)
    with pytest.raises(AgentFileError, match=r"pip install 'antiphon\[livekit\]'"):
        load_agent_file(write("from dotenv import load_dotenv\n"), livekit=True)


def test_nothing_is_run_while_servers_are_collected() -> None:
    with collecting() as served:
        assert run_app(WorkerOptions(begin)) is None
    assert len(served) == 1


def test_a_file_that_installs_by_itself_is_a_program(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, write: Any
) -> None:
    path = write('if __name__ == "__main__":\n    ' + OPTIONS)
    monkeypatch.setattr(sys, "argv", [str(path), "call", "--say", "Hello"])
    livekit.install()
    with pytest.raises(SystemExit) as left:
        exec(compile(path.read_text(), str(path), "exec"), {"__name__": "__main__"})
    assert left.value.code == 0
    assert "Caller  Hello" in capfd.readouterr().out


def test_options_of_processes_and_their_http_are_those_of_the_supervisor_and_its_workers() -> None:
    server = WorkerOptions(
        _nothing,
        host="0.0.0.0",
        port=9000,
        prometheus_port=9001,
        job_memory_limit_mb=800,
        job_memory_warn_mb=0,
        initialize_process_timeout=7.0,
        shutdown_process_timeout=8.0,
        http_proxy="http://proxy:3128",
        log_level="DEBUG",
        permissions=WorkerPermissions(hidden=True),
    ).server()
    assert (server.health_host, server.health_port, server.prometheus_port) == ("0.0.0.0", 9000, 9001)
    assert (server.memory_limit, server.memory_warning) == (800, None)
    assert (server.setup_timeout, server.shutdown_timeout) == (7.0, 8.0)
    assert (server.http_proxy, server.log_level) == ("http://proxy:3128", "DEBUG")
    assert server.permissions == Permissions(hidden=True)


async def _nothing(context: Any) -> None: ...
