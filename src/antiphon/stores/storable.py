r"""Text of any kind, as every database takes it, and back.

Ids and names come from telephones, models and programs. What databases refuse or cut is written as an escape: NUL, the
halves of surrogate pairs, and the backslash that begins an escape. All else stays as it is, and is found as it is.

Above: the stores. Below: nothing.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import Any

from antiphon.errors import StoreError
from antiphon.store import CallMeta

_REFUSED = re.compile("[\x00\\\\\ud800-\udfff]")
_ESCAPED = re.compile(r"\\([0-9a-f]{4})")


def storable(text: str) -> str:
    """The text, with escapes in the place of what cannot be stored. Another text is another one."""
    return _REFUSED.sub(lambda found: f"\\{ord(found[0]):04x}", text) if _REFUSED.search(text) else text


def plain(text: str) -> str:
    """What `storable` was given."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if "\\" in text else text


def meta_to_json(meta: CallMeta) -> str:
    """One line of ASCII."""
    return json.dumps(asdict(meta), separators=(",", ":"))


def meta_from_json(line: str) -> CallMeta:
    """What is known of a call. Fields that this version does not know are left out. Raises `StoreError`."""
    try:
        data: dict[str, Any] = json.loads(line)
        data = {name: data[name] for name in CallMeta.__match_args__ if name in data}
        return CallMeta(**data | {"agents": tuple(data.get("agents", ()))})
    except (ValueError, TypeError, AttributeError) as error:
        raise StoreError(f"store: expected what is known of a call, got {line[:80]!r}: {error}.") from None
