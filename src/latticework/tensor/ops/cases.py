"""Random operands shared by the conformance cases of several operations."""

from __future__ import annotations

import numpy as np

from latticework.tensor.ops.base import FloatArray, Shape


def random_shape(rng: np.random.Generator, slots: int, rank: int | None = None) -> Shape:
    """A shape of at most `slots` elements and axes of at most 6, of random rank 0 to 3 unless given."""
    shape: list[int] = []
    left = slots
    for _ in range(int(rng.integers(4)) if rank is None else rank):
        shape.append(int(rng.integers(1, max(1, min(left, 6)) + 1)))
        left //= shape[-1]
    return tuple(shape)


def broadcasting_operands(rng: np.random.Generator, slots: int) -> tuple[FloatArray, FloatArray]:
    """Two normal arrays whose shapes broadcast to at most `slots` elements."""
    common = random_shape(rng, slots)
    full = rng.normal(size=common)
    thinned = tuple(1 if rng.random() < 0.3 else n for n in common)[int(rng.integers(len(common) + 1)) :]
    other = rng.normal(size=thinned)
    return (full, other) if rng.random() < 0.5 else (other, full)
