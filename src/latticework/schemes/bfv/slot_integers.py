"""Integers in and out of slots: shapes, signs, ranges."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import DtypeError, RangeError, ShapeError
from latticework.schemes.rlwe.checks import one_of, type_text
from latticework.values.inputs.foreign_arrays import as_array, find_loss

Integers = npt.NDArray[np.int64] | npt.NDArray[np.uint64]


def to_residues(who: str, values: Any, row_slots: int, modulus: int) -> npt.NDArray[np.uint64]:
    """Integers as N residues in [0, t), row by row, zero where nothing was given.

    values  of shape (2, n) or (1, n) with n <= N/2; or a vector of up to N, which fills the first row, then the second;
            or a single integer for all slots. Unsigned values lie in [0, t), signed ones in [-(t-1)/2, (t-1)/2]
    """
    lost = find_loss(values)
    if lost:
        raise DtypeError(f"{who}: got {lost}")
    try:
        array = as_array(values)
    except ValueError:
        raise ShapeError(f"{who}: rows of different lengths; pad them with zeros, or give one vector") from None
    if array.size == 0:
        raise ShapeError(f"{who}: no values (shape {array.shape}); give at least one integer")
    if array.dtype.kind == "O":
        first = array.reshape(-1)[0]
        if isinstance(first, int):
            raise RangeError(f"{who}: a value has more than 64 bits; reduce the values modulo t = {modulus} first")
        raise DtypeError(
            f"{who}: got {type_text(first)}; a BFV operand is a bfv.Ciphertext, a "
            "bfv.Plaintext, an integer or an array of integers"
        )
    if array.dtype.kind not in "iu":
        raise DtypeError(
            f"{who}: values of dtype {array.dtype}; slots hold integers: convert them (np.int64, np.uint64)"
        )
    if array.ndim > 2 or (array.ndim == 2 and (array.shape[0] > 2 or array.shape[1] > row_slots)):
        raise ShapeError(f"{who}: shape {array.shape}; give up to 2 rows of up to {row_slots} values, or one vector")
    if array.ndim == 1 and array.size > 2 * row_slots:
        raise ShapeError(f"{who}: {array.size} values; a ciphertext has {2 * row_slots} slots")
    check_range(who, array, modulus)
    residues = array.astype(np.uint64)
    if array.dtype.kind == "i":
        residues = np.where(array < 0, (array.astype(np.int64) + np.int64(modulus)).astype(np.uint64), residues)
    slots = np.zeros((2, row_slots), dtype=np.uint64)
    if array.ndim == 2:
        slots[: array.shape[0], : array.shape[1]] = residues
    elif array.ndim == 1:
        slots.reshape(-1)[: array.size] = residues
    else:
        slots[:] = residues
    return slots.reshape(-1)


def check_range(who: str, array: npt.NDArray[Any], modulus: int) -> None:
    """RangeError, naming the place of the first bad value, unless all are representatives of residues modulo t."""
    low, high = (-(modulus // 2), (modulus - 1) // 2) if array.dtype.kind == "i" else (0, modulus - 1)
    bad = (array < low) | (array > high)
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        raise RangeError(
            f"{who}: the value{f' at {list(place)}' if place else ''} is outside [{low}, {high}], which slots modulo "
            f"t = {modulus} "
            f"hold as {'signed' if array.dtype.kind == 'i' else 'unsigned'} values; use a larger plain_modulus, or "
            "reduce them"
        )


def to_integers(who: str, residues: npt.NDArray[np.uint64], modulus: int, dtype: npt.DTypeLike) -> Integers:
    """Residues as integers: int64 nearest to zero, or uint64 in [0, t)."""
    if integer_dtype(who, dtype) == np.uint64:
        return residues
    signed = residues.astype(np.int64)
    return np.where(signed > (modulus - 1) // 2, signed - modulus, signed)


def integer_dtype(who: str, dtype: npt.DTypeLike) -> np.dtype[Any]:
    """A dtype that decrypted integers can have; DtypeError for any other."""
    return one_of(who, dtype, (np.int64, np.uint64), "int64 (signed) and uint64 (in [0, t))")


def to_constant(who: str, value: int, modulus: int) -> int:
    """An integer as its residue nearest to zero; RangeError if it is not in (-t, t)."""
    if not -modulus < value < modulus:
        raise RangeError(f"{who}: {value} is not between -t and t = {modulus}; reduce it modulo t")
    residue = int(value) % modulus
    return residue - modulus if residue > modulus // 2 else residue
