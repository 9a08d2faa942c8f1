"""A recorded call as a test in a file of its own: what the caller, the model and tools did, and what must be so.

Above: `antiphon replay --to-test`. Below: the call and the expectations. The file needs no record: a person can read
it, change it, and keep it with the agent.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from antiphon.records.format import Record
from antiphon.rerun.call import Answers, CallerDoes, Gives, RecordedCall, Spoke, Types
from antiphon.rerun.expecting import Expectation
from antiphon.rerun.running import Settings

_WIDTH = 110

_HEAD = '''"""Call {id} of {day}, made again: {expected}

Written by `antiphon replay --to-test`. As long as the agent asks its model what it asked then, the
model answers what it answered; from the first request that is another one,
{model} answers. Tools give what they gave{run}.
"""

from pathlib import Path

from antiphon.rerun import {names}

AGENT = Path(__file__).parent / {agent}

CALL = RecordedCall(
{fields}
)


def {test}() -> None:
    call = rerun(AGENT, CALL{settings})
{asserts}
'''


def as_test(
    record: Record,
    call: RecordedCall,
    expectations: Sequence[Expectation],
    *,
    agent: Path,
    file: Path,
    settings: Settings,
) -> str:
    """The file's text. `file` is where it will be, `agent` the agent file that it calls."""
    fields = _fields(call)
    told = _settings(settings)
    body = "\n".join(fields)
    used = ["RecordedCall", *(name for name in ("Answers", "Gives", "Says", "Spoke", "Types") if f"{name}(" in body)]
    names = ", ".join(sorted([*used, *(["Settings"] if told else []), "rerun"]))
    llm = settings.models.get("llm")
    return _HEAD.format(
        id=record.id,
        day=datetime.fromtimestamp(record.began, UTC).strftime("%Y-%m-%d %H:%M UTC"),
        expected=_escaped("; ".join(map(_in_words, expectations))),
        model=llm if llm else "its own model",
        run=f", but for {', '.join(settings.run_tools)}, which run" if settings.run_tools else "",
        names=names,
        agent=_text(os.path.relpath(agent.resolve(), file.resolve().parent)),
        fields=body,
        test=_name(expectations),
        settings=f", {told}" if told else "",
        asserts="\n".join(f"    {_assert(one)}" for one in expectations),
    )


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', "'''")


def _in_words(one: Expectation) -> str:
    passed = ", ".join(f"{name}={value!r}" for name, value in one.arguments.items())
    match one.kind, one.is_not:
        case "tool", False:
            return f"{one.name}({passed}) is expected"
        case "tool", True:
            return f"{one.name}({passed}) must not be called"
        case "once", _:
            return f"{one.name}({passed}) is expected, once"
        case "says", False:
            return f"the agent is to say {one.name!r}"
        case "says", True:
            return f"the agent must not say {one.name!r}"
        case _:
            about = f" of {one.arguments['tool']}" if one.arguments else ""
            return f"there must be no {one.name}{about}"


def _name(expectations: Sequence[Expectation]) -> str:
    one = expectations[0]
    words = {"tool": "calls", "once": "calls_once", "says": "says", "problem": "has"}[one.kind]
    no = {"tool": "never_", "once": "never_", "says": "never_", "problem": "no_"}[one.kind] if one.is_not else ""
    what = f"has_no_{one.name}" if one.kind == "problem" else f"{no}{words}_{one.name}"
    return "test_it_" + (re.sub(r"\W+", "_", what).strip("_").lower()[:60] or "goes_as_expected")


def _assert(one: Expectation) -> str:
    method = {
        ("tool", False): "expect_tool",
        ("tool", True): "expect_no_tool",
        ("once", False): "expect_once",
        ("once", True): "expect_no_tool",
        ("says", False): "expect_says",
        ("says", True): "expect_never_says",
    }.get((one.kind, one.is_not), "expect_no_problem")
    name = f"r{_text(one.name)}" if one.kind == "says" and "\\" in one.name and '"' not in one.name else _text(one.name)
    name = name.replace("\\\\", "\\") if name.startswith("r") else name
    if all(key.isidentifier() for key in one.arguments):
        passed = [f"{key}={_value(value)}" for key, value in one.arguments.items()]
    else:
        passed = [f"**{_value(dict(one.arguments))}"]
    return f"call.{method}({', '.join([name, *passed])})"


def _settings(settings: Settings) -> str:
    passed = []
    if settings.models:
        passed.append(f"models={_value(dict(settings.models))}")
    if settings.run_tools:
        passed.append(f"run_tools={_value(list(settings.run_tools))}")
    if not settings.asks_others:
        passed.append("asks_others=False")
    return f"Settings({', '.join(passed)})" if passed else ""


# -- the call


def _fields(call: RecordedCall) -> list[str]:
    lines = [*_list("caller", map(_caller, call.caller)), *_list("answers", map(_answer, call.answers))]
    lines += _list("tools", map(_gives, call.tools))
    lines.append(f"    ended={_number(call.ended)},")
    if call.by_agent:
        lines.append("    by_agent=True,")
    if call.in_the_middle:
        lines.append("    in_the_middle=True,")
    if call.predictions:
        lines.append(f"    predictions={_value({k: (_r(a), _r(b)) for k, (a, b) in call.predictions.items()})},")
    if call.voice and (abs(call.pace - 0.06) > 1e-9 or abs(call.first_sound - 0.05) > 1e-9):
        lines.append(f"    pace={_number(call.pace)}, first_sound={_number(call.first_sound)},")
    if call.paces:
        lines.append(f"    paces={_value([(text, _r(pace)) for text, pace in call.paces])},")
    if call.own_tools:
        lines.append(f"    own_tools={_value(list(call.own_tools))},")
    return lines


