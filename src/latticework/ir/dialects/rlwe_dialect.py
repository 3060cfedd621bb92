"""The rlwe dialect: ciphertexts with level, scale and degree, and what can be done to them in every scheme.

Every value stands for slot vectors. Most ops are plan instructions, whose records say what they take and make
(`primitives`). ``rescale`` and ``conjugate`` are fused names for sequences of ``hoist``, ``key_product`` and
``mod_down``; ``rotate`` and ``relinearize`` get their key when they are expanded. A result whose scale no rule
determines states it in attribute ``scale``; a stated scale that a rule determines is checked.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from latticework.errors import IrError, LevelError, ShapeError
from latticework.ir import INDEX, Array, Attrs, Context, Op, Region, Type, Value, attribute, define
from latticework.ir.dialects.constant_attributes import ConstRef, MapSums, NumberMatrix
from latticework.ir.dialects.key_dialect import KeyType
from latticework.ir.dialects.primitives import Classes, OpFacts, Stated, define_primitive, name_instruction
from latticework.ir.dialects.rlwe_types import CipherType, DigitsType, Level, PlainType, check_level, take
from latticework.plan.instructions.moves import find_part
from latticework.values.packing.key_manifest import KeySpec, conjugation_element, galois_action, galois_element
from latticework.values.packing.packed_constants import row_of

__all__ = ["CipherType", "DigitsType", "Level", "PlainType"]

Regions = Sequence[Region]
Types = Sequence[Type]


def scale_of(name: str, attrs: Attrs) -> float | None:
    """The scale that an op states for its result, if any."""
    return None if attrs.get("scale") is None else attribute(name, attrs, "scale", float)


def _type_with_scale(name: str, attrs: Attrs, _types: Types) -> OpFacts:
    return OpFacts(stated=Stated(scale=scale_of(name, attrs)))


def groups_of(name: str, attrs: Attrs, _types: Types) -> OpFacts:
    """Attribute groups: neighbours of an array are added up in so many."""
    return OpFacts((attribute(name, attrs, "groups", int),), Stated(scale=scale_of(name, attrs)))


ADD = define_primitive("rlwe.add", _type_with_scale)
SUB = define_primitive("rlwe.sub", _type_with_scale)
ADD_PLAIN = define_primitive("rlwe.add_plain", _type_with_scale)
SUB_PLAIN = define_primitive("rlwe.sub_plain", _type_with_scale)
NEG = define_primitive("rlwe.neg")


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


ENCODE = define("rlwe.encode", infer=_infer_encode, semantics=_encode)
name_instruction("rlwe.encode", lambda _name, attrs, _types: OpFacts(constant=attrs["value"]))


def _infer_encode_at(operands: Sequence[Value], attrs: Attrs, _regions: Regions) -> list[Type]:
    """Attributes: value: row 0 of the table;  rows: how many there are (`packing.constants.row_of`)."""
    name = "rlwe.encode_at"
    if len(operands) != 1 or operands[0].type is not INDEX:
        raise IrError(f"{name}: takes an index, got ({', '.join(str(v.type) for v in operands)})")
    value, _ = attribute(name, attrs, "value", ConstRef), attribute(name, attrs, "rows", int)
    level, scale = attribute(name, attrs, "level", Level), attribute(name, attrs, "scale", float)
    return [PlainType(value.count, value.slots, level, scale, "Q")]


def _encode_at(op: Op, inputs: list[Array], context: Context) -> list[Array]:
    row = row_of(op.attrs["value"], find_part(int(inputs[0]), op.attrs["rows"]))
    return [op.result.type.accept(row.evaluate(context.sources))]


def _rows(_name: str, attrs: Attrs, _types: Types) -> OpFacts:
    return OpFacts(constants=tuple(row_of(attrs["value"], number) for number in range(attrs["rows"])))


ENCODE_AT = define("rlwe.encode_at", infer=_infer_encode_at, semantics=_encode_at)
name_instruction("rlwe.encode_at", _rows)
name_instruction("key.demand", lambda _name, attrs, _types: OpFacts(key=attrs["spec"]), opcode="key")

MUL_PLAIN = define_primitive("rlwe.mul_plain", _type_with_scale)
# rlwe.sum of rlwe.mul_plain, of which no product is alive by itself.
DOT_PLAIN = define_primitive("rlwe.dot_plain", groups_of, opcode="dot", operands=(CipherType, PlainType))


def _factor(name: str, attrs: Attrs, _types: Types) -> OpFacts:
    return OpFacts((attribute(name, attrs, "factor", int),), Stated(scale=attribute(name, attrs, "scale", float)))


MUL_INT = define_primitive("rlwe.mul_int", _factor)
ADD_INT = define_primitive(
    "rlwe.add_int", lambda name, attrs, _types: OpFacts((attribute(name, attrs, "addend", int),))
)


def _type_relabel(name: str, attrs: Attrs, types: Types) -> OpFacts:
    """Attributes: scale, slots, and level: a place with the same limbs on another track."""
    a = types[0]
    assert isinstance(a, CipherType)
    slots = a.slots if attrs.get("slots") is None else attribute(name, attrs, "slots", int)
    level = a.level if attrs.get("level") is None else attribute(name, attrs, "level", Level)
    return OpFacts(stated=Stated.at(level, attribute(name, attrs, "scale", float), slots))


RELABEL = define_primitive("rlwe.relabel", _type_relabel)
TRIVIAL = define_primitive("rlwe.trivial")


def _type_at_level(name: str, attrs: Attrs, _types: Types) -> OpFacts:
    return OpFacts(stated=Stated.at(attribute(name, attrs, "level", Level), scale_of(name, attrs)))


def _type_rescale(name: str, attrs: Attrs, types: Types) -> OpFacts:
    attribute(name, attrs, "scale", float)
    return _type_at_level(name, attrs, types)


DROP_LEVEL = define_primitive("rlwe.drop_level", _type_at_level)
MOD_DOWN = define_primitive("rlwe.mod_down", _type_rescale)


def _infer_rescale(operands: Sequence[Value], attrs: Attrs, _regions: Regions) -> list[Type]:
    (a,) = take("rlwe.rescale", operands, CipherType)
    if a.basis != "Q" or a.level.index == 0:
        raise LevelError(f"rlwe.rescale: no level is left below {a.level} over {a.basis}")
    level = Level(a.level.track, a.level.index - 1)
    return [a.replace(level=level, scale=attribute("rlwe.rescale", attrs, "scale", float))]


RESCALE = define("rlwe.rescale", infer=_infer_rescale, semantics=lambda _op, inputs, _context: [inputs[0]])
HOIST = define_primitive("rlwe.hoist")
KEY_PRODUCT = define_primitive("rlwe.key_product")


def _place(types: Types) -> tuple[int, int]:
    """Return track and level of the first operand; (0, 0) if there is none."""
    level = types[0].level if types and isinstance(types[0], CipherType) else Level(0, 0)
    return level.track, level.index


def _turning(name: str, types: Types, steps: int, *, conjugates: bool) -> OpFacts:
    """Raise unless the key of a rotation, if it has one already, does this."""
    a = types[0]
    assert isinstance(a, CipherType)
    elements = [t.spec.galois_element for t in types if isinstance(t, KeyType) and t.spec.kind == "galois"]
    if any(galois_action(element, a.slots) != (steps % a.slots, conjugates) for element in elements):
        raise IrError(f"{name}: the key of galois element {elements[0]} does something else")
    return OpFacts(stated=Stated.at(a.level))


def _type_rotate(name: str, attrs: Attrs, types: Types) -> OpFacts:
    return _turning(name, types, attribute(name, attrs, "steps", int), conjugates=False)


def _rotation(attrs: Attrs, types: Types) -> KeySpec:
    ring = 2 * getattr(types[0], "slots", 1)  # the smallest with such vectors, in which steps have the same element
    return KeySpec("galois", galois_element(attrs["steps"], ring), *_place(types))


def _conjugation(_attrs: Attrs, types: Types) -> KeySpec:
    return KeySpec("galois", conjugation_element(2 * getattr(types[0], "slots", 1)), *_place(types))


def _type_relinearize(name: str, attrs: Attrs, types: Types) -> OpFacts:
    """Attributes level and scale, both or neither: where its division by P ends if it takes levels with it."""
    a = types[0]
    assert isinstance(a, CipherType)
    if attrs.get("level") is None and attrs.get("scale") is None:
        return OpFacts(stated=Stated.at(a.level, a.scale))
    level = attribute(name, attrs, "level", Level)
    check_level(name, a.level, level, strict=True)
    return OpFacts(stated=Stated.at(level, attribute(name, attrs, "scale", float)))


ROTATE = define_primitive("rlwe.rotate", _type_rotate, demand=_rotation)
ROTATE_OVER_P = define_primitive("rlwe.rotate_over_p")
CONJUGATE = define_primitive(
    "rlwe.conjugate",
    lambda name, _attrs, types: _turning(name, types, 0, conjugates=True),
    opcode="rotate",
    demand=_conjugation,
)
RELINEARIZE = define_primitive(
    "rlwe.relinearize", _type_relinearize, demand=lambda _attrs, types: KeySpec("relin", 0, *_place(types))
)
EXTEND = define_primitive("rlwe.extend")


def _monomial(name: str, attrs: Attrs, types: Types) -> OpFacts:
    (a,) = types
    assert isinstance(a, CipherType)
    degree, exponent = attribute(name, attrs, "ring_degree", int), attribute(name, attrs, "exponent", int)
    if degree < 2 * a.slots or degree & (degree - 1):
        raise IrError(f"{name}: X^{exponent} in a ring of degree {degree}, of {a.slots} slots; exponents are below 2N")
    return OpFacts((exponent,), ring_degree=degree)


MUL_MONOMIAL = define_primitive("rlwe.mul_monomial", _monomial)
TO_SPARSE = define_primitive("rlwe.to_sparse")


def _terms(name: str, attrs: Attrs, types: Types) -> OpFacts:
    """Attributes: terms: (baby, giant) of each plaintext; giants: how many sums there are."""
    terms, giants = attribute(name, attrs, "terms", tuple), attribute(name, attrs, "giants", int)
    pairs = (number for term in terms for number in term)
    stated = Stated(scale=scale_of(name, attrs))
    return OpFacts((len(types) - 1 - len(terms), giants, *pairs), stated, max(giants, 0))


def _digits_keys_plains(types: Types) -> Classes:
    keys = sum(isinstance(t, KeyType) for t in types)
    return (DigitsType, *[KeyType] * keys, *[PlainType] * (len(types) - 1 - keys))


DIAG_SUMS = define_primitive("rlwe.diag_sums", _terms, operands=_digits_keys_plains)


def _map(name: str, attrs: Attrs, _types: Types) -> OpFacts:
    """The inner sums of a block map, all inputs in one array: one ciphertext for each of `products.groups`.

    Attributes: sums, and scale: of the result. The keys are those of `products.babies`. Without any, nothing has to be
    divided by P, and the sums stay over Q.
    """
    sums = attribute(name, attrs, "sums", MapSums)
    stated = Stated(scale=attribute(name, attrs, "scale", float), count=len(sums.products.groups))
    return OpFacts((0,), stated, constant=sums)


MAP_SUMS = define_primitive("rlwe.map_sums", _map, operands=lambda types: (CipherType, *[KeyType] * (len(types) - 1)))


def _matrix(name: str, attrs: Attrs, _types: Types) -> OpFacts:
    """The products of a public matrix and an array of ciphertexts.

    Attributes: matrix, and scale: of the result.
    """
    matrix = attribute(name, attrs, "matrix", NumberMatrix)
    return OpFacts((0,), Stated(scale=attribute(name, attrs, "scale", float), count=matrix.shape[0]), constant=matrix)


PUBLIC_MATMUL = define_primitive("rlwe.public_matmul", _matrix)


def _numbers(name: str, attrs: Attrs, _types: Types) -> OpFacts:
    numbers = attribute(name, attrs, "vectors", tuple)
    if any(type(number) is not int for number in numbers):
        raise ShapeError(f"{name}: vectors {numbers} are no numbers")
    return OpFacts(numbers)


TAKE = define_primitive("rlwe.take", _numbers)


def _part(name: str, attrs: Attrs, _types: Types) -> OpFacts:
    """Attribute count: vectors in a part."""
    return OpFacts(stated=Stated(count=attribute(name, attrs, "count", int)))


TAKE_AT = define_primitive("rlwe.take_at", _part)
PUT_AT = define_primitive("rlwe.put_at")
CONCAT = define_primitive("rlwe.concat", operands=lambda types: (CipherType,) * max(1, len(types)))
SUM = define_primitive("rlwe.sum", groups_of)
