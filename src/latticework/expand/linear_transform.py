"""A symbolic linear map as baby steps and giant steps with double hoisting.

y = sum_g rotate_g( sum_b rotate_-g(diagonal_(g+b)) * rotate_b(x) ).
The baby rotations share one decomposition of x and stay over QP; each giant
step divides by P once, decomposes once, and is summed over QP; one final
mod_down removes P and the level's primes together.
Source: Halevi-Shoup diagonals; double hoisting as in Bossuat et al. (Eurocrypt'21).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from math import gcd, isqrt

from latticework.errors import UnsupportedError
from latticework.expand.primitives import Primitives, cipher, signed_steps
from latticework.ir import Value
from latticework.plan.constants import ConstRef, LinearMap

# Relative prices of a hoisted rotation kept over QP and of a full one, in NTTs of one row at typical digit counts:
# a baby step is a key product; a giant step adds a division by P and a decomposition.
BABY_COST, GIANT_COST = 1.0, 3.0


def expand_linear_transform(
    p: Primitives, x: Value, linear_map: LinearMap, level: int, scale: float, width: int | None = None
) -> Value:
    """Primitive operations for one linear map; x settled one level above `level`.

    width  of the baby steps, or None for the cheapest
    """
    kind = cipher(x)
    plain_scale = scale * p.group(kind.level.index, kind.level.track) / kind.scale
    by_giant = _by_giant(linear_map, width)
    babies = sorted({baby for terms in by_giant.values() for baby, _ in terms} - {0})
    digits = p.hoist(x) if babies else None
    turned = {b: p.key_product(digits, b, kind.level) for b in babies if digits is not None}
    over_qp: Value | None = None  # what still carries the factor P
    over_q: Value | None = None
    for giant, terms in sorted(by_giant.items(), key=lambda item: abs(item[0])):
        inner_qp: Value | None = None
        inner_q: Value | None = None
        for baby, values in terms:
            basis = "QP" if baby else "Q"
            plain = p.encode(_rotated(values, -giant), linear_map.slots, kind.level, plain_scale, basis)
            term = p.builder.build("rlwe.mul_plain", [turned[baby] if baby else x, plain])
            if baby:
                inner_qp = p.add(inner_qp, term)
            else:
                inner_q = p.add(inner_q, term)
        if giant == 0:
            over_qp = inner_qp
            over_q = inner_q
            continue
        if inner_qp is not None:
            inner_q = p.add(inner_q, p.mod_down(inner_qp, kind.level.index, cipher(inner_qp).scale))
        assert inner_q is not None
        over_qp = p.add(over_qp, p.key_product(p.hoist(inner_q), giant, kind.level))
    if over_qp is None and over_q is None:
        over_q = p.mul_int(x, 0, kind.scale * plain_scale)
    parts = [p.mod_down(part, level, scale) for part in (over_qp, over_q) if part is not None]
    return parts[0] if len(parts) == 1 else p.add(parts[0], parts[1])


def _by_giant(linear_map: LinearMap, width: int | None) -> dict[int, list[tuple[int, ConstRef]]]:
    """Diagonals grouped by giant step: giant -> [(baby, values)]."""
    diagonals = linear_map.diagonals
    if any(d.conj for d in diagonals):
        raise UnsupportedError("a linear map on the conjugate is not supported here; split it into real parts")
    slots = linear_map.slots
    signed = sorted(((signed_steps(d.steps, slots), d.values) for d in diagonals), key=lambda item: item[0])
    width = width or baby_count({steps for steps, _ in signed}, slots)
    grouped: dict[int, list[tuple[int, ConstRef]]] = defaultdict(list)
    for steps, values in signed:
        baby = steps % width
        grouped[signed_steps(steps - baby, slots)].append((baby, values))
    return grouped


def baby_count(steps: Iterable[int], slots: int) -> int:
    """The baby-step width with the cheapest set of rotations: a multiple of the steps' common divisor.

    returns  `slots` where no giant steps are best
    """
    present = list(steps)
    unit = gcd(slots, *present)
    widest = 4 * isqrt(slots // unit) + 4
    best, best_cost = unit, float("inf")
    for width in (*(unit * k for k in range(1, widest + 1)), slots):
        babies = {s % width for s in present} - {0}
        giants = {signed_steps(s - s % width, slots) for s in present} - {0}
        cost = BABY_COST * len(babies) + GIANT_COST * len(giants)
        if cost < best_cost:
            best, best_cost = width, cost
    return best


def _rotated(values: ConstRef, steps: int) -> ConstRef:
    return values if steps == 0 else replace(values, rotate=values.rotate + steps)
