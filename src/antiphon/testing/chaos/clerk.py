"""An honest model: it does what was asked for and not done yet, as far as a request shows it, and tells what is untold.

It knows nothing of faults, and nothing of what really happened. Calls that nobody wished for are not its own: they come
of the faults of its provider (`FaultyLLM`).

Above: a call with faults. Below: requests, and what the session writes into them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from antiphon.chat import ChatMessage, FunctionCall, FunctionCallOutput
from antiphon.llm import ChatRequest
from antiphon.testing.chaos.errand import Errand, Key, Wish, heard, key_of
from antiphon.testing.fakes import Reply

ASKS: Final = "Shall I do it once more?"
"""What it says where a call was not started, as it is not known that the caller wants another."""
OUTCOME: Final = re.compile(r"\b(?:receipt|refusal|doubt)\d+\b")
"""A word by which what came of something is told."""
_MOST_FAILURES = 3
_LISTED = re.compile(r"^\d+\. ", re.MULTILINE)


@dataclass(slots=True)
class Account:
    """What a request shows of the calls that do one thing."""

    wishes: list[int] = field(default_factory=list)
    """The places of the wishes among all of the errand."""
    starts: int = 0
    """As many as there were at least, those that failed left out."""
    failures: int = 0
    """Since the caller's last words."""
    running: set[str] = field(default_factory=set)
    """Ids of calls whose outcome is still to come."""
    is_unknown: bool = False
    is_refused: bool = False
    """Since the caller's last words: it is not known that they want another."""

    @property
    def is_open(self) -> bool:
        """There is more to be done."""
        return not self.is_unknown and len(self.wishes) > self.starts

    @property
    def may_be_tried(self) -> bool:
        """It did not fail too often since the caller's last words."""
        return self.failures < _MOST_FAILURES

    def wished(self, place: int) -> None:
        """The caller asked for it."""
        self.wishes.append(place)

    def caller_spoke(self) -> None:
        """They may want another, and what failed may be tried again."""
        self.is_refused = False
        self.failures = 0

    def works(self, call_id: str, *, is_new: bool) -> None:
        """A call of it works in the background."""
        self.starts += is_new
        self.running.add(call_id)

    def refused(self, starts: int, *, is_unknown: bool) -> None:
        """A call of it was not started, as there were so many before."""
        self.starts = max(self.starts, starts)
        self.is_refused = True
        self.is_unknown = self.is_unknown or is_unknown

    def ended(self, call_id: str, *, is_new: bool, failed: bool, is_unknown: bool) -> None:
        """It is told what came of a call of it, or that nobody knows. `is_new`: nothing was told of it before."""
        self.running.discard(call_id)
        self.is_unknown = is_unknown
        self.failures += failed
        self.starts += is_new and not failed
        self.starts -= failed and not is_new


class View:
    """What a request shows."""

    def __init__(self, errand: Errand, request: ChatRequest) -> None:
        self.accounts: dict[Key, Account] = {}
        self.wanted: list[Wish] = []
        """In order."""
        self.news: dict[str, None] = {}
        """Outcomes that it shows, in order."""
        self.told: set[str] = set()
        self._places = [wish.key for wish in errand.wishes]
        self._made: dict[str, Key] = {}
        self._turns: set[int] = set()
        for item in request.chat_ctx.items:
            match item:
                case ChatMessage(role="user"):
                    self._caller_said(errand, item.text_content or "")
                case ChatMessage(role="assistant"):
                    self.told.update(OUTCOME.findall(item.text_content or ""))
                case FunctionCall():
                    self._made[item.call_id] = key_of(item.name, json.loads(item.arguments or "{}"))
                case FunctionCallOutput():
                    self._came_of(item)
                case _:
                    pass

    def account(self, key: Key) -> Account:
        """Of what this key does."""
        return self.accounts.setdefault(key, Account())

    def _caller_said(self, errand: Errand, words: str) -> None:
        for account in self.accounts.values():
            account.caller_spoke()
        for turn in heard(words):
            if turn in self._turns or not 1 <= turn <= len(errand.turns):
                continue
            self._turns.add(turn)
            before = sum(map(len, errand.turns[: turn - 1]))
            for at, wish in enumerate(errand.turns[turn - 1]):
                self.wanted.append(wish)
                self.account(wish.key).wished(before + at)

    def _came_of(self, item: FunctionCallOutput) -> None:
        call_id, _, part = item.call_id.partition("/")
        key = self._made.get(call_id) or self._made.get(item.call_id)
        if key is None:
            return
        account, output = self.account(key), item.output
        if "not started again" in output:
            self._was_refused(account, key, output)
        elif part.startswith("update") or "is still running" in output:
            account.works(call_id, is_new=not part)
        else:
            unknown = "unknown whether" in output
            failed = not unknown and (item.is_error or "it failed" in output or "was not run" in output)
            account.ended(call_id, is_new=not part, failed=failed, is_unknown=unknown)
            if unknown:
                self._note([self._doubt(key)])
        self._note(OUTCOME.findall(output))

    def _was_refused(self, account: Account, key: Key, output: str) -> None:
        lines = [line for line in output.splitlines() if _LISTED.match(line)]
        account.refused(max(1, len(lines)), is_unknown=any("unknown whether" in line for line in lines))
        for line in lines:
            outcomes = OUTCOME.findall(line)
            if "unknown whether" in line:
                outcomes.append(self._doubt(key))
            self._note(outcomes)
            if "the user was told" in line:
                self.told.update(outcomes)

    def _doubt(self, key: Key) -> str:
        """The word for what may have happened."""
        places = self.accounts[key].wishes
        return f"doubt{places[0] if places else self._places.index(key)}"

    def _note(self, outcomes: Iterable[str]) -> None:
        self.news |= dict.fromkeys(outcomes)


class Clerk:
    """Answers requests: the script of a `FakeLLM`.

    `at_once`: the calls of a turn are in one response, else each waits for what came of the one before.
    """

    def __init__(self, errand: Errand, *, at_once: bool = False) -> None:
        self._errand = errand
        self._at_once = at_once

    def __call__(self, request: ChatRequest) -> Reply:
        view = View(self._errand, request)
        may_call = bool(request.tools) and request.tool_choice != "none"
        calls, asks = self._calls(view) if may_call else ([], False)
        if calls:
            return Reply(calls=[(wish.tool, wish.arguments) for wish in calls])
        news = [outcome for outcome in view.news if outcome not in view.told]
        text = f"Here is {' and '.join(news)}." if news else "Fine."
        return Reply(f"{text} {ASKS}" if asks else text)

    def _calls(self, view: View) -> tuple[list[Wish], bool]:
        """What is to be called now, and whether the caller is to be asked."""
        calls: list[Wish] = []
        planned: dict[Key, int] = {}
        places: Counter[Key] = Counter()
        for wish in view.wanted:
            account = view.account(wish.key)
            place = places[wish.key]
            places[wish.key] += 1
            if account.running:
                return calls, False
            missing = len(account.wishes) - account.starts - planned.get(wish.key, 0)
            if not account.is_open or missing <= 0 or place < account.starts:
                continue  # of equal wishes, those that come first are done first
            if not account.may_be_tried:
                return calls, False  # what comes after it may need it
            if account.is_refused:
                return calls, not calls
            calls.append(wish)
            planned[wish.key] = planned.get(wish.key, 0) + 1
            if not self._at_once:
                break
        return calls, False

    def is_open(self, request: ChatRequest) -> bool:
        """Something that was asked for is not done, as far as this shows it."""
        view = View(self._errand, request)
        return any(account.is_open or account.running for account in view.accounts.values())
