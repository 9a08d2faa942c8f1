"""The command `antiphon`, and `python agent.py` for a file that ends with `server.run()`.

Arguments come in, an exit code goes out: 0 for a call that went through, 130 for one that Ctrl-C ended (143: SIGTERM,
129: SIGHUP), 2 for what the person who typed the command can mend, told in one line that ends with the remedy.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, TypeAlias

from antiphon.calls.ends import DEFAULT_WAIT
from antiphon.cli import surroundings
from antiphon.cli.arguments import (
    TOKEN,
    add_beginning,
    add_calls,
    add_chaos,
    add_production,
    add_store,
    barge_in,
    number,
    port,
    seconds,
)
from antiphon.discovery import extra_with
from antiphon.errors import AgentFileError, AntiphonError, UsageError
from antiphon.protocols import ModelKind
from antiphon.server.entrypoint import AgentServer
from antiphon.server.process import CommandFailed, run_to_its_end, told_by_signals
from antiphon.server.supervisor.supervised import VARIABLE as SUPERVISOR
from antiphon.visible import VisibleRecords, one_line, to_json

if TYPE_CHECKING:
    from antiphon.cli.call import Call

_Command: TypeAlias = Callable[[argparse.Namespace, "AgentServer | None"], Awaitable[None]]
_KINDS: tuple[ModelKind, ...] = ("llm", "stt", "tts")


def main(arguments: Sequence[str] | None = None, *, server: AgentServer | None = None) -> Awaitable[int]:
    """The command `antiphon`, or that of one server. Leaves the program with an exit code.

    For a server inside a running event loop it returns an awaitable of that code instead.
    """
    with _open_streams():
        if server is None:
            raise SystemExit(_guarded(_parser("antiphon", with_file=True).parse_args(arguments), None))
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
        return _tell(error, debug=False)


def _server_options() -> argparse.Namespace:
    return _parser(Path(sys.argv[0]).name, with_file=False).parse_args(sys.argv[1:] or ["console"])


# -- arguments


class _Parser(argparse.ArgumentParser):
    """Errors are one line long."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}. See {self.prog} --help.\n")


