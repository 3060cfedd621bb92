"""Instructions that change how values are held, and which stand together, but not what they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from latticework.errors import IrError, LevelError, RangeError, ShapeError
from latticework.plan.instructions.ciphertext_arrays import each, keep_error
from latticework.plan.instructions.instruction_record import ORDINARY, Record
from latticework.plan.instructions.protocols import Machine, Slots
from latticework.plan.instructions.register_kinds import CipherKind, Kind, level_text, place_text
from latticework.plan.instructions.shared_rules import (
    count_each,
    first_rows,
    no_keys,
    no_parts,
    no_scratch,
    one_part,
    own_rows,
)
from latticework.plan.instructions.type_rules import QP, RESCALE, match_operands, require_down, require_q, require_scale
from latticework.plan.instructions.use import Use
from latticework.plan.instructions.value_shapes import shape_of, shape_of_move
from latticework.plan.instructions.work_units import NO_WORK, pointwise
from latticework.values.packing.slot_arrays import concat_vectors, take_vectors


def _infer_drop(use: Use) -> Sequence[Kind]:
    (a,), to = use.operands, require_down(use, use.operands[0], strict=True)
    if a.basis and not use.chain.covers((a.track, a.level), (to.track, to.level)):
        raise LevelError(f"{place_text(to)} has other special primes than {place_text(a)}")
    return (replace(a, level=to.level),)


DROP_LEVEL = Record(
    name="drop_level",
    line="a ciphertext with fewer limbs, at the same scale",
    family="other",
    traits=ORDINARY,
    rule=_infer_drop,
    meaning=lambda _run, _use, a: a,
    error=keep_error,
    work={"drop_level": lambda shape: {"pointwise": shape.polys * (shape.kept + shape.p_limbs)}},
    parts=one_part("drop_level", shape_of_move),
    counts=count_each(),
    keys=no_keys,
    scratch=no_scratch,
    reuse=first_rows,
)


def _infer_relabel(use: Use) -> Sequence[Kind]:
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
    traits=ORDINARY,
    rule=_infer_relabel,
    meaning=_read_anew,
    error=each(lambda errors, use, a: errors.reread(use, a)),
    work=NO_WORK,
    parts=no_parts,
    counts=count_each(),
    keys=no_keys,
    scratch=no_scratch,
    reuse=first_rows,
)


def _infer_extend(use: Use) -> Sequence[Kind]:
    require_q(use.operands[0], " already")
    return (replace(use.operands[0], basis=QP),)


EXTEND = Record(
    name="extend",
    line="a ciphertext times P, over QP",
    family="plain",
    traits=ORDINARY,
    rule=_infer_extend,
    meaning=lambda _run, _use, a: a,
    error=keep_error,
    work={"extend": pointwise},
    parts=one_part("extend", shape_of),
    counts=count_each(),
    keys=no_keys,
    scratch=no_scratch,
    reuse=own_rows,
)


def _infer_take(use: Use) -> Sequence[Kind]:
    (a,), numbers = use.operands, use.immediate
    if not numbers or not all(0 <= number < a.count for number in numbers):
        raise ShapeError(f"vectors {numbers} of an array of {a.count}")
    return (replace(a, count=len(numbers)),)


TAKE = Record(
    name="take",
    line="some ciphertexts of an array",
    family="other",
    traits=ORDINARY,
    rule=_infer_take,
    meaning=lambda _run, use, a: take_vectors(a, use.immediate),
    error=lambda _errors, use, a: tuple([a[number] for number in use.immediate]),
    work=NO_WORK,
    parts=no_parts,
    counts=count_each(),
    keys=no_keys,
    scratch=no_scratch,
    reuse=lambda use, _lent, a: tuple([a[number] for number in use.immediate]),
)


def _infer_join(use: Use) -> Sequence[Kind]:
    if not use.operands or any(type(kind) is not CipherKind for kind in use.operands):
        raise IrError("needs arrays of ciphers")
    first, *others = use.operands
    for other in others:
        match_operands(replace(first, count=1), other)
        require_scale(other.scale, first.scale, RESCALE)
        if other.degree != first.degree:
            raise IrError(f"degrees {first.degree} and {other.degree}; relinearize first")
    return (replace(first, count=sum(kind.count for kind in use.operands)),)


CONCAT = Record(
    name="concat",
    line="all ciphertexts of some arrays, as one array",
    family="other",
    traits=ORDINARY,
    rule=_infer_join,
    meaning=lambda _run, _use, *arrays: concat_vectors(arrays),
    error=lambda _errors, _use, *arrays: tuple([item for array in arrays for item in array]),
    work=NO_WORK,
    parts=no_parts,
    counts=count_each(),
    keys=no_keys,
    scratch=no_scratch,
    reuse=lambda _use, _lent, *arrays: tuple(chain.from_iterable(arrays)),
)


def find_part(number: int, count: int) -> int:
    """Return `number`, a run-time integer, checked to be that of one of `count` parts.

    raises  RangeError
    """
    if not 0 <= number < count:
        raise RangeError(f"there is no number {number} of {count}, counted from 0")
    return number


def _part(size: int, number: int, count: int) -> slice:
    """Return the slice of part `number`, of `size` vectors, in an array of `count`."""
    first = find_part(number, count // size) * size
    return slice(first, first + size)


def _infer_take_part(use: Use) -> Sequence[Kind]:
    a, size = use.operands[0], use.stated.count
    if size is None or size < 1 or a.count % size:
        raise ShapeError(f"{a.count} vectors do not make parts of {size}")
    return (replace(a, count=size),)


TAKE_AT = Record(
    name="take_at",
    line="a part of an array, by a number known at run time",
    family="other",
    traits=ORDINARY,
    rule=_infer_take_part,
    meaning=lambda _run, use, a, number: a[..., _part(use.stated.count, number, use.operands[0].count), :],
    error=lambda _errors, use, a, number: a[_part(use.stated.count, number, len(a))],
    work=NO_WORK,
    parts=no_parts,
    counts=count_each(),
    keys=no_keys,
    scratch=no_scratch,
    reuse=lambda use, _lent, a, _number: a[: use.stated.count],  # all parts are alike
)


def _part_put(use: Use) -> Sequence[Kind]:
    array, part, _ = use.operands
    if array.count % part.count:
        raise ShapeError(f"{array.count} vectors do not make parts of {part.count}")
    match_operands(replace(array, count=1), replace(part, count=1))
    require_scale(part.scale, array.scale, RESCALE)
    if part.degree != array.degree:
        raise IrError(f"degrees {array.degree} and {part.degree}; relinearize first")
    return (array,)


def _put(_run: Machine, use: Use, array: Slots, part: Slots, number: int) -> Slots:
    stack = np.broadcast_shapes(array.shape[:-2], part.shape[:-2])
    copy = np.broadcast_to(array, (*stack, *array.shape[-2:])).astype(np.result_type(array, part))
    copy[..., _part(use.operands[1].count, number, use.operands[0].count), :] = part
    return copy


def _put_each(array: tuple[Any, ...], part: tuple[Any, ...], number: int) -> tuple[Any, ...]:
    place = _part(len(part), number, len(array))
    return (*array[: place.start], *part, *array[place.stop :])


PUT_AT = Record(
    name="put_at",
    line="an array with another part, by a number known at run time",
    family="other",
    traits=ORDINARY,
    rule=_part_put,
    meaning=_put,
    error=lambda _errors, _use, array, part, number: _put_each(array, part, number),
    work=NO_WORK,
    parts=no_parts,
    counts=count_each(),
    keys=no_keys,
    scratch=no_scratch,
    reuse=lambda _use, _lent, array, part, _number: _put_each(array, part, 0),
)

RECORDS = (DROP_LEVEL, RELABEL, EXTEND, TAKE, CONCAT, TAKE_AT, PUT_AT)
