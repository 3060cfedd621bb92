"""fold-recurrences: a loop that is linear in what is encrypted becomes one matrix for every value that it reads.

In/out: tensor IR, same cleartext meaning. s' = A_i s + B_i x_i + c_i, with public A_i, B_i and c_i that may differ from
iteration to iteration, gives after all of them s = M s_0 + N x + c: one level in the place of one an iteration. Only
loops whose number of iterations is known, and whose body multiplies nothing encrypted by anything encrypted. Nested
loops fold with those around them, or else by themselves. Where the body computes every element of what it carries
alike, matrices are of iterations alone, and elements are their columns. Cost: O(iterations x ops x elements read).
Source: linear time-invariant systems and their impulse responses (Oppenheim, Willsky: Signals and Systems, 2.2).
"""

from __future__ import annotations

from math import prod

import numpy as np

from latticework.compiler.passes.affine_values import AffineValue, NotAffineError, Recurrence
from latticework.ir import Builder, Module, Op, Pass, Value, rebuild
from latticework.tensor.ops.base import FloatArray, Shape, shape_of

Mapping = dict[Value, Value]


def run(module: Module, _cost: object = None) -> Module:
    """The module with every such loop folded; the module itself if there are none."""
    made = module.empty_like(module.body)  # whose sources may grow
    folded = False

    def visit(op: Op, builder: Builder, mapping: Mapping) -> bool:
        nonlocal folded
        found = _fold(op, made)
        if found is None:
            return False
        folded = True
        recurrence, ends = found
        for result, end in zip(op.results, ends, strict=True):
            if result.uses:
                mapping[result] = _emit(result, end, recurrence, made, builder, mapping)
        return True

    new = rebuild(made, visit)
    new.sources.update(made.sources)
    return new if folded else module


def _fold(op: Op, module: Module) -> tuple[Recurrence, list[AffineValue]] | None:
    """The results of a loop as functions of what it reads; None if they are no linear ones, or too large."""
    if op.name != "loop.for" or (op.attrs.get("static_trip") or 0) < 2:
        return None
    for lanes in dict.fromkeys((min(map(shape_of, op.results), key=len), ())):
        recurrence = Recurrence(module, lanes)
        try:
            return recurrence, recurrence.results(op)
        except NotAffineError:
            continue
    return None


def _emit(
    result: Value, end: AffineValue, recurrence: Recurrence, module: Module, builder: Builder, mapping: Mapping
) -> Value:
    """A result as a sum of products with matrices."""
    shape, lanes = shape_of(result), prod(recurrence.lanes)
    parts = [
        _product(base, matrix, mapping[base], lanes, module, builder)
        for base, matrix in recurrence.matrices(end).items()
        if matrix.any()
    ]
    offset = np.broadcast_to(end.offset.reshape(-1, 1), (end.offset.size, lanes)).reshape(shape)
    if not parts:
        return builder.build("tensor.trivial", [_constant(offset, module, builder)])
    total = parts[0]
    for part in parts[1:]:
        total = builder.build("tensor.add", [total, part])
    if shape_of(total) != shape:
        total = builder.build("tensor.reshape", [total], shape=shape)
    return builder.build("tensor.add", [total, _constant(offset, module, builder)]) if offset.any() else total


def _product(base: Value, matrix: FloatArray, x: Value, lanes: int, module: Module, builder: Builder) -> Value:
    """A matrix (results, elements) times a value, whose last axis is that of lanes, where there are some."""
    flat: Shape = (matrix.shape[1], lanes) if lanes > 1 else (matrix.shape[1],)
    if shape_of(base) != flat:
        x = builder.build("tensor.reshape", [x], shape=flat)
    return builder.build("tensor.matmul", [_constant(matrix, module, builder), x])


def _constant(array: FloatArray, module: Module, builder: Builder) -> Value:
    """A public tensor."""
    return builder.build("tensor.constant", [], source=module.add_source(array), shape=array.shape)


_WRITES = ("tensor.constant", "tensor.trivial", "tensor.reshape", "tensor.matmul", "tensor.add")
PASS = Pass("fold-recurrences", run, roots=("loop.for",), reads=("tensor", "loop"), writes=_WRITES)
