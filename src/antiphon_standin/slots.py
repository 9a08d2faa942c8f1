"""From a tool's schema to slots: what each parameter takes, within which bounds, and what to call it.

Below: `kinds`, `words`. Above: `written`, `fill`, `choose`, `aim`. Everything here is read off the tool's name,
description and JSON schema; a `ToolView` is built once per distinct schema and shared.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from antiphon_standin.kinds import kind_of, words_of
from antiphon_standin.understand import Kind
from antiphon_standin.words import Token, acts_of, content_stems, stem, thesaurus, tokenize


@dataclass(slots=True, frozen=True)
class Slot:
    """A parameter of a tool, or a field of a parameter that is an object."""

    name: str
    """Of a field: the names on the way to it, joined by `INSIDE`."""
    kind: Kind
    description: str
    required: bool
    choices: tuple[Any, ...] = ()
    """The values of a closed list, as the schema writes them."""
    examples: tuple[str, ...] = ()
    """Values that the description shows."""
    low: float | None = None
    high: float | None = None
    json_type: str = "string"
    many: bool = False
    """True for a list of such values."""
    gate: bool = False
    """True for a flag that may be set only after a read-back and a yes."""
    second_run: bool = False
    """True for a flag that lets a call run beside another of its tool: set once the caller agreed to that."""
    unasked: bool = False
    """True if the caller is not to be asked for it: a language model would estimate it."""
    stems: frozenset[str] = frozenset()
    """What the slot is about, from its name and description."""
    name_stems: frozenset[str] = frozenset()
    default: Any = None
    form: str = ""
    """The form that the schema itself demands, by ISO 8601: "date" or "time"."""

    @property
    def key(self) -> tuple[str, Kind]:
        """Slots with equal keys, in whichever tools, take the same value."""
        return _leaf(self.name), self.kind

    @property
    def label(self) -> str:
        """The name in words: "bag_count" is "bag count"."""
        return words_of(_leaf(self.name))


@dataclass(slots=True, frozen=True)
class ToolView:
    """A tool as the engine sees it."""

    name: str
    description: str
    slots: tuple[Slot, ...]
    acts: frozenset[str]
    """What the tool does, by its name, else by the first sentence of its description."""
    wide_acts: frozenset[str]
    """The same, by everything written about it."""
    vocabulary: Mapping[str, float]
    """Stem to weight: how much it says about this tool."""
    reads: bool
    """True if the tool only looks something up, as far as its words tell."""
    gated: bool
    """True if the details must be read back and confirmed before it may be called."""
    own_words: tuple[Token, ...]
    """What it does, in its own words: its name, and the verb of its description."""
    fingerprint: int
    """Equal for equal schemas."""
    fallback: bool
    """True if the tool is for when something else has failed ("when the first choice is full")."""

    @property
    def finishes(self) -> bool:
        """True for the tool that concludes: "when the caller has nothing to add"."""
        return not self.reads and bool(_FINISHES.search(self.description))

    @property
    def required(self) -> tuple[Slot, ...]:
        """The slots to be filled before a call, without gates."""
        return tuple(slot for slot in self.slots if slot.required and not (slot.gate or slot.second_run))

    @property
    def gate(self) -> Slot | None:
        """The flag that says that the details were read back, or None."""
        return next((slot for slot in self.slots if slot.gate), None)

    @property
    def second_run(self) -> Slot | None:
        """The flag that lets it run beside a call of its own, or None."""
        return next((slot for slot in self.slots if slot.second_run), None)

    @property
    def ends_call(self) -> bool:
        """True for the tool that hangs up."""
        return "end" in self.acts and not self.required

    def slot(self, name: str) -> Slot | None:
        """The slot of this name, or None."""
        return next((slot for slot in self.slots if slot.name == name), None)


def view(name: str, description: str, parameters: Mapping[str, Any], *, effect: str = "unsaid") -> ToolView:
    """The view of a tool, cached by content. `effect`: what its author says that a call does to the world."""
    return _view(name, description or "", json.dumps(parameters, sort_keys=False, default=str), effect)


@lru_cache(maxsize=512)
def _view(name: str, description: str, schema: str, effect: str) -> ToolView:
    parameters = json.loads(schema)
    slots = tuple(_slots(parameters, parameters.get("$defs", {}), tool=(name, description)))
    name_tokens = tokenize(words_of(name))
    first, _, rest = description.partition(".")
    # A tool that is to be called "when the user asks about X" tells its topic there.
    acts = acts_of(name_tokens[:1]) or acts_of(name_tokens) or acts_of(tokenize(first))
    if name_tokens and name_tokens[0].low in ("request", "make", "create", "start", "submit"):
        acts = (acts_of(name_tokens[1:]) & SPECIFIC) or acts  # "request_callback" is about the callback
    if name_tokens and name_tokens[0].low in ("get", "lookup", "look", "fetch", "find"):
        acts = acts | (acts_of(name_tokens) - {"arrange", "obtain", "cancel", "change", "refund", "report", "add"})
        acts -= {"obtain"}
    if name_tokens and name_tokens[-1].low in _LOOKED_UP and _looks_up(first):
        acts = (acts_of(name_tokens[-1:]) & thesaurus().reading) or acts  # "order_status" orders nothing
    if name_tokens and name_tokens[0].low == "open":
        acts -= {"check"}  # it opens something, and does not look what is open
    if re.search(r"\b(end|hang up|disconnect)\b.*\bcall\b", f"{words_of(name)} {first}".lower()):
        acts = frozenset({"end"})
    return ToolView(
        name=name,
        description=description,
        fingerprint=hash((name, description, schema)),
        slots=slots,
        acts=acts,
        wide_acts=acts | acts_of(tokenize(first)) | acts_of(tokenize(_positive(rest))),
        vocabulary=_vocabulary(name, description, slots),
        reads=effect == "reads"
        or (effect == "unsaid" and ((bool(acts) and acts <= thesaurus().reading) or _only_tells(first, slots))),
        own_words=(*name_tokens, *tokenize(first)[:1]),
        gated=bool(_GATE_TEXT.search(description)) or any(slot.gate for slot in slots),
        fallback=bool(
            re.search(
                r"\bwhen\b.*\b(full|not available|unavailable|taken|fails?|first choice|sold out)\b", description, re.I
            )
        ),
    )


_TELLS = re.compile(
    r"(?:tell|say|explain|describe)s? (?:what|when|where|which|who|whether|how|if|why|the (?:opening|current))\b"
    r"|(?:list|show|find|look|get|search|read|return|fetch|retrieve|calculate|compute|count|compare)s?\b",
    re.I,
)
_NOUN_FIRST = re.compile(r"(?:the|an?|current|what|where|how|when)\b", re.I)
_TELLS_ALL = re.compile(r"(?:tell|say|give|explain|describe|provide|share|state)s?\b", re.I)


def _looks_up(first: str) -> bool:
    """True for a description that does not begin with a deed: "The status of an order", but not "Set the status"."""
    verb = acts_of(tokenize(first)[:1])
    return (
        not first
        or bool(_TELLS.match(first) or _TELLS_ALL.match(first) or _NOUN_FIRST.match(first))
        or (bool(verb) and verb <= thesaurus().reading)
    )


def _only_tells(first: str, slots: Sequence[Slot]) -> bool:
    """True for a tool whose description begins with telling something: "Give the address", "Say where it is"."""
    return bool(_TELLS.match(first) or (not slots and _TELLS_ALL.match(first)))


INSIDE = "\x1f"
"""Stands between the name of an object and that of a field of it: no name has it."""
_DEEPEST = 5
"""Objects inside objects, beyond which one is not taken apart: schemas may contain themselves."""


def flat(args: Mapping[str, Any], tool: ToolView | None = None) -> dict[str, Any]:
    """A call's arguments by the names of the tool's slots: what objects hold, field by field, and moments in two."""
    out: dict[str, Any] = {}
    for key, value in args.items():
        if isinstance(value, dict):
            out.update({f"{key}{INSIDE}{name}": one for name, one in flat(value).items()})
        else:
            out[key] = value
    for key, value in [*out.items()] if tool is not None else ():
        if isinstance(value, str) and tool is not None and tool.slot(f"{key}{_DAY}") is not None:
            out[f"{key}{_DAY}"], _, out[f"{key}{_CLOCK}"] = out.pop(key).partition("T")
    return out


def nested(args: Mapping[str, Any]) -> dict[str, Any]:
    """The opposite of `flat`: arguments as the schema wants them."""
    out: dict[str, Any] = {}
    clocks = {name.removesuffix(_CLOCK): value for name, value in args.items() if name.endswith(_CLOCK)}
    for name, value in args.items():
        if name.endswith(_CLOCK):
            continue
        if name.endswith(_DAY):
            name = name.removesuffix(_DAY)
            value = f"{value}T{clocks.get(name) or '00:00'}"
        *path, last = name.split(INSIDE)
        inner = out
        for key in path:
            inner = inner.setdefault(key, {})
        inner[last] = value
    return out


def _leaf(name: str) -> str:
    return name.removesuffix(_DAY).removesuffix(_CLOCK).rpartition(INSIDE)[2]


_DAY, _CLOCK = "\x1eday", "\x1eclock"
"""End the names of the two slots that a parameter for a date and a time is: the caller says one after the other."""


MOMENT = (_DAY, _CLOCK)
"""How the names of slots for a part of a moment end."""


def _moments(name: str, schema: dict[str, Any], wanted: bool, *, tool: tuple[str, str]) -> Iterator[Slot]:
    """The day and the time of day of a parameter that takes both."""
    for suffix, form in ((_DAY, "date"), (_CLOCK, "time")):
        slot = _slot(name, {**schema, "format": form}, wanted, tool=tool)
        yield replace(slot, name=f"{name}{suffix}")


def _slots(
    schema: Mapping[str, Any], definitions: Mapping[str, Any], *, tool: tuple[str, str], within: tuple[str, ...] = (),
    wanted: bool = True,
) -> Iterator[Slot]:  # fmt: skip
    """A slot for each property, and in the place of an object one for each of its own."""
    required = set(schema.get("required", ()))
    for key, value in schema.get("properties", {}).items():
        property_ = _resolved(value, definitions)
        path, must = (*within, key), wanted and key in required
        if property_.get("properties") and len(path) < _DEEPEST:
            yield from _slots(property_, definitions, tool=tool, within=path, wanted=must)
        elif property_.get("format") == "date-time":
            for slot in _moments(key, property_, must, tool=tool):
                yield replace(slot, name=INSIDE.join((*within, slot.name)))
        else:
            yield replace(_slot(key, property_, must, tool=tool), name=INSIDE.join(path))


_LOOKED_UP = frozenset("status details info information price cost quote estimate progress availability fee".split())
_FINISHES = re.compile(
    r"\b(?:when|once|after)\b[^.]*\b(?:nothing (?:more|else|to add)|finished|is done|are done|complete|that is all"
    r"|no more|has everything|final)",
    re.I,
)
SPECIFIC = frozenset("cancel change refund report transfer pay renew price trace verify notify".split())
"""Acts that, once named, rule out tools which do something else."""
_GATE_TEXT = re.compile(
    r"\b(?:after|once|until|before)\b[^.]*\b(?:read(?:ing)?\b[^.]*\bback|confirm(?:ed|s|ing|ation)?\b[^.]*\b(?:user|caller|customer|them|they|details))"
    r"|\b(?:after|once|until)\b[^.]*\b(?:user|caller|customer|they)\b[^.]*\bconfirm"
    r"|\b(?:ask|have|let|get)\b[^.]*\b(?:user|caller|customer|them)\b[^.]*\bconfirm(?:ation)?\b[^.]*\b(?:before|first)\b"
    r"|\bconfirm with the (?:user|caller|customer)\b",
    re.I,
)
_NEGATIVE = re.compile(r"(?:do not|don't|never|not for|instead of)[^.]*\.?", re.I)


def _positive(text: str) -> str:
    """The sentences that say when to call, without those that say when not to."""
    return _NEGATIVE.sub(" ", text)


def _resolved(schema: Any, definitions: Mapping[str, Any]) -> dict[str, Any]:
    """A property with references followed and "or null" taken out."""
    if not isinstance(schema, dict):
        return {}
    out = dict(schema)
    if "$ref" in out:
        out = {**definitions.get(str(out.pop("$ref")).rsplit("/", 1)[-1], {}), **out}
    for union in ("anyOf", "oneOf", "allOf"):
        options = [o for o in out.get(union, ()) if isinstance(o, dict) and o.get("type") != "null"]
        if options:
            out.pop(union)
            consts = [o["const"] for o in options if "const" in o]
            out = {**({"enum": consts} if consts else _resolved(options[0], definitions)), **out}
    if isinstance(out.get("type"), list):
        out["type"] = next((t for t in out["type"] if t != "null"), "string")
    if "const" in out:
        out["enum"] = [out["const"]]
    if isinstance(out.get("enum"), list):
        out["enum"] = [value for value in out["enum"] if value is not None]
    return out


_CODED = re.compile(r"(?=.*\d)(?=.*[A-Z])[A-Z\d]+(?:[ -][A-Z\d]+)*")
"""Letters and digits that are nobody's words: "KX21 ABC"."""
_NAMELESS = frozenset("value text input data answer content arg".split())


