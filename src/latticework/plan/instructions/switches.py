"""Key switches, whole and in their parts, and divisions by primes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from latticework.errors import IrError
from latticework.plan.instructions.ciphertext_arrays import each, keep_error
from latticework.plan.instructions.instruction_record import ORDINARY, Record
from latticework.plan.instructions.protocols import Machine, Slots
from latticework.plan.instructions.register_kinds import OVER, CipherKind, DigitsKind, Kind
from latticework.plan.instructions.shared_rules import count_each, each_key, no_keys, one_part, own_rows
from latticework.plan.instructions.type_rules import QP, Q, mod_down_kind, require_key, require_switchable
from latticework.plan.instructions.use import Use
from latticework.plan.instructions.value_shapes import (
    chain_of,
    q_limbs,
    rows_of_lifts,
    shape_of_move,
    shape_of_switch,
    vectors_made,
)
from latticework.plan.instructions.work_units import (
    NO_WORK,
    Part,
    Shape,
    Work,
    add_work,
    decompose,
    divide,
    multiply_by_key,
)
from latticework.values.packing.key_manifest import KeySpec
from latticework.values.packing.slot_arrays import apply_galois


def _infer_hoist(use: Use) -> Sequence[Kind]:
    (a,) = use.operands
    require_switchable(a, 1, 2)
    return (DigitsKind(a.slots, a.track, a.level, a.scale, a.degree, a.count),)


HOIST = Record(
    name="hoist",
    line="the digits of a ciphertext, raised to QP once for many products with keys",
    family="switch",
    traits=ORDINARY,
    rule=_infer_hoist,
    meaning=lambda _run, _use, a: a,
    error=keep_error,
    work={"hoist": decompose},
    parts=one_part("hoist", shape_of_switch),
    counts=count_each(hoists=1),
    keys=no_keys,
    scratch=lambda use, _stored: q_limbs(chain_of(use), use.operands[0]),
    reuse=own_rows,
)


def _over_qp(use: Use) -> Sequence[Kind]:
    digits, key = use.operands
    require_key(use, key, "relin" if digits.degree == 2 else "galois", digits.track, digits.level)
    return (CipherKind(digits.slots, digits.track, digits.level, digits.scale, 1, QP, count=digits.count),)


def apply_key(a: Slots, key: KeySpec) -> Slots:
    """The slots after a switch by `key`: rotated or conjugated by a Galois key, else the same."""
    return apply_galois(a, key.galois_element) if key.kind == "galois" else a


def _switch_counts(use: Use) -> Mapping[str, int]:
    """A rotation or a relinearisation, and the rescale where its division goes down levels."""
    (source, key), result, vectors = use.operands, use.stated, vectors_made(use)
    counts = {"key_switches": vectors, "rotations" if key.kind == "galois" else "relinearizations": vectors}
    takes_levels = isinstance(source, CipherKind) and result.level < source.level
    return counts | {"rescales": vectors} if takes_levels else counts


def rows_of_sums(shape: Shape, sums: int, *, stored: bool) -> int:
    """Return the rows of `sums` sums of two polynomials over QP, and of the digits unless `stored`."""
    return 2 * sums * shape.rows + (0 if stored else shape.q_limbs + rows_of_lifts(shape))


KEY_PRODUCT = Record(
    name="key_product",
    line="digits times a key: rotated, conjugated or relinearised, over QP",
    family="switch",
    traits=ORDINARY,
    rule=_over_qp,
    meaning=lambda run, use, a, key: apply_key(run.with_key_noise(a, use.operands[0]), key),
    error=each(lambda errors, use, a, key: errors.key_product(use, a, key)),
    work={"key_product": multiply_by_key},
    parts=one_part("key_product", shape_of_switch),
    counts=_switch_counts,
    keys=each_key,
    scratch=lambda use, stored: rows_of_sums(shape_of_switch(use), 1, stored=stored),
    reuse=own_rows,
)


def _division_counts(use: Use) -> Mapping[str, int]:
    return {"mod_downs" if use.operands[0].basis else "rescales": vectors_made(use)}


def _division_scratch(use: Use, _stored: bool) -> int:
    """The operand in coefficients."""
    shape = shape_of_move(use)
    return shape.polys * shape.rows


MOD_DOWN = Record(
    name="mod_down",
    line="a ciphertext divided by P, or by primes of levels, or both",
    family="divide",
    traits=ORDINARY,
    rule=lambda use: (mod_down_kind(use, use.operands[0], strict=use.operands[0].basis == Q),),
    meaning=lambda run, use, a: run.with_rounding(a, use.stated, use.stated.degree),
    error=each(lambda errors, use, a: errors.mod_down(use, a)),
    work={"mod_down": divide},
    parts=one_part("mod_down", shape_of_move),
    counts=_division_counts,
    keys=no_keys,
    scratch=_division_scratch,
    reuse=own_rows,
)


def _infer_switch(use: Use, kind: str, degree: int) -> Sequence[Kind]:
    a, key = use.operands
    require_switchable(a, degree)
    require_key(use, key, kind, a.track, a.level)
    return (replace(mod_down_kind(use, a), degree=1),)


def _switch(run: Machine, use: Use, a: Slots, key: KeySpec) -> Slots:
    return apply_key(run.with_rounding(run.with_key_noise(a, use.operands[0]), use.stated, 1), key)


def switch_work(shape: Shape) -> Work:
    """Decomposed, multiplied by the key, and divided."""
    last = replace(shape, polys=2, target=shape.kept)
    return add_work(decompose(shape), multiply_by_key(shape), divide(last))


def rows_of_switch(shape: Shape) -> int:
    """The result exists only at the end, in the division."""
    result, product = 2 * shape.kept, 2 * shape.rows
    before = shape.q_limbs + rows_of_lifts(shape) + 2 * product
    closing = shape.q_limbs + product + 2 * shape.p_limbs + 2 * result
    return max(before, closing) - result


ROTATE = Record(
    name="rotate",
    line="a key switch that rotates or conjugates; its division may go down levels",
    family="switch",
    traits=ORDINARY,
    rule=lambda use: _infer_switch(use, "galois", 1),
    meaning=_switch,
    error=each(lambda errors, use, a, key: errors.key_switch(use, a, key)),
    work={"rotate": switch_work},
    parts=one_part("rotate", shape_of_switch),
    counts=_switch_counts,
    keys=each_key,
    scratch=lambda use, _stored: rows_of_switch(shape_of_switch(use)),
    reuse=own_rows,
)


def _rotated_over_p(use: Use) -> Sequence[Kind]:
    a, key = use.operands
    if a.basis != QP or a.degree != 1:
        raise IrError(f"needs degree 1 over QP, got degree {a.degree} over {OVER[a.basis]}")
    require_key(use, key, "galois", a.track, a.level)
    return (a,)


def _parts_over_p(use: Use) -> Sequence[Part]:
    """One polynomial is divided by P and decomposed."""
    shape, vectors = shape_of_switch(use), vectors_made(use)
    divided = shape_of_move(use, polys=1)
    return (Part("mod_down", divided, vectors), Part("hoist", shape, vectors), Part("key_product", shape, vectors))


ROTATE_OVER_P = Record(
    name="rotate_over_p",
    line="a key switch over QP that rotates or conjugates: only c1 is divided by P, to be decomposed",
    family="switch",
    traits=ORDINARY,
    rule=_rotated_over_p,
    meaning=_switch,
    error=each(lambda errors, use, a, key: errors.key_product(use, errors.mod_down(use, a), key)),
    work=NO_WORK,
    parts=_parts_over_p,
    counts=count_each(mod_downs=1, hoists=1, key_switches=1, rotations=1),
    keys=each_key,
    scratch=lambda use, _stored: (
        q_limbs(chain_of(use), use.operands[0]) + rows_of_sums(shape_of_switch(use), 1, stored=False)
    ),
    reuse=own_rows,
)
RELINEARIZE = Record(
    name="relinearize",
    line="degree 2 to degree 1; its division may go down levels",
    family="switch",
    traits=ORDINARY,
    rule=lambda use: _infer_switch(use, "relin", 2),
    meaning=_switch,
    error=each(lambda errors, use, a, key: errors.key_switch(use, a, key)),
    work={"relinearize": switch_work},
    parts=one_part("relinearize", shape_of_switch),
    counts=_switch_counts,
    keys=each_key,
    scratch=lambda use, _stored: rows_of_switch(shape_of_switch(use)),
    reuse=own_rows,
)

RECORDS = (HOIST, KEY_PRODUCT, MOD_DOWN, ROTATE, ROTATE_OVER_P, RELINEARIZE)
