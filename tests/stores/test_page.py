"""What the page on stores shows runs as it stands."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

from antiphon.store import RowState, open_store

PAGE = Path(__file__).parents[2] / "docs" / "store.md"


def test_the_code_of_the_page_runs(tmp_path: Path) -> None:
    first, second = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    namespace: dict[str, Any] = {}
    exec(first, namespace)
    asyncio.run(namespace["main"](str(tmp_path / "calls.db")))
    exec(second, namespace)
    namespace["test_my_store_keeps_its_promises"]()

    async def found() -> list[RowState]:
        async with open_store(str(tmp_path / "calls.db")) as store:
            return [row.state for _, row in await store.rows()]

    assert asyncio.run(found()) == [RowState.SUCCEEDED]
