"""What the engine says: questions for slots, read-backs, greetings and goodbyes.

Pure phrasing. `turns` and `reply` decide what is to be said; the words come from here and from the tools' own
descriptions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from antiphon_standin import results
from antiphon_standin.slots import MOMENT, Slot, ToolView
from antiphon_standin.understand import Kind
from antiphon_standin.words import join_words, stem

ANYTHING_ELSE = "Is there anything else I can help you with?"
GOODBYE = "Thank you for calling. Have a great day, goodbye!"
WELCOME = "You're very welcome. Have a great day, goodbye!"
NOT_AVAILABLE = "I'm sorry, something went wrong on my side."


def greeting(instructions: str) -> str:
    """A first line, with the name of the house where the instructions tell it."""
    house = re.search(
        r"\b(?:at|for|of|from|with)\s+((?:the\s+)?(?:[A-Z][\w'&-]*\s?(?:of |the |and )?){1,5}[a-z]*)", instructions
    )
    if house:
        name = re.sub(r"[.,;\s]+$", "", house[1])
        name = re.sub(r"\s(?:who|and|that|which|to|with|in|on|the|of)$", "", name)
        return f"Hello, this is {name}. How can I help you?"
    return "Hello! How can I help you?"


def _clause(slot: Slot) -> str:
    """The start of a slot's description, without examples, formats and bounds."""
    text = re.sub(r"\(.*?\)", "", slot.description)
    text = re.split(r"[.;:]|,|\b(?:e\.g|for example|such as|between \d)", text)[0]
    text = re.sub(r"\s+in (?:YYYY|\d+-hour|24|ISO|HH).*", "", text, flags=re.I)
    return results.to_you(text.strip().rstrip(",")).strip()


def question(slot: Slot) -> str:
    """The question that asks for one slot."""
    clause, label = _clause(slot), slot.label
    match slot.kind:
        case Kind.DATE:
            return _date_question(slot, clause, label)
        case Kind.TIME:
            rest = frozenset() if slot.name.endswith(MOMENT) else slot.name_stems - _ABOUT_TIMES
            if slot.form and rest and re.match(r"the time\b", clause, re.I):
                return f"What's {clause[:1].lower()}{clause[1:]}?"
            return "What time would you like?" if not rest else f"What {label} would you like?"
        case Kind.PERSON:
            return _name_question(slot, label)
        case Kind.EMAIL:
            return "What's your email address?"
        case Kind.PHONE:
            return "What's the best phone number to reach you?"
        case Kind.NUMBER:
            return _count_question(clause, label)
        case Kind.CHOICE:
            options = [str(c).replace("_", " ") for c in slot.choices]
            if len(options) > 7:
                return f"Which {label} would you like? For example {join_words(options[:4], 'or')}."
            return f"For the {label}, would you like {join_words(options, 'or')}?"
        case Kind.FLAG:
            clause = re.sub(r"^(?:true if|whether|if|set to true if)\s+", "", clause, flags=re.I)
            if turned := _turned(clause):
                return turned
            return (
                f"Could you tell me whether {clause[:1].lower() + clause[1:]}?"
                if clause
                else f"{label.capitalize()}, yes or no?"
            )
        case _:
            return _open_question(slot, clause, label)


_ABOUT_DATES = frozenset(stem(w) for w in "date day when preferred requested for the desired on".split())
_ABOUT_TIMES = frozenset(stem(w) for w in "time slot hour preferred requested start the desired".split())
_ABOUT_CALLERS = frozenset(
    stem(w) for w in "name full your caller customer client user member person holder contact".split()
)


def _date_question(slot: Slot, clause: str, label: str) -> str:
    rest = slot.name_stems - _ABOUT_DATES
    if (
        slot.form
        and re.match(r"(?:the|which) (?:day|date)\b", clause, re.I)
        and not {"date", "day"} & set(label.split())
    ):
        return f"What's {clause[:1].lower()}{clause[1:]}?"
    if (
        not rest
        or slot.name.endswith(MOMENT)
        or (len(clause.split()) > 7 and not slot.name_stems & {"birth", "start", "end"})
    ):
        return "What date works for you?"
    if "new" in rest:
        return "What new date would you like?"
    if "birth" in rest:
        return "What's your date of birth?"
    return f"What {label if 'date' in label or 'day' in label else label + ' date'} would you like?"


def _name_question(slot: Slot, label: str) -> str:
    part = label if re.search(r"first|last|surname|given|family", label) else "full name"
    of_another = re.search(r"recipient|sender|driver|other|student|pupil|child|employee|pet", label)
    if slot.name_stems - _ABOUT_CALLERS and of_another:
        return f"What's the {re.sub(r'(?<!s) name$', chr(39) + 's full name', label)}?"
    return f"May I have your {part}, please?"


