# ruff: noqa: E501  # cases stand beside what is said of them
"""Cases become calls, and what is not as expected is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from antiphon.errors import UsageError
from antiphon.evaluation import Cases, Evaluation, Settings, compare, evaluate
from antiphon.evaluation.report import as_json, as_junit, as_lines
from antiphon.testing import FakeLLM

AGENT = """
from antiphon import Agent, AgentServer, AgentSession, RunContext, ToolError, function_tool
from antiphon.testing import FakeLLM, Reply

calls = 0

@function_tool(effect="reads")
async def check(day: str, guests: int) -> str:
    '''Check a day.'''
    return f"{day} is free for {guests}."

@function_tool(effect="writes")
async def book(ctx: RunContext, day: str) -> str:
    '''Book a day.'''
    ctx.userdata["booked"] = {"day": day, "by": "Ann"}
    return "Booked."

class Kitchen(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="You cook.")

@function_tool
async def to_kitchen() -> Agent:
    '''Hand over.'''
    return Kitchen()

def answer(request):
    last = [item for item in request.chat_ctx.items if item.type in ("message", "function_call_output")][-1]
    if last.type == "function_call_output":
        return f"So it is: {last.output}"
    words = last.text_content
    if "table" in words:
        return Reply(calls=[("check", {"day": "Friday", "guests": GUESTS})])
    if "book" in words:
        return Reply(calls=[("check", {"day": "Friday", "guests": 2}), ("book", {"day": "Friday"})])
    if "kitchen" in words:
        return Reply(calls=[("to_kitchen", {})])
    return "Good day."

def flaky(request):
    global calls
    last = request.chat_ctx.items[-1]
    if getattr(last, "role", "") == "user" and "table" in last.text_content:
        calls += 1
        if calls % 2:
            return "I do not know."
    return answer(request)

server = AgentServer()

@server.rtc_session
async def entrypoint(session: AgentSession):
    agent = Agent(instructions="Help.", tools=[check, book, to_kitchen], llm=FakeLLM(ANSWER))
    await session.start(agent=agent, room=session.room)
