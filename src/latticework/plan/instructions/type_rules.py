"""Conditions and results that type rules of several instructions share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log2
from typing import Any

from latticework.errors import IrError, LevelError, ScaleError, ShapeError
from latticework.plan.instructions.register_kinds import CipherKind, DigitsKind, PlainKind, level_text, place_text
from latticework.plan.instructions.use import Use
from latticework.values.packing.key_manifest import KeySpec

SCALE_TOLERANCE = 2.0**-20  # relative; what differs more was not meant to be equal
Q, QP = range(2)
STATE = "state the scale that follows from the operands, or relabel the result"
RESCALE = "rescale or relabel one operand first"


def scales_match(have: float, want: float) -> bool:
    """Whether two scales are the same but for rounding."""
    return abs(have - want) <= SCALE_TOLERANCE * want


def require_scale(have: float, want: float, remedy: str) -> None:
    """ScaleError if two scales differ."""
    if not scales_match(have, want):
        raise ScaleError(f"scales differ (2^{log2(have):.6f} and 2^{log2(want):.6f}); {remedy}")


def joint_count(kinds: Sequence[Any]) -> int:
    """The count of an operation vector by vector: one meets each of an array.

    raises  ShapeError if two counts differ and neither is 1
    """
    counts: list[int] = [kind.count for kind in kinds]
    if len(set(counts) - {1}) > 1:
        raise ShapeError(f"arrays of {' and '.join(map(str, counts))} vectors; counts must be equal or 1")
    return max(counts)


def match_operands(a: Any, b: CipherKind | PlainKind) -> int:
    """The count of what two operands make; they lie over the same limbs and slots."""
    if (a.track, a.level, a.basis) != (b.track, b.level, b.basis):
        raise LevelError(f"levels differ (lhs {place_text(a)}, rhs {place_text(b)})")
    require_slots(a, b)
    return joint_count((a, b))


def require_slots(a: CipherKind, b: CipherKind | PlainKind) -> None:
    """ShapeError if two operands are of different widths."""
    if a.slots != b.slots:
        raise ShapeError(f"operands differ: {a.count} x {a.slots} slots and {b.count} x {b.slots}")


def product_of(a: CipherKind, b: CipherKind, most: int = 2) -> CipherKind:
    """Return the type of a product of two ciphertexts, whose degree is `most` or less."""
    if (a.track, a.level) != (b.track, b.level) or a.basis != Q or b.basis != Q:
        raise LevelError(f"needs one level over Q, got {place_text(a)} and {place_text(b)}")
    require_slots(a, b)
    degree = a.degree + b.degree
    if degree > most:
        raise IrError(
            f"needs ciphertexts whose degrees add up to {most} or less, got degrees {a.degree} and {b.degree}; "
            "relinearize first"
        )
    return replace(a, count=joint_count((a, b)), degree=degree, scale=a.scale * b.scale)


def group_sum_kind(array: CipherKind, groups: int) -> CipherKind:
    """Return the type of an array whose neighbours are added up in `groups` groups."""
    if groups < 1 or array.count % groups:
        raise ShapeError(f"{array.count} vectors cannot be added up in {groups} groups of equal size")
    return replace(array, count=groups)


def require_q(a: CipherKind, remedy: str) -> None:
    """IrError if a value is over QP."""
    if a.basis != Q:
        raise IrError(f"the operand is over {'QP'}{remedy}")


def require_switchable(a: CipherKind, *degrees: int) -> None:
    """IrError unless a value is over Q, and of one of these degrees."""
    if a.basis != Q or a.degree not in degrees:
        need = " or ".join(map(str, degrees))
        raise IrError(f"needs degree {need} over Q, got degree {a.degree} over {'QP' if a.basis else 'Q'}")


def require_key(use: Use, key: KeySpec, kind: str, track: int, level: int) -> None:
    """Raise unless a key is of this kind and holds the limbs of this level."""
    if key.kind != kind:
        raise IrError(f"needs a {kind} key, got a {key.kind} key")
    if not use.chain.covers((key.track, key.level), (track, level)):
        have, want = level_text(key.track, key.level), level_text(track, level)
        raise LevelError(f"the key serves {have} and below, the ciphertext is at {want}")


def mod_down_kind(use: Use, a: CipherKind | DigitsKind, *, strict: bool = False) -> CipherKind:
    """A ciphertext over Q, divided by the primes down to the level that is stated, and by P where it was over QP."""
    to = require_down(use, a, strict=strict)
    scale = a.scale
    if use.chain.scheme == "ckks":  # BFV keeps scale 1: messages are relative to Q
        dropped = use.chain.dropped(a.track, a.level, to.level)
        scale = to.scale if dropped is None else scale / dropped
    return CipherKind(a.slots, to.track, to.level, scale, a.degree, Q, count=a.count)


def require_down(use: Use, a: CipherKind | DigitsKind, *, strict: bool) -> Any:
    """The type stated, checked to lie on the track of a value and not above it; below it, if `strict`."""
    to = use.stated
    if to.track != a.track or to.level > a.level - strict:
        raise LevelError(f"cannot go from {level_text(a.track, a.level)} to {level_text(to.track, to.level)}")
    return to
