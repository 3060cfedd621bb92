"""Periods of slots: after how many the values that loops carry repeat, found by running the module on random numbers.

Slots that are equal for numbers by chance are equal for all: what vectors are made of are polynomials of their inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import numpy as np

from latticework.errors import RangeError
from latticework.ir import INDEX, Array, Module, Value, interpret
from latticework.ir.dialects.vec_dialect import VecType

SAME = 1e-13  # of the largest magnitude: sums in another order


def carried_periods(module: Module) -> dict[Value, int]:
    """Powers of two for the vectors that loops carry, where they repeat."""
    rng = np.random.default_rng(1)
    result: dict[Value, int] = {}
    loops = [op.regions[0].block.args[1:] for op in module.walk() if op.name == "loop.for"]
    carried = {value for values in loops for value in values}
    most = max(map(len, loops), default=0) + 1  # what one value has, another has an iteration later

    def see(value: Value, array: Array) -> None:
        if value in carried and isinstance(value.type, VecType):
            result[value] = max(result.get(value, 1), period(array))

    def run(trip_counts: Mapping[Value, int]) -> None:
        kinds = {v: v.type for v in module.inputs}
        inputs = [
            rng.uniform(-1, 1, (kind.count, kind.slots)[kind.count == 1 :])
            if isinstance(kind, VecType)
            else trip_counts[v]
            for v, kind in kinds.items()
        ]
        interpret(module, inputs, on_value=see)

    trip_counts = dict.fromkeys((v for v in module.inputs if v.type is INDEX), 0)
    run(trip_counts)
    for _ in range(most):
        for number in trip_counts:
            with suppress(RangeError):  # beyond an axis that the number chooses from: it is never so large
                run(trip_counts | {number: trip_counts[number] + 1})
                trip_counts[number] += 1
    return result


def period(array: Array) -> int:
    """The least power of two after which the slots of vectors repeat, or all of them."""
    slots: int = array.shape[-1]
    limit = SAME * np.max(np.abs(array), initial=0.0)
    size = 1
    while size < slots:
        if slots % size == 0:
            rows = array.reshape(-1, slots // size, size)
            if np.max(np.abs(rows - rows[:, :1])) <= limit:
                return size
        size *= 2
    return slots
