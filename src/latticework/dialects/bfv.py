"""The bfv dialect: products of ciphertexts, and constants in the form in which they are added.

Slots hold integers modulo t in two rows that are alike; a value means one of them. Every scale is 1, and no product
takes a level. Types do not know t: the meaning of an op is over the integers, before they are reduced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from latticework.dialects.arrays import joint_count, summed_type
from latticework.dialects.constants import ConstRef, LinearMap, mapped_count
from latticework.dialects.key import KeyType
from latticework.dialects.rlwe_types import CipherType, Level, PlainType, take
from latticework.errors import IrError, LevelError, ShapeError
from latticework.ir import Array, Attrs, Context, Op, OpSpec, Region, Type, Value, attribute, define, register_type
from latticework.packing.arrays import as_value, as_vectors, sum_vectors

SCHEME, SCALE = "bfv", 1.0
Regions = Sequence[Region]


@register_type("bfv.addend")
class AddendType(Type):
    """An array of public vectors encoded to be added to ciphertexts, over Q; fields as in `PlainType`."""

    secret: ClassVar[bool] = False
    count: int
    slots: int
    level: Level
    scale: float = SCALE
    basis: str = "Q"

    def check(self) -> None:
        """Raise unless every field can be that of a plaintext."""
        PlainType(self.count, self.slots, self.level, self.scale, self.basis)

    def accept(self, value: Any) -> Array:
        """The slots, complex128, (slots,) or (count, slots)."""
        return PlainType(self.count, self.slots, self.level, self.scale, self.basis).accept(value)


def _infer_encode(operands: Sequence[Value], attrs: Attrs, _regions: Regions) -> list[Type]:
    """Attributes: value, level."""
    take("bfv.encode", operands)
    value = attribute("bfv.encode", attrs, "value", ConstRef)
    return [AddendType(value.count, value.slots, attribute("bfv.encode", attrs, "level", Level))]


ENCODE = define(
    "bfv.encode",
    infer=_infer_encode,
    meaning=lambda op, _inputs, context: [op.result.type.accept(op.attrs["value"].evaluate(context.sources))],
)


def _sum(name: str, function: Callable[[Array, Array], Array]) -> OpSpec:
    def infer(operands: Sequence[Value], _attrs: Attrs, _regions: Regions) -> list[Type]:
        a, b = take(name, operands, CipherType, AddendType)
        if (a.scheme, a.basis, a.level) != (SCHEME, "Q", b.level) or a.slots != b.slots:
            raise IrError(f"{name}: {b} cannot be added to {a}")
        return [a.replace(count=joint_count(name, (a, b)))]

    return define(name, infer=infer, meaning=lambda _op, inputs, _context: [function(*inputs)])


ADD_PLAIN = _sum("bfv.add_plain", np.add)
SUB_PLAIN = _sum("bfv.sub_plain", np.subtract)


def _infer_trivial(operands: Sequence[Value], _attrs: Attrs, _regions: Regions) -> list[Type]:
    (a,) = take("bfv.trivial", operands, AddendType)
    return [CipherType(SCHEME, a.count, a.slots, a.level, a.scale)]


TRIVIAL = define("bfv.trivial", infer=_infer_trivial, meaning=lambda _op, inputs, _context: [inputs[0]])


def _product(name: str, a: CipherType, b: CipherType) -> CipherType:
    if a.level != b.level or a.basis != "Q" or b.basis != "Q":
        raise LevelError(f"{name}: needs one level over Q, got {a.level} over {a.basis} and {b.level} over {b.basis}")
    if a.slots != b.slots:
        raise ShapeError(f"{name}: operands differ: {a.count} x {a.slots} slots and {b.count} x {b.slots}")
    if (a.degree, b.degree, a.scheme, b.scheme) != (1, 1, SCHEME, SCHEME):
        raise IrError(f"{name}: needs bfv ciphertexts of degree 1, got {a} and {b}; relinearize first")
    return a.replace(count=joint_count(name, (a, b)), degree=2)


def _infer_mul(operands: Sequence[Value], _attrs: Attrs, _regions: Regions) -> list[Type]:
    return [_product("bfv.mul", *take("bfv.mul", operands, CipherType, CipherType))]


MUL = define("bfv.mul", infer=_infer_mul, meaning=lambda _op, inputs, _context: [inputs[0] * inputs[1]])


def _infer_square(operands: Sequence[Value], _attrs: Attrs, _regions: Regions) -> list[Type]:
    (a,) = take("bfv.square", operands, CipherType)
    return [_product("bfv.square", a, a)]


SQUARE = define("bfv.square", infer=_infer_square, meaning=lambda _op, inputs, _context: [inputs[0] * inputs[0]])


def _infer_dot(operands: Sequence[Value], attrs: Attrs, _regions: Regions) -> list[Type]:
    """Attribute groups: as of rlwe.sum."""
    a, b = take("bfv.dot", operands, CipherType, CipherType)
    return [summed_type("bfv.dot", _product("bfv.dot", a, b), attrs)]


# The sums of the products of two arrays: rlwe.sum of bfv.mul, divided and rounded once a sum.
DOT = define(
    "bfv.dot",
    infer=_infer_dot,
    meaning=lambda op, inputs, _context: [as_value(sum_vectors(as_vectors(inputs[0] * inputs[1]), op.attrs["groups"]))],
)


def _infer_mul_relinearize(operands: Sequence[Value], _attrs: Attrs, _regions: Regions) -> list[Type]:
    name = "bfv.mul_relinearize"
    a, b, key = take(name, operands, CipherType, CipherType, KeyType)
    if key.spec.kind != "relin" or key.spec.track != a.level.track or key.spec.level < a.level.index:
        raise IrError(f"{name}: needs a relin key for {a.level}, got {key.spec}")
    return [_product(name, a, b).replace(degree=1)]


# rlwe.relinearize of bfv.mul: one division ends both.
MUL_RELINEARIZE = define(
    "bfv.mul_relinearize",
    infer=_infer_mul_relinearize,
    meaning=lambda _op, inputs, _context: [inputs[0] * inputs[1]],
)


def _infer_linear(operands: Sequence[Value], attrs: Attrs, _regions: Regions) -> list[Type]:
    """Attribute map: a real one, of integers."""
    name = "bfv.linear_transform"
    (a,) = take(name, operands, CipherType)
    if a.degree != 1 or a.basis != "Q" or a.scheme != SCHEME:
        raise IrError(f"{name}: needs a bfv ciphertext of degree 1 over Q, got {a}; relinearize first")
    linear_map = attribute(name, attrs, "map", LinearMap)
    return [a.replace(count=mapped_count(name, linear_map, a.count, a.slots))]


def _linear(op: Op, inputs: list[Array], context: Context) -> list[Array]:
    return [op.attrs["map"].apply(inputs[0], context.sources)]


LINEAR_TRANSFORM = define("bfv.linear_transform", infer=_infer_linear, meaning=_linear)
