"""Options of several commands, and what is written behind them: a value, or an error that says what was expected.

Above: the parsers of commands. Below: nothing.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from antiphon.lint.description import PROVIDERS

TOKEN = (
    "what a caller must know; by default ANTIPHONTOKEN of the environment, which no list of processes shows, or a new"
    " one, and none on this machine alone"
)


def barge_in(text: str) -> tuple[int, float]:
    """N@SECONDS: a turn, and a delay."""
    first, _, second = text.partition("@")
    try:
        turn, delay = int(first), float(second)
    except ValueError:
        turn, delay = 0, 0.0
    if turn < 1 or not 0 <= delay < 3600:
        raise argparse.ArgumentTypeError(f"expected N@SECONDS, for example 2@1.5, got {text!r}")
    return turn, delay


def seconds(text: str, most: int = 3600) -> float:
    """So many seconds, less than `most`."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < most:
        raise argparse.ArgumentTypeError(f"expected seconds, 0 to {most}, got {text!r}")
    return found


def seconds_of_day(text: str) -> float:
    """So many seconds, less than a day."""
    return seconds(text, 86_400)


def port(text: str) -> int:
    """A port, or 0 for any."""
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"expected a port, 0 to 65535, got {text!r}")
    return int(text)


def count(text: str) -> int:
    """A number from 0 on."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a number, got {text!r}")
    return int(text)


def number(text: str) -> int:
    """A number from 1 on."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 1 on, got {text!r}")
    return int(text)


