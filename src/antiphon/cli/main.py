"""The command `antiphon`, and `python agent.py` for a file that ends with `server.run()`.

Arguments come in, an exit code goes out: 0 for a call that went through, 1 for one in which something went wrong
(`calls.verdict`), 130 for one that Ctrl-C ended (143: SIGTERM, 129: SIGHUP), 2 for what the person who typed the
command can mend, told in one line that ends with the remedy.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

from antiphon.calls.ends import DEFAULT_WAIT
from antiphon.cli import surroundings
from antiphon.cli.arguments import barge_in
from antiphon.cli.logs import set_up_logging, tell
from antiphon.cli.parser import KINDS, command_line
from antiphon.discovery import extra_with
from antiphon.errors import AgentFileError, AntiphonError, UsageError
from antiphon.protocols import ModelKind
from antiphon.server.entrypoint import AgentServer
from antiphon.server.process import CommandFailed, run_to_its_end, told_by_signals
from antiphon.server.supervisor.supervised import VARIABLE as SUPERVISOR
from antiphon.visible import to_json

if TYPE_CHECKING:
    from antiphon.cli.call import Call
    from antiphon.cli.screen import Screen

_Command: TypeAlias = Callable[[argparse.Namespace, "AgentServer | None"], Awaitable[None]]


def main(arguments: Sequence[str] | None = None, *, server: AgentServer | None = None) -> Awaitable[int]:
    """The command `antiphon`, or that of one server. Leaves the program with an exit code.

    For a server inside a running event loop it returns an awaitable of that code instead.
    """
    with _open_streams():
        if server is None:
            raise SystemExit(_guarded(command_line("antiphon", with_file=True).parse_args(arguments), None))
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            raise SystemExit(_guarded(_server_options(), server)) from None
    return _run_inside(server)


@contextlib.contextmanager
def _open_streams() -> Iterator[None]:
    """What runs in the background may have been started with its standard streams closed: it then writes nothing."""
    with contextlib.ExitStack() as stack:
        for stream, instead in ((sys.stdout, contextlib.redirect_stdout), (sys.stderr, contextlib.redirect_stderr)):
            if stream is None:
                stack.enter_context(instead(stack.enter_context(open(os.devnull, "w"))))
        yield


async def _run_inside(server: AgentServer) -> int:
    try:
        return await _run(_server_options(), server)
    except AntiphonError as error:
        return tell(error, debug=False)


def _server_options() -> argparse.Namespace:
    return command_line(Path(sys.argv[0]).name, with_file=False).parse_args(sys.argv[1:] or ["console"])


# -- commands


def _guarded(options: argparse.Namespace, server: AgentServer | None) -> int:
    """Run a command; what the user can mend becomes one line."""
    try:
        return run_to_its_end(_run(options, server))
    except AntiphonError as error:
        return tell(error, debug=options.debug)
    except ModuleNotFoundError as error:
        extra = extra_with(error.name or "") or "cli,dev,local"
        missing = f"the package {error.name} is not installed. Install it with: pip install 'antiphon[{extra}]'"
        return tell(AntiphonError(missing), debug=options.debug)
    except KeyboardInterrupt:  # before the command had begun, or after its end
        return 130


async def _run(options: argparse.Namespace, server: AgentServer | None) -> int:
    set_up_logging(debug=options.debug)
    commands: Mapping[str, _Command] = {
        "console": _console,
        "dev": _dev,
        "call": _call,
        "say": _say,
        "start": _start,
        "dial": _dial,
        "connect": _connect,
        "download-files": _download_files,
        "demo": _demo,
        "calls": _calls,
        "report": _report,
        "studio": _studio,
        "replay": _replay,
        "chaos": _chaos,
        "lint": _lint,
        "eval": _eval,
        "simulate": _simulate,
        "init": _init,
        "doctor": _doctor,
    }
    with told_by_signals() as stopping:
        try:
            _look_around(options, server)
            async with _kept(options, server), _told(options):
                await commands[options.command](options, server)
        except CommandFailed as failed:
            return failed.code
        except asyncio.CancelledError:
            if stopping.by is None:  # whoever runs us has cancelled us
                raise
            if stopping.by == signal.SIGINT and sys.stderr.isatty():
                print(file=sys.stderr)  # behind the "^C" that the terminal shows
            # A server is there to be stopped; a call that was stopped is not over.
            return 0 if options.command in ("dev", "start", "studio") else stopping.exit_code
    return 0


def _look_around(options: argparse.Namespace, server: AgentServer | None) -> None:
    """Find what the command line leaves to the folder: the agent file, how it is written, and settings."""
    if server is not None:
        file: Path | None = Path(sys.argv[0])
    else:
        file = getattr(options, "file", None)
        if "file" in options and (file is not None or options.command != "download-files"):
            file = options.file = surroundings.agent_file(file)
    surroundings.read_settings(Path() if file is None else file.parent, partial(_notice, options))
    if server is None and file is not None and not options.livekit and surroundings.is_written_for_livekit(file):
        options.livekit = True
        if os.environ.get(SUPERVISOR) is None:  # else it was said
            _notice(options, f"{file.name} is written for LiveKit Agents: its livekit.agents is Antiphon's here")
    elif server is None and file is not None and surroundings.mixes_frameworks(file):
        _notice(options, f"{file.name} imports antiphon and livekit.agents: {surroundings.MIXED}")


def _notice(options: argparse.Namespace, line: str) -> None:
    from antiphon.cli.screen import Screen

    Screen(to_stderr=getattr(options, "json", False)).notice(line)


@contextlib.asynccontextmanager
async def _kept(options: argparse.Namespace, server: AgentServer | None) -> AsyncIterator[None]:
    """Have the calls of a command kept, if it holds any."""
    from antiphon.cli import kept

    named = getattr(options, "file", None) or Path("demo" if server is None else sys.argv[0])
    if options.command not in kept.COMMANDS or not (options.command == "demo" or named.is_file()):
        yield
        return
    address, records = kept.address_of(options, named), kept.records_of(options, named)
    notice = partial(_notice, options)
    is_worker = options.command == "start" and os.environ.get(SUPERVISOR) is not None
    if options.command == "start" and not is_worker and options.workers != 0:
        notice(kept.told(address, records))  # its workers keep them
        yield
        return
    is_named = bool(options.store)
    async with kept.Kept(address, notice=notice, is_named=is_named, is_told=is_worker, records=records):
        yield


def _told(options: argparse.Namespace) -> contextlib.AbstractAsyncContextManager[None]:
    """Have the calls of a command told to a collector, if that is asked for."""
    from antiphon.cli.otlp import told_elsewhere

    is_worker = options.command == "start" and os.environ.get(SUPERVISOR) is not None
    holds_calls = options.command != "start" or is_worker or options.workers == 0
    return told_elsewhere(options, holds_calls=holds_calls, notice=None if is_worker else partial(_notice, options))


async def _console(options: argparse.Namespace, server: AgentServer | None) -> None:
    from antiphon.calls.models import ModelChoice
    from antiphon.cli.console import chat
    from antiphon.cli.screen import Screen

    screen = Screen()
    if options.transport and (options.audio or options.null_audio or options.device):
        raise UsageError("--transport names the line. Leave out --audio, --null-audio and --device.")
    voice = bool(options.audio or options.null_audio or options.transport)
    if not voice and (options.device or options.push_to_talk or options.processing is not None):
        raise UsageError("--device, --push-to-talk and --processing need a call by voice. Add --audio.")
    server = server or _load(options.file, livekit=options.livekit)
    models = ModelChoice(named=_named(options), strict=options.strict_models, voice=voice, notice=screen.notice)
    if not voice:
        _judge(await chat(server, models=models, screen=screen, resume=options.resume), screen)
        return
    from antiphon.cli.talk import TalkOptions, talk

    wanted = TalkOptions(
        options.device,
        options.null_audio,
        options.processing,
        options.push_to_talk,
        transport=options.transport or "",
        resume=options.resume,
    )
    await talk(server, options=wanted, models=models, screen=screen)


async def _dev(options: argparse.Namespace, server: AgentServer | None) -> None:
    from antiphon.calls.loop_watch import watched_loop
    from antiphon.calls.models import ModelChoice
    from antiphon.cli.develop import rooms_served
    from antiphon.cli.introduce import announce
    from antiphon.cli.screen import Screen
    from antiphon.console.access import Limits
    from antiphon.console.calls import Models
    from antiphon.console.reload import AgentFile
    from antiphon.console.serve import Place, serve
    from antiphon.console.tls import given_certificate

    screen = Screen()
    file = AgentFile(
        Path(sys.argv[0]) if server is not None else options.file,
        livekit=getattr(options, "livekit", False),
        server=server,
    )
    place = Place(
        options.host,
        options.port,
        token=options.token or os.environ.get("ANTIPHON_TOKEN"),
        tls=options.tls,
        certificate=given_certificate(options.tls_cert, options.tls_key),
    )
    voice, text = (
        ModelChoice(named=_named(options), strict=options.strict_models, voice=voice, notice=screen.notice)
        for voice in (True, False)
    )
    if server is None:
        if not options.file.is_file():  # a file that breaks is waited for, a name that is wrong is not
            raise AgentFileError(f"no such agent file: {options.file}. Give the path of a Python file.")
        await file.load()
    await announce(_named(options), screen)
    with watched_loop():
        async with rooms_served(file, models=voice, notice=screen.notice):
            await serve(
                file,
                place,
                models=Models(voice, text),
                prewarm=voice.prewarm,
                opened=screen.address,
                notice=screen.notice,
                limits=Limits(max_calls=options.max_calls),
                folder=options.calls,
                reload=not options.no_reload,
            )


async def _call(options: argparse.Namespace, server: AgentServer | None) -> None:
    title = f"Call with {options.file.name if server is None else Path(sys.argv[0]).name}"
    # Tools and libraries that print must not spoil the JSON.
    aside = contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext()
    out: TextIO = sys.stdout
    with aside:
        call = await _make_call(options, server or _load(options.file, livekit=options.livekit), title)

    def tell() -> None:
        if options.json:
            out.write(to_json(call.to_json(), indent=2) + "\n")

    _keep(call, options, title=title, tell=tell)


async def _say(options: argparse.Namespace, server: AgentServer | None) -> None:
    from antiphon.calls.models import ModelChoice
    from antiphon.cli.screen import Screen
    from antiphon.cli.turn import Turn, take_turn

    if options.no_store:
        raise UsageError("say: the call must outlive this command. Leave out --no-store.")
    screen, out = Screen(to_stderr=True), sys.stdout
    turn = Turn(None if options.call == "new" else options.call, options.text, options.hang_up, options.wait)
    with contextlib.redirect_stdout(sys.stderr):  # tools and libraries that print must not spoil the JSON
        server = server or _load(options.file, livekit=options.livekit)
        models = ModelChoice(named=_named(options), strict=options.strict_models, voice=False, notice=screen.notice)
        answer = await take_turn(server, turn, models=models, screen=screen)
    out.write(to_json(answer.to_json(), indent=2) + "\n")
    _judge(answer.failed, None)


async def _start(options: argparse.Namespace, server: AgentServer | None) -> None:
    from antiphon.cli.start import run_start

    load = partial(_load, livekit=getattr(options, "livekit", False))
    await run_start(options, server, named=_named(options), load=load)


async def _dial(options: argparse.Namespace, server: AgentServer | None) -> None:
    from antiphon.cli.dial import run_dial

    options.file = getattr(options, "file", None)
    await run_dial(options, server or _load(options.file, livekit=options.livekit), dict(_named(options)))


async def _connect(options: argparse.Namespace, server: AgentServer | None) -> None:
    from antiphon.calls.models import ModelChoice
    from antiphon.cli.introduce import announce
    from antiphon.cli.live import connect
    from antiphon.cli.screen import Screen

    screen = Screen()
    server = server or _load(options.file, livekit=options.livekit)
    models = ModelChoice(named=_named(options), strict=options.strict_models, notice=screen.notice)
    await announce(_named(options), screen)
    await connect(server, options.room, models=models, screen=screen)


async def _calls(options: argparse.Namespace, _: AgentServer | None) -> None:
    from antiphon.cli.calls import calls

    await calls(options)


async def _report(options: argparse.Namespace, _: AgentServer | None) -> None:
    from antiphon.cli.records import report

    await report(options)


async def _studio(options: argparse.Namespace, _: AgentServer | None) -> None:
    from antiphon.cli.studio import studio

    await studio(options)


async def _replay(options: argparse.Namespace, _: AgentServer | None) -> None:
    from antiphon.cli.replay import replay

    if not await replay(options, named=_llm_named(options)):
        raise CommandFailed(1)


async def _chaos(options: argparse.Namespace, server: AgentServer | None) -> None:
    from antiphon.cli.chaos import Wanted, chaos, tell
    from antiphon.cli.screen import Screen

    wanted = Wanted(options.calls, options.seed, options.dialogue, options.journals)
    aside = contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext()
    with aside:
        server = server or _load(options.file, livekit=options.livekit)
        tried = await chaos(server, wanted, screen=Screen(to_stderr=options.json))
    tell(tried, as_json=options.json)
    if tried.counted:
        raise CommandFailed(1)


async def _lint(options: argparse.Namespace, _: AgentServer | None) -> None:
    from antiphon.cli.lint import lint

    if lint(options):
        raise CommandFailed(1)


async def _eval(options: argparse.Namespace, _: AgentServer | None) -> None:
    from antiphon.cli.evaluate import run_cases

    if not await run_cases(options, named=_llm_named(options)):
        raise CommandFailed(1)


async def _simulate(options: argparse.Namespace, _: AgentServer | None) -> None:
    from antiphon.cli.simulate import run_scenarios

    if not await run_scenarios(options, named=_llm_named(options)):
        raise CommandFailed(1)


async def _download_files(options: argparse.Namespace, server: AgentServer | None) -> None:
    from antiphon.cli.files import download_files
    from antiphon.cli.screen import Screen

    if server is None and options.file is not None:
        _load(options.file, livekit=options.livekit)
    await download_files(_named(options), screen=Screen())


async def _demo(options: argparse.Namespace, _: AgentServer | None = None) -> None:
    from antiphon.cli.demo import BARGE_IN, demo_files

    file, recordings = demo_files()
    turns = {"caller": recordings, "say": None, "barge_in": [barge_in(BARGE_IN)], "wait": DEFAULT_WAIT}
    options = argparse.Namespace(**vars(options), **turns, json=False, journal=None)
    title = f"Call with {file.name}"
    call = await _make_call(options, _load(file), title)
    _keep(call, options, title=title, tell=lambda: print(f"Stored     {to_json(call.report.userdata)}"))


async def _init(options: argparse.Namespace, _: AgentServer | None = None) -> None:
    from antiphon.cli.init import make_folder

    make_folder(options.folder)
    print(f"{options.folder} has an agent and its test. Go on:\n  cd {options.folder}\n  pytest -q\n  antiphon console")


async def _doctor(options: argparse.Namespace, _: AgentServer | None = None) -> None:
    from antiphon.cli.doctor import examine
    from antiphon.cli.live_models import try_models

    named = {kind: name for kind in KINDS if (name := getattr(options, kind))}
    if named and not options.live:
        raise UsageError("doctor: --llm, --stt and --tts say which models --live shall ask. Add --live.")
    checks = await try_models(named) if options.live else await examine()
    if options.json:
        print(to_json([asdict(one) for one in checks], indent=2))
    else:
        print(*(one.line() for one in checks), sep="\n")
    if options.live and not all(one.ok for one in checks):
        raise CommandFailed(1)


def _keep(call: Call, options: argparse.Namespace, *, title: str, tell: Callable[[], None]) -> None:
    """Print what is asked for, then write the files: what fails does not keep the rest from being there.

    A call in which something went wrong ends the command with 1, after all else.
    """
    from antiphon.cli.screen import Screen

    broken: OSError | None = None
    try:
        tell()
        sys.stdout.flush()
    except OSError as error:
        broken = error
    recording: Path | None = options.out
    if recording is None and options.report is not None and call.recorder is not None:
        recording = options.report.with_suffix(".wav")  # the page plays it
    call.save(title=title, recording=recording, page=options.report)
    if broken is not None:
        raise AntiphonError(f"cannot write to standard output: {broken.strerror}. Send it elsewhere.") from broken
    if not options.json:
        with contextlib.suppress(OSError):  # the terminal is gone
            _tell_files(recording, options.report, options.journal)
    if call.interrupted:
        # What there is of the call is kept: now the interruption takes its course.
        raise asyncio.CancelledError
    _judge(call.shortcomings, None if options.json else Screen())


def _judge(shortcomings: Sequence[str], screen: Screen | None) -> None:
    """End the command with 1 for a call in which something went wrong."""
    if shortcomings:
        if screen is not None:
            screen.failed(shortcomings)
        raise CommandFailed(1)


async def _make_call(options: argparse.Namespace, server: AgentServer, title: str) -> Call:
    from antiphon.calls.models import ModelChoice
    from antiphon.cli.call import spoken_turns, text_call, voice_call
    from antiphon.cli.screen import Screen
    from antiphon.replay.writer import JournalWriter
    from antiphon.transports.wav import read_recording

    screen = Screen(to_stderr=options.json)
    # Typed turns are a call in text, unless something is asked for that only a call by voice has.
    typed = options.say if not (options.barge_in or options.out) else None
    turns = [read_recording(path) for path in options.caller or ()]
    models = ModelChoice(named=_named(options), strict=options.strict_models, voice=not typed, notice=screen.notice)
    barge_in = dict(options.barge_in)
    journal = None if options.journal is None else JournalWriter(options.journal, about=title)
    kept: dict[str, Any] = {"models": models, "screen": screen, "journal": journal, "wait": options.wait}
    kept["resume"] = getattr(options, "resume", None)
    try:
        if typed:
            return await text_call(server, typed, **kept)
        turns += await spoken_turns(options.say or ())
        return await voice_call(server, turns, barge_in=barge_in, **kept)
    except BaseException:
        if journal is not None:
            with contextlib.suppress(OSError):  # the call is the failure to be told
                journal.close()
        raise


def _load(path: Path, *, livekit: bool = False) -> AgentServer:
    from antiphon.server.agent_file import load_agent_file

    return load_agent_file(path, livekit=livekit)


def _named(options: argparse.Namespace) -> Mapping[ModelKind, str]:
    """The models that the command line names, or the environment: ANTIPHON_LLM, ANTIPHON_STT, ANTIPHON_TTS."""
    said = {kind: getattr(options, kind) or os.environ.get(f"ANTIPHON_{kind.upper()}") for kind in KINDS}
    return {kind: name for kind, name in said.items() if name}


def _llm_named(options: argparse.Namespace) -> Mapping[ModelKind, str]:
    name = options.llm or os.environ.get("ANTIPHON_LLM")
    return {"llm": name} if name else {}


def _tell_files(recording: Path | None, page: Path | None, journal: Path | None = None) -> None:
    if recording is not None:
        print(f"Listen to  {recording}")
    if page is not None:
        print(f"Open       {page}")
    if journal is not None:
        print(f"Replay     {journal}")
