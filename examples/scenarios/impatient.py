"""A caller in Python: what no list of wishes says.

antiphon simulate examples/receptionist.py examples/scenarios
"""

from antiphon.scenarios import OnTheLine, scenario


@scenario(
    "coughs while the diary is slow",
    tools={"check_availability": {"returns": "Available slots for next Tuesday: 9:00 AM", "delay": 6}},
    expect={"calls": "check_availability", "max_dead_air": 1.6},
)
async def impatient(caller: OnTheLine) -> None:
    await caller.says("Do you have anything ... next Tuesday?")
    await caller.starts("check_availability")
    for _ in range(caller.rng.randint(1, 2)):
        await caller.waits(caller.rng.uniform(1.0, 2.0))
        await caller.coughs()
    await caller.hears("9:00", within=20)
    await caller.listens()
    caller.requires("2:00" not in caller.heard_in_all, "a slot was named that the diary does not have")
