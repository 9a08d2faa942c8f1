"""What must be so at the end, and what is told where it is not; tools that do as they are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from antiphon.scenarios import simulate
from tests.scenarios.desk import AGENT, agent_file, called, said, scenarios_file


@pytest.mark.parametrize(
    ("expect", "why"),
    [
        (
            "{calls: [{tool: look_up, arguments: {day: Monday}}]}",
            "expected look_up(day='Monday'), got look_up(",
        ),
        ("{never_calls: look_up}", "look_up was called, and may not be"),
        (
            "{never_calls: [{tool: look_up, arguments: {day: friday}}]}",
            "look_up(day='friday') was called",
        ),
        ("{no_calls: true}", "expected no call, got look_up(day='Friday')"),
        ("{says: closed}", "expected to hear 'closed', got 'So it is"),
        ("{never_says: at nine}", "'at nine' was heard, and may not be: 'So it is: Friday is free at nine"),
        ("{max_answer: 0.1}", "expected answers within 0.1 s, got one after"),
        ("{max_duration: 3}", "expected a call of at most 3 s, got"),
        ("{state: {booked: Friday}}", "state: expected booked = 'Friday', got None"),
        ("{handoff: Kitchen}", "expected Kitchen in charge, got Agent default_agent"),
    ],
)
def test_what_is_not_so_is_told_with_what_is(expect: str, why: str, tmp_path: Path) -> None:
    made = called(tmp_path, "{wishes: [Is it free]}", expect=expect)
    assert any(failure.startswith(why) for failure in made.failures), made.failures
    assert len(made.failures) == 1


def test_the_same_write_twice_is_found_whatever_is_expected(tmp_path: Path) -> None:
    caller = "{wishes: [Ann, Ann again]}"
    assert called(tmp_path, caller).failures == ('book({"day": "Friday"}) was done 2 times: one wish, one write',)
    assert called(tmp_path, caller, expect="{one_write_a_wish: false}").failures == ()


def test_dead_air_is_what_nobody_filled(tmp_path: Path) -> None:
    made = called(tmp_path, "{wishes: [Is it free]}", expect="{max_dead_air: 0.3}")
    assert made.dead_air > 0.3
    assert made.failures[0].startswith("expected at most 0.3 s of dead air, got 0.")


def test_a_mocked_tool_refuses_then_takes_its_time_then_breaks(tmp_path: Path) -> None:
    each = "[{error: The diary is closed}, {returns: Monday, delay: 2}, {crash: no disk}]"
    made = called(
        tmp_path,
        "{wishes: [Is it free, Is it free now, Is it free today]}",
        expect="{says: [diary is closed, monday]}",
        more=f"tools: {{look_up: {{each: {each}}}}}",
    )
    assert made.failures == ()
    assert [call["status"] for call in made.calls] == ["error", "done", "error"]


def test_a_tool_that_breaks_unasked_fails_the_call(tmp_path: Path) -> None:
    file = agent_file(
        tmp_path, text=AGENT.replace('    return f"{day} is free', '    raise OSError("disk")\n    return f"{day}')
    )
    result = simulate(file, [scenarios_file(tmp_path, "{name: a, caller: {wishes: [Is it free]}}")]).results[0]
    assert result.runs[0].failures == ("the tool look_up raised",)


def test_chance_is_the_seeds(tmp_path: Path) -> None:
    more = "tools: {look_up: {returns: Monday, error: closed, chance: 0.5}}"
    both = {called(tmp_path, "{wishes: [Is it free]}", more=more, seed=seed).calls[0]["status"] for seed in range(1, 9)}
    assert both == {"done", "error"}
    one = [said(called(tmp_path, "{wishes: [Is it free]}", more=more, seed=3), "assistant") for _ in range(2)]
    assert one[0] == one[1]
