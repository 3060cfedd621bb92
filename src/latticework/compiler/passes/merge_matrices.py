"""merge-matrices: matrices that a loop does not change are multiplied before what it carries meets them.

In/out: tensor IR whose loops are kept, same cleartext meaning. A (B u + c) = (A B) u + A c, where nothing that the loop
changes is in A, B and c: an iteration multiplies once in place of twice, as in gradient descent by least squares,
x.T (x w - y). A B and A c are then made before the loop. Right products likewise, (u B + c) A = u (B A) + c A, and for
vectors u either side, since B u = u B^T. Only where A B is no larger than the larger of A and B and takes no
more vectors than B u, and where one is encrypted: public matrices merge as linear maps. Cost: O(ops x nesting depth).
Source: matrix chain ordering (Cormen, Leiserson, Rivest, Stein: Introduction to Algorithms, 15.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from latticework.compiler.passes import hoist_invariants
from latticework.ir import Block, Builder, Module, Op, Pass, Value, rebuild
from latticework.ir.dialects.tensor_dialect import TensorType

Mapping = dict[Value, Value]
Make = Callable[[Builder, Mapping], Value]
MOST = 1 << 15  # numbers multiplied for A B, unless B u takes as many already: what the largest vectors have slots for
SUMS = ("tensor.add", "tensor.sub", "tensor.neg")


def run(module: Module, _cost: object = None) -> Module:
    """The module with matrices merged and made before their loops."""
    variant = _variant(module)
    changed = False

    def visit(op: Op, builder: Builder, mapping: Mapping) -> bool:
        nonlocal changed
        make = _merge(op, variant)
        if make is None:
            return False
        changed = True
        builder.loc = op.loc
        mapping[op.result] = make(builder, mapping)
        return True

    merged = rebuild(module, visit)
    return hoist_invariants.run(merged) if changed else module


def _variant(module: Module) -> set[Value]:
    """Values that differ from one iteration to another of the loop they are made in."""
    result: set[Value] = set()
    for op in module.walk():
        for region in op.regions:
            result.update(region.block.args)
        block = op.block
        if op.regions or any(v in result and _block(v) is block for v in op.operands):
            result.update(op.results)
    return result


def _block(value: Value) -> Block | None:
    return value.owner if isinstance(value.owner, Block) else value.owner.block


def _merge(op: Op, variant: set[Value]) -> Make | None:
    """Build a product of matrices with its invariant factor moved inwards; None if that gains nothing."""
    if op.name != "tensor.matmul" or op.block is None or op.block.parent_op is None:
        return None

    def changes(value: Value) -> bool:
        return value in variant and _block(value) is op.block

    for side, (outer, value) in enumerate((op.operands, op.operands[::-1])):
        if not changes(outer) and changes(value) and _rank(outer) == 2 and _rank(value) in (1, 2):
            make, gains = _move_inwards(outer, value, side, op, changes)
            if make is not None and gains:
                return make
    return None


def _move_inwards(
    outer: Value, value: Value, side: int, reader: Op, changes: Callable[[Value], bool]
) -> tuple[Make | None, bool]:
    """Move a factor: the maker of outer @ value (side 0) or value @ outer (side 1), and whether matrices are merged."""
    if not changes(value):
        return (lambda builder, mapping: _product(builder, _at(mapping, outer), _at(mapping, value), side)), False
    op = value.owner
    if not isinstance(op, Op) or len(value.uses) != 1 or op.block is not reader.block:
        return None, False
    if op.name in SUMS:
        if any(_shape(v) != _shape(value) for v in op.operands):
            return None, False
        parts = [_move_inwards(outer, v, side, op, changes) for v in op.operands]
        makes = [make for make, _ in parts if make is not None]
        if len(makes) < len(parts):
            return None, False
        spec = op.spec
        return (lambda builder, mapping: builder.build(spec, [m(builder, mapping) for m in makes])), any(
            gains for _, gains in parts
        )
    return _through(outer, op, side, changes) if op.name == "tensor.matmul" else (None, False)


def _through(outer: Value, inner: Op, side: int, changes: Callable[[Value], bool]) -> tuple[Make | None, bool]:
    """The outer matrix met by that of an inner product, where this does not change."""
    for place, (matrix, carried) in enumerate((inner.operands, inner.operands[::-1])):
        transposed = place != side
        if changes(matrix) or not changes(carried) or _rank(matrix) != 2 or _rank(carried) not in (1, 2):
            continue
        if transposed and _rank(carried) != 1:
            continue
        shape = _shape(matrix)[::-1] if transposed else _shape(matrix)
        size = _shape(outer)[0] * shape[1] if side == 0 else shape[0] * _shape(outer)[1]
        if size > max(math.prod(_shape(outer)), math.prod(shape)) or not (outer.is_secret or matrix.is_secret):
            continue
        columns = math.prod(_shape(carried)) // shape[1 - side]
        if size * shape[side] > max(MOST, math.prod(shape) * columns):
            continue

        def make(
            builder: Builder,
            mapping: Mapping,
            matrix: Value = matrix,
            carried: Value = carried,
            transposed: bool = transposed,
        ) -> Value:
            by = _at(mapping, matrix)
            by = builder.build("tensor.transpose", [by], axes=(1, 0)) if transposed else by
            return _product(builder, _product(builder, _at(mapping, outer), by, side), _at(mapping, carried), side)

        return make, True
    return None, False


def _product(builder: Builder, outer: Value, value: Value, side: int) -> Value:
    return builder.build("tensor.matmul", [outer, value] if side == 0 else [value, outer])


def _at(mapping: Mapping, value: Value) -> Value:
    return mapping.get(value, value)


def _shape(value: Value) -> tuple[int, ...]:
    assert isinstance(value.type, TensorType)
    return value.type.shape


def _rank(value: Value) -> int:
    return len(_shape(value)) if isinstance(value.type, TensorType) else 0


PASS = Pass("merge-matrices", run, roots=("tensor.matmul",), reads=("tensor", "loop"), writes=("tensor.transpose",))