def _made(name: str, parts: Sequence[str]) -> str:
    """A call of a class: on one line, or with a line for each argument where that is too long."""
    line = f"{name}({', '.join(parts)})"
    return line if len(line) <= _WIDTH else f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + ")"


def _indented(text: str) -> str:
    return "\n".join(f"        {line}" for line in text.splitlines()) + ","


def _list(name: str, made: Iterable[str]) -> list[str]:
    rows = [_indented(one) for one in made]
    return [f"    {name}=[", *rows, "    ],"] if rows else [f"    {name}=[],"]


def _caller(does: CallerDoes) -> str:
    more = [] if does.into is None else [f"into={_number(does.into)}"]
    if does.into is None and abs(does.pause - 0.4) > 0.05:
        more.append(f"pause={_number(does.pause)}")
    if isinstance(does, Types):
        behind = [f"behind={does.behind}"] if does.behind else []
        return _made("Types", [_text(does.text), f"at={_number(does.at)}", *more, *behind])
    times = [f"at={_number(does.at)}", f"until={_number(does.until)}"]
    if does.understood is not None and does.text and abs(does.understood - does.until - 0.1) > 1e-3:
        times.append(f"understood={_number(does.understood)}")
    if does.earlier:
        times.append(f"earlier={_value([(_r(at), text) for at, text in does.earlier])}")
    for name, usual in (("voice", 0.05), ("silence", 0.2)):
        if abs(getattr(does, name) - usual) > 0.004:
            times.append(f"{name}={_number(getattr(does, name))}")
    return _made("Says", [_text(does.text), *times, *more])


def _answer(answer: Answers) -> str:
    parts = [_text(answer.text)] if answer.text else []
    if answer.calls:
        parts.append(f"calls=[{', '.join(_call(*one) for one in answer.calls)}]")
    parts.append(f"after={_number(answer.after)}")
    if answer.until is not None and answer.until - answer.after > 1e-3:
        parts.append(f"until={_number(answer.until)}")
    if answer.outcome != "done":
        parts.append(f"outcome={_text(answer.outcome)}")
        parts.append(f"pieces={_value([[_r(at), what] for at, what in answer.pieces])}")
    if answer.error:
        parts.append(f"error={_text(answer.error)}")
    return _made("Answers", [*parts, f"asked={_text(answer.asked)}"])


def _call(name: str, arguments: Mapping[str, Any] | str, call_id: str = "") -> str:
    if isinstance(arguments, str):
        try:
            read = json.loads(arguments or "{}")
            arguments = read if isinstance(read, dict) else arguments
        except ValueError:
            pass
    return f"({_text(name)}, {_value(arguments)})"


def _gives(gives: Gives) -> str:
    parts = [_text(gives.tool), _value(dict(gives.arguments))]
    if gives.never:
        parts.append("never=True")
    else:
        parts.append("None" if gives.output is None else _text(gives.output))
    if gives.after > 1e-6:
        parts.append(f"after={_number(gives.after)}")
    if gives.failed:
        parts.append(f"failed={_text(gives.failed)}")
    if gives.spoke:
        parts.append(f"spoke=[{', '.join(map(_spoke, gives.spoke))}]")
    return _made("Gives", parts)


def _spoke(spoke: Spoke) -> str:
    parts = [_text(spoke.text), f"after={_number(spoke.after)}"]
    parts += [f"{name}=True" for name in ("waited", "is_reply", "is_update") if getattr(spoke, name)]
    parts += [] if spoke.interruptible else ["interruptible=False"]
    parts += [] if spoke.instructions is None else [f"instructions={_text(spoke.instructions)}"]
    return f"Spoke({', '.join(parts)})"


def plain(call: RecordedCall) -> RecordedCall:
    """The call as a test has it: answers come in one piece, and times are as exact as a person can read."""
    answers = [
        replace(one, pieces=(), calls=[(name, arguments) for name, arguments, *_ in one.calls])
        if one.outcome == "done"
        else one
        for one in call.answers
    ]
    caller: list[CallerDoes] = []
    for one in call.caller:
        comes_alone = isinstance(one, Types) and not (caller and one.at - caller[-1].at < 1e-3)
        caller.append(replace(one, behind=0) if comes_alone and isinstance(one, Types) else one)
    return replace(call, answers=answers, caller=caller)


def _r(number: float) -> float:
    return round(number, 3)


def _number(number: float) -> str:
    return f"{round(number, 3):g}" if abs(number) < 1e5 else f"{number:.3f}"


def _text(text: str) -> str:
    """A Python string, in double quotes where that is as good."""
    return json.dumps(text, ensure_ascii=False) if "\u2028" not in text and text.isprintable() else repr(text)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_value(key)}: {_value(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(map(_value, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    return repr(value)
