"""Public numbers that users give, as arrays of real numbers: checked before anything is computed with them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from latticework.errors import DtypeError, RangeError
from latticework.values.inputs.foreign_arrays import as_array, find_loss


def real_array(operand: object, function: str = "") -> npt.NDArray[np.float64]:
    """The operand of a function as float64.

    raises  DtypeError for what is not real numbers, RangeError for NaN and infinity, naming the function if it is given
    """
    of = f"{function}: " if function else ""
    lost = find_loss(operand)
    if lost:
        raise DtypeError(f"{of}a plain operand is {lost}")
    try:
        array = as_array(operand)
    except ValueError as error:
        raise DtypeError(
            f"{of}a plain operand of type {type(operand).__name__} is no array: {error}; give rows of equal length"
        ) from None
    if array.dtype.kind == "c":
        raise DtypeError(
            f"{of}a plain operand of shape {array.shape} has dtype {array.dtype}; programs compute on real numbers: "
            "use its .real and .imag apart"
        )
    if array.dtype.kind not in "biuf":
        raise DtypeError(
            f"{of}a plain operand of type {type(operand).__name__} has dtype {array.dtype}; "
            "give numbers: np.asarray(value, dtype=float)"
        )
    with np.errstate(over="ignore"):
        result = array.astype(np.float64)
    bad = ~np.isfinite(result)
    if bad.any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        where = f", first at index {first}" if first else ""
        raise RangeError(
            f"{of}{int(bad.sum())} of {result.size} elements of a plain operand of shape {result.shape} are NaN or "
            f"infinite{where}; clean the data first, for example with np.nan_to_num"
        )
    return result
