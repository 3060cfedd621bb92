"""hoist-invariants: what is the same in every iteration of a loop is computed before it.

In/out: vec or tensor IR, same cleartext meaning. An operation whose operands all come from outside a loop moves in
front of it; out of nested loops as far as its operands allow. Public numbers and constants move like encrypted values:
x * x, an encoded mask, a map of an input. Nothing spends more levels, as an operation does so wherever it stands; what
moves is alive for the whole loop. Bootstraps, and operations with regions, stay where they are.
Source: loop-invariant code motion (Aho, Lam, Sethi, Ullman: Compilers, 9.5.1). Cost: O(ops x nesting depth).
"""

from __future__ import annotations

from collections.abc import Iterator

from latticework.ir import Block, Builder, Module, Op, Pass, Region, Value
from latticework.ir.builder import region_block

Homes = dict[Op, Block]


def run(module: Module, _cost: object = None) -> Module:
    """The module with invariant operations before their loops."""
    homes = _find_homes(module.body, {})
    if all(home is op.block for op, home in homes.items()):
        return module
    body = Block()
    mapping: dict[Value, Value] = {v: body.add_arg(v.type, v.origin) for v in module.inputs}
    _emit(module.body, Builder(body), mapping, homes)
    return module.empty_like(body)


def _find_homes(block: Block, homes: Homes) -> Homes:
    """The outermost block in which each operation can stand."""
    for op in block.ops:
        homes[op] = _home(op, homes)
        for region in op.regions:
            _find_homes(region.block, homes)
    return homes


def _home(op: Op, homes: Homes) -> Block:
    """The outermost block for an operation: out of loops as long as nothing inside makes an operand."""
    block = op.block
    assert block is not None
    if op.regions or not op.results or not op.name.startswith(("vec.", "tensor.")) or op.name == "vec.bootstrap":
        return block
    made_in = {homes[v.owner] if isinstance(v.owner, Op) else v.owner for v in op.operands}
    while block not in made_in:
        loop = block.parent_op
        if loop is None or loop.name != "loop.for" or loop.block is None:
            break
        block = loop.block
    return block


def _emit(block: Block, builder: Builder, mapping: dict[Value, Value], homes: Homes) -> None:
    """Append the operations of a block whose home it is, those of its loops before these."""
    for op in block.ops:
        if homes[op] is not block:
            continue  # stands before the loop already
        for nested in _inside(op):
            if homes[nested] is block:
                builder.copy(nested, mapping)
        regions = []
        for region in op.regions:
            inside = Builder(region_block(region, mapping, op))
            _emit(region.block, inside, mapping, homes)
            regions.append(Region(inside.block))
        builder.copy_with(op, mapping, regions)


def _inside(op: Op) -> Iterator[Op]:
    """The operations nested in one, in order."""
    for region in op.regions:
        for nested in region.block.ops:
            yield nested
            yield from _inside(nested)


PASS = Pass("hoist-invariants", run, roots=("loop.for",), reads=("vec", "tensor", "loop"))
