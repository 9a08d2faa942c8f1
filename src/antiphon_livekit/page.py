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
antiphon console agent.py     # type to it
antiphon call agent.py --say "Hello" "A table for two, please"
```

A file that imports `livekit.agents` and nothing of `antiphon` is taken for one; a line says so. `--livekit` says it of
a file that leaves the import to another.

To go live, see below. LiveKit need not be installed; where it is, it is not touched. In a program of your own:

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
- Without a LiveKit server the room is in this process: one caller, who is there from the start. What is published to it
  reaches nobody. In a room of a server `ctx.room` has all that LiveKit's own has, and `ctx.api` is `LiveKitAPI`.
- Models whose key is missing, or that are not built, give way to local ones, with one line that says so.
- Options that have no effect here are accepted and told once, as a warning of the logger `antiphon.livekit`; options
  that nobody knows are a `TypeError`.

## Going live: calls from a LiveKit server

Any agent file, written for LiveKit or not, takes calls from a LiveKit server:

```shell
pip install 'antiphon[livekit]'
export LIVEKIT_URL=wss://... LIVEKIT_API_KEY=... LIVEKIT_API_SECRET=...
antiphon start agent.py                # a worker: calls as the server sends them
antiphon connect agent.py --room NAME  # one room, without dispatch
```

```python
server = AgentServer(setup_fnc=load_what_is_dear, load_threshold=0.7, drain_timeout=1800)

@server.rtc_session                            # every new room gets it
async def reception(ctx: JobContext): ...

async def only_by_day(request: JobRequest):
    if open_now():
        await request.accept(name="Maria", attributes={"desk": "2"})
    else:
        await request.reject("closed")

@server.rtc_session(agent_name="billing", on_request=only_by_day)   # where a dispatch asks for it
async def billing(ctx: JobContext):
    account = json.loads(ctx.job.metadata)
    ctx.room.listen_to("the-customer", close_on_disconnect=True)
    await AgentSession(...).start(agent, room=ctx.room)
```

- **A job.** `ctx.connect()` joins the room, or else `session.start()` does. `ctx.job` has the id, the metadata, the
  agent's name, and the participant of a `type="participant"` or `"publisher"` job. `ctx.room.participants`,
  `ctx.wait_for_participant()`, `ctx.delete_room()`, `ctx.shutdown()`, `ctx.api`; `ctx.room.rtc` is LiveKit's own
  `Room`, for attributes, text streams and RPC.
- **Who is listened to.** The first person in the room, or whom `ctx.room.listen_to(identity)` names. Agents,
  recorders and other machines are no callers.
- **The end.** The agent leaves as soon as the caller has hung up. A caller who is lost, or not back after a
  reconnection, has 30 s. With `close_on_disconnect=False` it stays.
- **Front ends of LiveKit's** see what they expect: `lk.agent.state`, `lk.transcription` (text streams and packets),
  and may type into `lk.chat`. What a caller says before the agent is there (`preConnectBuffer` of the front end, which
  LiveKit's client records) is heard first: no first word is lost.
- **Load.** A worker reports how busy its process is, or its machine where that is more (`load_fnc=` measures
  otherwise), and takes nothing from `load_threshold` on. Why none come is told in the log.
- **Stopping.** At SIGTERM or Ctrl-C it takes no more calls and waits for those that are on, `drain_timeout` or
  `--drain` seconds; what is left is ended, and has `write_grace` (30 s) for tools that write. A second signal gives
  all of them `close_grace` (1 s), a third ends the process.
- **A server that is gone** costs no call as long as its rooms live. The worker comes back within seconds of its
  return: a dispatch that finds no worker is lost for good.
- **Processes, health, figures, deployment**: [going live](deploy.md). Options of LiveKit's servers mean there:
  `port` and `host` are those of health and figures, `prometheus_port` is a further one, `job_memory_limit_mb` and
  `job_memory_warn_mb` are a worker's, `initialize_process_timeout` is what a coroutine function `prewarm_fnc` has.
- Not yet: `lk.agent.session`, options of rooms in files written for LiveKit (`RoomOptions`,
  `auto_subscribe`: only the caller's microphone is subscribed to).
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
    }
    listed = [f"- {where}: {', '.join(f'`{name}`' for name in names)}" for where, names in groups.items()]
    reasons = "; ".join(f"`{name}` ({why})" for name, why in SERVER_OPTIONS_WITHOUT_EFFECT.items())
    return [*listed, f"- AgentServer, rtc_session, WorkerOptions: {reasons}"]


def _module(module: str, names: list[Name]) -> str:
    rows = [f"| `{name.name}` | {name.status} | {name.note} |" for name in names]
    return "\n".join([f"### {module}", "", "| name | here | |", "|---|---|---|", *rows, ""])


if __name__ == "__main__":
    print(page(), end="")
