"""The ckks dialect: products of ciphertexts, and maps of slots kept symbolic until they are expanded."""

from __future__ import annotations

from collections.abc import Sequence

from latticework.errors import IrError
from latticework.ir import Attrs, Region, Type, Value, attribute, define
from latticework.ir.dialects.constant_attributes import Approximant, LinearMap, mapped_count, number_matrix
from latticework.ir.dialects.primitives import OpFacts, Stated, define_primitive
from latticework.ir.dialects.rlwe_dialect import groups_of, scale_of
from latticework.ir.dialects.rlwe_types import CipherType, Level, check_level, take


def _type_with_scale(name: str, attrs: Attrs, _types: Sequence[Type]) -> OpFacts:
    return OpFacts(stated=Stated(scale=scale_of(name, attrs)))


MUL = define_primitive("ckks.mul", _type_with_scale)
SQUARE = define_primitive("ckks.square", _type_with_scale)
# The sums of the products of two arrays: rlwe.sum of ckks.mul, of which no product is alive by itself.
DOT = define_primitive("ckks.dot", groups_of, operands=(CipherType, CipherType))


def _place(name: str, operands: Sequence[Value], attrs: Attrs, *, of_any_degree: bool = False) -> CipherType:
    """The result of a symbolic map: its operand at the level and scale stated in the attributes."""
    (a,) = take(name, operands, CipherType)
    assert isinstance(a, CipherType)
    if (a.degree != 1 and not of_any_degree) or a.basis != "Q":
        raise IrError(f"{name}: needs degree 1 over Q, got degree {a.degree} over {a.basis}; relinearize first")
    level = attribute(name, attrs, "level", Level)
    check_level(name, a.level, level, strict=False)
    return a.replace(level=level, scale=attribute(name, attrs, "scale", float))


def _infer_linear(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    name = "ckks.linear_transform"
    linear_map = attribute(name, attrs, "map", LinearMap)
    result = _place(name, operands, attrs, of_any_degree=number_matrix(linear_map) is not None)
    return [result.replace(count=mapped_count(name, linear_map, result.count, result.slots))]


LINEAR_TRANSFORM = define(
    "ckks.linear_transform",
    infer=_infer_linear,
    semantics=lambda op, inputs, context: [op.attrs["map"].apply(inputs[0], context.sources)],
)


def _infer_polynomial(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    attribute("ckks.polynomial", attrs, "polynomial", Approximant)
    return [_place("ckks.polynomial", operands, attrs)]


POLYNOMIAL = define(
    "ckks.polynomial",
    infer=_infer_polynomial,
    semantics=lambda op, inputs, _context: [op.attrs["polynomial"](inputs[0])],
)


def _type_mod_raise(name: str, attrs: Attrs, types: Sequence[Type]) -> OpFacts:
    """Attributes: level (of any track), factor, modulus (q0), slots (N/2: the integer polynomial fills the ring)."""
    a = types[0]
    assert isinstance(a, CipherType)
    level, factor = attribute(name, attrs, "level", Level), attribute(name, attrs, "factor", int)
    slots, modulus = attribute(name, attrs, "slots", int), attribute(name, attrs, "modulus", int)
    if slots < a.slots:
        raise IrError(f"{name}: {slots} slots do not hold the operand's {a.slots}")
    stated = Stated.at(level, scale_of(name, attrs))
    return OpFacts((factor,), stated, ring_degree=2 * slots, modulus=modulus, seed=attrs.get("seed", 0))


MOD_RAISE = define_primitive("ckks.mod_raise", _type_mod_raise)
