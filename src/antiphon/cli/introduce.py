"""The first lines of a command: which models answer, which others could, and what tools promise.

Above: the commands that hold calls. Below: the session, once it runs, and the screen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from antiphon.calls.offers import is_stand_in, offers
from antiphon.calls.start import describe_models
from antiphon.cli.screen import Screen
from antiphon.protocols import ModelKind
from antiphon.session import AgentSession


async def introduce(session: AgentSession[Any], screen: Screen, *kinds: ModelKind, more: str = "") -> str:
    """Say what answers. Returns the models in words."""
    ran_with = describe_models(session, *kinds)
    screen.notice(f"Running with {ran_with}.{more}")
    if is_stand_in(session.current_agent.llm):
        await _offer(screen)
    screen.promises(session)
    return ran_with


async def announce(named: Mapping[ModelKind, str], screen: Screen) -> None:
    """The same of a command that has no call yet."""
    if "llm" in named:
        screen.notice(f"Language model: {one_named(named['llm'])}, in all calls.")
        return
    screen.notice("Language model: the agent file's. Where it has none, a dialogue engine answers, which is none.")
    await _offer(screen)


def one_named(name: str) -> str:
    """A model as the command line names it, for people."""
    return "the dialogue engine of this machine" if name == "local" else name


async def _offer(screen: Screen) -> None:
    for line in await offers():
        screen.notice(f"{line}, or ANTIPHON_LLM in .env")
