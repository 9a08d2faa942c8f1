"""What of an agent's talk its requests carry: the last turns as they are, and before them what must not be forgotten.

Above: `context_window`, which says how much fits. Below: history items. The agent's context itself stays whole. Where
what is carried begins moves in steps, so that from one request to the next the beginning is the same.

What stands before the first turn that is carried: system messages; a message that says what is left out, with a summary
if there is one; and calls with their outputs, as they were: of tools that write all of them, of those that only read
none. A result keeps its role, which is what tells a model that it is data, so a summary is made of speech alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from antiphon.chat import SUMMARY_ID, ChatItem, ChatMessage, FunctionCall, FunctionCallOutput, new_id
from antiphon.options import WRITING, Effect
from antiphon.text.tokens import tokens_of
from antiphon.visible import shortened

GOES_ON_ID = "goes_on"
"""How the id of the message begins behind which all is shown that is still to be answered or told."""

_KEPT = 0.4
"""Of the room for talk, what a step leaves. The rest is what the prefix of the requests stays the same for."""
_MOST_KEPT = 0.6
"""The same where the turns to be kept are long."""
_FRAME = 4
"""Tokens that an item takes beside its text."""
_IMAGE = 800
_SHARE_OF_CALLS = 0.15
"""Of what a request may carry, for calls of tools that do not say what they do; for those that write, twice as much
before their outputs are cut."""
_OUTPUTS_KEPT = (600, 150)
"""Characters of a result whose turn is left out; fewer where there are many."""
_OUTPUTS_CARRIED = (8_000, 2_500, 800, 250)
"""Characters of the results in what is carried, where even the caller's last turn is too long."""

_LEFT_OUT = "(Not said by the user: the beginning of this conversation is left out here, because it is long.{})"
_NO_NOTES = " What the user said then you do not see; if you need it, ask them again."
_CALLS = " Of the calls you see those that follow; what they returned the user was told then."
_GOES_ON = "(Not said by the user: here the conversation goes on.)"
"""Behind such calls: what comes of those after it is still to be told."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Notes of what was said up to an item, it included."""

    text: str
    upto: ChatItem
    covers: frozenset[str]
    """Ids of the messages that it was made of."""


