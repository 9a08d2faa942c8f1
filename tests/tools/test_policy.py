"""What follows from what a tool's author said."""

from typing import Any

import pytest

from antiphon.options import ToolPolicy
from antiphon.tools.function import ToolFlag, function_tool
from antiphon.tools.policy import policy_of


async def f() -> None: ...


@pytest.mark.parametrize(
    ("options", "policy"),
    [
        ({}, ToolPolicy(effect="unsaid", timeout=30.0, parallel=True)),
        ({"effect": "reads"}, ToolPolicy(effect="reads", timeout=30.0, parallel=True)),
        ({"effect": "writes"}, ToolPolicy(effect="writes", timeout=60.0, parallel=False)),
        ({"effect": "writes", "timeout": 5}, ToolPolicy(effect="writes", timeout=5, parallel=False)),
        ({"flags": ToolFlag.CANCELLABLE | ToolFlag.IGNORE_ON_ENTER}, ToolPolicy(cancellable=True)),
        ({"flags": ToolFlag.IGNORE_ON_ENTER}, ToolPolicy()),
        ({"filler": "One moment."}, ToolPolicy(filler="One moment.")),
        (
            {"on_duplicate": "reject", "duplicate_scope": "name_and_args"},
            ToolPolicy(on_duplicate="reject", duplicate_scope="name_and_args"),
        ),
    ],
)
def test_each_option_leads_to_its_policy(options: dict[str, Any], policy: ToolPolicy) -> None:
    assert policy_of(function_tool(f, **options)) == policy


def test_a_policy_is_made_once() -> None:
    tool = function_tool(f, effect="writes")
    assert policy_of(tool) is policy_of(tool.with_options(name="g"))
