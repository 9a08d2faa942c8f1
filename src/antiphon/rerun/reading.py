"""A record to a call that can be made again.

Above: `running`. Below: the record's requests, and its journal, of which only the lines are read that say what the
caller, voices and tools did: a journal of another version of Antiphon serves as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from antiphon.errors import UsageError
from antiphon.records.format import JOURNAL, REQUESTS, Record
from antiphon.records.requests import Request
from antiphon.rerun.call import Answers, CallerDoes, Gives, RecordedCall, Says, Spoke, Types, digest_of, key_of

_NO_REQUESTS = (
    "record {name} has no requests of models (requests.jsonl), so nobody knows what they answered: it was made by an"
    " earlier version of Antiphon. Its conversation can be replayed all the same, without the agent: antiphon.replay;"
    " `antiphon calls show {id}` tells its story."
)
_REALTIME = {"TurnTaken", "ResponseBegan"}
"""Facts that only models which hear and speak bring."""
_BY_REALTIME = (
    "record {name}: its model hears and speaks by itself, so what it was asked is in no record, and the agent cannot be"
    " called again. Its conversation can be replayed without the agent: antiphon.replay; `antiphon calls show {id}`"
    " tells its story."
)
_BY_CALLER = ("job_shutdown", "participant_disconnected")
_CALLERS = ("UserTurnSubmitted", "UserSpeechStarted", "UserSpeechEnded", "Transcribed")
_BEHIND = 1e-3
"""Seconds by which what a tool gave at the instant of the caller's words comes behind these."""
_NEXT_WORD = 2.0
_INTERNAL_ERROR = "An internal error occurred"


def recorded_call(record: Record) -> RecordedCall:
    """The call of a record. Raises `UsageError` where it cannot be made again, and says why."""
    requests, journal = record.requests, _Journal.of(record)
    if record.files.read(REQUESTS) is None:
        raise UsageError(_NO_REQUESTS.format(name=record.name, id=record.id))
    if journal is not None and journal.kinds & _REALTIME:
        raise UsageError(_BY_REALTIME.format(name=record.name, id=record.id))
    if journal is None:
        caller, ended, offset = _from_turns(record.head), float(record.head.get("duration", 0.0)), 0.0
        tools = [_gave(call) for call in record.head["tool_calls"]]
        own: Sequence[str] = ()
        predictions: Mapping[str, tuple[float, float]] = {}
    else:
        if "CallResumed" in journal.kinds:
            raise UsageError(
                f"record {record.name}: the call began in another process, and what was said there is not in it. Only"
                " calls that one process held from their beginning can be run again."
            )
        caller, ended, offset = journal.caller(), journal.ended, 0.0
        own = [name for name in journal.own_tools() if not _writes(record.head, name)]
        tools, predictions = journal.tools(), journal.predictions()
    pace, first = _voice_of(record)
    return RecordedCall(
        caller=caller,
        answers=[_answer(request, offset) for request in requests],
        tools=tools,
        ended=ended,
        in_the_middle=journal is not None and journal.ended_in_the_middle,
        by_agent=record.head.get("reason") not in _BY_CALLER,
        predictions=predictions,
        pace=pace,
        paces=_paces(record, {} if journal is None else journal.sounded()),
        first_sound=first,
        own_tools=own,
    )


def _writes(head: Mapping[str, Any], name: str) -> bool:
    return head.get("tools", {}).get(name, {}).get("effect") in ("writes", "irreversible")


def _answer(request: Request, offset: float) -> Answers:
    pieces = request.pieces
    return Answers(
        request.text,
        [(call["name"], call["arguments"], call["call_id"]) for call in request.calls],
        digest_of(key_of(request.parts, request.tools, request.settings)),
        pieces[0][0] if pieces else request.ended - request.at,
        request.ended - request.at,
        pieces,
        request.outcome,
        request.error,
    )


