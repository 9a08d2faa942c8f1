"""A machine of its own for some programs, and ears for all that would leave it: DNS, TLS, and any other packet.

`Alone` runs programs in a network namespace where every address leads back to the namespace itself: a name server gives
any name an address, a listener takes any TLS connection, and whatever is sent elsewhere than to this machine's own
addresses is heard as a packet. `python -m tests.cli.alone` is the inside of it: it takes a list of programs as JSON on
standard input, prints a line for each thing that it hears, and ends the programs when the input ends.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOADED = "all have loaded onnxruntime"
OVER = "over: "
"""Begins the line with the exit codes of the programs."""
ELSEWHERE = bytes([198, 51, 100, 1])
"""The address of every name: one of documentation's."""
_KEPT = ("PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TMPDIR", "PYENV_ROOT", "PYENV_VERSION")
"""The variables that the programs inherit: what a program needs to start, and nothing that sets how it behaves."""


class Alone:
    """Programs in a namespace, each with `home` as its home directory. Skips the test where none can be made."""

    def __init__(self, home: Path, programs: Sequence[Sequence[str]]) -> None:
        prefix = ["unshare", "--net", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
        for program in ("unshare", "ip", "mount"):
            if shutil.which(program) is None:
                pytest.skip(f"needs the program {program}, to make a network namespace")
        tried = subprocess.run([*prefix, "ip", "link", "set", "lo", "up"], capture_output=True, text=True, timeout=10)
        if tried.returncode != 0:
            pytest.skip(f"needs a network namespace: unshare says {tried.stderr.strip()!r}")
        # What the test is about must not be settled by who runs it: onnxruntime is quiet where CI is set, for one.
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
        self._inside = subprocess.Popen(
            [*prefix, sys.executable, "-m", "tests.cli.alone"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment | {"HOME": str(home), "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        )
        self.heard: list[str] = []
        """What would have left, in order."""
        self.exit_codes: list[int | None] = []
        """How the programs ended; None for those that ran until `stop`."""
        self._news = threading.Condition()
        self._loaded = False
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        assert self._inside.stdin is not None
        self._inside.stdin.write(json.dumps([list(program) for program in programs]) + "\n")
        self._inside.stdin.flush()

    def __enter__(self) -> Alone:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def wait_loaded(self, timeout: float) -> None:
        """Until all programs have loaded onnxruntime."""
        self._wait(lambda: self._loaded, timeout, "onnxruntime was not loaded by all")

    def wait_heard(self, what: str, timeout: float) -> None:
        """Until something is heard in which this text occurs."""
        self._wait(lambda: any(what in line for line in self.heard), timeout, f"nothing with {what!r} was heard")

    def _wait(self, come: Callable[[], bool], timeout: float, otherwise: str) -> None:
        with self._news:
            assert self._news.wait_for(come, timeout), f"{otherwise} within {timeout} s; heard: {self.heard}"

    def stop(self) -> None:
        """End the programs that still run, and listen no more."""
        if self._inside.stdin is not None and not self._inside.stdin.closed:
            self._inside.stdin.close()
            try:
                self._inside.wait(30)
            except subprocess.TimeoutExpired:
                self._inside.kill()
                self._inside.wait()
            self._reader.join(10)
            assert self._inside.stdout is not None
            self._inside.stdout.close()

    def _read(self) -> None:
        assert self._inside.stdout is not None
        for line in self._inside.stdout:
            with self._news:
                if line.startswith(OVER):
                    self.exit_codes = json.loads(line.removeprefix(OVER))
                elif line.strip() == LOADED:
                    self._loaded = True
                else:
                    self.heard.append(line.strip())
                self._news.notify_all()


# -- inside


def main() -> None:
    """Run the programs of the first line of the input until the input ends."""
    programs: list[list[str]] = json.loads(sys.stdin.readline())
    with tempfile.NamedTemporaryFile("w") as resolver:
        resolver.write("nameserver 127.0.0.1\n")
        resolver.flush()
        for command in (
            "ip link set lo up",
            "ip route add local 0.0.0.0/0 dev lo",
            "ip -6 route add local ::/0 dev lo",
            f"mount --bind {resolver.name} /etc/resolv.conf",
        ):
            if subprocess.run(command.split(), check=False).returncode and " -6 " not in command:
                raise SystemExit(f"{command!r} failed")
        for listen in (_names, _secure, _packets):
            ready = threading.Event()
            threading.Thread(target=listen, args=(ready,), daemon=True).start()
            assert ready.wait(5)
        with contextlib.ExitStack() as stack:
            running = [stack.enter_context(_started(program)) for program in programs]
            threading.Thread(target=_tell_loaded, args=(running,), daemon=True).start()
            sys.stdin.read()
            codes = [one.poll() for one in running]
        print(f"{OVER}{json.dumps(codes)}", flush=True)


@contextlib.contextmanager
def _started(program: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=sys.stderr, start_new_session=True
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(8)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _tell_loaded(processes: list[subprocess.Popen[bytes]]) -> None:
    def has_loaded(process: subprocess.Popen[bytes]) -> bool:
        try:
            return "onnxruntime" in Path(f"/proc/{process.pid}/maps").read_text()
        except OSError:
            return False

    while not all(has_loaded(process) for process in processes):
        time.sleep(0.2)
    print(LOADED, flush=True)


def _names(ready: threading.Event) -> None:
    """A name server that knows every name."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 53))
        ready.set()
        while True:
            question, asker = server.recvfrom(2048)
            at, labels = 12, list[str]()
            while question[at]:
                labels.append(question[at + 1 : at + 1 + question[at]].decode("ascii", "replace"))
                at += 1 + question[at]
            is_a = question[at + 2] == 1
            answer = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04" + ELSEWHERE if is_a else b""
            counts = b"\x00\x01\x00" + bytes([is_a]) + bytes(4)
            server.sendto(question[:2] + b"\x81\x80" + counts + question[12 : at + 5] + answer, asker)
            print(f"DNS {'.'.join(labels)}", flush=True)


def _secure(ready: threading.Event) -> None:
    """Takes every connection to port 443, and hangs up after its first bytes."""
    with socket.create_server(("0.0.0.0", 443)) as server:
        ready.set()
        while True:
            connection, _ = server.accept()
            with connection:
                connection.settimeout(2)
                with contextlib.suppress(OSError):
                    first = connection.recv(4096)
                    print("TLS" if first[:1] == b"\x16" else f"TCP 443 {first[:20]!r}", flush=True)


def _packets(ready: threading.Event) -> None:
    """Every packet that is not for this machine's own addresses, once for each destination."""
    known: set[str] = set()
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3)) as ears:
        ready.set()
        while True:
            packet = ears.recv(65_536)
            to = _destination(packet)
            if to is not None and to not in known:
                known.add(to)
                print(f"packet {to}", flush=True)


def _destination(packet: bytes) -> str | None:
    if packet[0] >> 4 == 6:
        protocol, payload = packet[6], 40
        source, address = (ipaddress.ip_address(packet[at : at + 16]) for at in (8, 24))
    else:
        protocol, payload = packet[9], 4 * (packet[0] & 15)
        source, address = (ipaddress.ip_address(packet[at : at + 4]) for at in (12, 16))
    # An answer comes from elsewhere, and goes to the address from which somebody called there.
    if address.is_loopback or (source == address and int.from_bytes(packet[payload : payload + 2]) == 443):
        return None
    return f"{address} protocol {protocol} port {int.from_bytes(packet[payload + 2 : payload + 4])}"


if __name__ == "__main__":
    main()