def _slot(name: str, schema: dict[str, Any], required: bool, *, tool: tuple[str, str]) -> Slot:
    description = str(schema.get("description", ""))
    json_type = str(schema.get("type", "string"))
    many = json_type == "array"
    item = schema.get("items") if many and isinstance(schema.get("items"), dict) else schema
    assert isinstance(item, dict)
    choices = tuple(item.get("enum", ()))
    if not choices and item.get("type", "string") == "string":
        choices = _spelled_choices(description)
    if not choices and many:
        # A tool that takes some of what its description lists, line by line: "- address: asks for the address".
        choices = tuple(re.findall(r"^\s*- ([\w-]+): ", tool[1], re.M))
    plain = str(item.get("type", "string"))
    if name.lower() in _NAMELESS and not description:
        # "set_email(value)": what the value is, the tool's own name tells.
        kind = kind_of(words_of(tool[0]).partition(" ")[2].replace(" ", "_"), tool[1], item, choices)
    else:
        kind = kind_of(name, description, item, choices)
    shown = _examples(description, item)
    if (
        kind is Kind.THING
        and shown
        and all((re.search(r"\d", one) and " " not in one.strip(" ")) or _CODED.fullmatch(one) for one in shown)
    ):
        kind = Kind.CODE
    low, high = _bounds(description, item)
    second_run = kind is Kind.FLAG and bool(re.search(r"\bduplicat", f"{name} {description}", re.I))
    gate = (
        kind is Kind.FLAG
        and not second_run
        and bool(
            re.search(r"\b(only|once|after|must)\b.*\b(read|confirm|agree|consent|said yes)", description, re.I)
            or name.lower() in ("read_back", "readback", "confirmed", "user_confirmed", "confirm")
        )
    )
    return Slot(
        name=name,
        kind=kind,
        description=description,
        required=required and schema.get("default") is None,
        choices=choices,
        examples=shown,
        low=low,
        high=high,
        json_type=plain,
        many=many,
        gate=gate,
        second_run=second_run,
        unasked=_is_unasked(name, description, tool[1]),
        stems=frozenset(content_stems(words_of(name) + " " + re.sub(r"\(.*?\)|\"[^\"]*\"|'[^']*'", " ", description))),
        name_stems=frozenset(stem(w) for w in words_of(name).split()),
        default=schema.get("default"),
        form=str(item.get("format", "")) if kind in (Kind.DATE, Kind.TIME) else "",
    )


