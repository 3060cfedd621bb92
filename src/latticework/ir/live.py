"""Liveness: the ops of a module that something needs."""

from __future__ import annotations

from latticework.ir.core import Block, Op
from latticework.ir.module import Module


def live_ops(module: Module) -> set[Op]:
    """The ops that an output, or an effect, depends on.

    An op lives if a living op uses a result of it or it is impure; a living op keeps what its regions yield and the ops
    it is nested in.
    """
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


def erase_dead(module: Module) -> None:
    """Take the other ops out of a module that is being made."""
    _erase(module.body, live_ops(module))


def _erase(block: Block, live: set[Op]) -> None:
    for op in list(reversed(block.ops)):
        if op not in live:
            op.erase()
            continue
        for region in op.regions:
            _erase(region.block, live)
