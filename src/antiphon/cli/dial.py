"""`antiphon dial`: call a number, have the agent talk to whoever answers, and leave when the call is over.

Above: `main.py`. Below: the page's server, for the carrier asks it what to do with the call.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import os
import sys
from pathlib import Path

from antiphon.calls.models import ModelChoice
from antiphon.cli.introduce import announce
from antiphon.cli.screen import Screen
from antiphon.console.access import Limits
from antiphon.console.calls import Models
from antiphon.console.reload import AgentFile
from antiphon.console.serve import Place, page_server
from antiphon.errors import UsageError
from antiphon.protocols import ModelKind
from antiphon.server.entrypoint import AgentServer
from antiphon.server.process import CommandFailed
from antiphon.server.telephone import DialedCall, Settings
from antiphon.server.telephone.dialed import DialState
from antiphon.visible import one_line, to_json

PATIENCE = 30.0
"""Seconds for the talk to be filed when the line is dead."""


async def run_dial(options: argparse.Namespace, server: AgentServer, named: dict[ModelKind, str]) -> None:
    """Run the command. Raises `CommandFailed` where nobody answered."""
    screen = Screen(to_stderr=options.json)
    settings = Settings.from_environment(
        options.telephone, os.environ, public_url=options.public_url, unsigned=options.telephone_unsigned
    )
    if not settings.public_url:
        raise UsageError("dial: the carrier must know where this command is. Give --public-url https://...")
    voice, text = (
        ModelChoice(named=named, strict=options.strict_models, voice=voice, notice=screen.notice)
        for voice in (True, False)
    )
    await announce(named, screen)
    await asyncio.to_thread(importlib.import_module, "antiphon.transports.mixer")
    await voice.prewarm()  # whoever answers waits for nothing
    await server.set_up()
    file = Path(sys.argv[0]) if options.file is None else options.file
    async with page_server(
        AgentFile(file, server=server),
        Place(options.host, options.port, token=os.environ.get("ANTIPHON_TOKEN")),
        models=Models(voice, text),
        limits=Limits(max_calls=1, max_duration=options.max_duration),
        folder=options.calls,
        reload=False,
        keep=False,
        telephone=settings,
    ) as page:
        call = await server.dial(
            options.number,
            agent_name=options.agent_name,
            metadata=options.metadata,
            from_=options.from_number,
            ring_timeout=options.ring_timeout,
            key=options.key,
        )
        call.on_state(lambda one: screen.notice(_told(one)))
        try:
            await call.over()
            await page.calls.admission.drain(PATIENCE)
        finally:
            if options.json:
                print(to_json(call.to_json()))
    if call.state is not DialState.ENDED:
        raise CommandFailed(1)


def _told(call: DialedCall) -> str:
    """How it stands, in one line."""
    reason = f": {one_line(call.reason)}" if call.reason else ""
    return f"{call.request.to}: {call.state.value}{reason}"