_NOT_TO_ASK = re.compile(
    r"\b(?:do not|don't|never|without|instead of|rather than)\s+(?:ask|request|prompt)(?:ing)?\b"
    r"(?![^.]*\b(?:until|unless|before|again|twice|more than|at once|same time|together)\b)",
    re.I,
)

_ESTIMATED = re.compile(
    r"\b(?:estimate|infer|guess|determine|derive|deduce|work out|figure out|look up)\s+"
    r"(.+?)(?=\s+(?:of|from|for|by|based|yourself|instead|rather|without|and do|and don't|and never)\b|[.,;]|$)"
    r"|\bask(?:ing)?\b[^.;]*?\bfor\s+([^.;]+)",
    re.I,
)
"""What a description says to find out without the caller: the object of estimating, or of not asking."""


def _is_unasked(name: str, description: str, tool: str) -> bool:
    """True if the parameter's description, or a sentence of the tool's that names it, says not to ask for it."""
    if _NOT_TO_ASK.search(description):
        return True
    named = {stem(word) for word in words_of(name).split()}
    for sentence in re.split(r"(?<=[.!])\s+|\n\s*\n", tool):
        if _NOT_TO_ASK.search(plain := " ".join(sentence.split())):
            objects = [part for found in _ESTIMATED.finditer(plain) for part in found.groups() if part]
            if any(named <= {stem(token.low) for token in tokenize(part)} for part in objects):
                return True
    return False


