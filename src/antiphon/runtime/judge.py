"""Asks the application's judge what the caller's reply to a read-back means (`AgentSession(consent_judge=)`).

It has its time (`ConsentOptions.judge_timeout`): the core decides by the words alone where it says nothing by then.
"""

from __future__ import annotations

import logging

from antiphon.core.commands import JudgeReply
from antiphon.core.facts import ReplyJudged
from antiphon.errors import UsageError, pass_on
from antiphon.language.replies import Reply
from antiphon.options import ConsentJudge
from antiphon.runtime.host import Events
from antiphon.runtime.port import Port
from antiphon.timer import within

logger = logging.getLogger("antiphon")


class Judge:
    """Performs `JudgeReply`."""

    def __init__(self, port: Port, events: Events, judge: ConsentJudge | None) -> None:
        self._port = port
        self._events = events
        self._judge = judge

    def ask(self, command: JudgeReply) -> None:
        """Have it judged; it closes with `ReplyJudged`."""
        self._port.spawn(self._ask(command), f"judgement {command.judgement}")

    async def _ask(self, command: JudgeReply) -> None:
        reply = None
        try:
            if self._judge is not None:
                limit = self._port.options.consent.judge_timeout
                async with within(limit):
                    reply = await self._judge(command.words, command.asked)
            if reply is not None and not isinstance(reply, Reply):
                raise UsageError(f"consent_judge: expected a Reply or None, got {reply!r}")
        except TimeoutError:
            logger.warning("consent_judge: no answer in time; the words decide")
        except BaseException as error:
            pass_on(error)
            reply = None
            logger.error("consent_judge raised, and the words decide", exc_info=error)
            self._events.failed(error, "consent_judge")
        self._port.report(ReplyJudged(command.judgement, reply))
