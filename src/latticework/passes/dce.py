"""dce: drop what no output needs.

In/out: any IR, same meaning.  An op lives if a living op uses a result of it or
it is impure; a living op keeps what its regions yield and the ops it is nested
in.  Inputs stay, and so do all values a living loop carries.  Cost: O(ops).
"""

from __future__ import annotations

from latticework.ir import Module, Op
from latticework.ir.passes import Pass
from latticework.ir.rewrite import rebuild


def run(module: Module, _cost: object = None) -> Module:
    """The module without dead ops."""
    live = live_ops(module)
    if all(op in live for op in module.walk()):
        return module
    return rebuild(module, lambda op, _builder, _mapping: op not in live)


def live_ops(module: Module) -> set[Op]:
    """The ops that an output, or an effect, depends on."""
    live: set[Op] = set()
    work: list[Op] = [module.body.terminator]
    work.extend(op for op in module.walk() if not op.spec.pure and not op.spec.terminator)
    while work:
        op = work.pop()
        if op in live:
            continue
        live.add(op)
        work.extend(value.owner for value in op.operands if isinstance(value.owner, Op))
        work.extend(region.block.terminator for region in op.regions)
        parent = op.block.parent_op if op.block else None
        if parent is not None:
            work.append(parent)
    return live


PASS = Pass("dce", run)
