"""`antiphon start`: this process is the supervisor, or one of its workers.

Above: `main.py`. Below: `live`.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon.calls.models import ModelChoice, runs_local_models
from antiphon.cli.arguments import port
from antiphon.cli.introduce import announce
from antiphon.cli.live import CallModels, Serving, supervise, work
from antiphon.cli.logs import leave_out_words, tell_from
from antiphon.cli.screen import Screen
from antiphon.errors import AgentFileError, UsageError
from antiphon.protocols import ModelKind
from antiphon.server.entrypoint import AgentServer
from antiphon.server.log import JsonFormatter, level_from
from antiphon.server.supervisor.child import Limits
from antiphon.server.supervisor.supervised import Supervised

if TYPE_CHECKING:
    from antiphon.console.serve import Place
    from antiphon.server.telephone import Settings

PAGE_PORT = 8080


async def run_start(
    options: argparse.Namespace,
    server: AgentServer | None,
    *,
    named: Mapping[ModelKind, str],
    load: Callable[[Path], AgentServer],
) -> None:
    """Run the command. `named` are the models of the command line; `load` loads the agent file."""
    screen = Screen()
    file = Path(sys.argv[0]) if server is not None else options.file
    serving = Serving(
        _place(options, server),
        file,
        max_calls=options.max_calls,
        max_per_client=options.max_calls_per_client,
        max_duration=options.max_duration,
        folder=options.calls,
        drain=options.drain,
        telephone=_telephone(options),
    )
    supervised = Supervised.from_environment()
    if supervised is None:
        await announce(named, screen)
    if supervised is None and options.workers != 0:
        set_up_log(options, None)
        if server is None and not file.is_file():
            raise AgentFileError(f"no such agent file: {file}. Give the path of a Python file.")
        await supervise(
            serving,
            options.workers or (1 if runs_local_models(named) else os.cpu_count() or 1),
            limits=Limits(stall=options.stall_limit, memory=options.memory_limit),
            host=options.host,
            health_port=options.health_port,
            screen=screen,
        )
        return
    server = server or load(file)
    set_up_log(options, server.log_level)
    voice, text = (
        ModelChoice(named=named, strict=options.strict_models, voice=voice, notice=screen.notice)
        for voice in (True, False)
    )
    await work(server, serving, models=CallModels(voice, text), screen=screen, supervised=supervised)


def _place(options: argparse.Namespace, server: AgentServer | None) -> Place | None:
    """Where the page is, if there is one: where it is asked for, or there is nothing else."""
    wanted = options.port
    if wanted is None and (told := os.environ.get("PORT")):
        try:
            wanted = port(told)
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"PORT of the environment: {error}.") from None
    elsewhere = os.environ.get("LIVEKIT_URL") or (server is not None and server.ws_url)
    if wanted is None and elsewhere and not options.telephone:
        return None
    from antiphon.console.serve import Place  # a worker of LiveKit's alone needs no server of pages
    from antiphon.console.tls import given_certificate

    return Place(
        options.host,
        PAGE_PORT if wanted is None else wanted,
        token=options.token or os.environ.get("ANTIPHON_TOKEN"),
        tls=options.tls,
        certificate=given_certificate(options.tls_cert, options.tls_key),
    )


def _telephone(options: argparse.Namespace) -> Settings | None:
    """The carrier whose calls are answered. Raises `UsageError` where its account is not known."""
    if not options.telephone:
        return None
    from antiphon.server.telephone import Settings

    return Settings.from_environment(
        options.telephone, os.environ, public_url=options.public_url, unsigned=options.telephone_unsigned
    )


def set_up_log(options: argparse.Namespace, wanted: str | None) -> None:
    """More is told than in a call, and for machines if that is asked for. `wanted`: the level that the file names."""
    logger = logging.getLogger("antiphon")
    if not options.debug:
        level = level_from(options.log_level, wanted) or "info"
        tell_from(level)
        if level != "debug":
            leave_out_words()
    if options.log_format == "json":
        for handler in logger.handlers:
            handler.setFormatter(JsonFormatter())