def _voice_of(record: Record) -> tuple[float, float]:
    """How fast the agent speaks, and how soon: measured, unless its voice is the fake one, of which it is known."""
    if not record.head.get("voice") or "FakeTTS" in str(record.head.get("models")):
        return 0.06, 0.05
    said = [
        turn
        for turn in record.head["turns"]
        if turn["role"] == "assistant" and not turn["interrupted"] and not turn.get("overtaken") and turn["text"]
    ]
    characters = sum(len(turn["text"]) for turn in said)
    seconds = sum(turn["ended"] - turn["started"] for turn in said)
    pace = seconds / characters if characters and seconds > 0 else 0.06
    waits = [
        one["first_byte"] - one["first_token"]
        for reply in record.metrics.get("replies", ())
        for one in reply.get("responses", ())
        if one.get("first_byte") is not None and one.get("first_token") is not None
    ]
    return min(0.2, max(0.02, pace)), max(0.0, sum(waits) / len(waits)) if waits else 0.05


def _paces(record: Record, sounded: Mapping[str, float]) -> list[tuple[str, float]]:
    """How fast each thing was said by a real voice: so that an interruption comes at the word at which it came."""
    if not record.head.get("voice") or "FakeTTS" in str(record.head.get("models")):
        return []
    said = [turn for turn in record.head["turns"] if turn["role"] == "assistant" and turn["text"]]
    return [
        (
            f"{turn['text']} {turn.get('unheard', '')}".strip(),
            sounded.get(turn["text"], turn["ended"] - turn["started"]) / _heard(turn),
        )
        for turn in said
        if turn["ended"] > turn["started"]
    ]


def _heard(turn: Mapping[str, Any]) -> float:
    """Characters that were heard: of one that was cut, some of the next word, too."""
    return len(turn["text"]) + (_NEXT_WORD if turn["interrupted"] or turn.get("overtaken") else 0.0)


def _from_turns(head: Mapping[str, Any]) -> list[CallerDoes]:
    """The caller of a record without its journal (redacted, or lost): turn by turn, as far as times are known."""
    said = [turn for turn in head["turns"] if turn["role"] == "user"]
    if not head.get("voice"):
        return [Types(turn["text"], turn["started"]) for turn in said]
    return [Says(turn["text"], turn["started"], max(turn["started"] + 0.2, turn["ended"])) for turn in said]


def _gave(call: Mapping[str, Any]) -> Gives:
    """What a tool gave, by the record alone."""
    failed = {"error": "refused", "unknown": "unknown"}.get(call["status"], "")
    after = max(0.0, (call.get("ended") or call["started"]) - call["started"])
    return Gives(call["name"], call["arguments"], str(call["output"]), after, failed)  # type: ignore[arg-type]


@dataclass(slots=True)
class _Run:
    """A run of a tool, as the journal tells of it."""

    name: str
    arguments: str
    began: float
    ended: float | None = None
    returned: Mapping[str, Any] | None = None
    spoke: list[Spoke] = field(default_factory=list)
    is_own: bool = False
    """It lent or handed over the floor, or ended the call."""

    def returns(self, at: float, fact: Mapping[str, Any]) -> None:
        """It gives something."""
        self.ended, self.returned = at, fact
        self.is_own = self.is_own or fact.get("handoff") is not None or bool(fact.get("ends_task"))

    def changes_the_call(self) -> None:
        """It lends or hands over the floor."""
        self.is_own = True

    def sees_the_end(self) -> None:
        """The agent ended the call, perhaps by this."""
        self.is_own = self.is_own or self.returned is None

    def asks_to_say(self, at: float, fact: Mapping[str, Any], text: str) -> None:
        """It has the session say something, or answer. What bridges a wait is the session's own."""
        if fact["kind"] != "filler":
            after, is_reply = at - self.began, fact["kind"] == "reply"
            interruptible = fact.get("interruptible", True)
            self.spoke.append(Spoke(text, after, False, interruptible, fact.get("instructions"), is_reply))

    def sees_another_agent(self) -> None:
        """The agent's tools, instructions or history were changed, perhaps by this."""
        self.is_own = self.is_own or self.returned is None

    def reports(self, at: float, fact: Mapping[str, Any]) -> None:
        """It tells how far it is."""
        self.spoke.append(Spoke(fact["message"], at - self.began, interruptible=not fact.get("silent"), is_update=True))

    def waits(self) -> None:
        """It waits until that is said."""
        if self.spoke:
            self.spoke[-1] = replace(self.spoke[-1], waited=True)


