"""Each extra in an environment of its own: a command or a program works, or one line says what to install.

    make prove-install               all of them
    python -m tests.installs audio   only these

Above: `make prove-install`. Below: pip, and the package index. It takes minutes; `tests/test_install.py` is quick.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

AGENT = "from antiphon import Agent\n\nagent = Agent(instructions='Be brief.')\n"
TALK = ("antiphon", "call", "agent.py", "--say", "Hello", "--no-store")
LISTS = ("antiphon", "console", "--list-devices")


@dataclass(frozen=True, slots=True)
class Trial:
    """What somebody does who has installed one extra and nothing else."""

    command: Sequence[str]
    codes: tuple[int, ...] = (0,)
    says: str = ""
    """What stands in what it says."""


def _python(code: str) -> tuple[str, ...]:
    return ("python", "-c", code)


TRIALS: Mapping[str, Trial] = {
    "": Trial(TALK, (2,), "pip install 'antiphon["),
    "cli": Trial(TALK, says="Running with"),
    "local": Trial(("antiphon", "call", "agent.py", "--say", "Hello", "--out", "call.wav"), (0, 2), ""),
    "dev": Trial(TALK, says="Running with"),
    "server": Trial(TALK, says="Running with"),
    "audio": Trial(LISTS, (0, 1, 2)),
    "processing": Trial(_python("from antiphon import AudioProcessing; AudioProcessing()")),
    "mcp": Trial(_python("from antiphon import MCPToolset, MCPServerStdio")),
    "search": Trial(_python("from antiphon import ToolSearchToolset as T; T([])")),
    "tasks": Trial(_python("from antiphon.tasks import GetPhoneNumberTask as T; T()")),
    "openai": Trial(_python("from antiphon.providers.openai import LLM; LLM(api_key='x').require()")),
    "deepgram": Trial(_python("from antiphon.providers.deepgram import STT; STT(api_key='x').require()")),
    "cartesia": Trial(_python("from antiphon.providers.cartesia import TTS; TTS(api_key='x').require()")),
    "pydantic-ai": Trial(_python("from antiphon.providers.pydantic_ai import LLM; LLM('test')")),
    "telephone": Trial(_python("import httpx2, cryptography; from antiphon.server.telephone import CarrierApi")),
    "livekit": Trial(_python("import livekit.rtc, livekit.api; from antiphon.transports.livekit import LiveKitCall")),
    "webrtc": Trial(_python("import antiphon.transports.webrtc")),
    "postgres": Trial(_python("from antiphon.stores.postgres import PostgresStore")),
}
"""By extra; "" is the default install."""


def tried(extra: str, trial: Trial, folder: Path) -> str:
    """Install and try. Returns what went wrong, "" if nothing."""
    python = folder / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    what = f"{ROOT}[{extra}]" if extra else str(ROOT)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    environment = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    environment |= {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    environment |= {"HOME": str(folder), "ORT_DISABLE_TELEMETRY": "1"}
    installed = subprocess.run(
        [*pip, "--constraint", str(ROOT / "constraints.txt"), what], env=environment, capture_output=True, text=True
    )
    if installed.returncode:
        return f"it cannot be installed: {installed.stderr.strip().splitlines()[-1]}"
    (folder / "agent.py").write_text(AGENT)
    command = [str(python.with_name(trial.command[0])), *trial.command[1:]]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=180)
    said = done.stdout + done.stderr
    if done.returncode not in trial.codes:
        return f"exit code {done.returncode}, expected one of {trial.codes}: {said.strip()[-300:]}"
    if "Traceback" in said:
        return f"a traceback: {said.strip()[-300:]}"
    if done.returncode == 2 and "pip install" not in said:
        return f"no remedy in {said.strip()[-300:]}"
    return "" if trial.says in said else f"expected {trial.says!r} in {said.strip()[-300:]}"


def main() -> int:
    """Try the extras of the command line, else all; returns the exit code."""
    parser = argparse.ArgumentParser(description="Each extra in an environment of its own.")
    parser.add_argument("extra", nargs="*", help="only these")
    wanted = parser.parse_args().extra or list(TRIALS)
    failed = 0
    for extra in wanted:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            why = tried(extra, TRIALS[extra], Path(folder))
        failed += bool(why)
        name = f"antiphon[{extra}]" if extra else "antiphon"
        print(f"{'--' if why else 'ok':3} {name:<24} {time.monotonic() - began:4.0f} s  {why}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
