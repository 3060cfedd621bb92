"""The vec dialect: vectors of slots, before any level, scale or key exists.

A vector narrower than the slots of the hardware is periodic, so rotation is
modulo ``slots`` whatever the ring.  Public vectors are operands like secret
ones; a result is secret if an operand is. A value is an array of vectors:
operations act on each of them, and take, concat and sum on whole vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from latticework.errors import IrError, ShapeError
from latticework.ir import (
    INDEX,
    Array,
    Attrs,
    Context,
    JointContext,
    Op,
    OpSpec,
    Region,
    Type,
    Value,
    attribute,
    define,
    register_type,
)
from latticework.ir.dialects.constant_attributes import Approximant, ConstRef, LinearMap, mapped_count
from latticework.ir.dialects.vector_arrays import define_moves, joint_count
from latticework.plan.instructions.moves import find_part
from latticework.values.packing.packed_constants import row_of
from latticework.values.packing.slot_arrays import as_value, as_vectors

_ELEMENTS = {"real": np.float64, "complex": np.complex128}


@register_type("vec")
class VecType(Type):
    """An array of slot vectors.

    count   number of vectors; arrays are (slots,) if it is 1, else (count, slots)
    elem    "real" or "complex"
    """

    count: int
    slots: int
    elem: str
    secret: bool

    def short_name(self) -> str:
        """Such as ``secret_1x64``."""
        kind = "secret" if self.secret else "public"
        return f"{kind}{'_complex' if self.elem == 'complex' else ''}_{self.count}x{self.slots}"

    def check(self) -> None:
        """ShapeError unless there is at least one vector of at least one slot of a known kind."""
        if self.count < 1 or self.slots < 1 or self.elem not in _ELEMENTS:
            raise ShapeError(f"no vector has count {self.count}, slots {self.slots} and elements {self.elem!r}")

    def accept(self, value: Any) -> Array:
        """A float64 or complex128 array of this shape."""
        shape = (self.slots,) if self.count == 1 else (self.count, self.slots)
        array = np.asarray(value)
        if array.shape != shape:
            raise ShapeError(f"shape {array.shape} where {shape} is needed")
        if self.elem == "real" and np.iscomplexobj(array):
            raise ShapeError("complex values where real ones are needed")
        return array.astype(_ELEMENTS[self.elem])


def _vectors(name: str, operands: Sequence[Value], number: int) -> list[VecType]:
    """The operand types, checked to be `number` vectors of the same slots; counts are equal or 1."""
    types: list[VecType] = [value.type for value in operands if isinstance(value.type, VecType)]
    if len(operands) != number or len(types) != number:
        raise IrError(f"{name}: takes {number} vectors, got ({', '.join(str(value.type) for value in operands)})")
    if any(t.slots != types[0].slots for t in types) or len({t.count for t in types} - {1}) > 1:
        raise _differ(name, types)
    return types


def _differ(name: str, types: Sequence[VecType]) -> ShapeError:
    shapes = " and ".join(f"{t.count} x {t.slots} slots" for t in types)
    return ShapeError(f"{name}: operands differ: {shapes}; convert the layout of one first")


def _elementwise(name: str, number: int, function: Callable[..., Array]) -> OpSpec:
    """Define an op that acts slot by slot; one vector meets each of an array of them."""

    def infer(operands: Sequence[Value], _attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
        types = _vectors(name, operands, number)
        elem = "complex" if any(t.elem == "complex" for t in types) else "real"
        return [VecType(joint_count(name, types), types[0].slots, elem, any(t.secret for t in types))]

    def semantics(_op: Op, inputs: list[Array], _context: Context) -> list[Array]:
        return [function(*inputs)]

    return define(name, infer=infer, semantics=semantics)


ADD = _elementwise("vec.add", 2, np.add)
SUB = _elementwise("vec.sub", 2, np.subtract)
NEG = _elementwise("vec.neg", 1, np.negative)
MUL = _elementwise("vec.mul", 2, np.multiply)
CONJUGATE = _elementwise("vec.conjugate", 1, np.conj)


def _with_elem(name: str, elem: str, function: Callable[[Array], Array]) -> OpSpec:
    """Define an op that acts slot by slot on one array, and gives another kind of elements."""

    def infer(operands: Sequence[Value], _attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
        (type_,) = _vectors(name, operands, 1)
        return [type_.replace(elem=elem)]

    return define(name, infer=infer, semantics=lambda _op, inputs, _context: [function(inputs[0])])


TIMES_I = _with_elem("vec.times_i", "complex", lambda x: 1j * x)
TWICE_REAL = _with_elem("vec.twice_real", "real", lambda x: 2.0 * np.real(x))  # a vector and its conjugate, added up


def _elem(factor: complex) -> str:
    return "complex" if isinstance(factor, complex) else "real"


def _infer_constant(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    _vectors("vec.constant", operands, 0)
    value = attribute("vec.constant", attrs, "value", ConstRef)
    slots = attrs.get("slots", value.slots)
    if slots != value.slots:
        raise ShapeError(f"vec.constant: slots is {slots}, but its value has {value.slots}")
    return [VecType(value.count, value.slots, _elem(value.factor), False)]


def _constant(op: Op, _inputs: list[Array], context: Context | JointContext) -> list[Array]:
    return [op.result.type.accept(op.attrs["value"].evaluate(context.sources))]


CONSTANT = define(
    "vec.constant",
    infer=_infer_constant,
    semantics=_constant,
    together=lambda op, runs, context: [_constant(op, [], context)] * len(runs),
)


def _infer_splat(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    _vectors("vec.splat", operands, 0)
    value = attribute("vec.splat", attrs, "value", complex if isinstance(attrs.get("value"), complex) else float)
    return [VecType(1, attribute("vec.splat", attrs, "slots", int), _elem(value), False)]


SPLAT = define(
    "vec.splat",
    infer=_infer_splat,
    semantics=lambda op, _inputs, _context: [np.full(op.attrs["slots"], op.attrs["value"])],
)


def _infer_rotate(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    attribute("vec.rotate", attrs, "steps", int)
    return [*_vectors("vec.rotate", operands, 1)]


ROTATE = define(
    "vec.rotate",
    infer=_infer_rotate,
    semantics=lambda op, inputs, _context: [np.roll(inputs[0], -op.attrs["steps"], axis=-1)],
)


def _infer_linear(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    name = "vec.linear_transform"
    (type_,) = _vectors(name, operands, 1)
    linear_map = attribute(name, attrs, "map", LinearMap)
    count = mapped_count(name, linear_map, type_.count, type_.slots)
    return [type_.replace(count=count, elem=type_.elem if linear_map.is_real else "complex")]


def _map_together(op: Op, runs: list[list[Array]], context: JointContext) -> list[list[Array]]:
    return [[y] for y in op.attrs["map"].apply_to_each([inputs[0] for inputs in runs], context.sources)]


LINEAR_TRANSFORM = define(
    "vec.linear_transform",
    infer=_infer_linear,
    semantics=lambda op, inputs, context: [op.attrs["map"].apply(inputs[0], context.sources)],
    together=_map_together,
)


def _infer_polynomial(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    attribute("vec.polynomial", attrs, "polynomial", Approximant)
    return [*_vectors("vec.polynomial", operands, 1)]


POLYNOMIAL = define(
    "vec.polynomial",
    infer=_infer_polynomial,
    semantics=lambda op, inputs, _context: [op.attrs["polynomial"](inputs[0])],
)


def _infer_label(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    if attribute("vec.label", attrs, "factor", float) == 0.0:
        raise IrError("vec.label: the factor is 0")
    return [*_vectors("vec.label", operands, 1)]


# A vector times a number that the scale is read by: no operation, but nothing but an output may be one.
LABEL = define(
    "vec.label",
    infer=_infer_label,
    semantics=lambda op, inputs, _context: [inputs[0] * op.attrs["factor"]],
)


def _infer_trivial(operands: Sequence[Value], _attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    (type_,) = _vectors("vec.trivial", operands, 1)
    return [type_.replace(secret=True)]


# A public vector in the form of a secret one, for a loop that starts from public numbers.
TRIVIAL = define("vec.trivial", infer=_infer_trivial, semantics=lambda _op, inputs, _context: [inputs[0]])


def _join(name: str, types: list[VecType]) -> VecType:
    if any(t.slots != types[0].slots for t in types):
        raise _differ(name, types)
    elem = "complex" if any(t.elem == "complex" for t in types) else "real"
    return types[0].replace(elem=elem, secret=any(t.secret for t in types))


TAKE, CONCAT, SUM = define_moves("vec", VecType, _join)


def _with_index(name: str, operands: Sequence[Value], number: int) -> list[VecType]:
    """The types of the operands, checked to be so many arrays of one width and an index."""
    types = [value.type for value in operands[:-1] if isinstance(value.type, VecType)]
    if not operands or operands[-1].type is not INDEX or not len(types) == len(operands) - 1 == number:
        found = ", ".join(str(value.type) for value in operands)
        raise IrError(f"{name}: takes {number} arrays and an index, got ({found})")
    if any(t.slots != types[0].slots or t.count > types[0].count or types[0].count % t.count for t in types):
        raise _differ(name, types)
    return types


def _infer_take_at(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    (type_,), count = _with_index("vec.take_at", operands, 1), attribute("vec.take_at", attrs, "count", int)
    if count < 1 or type_.count % count:
        raise ShapeError(f"vec.take_at: {type_.count} vectors do not make parts of {count}")
    return [type_.replace(count=count)]


def _take_at(op: Op, inputs: list[Array], _context: Context) -> list[Array]:
    vectors, count = as_vectors(inputs[0]), op.attrs["count"]
    first = find_part(int(inputs[1]), len(vectors) // count) * count
    return [as_value(vectors[first : first + count])]


def _infer_put_at(operands: Sequence[Value], _attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    array, part = _with_index("vec.put_at", operands, 2)
    return [_join("vec.put_at", [array, part])]


def _put_at(_op: Op, inputs: list[Array], _context: Context) -> list[Array]:
    array, part = (as_vectors(x) for x in inputs[:2])
    first = find_part(int(inputs[2]), len(array) // len(part)) * len(part)
    return [as_value(np.concatenate([array[:first], part, array[first + len(part) :]]))]


def _infer_row(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    _with_index("vec.row", operands, 0)
    value = attribute("vec.row", attrs, "value", ConstRef)
    attribute("vec.row", attrs, "rows", int)
    return [VecType(value.count, value.slots, _elem(value.factor), False)]


def _row(op: Op, inputs: list[Array], context: Context) -> list[Array]:
    row = row_of(op.attrs["value"], find_part(int(inputs[0]), op.attrs["rows"]))
    return [op.result.type.accept(row.evaluate(context.sources))]


# Parts of an array, of `count` vectors each, by a number known at run time; a part of `put_at` replaces one.
TAKE_AT = define("vec.take_at", infer=_infer_take_at, semantics=_take_at)
PUT_AT = define("vec.put_at", infer=_infer_put_at, semantics=_put_at)
# A row of a public table of `rows`, `value` being its first.
ROW = define("vec.row", infer=_infer_row, semantics=_row)
