"""Sparse rows in .npz files, as scipy.sparse.save_npz writes them: arrays with their meaning in a text."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import FormatError
from latticework.values.inputs.foreign_arrays import check_dense_size
from latticework.values.inputs.reading_budget import ReadingLimits, limit_remedy

Array = npt.NDArray[Any]

_ENTRIES = {
    "csr": {"indices", "indptr", "format", "shape", "data"},
    "csc": {"indices", "indptr", "format", "shape", "data"},
    "coo": {"row", "col", "format", "shape", "data"},
}


def is_sparse(arrays: Mapping[str, Array]) -> bool:
    """Whether the arrays of a file are a sparse matrix: one of them is the text that names its format."""
    form = arrays.get("format")
    return form is not None and form.dtype.kind in "SU" and {"shape", "data"} <= set(arrays)


def dense_rows(arrays: Mapping[str, Array], name: str, limits: ReadingLimits) -> Array:
    """The array of a sparse matrix in rows (csr), columns (csc) or elements (coo); elements that stand twice add up.

    name    of the file
    raises  FormatError for another format, for arrays that do not belong together, and for an array of more bytes than
            limits allow; BudgetError for one that there is no memory for
    """
    form = _format_of(arrays["format"])
    if form not in _ENTRIES or set(arrays) - {"_is_array"} != _ENTRIES[form]:
        raise FormatError(
            f"{name} is a sparse matrix of another format than csr, csc and coo; save it with scipy.sparse.save_npz("
            f"{name!r}, rows.tocsr())"
        )
    shape = _shape_of(arrays["shape"], name)
    if 8 * prod(shape) > limits.memory_bytes:
        raise FormatError(
            f"{name} takes {shape[0]} x {shape[1]} numbers x 8 bytes as an array, more than {limits.memory_bytes} "
            f"bytes: give fewer rows at a time, or, {limit_remedy('memory_bytes')}"
        )
    check_dense_size(f"file {name} of a sparse matrix", shape)
    data = arrays["data"]
    if form == "coo":
        row, column = arrays["row"], arrays["col"]
    else:
        starts, inner = arrays["indptr"], arrays["indices"]
        outer = _count_out(starts, shape[form == "csc"], len(data) if data.ndim == 1 else -1, name)
        row, column = (outer, inner) if form == "csr" else (inner, outer)
    for places, extent in ((row, shape[0]), (column, shape[1])):
        if places.ndim != 1 or places.dtype.kind not in "iu" or places.shape != data.shape:
            raise _misfit(name)
        if places.size and not 0 <= int(places.min()) <= int(places.max()) < extent:
            raise _misfit(name)
    if data.dtype.kind not in "biuf":
        raise FormatError(f"{name} holds a sparse matrix of {data.dtype}; save numbers")
    made = np.zeros(shape, data.dtype)
    np.add.at(made, (row.astype(np.int64), column.astype(np.int64)), data)
    return made


def _format_of(given: Array) -> str:
    text = given.item() if given.size == 1 else ""
    return text.decode("ascii", "replace") if isinstance(text, bytes) else str(text)


def _shape_of(given: Array, name: str) -> tuple[int, int]:
    if given.shape != (2,) or given.dtype.kind not in "iu" or int(given.min()) < 1:
        raise _misfit(name)
    return int(given[0]), int(given[1])


def _count_out(starts: Array, extent: int, count: int, name: str) -> Array:
    """The row of each element, or its column, from where each row begins."""
    if starts.shape != (extent + 1,) or starts.dtype.kind not in "iu":
        raise _misfit(name)
    ends = starts.astype(np.int64)
    if ends[0] != 0 or ends[-1] != count or (np.diff(ends) < 0).any():
        raise _misfit(name)
    return np.repeat(np.arange(extent), np.diff(ends))


def _misfit(name: str) -> FormatError:
    return FormatError(f"{name}: the arrays of its sparse matrix do not belong together; it is damaged")
