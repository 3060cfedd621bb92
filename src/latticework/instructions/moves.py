"""What changes how values are held, and which stand together, but not what they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from latticework.errors import IrError, LevelError, ShapeError
from latticework.instructions.kinds import CipherKind, Kind, level_text
from latticework.instructions.parts import count_each, first_rows, no_keys, no_parts, no_scratch, one_part, own_rows
from latticework.instructions.protocols import Machine, Slots
from latticework.instructions.record import BOTH, CKKS, ORDINARY, Record
from latticework.instructions.rules import QP, RESCALE, met, require_down, require_q, require_scale
from latticework.instructions.shapes import shape_of, shape_of_move
from latticework.instructions.use import Use
from latticework.instructions.vectors import each, kept
from latticework.instructions.work import NO_WORK, pointwise
from latticework.packing.arrays import concat_vectors, take_vectors


def _dropped(use: Use) -> Sequence[Kind]:
    to = require_down(use, use.operands[0], strict=True)
    return (replace(use.operands[0], level=to.level),)


DROP_LEVEL = Record(
    name="drop_level",
    line="a ciphertext with fewer limbs, at the same scale",
    family="other",
    schemes=CKKS,
    traits=ORDINARY,
    rule=_dropped,
    meaning=lambda _run, _use, a: a,
    error=kept,
    work={"drop_level": lambda shape: {"pointwise": shape.polys * (shape.kept + shape.p_limbs)}},
    parts=one_part("drop_level", shape_of_move),
    counts=count_each(),
    keys=no_keys,
    scratch=no_scratch,
    reuse=first_rows,
)


def _relabelled(use: Use) -> Sequence[Kind]:
    """Another scale, another width, and a place on another track with the same limbs."""
    (a,), to = use.operands, use.stated
    if to.slots < 1 or (to.slots % a.slots and a.slots % to.slots):
        raise ShapeError(f"{a.slots} slots cannot be read as {to.slots}")
    here, there = (a.track, a.level), (to.track, to.level)
    if not use.chain.same_limbs(here, there):
        raise LevelError(f"{level_text(*there)} has other limbs than {level_text(*here)}")
    return (replace(a, track=to.track, level=to.level, scale=to.scale, slots=to.slots),)


def _read_anew(_run: Machine, use: Use, a: Slots) -> Slots:
    before, after = use.operands[0], use.stated
    read: Slots = a[..., np.arange(after.slots) % before.slots] * (before.scale / after.scale)
    return read


RELABEL = Record(
    name="relabel",
    line="the same integers read at another scale or width, or on another track",
    family="other",
    schemes=CKKS,
    traits=ORDINARY,
    rule=_relabelled,
    meaning=_read_anew,
    error=each(lambda errors, use, a: errors.reread(use, a)),
    work=NO_WORK,
    parts=no_parts,
    counts=count_each(),
    keys=no_keys,
    scratch=no_scratch,
    reuse=first_rows,
)


def _extended(use: Use) -> Sequence[Kind]:
    require_q(use.operands[0], " already")
    return (replace(use.operands[0], basis=QP),)


EXTEND = Record(
    name="extend",
    line="a ciphertext times P, over QP",
    family="plain",
    schemes=BOTH,
    traits=ORDINARY,
    rule=_extended,
    meaning=lambda _run, _use, a: a,
    error=kept,
    work={"extend": pointwise},
    parts=one_part("extend", shape_of),
    counts=count_each(),
    keys=no_keys,
    scratch=no_scratch,
    reuse=own_rows,
)


def _taken(use: Use) -> Sequence[Kind]:
    (a,), numbers = use.operands, use.immediate
    if not numbers or not all(0 <= number < a.count for number in numbers):
        raise ShapeError(f"vectors {numbers} of an array of {a.count}")
    return (replace(a, count=len(numbers)),)


TAKE = Record(
    name="take",
    line="some ciphertexts of an array",
    family="other",
    schemes=BOTH,
    traits=ORDINARY,
    rule=_taken,
    meaning=lambda _run, use, a: take_vectors(a, use.immediate),
    error=lambda _errors, use, a: tuple([a[number] for number in use.immediate]),
    work=NO_WORK,
    parts=no_parts,
    counts=count_each(),
    keys=no_keys,
    scratch=no_scratch,
    reuse=lambda use, _lent, a: tuple([a[number] for number in use.immediate]),
)


def _joined(use: Use) -> Sequence[Kind]:
    if not use.operands or any(type(kind) is not CipherKind for kind in use.operands):
        raise IrError("needs arrays of ciphers")
    first, *others = use.operands
    for other in others:
        met(replace(first, count=1), other)
        require_scale(other.scale, first.scale, RESCALE)
        if other.degree != first.degree:
            raise IrError(f"degrees {first.degree} and {other.degree}; relinearize first")
    return (replace(first, count=sum(kind.count for kind in use.operands)),)


CONCAT = Record(
    name="concat",
    line="all ciphertexts of some arrays, as one array",
    family="other",
    schemes=BOTH,
    traits=ORDINARY,
    rule=_joined,
    meaning=lambda _run, _use, *arrays: concat_vectors(arrays),
    error=lambda _errors, _use, *arrays: tuple([item for array in arrays for item in array]),
    work=NO_WORK,
    parts=no_parts,
    counts=count_each(),
    keys=no_keys,
    scratch=no_scratch,
    reuse=lambda _use, _lent, *arrays: tuple(chain.from_iterable(arrays)),
)

RECORDS = (DROP_LEVEL, RELABEL, EXTEND, TAKE, CONCAT)
