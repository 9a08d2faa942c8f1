"""Providers whose models run elsewhere: what they have in common before the first request is sent.

They are made without key and network. Whoever chooses models asks `unusable()` first, and may fall back on another
one; whoever uses one regardless gets a `ProviderError` at its first use.
"""

from __future__ import annotations

import importlib.util
import os
from typing import ClassVar

from antiphon.errors import MissingKey, ProviderError
from antiphon.model import Model


class RemoteProvider(Model):
    """A model behind a key. `key_variable` names the environment variable that is read at first use."""

    key_variable: str = ""
    package: ClassVar[str] = ""
    """The module that speaks to the service, "" if none is needed."""
    extra: ClassVar[str] = ""
    """The extra of `antiphon` that installs `package`."""
    built: ClassVar[bool] = True
    """False: only the name exists so far."""

    _api_key: str | None = None

    @property
    def api_key(self) -> str | None:
        """The key given, else the environment's, else None."""
        return self._api_key or os.environ.get(self.key_variable) or None

    def unusable(self) -> str | None:
        """Why the model cannot be used here, in a few words ("no DEEPGRAM_API_KEY"), or None if it can."""
        if self.api_key is None:
            return f"no {self.key_variable}"
        if not self.built:
            return "not built yet"
        return None if self._is_installed() else f"no package {self.package}"

    def require(self) -> str:
        """The key. Raises `MissingKey`, or `ProviderError` where something else is missing."""
        key = self.api_key
        if key is None:
            raise MissingKey(self.label, self.key_variable)
        if not self.built:
            raise ProviderError(
                f"{self.label} is not built yet in this version. Leave it out to use the local model.",
                provider=self.label,
                retryable=False,
            )
        if not self._is_installed():
            raise ProviderError(
                f"{self.label} needs the package {self.package!r}. Install it: pip install 'antiphon[{self.extra}]'",
                provider=self.label,
                retryable=False,
            )
        return key

    def _is_installed(self) -> bool:
        return not self.package or importlib.util.find_spec(self.package) is not None
