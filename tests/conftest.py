"""What holds for every test: records refuse changes."""

from __future__ import annotations

import antiphon.core.commands
import antiphon.core.facts
import antiphon.events
import antiphon.metrics  # noqa: F401  # loaded, so that their records are known
from antiphon.record import guard

guard()
