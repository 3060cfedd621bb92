"""The rlwe dialect: ciphertexts with level, scale and degree, and what can be done to them in every scheme.

Every value has a meaning as slot vectors.  ``rotate``, ``relinearize``,
``conjugate`` and ``rescale`` are fused names for sequences of ``hoist``,
``key_product`` and ``mod_down``.  A result whose scale no rule determines
states it in attribute ``scale``; a stated scale that a rule determines is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from latticework.dialects.arrays import define_moves, joint_count, summed_type
from latticework.dialects.constants import ConstRef, MapSums
from latticework.dialects.key import KeyType
from latticework.dialects.rlwe_types import (
    CipherType,
    DigitsType,
    Level,
    PlainType,
    check_level,
    match_scale,
    stated_scale,
    take,
)
from latticework.errors import IrError, LevelError, ShapeError
from latticework.ir import Array, Attrs, Context, Op, Region, Type, Value, attribute, define
from latticework.packing.arrays import apply_galois, as_value, as_vectors, sum_vectors
from latticework.packing.keys import galois_action

__all__ = ["CipherType", "DigitsType", "Level", "PlainType"]

Regions = Sequence[Region]


def _same(op: Op, inputs: list[Array], _context: Context) -> list[Array]:
    """The meaning of ops that change how a value is held, and not the value."""
    return [inputs[0]]


def _match(name: str, a: CipherType, b: CipherType | PlainType) -> int:
    """The count of the result; raise unless the operands lie over the same limbs and slots."""
    if a.level != b.level or a.basis != b.basis:
        raise LevelError(f"{name}: levels differ (lhs {a.level} over {a.basis}, rhs {b.level} over {b.basis})")
    if a.slots != b.slots:
        raise ShapeError(f"{name}: operands differ: {a.count} x {a.slots} slots and {b.count} x {b.slots}")
    if isinstance(b, CipherType) and (a.scheme, a.secret_key) != (b.scheme, b.secret_key):
        raise IrError(f"{name}: operands are {a} and {b}; scheme and secret must agree")
    return joint_count(name, (a, b))


def _sum(name: str, function: Callable[[Array, Array], Array], other: type[Type]) -> Any:
    def infer(operands: Sequence[Value], attrs: Attrs, _regions: Regions) -> list[Type]:
        a, b = take(name, operands, CipherType, other)
        count = _match(name, a, b)
        match_scale(name, a.scale, b.scale, "rescale or relabel one operand first")
        degree = max(a.degree, b.degree) if other is CipherType else a.degree
        return [a.replace(count=count, degree=degree, scale=stated_scale(name, attrs, a.scale))]

    def meaning(_op: Op, inputs: list[Array], _context: Context) -> list[Array]:
        return [function(*inputs)]

    return define(name, infer=infer, meaning=meaning)


ADD = _sum("rlwe.add", np.add, CipherType)
SUB = _sum("rlwe.sub", np.subtract, CipherType)
ADD_PLAIN = _sum("rlwe.add_plain", np.add, PlainType)
SUB_PLAIN = _sum("rlwe.sub_plain", np.subtract, PlainType)


def _infer_neg(operands: Sequence[Value], _attrs: Attrs, _regions: Regions) -> list[Type]:
    return take("rlwe.neg", operands, CipherType)


NEG = define("rlwe.neg", infer=_infer_neg, meaning=lambda _op, inputs, _context: [-inputs[0]])


def _infer_encode(operands: Sequence[Value], attrs: Attrs, _regions: Regions) -> list[Type]:
    name = "rlwe.encode"
    take(name, operands)
    value = attrs.get("value")
    if not isinstance(value, (ConstRef, float, complex)):
        raise IrError(f"{name}: attribute value must be a ConstRef, float or complex, got {value!r}")
    slots = value.slots if isinstance(value, ConstRef) else attribute(name, attrs, "slots", int)
    if attrs.get("slots", slots) != slots:
        raise ShapeError(f"{name}: slots is {attrs['slots']}, but the value has {slots}")
    level, scale = attribute(name, attrs, "level", Level), attribute(name, attrs, "scale", float)
    count = value.count if isinstance(value, ConstRef) else 1
    return [PlainType(count, slots, level, scale, attrs.get("basis", "Q"))]


def _encode(op: Op, _inputs: list[Array], context: Context) -> list[Array]:
    type_, value = op.result.type, op.attrs["value"]
    assert isinstance(type_, PlainType)
    slots = value.evaluate(context.sources) if isinstance(value, ConstRef) else np.full(type_.slots, value)
    return [type_.accept(slots)]


ENCODE = define("rlwe.encode", infer=_infer_encode, meaning=_encode)


def _infer_mul_plain(operands: Sequence[Value], attrs: Attrs, _regions: Regions) -> list[Type]:
    a, b = take("rlwe.mul_plain", operands, CipherType, PlainType)
    count = _match("rlwe.mul_plain", a, b)
    return [a.replace(count=count, scale=stated_scale("rlwe.mul_plain", attrs, a.scale * b.scale))]


MUL_PLAIN = define(
    "rlwe.mul_plain", infer=_infer_mul_plain, meaning=lambda _op, inputs, _context: [inputs[0] * inputs[1]]
)


def _infer_dot_plain(operands: Sequence[Value], attrs: Attrs, regions: Regions) -> list[Type]:
    """Attribute groups: as of rlwe.sum."""
    (product,) = _infer_mul_plain(operands, attrs, regions)
    return [summed_type("rlwe.dot_plain", product, attrs)]


# rlwe.sum of rlwe.mul_plain, of which no product is alive by itself.
DOT_PLAIN = define(
    "rlwe.dot_plain",
    infer=_infer_dot_plain,
    meaning=lambda op, inputs, _context: [as_value(sum_vectors(as_vectors(inputs[0] * inputs[1]), op.attrs["groups"]))],
)


def _scale_ratio(op: Op) -> float:
    """Scale of the operand over scale of the result: what a new label does to the value."""
    before, after = op.operands[0].type, op.result.type
    assert isinstance(before, CipherType) and isinstance(after, CipherType)
    return before.scale / after.scale


def _infer_mul_int(operands: Sequence[Value], attrs: Attrs, _regions: Regions) -> list[Type]:
    (a,) = take("rlwe.mul_int", operands, CipherType)
    attribute("rlwe.mul_int", attrs, "factor", int)
    return [a.replace(scale=attribute("rlwe.mul_int", attrs, "scale", float))]


MUL_INT = define(
    "rlwe.mul_int",
    infer=_infer_mul_int,
    meaning=lambda op, inputs, _context: [inputs[0] * (op.attrs["factor"] * _scale_ratio(op))],
)


def _infer_add_int(operands: Sequence[Value], attrs: Attrs, _regions: Regions) -> list[Type]:
    (a,) = take("rlwe.add_int", operands, CipherType)
    attribute("rlwe.add_int", attrs, "addend", int)
    if a.basis != "Q":
        raise IrError(f"rlwe.add_int: the operand is over {a.basis}; mod_down first")
    return [a]


def _add_int(op: Op, inputs: list[Array], _context: Context) -> list[Array]:
    type_ = op.result.type
    assert isinstance(type_, CipherType)
    return [inputs[0] + op.attrs["addend"] / type_.scale]


ADD_INT = define("rlwe.add_int", infer=_infer_add_int, meaning=_add_int)


def _infer_relabel(operands: Sequence[Value], attrs: Attrs, _regions: Regions) -> list[Type]:
    """Attributes: scale, slots, and level: a place with the same limbs on another track."""
    (a,) = take("rlwe.relabel", operands, CipherType)
    slots = a.slots if attrs.get("slots") is None else attribute("rlwe.relabel", attrs, "slots", int)
    if slots < 1 or (slots % a.slots and a.slots % slots):
        raise ShapeError(f"rlwe.relabel: {a.slots} slots cannot be read as {slots}")
    level = a.level if attrs.get("level") is None else attribute("rlwe.relabel", attrs, "level", Level)
    return [a.replace(level=level, scale=attribute("rlwe.relabel", attrs, "scale", float), slots=slots)]


def _relabel(op: Op, inputs: list[Array], _context: Context) -> list[Array]:
    before, after = op.operands[0].type, op.result.type
    assert isinstance(before, CipherType) and isinstance(after, CipherType)
    period = np.arange(after.slots) % before.slots
    return [inputs[0][..., period] * _scale_ratio(op)]


RELABEL = define("rlwe.relabel", infer=_infer_relabel, meaning=_relabel)


def _infer_trivial(operands: Sequence[Value], attrs: Attrs, _regions: Regions) -> list[Type]:
    (a,) = take("rlwe.trivial", operands, PlainType)
    scheme = attribute("rlwe.trivial", {"scheme": "ckks", **attrs}, "scheme", str)
    return [CipherType(scheme, a.count, a.slots, a.level, a.scale, 1, a.basis)]


TRIVIAL = define("rlwe.trivial", infer=_infer_trivial, meaning=_same)


def _infer_drop_level(operands: Sequence[Value], attrs: Attrs, _regions: Regions) -> list[Type]:
    (a,) = take("rlwe.drop_level", operands, CipherType)
    level = attribute("rlwe.drop_level", attrs, "level", Level)
    check_level("rlwe.drop_level", a.level, level, strict=True)
    return [a.replace(level=level)]


DROP_LEVEL = define("rlwe.drop_level", infer=_infer_drop_level, meaning=_same)


def _infer_rescale(operands: Sequence[Value], attrs: Attrs, _regions: Regions) -> list[Type]:
    (a,) = take("rlwe.rescale", operands, CipherType)
    if a.basis != "Q" or a.level.index == 0:
        raise LevelError(f"rlwe.rescale: no level is left below {a.level} over {a.basis}")
    level = Level(a.level.track, a.level.index - 1)
    return [a.replace(level=level, scale=attribute("rlwe.rescale", attrs, "scale", float))]


RESCALE = define("rlwe.rescale", infer=_infer_rescale, meaning=_same)


def _infer_mod_down(operands: Sequence[Value], attrs: Attrs, _regions: Regions) -> list[Type]:
    (a,) = take("rlwe.mod_down", operands, CipherType)
    level = attribute("rlwe.mod_down", attrs, "level", Level)
    check_level("rlwe.mod_down", a.level, level, strict=a.basis == "Q")
    return [a.replace(level=level, basis="Q", scale=attribute("rlwe.mod_down", attrs, "scale", float))]


MOD_DOWN = define("rlwe.mod_down", infer=_infer_mod_down, meaning=_same)


def _check_key(name: str, key: KeyType, kind: str, level: Level) -> None:
    """Raise unless the key is of this kind and holds the limbs of this level."""
    if key.spec.kind != kind:
        raise IrError(f"{name}: needs a {kind} key, got a {key.spec.kind} key")
    if key.spec.track != level.track or key.spec.level < level.index:
        have = Level(key.spec.track, key.spec.level)
        raise LevelError(f"{name}: the key serves {have} and below, the ciphertext is at {level}")


def _check_switchable(name: str, a: CipherType, degrees: tuple[int, ...]) -> None:
    if a.basis != "Q" or a.degree not in degrees:
        need = " or ".join(map(str, degrees))
        raise IrError(f"{name}: needs degree {need} over Q, got degree {a.degree} over {a.basis}")


def _infer_hoist(operands: Sequence[Value], _attrs: Attrs, _regions: Regions) -> list[Type]:
    (a,) = take("rlwe.hoist", operands, CipherType)
    _check_switchable("rlwe.hoist", a, (1, 2))
    return [DigitsType(a)]


HOIST = define("rlwe.hoist", infer=_infer_hoist, meaning=_same)


def _infer_key_product(operands: Sequence[Value], _attrs: Attrs, _regions: Regions) -> list[Type]:
    digits, key = take("rlwe.key_product", operands, DigitsType, KeyType)
    a = digits.of
    _check_key("rlwe.key_product", key, "relin" if a.degree == 2 else "galois", a.level)
    return [a.replace(basis="QP", degree=1)]


def _key_product(op: Op, inputs: list[Array], _context: Context) -> list[Array]:
    key = op.operands[1].type
    assert isinstance(key, KeyType)
    return [inputs[0] if key.spec.kind == "relin" else apply_galois(inputs[0], key.spec.galois_element)]


KEY_PRODUCT = define("rlwe.key_product", infer=_infer_key_product, meaning=_key_product)


def _switched(name: str, operands: Sequence[Value], kind: str, action: tuple[int, bool] | None) -> CipherType:
    """The operand of a fused key switch, checked; its key, if it has one already, must do `action`."""
    a, *keys = take(name, operands, *(CipherType, KeyType)[: max(1, len(operands))])
    assert isinstance(a, CipherType)
    _check_switchable(name, a, (2,) if kind == "relin" else (1,))
    for key in keys:
        _check_key(name, key, kind, a.level)
        if action is not None and galois_action(key.spec.galois_element, a.slots) != action:
            raise IrError(f"{name}: the key of galois element {key.spec.galois_element} does something else")
    return a


def _infer_rotate(operands: Sequence[Value], attrs: Attrs, _regions: Regions) -> list[Type]:
    steps = attribute("rlwe.rotate", attrs, "steps", int)
    slots = getattr(operands[0].type, "slots", 1) if operands else 1
    return [_switched("rlwe.rotate", operands, "galois", (steps % slots, False))]


ROTATE = define(
    "rlwe.rotate",
    infer=_infer_rotate,
    meaning=lambda op, inputs, _context: [np.roll(inputs[0], -op.attrs["steps"], axis=-1)],
)


def _infer_conjugate(operands: Sequence[Value], _attrs: Attrs, _regions: Regions) -> list[Type]:
    return [_switched("rlwe.conjugate", operands, "galois", (0, True))]


CONJUGATE = define("rlwe.conjugate", infer=_infer_conjugate, meaning=lambda _op, inputs, _context: [np.conj(inputs[0])])


def _infer_relinearize(operands: Sequence[Value], attrs: Attrs, _regions: Regions) -> list[Type]:
    """Attributes level and scale, both or neither: where its division by P ends if it takes levels with it."""
    name = "rlwe.relinearize"
    a = _switched(name, operands, "relin", None).replace(degree=1)
    if attrs.get("level") is None and attrs.get("scale") is None:
        return [a]
    level = attribute(name, attrs, "level", Level)
    check_level(name, a.level, level, strict=True)
    return [a.replace(level=level, scale=attribute(name, attrs, "scale", float))]


RELINEARIZE = define("rlwe.relinearize", infer=_infer_relinearize, meaning=_same)


def _infer_extend(operands: Sequence[Value], _attrs: Attrs, _regions: Regions) -> list[Type]:
    (a,) = take("rlwe.extend", operands, CipherType)
    if a.basis != "Q":
        raise IrError(f"rlwe.extend: the operand is over {a.basis} already")
    return [a.replace(basis="QP")]


EXTEND = define("rlwe.extend", infer=_infer_extend, meaning=_same)


def _infer_mul_monomial(operands: Sequence[Value], attrs: Attrs, _regions: Regions) -> list[Type]:
    name = "rlwe.mul_monomial"
    (a,) = take(name, operands, CipherType)
    degree, exponent = attribute(name, attrs, "ring_degree", int), attribute(name, attrs, "exponent", int)
    if degree < 2 * a.slots or degree & (degree - 1) or not 0 <= exponent < 2 * degree:
        raise IrError(f"{name}: X^{exponent} in a ring of degree {degree}, of {a.slots} slots; exponents are below 2N")
    return [a]


def _mul_monomial(op: Op, inputs: list[Array], _context: Context) -> list[Array]:
    exponent, half = op.attrs["exponent"], op.attrs["ring_degree"] // 2
    if exponent % half:
        raise IrError(f"rlwe.mul_monomial: X^{exponent} has no meaning on slots; multiples of N/2 = {half} have")
    return [inputs[0] * (1, 1j, -1, -1j)[exponent // half]]


MUL_MONOMIAL = define("rlwe.mul_monomial", infer=_infer_mul_monomial, meaning=_mul_monomial)


def _infer_to_sparse(operands: Sequence[Value], _attrs: Attrs, _regions: Regions) -> list[Type]:
    name = "rlwe.to_sparse"
    a, key = take(name, operands, CipherType, KeyType)
    _check_switchable(name, a, (1,))
    if a.level != Level(0, 0):
        raise LevelError(f"{name}: only level 0 of track 0 may be under the sparse secret, not {a.level}")
    _check_key(name, key, "to_sparse", a.level)
    return [a.replace(secret_key="sparse")]


TO_SPARSE = define("rlwe.to_sparse", infer=_infer_to_sparse, meaning=_same)


def _infer_diag_sums(operands: Sequence[Value], attrs: Attrs, _regions: Regions) -> list[Type]:
    name = "rlwe.diag_sums"
    terms, giants = attribute(name, attrs, "terms", tuple), attribute(name, attrs, "giants", int)
    num_keys = len(operands) - 1 - len(terms)
    if giants < 1 or num_keys < 0 or not terms:
        raise IrError(f"{name}: {len(operands)} operands for {len(terms)} terms of {giants} giants")
    digits, *rest = take(name, operands, DigitsType, *[KeyType] * num_keys, *[PlainType] * len(terms))
    keys, plains = rest[:num_keys], rest[num_keys:]
    of = digits.of
    if of.degree != 1:
        raise IrError(f"{name}: needs digits of degree 1, got degree {of.degree}")
    for key in keys:
        _check_key(name, key, "galois", of.level)
    for baby, giant in terms:
        if not (0 <= baby <= num_keys and 0 <= giant < giants):
            raise IrError(f"{name}: term ({baby}, {giant}) of {num_keys + 1} babies and {giants} giants")
    over_qp = of.replace(basis="QP")
    for plain in plains:
        if _match(name, over_qp, plain) != of.count:
            raise ShapeError(f"{name}: {plain.count} vectors of a diagonal for {of.count} of digits")
        match_scale(name, plain.scale, plains[0].scale, "encode all diagonals at one scale")
    return [over_qp.replace(scale=stated_scale(name, attrs, of.scale * plains[0].scale))] * giants


def _diag_sums(op: Op, inputs: list[Array], _context: Context) -> list[Array]:
    terms = op.attrs["terms"]
    babies = [inputs[0]]
    for value in op.operands[1 : len(op.operands) - len(terms)]:
        assert isinstance(value.type, KeyType)
        babies.append(apply_galois(inputs[0], value.type.spec.galois_element))
    sums = [np.zeros_like(inputs[0]) for _ in range(op.attrs["giants"])]
    for (baby, giant), plain in zip(terms, inputs[len(inputs) - len(terms) :], strict=True):
        sums[giant] = sums[giant] + plain * babies[baby]
    return sums


DIAG_SUMS = define("rlwe.diag_sums", infer=_infer_diag_sums, meaning=_diag_sums)


def _infer_map_sums(operands: Sequence[Value], attrs: Attrs, _regions: Regions) -> list[Type]:
    """The inner sums of a block map, all inputs in one array: one ciphertext for each of `products.groups`.

    Attributes: sums, and scale: of the result. The keys are those of `products.babies`. Without any, nothing has to be
    divided by P, and the sums stay over Q.
    """
    name = "rlwe.map_sums"
    sums = attribute(name, attrs, "sums", MapSums)
    products = sums.products
    a, *keys = take(name, operands, CipherType, *[KeyType] * len(products.babies))
    _check_switchable(name, a, (1,))
    if (a.count, a.slots) != (sums.map.count_in, sums.map.slots):
        raise ShapeError(
            f"{name}: the map takes {sums.map.count_in} x {sums.map.slots} slots, its operand has {a.count} x {a.slots}"
        )
    for key, baby in zip(keys, products.babies, strict=True):
        _check_key(name, key, "galois", a.level)
        if galois_action(key.spec.galois_element, a.slots) != (baby.steps % a.slots, baby.conj):
            raise IrError(f"{name}: the key of galois element {key.spec.galois_element} does not make {baby}")
    if not products.groups:
        raise IrError(f"{name}: the map has no diagonal")
    scale = attribute(name, attrs, "scale", float)
    return [a.replace(count=len(products.groups), basis="QP" if keys else "Q", scale=scale)]


def _map_sums(op: Op, inputs: list[Array], context: Context) -> list[Array]:
    products = op.attrs["sums"].products
    x = as_vectors(inputs[0])
    babies = [x]
    for value in op.operands[1:]:
        assert isinstance(value.type, KeyType)
        babies.append(apply_galois(x, value.type.spec.galois_element))
    totals = np.zeros((len(products.groups), x.shape[1]), dtype=np.complex128)
    for (in_, baby, group), values in zip(products.rows.tolist(), products.values, strict=True):
        totals[group] += values.evaluate(context.sources) * babies[baby][in_]
    return [as_value(totals)]


MAP_SUMS = define("rlwe.map_sums", infer=_infer_map_sums, meaning=_map_sums)


def _joined(name: str, types: list[CipherType]) -> CipherType:
    first = types[0]
    for other in types[1:]:
        _match(name, first.replace(count=1), other)
        match_scale(name, first.scale, other.scale, "rescale or relabel one operand first")
        if other.degree != first.degree:
            raise IrError(f"{name}: degrees {first.degree} and {other.degree}; relinearize first")
    return first


TAKE, CONCAT, SUM = define_moves("rlwe", CipherType, _joined)
