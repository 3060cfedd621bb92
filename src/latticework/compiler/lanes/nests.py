"""Loop nests that a regular circuit is made of: arrays of numbers, each a sum of products of elements of others."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass

Numbers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Reading:
    """Element of an array that a loop nest reads: number `start` plus, for every loop, a stride times its counter."""

    array: int
    start: int
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Nest:
    """Terms over loops: the product of what `factors` read, times a public number.

    extents       of the loops; the first `num_result_loops` number the elements of the result in order, the others are
                  summed
    factors       none (public numbers alone), one or two
    coefficients  one for all, or one for each iteration of the loops: shape () or `extents`
    """

    extents: tuple[int, ...]
    num_result_loops: int
    factors: tuple[Reading, ...]
    coefficients: Reals


@dataclass(frozen=True)
class Stage:
    """An array of numbers: what is given under a name, or a sum of nests.

    name   of an input; "" else
    shape  as its elements are numbered
    """

    name: str
    shape: tuple[int, ...]
    nests: tuple[Nest, ...] = ()


def loops_of(sequence: Numbers) -> list[tuple[int, Numbers]] | None:
    """The nested loops that run through a sequence (channels, n): (extent, step of every channel), the outermost first.

    Inner loops are as long as they can be. None where a number of elements is no product of loops.
    """
    loops: list[tuple[int, Numbers]] = []
    while sequence.shape[1] > 1:
        length = sequence.shape[1]
        step = sequence[:, 1] - sequence[:, 0]
        alike = (np.diff(sequence, axis=1) == step[:, None]).all(axis=0)
        run = length if alike.all() else int(np.argmin(alike)) + 1
        while length % run:
            run -= 1
        if run == 1:
            return None
        loops.append((run, step))
        sequence = sequence[:, ::run]
    return loops[::-1]


def loops_in_shape(sequence: Numbers, shape: tuple[int, ...]) -> list[tuple[int, Numbers]] | None:
    """Find loops as `loops_of` does, none of them running on from one axis of a shape into the next."""
    result: list[tuple[int, Numbers]] = []
    for extent in reversed(shape):
        inner = loops_of(sequence[:, :extent])
        if inner is None:
            return None
        result = inner + result
        sequence = sequence[:, ::extent]
    return result


def replay(loops: list[tuple[int, Numbers]], channel: int) -> Numbers:
    """Return what loops add to a channel in every iteration."""
    total = np.zeros(1, dtype=np.int64)
    for extent, step in loops:
        total = (total[:, None] + step[channel] * np.arange(extent)).reshape(-1)
    return total
