"""Keys and public vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log2

from latticework.errors import IrError
from latticework.plan.instructions.ciphertext_arrays import each
from latticework.plan.instructions.control import control_record
from latticework.plan.instructions.instruction_record import ORDINARY, Record
from latticework.plan.instructions.moves import find_part
from latticework.plan.instructions.protocols import Machine, Slots
from latticework.plan.instructions.register_kinds import AddendKind, CipherKind, Kind, PlainKind
from latticework.plan.instructions.shared_rules import count_each, no_keys, no_scratch, of_scheme, one_part, own_rows
from latticework.plan.instructions.use import Use
from latticework.plan.instructions.value_shapes import chain_of, p_limbs, q_limbs, shape_of
from latticework.plan.instructions.work_units import Part, Shape, Work, pointwise
from latticework.values.packing.key_manifest import KeySpec
from latticework.values.packing.packed_constants import ConstRef


def require_number(use: Use, count: int, what: str) -> int:
    """Return the first immediate, checked to be a number below `count`."""
    number = use.immediate[0]
    if not 0 <= number < count:
        raise IrError(f"there is no {what} {number}")
    return number


def _infer_encode(use: Use) -> Sequence[Kind]:
    """Encoded as the use of it wants it, which the result states; what BFV adds is over Q."""
    require_number(use, len(use.constants), "constant")
    stated = use.stated
    if isinstance(stated, AddendKind) and (use.chain.scheme != "bfv" or stated.basis):
        raise IrError("there is no such addend")
    return (stated,)


def _encode(run: Machine, use: Use) -> Slots:
    constant, kind = use.constants[use.immediate[0]], use.stated
    assert isinstance(constant, ConstRef) and isinstance(kind, PlainKind)
    return run.encode_constant(constant, kind.scale).reshape(kind.count, -1)


def _key(use: Use) -> Sequence[KeySpec]:
    return (use.keys[require_number(use, len(use.keys), "key")],)


def _trivial(use: Use) -> Sequence[Kind]:
    (a,) = use.operands
    return (CipherKind(a.slots, a.track, a.level, a.scale, 1, a.basis, count=a.count),)


def encoding_part(use: Use, shape: Shape, number: int) -> Part:
    """Return the part that encodes `number` plaintexts, of vectors as long as the shape says."""
    return Part(of_scheme("encode", use), shape, number, once=True)


def _encodings(use: Use) -> Sequence[Part]:
    constant, kind, chain = use.constants[use.immediate[0]], use.stated, chain_of(use)
    assert isinstance(constant, ConstRef) and isinstance(kind, PlainKind)
    special = p_limbs(chain, kind) if kind.basis else 0
    shape = Shape(chain.ring_degree, q_limbs(chain, kind), special, slots=constant.slots)
    return (encoding_part(use, shape, kind.count),)


def _encoding_work(shape: Shape) -> Work:
    """One transform of as many slots as there are different ones, and all rows from coefficients."""
    half = shape.ring_degree // 2
    share = shape.slots * max(log2(shape.slots), 1.0) / (half * log2(half)) if shape.slots else 0.0
    return {"fft": share, "pointwise": shape.rows, "ntt": shape.rows}


ENCODE = Record(
    name="encode",
    line="a public vector as a plaintext; once for each use, and kept",
    family="encode",
    traits=ORDINARY,
    rule=_infer_encode,
    meaning=_encode,
    error=lambda errors, use: errors.encode_constant(use.constants[use.immediate[0]], use.stated.scale),
    work={
        "encode": _encoding_work,
        "bfv.encode": lambda shape: {"pointwise": shape.rows, "ntt": 1 + shape.rows},
    },
    parts=_encodings,
    counts=count_each(),
    keys=no_keys,
    scratch=no_scratch,
    reuse=own_rows,
)
KEY = control_record("key", "an evaluation key", _key, lambda _walk, site: site.use.keys[site.use.immediate[0]])
TRIVIAL = Record(
    name="trivial",
    line="a plaintext as a ciphertext without noise of its own",
    family="other",
    traits=ORDINARY,
    rule=_trivial,
    meaning=lambda _run, _use, a: a,
    error=each(lambda errors, use, a: errors.trivial(use, a)),
    work={"trivial": pointwise},
    parts=one_part("trivial", shape_of),
    counts=count_each(),
    keys=no_keys,
    scratch=no_scratch,
    reuse=own_rows,
)


def select_constant(use: Use, number: int | None) -> ConstRef:
    """The constant of this number, of those that the immediates are; of an unknown number the first."""
    places = use.immediate
    constant = use.constants[places[0 if number is None else find_part(number, len(places))]]
    assert isinstance(constant, ConstRef)
    return constant


def _infer_encode_at(use: Use) -> Sequence[Kind]:
    """The type that `encode` makes: all constants are alike."""
    if not use.immediate or not all(0 <= number < len(use.constants) for number in use.immediate):
        raise IrError(f"constants {use.immediate} of {len(use.constants)}")
    if isinstance(use.stated, AddendKind):
        raise IrError("there is no such addend")
    return (use.stated,)


ENCODE_AT = Record(
    name="encode_at",
    line="one of several public vectors as a plaintext, by a number known at run time; once for each, and kept",
    family="encode",
    traits=ORDINARY,
    rule=_infer_encode_at,
    meaning=lambda run, use, number: run.encode_constant(select_constant(use, number), use.stated.scale).reshape(
        use.stated.count, -1
    ),
    error=lambda errors, use, number: errors.encode_constant(select_constant(use, number), use.stated.scale),
    work={},
    parts=lambda use: [replace(part, number=part.number * len(use.immediate)) for part in _encodings(use)],
    counts=count_each(),
    keys=no_keys,
    scratch=no_scratch,
    reuse=own_rows,
)

RECORDS = (ENCODE, KEY, TRIVIAL, ENCODE_AT)
