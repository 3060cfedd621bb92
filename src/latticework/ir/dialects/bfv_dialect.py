"""The bfv dialect: products of ciphertexts, and constants in the form in which they are added.

Slots hold integers modulo t in two rows that are alike; a value means one of them. Every scale is 1, and no product
takes a level. Types do not know t: the semantics of an op are over the integers, before they are reduced.
"""

from __future__ import annotations

from collections.abc import Sequence

from latticework.errors import IrError
from latticework.ir import Array, Attrs, Context, Op, Region, Type, Value, attribute, define
from latticework.ir.dialects.constant_attributes import ConstRef, LinearMap, mapped_count
from latticework.ir.dialects.primitives import OpFacts, define_primitive, name_instruction
from latticework.ir.dialects.rlwe_dialect import groups_of
from latticework.ir.dialects.rlwe_types import AddendType, CipherType, Level, take

SCHEME, SCALE = "bfv", 1.0
Regions = Sequence[Region]


def _infer_encode(operands: Sequence[Value], attrs: Attrs, _regions: Regions) -> list[Type]:
    """Attributes: value, level."""
    take("bfv.encode", operands)
    value = attribute("bfv.encode", attrs, "value", ConstRef)
    return [AddendType(value.count, value.slots, attribute("bfv.encode", attrs, "level", Level))]


ENCODE = define(
    "bfv.encode",
    infer=_infer_encode,
    semantics=lambda op, _inputs, context: [op.result.type.accept(op.attrs["value"].evaluate(context.sources))],
)


name_instruction("bfv.encode", lambda _name, attrs, _types: OpFacts(constant=attrs["value"]))
ADD_PLAIN = define_primitive("bfv.add_plain")
SUB_PLAIN = define_primitive("bfv.sub_plain")
TRIVIAL = define_primitive("bfv.trivial")
MUL = define_primitive("bfv.mul")
SQUARE = define_primitive("bfv.square")
# The sums of the products of two arrays: rlwe.sum of bfv.mul, divided and rounded once a sum.
DOT = define_primitive("bfv.dot", groups_of, operands=(CipherType, CipherType))
# rlwe.relinearize of bfv.mul: one division ends both.
MUL_RELINEARIZE = define_primitive("bfv.mul_relinearize")


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


LINEAR_TRANSFORM = define("bfv.linear_transform", infer=_infer_linear, semantics=_linear)