def _spelled_choices(description: str) -> tuple[str, ...]:
    """The closed list that a description spells out: 'must be "a" or "b"', 'Either "a" or "b"'."""
    match = re.search(
        r"(?:must be|either|one of|any of|options are|valid values(?: are)?|allowed values(?: are)?)[:\s]+"
        r"((?:[\"'][^\"']+[\"'][,\s]*(?:or|and)?\s*){2,})",
        description,
        re.I,
    )
    if match:
        return tuple(re.findall(r"[\"']([^\"']+)[\"']", match[1]))
    return ()


def _bounds(description: str, schema: Mapping[str, Any]) -> tuple[float | None, float | None]:
    low, high = schema.get("minimum"), schema.get("maximum")
    if schema.get("exclusiveMinimum") is not None and low is None:
        low = schema["exclusiveMinimum"] + 1
    if match := re.search(r"between (\d+) and (\d+)|(\d+)\s?(?:-|to)\s?(\d+)", description):
        low = low if low is not None else int(match[1] or match[3])
        high = high if high is not None else int(match[2] or match[4])
    if high is None and (match := re.search(r"(?:at most|up to|max(?:imum)?(?: of)?)\s*:?\s*(\d+)", description, re.I)):
        high = int(match[1])
    if low is None and (match := re.search(r"(?:at least|min(?:imum)?(?: of)?)\s*:?\s*(\d+)", description, re.I)):
        low = int(match[1])
    return low, high