class _Journal:
    """What is of use in the lines of a journal."""

    def __init__(self, lines: Iterable[Mapping[str, Any]]) -> None:
        self._facts: list[tuple[float, Mapping[str, Any]]] = []
        self._commands: list[tuple[float, Mapping[str, Any]]] = []
        self._order: list[tuple[float, bool, Mapping[str, Any]]] = []
        began: float | None = None
        for line in lines:
            at = line.get("at")
            if not isinstance(at, (int, float)):
                continue
            began = at if began is None else began
            if line.get("fact"):
                self._facts.append((at - began, line["fact"]))
                self._order.append((at - began, True, line["fact"]))
            elif line.get("command"):
                self._commands.append((at - began, line["command"]))
                self._order.append((at - began, False, line["command"]))
        self.kinds = {fact["is"] for _, fact in self._facts}
        closes = [at for at, fact in self._facts if fact["is"] in ("CloseRequested", "EndRequested")]
        self.ended = closes[-1] if closes else (self._order[-1][0] if self._order else 0.0)
        changes = [one for at, one in self._commands if one["is"] == "AgentStateChanged" and at < self.ended]
        self.ended_in_the_middle = bool(changes) and changes[-1]["state"] in ("thinking", "speaking")

    @classmethod
    def of(cls, record: Record) -> _Journal | None:
        """That of a record; None: it has none that can be read."""
        content = record.files.read(JOURNAL)
        if content is None:
            return None
        lines = []
        for line in content.splitlines():
            try:
                lines.append(json.loads(line))
            except ValueError:
                break  # the process ended while writing it
        return cls(lines) if lines else None

    # -- the caller

    def caller(self) -> list[CallerDoes]:
        """What the caller said, typed and was understood to say, in order."""
        does: list[CallerDoes] = []
        began: tuple[float, float] | None = None
        ended: tuple[float, float] | None = None
        words: list[tuple[float, str, bool]] = []

        def close() -> None:
            nonlocal began, ended, words
            if began is not None:
                does.extend(_utterances(began, ended, words))
            began, ended, words = None, None, []

        for number, (at, fact) in enumerate(self._facts):
            match fact["is"]:
                case "UserTurnSubmitted":
                    does.append(Types(fact["text"], at, behind=number))
                case "UserSpeechStarted":
                    if began is not None and ended is None:
                        continue
                    close()
                    began = at, fact.get("voice", 0.0)
                case "UserSpeechEnded":
                    ended = at, fact.get("silence", 0.0)
                case "Transcribed":
                    if began is None:
                        began = at, 0.0
                    words.append((at, fact["text"], fact["final"]))
                case _:
                    pass
        close()
        spoken = self._spoken()
        return [_placed(one, spoken) for one in sorted(does, key=lambda one: one.at)]

    def _spoken(self) -> list[tuple[float, float]]:
        """When the agent was heard."""
        spoken: list[tuple[float, float]] = []
        since: float | None = None
        for at, one in self._commands:
            if one["is"] != "AgentStateChanged":
                continue
            if one["state"] == "speaking":
                since = at if since is None else since
            elif since is not None:
                spoken.append((since, at))
                since = None
        return spoken if since is None else [*spoken, (since, self.ended)]

    def sounded(self) -> dict[str, float]:
        """For how long each thing sounded that was heard, until it was cut or paused: by what was heard of it."""
        began: dict[int, float] = {}
        found: dict[str, float] = {}
        hushed: float | None = None
        for at, _, one in self._order:
            match one["is"]:
                case "PlayoutStarted":
                    began[one["segment"]], hushed = at, None
                case "PausePlayout" | "StopPlayout":
                    hushed = at if hushed is None else hushed
                case "ResumePlayout":
                    hushed = None
                case "PlayoutFinished" if one["segment"] in began and one["heard"]:
                    found[one["heard"]] = (at if hushed is None else hushed) - began.pop(one["segment"])
                case _:
                    pass
        return found

    def predictions(self) -> dict[str, tuple[float, float]]:
        """What the turn detector said of which words."""
        asked: dict[int, tuple[float, str]] = {}
        found: dict[str, tuple[float, float]] = {}
        for at, is_fact, one in self._order:
            if not is_fact and one["is"] == "PredictEndOfTurn":
                asked[one["version"]] = at, one["text"]
            elif is_fact and one["is"] == "EndOfTurnPredicted" and one["version"] in asked:
                began, text = asked[one["version"]]
                found[text] = at - began, one["probability"]
        return found

    # -- tools

    def tools(self) -> list[Gives]:
        """What tools gave, in the order in which they began."""
        return [_given(run) for run in self._runs().values()]

    def own_tools(self) -> list[str]:
        """Names of those that changed the call itself."""
        return sorted({run.name for run in self._runs().values() if run.is_own})

    def _runs(self) -> dict[int, _Run]:
        runs: dict[int, _Run] = {}
        heard: dict[int, float] = {}  # by run: when the caller was last heard while it ran
        for at, is_fact, one in self._order:
            if is_fact and one["is"] in _CALLERS:
                heard = dict.fromkeys(runs, at)
            if not is_fact and one["is"] == "RunTool":
                runs[one["run"]] = _Run(one["call"]["name"], one["call"]["arguments"], at)
            elif is_fact and (run := runs.get(one.get("run", -1))) is not None:
                self._tell(run, at if at > heard.get(one["run"], -1.0) else at + _BEHIND, one)
            elif is_fact and one["is"] == "ContextChanged":
                for run in runs.values():
                    run.sees_another_agent()
            elif is_fact and one["is"] == "CloseRequested" and one.get("reason") not in _BY_CALLER:
                for run in runs.values():
                    run.sees_the_end()
        return runs

    def _tell(self, run: _Run, at: float, fact: Mapping[str, Any]) -> None:
        if fact["is"] == "SpeechRequested":
            run.asks_to_say(at, fact, self._text_of(fact["speech"]))
        elif fact["is"] == "ToolReturned" and not (at >= self.ended and fact.get("is_error")):
            run.returns(at, fact)  # else it was cut off by the end of the call
        elif fact["is"] in ("AgentTaskStarted", "HandOffRequested"):
            run.changes_the_call()
        elif fact["is"] == "ToolUpdated":
            run.reports(at, fact)
        elif fact["is"] == "RunSuspended":
            run.waits()

    def _text_of(self, speech: int) -> str:
        """What a speech that the application asked for was to say."""
        made = next((one for _, one in self._commands if one["is"] == "Speak" and one["speech"] == speech), None)
        if made is None:
            return ""
        if made.get("text") is not None:
            return str(made["text"])
        return next((f["text"] for _, f in self._facts if f["is"] == "StepGenerated" and f["gen"] == made["gen"]), "")


