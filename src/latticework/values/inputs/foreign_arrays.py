"""Arrays that users give: tensors, frames and sparse arrays of other packages too, none of which is imported for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import DtypeError

_TOLD = ("dtype", "layout", "device")  # of tensors that cannot be read
_NUMERIC = "biufc"  # kinds of dtypes, which extension dtypes of pandas have too


def find_loss(given: Any) -> str:
    """Describe what np.asarray(given) would lose, and what to give instead; "" if nothing is lost.

    Masks of masked arrays, also of parts of lists, and the matrix product that * is of an np.matrix and of sparse
    matrices of SciPy.
    """
    if isinstance(given, np.matrix):
        return "an np.matrix, whose * is a product of matrices; give np.asarray(value), and write @ for such products"
    if _is_sparse(given) and type(given).__name__.endswith("_matrix"):
        name = type(given).__name__
        return f"a {name}, whose * is a product of matrices; give value.toarray(), and write @ for such products"
    if isinstance(given, np.ma.MaskedArray):
        masked = int(np.sum(np.ma.getmaskarray(given)))
        text = f"a masked array, {masked} of {given.size} elements masked; give value.filled(number)"
        return text if masked else ""
    if isinstance(given, list | tuple):
        return next((text for part in given if (text := find_loss(part))), "")
    return ""


def as_array(given: Any) -> npt.NDArray[Any]:
    """Return the data as a NumPy array; tensors of PyTorch, frames of pandas and sparse arrays of SciPy too.

    raises  ValueError, of NumPy, for rows of different lengths; DtypeError for frames with columns that are no numbers
    """
    return np.asarray(in_numpy(given))


def in_numpy(given: Any) -> Any:
    """Return the data as it is, but as an array where np.asarray does not do, or not well."""
    if isinstance(given, np.ndarray):
        return given
    if isinstance(given, list | tuple) and any(map(is_tensor, given)):
        return np.asarray([in_numpy(part) for part in given])
    if is_tensor(given):
        return _of_tensor(given)
    if _is_sparse(given):
        return given.toarray()
    return _of_frame(given) if _is_frame(given) else given


def own_copy(given: Any) -> Any:
    """The same values in memory of their own, so that what changes them in place changes nothing of the user's.

    Arrays, tensors, frames and sparse arrays, also in lists, tuples and dictionaries; other objects as they are.
    """
    if isinstance(given, np.ndarray):
        return given.copy()
    if is_tensor(given):
        return given.clone() if callable(getattr(given, "clone", None)) else in_numpy(given).copy()
    if isinstance(given, dict):
        return {name: own_copy(part) for name, part in given.items()}
    if type(given) in (list, tuple):
        return type(given)(own_copy(part) for part in given)
    return given.copy() if _is_sparse(given) or _is_frame(given) else given


def is_one_array(given: Any) -> bool:
    """Whether what is given is one array, and not a list or a dictionary of several."""
    return hasattr(given, "shape") and not isinstance(given, list | tuple | dict)


def is_tensor(given: Any) -> bool:
    """Whether what is given is a tensor of PyTorch, or of something like it."""
    return callable(getattr(given, "detach", None)) and callable(getattr(given, "numpy", None))


def _is_frame(given: Any) -> bool:
    return type(given).__module__.partition(".")[0] == "pandas" and hasattr(given, "to_numpy")


def _is_sparse(given: Any) -> bool:
    return callable(getattr(given, "toarray", None)) and hasattr(given, "nnz")


def _of_tensor(given: Any) -> npt.NDArray[Any]:
    """Its values, wherever it lies, and whether or not gradients are followed through it."""
    try:
        values = given.detach().cpu()
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
        kind = [f"{name} {value}" for name in _TOLD if (value := getattr(given, name, None)) is not None]
        raise DtypeError(
            f"a {type(given).__name__} of {', '.join(kind)} holds no numbers that can be read "
            f"({type(error).__name__}: {str(error).splitlines()[0][:120]}); give an array, or a tensor "
            "that lies in memory"
        ) from None


def _of_frame(given: Any) -> npt.NDArray[Any]:
    """The numbers of a frame or series of pandas, of whatever numeric dtypes; NaN where one is missing."""
    array = np.asarray(given)
    if array.dtype.kind != "O":
        return array
    dtypes = list(zip(given.columns, given.dtypes, strict=True)) if hasattr(given, "columns") else [("", given.dtype)]
    others = [f"{name} ({dtype})".strip() for name, dtype in dtypes if getattr(dtype, "kind", "O") not in _NUMERIC]
    if others:
        raise DtypeError(
            f"a {type(given).__name__} has columns that are no numbers: {', '.join(others)}; leave them out, or encode "
            "them as numbers"
        )
    return np.asarray(given.to_numpy(dtype=np.float64, na_value=np.nan))
