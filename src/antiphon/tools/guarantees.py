"""How often a tool that writes takes effect for one wish, as far as anybody can promise it.

Above: shells, which say it of each tool. Below: what its author said about it.
"""

from __future__ import annotations

import inspect
from typing import Literal, TypeAlias

from antiphon.tools.function import AnyFunctionTool

Guarantee: TypeAlias = Literal["exactly once", "effectively once", "at most once"]
"""exactly: it settles in the transaction of what it writes (`ctx.transaction`). effectively: its backend does the same
key once (`idempotent=True`), or can be asked (`reconcile=`). at most: it is started once; where it then is not known
whether it happened, that is said."""


def guarantee_of(tool: AnyFunctionTool, *, has_transactions: bool) -> Guarantee | None:
    """What is promised of a tool. `has_transactions`: the calls are kept where it can settle in its own transaction.

    None: it does not say that it writes, and may run more than once.
    """
    options = tool.options
    if not options.writes:
        return None
    if has_transactions and "transaction" in _names_used(tool):
        return "exactly once"
    return "effectively once" if options.idempotent or options.reconcile is not None else "at most once"


def _names_used(tool: AnyFunctionTool) -> tuple[str, ...]:
    code = getattr(inspect.unwrap(tool.function), "__code__", None)
    return () if code is None else code.co_names
