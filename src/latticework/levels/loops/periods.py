"""After how many slots the values that loops carry repeat, found by running the module on numbers by chance.

Slots that are equal for numbers by chance are equal for all: what vectors are made of are polynomials of their inputs.
"""

from __future__ import annotations

import numpy as np

from latticework.dialects.vec import VecType
from latticework.ir import INDEX, Array, Module, Value, interpret

SAME = 1e-13  # of the largest magnitude: sums in another order


def carried_periods(module: Module) -> dict[Value, int]:
    """Powers of two for the vectors that loops carry, where they repeat."""
    rng = np.random.default_rng(1)
    found: dict[Value, int] = {}
    loops = [op.regions[0].block.args[1:] for op in module.walk() if op.name == "loop.for"]
    carried = {value for values in loops for value in values}
    most = max(map(len, loops), default=0) + 1  # what one value has, another has an iteration later

    def see(value: Value, array: Array) -> None:
        if value in carried and isinstance(value.type, VecType):
            found[value] = max(found.get(value, 1), period(array))

    for trips in range(most + 1) if any(v.type is INDEX for v in module.inputs) else [0]:
        inputs = [
            rng.uniform(-1, 1, (kind.count, kind.slots)[kind.count == 1 :]) if isinstance(kind, VecType) else trips
            for kind in (v.type for v in module.inputs)
        ]
        interpret(module, inputs, on_value=see)
    return found


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
