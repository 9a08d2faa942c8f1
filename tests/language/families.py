"""Replies composed of frames, verbs, things and what is said besides: thousands that nobody wrote down.

Written by the author of the rules, so they show gaps in the rules and no more. What is not written by hand cannot be
labelled one by one: a family is a yes, or a no, whatever it is composed of.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from antiphon.language import Asked


@dataclass(frozen=True, slots=True)
class Topic:
    """A read-back, and how it may be asked for."""

    asked: Asked
    verb: str
    it: str
    thing: str


@dataclass(frozen=True, slots=True)
class Family:
    """What may be said first, then, and last; "" where nothing need be."""

    opens: tuple[str, ...]
    says: tuple[str, ...]
    ends: tuple[str, ...]


def composed(family: Family, topics: tuple[Topic, ...], seed: int, count: int) -> Iterator[tuple[str, Asked]]:
    """Replies of a family, each with what was asked; the same from the same seed."""
    pick = random.Random(seed)
    while count:
        topic = pick.choice(topics)
        says = pick.choice(family.says).format(verb=topic.verb, it=topic.it, thing=topic.thing)
        parts = [pick.choice(family.opens), says, pick.choice(family.ends)]
        if parts[0] or parts[1]:
            count -= 1
            yield " ".join(part for part in parts if part), topic.asked


def _topics(*rows: tuple[str, str, str, str]) -> tuple[Topic, ...]:
    return tuple(Topic(Asked(text), verb, it, thing) for text, verb, it, thing in rows)


TOPICS = _topics(
    ("Table for four on Friday at seven, shall I book it?", "book", "it", "table"),
    ("I'll submit the claim for the cracked windscreen on your Corsa. Shall I submit it?", "submit", "it", "claim"),
    (
        "So I'm ordering two bags of compost for Saturday, eighteen pounds. Do you want me to place the order?",
        "place",
        "it",
        "order",
    ),
    ("Okay, I'm moving your physio from Tuesday to Thursday at ten. Is that all correct?", "move", "it", "physio"),
    (
        "That's a transfer of ninety pounds to Priya Shah. Are you happy for me to make the payment?",
        "make",
        "it",
        "payment",
    ),
    ("I'm registering you for the pottery class on Mondays at six. Can I sign you up?", "sign", "me", "class"),
    (
        "You want to renew your parking permit for twelve months, seventy pounds. Do I go ahead?",
        "renew",
        "it",
        "permit",
    ),
    (
        "I'll dispatch a technician tomorrow between nine and noon. Should I dispatch him?",
        "dispatch",
        "him",
        "technician",
    ),
    ("I'm activating roaming for your number until the fifth. Do you approve?", "activate", "it", "roaming"),
    ("Returning the blue jacket for a refund of forty dollars. Is everything right?", "return", "it", "jacket"),
    ("I'll lock the front door and set the alarm. Ready?", "lock", "it", "door"),
    ("We'd ship the phone to nine Park Road by Friday. Does that work for you?", "ship", "it", "phone"),
    ("I'll add Maria Lopez as an emergency contact. Have I got that right?", "add", "her", "contact"),
)

AGREES = Family(
    opens=(
        "",
        "yes",
        "yeah",
        "yep",
        "oh yes",
        "sure",
        "okay",
        "right",
        "um yes",
        "yes yes",
        "absolutely",
        "certainly",
        "of course",
        "uh huh",
        "ok",
        "alright",
        "yes please",
        "well yes",
        "ah yes",
        "aye",
        "lovely",
        "great",
        "perfect",
        "right okay",
        "mm yes",
        "yup",
    ),
    says=(
        "",
        "{verb} {it}",
        "please {verb} {it}",
        "go ahead",
        "go ahead and {verb} {it}",
        "please go ahead",
        "you can {verb} {it}",
        "that's right",
        "that's correct",
        "that is all correct",
        "all correct",
        "sounds good",
        "that sounds perfect",
        "do it",
        "please do",
        "please do that",
        "that's the one",
        "that's what I want",
        "that's what I asked for",
        "exactly right",
        "spot on",
        "that works",
        "that works for me",
        "works for me",
        "that's fine",
        "that's fine by me",
        "I'm happy with that",
        "I'm fine with that",
        "no problem",
        "that would be great",
        "that'd be lovely",
        "you've got that right",
        "you got it",
        "everything's correct",
        "it's all good",
        "let's do it",
        "I'd like that",
        "I agree",
        "I confirm",
        "confirmed",
        "I approve",
        "{verb} the {thing}",
        "please {verb} the {thing}",
        "yes do",
        "I'd like you to {verb} {it}",
        "I want you to {verb} {it}",
        "make it so",
        "carry on please",
        "proceed",
        "please proceed",
        "nothing to change",
        "no changes",
        "couldn't be better",
        "that's perfect",
        "that's all right with me",
        "you have my permission",
        "I give you permission",
        "that's all fine",
        "all of that is right",
        "that's exactly it",
        "by all means",
        "by all means go ahead",
        "be my guest",
        "good to go",
        "we're good to go",
        "it is",
        "it does",
        "I do",
        "I am",
        "you may",
        "you can",
        "you did",
        "that's a yes from me",
        "it's a yes",
        "count me in",
        "I'm sure",
        "I'm positive",
        "hundred percent",
        "a hundred percent correct",
    ),
    ends=(
        "",
        "please",
        "thanks",
        "thank you",
        "thank you very much",
        "then",
        "for me",
        "thank you so much",
        "cheers",
        "mate",
        "love",
        "sir",
        "ma'am",
        "my dear",
        "if you would",
        "if you don't mind",
        "that's great",
        "perfect",
        "lovely",
        "thanks a lot",
        "much appreciated",
        "thank you kindly",
        "bye",
        "ta",
        "please and thank you",
    ),
)

REFUSES = Family(
    opens=(
        "no",
        "nope",
        "nah",
        "no no",
        "no thank you",
        "no thanks",
        "oh no",
        "um no",
        "sorry no",
        "no sorry",
        "no please",
        "actually no",
        "absolutely not",
        "definitely not",
        "certainly not",
    ),
    says=(
        "",
        "don't {verb} {it}",
        "please don't {verb} {it}",
        "don't do that",
        "that's wrong",
        "that's not right",
        "that is not correct",
        "that's incorrect",
        "not that",
        "leave it",
        "forget it",
        "I don't want that",
        "I don't want to",
        "I've changed my mind",
        "stop",
        "I'd rather not",
        "you've got it wrong",
        "that's not what I want",
        "that's not what I said",
        "not correct",
        "that isn't right",
        "it isn't",
        "it's not",
        "it doesn't",
        "I don't",
        "you may not",
        "you can't",
        "I wouldn't",
        "let's not",
        "I said no",
        "don't",
        "please don't",
        "do not {verb} {it}",
        "do not {verb} the {thing}",
        "don't {verb} the {thing}",
        "I don't want you to {verb} {it}",
        "I do not authorise that",
        "not today",
        "not now",
        "not yet",
        "maybe another time",
        "never mind",
        "that's all wrong",
        "wrong",
        "I'm not happy with that",
        "that won't work",
        "that doesn't work",
        "that doesn't work for me",
        "don't bother",
        "cancel that",
        "scrap that",
        "not at all",
        "no way",
        "not really",
        "it is not",
        "that's not it",
        "we don't need it",
        "no need",
        "hold on",
        "wait",
        "don't go ahead",
        "do not proceed",
    ),
    ends=(
        "",
        "please",
        "thanks",
        "thank you",
        "sorry",
        "mate",
        "love",
        "thank you very much",
        "cheers",
        "sir",
        "after all",
        "at the moment",
        "thanks anyway",
        "ta",
        "dear",
        "any more",
    ),
)
