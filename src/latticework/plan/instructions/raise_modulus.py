"""The two steps of a bootstrap that nothing else has: to a sparse secret at the last level, and up again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from latticework.errors import IrError, LevelError
from latticework.plan.instructions.ciphertext_arrays import unknown_error
from latticework.plan.instructions.instruction_record import ORDINARY, Record, Traits
from latticework.plan.instructions.protocols import Machine, Slots
from latticework.plan.instructions.register_kinds import MAIN, SPARSE, Kind, level_text, place_text
from latticework.plan.instructions.shared_rules import count_each, each_key, one_part, own_rows
from latticework.plan.instructions.switches import rows_of_switch
from latticework.plan.instructions.type_rules import QP, require_key, require_switchable
from latticework.plan.instructions.use import Use
from latticework.plan.instructions.value_shapes import chain_of, p_limbs, shape_of_move, shape_of_switch
from latticework.plan.instructions.work_units import Shape, Work, add_work, decompose, divide, lift, multiply_by_key
from latticework.values.packing.embedding import raise_modulus
from latticework.values.packing.key_manifest import KeySpec


def _under_sparse(use: Use) -> Sequence[Kind]:
    a, key = use.operands
    require_switchable(a, 1)
    if (a.track, a.level) != (0, 0):
        raise LevelError(f"only level 0 of track 0 may be under the sparse secret, not {place_text(a)}")
    require_key(use, key, "to_sparse", 0, 0)
    return (replace(a, secret=SPARSE),)


def _of_one_special_prime(use: Use) -> Shape:
    return shape_of_switch(use, p_limbs=1)


def _sparse_work(shape: Shape) -> Work:
    return add_work(decompose(shape), multiply_by_key(shape), divide(replace(shape, target=shape.q_limbs)))


TO_SPARSE = Record(
    name="to_sparse",
    line="a key switch to the sparse secret, at level 0",
    family="switch",
    traits=ORDINARY,
    rule=_under_sparse,
    meaning=lambda run, use, a, _key: run.with_sparse_noise(a, use.stated),
    error=unknown_error("to_sparse"),
    work={"to_sparse": _sparse_work},
    parts=one_part("to_sparse", _of_one_special_prime),
    counts=count_each(),
    keys=each_key,
    scratch=lambda use, _stored: rows_of_switch(_of_one_special_prime(use)),
    reuse=own_rows,
)


def _infer_mod_raise(use: Use) -> Sequence[Kind]:
    """The type of a ciphertext raised to any level; the integer polynomial then fills the ring."""
    (a, key), to, factor = use.operands, use.stated, use.immediate[0]
    if (a.track, a.level) != (0, 0):
        raise LevelError(f"from {place_text(a)}; level 0 is where it starts")
    require_switchable(a, 1)
    if factor < 1:
        raise IrError(f"factor {factor} must be positive")
    if key.kind != "to_dense" or not use.chain.covers((key.track, key.level), (to.track, to.level)):
        raise LevelError(f"needs a to_dense key for {level_text(to.track, to.level)}, got {key}")
    half = use.chain.ring_degree // 2
    return (
        replace(
            a, slots=half, track=to.track, level=to.level, scale=a.scale * factor, basis=QP, secret=MAIN
        ),
    )  # fmt: skip


def _raise(run: Machine, use: Use, a: Slots, _key: KeySpec) -> Slots:
    before, after, factor = use.operands[0], use.stated, use.immediate[0]
    raised = raise_modulus(a, after.slots, use.chain.modulus(0) / before.scale, run.random())
    return run.with_raised_noise(raised, after, factor)


def _shape_of_raise(use: Use) -> Shape:
    return shape_of_move(use, p_limbs=p_limbs(chain_of(use), use.stated))


def _raise_work(shape: Shape) -> Work:
    """Both polynomials lifted to all limbs and transformed, and multiplied by the one digit of the key."""
    raised = shape.kept + shape.p_limbs
    rest: Work = {"ntt": 2 * (shape.q_limbs + raised), "key_mac": 2 * raised, "pointwise": 4 * raised}
    return add_work(rest, *[lift(shape.q_limbs, raised)] * 2)


MOD_RAISE = Record(
    name="mod_raise",
    line="a value at level 0 read at a higher one, plus multiples of q0; back to the main secret",
    family="switch",
    traits=Traits(is_complex=True),
    rule=_infer_mod_raise,
    meaning=_raise,
    error=unknown_error("mod_raise"),
    work={"mod_raise": _raise_work},
    parts=one_part("mod_raise", _shape_of_raise),
    counts=count_each(),
    keys=each_key,
    scratch=lambda use, _stored: 4 * _shape_of_raise(use).rows,
    reuse=own_rows,
)

RECORDS = (TO_SPARSE, MOD_RAISE)
