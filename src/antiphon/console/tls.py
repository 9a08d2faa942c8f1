"""Certificates for the page's address: browsers give the microphone to secure pages only, and to this machine's own.

The helper makes a certificate of its own for a name or address in the local network. No browser knows who signed it, so
each asks whether to go on; it is kept for as long as it is good, so that it asks once and not every day.
"""

from __future__ import annotations

import ipaddress
import os
import socket
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from antiphon import private
from antiphon.errors import UsageError

VALID = timedelta(days=365)
"""Some browsers refuse certificates that are good for longer than 398 days."""


@dataclass(slots=True, frozen=True)
class Certificate:
    """Files in PEM format."""

    chain: Path
    key: Path
    authority: Path | None = None
    """Who signed it, for a device that is to trust it without asking. Nobody has that key any more."""


def given_certificate(chain: Path | None, key: Path | None) -> Certificate | None:
    """The certificate that the command line names, if it does. Raises `UsageError` for half of one, or no files."""
    if chain is None and key is None:
        return None
    if chain is None or key is None:
        raise UsageError("--tls-cert and --tls-key belong together. Give both, or --tls alone.")
    for path in (chain, key):
        if not path.is_file():
            raise UsageError(f"no such certificate file: {path}. Give the path of a PEM file.")
    return Certificate(chain, key)


def own_certificate(names: tuple[str, ...], folder: Path | None = None) -> Certificate:
    """A self-signed certificate for these names and addresses, made anew when it is soon too old.

    Raises `UsageError` if trustme is not installed.
    """
    folder = folder or _cache_folder()
    stem = "_".join(sorted(name.replace(":", "-") for name in names))
    certificate = Certificate(folder / f"{stem}.pem", folder / f"{stem}.key", folder / f"{stem}.ca.pem")
    if not _is_good(certificate):
        _make(names, certificate)
    return certificate


def _make(names: tuple[str, ...], certificate: Certificate) -> None:
    try:
        import trustme
    except ImportError:
        raise UsageError("--tls: trustme is not installed. Install it with: pip install 'antiphon[dev]'") from None
    until = datetime.now(UTC) + VALID
    authority = trustme.CA(organization_name="Antiphon", organization_unit_name="antiphon dev --tls")
    issued = authority.issue_cert(*names, not_after=until)
    private.write(certificate.key, issued.private_key_pem.bytes())
    private.write(certificate.chain, b"".join(part.bytes() for part in issued.cert_chain_pems))
    if certificate.authority is not None:
        private.write(certificate.authority, authority.cert_pem.bytes())


def _is_good(certificate: Certificate) -> bool:
    """Whether it is there and will be for a month. It is as old as its file.

    A key that others could read is not good.
    """
    if not (certificate.chain.is_file() and certificate.key.is_file()):
        return False
    made = datetime.fromtimestamp(certificate.chain.stat().st_mtime, UTC)
    if private.is_open_to_others(certificate.key):
        return False
    return datetime.now(UTC) - made < VALID - timedelta(days=30)


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "antiphon" / "tls"


def lan_address() -> str | None:
    """This machine's address in the network that leads out, or None. Sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # reserved for documentation: only the way there is looked up
            address = str(probe.getsockname()[0])
        except OSError:
            return None
    return None if ipaddress.ip_address(address).is_loopback else address
