"""Rewriting: a module is walked in order and built anew, with some ops replaced."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from latticework.ir.builder import Builder, region_block
from latticework.ir.core import Block, Op, Region, Value
from latticework.ir.module import Module
from latticework.ir.types import Type

Visit = Callable[[Op, Builder, dict[Value, Value]], bool]


def rebuild(module: Module, visit: Visit, *, input_types: Sequence[Type] | None = None) -> Module:
    """A new module in which `visit` has replaced what it wanted.

    visit(op, builder, mapping)  is called for every op of the old module, before those nested in it.
        If it emitted the replacement, by the builder (at the op's location), and set mapping for every
        result, it returns True; nothing is visited inside the op then.  Else it returns False: the op
        is copied, its regions visited in turn, its types inferred again where an operand's type changed.
        The replacement of a value with an origin inherits it unless it has its own.
    input_types  new types of the inputs, the old ones if None
    """
    mapping: dict[Value, Value] = {}
    body = Block()
    types = [value.type for value in module.inputs] if input_types is None else input_types
    for value, type in zip(module.inputs, types, strict=True):
        mapping[value] = body.add_arg(type, value.origin)
    rebuild_block(module.body, body, visit, mapping)
    return module.empty_like(body)


def rebuild_block(source: Block, target: Block, visit: Visit, mapping: dict[Value, Value]) -> None:
    """Append the ops of `source` to `target`, visited as by `rebuild`; the mapping must hold its arguments."""
    builder = Builder(target)
    for op in source.ops:
        builder.loc = op.loc
        if visit(op, builder, mapping):
            for old in op.results:
                new = mapping.get(old)
                if new is not None and new.origin is None:
                    new.origin = old.origin
        else:
            regions = [_rebuild_region(region, op, visit, mapping) for region in op.regions]
            builder.copy_with(op, mapping, regions)


def _rebuild_region(region: Region, op: Op, visit: Visit, mapping: dict[Value, Value]) -> Region:
    block = region_block(region, mapping, op)
    rebuild_block(region.block, block, visit, mapping)
    return Region(block)


def prepend(block: Block, ops: Sequence[Op]) -> None:
    """Move ops of another block, in their order, to the start of a block."""
    for op in ops:
        assert op.block is not None, f"{op.name} is in no block"
        op.block.ops.remove(op)
        op.block = block
    block.ops[:0] = ops


def replace_all_uses(old: Value, new: Value) -> None:
    """Make every use of `old` one of `new`; `new` inherits the origin of `old` if it has none."""
    if new is old:
        return
    for op, number in old.uses:
        op.operands[number] = new
    new.uses.extend(old.uses)
    old.uses.clear()
    if new.origin is None:
        new.origin = old.origin