def share(text: str) -> float:
    """A number from 0 to 1."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 1:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 1, got {text!r}")
    return found


def add_beginning(commands: argparse._SubParsersAction[Any]) -> None:
    """The commands with which one begins: `antiphon init` and `antiphon doctor`."""
    init = commands.add_parser("init", help="make a folder with an agent, its test, and what runs it elsewhere")
    init.add_argument("folder", type=Path, metavar="NAME", help="the folder, which must be new or empty")
    doctor = commands.add_parser("doctor", help="what is there (packages, models, devices, keys, servers), what to do")
    doctor.add_argument("--json", action="store_true", help="as JSON on standard output")
    doctor.add_argument(
        "--live",
        action="store_true",
        help="ask the models that can be used, and say whether they keep their promises; it costs what they cost",
    )
    for kind in ("llm", "stt", "tts"):
        doctor.add_argument(
            f"--{kind}", metavar="NAME", help=f"with --live: ask this {kind.upper()}, and only what is named"
        )
    for command in (init, doctor):
        command.add_argument("--debug", action="store_true", help="show tracebacks and logs")


def _add_telephone(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    carriers = "twilio or telnyx" if default is None else "twilio, the default, or telnyx"
    parser.add_argument(
        "--telephone",
        metavar="CARRIER",
        default=default,
        help=f"the carrier of calls by telephone: {carriers}",
    )
    parser.add_argument(
        "--public-url", default="", metavar="URL", help="where the carrier finds this server: https://example.com"
    )
    parser.add_argument(
        "--telephone-unsigned",
        action="store_true",
        help="believe whoever says that it is the carrier: for trials",
    )


def add_dial(parser: argparse.ArgumentParser) -> None:
    """The options of `antiphon dial`."""
    parser.add_argument("number", metavar="NUMBER", help="whom to call: +15550123456")
    _add_telephone(parser, "twilio")
    parser.add_argument(
        "--from", dest="from_number", default="", metavar="NUMBER", help="a number of yours; else TWILIO_PHONE_NUMBER"
    )
    parser.add_argument("--agent-name", default="", metavar="NAME", help="which entrypoint, if there are several")
    parser.add_argument("--metadata", default="", metavar="TEXT", help="what the job is told, 400 characters at most")
    parser.add_argument(
        "--ring-timeout", type=seconds, default=30.0, metavar="SECONDS", help="it rings so long (default: %(default)g)"
    )
    parser.add_argument("--key", default="", metavar="TEXT", help="dialled once for one key, however often it is asked")
    parser.add_argument("--host", default="127.0.0.1", help="address to serve the carrier at")
    parser.add_argument("--port", type=port, default=8080, help="port to serve the carrier at (default: %(default)s)")
    parser.add_argument("--calls", type=Path, metavar="FOLDER", help="keep recording and report here")
    parser.add_argument("--max-duration", type=seconds_of_day, default=3600.0, metavar="SECONDS", help="of the call")
    parser.add_argument("--json", action="store_true", help="print what came of it as JSON, all else elsewhere")


def add_production(parser: argparse.ArgumentParser) -> None:
    """The options of `antiphon start`."""
    parser.add_argument("--host", default="127.0.0.1", help="address to serve at; 0.0.0.0 is all of this machine's")
    parser.add_argument(
        "--port",
        type=port,
        help="where the page is; by default PORT of the environment; without either there is a page, at 8080, only"
        " where no LiveKit server is named",
    )
    parser.add_argument("--token", metavar="TEXT", help=TOKEN)
    parser.add_argument("--tls", action="store_true", help="serve https, with a certificate of its own making")
    parser.add_argument("--tls-cert", type=Path, metavar="PEM", help="serve https with this certificate")
    parser.add_argument("--tls-key", type=Path, metavar="PEM", help="the key of --tls-cert")
    _add_telephone(parser)
    parser.add_argument("--calls", type=Path, metavar="FOLDER", help="keep recordings and reports of calls here")
    parser.add_argument(
        "--workers",
        type=count,
        metavar="N",
        help="processes that hold calls: by default one with local models, else one for each core; 0: no supervisor",
    )
    parser.add_argument("--max-calls", type=number, default=1000, metavar="N", help="calls at a time, in each worker")
    parser.add_argument(
        "--max-calls-per-client", type=number, metavar="N", help="of pages: calls at a time of one address, per worker"
    )
    parser.add_argument(
        "--max-duration", type=seconds_of_day, default=3600.0, metavar="SECONDS", help="of a call from a page"
    )
    parser.add_argument(
        "--drain",
        type=seconds_of_day,
        metavar="SECONDS",
        help="when told to stop: so long for the calls that are on; by default what the file says, or 1800",
    )
    parser.add_argument(
        "--stall-limit",
        type=seconds_of_day,
        default=30.0,
        metavar="SECONDS",
        help="a worker stuck so long is replaced",
    )
    parser.add_argument("--memory-limit", type=number, metavar="MB", help="a worker that holds more is replaced")
    parser.add_argument(
        "--health-port", type=port, metavar="PORT", help="where /healthz, /readyz and /metrics are; 8081 if it is free"
    )
    parser.add_argument("--log-format", choices=("text", "json"), default="text", help="json: an object for each line")
    parser.add_argument(
        "--log-level", metavar="LEVEL", help="debug, info, warning, error; by default ANTIPHON_LOG_LEVEL, or info"
    )


def add_store(parser: argparse.ArgumentParser) -> None:
    """Where a command that holds calls keeps them."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--store",
        metavar="URL",
        help="keep calls here: a path, sqlite:///path, postgresql://...; by default .antiphon/calls.db beside the file",
    )
    where.add_argument("--no-store", action="store_true", help="keep calls in the memory of this process alone")
    records = parser.add_mutually_exclusive_group()
    records.add_argument(
        "--records",
        metavar="PLACE",
        help="make a record of each call that has ended: a folder, or a URL that fsspec knows",
    )
    records.add_argument("--no-records", action="store_true", help="make none, whatever the agent file says")
    parser.add_argument("--record-audio", action="store_true", help="keep the sound in records, too")
    parser.add_argument(
        "--record-webhook",
        metavar="URL",
        help="tell this address of each record, signed with ANTIPHON_WEBHOOK_SECRET of the environment",
    )


def add_telemetry(parser: argparse.ArgumentParser) -> None:
    """Whether the calls of a command are told to a collector."""
    parser.add_argument(
        "--otlp",
        nargs="?",
        const="",
        metavar="URL",
        help="tell an OpenTelemetry collector of each call: its address (http://127.0.0.1:4318), or as OTEL_* says",
    )
    parser.add_argument(
        "--otlp-content", action="store_true", help="with what is said, and what tools are called with and give"
    )
    parser.add_argument("--otlp-prices", type=Path, metavar="FILE", help="with what tokens cost: docs/telemetry.md")


def add_chaos(parser: argparse.ArgumentParser) -> None:
    """The options of `antiphon chaos`."""
    parser.add_argument("--calls", type=number, default=400, metavar="N", help="calls to make (default: %(default)s)")
    parser.add_argument("--seed", default="1", metavar="TEXT", help="which faults come where (default: %(default)s)")
    parser.add_argument(
        "--dialogue",
        type=Path,
        metavar="FILE",
        help='what the caller wants done, as JSON: [[["book", {"day": "Friday"}]]], a list for a turn',
    )
    parser.add_argument("--journals", type=Path, metavar="FOLDER", help="keep the journals of what goes wrong")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON, all else elsewhere")
    parser.add_argument("--debug", action="store_true", help="show tracebacks and logs")


