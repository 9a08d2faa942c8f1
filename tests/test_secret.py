"""The key by which equal secrets are known as equal."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

from antiphon import Secret
from antiphon.errors import UsageError
from antiphon.secret import KEY_VARIABLE, FingerprintKey


def test_a_key_without_a_store_is_random_and_leaves_no_file(tmp_path: Path) -> None:
    key = FingerprintKey({}, tmp_path)
    assert key.get() == key.get()
    assert key.get() != FingerprintKey({}, tmp_path).get()
    assert list(tmp_path.iterdir()) == []


def test_where_calls_are_kept_the_key_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    first, second = FingerprintKey({}, tmp_path), FingerprintKey({}, tmp_path)
    first.store_opened()
    second.store_opened()
    assert first.get() == second.get()
    assert first.path.stat().st_mode & 0o777 == 0o600


def test_the_environment_gives_a_key_or_a_file_that_has_one(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("k" * 40)
    file.chmod(0o600)
    assert FingerprintKey({KEY_VARIABLE: "k" * 40}).get() == FingerprintKey({KEY_VARIABLE: str(file)}).get()
    file.chmod(0o644)
    with pytest.raises(UsageError, match="chmod 600"):
        FingerprintKey({KEY_VARIABLE: str(file)}).get()


def test_a_short_key_is_refused_with_a_way_to_make_one() -> None:
    with pytest.raises(UsageError, match="32 characters or more"):
        FingerprintKey({KEY_VARIABLE: "short"}).get()


def test_a_disk_that_takes_no_key_does_not_stop_a_call(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file, where a folder should be: not even root can write into it")
    key = FingerprintKey({}, taken)
    key.store_opened()
    assert len(key.get()) == 32


def test_a_secret_does_not_leave_the_process_by_itself() -> None:
    secret = Secret("4821")
    with pytest.raises(UsageError, match="cannot be pickled"):
        pickle.dumps(secret)
    assert copy.deepcopy([secret])[0] is copy.copy(secret) is secret
