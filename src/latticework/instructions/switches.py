"""Key switches, whole and in their parts, and divisions by primes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from latticework.instructions.kinds import CipherKind, DigitsKind, Kind
from latticework.instructions.protocols import Machine, Slots
from latticework.instructions.record import BOTH, ORDINARY, Record
from latticework.instructions.rules import QP, Q, lowered, require_key, require_switchable
from latticework.instructions.use import Use
from latticework.instructions.vectors import each, kept
from latticework.packing.arrays import apply_galois
from latticework.packing.keys import KeySpec


def _hoisted(use: Use) -> Sequence[Kind]:
    (a,) = use.operands
    require_switchable(a, 1, 2)
    return (DigitsKind(a.slots, a.track, a.level, a.scale, a.degree, a.count),)


HOIST = Record(
    name="hoist",
    line="the digits of a ciphertext, raised to QP once for many products with keys",
    family="switch",
    schemes=BOTH,
    traits=ORDINARY,
    rule=_hoisted,
    meaning=lambda _run, _use, a: a,
    error=kept,
)


def _over_qp(use: Use) -> Sequence[Kind]:
    digits, key = use.operands
    require_key(use, key, "relin" if digits.degree == 2 else "galois", digits.track, digits.level)
    return (CipherKind(digits.slots, digits.track, digits.level, digits.scale, 1, QP, count=digits.count),)


def turned(a: Slots, key: KeySpec) -> Slots:
    """What a key does to slots."""
    return apply_galois(a, key.galois_element) if key.kind == "galois" else a


KEY_PRODUCT = Record(
    name="key_product",
    line="digits times a key: rotated, conjugated or relinearised, over QP",
    family="switch",
    schemes=BOTH,
    traits=ORDINARY,
    rule=_over_qp,
    meaning=lambda run, use, a, key: turned(run.with_key_noise(a, use.operands[0]), key),
    error=each(lambda errors, use, a, key: errors.key_product(use, a, key)),
)
MOD_DOWN = Record(
    name="mod_down",
    line="a ciphertext divided by P, or by primes of levels, or both",
    family="divide",
    schemes=BOTH,
    traits=ORDINARY,
    rule=lambda use: (lowered(use, use.operands[0], strict=use.operands[0].basis == Q),),
    meaning=lambda run, use, a: run.with_rounding(a, use.stated, use.stated.degree),
    error=each(lambda errors, use, a: errors.mod_down(use, a)),
)


def _switched(use: Use, kind: str, degree: int) -> Sequence[Kind]:
    a, key = use.operands
    require_switchable(a, degree)
    require_key(use, key, kind, a.track, a.level)
    return (replace(lowered(use, a), degree=1),)


def _switch(run: Machine, use: Use, a: Slots, key: KeySpec) -> Slots:
    return turned(run.with_rounding(run.with_key_noise(a, use.operands[0]), use.stated, 1), key)


ROTATE = Record(
    name="rotate",
    line="a key switch that rotates or conjugates; its division may go down levels",
    family="switch",
    schemes=BOTH,
    traits=ORDINARY,
    rule=lambda use: _switched(use, "galois", 1),
    meaning=_switch,
    error=each(lambda errors, use, a, key: errors.key_switch(use, a, key)),
)
RELINEARIZE = Record(
    name="relinearize",
    line="degree 2 to degree 1; its division may go down levels",
    family="switch",
    schemes=BOTH,
    traits=ORDINARY,
    rule=lambda use: _switched(use, "relin", 2),
    meaning=_switch,
    error=each(lambda errors, use, a, key: errors.key_switch(use, a, key)),
)

RECORDS = (HOIST, KEY_PRODUCT, MOD_DOWN, ROTATE, RELINEARIZE)