"""


def file_of(folder: Path, *, guests: int = 3, answer: str = "answer", name: str = "agent") -> Path:
    path = folder / f"{name}.py"
    path.write_text(AGENT.replace("GUESTS", str(guests)).replace("ANSWER", answer), encoding="utf-8")
    return path


def run(folder: Path, case: dict[str, Any], *, settings: Settings | None = None, **file: Any) -> Evaluation:
    cases = Cases.model_validate({"cases": [{"name": "one", **case}]})
    return evaluate(file_of(folder, **file), cases, settings)


TABLE = {"tool": "check", "arguments": {"guests": 3}}


@pytest.mark.parametrize(
    "case",
    [
        {"say": "A table?", "expect": TABLE},
        {"say": "A table?", "expect": {"tool": "check", "arguments": {"day": {"matches": "^fri"}}}},
        {"say": "A table?", "expect": {"tool": "check", "arguments": {"day": "friday", "guests": {"one_of": [2, 3]}}}},
        {"say": "A table?", "expect": {"says": "free for 3", "not_tools": "book"}},
        {"say": "book it", "expect": {"calls": [{"tool": "check"}, {"tool": "book"}]}, "state": {"booked": {"day": "Friday"}}},
        {"say": "Hello", "expect": {"no_tools": True, "not_says": ["sorry"]}},
        {"say": "the kitchen", "expect": {"handoff": "Kitchen"}},
        {"turns": [{"say": "Hello"}, {"say": "A table?", "expect": TABLE}]},
        {"say": "A table?", "expect": {"says": "full"}, "mocks": {"check": "It is full."}},
        {"say": "A table?", "expect": {"says": "no line"}, "mocks": {"check": {"error": "There is no line."}}},
    ],
)  # fmt: skip
def test_a_case_passes_when_all_is_as_expected(case: dict[str, Any], tmp_path: Path) -> None:
    (result,) = run(tmp_path, case).results
    assert result.failures == {}
    assert result.passes == len(result.runs) == 1


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ({"say": "A table?", "expect": {"tool": "book"}}, "turn 1: expected a call of book, got check(day='Friday', guests=3)"),
        ({"say": "A table?", "expect": {"tool": "check", "arguments": {"guests": 4}}}, "turn 1: expected check(guests=4), got check("),
        ({"say": "A table?", "expect": {"no_tools": True}}, "turn 1: expected no call, got check("),
        ({"say": "book it", "expect": {"not_tools": ["book"]}}, "turn 1: book was called, and may not be"),
        ({"say": "book it", "expect": {"calls": [{"tool": "book"}, {"tool": "check"}]}}, "turn 1: expected a call of check, got check("),
        ({"say": "Hello", "expect": {"says": "evening"}}, "turn 1: expected 'evening' in the answer, got 'Good day.'"),
        ({"say": "Hello", "expect": {"not_says": "good"}}, "turn 1: 'good' is in the answer"),
        ({"say": "Hello", "expect": {"handoff": "Kitchen"}}, "turn 1: expected Kitchen in charge"),
        ({"say": "book it", "state": {"booked": {"day": "Monday"}}}, "state: expected booked = {'day': 'Monday'}, got {'day': 'Friday', 'by': 'Ann'}"),
        ({"say": "book it", "state": {"paid": True}}, "state: expected paid = True, got None"),
    ],
)  # fmt: skip
def test_what_is_not_as_expected_is_said(case: dict[str, Any], why: str, tmp_path: Path) -> None:
    (result,) = run(tmp_path, case).results
    assert result.passes == 0
    (failure,) = result.failures
    assert failure.startswith(why)


def test_a_case_is_made_as_often_as_it_says_and_its_rate_has_an_interval(tmp_path: Path) -> None:
    found = run(tmp_path, {"say": "A table?", "expect": TABLE, "repeats": 10}, answer="flaky")
    (result,) = found.results
    assert (result.passes, len(result.runs)) == (5, 10)
    assert list(result.interval) == pytest.approx([0.2366, 0.7634], abs=1e-4)
    assert result.failures == {"turn 1: expected check(guests=3), got no call": 5}
    assert found.is_at_least(0.5) and not found.is_at_least(0.6)
    again = run(tmp_path, {"say": "A table?", "expect": TABLE}, settings=Settings(repeats=4, at_once=1))
    assert again.runs == 4


def test_an_intent_is_judged_by_a_model_and_without_one_refused_in_words(tmp_path: Path) -> None:
    case = {"say": "Hello", "expect": {"intent": "greets the caller"}}
    with pytest.raises(UsageError, match=r"case 'one' expects an intent.*Name one with --judge"):
        run(tmp_path, case)
    judge = FakeLLM(lambda request: "YES\nIt does.")
    assert run(tmp_path, case, settings=Settings(judge=judge)).passes == 1
    assert "Intent: greets the caller\n\nMessage: Good day." in judge.histories[0][-1]
    (result,) = run(tmp_path, case, settings=Settings(judge=FakeLLM(["NO\nIt is curt."]))).results
    assert result.failures == {"turn 1: the answer does not do this: greets the caller (NO It is curt.)": 1}


def test_two_versions_are_compared_case_by_case_and_together(tmp_path: Path) -> None:
    case = {"say": "A table?", "expect": TABLE, "repeats": 20}
    good = run(tmp_path, case)
    bad = run(tmp_path, case, guests=2, name="worse")
    one, together = compare(good, bad)
    assert (one.passes, one.other_passes) == (20, 0)
    assert one.better > 0.999999 and not one.is_worse()
    assert together.name == "all" and together.real == one.real
    assert compare(bad, good)[0].is_worse()
    same = compare(good, good)[0]
    assert same.better == pytest.approx(0.5) and not same.is_worse()


def test_what_came_of_it_is_told_to_people_and_to_programs(tmp_path: Path) -> None:
    good = run(tmp_path, {"name": "<a & b>", "say": "A table?", "expect": TABLE, "repeats": 2})
    bad = run(tmp_path, {"name": "<a & b>", "say": "A table?", "expect": TABLE, "repeats": 2}, guests=2, name="worse")
    told = "\n".join(as_lines(bad, at_least=1.0, compared=compare(bad, good), beside="agent.py"))
    assert "FAIL  0/2   0 % (0 to 66 %)  <a & b>" in told
    assert "2 times: turn 1: expected check(guests=3), got check(day='Friday', guests=2)" in told
    assert "worse by 100 points, real with 95 %" in told

    data = as_json(bad, at_least=1.0, other=good, compared=compare(bad, good))
    assert data["passed"] is False and data["beside"]["passes"] == 2
    assert data["cases"][0]["calls"][0]["calls"] == ["check(day='Friday', guests=2)"]

    from xml.etree import ElementTree

    suite = ElementTree.fromstring(as_junit(bad.agent, bad.results, at_least=1.0)).find("testsuite")
    assert suite is not None and suite.attrib["failures"] == "1"
    case = suite.find("testcase")
    assert case is not None and case.attrib["name"] == "<a & b>"
    assert ElementTree.fromstring(as_junit(good.agent, good.results, at_least=1.0)).findall(".//failure") == []