class Carried:
    """Of one agent."""

    def __init__(self) -> None:
        self._since: dict[int, ChatItem] = {}
        """By speech that is not over: the first item that it was to answer."""
        self._owed: dict[int, Collection[str]] = {}
        """By speech that is not over: ids of the messages that it answers, and of calls that may still be untold."""
        self._asked: dict[int, Collection[str]] = {}
        """By speech that is not over: ids of what the caller had said when it was asked for first."""
        self._carry_all()

    def _carry_all(self) -> None:
        self.summary: Summary | None = None
        self._start: ChatItem | None = None
        """The first item that is carried as it is. None: all are."""
        self._at = 0
        """Where it was last seen."""
        self._before: list[ChatItem] = []
        """What stands in the place of those before it."""
        self._told = 0
        """How many of these say what was. Behind them stands what is still to be answered or told."""
        self._longest: int | None = None
        """Characters of each result; None: as long as they are."""
        self._counted = 0
        """Items of the context whose tokens are in `_tokens`."""
        self._last: ChatItem | None = None
        self._tokens = 0

    def begins_at(self, context: Sequence[ChatItem]) -> int:
        """The place of the first item that is carried as it is. A context that was given anew is carried whole."""
        if self._start is None:
            return 0
        if self._at >= len(context) or context[self._at] is not self._start:
            self._counted = 0
            at = next((at for at, item in enumerate(context) if item is self._start), None)
            if at is None:
                self._carry_all()
                return 0
            self._at = at
        return self._at

    def tokens(self, context: Sequence[ChatItem]) -> int:
        """About how many tokens are carried."""
        at = 0 if self._start is None else self.begins_at(context)
        if not at < self._counted <= len(context) or context[self._counted - 1] is not self._last:
            self._counted, self._tokens = at, sum(map(item_tokens, self._before))
        if self._counted < len(context):
            # Each is counted once here: it keeps its number only where talk is long, and is counted again.
            self._tokens += sum(map(_tokens, self._recent(context, self._counted)))
            self._counted, self._last = len(context), context[-1]
        return self._tokens

    @property
    def is_whole(self) -> bool:
        """All of the talk is carried as it is."""
        return self._start is None and self._longest is None

    def items(self, context: Sequence[ChatItem]) -> list[ChatItem]:
        """What is carried."""
        return [*self._before, *self._recent(context, self.begins_at(context))]

    def _recent(self, context: Sequence[ChatItem], since: int) -> Sequence[ChatItem]:
        """What is carried of the items from a place on."""
        recent, longest = context[since:], self._longest
        return recent if longest is None else [_with_output_of(item, longest) for item in recent]

    # -- what must not leave

    def asked(self, speech: int, context: Sequence[ChatItem], owed: Collection[str]) -> None:
        """A speech is asked for. Until it is over, what its first request was to answer is carried in each one.

        Much may stand between that and what its tools came to: the talk of an `AgentTask`. `owed`: ids of what the
        speech answers, and of calls of which anything may still have to be told.
        """
        self._owed[speech] = owed
        if context and speech not in self._since:
            at = _unanswered(context, len(context))
            self._since[speech] = context[at]
            self._asked[speech] = [item.id for item in context[at:] if _is_said_by_user(item)]

    def forget(self, speech: int) -> None:
        """It is over."""
        self._since.pop(speech, None)
        self._owed.pop(speech, None)
        self._asked.pop(speech, None)

    @property
    def owed(self) -> set[str]:
        """Ids of all that is still to be answered or told, as far as is known."""
        return set().union(*self._owed.values(), *self._asked.values())

    def take_back(
        self, context: Sequence[ChatItem], open: Sequence[ChatItem], room: int, effect: Callable[[str], Effect]
    ) -> None:
        """What was told when it left may be owed again. `open`: what the request shows beside the context."""
        if self._start is None or not (owed := self.owed):
            return
        at = self.begins_at(context)
        missing = owed.difference(map(_id_of, self._before[self._told :]), map(_id_of, open))
        for place in range(len(context) - 1, -1, -1):  # what is owed stands near the end, as a rule
            if not missing:
                return
            found = _id_of(context[place])
            if found in missing and place < at:
                self._begin(context, at, room, effect)
                return
            missing.discard(found)

    def boundary(self, context: Sequence[ChatItem], room: int, keep_turns: int, most: int | None = None) -> int:
        """The place from which on less than half of what there is room for is carried (`_KEPT`).

        It is the beginning of a turn of the caller; of `keep_turns` at least, as long as these are not too long
        (`_MOST_KEPT`). What is still to be answered or told is carried in any case, unless the talk behind it alone is
        longer than `most`, which is the room if it is not given.
        """
        since, owed = {id(item) for item in self._since.values()}, self.owed
        begin, latest = self.begins_at(context), _unanswered(context, len(context))
        for at, item in enumerate(context[begin:latest], begin):  # what of it has left is carried by itself
            if id(item) in since:
                latest = at
                break
            if _id_of(item) in owed:
                latest = _unanswered(context, at + 1)
                break
        if sum(item_tokens(item) for item in context[latest:] if isinstance(item, ChatMessage)) > (most or room):
            latest = _unanswered(context, len(context))
        return _boundary(context, latest, room, keep_turns)

    # -- steps

    def cut(self, context: Sequence[ChatItem], room: int, keep_turns: int, effect: Callable[[str], Effect]) -> bool:
        """Carry less than half of what there is room for, in tokens. `effect`: what a tool does to the world.

        False if there is nothing that may leave: what is carried is the same as before.
        """
        has_changed = self._cut(context, room, lambda left: self.boundary(context, left, keep_turns, room), effect)
        if self.tokens(context) > room:  # what is still to be answered or told is carried by itself
            latest = _unanswered(context, len(context))
            shorter = self._cut(context, room, lambda left: _boundary(context, latest, left, keep_turns), effect)
            has_changed = has_changed or shorter
        return has_changed

    def _cut(
        self, context: Sequence[ChatItem], room: int, boundary: Callable[[int], int], effect: Callable[[str], Effect]
    ) -> bool:
        """The same, from the place that `boundary` says for so much room."""
        has_changed = False
        for _ in range(2):  # once to know how much is taken by what is kept of those that leave
            left = max(room // 2, room - sum(map(item_tokens, self._before)))
            at = boundary(left)
            if at > self.begins_at(context):
                self._longest, has_changed = None, True
                self._begin(context, at, room, effect)
        for longest in _OUTPUTS_CARRIED:
            if self.tokens(context) <= (0.8 * room if has_changed else room):
                break
            if self._longest is None or longest < self._longest:
                self._longest, self._counted, has_changed = longest, 0, True
        return has_changed

    def note(self, summary: Summary, context: Sequence[ChatItem], room: int, effect: Callable[[str], Effect]) -> None:
        """Have the summary stand for what it was made of."""
        upto = next((at for at, item in enumerate(context) if item is summary.upto), None)
        if upto is None:
            return
        self.summary = summary
        self._begin(context, max(self.begins_at(context), upto + 1), room, effect)

    def _begin(self, context: Sequence[ChatItem], at: int, room: int, effect: Callable[[str], Effect]) -> None:
        if 0 < at < len(context):
            self._start, self._at, self._counted = context[at], at, 0
            owed = self.owed
            before, untold = _kept(context[:at], self.summary, owed, room, effect), _untold(context[:at], owed, room)
            self._before, self._told = [*before, *untold], len(before)

    # -- what a summary is to be made of

    def unnoted(self, context: Sequence[ChatItem], until: int) -> list[ChatMessage]:
        """What was said before the place `until` and is in no summary yet."""
        upto = None if self.summary is None else self.summary.upto
        since = next((at + 1 for at, item in enumerate(context[:until]) if item is upto), 0)
        return [item for item in context[since:until] if isinstance(item, ChatMessage) and not _is_system(item)]


def _boundary(context: Sequence[ChatItem], latest: int, room: int, keep_turns: int) -> int:
    """The same, where what stands from the place `latest` on is carried in any case."""
    chosen = latest
    turns, tokens = 1, sum(map(item_tokens, context[latest:]))
    for at in range(latest - 1, -1, -1):
        tokens += item_tokens(context[at])
        if tokens > _MOST_KEPT * room or (tokens > _KEPT * room and turns >= keep_turns):
            break
        if _is_said_by_user(context[at]) and not (at and _is_said_by_user(context[at - 1])):
            chosen = at
            turns += 1
    return chosen


def _unanswered(context: Sequence[ChatItem], end: int) -> int:
    """The place behind the last answer of the agent, a message without calls, that something stands behind.

    Of an answer that was cut this is its own place: what of it was not heard is still to be said.
    """
    for at in range(end - 2, -1, -1):
        item, behind = context[at], context[at + 1]
        if isinstance(item, ChatMessage) and item.role == "assistant" and not isinstance(behind, FunctionCall):
            return at if item.interrupted else at + 1
    return 0


def _kept(
    left_out: Sequence[ChatItem],
    summary: Summary | None,
    owed: Collection[str],
    room: int,
    effect: Callable[[str], Effect],
) -> list[ChatItem]:
    """What is carried of items that are not: of those that were told."""
    calls: dict[str, tuple[FunctionCall, FunctionCallOutput]] = {}
    is_all = True
    for call, output in _pairs(left_out):
        # Of one that ran in the background, the last that came of it.
        wish = call.call_id.partition("/")[0]
        calls.pop(wish, None)
        if call.call_id in owed:
            is_all = False
        else:
            calls[wish] = call, output
    effects = {call.name: effect(call.name) for call, _ in calls.values()}
    for characters in _OUTPUTS_KEPT:
        writes = {wish: _brief(*pair, characters) for wish, pair in calls.items() if effects[pair[0].name] in WRITING}
        if sum(map(_pair_tokens, writes.values())) <= 2 * _SHARE_OF_CALLS * room:
            break
    left = _SHARE_OF_CALLS * room
    others: dict[str, tuple[FunctionCall, FunctionCallOutput]] = {}
    for wish, pair in reversed(calls.items()):
        if effects[pair[0].name] == "unsaid":
            others[wish] = _brief(*pair, _OUTPUTS_KEPT[0])
            left -= _pair_tokens(others[wish])
            if left < 0:
                del others[wish]
                break
    pairs: list[ChatItem] = [item for wish in calls for item in writes.get(wish) or others.get(wish) or ()]
    text = _LEFT_OUT.format((_NO_NOTES if summary is None else "") + (_CALLS if pairs else ""))
    if summary is not None:
        text = f"{text} Notes of it:\n{summary.text}"
    note = ChatMessage(role="user", content=text, id=new_id(SUMMARY_ID), created_at=left_out[0].created_at)
    if pairs or not is_all:
        pairs.append(
            ChatMessage(role="user", content=_GOES_ON, id=new_id(GOES_ON_ID), created_at=left_out[-1].created_at)
        )
    return [*filter(_is_system, left_out), note, *pairs]


def _pairs(items: Sequence[ChatItem]) -> Iterator[tuple[FunctionCall, FunctionCallOutput]]:
    for before, item in pairwise(items):
        if isinstance(before, FunctionCall) and isinstance(item, FunctionCallOutput) and before.call_id == item.call_id:
            yield before, item


def _untold(left_out: Sequence[ChatItem], owed: Collection[str], room: int) -> list[ChatItem]:
    """What of items that are not carried is still to be answered or told, and what may have told it."""
    return _within([item for item in left_out if _id_of(item) in owed], _KEPT * room)


def _within(untold: Sequence[ChatItem], tokens: float) -> list[ChatItem]:
    """What is still to be told: whole where that is short enough, else as much of each result as there is room for."""
    kept = list(untold)
    for characters in (*_OUTPUTS_CARRIED, _OUTPUTS_KEPT[1]):
        if sum(map(item_tokens, kept)) <= tokens:
            break
        kept = [_with_output_of(item, characters) for item in untold]
    return kept


def _brief(call: FunctionCall, output: FunctionCallOutput, characters: int) -> tuple[FunctionCall, FunctionCallOutput]:
    said = _with_output_of(output, characters)
    assert isinstance(said, FunctionCallOutput)
    return call, said


def _pair_tokens(pair: tuple[FunctionCall, FunctionCallOutput]) -> int:
    return item_tokens(pair[0]) + item_tokens(pair[1])


def _with_output_of(item: ChatItem, characters: int) -> ChatItem:
    """A result with so many characters at the most, and no pictures. Made once: it stands in many requests."""
    if not isinstance(item, FunctionCallOutput) or not (item.images or len(item.output) > characters):
        return item
    return item.wired(f"cut {characters}", lambda o: replace(o, output=shortened(o.output, characters), images=[]))


def item_tokens(item: ChatItem) -> int:
    """About how many tokens an item takes in a request."""
    return (item.wire and item.wire.get("tokens")) or item.wired("tokens", _tokens)


def _tokens(item: ChatItem) -> int:
    if isinstance(item, ChatMessage):
        return _FRAME + tokens_of(item.text_content or "") + _IMAGE * len(item.images)
    if isinstance(item, FunctionCall):
        return 2 * _FRAME + tokens_of(item.name) + tokens_of(item.arguments, is_data=True)
    if isinstance(item, FunctionCallOutput):
        return 2 * _FRAME + tokens_of(item.output, is_data=True) + _IMAGE * len(item.images)
    return _FRAME


def _id_of(item: ChatItem) -> str:
    """What the core calls it by: both halves of a pair by their call."""
    return item.call_id if isinstance(item, (FunctionCall, FunctionCallOutput)) else item.id


def _is_system(item: ChatItem) -> bool:
    return isinstance(item, ChatMessage) and item.role in ("system", "developer")


def _is_said_by_user(item: ChatItem) -> bool:
    return isinstance(item, ChatMessage) and item.role == "user"
