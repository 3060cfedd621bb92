"""Bounds of whole vectors that are taken, joined or added up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from latticework.compiler.levels.abstract_value import AbstractValue, Array, Lineage, are_apart, unite
from latticework.ir import Op
from latticework.values.packing.slot_arrays import concat_vectors, sum_vectors, take_vectors


def move(op: Op, x: Sequence[AbstractValue]) -> AbstractValue:
    """Whole vectors taken, joined, or neighbours added up."""
    full = [arrays_of(part) for part in x]
    if op.name == "rlwe.take":
        numbers = op.attrs["vectors"]
        low, high, variance, bias = (take_vectors(v, numbers) for v in full[0])
        return AbstractValue(low, high, variance, bias, tuple(x[0].lineage[i] for i in numbers))
    if op.name == "rlwe.concat":
        low, high, variance, bias = (concat_vectors([part[i] for part in full]) for i in range(4))
        return AbstractValue(low, high, variance, bias, tuple(lineage for part in x for lineage in part.lineage))
    groups, (low, high, variance, bias) = op.attrs["groups"], full[0]
    size = len(low) // groups
    rows: list[tuple[Lineage, ...]] = [x[0].lineage[size * g : size * (g + 1)] for g in range(groups)]
    apart = np.array([are_apart(row) for row in rows])[:, None]
    together = np.where(apart, sum_vectors(variance, groups), sum_vectors(np.sqrt(variance), groups) ** 2)
    ends = sum_vectors(low, groups), sum_vectors(high, groups)
    return AbstractValue(*ends, together, sum_vectors(bias, groups), tuple(unite(row) for row in rows))


def arrays_of(a: AbstractValue) -> tuple[Array, Array, Array, Array]:
    """Ends, variance and bias of a value, all of the shape of its lower end."""
    low, high, variance, bias = (np.broadcast_to(v, a.low.shape) for v in (a.low, a.high, a.variance, a.bias))
    return low, high, variance, bias