def add_agent_file(parser: argparse.ArgumentParser) -> None:
    """The agent file of a command, and how it is written."""
    parser.add_argument("file", type=Path, nargs="?", help="the agent file; agent.py of this folder, if left out")
    parser.add_argument("--livekit", action="store_true", help="the file is written for LiveKit Agents")


def add_lint(parser: argparse.ArgumentParser) -> None:
    """The options of `antiphon lint`."""
    add_agent_file(parser)
    parser.add_argument(
        "--for",
        action="append",
        default=[],
        dest="providers",
        choices=PROVIDERS,
        help="say what this provider refuses of the tools' schemas; may be given again",
    )
    parser.add_argument(
        "--ignore", action="append", default=[], metavar="RULE", help="leave a rule out; may be given again"
    )
    parser.add_argument("--strict", action="store_true", help="end with 1 for advice, too")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON, all else elsewhere")
    parser.add_argument("--debug", action="store_true", help="show tracebacks and logs")


def add_eval(parser: argparse.ArgumentParser) -> None:
    """The options of `antiphon eval`."""
    parser.add_argument("cases", type=Path, metavar="CASES", help="a file of cases, in YAML: docs/evaluation.md")
    parser.add_argument(
        "agent", type=Path, nargs="?", help="the agent file; that which the cases name, or agent.py, if left out"
    )
    parser.add_argument("--livekit", action="store_true", help="the file is written for LiveKit Agents")
    parser.add_argument("--beside", type=Path, metavar="FILE", help="another version, to be compared with")
    parser.add_argument("--llm", metavar="NAME", help='the language model: "local", a vendor, or vendor/model')
    parser.add_argument(
        "--strict-models",
        action="store_true",
        help="fail where the file's model cannot be used, instead of a local one",
    )
    parser.add_argument("--judge", metavar="NAME", help="the language model that judges intents")
    parser.add_argument("--repeats", type=number, metavar="N", help="calls of each case, whatever it says")
    parser.add_argument("--at-once", type=number, default=4, metavar="N", help="calls at a time (default: %(default)s)")
    parser.add_argument(
        "--at-least", type=share, metavar="SHARE", help="of each case's calls have to pass: 0 to 1 (default: 1)"
    )
    parser.add_argument(
        "--sure",
        type=share,
        default=0.95,
        metavar="SHARE",
        help="with --beside: worse with this probability ends with 1 (default: %(default)s)",
    )
    parser.add_argument("--real-time", action="store_true", help="with local models, too: for tools on a network")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write JUnit's XML")
    parser.add_argument("--json", action="store_true", help="print what came of it as JSON, all else elsewhere")
    parser.add_argument("--debug", action="store_true", help="show tracebacks and logs")


def add_simulate(parser: argparse.ArgumentParser) -> None:
    """The options of `antiphon simulate`."""
    parser.add_argument("agent", type=Path, metavar="AGENT", help="the agent file")
    parser.add_argument(
        "scenarios",
        type=Path,
        nargs="+",
        metavar="SCENARIOS",
        help="files and folders of scenarios, in YAML or Python: docs/simulation.md",
    )
    parser.add_argument("--livekit", action="store_true", help="the file is written for LiveKit Agents")
    medium = parser.add_mutually_exclusive_group()
    medium.add_argument("--text", action="store_true", help="typed, without sound")
    medium.add_argument("--voice", action="store_true", help="real voices and the real recogniser of this machine")
    parser.add_argument("--llm", metavar="NAME", help='the agent\'s language model: "local", a vendor, or vendor/model')
    parser.add_argument("--caller-llm", metavar="NAME", help="the language model that plays callers with a persona")
    parser.add_argument(
        "--strict-models",
        action="store_true",
        help="fail where the file's model cannot be used, instead of a local one",
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help='scenarios of this name; "book*"; may be given again',
    )
    parser.add_argument(
        "--seed", type=int, default=1, metavar="N", help="of each scenario's first call (default: %(default)s)"
    )
    parser.add_argument(
        "--repeat", type=number, default=1, metavar="N", help="calls of each scenario, with seeds N, N+1, ..."
    )
    parser.add_argument("--jobs", type=number, metavar="N", help="processes (default: one for each processor)")
    parser.add_argument(
        "--at-least",
        type=share,
        default=1.0,
        metavar="SHARE",
        help="of each scenario's calls have to pass: 0 to 1 (default: 1)",
    )
    parser.add_argument(
        "--clock",
        choices=("auto", "virtual", "real"),
        default="auto",
        help="whose time calls take; auto is virtual unless a model is behind a network",
    )
    parser.add_argument(
        "--reports",
        type=Path,
        default=Path("out/simulation"),
        metavar="FOLDER",
        help="a page for each scenario that fails (default: %(default)s)",
    )
    parser.add_argument("--no-reports", action="store_true", help="write no pages")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write JUnit's XML")
    parser.add_argument("--json", action="store_true", help="print what came of it as JSON, all else elsewhere")
    parser.add_argument("--debug", action="store_true", help="show tracebacks and logs")