def _count_question(clause: str, label: str) -> str:
    if found := re.search(r"(?:number|count|amount|quantity) of (.+)", clause, re.I):
        words = found[1].split()
        return f"How many {re.sub(r'^(?:the|your) ', '', found[1]) if len(words) <= 7 else ' '.join(words[:3])}?"
    if found := re.search(r"how many (.+)", clause, re.I):
        return f"How many {found[1]}?"
    if label.endswith("s") and not label.endswith("ss"):
        return f"How many {label}?"
    return f"What's the {label}?"


def _turned(clause: str) -> str:
    """A statement as a question: "it is an emergency" becomes "Is it an emergency?"; "" if it cannot be turned."""
    if match := re.match(r"(it|there) (is|are) (.+)", clause, re.I):
        return f"{match[2].capitalize()} {match[1].lower()} {match[3]}?"
    if match := re.match(r"you are (.+)", clause, re.I):
        return f"Are you {match[1]}?"
    if match := re.match(r"you (want|need|have|wish|like|bring)\b(.*)", clause, re.I):
        return f"Do you {match[1]}{match[2]}?"
    return ""


_CODE_LABELS = {
    "confirmation": "confirmation code", "tracking": "tracking number", "order": "order number",
    "account": "account number", "booking": "booking number", "reference": "reference number",
}  # fmt: skip


def _open_question(slot: Slot, clause: str, label: str) -> str:
    if slot.kind is Kind.CODE:
        label = re.sub(r"\bid\b", "ID", _CODE_LABELS.get(label, label))
    if re.match(r"(?:where|what|which|how|why|who|when)\b", clause, re.I):
        return f"Could you tell me {clause[:1].lower() + clause[1:]}?"
    words = clause.split()
    if 1 <= len(words) <= 7 and words[0].lower() not in (
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "to",
        "used",
        "set",
        "can",
        "free",
        "optional",
    ):
        noun = clause[:1].lower() + clause[1:] if not words[0].isupper() else clause
        if re.match(r"(?:the|your|a|an)\b", noun):
            noun = re.sub(r"^an? ", "the ", noun)
        else:
            noun = "the " + noun
        return f"{_what_is(label)} {noun}?"
    return f"{_what_is(label)} the {label}?"


def _what_is(label: str) -> str:
    return "What are" if label.endswith("s") and not label.endswith(("ss", "us", "is")) else "What's"


def ask(slots: Sequence[Slot], *, again: bool = False) -> str:
    """One question for one or two slots. `again`: it was asked before and not answered, so say how."""
    if len(slots) == 2:
        first, second = question(slots[0]), question(slots[1])
        if first == "What date works for you?" and second == "What time would you like?":
            return "What date and time work for you?"
        return f"{first} And {second[:1].lower() + second[1:]}" if not second.startswith("I ") else f"{first} {second}"
    text = question(slots[0])
    if again:
        slot = slots[0]
        if slot.examples and slot.kind is not Kind.CHOICE:
            return f"Sorry, I didn't get that. {text} For example, {join_words(slot.examples[:2], 'or')}."
        return f"Sorry, I didn't get that. {text}"
    return text


def cannot_estimate(slots: Sequence[Slot]) -> str:
    """Says that values which the caller is not to be asked for stay unknown, and why."""
    them = join_words([slot.label for slot in slots])
    return f"I'm sorry, for that I would have to estimate the {them}, and I can't: I'm not a language model."


def out_of_bounds(slot: Slot) -> str:
    """Says which numbers can be taken."""
    if slot.low is not None and slot.high is not None:
        return f"I'm sorry, it has to be between {slot.low:g} and {slot.high:g}."
    bound = f"at most {slot.high:g}" if slot.high is not None else f"at least {slot.low:g}"
    return f"I'm sorry, it can be {bound}."


