"""`Secret`: a value that only code may see which asks for it.

Its text, its `repr` and its form in logs are a mask that says what it is. Two secrets are compared by a keyed hash
(`fingerprint`), so that who reads a store or a journal learns neither the value nor, from a list of all PINs, which
one it was.

Above: tools, whose parameters it types; the vault of a call. Below: the standard library.
"""

from __future__ import annotations

import logging
import os
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, NoReturn, Self, TypeVar

from antiphon import private
from antiphon.errors import UsageError

logger = logging.getLogger("antiphon")

T = TypeVar("T")

KEY_VARIABLE = "ANTIPHON_SECRETS_KEY"
"""The environment's key for fingerprints: at least `SHORTEST_KEY` characters, or the path of a file that has them."""

SHORTEST_KEY = 32


class Secret(Generic[T]):
    """A value that is shown as `[label]`, wherever it is shown. `reveal()` gives it.

    As the type of a tool's parameter (`pin: Secret[str]`): the model is told of a string, the tool gets a `Secret`,
    and history, logs, reports, journals, recordings, the page and events have its mask.
    """

    __slots__ = ("__weakref__", "_value", "label")

    def __init__(self, value: T, label: str = "secret") -> None:
        self._value = value
        self.label = label
        """What it is shown as, in brackets."""

    def reveal(self) -> T:
        """The value. Whoever asks for it keeps it out of texts."""
        return self._value

    def fingerprint(self) -> str:
        """32 hexadecimal digits, equal for equal values under one key, see `key_of_fingerprints`."""
        return fingerprint(repr(self._value.strip() if isinstance(self._value, str) else self._value))

    def masked_as(self, label: str) -> None:
        """It is shown so from now on."""
        self.label = label

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return self.fingerprint() == other.fingerprint()

    def __hash__(self) -> int:
        return hash(self.fingerprint())

    def __str__(self) -> str:
        return f"[{self.label}]"

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise UsageError("a Secret cannot be pickled or copied to another process. Pass what stands for it.")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Callable[[Any], Any]) -> Any:
        from pydantic_core import core_schema

        inner = (typing.get_args(source) or (str,))[0]
        return core_schema.no_info_after_validator_function(
            cls, handler(inner), serialization=core_schema.to_string_ser_schema()
        )


def holds_secret(annotation: Any) -> bool:
    """Whether values of this type may hold a `Secret`: `Secret[str] | None` and `list[Secret[str]]` may."""
    origin = typing.get_origin(annotation)
    if annotation is Secret or origin is Secret:
        return True
    return any(holds_secret(one) for one in typing.get_args(annotation))


def fingerprint(text: str) -> str:
    """A keyed hash: 32 hexadecimal digits, equal for equal texts under one key."""
    import hashlib  # most programs have no secrets
    import hmac

    return hmac.new(key_of_fingerprints.get(), text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:32]


class FingerprintKey:
    """The key of fingerprints: ANTIPHON_SECRETS_KEY; else a file, where calls are kept in a store; else a random one.

    It is settled when it is first asked for, and stays. A random one is gone with the process: nobody can compare with
    what it made. `environ` and `home` are the process's own; `path` is the file, if it is another one.
    """

    def __init__(
        self,
        environ: Mapping[str, str] | None = None,
        home: Path | None = None,
        *,
        path: Path | None = None,
        outlives_process: bool = False,
    ) -> None:
        self._environ = os.environ if environ is None else environ
        self._home = home
        self._path = path
        self._outlives_process = outlives_process
        self._key: bytes | None = None

    def store_opened(self) -> None:
        """What is made with it is kept for longer than the process lives."""
        self._outlives_process = True

    def get(self) -> bytes:
        """The key. Raises `UsageError` for one that is too short, and for a file of it that others may read."""
        if self._key is None:
            self._key = self._found()
        return self._key

    @property
    def path(self) -> Path:
        """The file that is made where none is given: $XDG_STATE_HOME/antiphon/secrets.key."""
        if self._path is not None:
            return self._path
        state = self._environ.get("XDG_STATE_HOME")
        folder = Path(state) if state else (self._home or Path.home()) / ".local" / "state"
        return folder / "antiphon" / "secrets.key"

    def _found(self) -> bytes:
        given = self._environ.get(KEY_VARIABLE, "")
        if given:
            path = Path(given)
            return _checked(_read(path) if len(given) < 1000 and path.is_file() else given)
        if not self._outlives_process:
            return os.urandom(32)
        try:
            if not self.path.is_file():
                private.write_once(self.path, os.urandom(32).hex())
            return _checked(_read(self.path))
        except OSError as error:
            logger.warning(
                "the key of secrets cannot be kept (%s): after a restart equal secrets are not known as equal. Set %s.",
                error,
                KEY_VARIABLE,
            )
            return os.urandom(32)


def _read(path: Path) -> str:
    if private.is_open_to_others(path):
        raise UsageError(f"{KEY_VARIABLE}: others may read {path}. Say: chmod 600 {path}")
    return path.read_text("utf-8").strip()


def _checked(given: str) -> bytes:
    if len(given) < SHORTEST_KEY:
        raise UsageError(
            f"{KEY_VARIABLE}: expected a key of {SHORTEST_KEY} characters or more, or a file that has one, got"
            f" {len(given)} characters. Make one: python -c 'import secrets; print(secrets.token_hex(32))'"
        )
    return given.encode()


key_of_fingerprints = FingerprintKey()
"""That of this process."""
