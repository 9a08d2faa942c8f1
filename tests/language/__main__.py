"""How often the labelled replies are decided rightly: python -m tests.language."""

from __future__ import annotations

from tests.language.test_consent_figures import SETS, figures


def main() -> None:
    for name in SETS:
        print(f"{name}: {figures(name)}")


main()
