from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from antiphon.errors import MissingModelFile
from antiphon.providers.local import MoonshineSTT
from antiphon.providers.local.convert import TOKENIZER, cache_folder, prepare
from tests.providers.local.models import needs_moonshine


def test_the_cache_is_where_the_user_wants_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "antiphon"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "antiphon"


@needs_moonshine
def test_altered_weights_in_the_cache_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(MoonshineSTT().prewarm())
    made = prepare(print)
    copy = tmp_path / "antiphon" / made.name
    shutil.copytree(made, copy)
    (copy / TOKENIZER).write_bytes(b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(MissingModelFile, match=r"was altered.*Delete the folder"):
        prepare(print)
