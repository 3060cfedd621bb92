"""Whole numbers of a server's data: keys, numbers in rows, elements of sets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import DtypeError, RangeError, ShapeError
from latticework.errors.rounded_numbers import write_value
from latticework.ir.location import Loc
from latticework.values.inputs.foreign_arrays import as_array, find_loss


def read_whole(data: Any, what: str, bits: int, at: Loc) -> npt.NDArray[np.int64]:
    """Read integers from 0 to 2^bits - 1, of at most 62 bits, in an array or list of any shape.

    what    they are called in messages
    raises  DtypeError for anything else than integers, floats that are whole too; RangeError for others, with the place
            of the first; ShapeError for rows of different lengths
    """
    lost = find_loss(data)
    if lost:
        raise DtypeError(f"{what}: this is {lost}", at=at)
    if isinstance(data, set | frozenset):
        raise DtypeError(f"{what}: this is a {type(data).__name__}, which has no order; give a list", at=at)
    if isinstance(data, Iterable) and not hasattr(data, "dtype") and not hasattr(data, "dtypes"):
        data = np.asarray(list(data), dtype=object) if not isinstance(data, str | bytes) else np.asarray(data)
    try:
        array = as_array(data)
    except ValueError:
        raise ShapeError(f"{what}: rows of different lengths; give rows of as many numbers each", at=at) from None
    if array.dtype.kind == "O":
        kinds = {type(n).__name__: n for n in array.flat if not isinstance(n, int | np.integer | np.bool_)}
        if kinds and all(isinstance(n, list | tuple | np.ndarray) for n in kinds.values()):
            raise ShapeError(f"{what}: rows of different lengths; give rows of as many numbers each", at=at)
        if kinds:
            raise DtypeError(f"{what}: a {next(iter(kinds))} among them; give integers", at=at)
    elif array.dtype.kind not in "biu":
        raise DtypeError(f"{what}: dtype {array.dtype}; give integers, rounded by numbers.astype(int)", at=at)
    off = np.asarray((array < 0) | (array >= 1 << bits), dtype=bool)
    if off.any():
        place = tuple(np.argwhere(off)[0].tolist())
        where = f" at {place[0] if len(place) == 1 else place}" if place else ""
        raise RangeError(
            f"{what}: {write_value(int(array[place]))}{where}; give integers from 0 to 2^{bits} - 1", at=at
        )
    return array.astype(np.int64)
