"""Arrays of slot vectors in NumPy: (..., count, slots), and what moves and adds up whole vectors.

A value of one vector is (slots,) where programs are interpreted, so that most of them never meet the axis of vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.values.packing.key_manifest import galois_action

Array = npt.NDArray[Any]


def as_vectors(value: Array) -> Array:
    """A value (slots,) or (count, slots) as (count, slots)."""
    return value[None] if value.ndim == 1 else value


def as_value(vectors: Array) -> Array:
    """Vectors (..., count, slots) without the axis of vectors if there is one vector."""
    return vectors[..., 0, :] if vectors.shape[-2] == 1 else vectors


def take_vectors(vectors: Array, numbers: Sequence[int]) -> Array:
    """The vectors of these numbers, in this order."""
    return vectors[..., list(numbers), :]


def concat_vectors(arrays: Sequence[Array]) -> Array:
    """All vectors of all arrays, in order; leading axes are broadcast."""
    stack = np.broadcast_shapes(*(a.shape[:-2] for a in arrays))
    return np.concatenate([np.broadcast_to(a, (*stack, *a.shape[-2:])) for a in arrays], axis=-2)


def sum_vectors(vectors: Array, groups: int) -> Array:
    """Sums of neighbours: vectors group * m + k, k below m, add up to vector `group`."""
    *stack, count, slots = vectors.shape
    sums: Array = vectors.reshape(*stack, groups, count // groups, slots).sum(axis=-2)
    return sums


def dot_vectors(a: Array, b: Array, groups: int) -> Array:
    """`sum_vectors` of products, without holding them all."""
    *stack, count, slots = np.broadcast_shapes(a.shape, b.shape)
    a, b = (np.broadcast_to(x, (*x.shape[:-2], count, slots)) for x in (a, b))
    size = count // groups
    sums: Array = np.empty((*stack, groups, slots), dtype=np.result_type(a, b))
    for group in range(groups):
        held = slice(group * size, (group + 1) * size)
        np.einsum("...ks,...ks->...s", a[..., held, :], b[..., held, :], out=sums[..., group, :])
    return sums


def multiply_vectors(matrix: npt.NDArray[np.float64], vectors: Array) -> Array:
    """A matrix (rows, count) times vectors (..., count, slots): (..., rows, slots)."""
    product: Array = np.matmul(matrix, vectors)
    return product


def apply_galois(x: Array, element: int) -> Array:
    """X -> X^element on periodic slot vectors (..., slots)."""
    steps, conjugates = galois_action(element, x.shape[-1])
    return np.roll(np.conj(x) if conjugates else x, -steps, axis=-1)