def add_calls(parser: argparse.ArgumentParser) -> None:
    """The options of `antiphon calls`."""
    parser.add_argument("--store", metavar="URL", help="where they are kept; by default .antiphon/calls.db")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--debug", action="store_true", help="show tracebacks and logs")
    parser.add_argument("--unknown", action="store_true", help="what tools may have done, and nobody knows")
    parser.add_argument(
        "--reconcile",
        type=Path,
        metavar="FILE",
        help="with --unknown: ask the backends, by the tools of this agent file",
    )
    parser.add_argument("--most", type=number, default=50, metavar="N", help="so many (default: %(default)s)")
    _add_search(parser)
    parser.set_defaults(action="list")
    actions = parser.add_subparsers(metavar="action")
    show = actions.add_parser("show", help="one call: what was said, what each tool did, and what should be mended")
    show.add_argument("id", metavar="ID", help="of a call, or its beginning")
    show.set_defaults(action="show")
    resolve = actions.add_parser("resolve", help="say what came of something that nobody knew")
    resolve.add_argument("id", metavar="ID", help="of what --unknown lists, or its beginning")
    outcome = resolve.add_mutually_exclusive_group(required=True)
    outcome.add_argument("--happened", action="store_true", help="it was done")
    outcome.add_argument("--did-not", action="store_true", help="it was not done")
    resolve.add_argument("--output", default="", metavar="TEXT", help="what came of it, for the model")
    resolve.set_defaults(action="resolve")
    erase = actions.add_parser("erase", help="erase a call, or all of a caller, for good")
    whose = erase.add_mutually_exclusive_group(required=True)
    whose.add_argument("id", nargs="?", metavar="ID", help="of a call, as a whole")
    whose.add_argument("--caller", metavar="WHO", help="as the application identified them")
    erase.set_defaults(action="erase")
    prune = actions.add_parser("prune", help="erase all calls of which nothing was written for a while")
    prune.add_argument("--days", type=float, required=True, metavar="N", help="for so long")
    prune.add_argument("--unknown", action="store_true", help="also where nobody knows what their tools did")
    prune.set_defaults(action="prune")
    deliveries = actions.add_parser("deliveries", help="what the webhook was told, and what waits")
    deliveries.set_defaults(action="deliveries")
    for action in (show, resolve, erase, prune, deliveries):
        for name in ("--store", "--records", "--json", "--debug"):
            has_value = name in ("--store", "--records")
            flag: dict[str, Any] = {"metavar": "PLACE"} if has_value else {"action": "store_true"}
            action.add_argument(name, default=argparse.SUPPRESS, help=argparse.SUPPRESS, **flag)


def _add_search(parser: argparse.ArgumentParser) -> None:
    """What of records is looked for. Each that is given must be so."""
    parser.add_argument("--records", metavar="PLACE", help="where records are; by default beside the store")
    parser.add_argument("--agent", metavar="ID", help="calls that this agent took part in")
    parser.add_argument("--caller", metavar="WHO", help="calls of this caller, as the application identified them")
    parser.add_argument("--tool", metavar="NAME", help="calls in which this tool was called")
    parser.add_argument(
        "--outcome",
        metavar="STATUS",
        help="... and a call of it was: done, error, unknown, refused, dropped, cancelled",
    )
    parser.add_argument("--error", nargs="?", const="", metavar="WORDS", help="calls in which something failed")
    parser.add_argument("--said", metavar="WORDS", help="calls in which these words were said, in any order")
    parser.add_argument("--since", metavar="WHEN", help="calls that began then or later: 2026-03-31, 2h, 3d")
    parser.add_argument("--until", metavar="WHEN", help="calls that began before")
    parser.add_argument("--slower", type=seconds, metavar="SECONDS", help="calls with a reply that took so long")
    parser.add_argument("--cut", action="store_true", help="calls in which the caller cut a reply")
    parser.add_argument(
        "--finding", nargs="?", const="", metavar="WHAT", help="calls in which something is to be mended, or just this"
    )