def _parser(program: str, *, with_file: bool) -> argparse.ArgumentParser:
    parser = _Parser(prog=program, description="Voice agents that do things.")
    parser.add_argument(
        "--version", action="version", version=surroundings.version(), help="show which Antiphon this is"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")

    console = commands.add_parser("console", help="talk to an agent in the terminal: in text, or by voice with --audio")
    dev = commands.add_parser("dev", help="a page to talk to an agent from, while you work on it")
    call = commands.add_parser("call", help="call an agent with recorded or typed turns")
    start = commands.add_parser("start", help="take calls, from pages and from a LiveKit server, in production")
    connect = commands.add_parser("connect", help="join one LiveKit room, and stay until the call is over")
    files = commands.add_parser("download-files", help="fetch and prepare the models ahead of the first call")
    _add_sound(console)
    chaos = commands.add_parser("chaos", help="try an agent's tools in calls where everything goes wrong")
    for command in (console, dev, call, start, connect, files, chaos):
        if with_file:
            command.add_argument(
                "file", type=Path, nargs="?", help="the agent file; agent.py of this folder, if left out"
            )
            command.add_argument("--livekit", action="store_true", help="the file is written for LiveKit Agents")
        add_chaos(command) if command is chaos else _add_models(command)
    for command in (console, dev, call, start, connect):
        add_store(command)
    for command in (console, call):
        command.add_argument(
            "--resume", metavar="CALL", help="go on with a call whose process has ended: antiphon calls"
        )
    _add_place(dev)
    add_production(start)
    connect.add_argument("--room", required=True, metavar="NAME", help="the room; it is made where there is none")
    _add_turns(call)
    if with_file:
        demo = commands.add_parser("demo", help="a call to the example receptionist, from recordings")
        _add_models(demo)
        add_store(demo)
        _add_files(demo)
        demo.set_defaults(out=Path("out/demo.wav"), report=Path("out/demo.html"))
        add_calls(commands.add_parser("calls", help="what became of calls, and of what their tools did"))
        add_beginning(commands)
    return parser


def _add_turns(call: argparse.ArgumentParser) -> None:
    """What is said to the agent, and what is kept of that."""
    turns = call.add_mutually_exclusive_group(required=True)
    turns.add_argument("--caller", nargs="+", type=Path, metavar="WAV", help="recorded turns, one file each")
    turns.add_argument("--say", nargs="+", metavar="TEXT", help="typed turns: text in, text out")
    call.add_argument(
        "--barge-in",
        action="append",
        default=[],
        type=barge_in,
        metavar="N@SECONDS",
        help="turn N begins SECONDS after the first agent audio that follows turn N-1",
    )
    call.add_argument(
        "--wait",
        type=seconds,
        default=DEFAULT_WAIT,
        metavar="SECONDS",
        help="stay on the line so long for what tools in the background will tell (default: %(default)g)",
    )
    call.add_argument(
        "--json", action="store_true", help="print the call as JSON on standard output, all else elsewhere"
    )
    call.add_argument(
        "--journal", type=Path, metavar="FILE", help="write all that happens, to be replayed: for a report of a defect"
    )
    _add_files(call)


def _add_models(parser: argparse.ArgumentParser) -> None:
    for kind in _KINDS:
        parser.add_argument(f"--{kind}", metavar="NAME", help=f'{kind.upper()}: "local", a vendor, or vendor/model')
    parser.add_argument(
        "--strict-models",
        action="store_true",
        help="fail where a model of the file cannot be used, instead of a local one",
    )
    parser.add_argument("--debug", action="store_true", help="show tracebacks and logs")


class _ListDevices(argparse.Action):
    """Print the sound devices and leave, whatever else is on the command line."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object, **__: object) -> None:
        from antiphon.transports.devices import list_devices

        try:
            devices = list_devices()
        except AntiphonError as error:
            raise SystemExit(_tell(error, debug=False)) from None
        for device in devices:
            print(f"{device.number:3}  {device.kind:<12}  {device.name}")
        parser.exit(0 if devices else 1, "" if devices else "No sound devices.\n")


def _add_sound(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--audio", action="store_true", help="by voice, on this machine's microphone and loudspeaker")
    parser.add_argument(
        "--device",
        action="append",
        default=[],
        metavar="WHICH",
        help="a sound device by number or part of its name; give it twice for two",
    )
    parser.add_argument(
        "--transport", metavar="NAME", help="by voice, over the line of an installed package: a name, or name/address"
    )
    parser.add_argument("--list-devices", action=_ListDevices, nargs=0, help="print the sound devices and leave")
    parser.add_argument("--null-audio", action="store_true", help="by voice without sound, for a machine without any")
    parser.add_argument("--push-to-talk", action="store_true", help="the microphone is off until Space is pressed")
    parser.add_argument(
        "--processing",
        action=argparse.BooleanOptionalAction,
        help="keep the agent's voice and noise out of the microphone; on where the package for it is installed",
    )


def _add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="address to serve at; 0.0.0.0 is all of this machine's")
    parser.add_argument("--port", type=port, default=8080, help="0 is any that is free")
    parser.add_argument("--token", metavar="TEXT", help=TOKEN)
    parser.add_argument("--tls", action="store_true", help="serve https, with a certificate of its own making")
    parser.add_argument("--tls-cert", type=Path, metavar="PEM", help="serve https with this certificate")
    parser.add_argument("--tls-key", type=Path, metavar="PEM", help="the key of --tls-cert")
    parser.add_argument("--no-reload", action="store_true", help="do not load the agent file anew when it is saved")
    parser.add_argument("--max-calls", type=number, default=20, metavar="N", help="calls at the same time")
    parser.add_argument("--calls", type=Path, metavar="FOLDER", help="keep recordings and reports here")


def _add_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, metavar="WAV", help="write a stereo recording, caller left, agent right")
    parser.add_argument("--report", type=Path, metavar="HTML", help="write a page with the whole call")


# -- commands


def _guarded(options: argparse.Namespace, server: AgentServer | None) -> int:
    """Run a command; what the user can mend becomes one line."""
    try:
        return run_to_its_end(_run(options, server))
    except AntiphonError as error:
        return _tell(error, debug=options.debug)
    except ModuleNotFoundError as error:
        extra = extra_with(error.name or "") or "cli,dev,local"
        missing = f"the package {error.name} is not installed. Install it with: pip install 'antiphon[{extra}]'"
        return _tell(AntiphonError(missing), debug=options.debug)
    except KeyboardInterrupt:  # before the command had begun, or after its end
        return 130


def _tell(error: AntiphonError, *, debug: bool) -> int:
    if debug:
        logging.getLogger("antiphon").error("the command failed", exc_info=error)
    print("antiphon: " + one_line(" ".join(str(error).split())), file=sys.stderr)
    return 2


async def _run(options: argparse.Namespace, server: AgentServer | None) -> int:
    _set_up_logging(debug=options.debug)
    commands: Mapping[str, _Command] = {
        "console": _console,
        "dev": _dev,
        "call": _call,
        "start": _start,
        "connect": _connect,
        "download-files": _download_files,
        "demo": _demo,
        "calls": _calls,
        "chaos": _chaos,
        "init": _init,
        "doctor": _doctor,
    }
    with told_by_signals() as stopping:
        try:
            _look_around(options, server)
            async with _kept(options, server):
                await commands[options.command](options, server)
        except CommandFailed as failed:
            return failed.code
        except asyncio.CancelledError:
            if stopping.by is None:  # whoever runs us has cancelled us
                raise
            if stopping.by == signal.SIGINT and sys.stderr.isatty():
                print(file=sys.stderr)  # behind the "^C" that the terminal shows
            # A server is there to be stopped; a call that was stopped is not over.
            return 0 if options.command in ("dev", "start") else stopping.exit_code
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
    address = kept.address_of(options, named)
    notice = partial(_notice, options)
    is_worker = options.command == "start" and os.environ.get(SUPERVISOR) is not None
    if options.command == "start" and not is_worker and options.workers != 0:
        notice(kept.told(address))  # its workers keep them
        yield
        return
    async with kept.Kept(address, notice=notice, is_named=bool(options.store), is_told=is_worker):
        yield


def _set_up_logging(*, debug: bool) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    # A tool that fails is spoken about in the call; its traceback is for --debug.
    if not debug:
        handler.addFilter(_without_traceback)
    handler.addFilter(VisibleRecords())
    logger = logging.getLogger("antiphon")
    logger.handlers[:] = [handler]
    logger.setLevel(logging.DEBUG if debug else logging.WARNING)
    logger.propagate = False
    # LiveKit's package warns of what is its own affair.
    logging.getLogger("livekit").setLevel(logging.DEBUG if debug else logging.ERROR)


def _without_traceback(record: logging.LogRecord) -> bool:
    if record.exc_info and record.exc_info[1] is not None:
        error, text = record.exc_info[1], record.getMessage()
        if not str(error) or str(error) not in text:
            text = f"{text}: {type(error).__name__}: {error}"
        record.msg, record.args = text, ()
    record.exc_info = record.exc_text = None
    return True


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
        await chat(server, models=models, screen=screen, resume=options.resume)
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
    from antiphon.calls.models import ModelChoice
    from antiphon.cli.develop import rooms_served
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
            out.write(to_json(call.report.to_json(), indent=2) + "\n")

    _keep(call, options, title=title, tell=tell)


async def _start(options: argparse.Namespace, server: AgentServer | None) -> None:
    from antiphon.cli.start import run_start

    load = partial(_load, livekit=getattr(options, "livekit", False))
    await run_start(options, server, named=_named(options), load=load)


async def _connect(options: argparse.Namespace, server: AgentServer | None) -> None:
    from antiphon.calls.models import ModelChoice
    from antiphon.cli.live import connect
    from antiphon.cli.screen import Screen

    screen = Screen()
    server = server or _load(options.file, livekit=options.livekit)
    models = ModelChoice(named=_named(options), strict=options.strict_models, notice=screen.notice)
    await connect(server, options.room, models=models, screen=screen)


async def _calls(options: argparse.Namespace, _: AgentServer | None) -> None:
    from antiphon.cli.calls import calls

    await calls(options)


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

    checks = await examine()
    if options.json:
        print(to_json([asdict(one) for one in checks], indent=2))
    else:
        print(*(one.line() for one in checks), sep="\n")


def _keep(call: Call, options: argparse.Namespace, *, title: str, tell: Callable[[], None]) -> None:
    """Print what is asked for, then write the files: what fails does not keep the rest from being there."""
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


async def _make_call(options: argparse.Namespace, server: AgentServer, title: str) -> Call:
    from antiphon.calls.models import ModelChoice
    from antiphon.cli.call import text_call, voice_call
    from antiphon.cli.screen import Screen
    from antiphon.replay.writer import JournalWriter
    from antiphon.transports.wav import read_recording

    if options.say and (options.barge_in or options.out):
        raise UsageError("--barge-in and --out need a call by voice. Give recorded turns with --caller.")
    screen = Screen(to_stderr=options.json)
    turns = [read_recording(path) for path in options.caller or ()]
    models = ModelChoice(
        named=_named(options), strict=options.strict_models, voice=not options.say, notice=screen.notice
    )
    barge_in = dict(options.barge_in)
    journal = None if options.journal is None else JournalWriter(options.journal, about=title)
    kept: dict[str, Any] = {"models": models, "screen": screen, "journal": journal, "wait": options.wait}
    kept["resume"] = getattr(options, "resume", None)
    try:
        if options.say:
            return await text_call(server, options.say, **kept)
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
    return {kind: name for kind in _KINDS if (name := getattr(options, kind)) is not None}


def _tell_files(recording: Path | None, page: Path | None, journal: Path | None = None) -> None:
    if recording is not None:
        print(f"Listen to  {recording}")
    if page is not None:
        print(f"Open       {page}")
    if journal is not None:
        print(f"Replay     {journal}")
