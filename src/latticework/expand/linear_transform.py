"""A symbolic linear map as baby steps and giant steps with double hoisting.

y = sum_g rotate_g( sum_b rotate_-g(diagonal_(g+b)) * baby_b(x) ),
where a baby is x turned by b slots, or its conjugate turned by b slots. The
inner sums are one `rlwe.diag_sums`: all babies share one decomposition of x,
and everything stays over QP. Each giant step divides by P once, decomposes
once and is summed over QP; one final mod_down removes P and the level's primes
together. Source: Halevi-Shoup diagonals; double hoisting as in Bossuat et al.
(Eurocrypt'21).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import gcd, isqrt

from latticework.expand.primitives import Primitives, cipher, signed_steps
from latticework.ir import Value
from latticework.plan.constants import ConstRef, Diagonal, LinearMap
from latticework.plan.keys import conjugation_element, galois_element

# Relative prices of a hoisted rotation kept over QP and of a full one, in NTTs of one row at typical digit counts:
# a baby step is a key product; a giant step adds a division by P and a decomposition.
BABY_COST, GIANT_COST = 1.0, 3.0


@dataclass(frozen=True, slots=True, order=True)
class Baby:
    """x turned left by `steps` slots, of its conjugate if `conj`."""

    conj: bool
    steps: int

    def element(self, slots: int, ring_degree: int) -> int:
        """The Galois element that does it: 1 for x itself."""
        turn = galois_element(signed_steps(self.steps, slots), ring_degree)
        return turn * conjugation_element(ring_degree) % (2 * ring_degree) if self.conj else turn


def expand_linear_transform(
    p: Primitives, x: Value, linear_map: LinearMap, level: int, scale: float, width: int | None = None
) -> Value:
    """Primitive operations for one linear map; x settled one level above `level`.

    width  of the baby steps, or None for the cheapest
    """
    kind = cipher(x)
    plain_scale = scale * p.group(kind.level.index, kind.level.track) / kind.scale
    by_giant = split(linear_map, width)
    if not by_giant:
        return p.mod_down(p.mul_int(x, 0, kind.scale * plain_scale), level, scale)
    babies = sorted({baby for terms in by_giant.values() for baby, _ in terms} - {_SELF})
    inner = _fused_sums if babies else _plain_sums
    total: Value | None = None
    for giant, part in inner(p, x, by_giant, plain_scale):
        settled = p.mod_down(part, kind.level.index, cipher(part).scale) if giant and babies else part
        turned = p.key_product(p.hoist(settled), giant, kind.level) if giant else part
        if cipher(turned).basis == "Q" and len(by_giant) > 1:
            turned = p.extend(turned)
        total = p.add(total, turned)
    assert total is not None
    return p.mod_down(total, level, scale)


Terms = list[tuple[Baby, ConstRef]]
_SELF = Baby(False, 0)


def _fused_sums(p: Primitives, x: Value, by_giant: dict[int, Terms], plain_scale: float) -> list[tuple[int, Value]]:
    """(giant, sum of its terms over QP before it is turned), all by one operation on one decomposition of x."""
    kind = cipher(x)
    babies = sorted({baby for terms in by_giant.values() for baby, _ in terms} - {_SELF})
    numbers = {_SELF: 0, **{baby: number for number, baby in enumerate(babies, 1)}}
    keys = [p.key("galois", baby.element(kind.slots, p.chain.ring_degree), kind.level) for baby in babies]
    plains, pairs = [], []
    for place, (giant, terms) in enumerate(by_giant.items()):
        for baby, values in terms:
            plains.append(p.encode(_rotated(values, -giant), kind.slots, kind.level, plain_scale, "QP"))
            pairs.append((numbers[baby], place))
    operands = [p.hoist(x), *keys, *plains]
    sums = p.builder.create("rlwe.diag_sums", operands, {"terms": tuple(pairs), "giants": len(by_giant)})
    return list(zip(by_giant, sums.results, strict=True))


def _plain_sums(p: Primitives, x: Value, by_giant: dict[int, Terms], plain_scale: float) -> list[tuple[int, Value]]:
    """The same over Q, where x itself is the only baby: there is no P to divide by."""
    kind = cipher(x)
    sums = []
    for giant, terms in by_giant.items():
        total: Value | None = None
        for _, values in terms:
            plain = p.encode(_rotated(values, -giant), kind.slots, kind.level, plain_scale, "Q")
            total = p.add(total, p.builder.build("rlwe.mul_plain", [x, plain]))
        assert total is not None
        sums.append((giant, total))
    return sums


def split(linear_map: LinearMap, width: int | None = None) -> dict[int, Terms]:
    """Diagonals by giant step, nearest first: giant -> terms. Diagonals of one place follow each other."""
    diagonals, slots = linear_map.diagonals, linear_map.slots
    width = width or baby_count(((d.conj, signed_steps(d.steps, slots)) for d in diagonals), slots)
    grouped: dict[int, Terms] = {}
    for diagonal in sorted(diagonals, key=lambda d: (signed_steps(d.steps, slots), d.conj)):
        baby, giant = _parts(diagonal, width, slots)
        grouped.setdefault(giant, []).append((baby, diagonal.values))
    return dict(sorted(grouped.items(), key=lambda item: (abs(item[0]), item[0])))


def _parts(diagonal: Diagonal, width: int, slots: int) -> tuple[Baby, int]:
    steps = signed_steps(diagonal.steps, slots)
    turn = steps % width
    return Baby(diagonal.conj, turn), signed_steps(steps - turn, slots)


def baby_count(places: Iterable[tuple[bool, int]], slots: int) -> int:
    """The baby-step width with the cheapest set of rotations: a multiple of the steps' common divisor.

    places   (whether of the conjugate, signed steps) of each diagonal
    returns  `slots` where no giant steps are best
    """
    present = sorted(set(places))
    unit = gcd(slots, *(steps for _, steps in present))
    widest = 4 * isqrt(slots // unit) + 4
    best, best_cost = unit, float("inf")
    for width in (*(unit * k for k in range(1, widest + 1)), slots):
        babies = {(conj, s % width) for conj, s in present} - {(False, 0)}
        giants = {signed_steps(s - s % width, slots) for _, s in present} - {0}
        cost = BABY_COST * len(babies) + GIANT_COST * len(giants)
        if cost < best_cost:
            best, best_cost = width, cost
    return best


def _rotated(values: ConstRef, steps: int) -> ConstRef:
    return values if steps == 0 else replace(values, rotate=values.rotate + steps)