def add_address(parser: argparse.ArgumentParser, *, default_port: int) -> None:
    """Where something is served, and to whom."""
    parser.add_argument("--host", default="127.0.0.1", help="address to serve at; 0.0.0.0 is all of this machine's")
    parser.add_argument("--port", type=port, default=default_port, help="0 is any that is free (default: %(default)s)")
    parser.add_argument("--token", metavar="TEXT", help=TOKEN)
    parser.add_argument("--tls", action="store_true", help="serve https, with a certificate of its own making")
    parser.add_argument("--tls-cert", type=Path, metavar="PEM", help="serve https with this certificate")
    parser.add_argument("--tls-key", type=Path, metavar="PEM", help="the key of --tls-cert")


def add_studio(parser: argparse.ArgumentParser) -> None:
    """The options of `antiphon studio`."""
    parser.add_argument("--records", metavar="PLACE", help="where records are; by default .antiphon/records")
    parser.add_argument("--store", metavar="URL", help="where calls that go on are kept; by default .antiphon/calls.db")
    add_address(parser, default_port=8090)
    parser.add_argument("--debug", action="store_true", help="show tracebacks and logs")


def add_report(parser: argparse.ArgumentParser) -> None:
    """The options of `antiphon report`."""
    parser.add_argument("id", metavar="ID", help="of a call, or its beginning; or the path of a record")
    parser.add_argument("--out", type=Path, metavar="HTML", help="where to; by default a file in this folder")
    parser.add_argument("--no-sound", action="store_true", help="leave the recording out")
    parser.add_argument("--records", metavar="PLACE", help="where records are; by default .antiphon/records")
    parser.add_argument("--debug", action="store_true", help="show tracebacks and logs")


def add_replay(parser: argparse.ArgumentParser) -> None:
    """The options of `antiphon replay`."""
    parser.add_argument("id", metavar="ID", help="of a call that has ended, or its beginning; or the path of a record")
    parser.add_argument(
        "agent_file", type=Path, nargs="?", metavar="AGENT", help="the agent file; the call's own, if left out"
    )
    parser.add_argument("--agent", type=Path, metavar="FILE", help="another version of it, to be called instead")
    parser.add_argument("--records", metavar="PLACE", help="where records are; by default .antiphon/records")
    parser.add_argument("--livekit", action="store_true", help="the file is written for LiveKit Agents")
    models = parser.add_mutually_exclusive_group()
    models.add_argument(
        "--llm", metavar="NAME", help='what answers requests that are not recorded: "local", vendor/model'
    )
    models.add_argument("--no-llm", action="store_true", help="end at the first request that is not recorded")
    parser.add_argument(
        "--strict-models",
        action="store_true",
        help="fail where the file's model cannot be used, instead of a local one",
    )
    parser.add_argument("--run-tools", action="store_true", help="run all tools for real, instead of their recordings")
    parser.add_argument(
        "--run-tool", action="append", default=[], metavar="NAME", help='run this one for real; "get_*"; again for more'
    )
    parser.add_argument("--to-test", type=Path, metavar="FILE", help="write a test of the call, for pytest")
    parser.add_argument(
        "--expect",
        action="append",
        default=[],
        metavar="WHAT",
        help="of a test: 'tool book', 'once book', 'says REGEX'",
    )
    parser.add_argument("--expect-not", action="append", default=[], metavar="WHAT", help="what must not be")
    parser.add_argument(
        "--finding",
        type=int,
        action="append",
        default=[],
        metavar="N",
        help="of a test: problem N of the call is mended",
    )
    parser.add_argument("--force", action="store_true", help="overwrite the test")
    parser.add_argument("--json", action="store_true", help="print what came of it as JSON, all else elsewhere")
    parser.add_argument("--debug", action="store_true", help="show tracebacks and logs")