def another(tool: ToolView, changes: Mapping[str, Any]) -> str:
    """Says that it is done, and asks whether to do it once more, with what would be different."""
    verb, _, thing = re.sub(r"(?<=[a-z\d])(?=[A-Z])", "_", tool.name).lower().replace("_", " ").partition(" ")
    deed = "do it again"
    if thing:
        deed = f"{verb} {thing} again" if thing.endswith("s") else f"{verb} another {thing}"
    when, parts = [], []
    for slot in tool.slots:
        if slot.name in changes:
            value = results.speakable(str(changes[slot.name])).replace("_", " ")
            if slot.kind is Kind.FLAG:
                parts.append(f"{'with' if changes[slot.name] else 'without'} {slot.label}")
                continue
            match slot.kind:
                case Kind.DATE:
                    when.append(f"for {value}")
                case Kind.TIME:
                    when.append(f"at {value}")
                case Kind.PERSON:
                    parts.append(f"for {value}")
                case Kind.NUMBER if slot.label.endswith("s") and " " not in slot.label:
                    parts.append(f"with {value} {slot.label}")
                case _:
                    parts.append(f"with {value} as the {slot.label}")
    told = "".join(f", {part}" for part in (" ".join(when), join_words(parts)) if part)
    return f"That's already done, and I can't change it here. Shall I {deed}{told}?"


def noted(tool: ToolView, args: Mapping[str, Any]) -> str:
    """Says briefly what was understood, before going on with another question: "Ann Lee."."""
    parts = []
    for slot in tool.slots:
        if slot.gate or slot.kind is Kind.NOTE or (value := args.get(slot.name)) is None:
            continue  # a note is long, and need not be heard twice
        spoken = _spoken(value)
        match slot.kind:
            case Kind.FLAG:
                parts.append(slot.label if value else f"no {slot.label}")
            case Kind.NUMBER if slot.label.endswith("s"):
                parts.append(f"{spoken} {slot.label}")
            case Kind.NUMBER:
                parts.append(f"{slot.label} {spoken}")
            case _:
                parts.append(spoken)
    text = join_words(parts) or "all right"
    return f"{text[:1].upper()}{text[1:]}."


def _spoken(value: Any) -> str:
    """An argument as it is said."""
    if isinstance(value, list):
        return join_words([str(one) for one in value])
    return results.speakable(str(value)).replace("_", " ")


def read_back(tool: ToolView, args: Mapping[str, Any]) -> str:
    """All known arguments, and the question whether they are right."""
    parts = []
    days = sum(1 for slot in tool.slots if slot.kind is Kind.DATE and slot.name in args)
    for slot in tool.slots:
        if slot.gate or slot.name not in args:
            continue
        value = args[slot.name]
        spoken = _spoken(value)
        if isinstance(value, bool):
            parts.append(slot.label if value else f"no {slot.label}")
        elif slot.kind is Kind.DATE and days > 1:
            parts.append(f"{slot.label} {spoken}")
        elif slot.kind in (Kind.DATE, Kind.PERSON, Kind.CHOICE):
            parts.append(spoken if slot.kind is not Kind.PERSON else f"under the name {spoken}")
        elif slot.kind is Kind.TIME:
            parts.append(f"at {spoken}")
        else:
            parts.append(f"{slot.label} {spoken}")
    return f"Let me read that back: {join_words(parts)}. Is that right?" if parts else "Shall I go ahead?"


def capabilities(tools: Sequence[ToolView]) -> str:
    """What can be done here, in words."""
    told = []
    for tool in tools:
        if tool.ends_call:
            continue
        first = re.split(r"(?<=[a-z])\.(?:\s|$)|\n", tool.description.strip())[0].strip().rstrip(".")
        if (
            not first
            or len(first.split()) > 14
            or re.match(r"(?:call(?:ed)?|used?|this|when|invoked|returns?|tool)\b", first, re.I)
        ):
            first = re.sub(r"(?<=[a-z\d])(?=[A-Z])", " ", tool.name).replace("_", " ").lower()
        first = re.sub(r"\s+(?:for|by|on|of) (?:a |the )?(?:given|specified) .*$", "", first)
        told.append(results.to_you(first[:1].lower() + first[1:]))
    if not told:
        return "I'm a simple automatic assistant. How can I help you?"
    return f"I can {join_words(told, 'or')}."


def apology(facts: Sequence[str]) -> str:
    """An error in words for the caller."""
    if not facts:
        return NOT_AVAILABLE
    first = re.sub(r"^(?:error:?|sorry,?|i'm sorry,?|unfortunately,?)\s*", "", facts[0], flags=re.I)
    if re.search(
        r"internal error|exception|traceback|timed? ?out|did not answer|error parsing|unknown function", facts[0], re.I
    ):
        return NOT_AVAILABLE
    if not re.match(r"(?:\d|I\b|I'|[A-Z][a-z]+ [A-Z])|[A-Z]{2}", first) and re.match(
        r"(?:No|The|That|This|There|It|We|You|Your|Our|Sorry|An?|All|Those|These|Not|Only|Please)\b", first
    ):
        first = first[:1].lower() + first[1:]
    return " ".join([f"I'm sorry, {first}", *facts[1:]])
