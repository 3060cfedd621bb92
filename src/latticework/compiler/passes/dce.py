"""dce: drop what no output needs.

In/out: any IR, same meaning.  What lives is said in `ir.live`.  Inputs stay, and
so do all values a living loop carries.  Cost: O(ops).
"""

from __future__ import annotations

from latticework.ir import Module
from latticework.ir.live import live_ops
from latticework.ir.passes import Pass
from latticework.ir.rewrite import rebuild


def run(module: Module, _cost: object = None) -> Module:
    """The module without dead ops."""
    live = live_ops(module)
    if all(op in live for op in module.walk()):
        return module
    return rebuild(module, lambda op, _builder, _mapping: op not in live)


PASS = Pass("dce", run)
