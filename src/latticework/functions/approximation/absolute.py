"""The magnitude of numbers in [-1, 1] as x s(x), where s is a composition of odd polynomials that is close to the sign.

From its gap on, s is off by at most some d, so x s(x) is off by at most d |x|. Closer to 0 s rises monotonically from 0
to 1 - d, so between two arguments a < b the distance b - b s(b) is at most b (1 - s(a)): over a fine grid that is a
bound, and about a tenth of the gap, since s rises steeply. The gap that suits degrees makes both alike.
Source: as `sign`; "x sign(x)" for ReLU: Lee et al., "Minimax approximation of sign function by composite polynomial for
homomorphic comparison", IEEE TDSC 2021. Cost: that of the stages, some 20 ms.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from math import inf
from pathlib import Path
from typing import NamedTuple

import numpy as np

from latticework.functions.approximation.sign import (
    BETWEEN,
    MARGIN,
    MEASURED,
    PRODUCTS,
    ROUNDING,
    CompositeSign,
    compose_stages,
)
from latticework.lazy_dataclass import dataclass
from latticework.values.packing.packed_constants import IntervalPolynomial

UNIT = (-1.0, 1.0)


class AbsoluteComposition(NamedTuple):
    """A composition: what its stages are, from which gap on, and what it gives.

    bits  -log2 of the largest error on [-1, 1]
    """

    degrees: tuple[int, ...]
    log2_gap: float
    bits: float

    @property
    def levels(self) -> int:
        """Levels that it spends, the product of x and s(x) included."""
        return sum(degree.bit_length() for degree in self.degrees) + 1

    @property
    def products(self) -> int:
        """Number of products of two ciphertexts, that of x and s(x) included."""
        return sum(PRODUCTS[degree] for degree in self.degrees) + 1


@dataclass(frozen=True, slots=True)
class ComposedAbsolute:
    """The stages of s, of arguments x / (1 + MARGIN) in [-1, 1].

    error  largest distance of x s(x) from |x| for |x| up to 1 + MARGIN
    """

    stages: tuple[IntervalPolynomial, ...]
    error: float


@lru_cache(maxsize=256)
def composed_absolute(composition: AbsoluteComposition) -> ComposedAbsolute:
    """The composition, with its error as it is measured."""
    sign = compose_stages(composition.degrees, 2.0**composition.log2_gap, 1.0)
    onto = [1.0 / (1.0 + MARGIN)] * (len(sign.stages) - 1) + [1.0]  # the interval of the next, which is UNIT then
    stages = tuple(replace(s.scale_by(by), interval=UNIT, gap=0.0) for s, by in zip(sign.stages, onto, strict=True))
    return ComposedAbsolute(stages, max(inside(sign), outside(sign)) + ROUNDING)


def inside(sign: CompositeSign, points: int = MEASURED) -> float:
    """A bound on the error closer to 0 than the gap; infinite where rounding has spoilt the stages."""
    x = np.linspace(0.0, sign.gap, points)
    s = sign(x)
    if np.min(np.diff(s)) < -ROUNDING or s[-1] > 1.0 + sign.error:
        return inf
    return float(np.max(x[1:] * (1.0 - s[:-1])))


def outside(sign: CompositeSign, points: int = MEASURED) -> float:
    """Measure the error of |x| from the gap on, at `points` points, with a margin for those between."""
    x = np.geomspace(sign.gap, 1.0 + MARGIN, points)
    return BETWEEN * float(np.max(x * np.abs(sign(x) - 1.0)))


@lru_cache(maxsize=1)
def load_compositions() -> dict[int, tuple[AbsoluteComposition, ...]]:
    """Return compositions by levels, those worth their products, the fewest first (by tools/find_absolute_ways.py)."""
    text = Path(__file__).with_name("absolute_ways.json").read_text(encoding="utf-8")
    by_levels: dict[int, list[AbsoluteComposition]] = {}
    for degrees, log2_gap, bits in json.loads(text)["ways"]:
        composition = AbsoluteComposition(tuple(degrees), log2_gap, bits)
        by_levels.setdefault(composition.levels, []).append(composition)
    return {levels: tuple(some) for levels, some in by_levels.items()}
