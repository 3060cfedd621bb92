"""Parts of an array by a number known at run time: tensor.rows, part, with_part, row and blank.

What a run-time integer numbers are whole vectors, for there it costs nothing: so `rows` lays an array out with its
leading axis along vectors, `part` and `with_part` read and replace one of its parts there, and `row` is a part of a
public table, whose numbers are encoded where they are used. Along the slots of a vector there is no such thing, for
which rotation, or which mask, that takes is decided when the program is compiled.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from latticework.errors import RangeError, ShapeError
from latticework.ir.core import Value
from latticework.tensor.layout.stacked_rows import part_of
from latticework.tensor.ops import row_rules
from latticework.tensor.ops.base import Case, FloatArray, OpTraits, Shape, tensor_op
from latticework.tensor.ops.cases import random_shape
from latticework.tensor.ops.lowering import Operand, Target, access, move
from latticework.tensor.ops.trivial import in_secret_form
from latticework.values.packing.packed_constants import ConstRef, LoopNest, number_of_row


def _require_axis(name: str, a: Shape) -> Shape:
    if not a:
        raise ShapeError(f"{name}: a scalar has no axis that a run-time integer could number")
    return a


def _number(i: Any, extent: int) -> int:
    number = int(i)
    if not 0 <= number < extent:
        raise RangeError(
            f"an index known at run time is {number}, on an axis that is {extent} long; it must be 0 to {extent - 1}: "
            "count fewer iterations, or give a longer array"
        )
    return number


def _rows_case(rng: np.random.Generator, slots: int) -> Case:
    return Case((rng.normal(size=random_shape(rng, slots // 2, int(rng.integers(1, 4)))),), np.copy)


def _lower_rows(target: Target, a: Operand) -> Value:
    """The operand itself where it lies so already."""
    if a.layout == target.layout and a.vector is not None:
        return a.vector
    return move(target, a)


ROWS = tensor_op(
    "rows",
    shape=lambda a: _require_axis("rows", a),
    semantics=lambda a: a,
    random_case=_rows_case,
    rows=row_rules.elementwise,
    lower=_lower_rows,
)


def _lower_part(target: Target, a: Operand, index: Value) -> Value:
    assert a.vector is not None and a.layout is not None and part_of(a.layout) == target.layout
    return target.build("vec.take_at", a.vector, index, count=target.layout.count)


PART = tensor_op(
    "part",
    shape=lambda a: _require_axis("part", a)[1:],
    semantics=lambda a, i: a[_number(i, len(a))],
    random_case=lambda rng, slots: replace(_rows_case(rng, slots), expression=lambda a, i: a[i]),
    lower=_lower_part,
    traits=OpTraits(indexed=True),
)


def _put_shape(a: Shape, part: Shape) -> Shape:
    if _require_axis("with_part", a)[1:] != part:
        raise ShapeError(f"with_part: a part of shape {part} of an array of shape {a}, whose parts have shape {a[1:]}")
    return a


def _put(a: FloatArray, part: FloatArray, i: Any) -> FloatArray:
    result = np.array(a)
    result[_number(i, len(a))] = part
    return result


def _put_case(rng: np.random.Generator, slots: int) -> Case:
    (array,) = _rows_case(rng, slots).inputs
    numbers = np.arange(len(array)).reshape(-1, *(1,) * (array.ndim - 1))
    return Case((array, rng.normal(size=array.shape[1:])), lambda a, part, i: np.where(numbers == i, part, a))


def _lower_with_part(target: Target, a: Operand, part: Operand, index: Value) -> Value:
    assert a.vector is not None and part.vector is not None and part.layout == part_of(target.layout)
    return target.build("vec.put_at", a.vector, part.vector, index)


WITH_PART = tensor_op(
    "with_part",
    shape=_put_shape,
    semantics=_put,
    random_case=_put_case,
    lower=_lower_with_part,
    traits=OpTraits(indexed=True),
)


def _row_shape(*, source: str, shape: Shape) -> Shape:
    """Shape of one of the parts of a table of shape `shape`."""
    return _require_axis("row", shape)[1:]


def _row(table: FloatArray, i: Any) -> FloatArray:
    part: FloatArray = table[_number(i, len(table))]
    return part


def _row_case(rng: np.random.Generator, slots: int) -> Case:
    (table,) = _rows_case(rng, slots).inputs
    return Case((), lambda i: table[i], {"source": "table", "shape": table.shape}, {"table": table})


def _lower_row(target: Target, index: Value, source: str, shape: Shape) -> Value:
    """A row packed like the result; where every row is one number, that number in every slot, as constants are."""
    rank = len(target.shape)
    rows = target.sources[source].reshape(shape[0], -1)
    if target.layout.count == 1 and np.all(rows == rows[:, :1]):
        number = number_of_row(source, shape, target.layout.slots)
        return target.build("vec.trivial", target.build("vec.row", index, value=number, rows=shape[0]))
    gather = LoopNest(
        target.shape, target.pack, access(target.shape, range(rank), rank), source,
        access(shape, (None, *range(rank)), rank),
    )  # fmt: skip
    return target.build("vec.trivial", target.build("vec.row", index, value=ConstRef(gather), rows=shape[0]))


ROW = tensor_op(
    "row",
    shape=_row_shape,
    semantics=_row,
    attributes={"source": str, "shape": tuple},
    random_case=_row_case,
    lower=_lower_row,
    # in the form of a secret: levels are decided for a public one, whose number is open
    traits=OpTraits(secret=True, indexed=True, reads_source=True),
)


def _lower_blank(target: Target, shape: Shape) -> Value:
    """One vector of zeros, in every place."""
    return in_secret_form(target, target.build("vec.splat", value=0.0, slots=target.layout.slots))


BLANK = tensor_op(
    "blank",
    shape=lambda *, shape: _require_axis("blank", shape),
    semantics=lambda *, shape: np.zeros(shape),
    attributes={"shape": tuple},
    traits=OpTraits(secret=True),
    random_case=lambda rng, slots: Case((), lambda: np.zeros(4), {"shape": (4,)}),
    lower=_lower_blank,
)

INDEXED_OPS = (ROWS, PART, WITH_PART, ROW, BLANK)
