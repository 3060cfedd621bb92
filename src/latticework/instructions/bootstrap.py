"""The two steps of a bootstrap that nothing else has: to a sparse secret at the last level, and up again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from latticework.errors import IrError, LevelError
from latticework.instructions.kinds import MAIN, SPARSE, Kind, level_text, place_text
from latticework.instructions.protocols import Machine, Slots
from latticework.instructions.record import CKKS, ORDINARY, Record, Traits
from latticework.instructions.rules import QP, require_key, require_switchable
from latticework.instructions.use import Use
from latticework.instructions.vectors import unknown_error
from latticework.packing.embedding import raise_modulus
from latticework.packing.keys import KeySpec


def _under_sparse(use: Use) -> Sequence[Kind]:
    a, key = use.operands
    require_switchable(a, 1)
    if (a.track, a.level) != (0, 0):
        raise LevelError(f"only level 0 of track 0 may be under the sparse secret, not {place_text(a)}")
    require_key(use, key, "to_sparse", 0, 0)
    return (replace(a, secret=SPARSE),)


TO_SPARSE = Record(
    name="to_sparse",
    line="a key switch to the sparse secret, at level 0",
    family="switch",
    schemes=CKKS,
    traits=ORDINARY,
    rule=_under_sparse,
    meaning=lambda run, use, a, _key: run.with_sparse_noise(a, use.stated),
    error=unknown_error("to_sparse"),
)


def _raised(use: Use) -> Sequence[Kind]:
    """To any level; the integer polynomial then fills the ring."""
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


MOD_RAISE = Record(
    name="mod_raise",
    line="a value at level 0 read at a higher one, plus multiples of q0; back to the main secret",
    family="switch",
    schemes=CKKS,
    traits=Traits(secret=SPARSE, is_complex=True),
    rule=_raised,
    meaning=_raise,
    error=unknown_error("mod_raise"),
)

RECORDS = (TO_SPARSE, MOD_RAISE)
