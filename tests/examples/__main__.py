"""Write the transcripts of the examples into `docs/examples.md`: `python -m tests.examples`."""

from __future__ import annotations

import contextlib
import io

from antiphon.application import tool_tables
from antiphon.cli.call import Call
from tests.examples.commands import EXAMPLES, FILES, Command, commands, header
from tests.examples.test_examples import spoken, typed

PAGE = EXAMPLES.parent / "docs" / "examples.md"
BEGIN, END = "<!-- python -m tests.examples -->", "<!-- until here -->"
TITLES = {
    "receptionist": "A receptionist",
    "reservations": "Reservations, with a backend",
    "http_tools": "Tools over HTTP",
    "dynamic_tools": "Tools that change",
    "long_running": "A long search, interrupted",
    "flight_booking": "A flight, booked in the background",
    "restaurant": "A restaurant: hand-offs",
    "survey": "A survey: tasks",
    "emotion": "Emotion: structured output",
    "bank": "A bank: MCP, and a confirmed transfer",
    "reminder": "A reminder: calls to people",
    "own_provider": "A provider of one's own",
    "page_in_app": "The page inside a web application",
}


def transcript(call: Call) -> list[str]:
    """What was said and done, a line each, in the order of the call."""
    lines, ended = [], {made.call_id: made for made in call.report.tool_calls}
    for item in call.report.history:
        if item["type"] == "message" and item["role"] in ("user", "assistant"):
            lines.append(f"{'caller' if item['role'] == 'user' else 'agent '}  {' '.join(map(str, item['content']))}")
        elif item["type"] == "function_call" and item["call_id"] in ended:
            made = ended.pop(item["call_id"])
            arguments = ", ".join(f"{name}={value!r}" for name, value in made.arguments.items())
            lines.append(f"        {made.name}({arguments}): {made.status}")
    return lines


def section(name: str) -> str:
    about, _, rest = header(name).partition("\n\n")
    watch = " ".join(rest.partition("\n\n")[2].split())
    parts = [f'<a id="{name}"></a>\n\n## {TITLES[name]}\n\n`examples/{name}.py` · {about}\n\n{watch}\n']
    runs = ((command.line, "\n".join(transcript(call_of(command)))) for command in commands(name))
    parts += [f"\n```\n{line}\n\n{said}\n```\n" for line, said in runs]
    return "".join(parts)


def call_of(command: Command) -> Call:
    with contextlib.redirect_stderr(io.StringIO()):
        return spoken(command) if command.by_voice else typed(command)


def main() -> None:
    tool_tables.PATIENCE = 60.0  # type: ignore[attr-defined]  # a busy machine takes long to start the bank's process
    page = PAGE.read_text(encoding="utf-8")
    before, after = page.partition(BEGIN)[0], page.partition(END)[2]
    body = "\n".join(section(name) for name in TITLES)
    PAGE.write_text(f"{before}{BEGIN}\n\n{body}\n{END}{after}", encoding="utf-8")
    assert set(TITLES) == set(FILES)


if __name__ == "__main__":
    main()
