"""Arrays that users give: tensors, frames and sparse arrays of other packages too, none of which is imported for it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import BudgetError, DtypeError
from latticework.errors.shown import size
from latticework.values.inputs.machine_memory import free_bytes

_TOLD = ("dtype", "layout", "device")  # of tensors that cannot be read
_NUMERIC = "biufc"  # kinds of dtypes, which extension dtypes of pandas have too


def say_one_row(shape: Sequence[int], wanted: Sequence[int]) -> str:
    """Say how a row by itself is given where rows are wanted; "" for other shapes.

    shape  that is given;  wanted  that of an input
    """
    if len(wanted) < 2 or tuple(shape) != tuple(wanted[1:]):
        return ""
    of_frame = ", of a frame frame.iloc[:1]" if len(wanted) == 2 else ""
    return f"one row keeps its axis of rows: give rows[:1]{of_frame}"


def find_loss(data: Any) -> str:
    """Describe what np.asarray(data) would lose, and what to give instead; "" if nothing is lost.

    Masks of masked arrays, also of parts of lists, and the matrix product that * is of an np.matrix and of sparse
    matrices of SciPy.
    """
    if isinstance(data, np.matrix):
        return "an np.matrix, whose * is a product of matrices; give np.asarray(value), and write @ for such products"
    if _is_sparse(data) and type(data).__name__.endswith("_matrix"):
        name = type(data).__name__
        return f"a {name}, whose * is a product of matrices; give value.toarray(), and write @ for such products"
    if isinstance(data, np.ma.MaskedArray):
        masked = int(np.sum(np.ma.getmaskarray(data)))
        text = f"a masked array, {masked} of {data.size} elements masked; give value.filled(number)"
        return text if masked else ""
    if isinstance(data, list | tuple):
        return next((text for part in data if (text := find_loss(part))), "")
    return ""


def as_array(data: Any) -> npt.NDArray[Any]:
    """Return the data as a NumPy array; tensors of PyTorch, frames of pandas and sparse arrays of SciPy too.

    raises  ValueError, of NumPy, for rows of different lengths; DtypeError for frames with columns that are no numbers
    """
    return np.asarray(in_numpy(data))


def as_cells(data: Any) -> npt.NDArray[np.object_]:
    """Return the data as an array of objects: texts, numbers as Python's, None and NaN, each cell as its column has it.

    Numbers of a frame's numeric columns are so whatever is missing among them: NaN, not what the package has for it.
    """
    if not (_is_frame(data) and hasattr(data, "columns")):
        return np.asarray(data, dtype=object)
    cells = np.empty(data.shape, dtype=object)
    for number, dtype in enumerate(data.dtypes):
        column = data.iloc[:, number]
        is_numeric = getattr(dtype, "kind", "O") in _NUMERIC and not isinstance(dtype, np.dtype)
        kept = column.to_numpy(dtype=np.float64, na_value=np.nan) if is_numeric and column.hasnans else column
        cells[:, number] = np.asarray(kept, dtype=object)
    return cells


def in_numpy(data: Any) -> Any:
    """Return the data as it is, but as an array where np.asarray does not do, or not well."""
    if isinstance(data, np.ndarray):
        return data
    if isinstance(data, list | tuple) and any(map(is_tensor, data)):
        return np.asarray([in_numpy(part) for part in data])
    if is_tensor(data):
        return _of_tensor(data)
    if _is_sparse(data):
        return _of_sparse(data)
    return _of_frame(data) if _is_frame(data) else data


def with_dense_rows(data: Any, label: str = "") -> Any:
    """Data to encrypt, with sparse matrices and arrays of SciPy in it as arrays: no program says * of them as such.

    label   what it is called in messages
    raises  BudgetError for more than there is memory for
    """
    try:
        if isinstance(data, list | tuple) and any(map(_is_sparse, data)):
            return type(data)([with_dense_rows(part) for part in data])
        return _of_sparse(data) if _is_sparse(data) else data
    except BudgetError as error:
        raise BudgetError(f"{label} is {error.message}" if label else error.message) from None


def check_dense_size(kind: str, shape: tuple[int, ...]) -> None:
    """BudgetError unless there is memory for a sparse matrix of this shape as an array of float64, twice."""
    needed, left = 8 * prod(shape), free_bytes()
    if 2 * needed > left:
        extents = " x ".join(map(str, shape))
        raise BudgetError(
            f"a {kind} that takes {size(needed)} as an array ({extents} numbers x 8 bytes), and as much again while it "
            f"is checked; this machine has {size(left)} left: give fewer rows at a time, or make fewer columns first, "
            "as TruncatedSVD or SelectKBest does"
        )


def own_copy(data: Any) -> Any:
    """The same values in memory of their own, so that what changes them in place changes nothing of the user's.

    Arrays, tensors, frames and sparse arrays, also in lists, tuples and dictionaries; other objects as they are.
    """
    if isinstance(data, np.ndarray):
        return data.copy()
    if is_tensor(data):
        return data.clone() if callable(getattr(data, "clone", None)) else in_numpy(data).copy()
    if isinstance(data, dict):
        return {name: own_copy(part) for name, part in data.items()}
    if type(data) in (list, tuple):
        return type(data)(own_copy(part) for part in data)
    return data.copy() if _is_sparse(data) or _is_frame(data) else data


def is_one_array(data: Any) -> bool:
    """Whether what is given is one array, and not a list or a dictionary of several."""
    return hasattr(data, "shape") and not isinstance(data, list | tuple | dict)


def is_tensor(data: Any) -> bool:
    """Whether what is given is a tensor of PyTorch, or of something like it."""
    return callable(getattr(data, "detach", None)) and callable(getattr(data, "numpy", None))


def _is_frame(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "to_numpy")


def _is_sparse(data: Any) -> bool:
    return callable(getattr(data, "toarray", None)) and hasattr(data, "nnz")


def _of_sparse(data: Any) -> npt.NDArray[Any]:
    check_dense_size(type(data).__name__, tuple(data.shape))
    return np.asarray(data.toarray())


def _of_tensor(data: Any) -> npt.NDArray[Any]:
    """Its values, wherever it lies, and whether or not gradients are followed through it."""
    try:
        values = data.detach().cpu()
        if getattr(values, "is_quantized", False):
            values = values.dequantize()
        if "strided" not in str(getattr(values, "layout", "strided")):  # sparse in some way
            values = values.to_dense()
        if hasattr(values, "resolve_conj"):
            values = values.resolve_conj().resolve_neg()
        try:
            return np.asarray(values.numpy())
        except TypeError:  # bfloat16 and its like, which NumPy has not
            return np.asarray(values.float().numpy())
    except (RuntimeError, TypeError, NotImplementedError) as error:
        kind = [f"{name} {value}" for name in _TOLD if (value := getattr(data, name, None)) is not None]
        raise DtypeError(
            f"a {type(data).__name__} of {', '.join(kind)} holds no numbers that can be read "
            f"({type(error).__name__}: {str(error).splitlines()[0][:120]}); give an array, or a tensor "
            "that lies in memory"
        ) from None


def _of_frame(data: Any) -> npt.NDArray[Any]:
    """The numbers of a frame or series of pandas, of whatever numeric dtypes; NaN where one is missing."""
    array = np.asarray(data)
    if array.dtype.kind != "O":
        return array
    dtypes = list(zip(data.columns, data.dtypes, strict=True)) if hasattr(data, "columns") else [("", data.dtype)]
    others = [f"{name} ({dtype})".strip() for name, dtype in dtypes if getattr(dtype, "kind", "O") not in _NUMERIC]
    if others:
        raise DtypeError(
            f"a {type(data).__name__} has columns that are no numbers: {', '.join(others)}; leave them out, or encode "
            "them as numbers"
        )
    return np.asarray(data.to_numpy(dtype=np.float64, na_value=np.nan))
