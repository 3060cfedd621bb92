"""The noise that linear maps add up: where it comes from, and variances of vectors that share slots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from latticework.compiler.levels.abstract_value import Array, Lineage, roll, rotate_lineage
from latticework.values.packing.packed_constants import LinearMap


def read_lineages(linear_map: LinearMap, given: Sequence[Lineage], *, is_block: bool) -> list[list[Lineage]]:
    """Lineages of the noise of every product that a result of a map is the sum of."""
    rows: list[list[Lineage]] = [[] for _ in range(linear_map.count_out if is_block else len(given))]
    for d in linear_map.diagonals:
        for out in [d.out] if is_block else range(len(rows)):
            rows[out].append(rotate_lineage(given[d.in_ if is_block else out], d.steps, linear_map.slots))
    return rows


def with_next(variance: Array, packed: Sequence[int]) -> Array:
    """Sums of the variances of each two vectors of which one is the imaginary part of the other."""
    if len(variance) == 1:
        return 2.0 * variance
    result = variance.copy()
    for one, other in zip(packed[::2], packed[1::2], strict=False):
        result[[one, other]] = variance[one] + variance[other]
    return result


def add_rotated_variance(variance: Array, apart: int) -> Array:
    """Sums of the variances of slots with those `apart`, one of which is its imaginary part or has it as theirs."""
    return variance + np.maximum(roll(variance, apart), roll(variance, -apart))
