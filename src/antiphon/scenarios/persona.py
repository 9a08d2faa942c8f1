"""Callers played by a language model: it is told who they are, what they know and what they never say.

Above: calls. Below: the caller's end of the line, and the model that the user names.
"""

from __future__ import annotations

import re

from antiphon.chat import ChatContext
from antiphon.llm import LLM
from antiphon.scenarios.definition import Script
from antiphon.scenarios.on_the_line import CallerGaveUp, OnTheLine
from antiphon.scenarios.script import HELLO, moments_of, nobody_answered

_MOST_TRIES = 3
"""Answers that a model may give, until one says nothing that must not be said."""
_BRACKETS = re.compile(r"\[([^\]]*)\]")


async def play(script: Script, line: OnTheLine, model: LLM) -> None:
    """Play the persona of a script until the call is over for them. Raises `CallerGaveUp`."""
    talk = ChatContext()
    talk.add_message(role="system", content=instructions(script))
    unanswered = 0
    async with moments_of(script, line):
        for _ in range(script.max_turns):
            await line.listens()
            if not line.is_open:
                return
            if line.silent_for >= script.patience and line.last_said:
                unanswered += 1
                if unanswered > 1:
                    raise nobody_answered(line)
                await line.says(HELLO)
                continue
            unanswered = 0
            talk.add_message(role="user", content=line.heard or "(the line is open)")
            said = await _answer(script, talk, model)
            talk.add_message(role="assistant", content=said)
            await line.waits(line.rng.uniform(*sorted(script.reaction)))
            await _perform(said, line)
        if line.is_open:
            raise CallerGaveUp(f"the call was not over after {script.max_turns} turns of the caller (max_turns)")


def instructions(script: Script) -> str:
    """What the model is told."""
    told = [
        "You are a caller on the telephone, and the user is whoever answers. You want something from them; you do not"
        " help them. Speak as people speak on the telephone: one or two short sentences, in the language of whoever"
        " answers, no markup, no stage directions. Say nothing of being a model.",
        f"Who you are and what you want: {script.persona}",
    ]
    if script.knows:
        facts = {pattern: [words for act in acts for words in act.all_words] for pattern, acts in script.knows.items()}
        known = "; ".join(f"{pattern}: {' / '.join(words)}" for pattern, words in facts.items())
        told.append(f"What you know, by what you may be asked: {known}. What you do not know you do not make up.")
    if script.never_says:
        told.append(f"Never say anything that fits one of these regular expressions: {'; '.join(script.never_says)}")
    told.append(
        "When you have what you wanted, or see that you will not get it, say goodbye and write [hang up] behind it."
        " To press keys of the telephone write [keys 123]."
    )
    return "\n\n".join(told)


async def _answer(script: Script, talk: ChatContext, model: LLM) -> str:
    """What the model says that the caller may say."""
    for _ in range(_MOST_TRIES):
        said = (await model.chat(chat_ctx=talk).collect()).text.strip()
        if said and not any(re.search(pattern, said, re.IGNORECASE) for pattern in script.never_says):
            return said
    return script.otherwise


async def _perform(said: str, line: OnTheLine) -> None:
    commands = [command.strip().casefold() for command in _BRACKETS.findall(said)]
    words = " ".join(_BRACKETS.sub(" ", said).split())
    if any(map(str.isalnum, words)):
        await line.says(words)
    for command in commands:
        if command.startswith("keys"):
            await line.presses(re.sub(r"[^0-9*#]", "", command))
    if any("hang up" in command for command in commands):
        await line.listens()
        line.hangs_up()
