"""The page of documentation that `surface` makes: `python -m antiphon_livekit.page > docs/livekit.md`."""

from __future__ import annotations

from collections import Counter

from antiphon_livekit.agents import AGENT_OPTIONS_WITHOUT_EFFECT
from antiphon_livekit.names import Name
from antiphon_livekit.servers import SERVER_OPTIONS_WITHOUT_EFFECT
from antiphon_livekit.sessions import SESSION_OPTIONS_WITHOUT_EFFECT, START_OPTIONS_WITHOUT_EFFECT
from antiphon_livekit.surface import MODULES
from antiphon_livekit.vendors import OTHER_VENDORS, VENDORS_BY_PYDANTIC_AI

_HEAD = """\
# Programs written for LiveKit Agents

An agent file that imports `livekit.agents` and `livekit.plugins` runs unchanged:

```shell
antiphon console --livekit agent.py     # type to it
antiphon call --livekit agent.py --say "Hello" "A table for two, please"
```

LiveKit need not be installed; where it is, it is not touched. In a program of your own:

```python
from antiphon.compat import livekit

livekit.install()      # imports of livekit.agents and livekit.plugins resolve here from now on
...
livekit.uninstall()    # and back
```

`livekit.rtc` is ours, too. `livekit.api` is the real one where it is installed, else the types that agent files use.
Names that are absent are an `ImportError` that says what to use instead.

## What differs in a call

- The rules of interruption, background work and hand-offs are those of this framework: a caller is answered while a
  tool runs, results are delivered once, calls that write are not undone by words.
- `max_tool_steps=N` allows N + 1 rounds of tool calls, as LiveKit's does.
- The room is in this process: one caller, who is there from the start. What is published to it reaches nobody.
- Models whose key is missing, or that are not built, give way to local ones, with one line that says so.
- Options that have no effect here are accepted and told once, as a warning of the logger `antiphon.livekit`; options
  that nobody knows are a `TypeError`.
"""


def page() -> str:
    """The whole page, in Markdown."""
    counts = Counter(name.status for names in MODULES.values() for name in names)
    parts = [_HEAD, "## Options without effect\n\n" + "\n".join(_options()) + "\n"]
    parts.append(
        "## Names\n\n"
        + f"{counts['supported']} supported, {counts['different']} different, {counts['absent']} absent. A name that"
        " several modules have is counted in each.\n"
    )
    vendors = {f"livekit.plugins.{vendor}" for vendor in OTHER_VENDORS}
    parts += [_module(module, names) for module, names in MODULES.items() if names and module not in vendors]
    parts.append(
        "### Other vendors\n\nThese plugins can be imported and their models made. The language models of "
        f"{', '.join(VENDORS_BY_PYDANTIC_AI)} are used, by way of pydantic-ai (extra `pydantic-ai`), where the vendor's"
        " package and key are there; a local model takes the place of all others.\n\n| plugin | models |\n|---|---|\n"
        + "\n".join(f"| `livekit.plugins.{vendor}` | {kinds} |" for vendor, kinds in OTHER_VENDORS.items())
        + "\n"
    )
    return "\n".join(parts)


def _options() -> list[str]:
    groups = {
        "AgentSession": SESSION_OPTIONS_WITHOUT_EFFECT,
        "session.start": START_OPTIONS_WITHOUT_EFFECT,
        "Agent, AgentTask": AGENT_OPTIONS_WITHOUT_EFFECT,
        "AgentServer, rtc_session, WorkerOptions": SERVER_OPTIONS_WITHOUT_EFFECT,
    }
    return [f"- {where}: {', '.join(f'`{name}`' for name in names)}" for where, names in groups.items()]


def _module(module: str, names: list[Name]) -> str:
    rows = [f"| `{name.name}` | {name.status} | {name.note} |" for name in names]
    return "\n".join([f"### {module}", "", "| name | here | |", "|---|---|---|", *rows, ""])


if __name__ == "__main__":
    print(page(), end="")
