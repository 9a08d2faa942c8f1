from __future__ import annotations

import pytest

from antiphon.errors import MissingKey, ProviderError
from antiphon.providers.remote import RemoteProvider


class Vendor(RemoteProvider):
    key_variable = "VENDOR_KEY"
    package = "no_such_package_anywhere"
    extra = "vendor"


def test_the_key_given_outweighs_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Vendor, "package", "")
    monkeypatch.setenv("VENDOR_KEY", "environment")
    vendor = Vendor()
    assert (vendor.require(), vendor.unusable()) == ("environment", None)
    vendor._api_key = "given"
    assert vendor.require() == "given"


def test_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VENDOR_KEY", raising=False)
    assert Vendor().unusable() == "no VENDOR_KEY"
    with pytest.raises(MissingKey, match="VENDOR_KEY"):
        Vendor().require()


def test_a_missing_package_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VENDOR_KEY", "k")
    assert Vendor().unusable() == "no package no_such_package_anywhere"
    with pytest.raises(ProviderError, match=r"pip install 'antiphon\[vendor\]'"):
        Vendor().require()