def _placed(does: CallerDoes, spoken: Sequence[tuple[float, float]]) -> CallerDoes:
    """Where in the agent's speech it was said, or how long after it."""
    into = next((does.at - begin for begin, end in spoken if begin < does.at < end - 0.05), None)
    ends = [end for _, end in spoken if end <= does.at]
    return replace(does, into=into, pause=does.at - ends[-1] if ends else does.at)


def _utterances(
    began: tuple[float, float], ended: tuple[float, float] | None, words: Sequence[tuple[float, str, bool]]
) -> list[Says]:
    """What was understood of one stretch of voice: each final text is one of its own."""
    finals = [number for number, (_, _, is_final) in enumerate(words) if is_final]
    until, silence = ended or (began[0] + 0.2, 0.2)
    if not finals:
        interims = [(at, text) for at, text, _ in words]
        return [Says("", began[0], until, until, interims, voice=began[1], silence=silence)]
    said: list[Says] = []
    before = 0
    for number in finals:
        at, text, _ = words[number]
        interims = [(when, interim) for when, interim, _ in words[before:number]]
        first = not said
        span = (began[0], until) if first else (at, at)
        said.append(Says(text, *span, at, interims, voice=began[1], silence=silence))
        before = number + 1
    return said


def _given(run: _Run) -> Gives:
    spoke = run.spoke
    try:
        arguments = json.loads(run.arguments or "{}")
    except ValueError:
        arguments = {"raw": run.arguments}
    fact = run.returned
    if fact is None or run.ended is None:
        return Gives(run.name, arguments, never=True, spoke=spoke)
    output: str | None = fact["output"]
    failed = ""
    if fact.get("is_error"):
        failed = "unknown" if fact.get("unknown") else "refused"
        failed = "broke" if str(output).startswith(_INTERNAL_ERROR) else failed
    elif not fact.get("reply", True) and not output:
        output = None
    return Gives(run.name, arguments, output, run.ended - run.began, failed, spoke=spoke)  # type: ignore[arg-type]