_EXAMPLE = re.compile(
    r"(?:e\.?g\.?,?|for example,?|such as|like|for instance,?|example:|examples:)\s*([^).;]*(?:\.\w[^).;]*)*)", re.I
)


def _examples(description: str, schema: Mapping[str, Any]) -> tuple[str, ...]:
    given = [str(x) for x in schema.get("examples", ())]
    for match in _EXAMPLE.finditer(description):
        quoted = re.findall(r"[\"'`\u201c]([^\"'`\u201d]+)[\"'`\u201d]", match[1])
        given += quoted or [part.strip() for part in re.split(r",| or | and ", match[1]) if 0 < len(part.split()) <= 4]
    return tuple(dict.fromkeys(x.strip() for x in given if x.strip()))


def _vocabulary(name: str, description: str, slots: Sequence[Slot]) -> dict[str, float]:
    weights: dict[str, float] = {}

    def add(text: str, weight: float) -> None:
        for one in content_stems(text):
            weights[one] = max(weights.get(one, 0.0), weight)

    add(words_of(name), 1.0)
    first, _, rest = description.partition(".")
    add(_positive(first), 0.9)
    add(_positive(rest).split("Returns:")[0], 0.6)
    for topic in re.findall(
        r"\bwhen\b[^.]*?\b(?:asks?|wants?|needs?|says?|mentions?|calls?)\b([^.]*)", _positive(description), re.I
    ):
        add(topic, 0.9)
    for slot in slots:
        if slot.second_run:
            continue
        add(slot.label, 0.5)
        add(_positive(slot.description), 0.35)
        for choice in slot.choices:
            add(words_of(str(choice)), 0.6)
        for example in slot.examples:
            add(example, 0.3)
    return weights


def harmonised(tools: Sequence[ToolView]) -> list[ToolView]:
    """The tools, where a parameter that says nothing of itself is documented as its namesake in another tool is."""
    told = {slot.key: slot for tool in reversed(tools) for slot in tool.slots if slot.description}
    out = []
    for tool in tools:
        if any(not slot.description and slot.key in told for slot in tool.slots):
            slots = tuple(
                slot
                if slot.description or (twin := told.get(slot.key)) is None or twin.json_type != slot.json_type
                else dataclasses.replace(slot, description=twin.description, examples=twin.examples)
                for slot in tool.slots
            )
            tool = dataclasses.replace(tool, slots=slots)
        out.append(tool)
    return out
