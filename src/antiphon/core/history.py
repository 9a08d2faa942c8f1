"""What was said and done, in its final order.

Most items are settled when they come and are recorded at once. What is being *said* has its place before it is
known how much of it will be heard: a slot. Items that come behind an open slot wait for it, so the order never
changes afterwards. Everything recorded leaves by a `Record` command; only the open tail is kept here.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from antiphon.chat import AgentConfigUpdate, ChatItem, ChatMessage, FunctionCall, FunctionCallOutput
from antiphon.core.commands import Record, message_id
from antiphon.core.promises import Outbox


@dataclass(slots=True)
class Slot:
    """The place of something being said, or of words that are not known yet. `text` is what is known of it so far."""

    segment: int
    """0 for what the caller said."""
    agent: str
    created_at: float
    text: str = ""
    open: bool = True
    item: ChatItem | None = None
    """What settled it; None if nothing was heard."""
    heirs: tuple[str, ...] = ()
    """Who is to know its words as soon as there are any, for its agent is gone."""
    echoes: Slot | None = None
    """The slot of an agent that is gone, of which this one's agent is to know; else this is one of its own."""

    @property
    def source(self) -> Slot:
        """Where it is known what was said."""
        return self if self.echoes is None else self.echoes

    def settled(self, item: ChatItem | None) -> None:
        """It is known what was said."""
        self.open = False
        self.item = item

    def concerns(self, agent: str) -> bool:
        """Whether the agent knows its words, or is to."""
        return agent == self.agent or agent in self.heirs

    def left_to(self, heir: str) -> None:
        """Its agent is gone, and the heir goes on."""
        self.heirs += (heir,)

    def take_heirs(self) -> tuple[str, ...]:
        """Who is to know its words, which are there."""
        taken, self.heirs = self.heirs, ()
        return taken


@dataclass(slots=True, eq=False)
class Note:
    """Items that stand together in the history, and the agents in whose context they are."""

    items: tuple[ChatItem, ...]
    known_to: tuple[str, ...]

    def context_changed(self, agent: str, learns: Collection[str], forgets: Collection[str]) -> None:
        """Other calls than before are in the context of the agent."""
        ids = {item.call_id for item in self.items if isinstance(item, FunctionCall)}
        if ids.intersection(forgets):
            self.known_to = tuple(one for one in self.known_to if one != agent)
        elif ids.intersection(learns):
            self.is_news_to(agent)

    def is_news_to(self, agent: str) -> bool:
        """Whether the agent does not know them yet. It does from now on."""
        if agent in self.known_to:
            return False
        self.known_to += (agent,)
        return True


