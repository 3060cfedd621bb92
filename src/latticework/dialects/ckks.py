"""The ckks dialect: products of ciphertexts, and maps of slots kept symbolic until they are expanded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from latticework.dialects.arrays import joint_count, summed_type
from latticework.dialects.constants import IntervalPolynomial, LinearMap, mapped_count
from latticework.dialects.key import KeyType
from latticework.dialects.rlwe_types import CipherType, Level, check_level, stated_scale, take
from latticework.errors import IrError, LevelError, ShapeError
from latticework.ir import Array, Attrs, Context, Op, Region, Type, Value, attribute, define
from latticework.packing.arrays import as_value, as_vectors, sum_vectors
from latticework.packing.embedding import raise_modulus


def _product(name: str, a: CipherType, b: CipherType, attrs: Attrs) -> CipherType:
    if a.level != b.level or a.basis != "Q" or b.basis != "Q":
        raise LevelError(f"{name}: needs one level over Q, got {a.level} over {a.basis} and {b.level} over {b.basis}")
    if a.slots != b.slots:
        raise ShapeError(f"{name}: operands differ: {a.count} x {a.slots} slots and {b.count} x {b.slots}")
    if a.degree != 1 or b.degree != 1 or a.scheme != "ckks" or (a.scheme, a.secret_key) != (b.scheme, b.secret_key):
        raise IrError(
            f"{name}: needs ckks ciphertexts of degree 1 under one secret, got {a} and {b}; relinearize first"
        )
    return a.replace(count=joint_count(name, (a, b)), degree=2, scale=stated_scale(name, attrs, a.scale * b.scale))


def _infer_mul(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    a, b = take("ckks.mul", operands, CipherType, CipherType)
    return [_product("ckks.mul", a, b, attrs)]


MUL = define("ckks.mul", infer=_infer_mul, meaning=lambda _op, inputs, _context: [inputs[0] * inputs[1]])


def _infer_square(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    (a,) = take("ckks.square", operands, CipherType)
    return [_product("ckks.square", a, a, attrs)]


SQUARE = define("ckks.square", infer=_infer_square, meaning=lambda _op, inputs, _context: [inputs[0] * inputs[0]])


def _infer_dot(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    """Attribute groups: as of rlwe.sum."""
    a, b = take("ckks.dot", operands, CipherType, CipherType)
    return [summed_type("ckks.dot", _product("ckks.dot", a, b, attrs), attrs)]


# The sums of the products of two arrays: rlwe.sum of ckks.mul, of which no product is alive by itself.
DOT = define(
    "ckks.dot",
    infer=_infer_dot,
    meaning=lambda op, inputs, _context: [as_value(sum_vectors(as_vectors(inputs[0] * inputs[1]), op.attrs["groups"]))],
)


def _placed(name: str, operands: Sequence[Value], attrs: Attrs) -> CipherType:
    """The result of a symbolic map: its operand at the level and scale stated in the attributes."""
    (a,) = take(name, operands, CipherType)
    assert isinstance(a, CipherType)
    if a.degree != 1 or a.basis != "Q":
        raise IrError(f"{name}: needs degree 1 over Q, got degree {a.degree} over {a.basis}; relinearize first")
    level = attribute(name, attrs, "level", Level)
    check_level(name, a.level, level, strict=False)
    return a.replace(level=level, scale=attribute(name, attrs, "scale", float))


def _infer_linear(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    name = "ckks.linear_transform"
    result = _placed(name, operands, attrs)
    linear_map = attribute(name, attrs, "map", LinearMap)
    return [result.replace(count=mapped_count(name, linear_map, result.count, result.slots))]


LINEAR_TRANSFORM = define(
    "ckks.linear_transform",
    infer=_infer_linear,
    meaning=lambda op, inputs, context: [op.attrs["map"].apply(inputs[0], context.sources)],
)


def _infer_polynomial(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    attribute("ckks.polynomial", attrs, "polynomial", IntervalPolynomial)
    return [_placed("ckks.polynomial", operands, attrs)]


POLYNOMIAL = define(
    "ckks.polynomial",
    infer=_infer_polynomial,
    meaning=lambda op, inputs, _context: [op.attrs["polynomial"](inputs[0])],
)


def _infer_mod_raise(operands: Sequence[Value], attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    """Attributes: level (of any track), factor, modulus (q0), slots (N/2: the integer polynomial fills the ring)."""
    name = "ckks.mod_raise"
    a, key = take(name, operands, CipherType, KeyType, secret_key="sparse")
    level, factor = attribute(name, attrs, "level", Level), attribute(name, attrs, "factor", int)
    slots = attribute(name, attrs, "slots", int)
    attribute(name, attrs, "modulus", int)
    if a.degree != 1 or a.basis != "Q" or a.level != Level(0, 0):
        raise IrError(f"{name}: needs degree 1 over Q at level 0, got {a}")
    if factor < 1 or slots < a.slots:
        raise IrError(f"{name}: factor {factor} must be positive, and {slots} slots hold the operand's {a.slots}")
    spec = key.spec
    if spec.kind != "to_dense" or spec.track != level.track or spec.level < level.index:
        raise LevelError(f"{name}: needs a to_dense key for {level}, got {spec}")
    scale = stated_scale(name, attrs, a.scale * factor)
    return [a.replace(level=level, scale=scale, basis="QP", slots=slots, secret_key="main")]


def _mod_raise(op: Op, inputs: list[Array], _context: Context) -> list[Array]:
    before = op.operands[0].type
    assert isinstance(before, CipherType)
    random = np.random.default_rng(op.attrs.get("seed", 0))
    return [raise_modulus(inputs[0], op.attrs["slots"], op.attrs["modulus"] / before.scale, random)]


MOD_RAISE = define("ckks.mod_raise", infer=_infer_mod_raise, meaning=_mod_raise)
