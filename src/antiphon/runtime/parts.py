"""Parts of a kept call: JSON data with a format, which a newer reader reads, and an older one refuses in words.

Above: those who keep a part. Below: nothing but JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from antiphon.errors import JournalError, StoreError
from antiphon.visible import to_json

T = TypeVar("T")


def written_part(version: int, data: Mapping[str, Any]) -> bytes:
    """The part as it is kept, in that version of its format."""
    return to_json({"format": version, **data}).encode("utf-8", "surrogatepass")


def read_part(part: bytes, what: str, version: int, read: Callable[[Mapping[str, Any]], T]) -> T:
    """What `read` makes of the data of a part, which is `what`, in that version of its format or an earlier one.

    Raises `StoreError` for a later one, and for what cannot be read.
    """
    try:
        data = json.loads(part)
        if data["format"] > version:
            raise StoreError(
                f"the call: expected format {version} of {what}, got {data['format']}, which a newer version of"
                " Antiphon wrote. Resume it with that version."
            )
        return read(data)
    except (ValueError, LookupError, TypeError, JournalError) as error:
        raise StoreError(f"{what} cannot be read: {error}. Was the store changed?") from error