class History:
    """The end of the history that is not settled yet."""

    __slots__ = ("_carried", "_epoch", "_out", "_tail", "mark", "version")

    def __init__(self, out: Outbox, epoch: float, mark: str) -> None:
        self._out = out
        self._epoch = epoch
        self.mark = mark
        """Is in the ids of its items, so that they differ from those of other conversations."""
        self._tail: list[Slot] = []
        self._carried: set[tuple[str, str]] = set()
        """Agents, and messages to others and of others that they know, or will."""
        self.version = 0
        """Grows with every change, also of open slots. Equal versions mean equal contexts."""

    @property
    def wall(self) -> float:
        """The time now, in seconds since the epoch, as items carry it."""
        return self._epoch + self._out.by_the_driver(self._out.now)

    def item_id(self) -> str:
        """An id for an item, the same on every replay. Never one of those that `chat.new_id` gives."""
        return f"entry_{self.mark}{self._out.new_id()}"

    def record(self, item: ChatItem, agent: str) -> None:
        """Append a settled item to the conversation, for `agent` to see."""
        self.version += 1
        if self._tail:
            self._tail.append(Slot(0, agent, item.created_at, open=False, item=item))
        else:
            self._out.send(Record(item, agent))

    def changed(self, agent: str, item: AgentConfigUpdate | None) -> None:
        """An agent's instructions, tools or context are others. `item` is recorded if there is one."""
        self.version += 1
        if item is not None:
            self.record(replace(item, created_at=self.wall), agent)

    def say(self, text: str, agent: str, item_id: str | None = None) -> ChatMessage:
        """Record a message of the caller's, or of the application in the caller's place."""
        message = ChatMessage(role="user", content=text, id=item_id or self.item_id(), created_at=self.wall)
        self.record(message, agent)
        return message

    def said_before(self, heard: str, agent: str) -> None:
        """Record what was heard of a reply that the end of its process cut."""
        item_id = self.item_id()
        self.record(
            ChatMessage(role="assistant", content=heard, id=item_id, interrupted=True, created_at=self.wall), agent
        )

    def pair(self, call: FunctionCall, output: FunctionCallOutput, agent: str) -> Note:
        """Record a call and its output, side by side."""
        self.record(call, agent)
        self.record(output, agent)
        return Note((call, output), (agent,))

    def let_know(self, note: Note, agent: str) -> None:
        """Put what the history has already into the context of an agent that is to speak of it."""
        if note.is_news_to(agent):
            for item in note.items:
                self._carry(item, agent)

    def reserve(self, segment: int, agent: str) -> Slot:
        """Keep the place of something that begins to be said."""
        slot = Slot(segment, agent, self.wall)
        self._tail.append(slot)
        self.version += 1
        return slot

    def known(self, slot: Slot, text: str) -> None:
        """All of a slot's text is known now; requests show it as said."""
        slot.text = text
        self.version += 1
        self._tell_heirs(slot)

    def settle(self, slot: Slot, heard: str, *, interrupted: bool) -> None:
        """What was heard of a slot is final. Nothing heard, nothing recorded."""
        if not slot.open:
            return
        said = None
        if heard:
            said = ChatMessage(
                role="assistant",
                content=heard,
                id=message_id(slot.segment, self.mark),
                interrupted=interrupted,
                created_at=slot.created_at,
            )
        slot.settled(said)
        self.version += 1
        self._tell_heirs(slot)
        self._flush()

    def keep_place(self, agent: str, before: int | None = None) -> Slot:
        """Keep the place of a turn that is not allowed yet, or whose words are not known. Nobody sees it.

        `before`: the segment that it stands in front of, if that has a place and is not settled.
        """
        for position, slot in enumerate(self._tail):
            if slot.open and slot.segment and slot.segment == before:
                place = Slot(0, agent, slot.created_at)
                self._tail.insert(position, place)
                return place
        place = Slot(0, agent, self.wall)
        self._tail.append(place)
        return place

    def words_known(self, slot: Slot, text: str, item_id: str) -> None:
        """The words of a turn. None, and it leaves no trace."""
        if not slot.open:
            return
        said = ChatMessage(role="user", content=text, id=item_id, created_at=slot.created_at) if text else None
        self.version += said is not None
        slot.settled(said)
        self._tell_heirs(slot)
        self._flush()

    def carry(self, text: str, agent: str, item_id: str) -> None:
        """Let another agent know of a turn that the history has already, under its id: nobody gets it twice."""
        message = ChatMessage(role="user", content=text, id=item_id, created_at=self.wall)
        self._carry(message, agent)

    def _carry(self, item: ChatItem, agent: str) -> None:
        if not isinstance(item, ChatMessage) or self._is_news(item.id, agent):
            self._out.send(Record(item, agent, carried=True))

    def pass_on(self, agent: str, heir: str, but: Collection[str]) -> None:
        """An agent is gone. Its words that are not settled, and those to it, are in the context of the one who goes on.

        They stand there behind what that one was shown already. `but`: ids of messages that take another way.
        """
        for slot in list(self._tail):
            source = slot.source
            is_said = source.segment > 0 if source.item is None else source.item.id not in but
            if slot.concerns(agent) and is_said:
                self.leave_to(source, heir)

    def leave_to(self, slot: Slot, heir: str) -> None:
        """Another agent is to know the words of a slot, too."""
        slot.left_to(heir)
        self._tell_heirs(slot)

    def _tell_heirs(self, slot: Slot) -> None:
        if slot.open and slot.text:
            said = message_id(slot.segment, self.mark)
        elif isinstance(slot.item, ChatMessage):
            said = slot.item.id
        else:
            return
        for heir in slot.take_heirs():
            if heir != slot.agent and self._is_news(said, heir):
                self._tail.append(Slot(0, heir, slot.created_at, echoes=slot))
                self.version += 1

    def _is_news(self, message: str, agent: str) -> bool:
        """Whether no message of that id was on its way to the agent who did not say or hear it. It is from now on."""
        if (agent, message) in self._carried:
            return False
        self._carried.add((agent, message))
        return True

    def _flush(self) -> None:
        while self._tail and not self._tail[0].source.open:
            settled = self._tail.pop(0)
            item = settled.source.item
            if item is not None:
                self._out.send(Record(item, settled.agent, carried=settled.echoes is not None))

    def open_items(self, agent: str) -> tuple[ChatItem, ...]:
        """The unsettled end as a request of `agent` shows it: text that is still being spoken counts as said."""
        if not self._tail:
            return ()
        items: list[ChatItem] = []
        for place in self._tail:
            if place.agent != agent:
                continue
            slot = place.source
            if slot.item is not None:
                items.append(slot.item)
            elif slot.open and slot.text:
                items.append(
                    ChatMessage(
                        role="assistant",
                        content=slot.text,
                        id=message_id(slot.segment, self.mark),
                        created_at=slot.created_at,
                    )
                )
        return tuple(items)
