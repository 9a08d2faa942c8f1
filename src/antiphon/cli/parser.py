"""What the command line may hold: the commands of `antiphon`, and their options.

Above: `main`. Below: `arguments`, which reads values; the list of sound devices is the one thing that is done here.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NoReturn

from antiphon.calls.ends import DEFAULT_WAIT
from antiphon.cli import surroundings
from antiphon.cli.arguments import (
    add_address,
    add_agent_file,
    add_beginning,
    add_calls,
    add_chaos,
    add_dial,
    add_eval,
    add_lint,
    add_production,
    add_replay,
    add_report,
    add_simulate,
    add_store,
    add_studio,
    add_telemetry,
    barge_in,
    number,
    seconds,
)
from antiphon.cli.logs import tell
from antiphon.errors import AntiphonError
from antiphon.protocols import ModelKind

KINDS: tuple[ModelKind, ...] = ("llm", "stt", "tts")
"""The models that the command line can name."""


class _Parser(argparse.ArgumentParser):
    """Errors are one line long."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}. See {self.prog} --help.\n")


def command_line(program: str, *, with_file: bool) -> argparse.ArgumentParser:
    """The parser of `antiphon` itself, or, without a file, of one agent file that runs its server."""
    parser = _Parser(prog=program, description="Voice agents that do things.")
    parser.add_argument(
        "--version", action="version", version=surroundings.version(), help="show which Antiphon this is"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")

    console = commands.add_parser("console", help="talk to an agent in the terminal: in text, or by voice with --audio")
    dev = commands.add_parser("dev", help="a page to talk to an agent from, while you work on it")
    call = commands.add_parser("call", help="call an agent with recorded or typed turns")
    turn = commands.add_parser("say", help="say one thing in a call that outlives the command: JSON")
    start = commands.add_parser("start", help="take calls, from pages and from a LiveKit server, in production")
    dial = commands.add_parser("dial", help="call a telephone number, and have the agent talk to whoever answers")
    connect = commands.add_parser("connect", help="join one LiveKit room, and stay until the call is over")
    files = commands.add_parser("download-files", help="fetch and prepare the models ahead of the first call")
    _add_sound(console)
    chaos = commands.add_parser("chaos", help="try an agent's tools in calls where everything goes wrong")
    for command in (console, dev, call, start, dial, connect, files, chaos):
        if with_file:
            add_agent_file(command)
        add_chaos(command) if command is chaos else _add_models(command)
    for command in (console, dev, call, turn, start, dial, connect):
        add_store(command)
    for command in (console, dev, call, start, dial, connect):
        add_telemetry(command)
    for command in (console, call):
        command.add_argument(
            "--resume", metavar="CALL", help="go on with a call whose process has ended: antiphon calls"
        )
    _add_models(turn)
    _add_turn(turn, with_file=with_file)
    _add_place(dev)
    add_production(start)
    add_dial(dial)
    connect.add_argument("--room", required=True, metavar="NAME", help="the room; it is made where there is none")
    _add_turns(call)
    if with_file:
        demo = commands.add_parser("demo", help="a call to the example receptionist, from recordings")
        _add_models(demo)
        add_store(demo)
        _add_files(demo)
        demo.set_defaults(out=Path("out/demo.wav"), report=Path("out/demo.html"))
        add_lint(commands.add_parser("lint", help="what of an agent's instructions and tools will go wrong in calls"))
        add_eval(commands.add_parser("eval", help="how often an agent does what cases expect"))
        add_simulate(commands.add_parser("simulate", help="callers by script or played by a model, many at once"))
        add_calls(commands.add_parser("calls", help="what became of calls, and of what their tools did"))
        add_studio(
            commands.add_parser("studio", help="calls in a browser: those that go on, and those that have ended")
        )
        add_report(commands.add_parser("report", help="write the page of a call that has ended, in one file"))
        add_replay(commands.add_parser("replay", help="make a recorded call again with an agent file: where it parts"))
        add_beginning(commands)
    return parser


def _add_turn(turn: argparse.ArgumentParser, *, with_file: bool) -> None:
    """One turn of a call, and whose it is."""
    turn.add_argument("call", metavar="CALL", help='"new", or the id that the answer to it names, or its beginning')
    turn.add_argument("text", metavar="TEXT", help="what the caller says")
    turn.add_argument("--hang-up", action="store_true", help="end the call after the answer")
    turn.add_argument(
        "--wait", type=seconds, default=DEFAULT_WAIT, metavar="SECONDS", help="for tools in the background"
    )
    if with_file:
        turn.add_argument("--file", type=Path, help="the agent file; agent.py of this folder, if left out")
        turn.add_argument("--livekit", action="store_true", help="the file is written for LiveKit Agents")
    turn.set_defaults(json=True)


def _add_turns(call: argparse.ArgumentParser) -> None:
    """What is said to the agent, and what is kept of that."""
    turns = call.add_mutually_exclusive_group(required=True)
    turns.add_argument("--caller", nargs="+", type=Path, metavar="WAV", help="recorded turns, one file each")
    turns.add_argument(
        "--say", nargs="+", metavar="TEXT", help="typed turns: text in, text out; by voice with --out or --barge-in"
    )
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
    for kind in KINDS:
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
            raise SystemExit(tell(error, debug=False)) from None
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
    add_address(parser, default_port=8080)
    parser.add_argument("--no-reload", action="store_true", help="do not load the agent file anew when it is saved")
    parser.add_argument("--max-calls", type=number, default=20, metavar="N", help="calls at the same time")
    parser.add_argument("--calls", type=Path, metavar="FOLDER", help="keep recordings and reports here")


def _add_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, metavar="WAV", help="write a stereo recording, caller left, agent right")
    parser.add_argument("--report", type=Path, metavar="HTML", help="write a page with the whole call")
