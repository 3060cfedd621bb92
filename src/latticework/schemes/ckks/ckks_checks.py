"""Checks of vectors and scales before an operation computes, and the texts that name scales."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import DtypeError, RangeError, ScaleError, ShapeError
from latticework.schemes.rlwe.checks import fail, type_text
from latticework.values.inputs.foreign_arrays import as_array, find_loss
from latticework.values.packing.embedding import largest_coefficient

ComplexArray = npt.NDArray[np.complex128]
RealArray = npt.NDArray[np.float64]
SCALE_TOLERANCE = 2.0**-45  # relative; scales that differ more are different scales
MAX_COEFFICIENT = 2.0**62  # of what the encoder encodes


def scale_text(scale: float) -> str:
    """A scale as a power of two, to the digits that tell two apart."""
    return f"2^{log2(scale):.3f}"


def short_scale_text(scale: float) -> str:
    """A scale, as things of one show it."""
    return f"scale 2^{log2(scale):.1f}"


def two_scales(a: float, b: float) -> str:
    """Two scales that should be equal, with their ratio where rounding hides it."""
    ratio = f", by a factor of 1 {a / b - 1:+.2g}" if scale_text(a) == scale_text(b) else ""
    return f"{scale_text(a)} and {scale_text(b)}{ratio}"


def is_close(a: float, b: float) -> bool:
    """Whether two scales are equal up to rounding."""
    return abs(a - b) <= SCALE_TOLERANCE * max(abs(a), abs(b))


def slot_values(who: str, values: Any, max_slots: int) -> ComplexArray:
    """Numbers as a complex vector of a power of two of slots; a scalar is one slot.

    raises  DtypeError, ShapeError or RangeError for what is no such vector
    """
    lost = find_loss(values)
    if lost:
        fail(DtypeError, f"{who}: got {lost}")
    try:
        array = as_array(values)
    except ValueError:
        fail(ShapeError, f"{who}: rows of different lengths; give one vector of numbers")
    if array.dtype.kind == "O":
        name = type_text(array.reshape(-1)[0] if array.size else array)
        fail(DtypeError, f"{who}: got {name}; give a ckks.Ciphertext, or real or complex numbers")
    if array.dtype.kind not in "fciub":
        fail(DtypeError, f"{who}: values of dtype {array.dtype}; give real or complex numbers")
    if array.ndim > 1:
        fail(ShapeError, f"{who}: an array of shape {array.shape}; a vector has one axis, give values.reshape(-1)")
    array = array.reshape(-1).astype(np.complex128)
    count = array.size
    if not 1 <= count <= max_slots or count & (count - 1):
        missing = (1 << max(count - 1, 0).bit_length()) - count
        remedy = f"pad it with np.pad(values, (0, {missing}))" if 1 <= count + missing <= max_slots else "split it"
        fail(ShapeError, f"{who}: {count} values; a vector has 1, 2, 4, ... up to {max_slots} slots: {remedy}")
    if not np.isfinite(array).all():
        bad = int(np.count_nonzero(~np.isfinite(array)))
        fail(RangeError, f"{who}: {bad} of {count} values are NaN or infinite; replace them first")
    return array


def coefficient_values(who: str, values: Any, ring_degree: int) -> RealArray:
    """Numbers as N real coefficients, the rest zero.

    raises  DtypeError, ShapeError or RangeError for what is no vector of up to N real numbers
    """
    lost = find_loss(values)
    if lost:
        fail(DtypeError, f"{who}: got {lost}")
    array = as_array(values)
    if array.dtype.kind not in "fiub":
        fail(DtypeError, f"{who}: values of dtype {array.dtype}; coefficients are real numbers")
    if array.ndim != 1 or not 1 <= array.size <= ring_degree:
        fail(ShapeError, f"{who}: shape {array.shape}; coefficients are one vector of 1 to {ring_degree} numbers")
    if not np.isfinite(array).all():
        fail(RangeError, f"{who}: some of {array.size} values are NaN or infinite; replace them first")
    full = np.zeros(ring_degree)
    full[: array.size] = array
    return full


def check_coefficients(who: str, values: RealArray, scale: float, modulus: int, level: int) -> None:
    """RangeError where a coefficient reaches 2^62, or the modulus."""
    largest, most = float(np.max(np.abs(values))), min(MAX_COEFFICIENT, float(modulus))
    if largest * scale >= most:
        fail(
            RangeError,
            f"{who}: coefficients up to {largest:.3g} at scale {scale_text(scale)} are too large for level {level}: "
            f"less than {most / scale:.3g} is possible; use a smaller scale, or a higher level",
        )


def check_encodable(who: str, values: ComplexArray, scale: float) -> None:
    """RangeError where a coefficient could reach 2^62."""
    largest = float(np.max(np.abs(values)))
    if largest * scale >= MAX_COEFFICIENT:
        fail(
            RangeError,
            f"{who}: values of {MAX_COEFFICIENT / scale:.3g} or more at scale {scale_text(scale)} need coefficients of "
            "2^62 or more; use a "
            "smaller scale, or rescale the ciphertext first",
        )


def check_modulus(who: str, values: ComplexArray, scale: float, modulus: int, level: int) -> None:
    """RangeError where a coefficient reaches the modulus itself: whatever it is added to, the sum wraps around."""
    if float(np.max(np.abs(values))) * scale < modulus:  # no coefficient is larger
        return
    if largest_coefficient(values) * scale >= modulus:
        fail(
            RangeError,
            f"{who}: values of {modulus / scale:.3g} or more at scale {scale_text(scale)} do not fit the modulus "
            f"(2^{log2(modulus):.1f}) at level {level}; use a higher level, or a smaller scale",
        )


def check_not_lost(who: str, values: ComplexArray, scale: float, least: float) -> None:
    """RangeError where rounding leaves nothing of factors that are not 0: their product would encrypt 0 for everybody.

    least  units of 1/scale that the largest has at least
    """
    largest = float(np.max(np.abs(values)))
    if largest == 0 or not largest * scale < max(least, 2.0 * values.size):
        return  # a coefficient is at least as large as the largest slot by twice their number
    if largest * scale >= least and largest_coefficient(values) * scale > 0.5:
        return
    why = "rounding to integers leaves nothing" if least == 0 else f"{least:g} or more are needed"
    fail(
        RangeError,
        f"{who}: factors of at most {largest:.3g} at scale {scale_text(scale)} are {largest * scale:.3g} units of what "
        f"is encoded, where {why}: use factors of {max(least, 1.0) / scale:.3g} or more, or give a larger "
        "scale, or leave the product out",
    )


def check_above_noise(who: str, largest: float, scale: float, noise: float) -> None:
    """ScaleError where the noise of encryption, in units of 1/scale, is as large as the values and as 1."""
    if noise < max(largest, 1.0) * scale:
        return
    fail(
        ScaleError,
        f"{who}: at scale {scale:.6g} the noise of encryption is up to {noise / scale:.3g}, where the largest value is "
        f"{largest:.3g}: nothing is left of it; give the factor itself, such as 2.0**40 and not 40, and more than "
        f"{noise:.3g}",
    )


def equal_rows(who: str, vectors: Sequence[Any], max_slots: int) -> list[tuple[list[int], npt.NDArray[Any]]]:
    """Vectors by their lengths: the places of those of one, and a matrix of them, of float64 or complex128.

    raises  as slot_values does for each
    """
    if _are_alike(vectors):
        matrix = np.ascontiguousarray(vectors)
        for row in matrix if not np.isfinite(matrix).all() else matrix[:1]:
            slot_values(who, row, max_slots)
        return [(list(range(len(vectors))), matrix)]
    rows = [slot_values(who, x, max_slots) for x in vectors]
    places = [[i for i, row in enumerate(rows) if row.size == size] for size in sorted({row.size for row in rows})]
    return [(of_size, np.stack([rows[i] for i in of_size])) for of_size in places]


def _are_alike(vectors: Sequence[Any]) -> bool:
    """Whether all are arrays of one length, of float64 or of complex128."""
    kinds = {(x.shape, x.dtype) if isinstance(x, np.ndarray) else ((), None) for x in vectors}
    return len(kinds) == 1 and all(len(shape) == 1 and dtype in (np.float64, np.complex128) for shape, dtype in kinds)


def check_rows(who: str, rows: npt.NDArray[Any], scale: float, modulus: int, level: int) -> None:
    """RangeError where check_encodable or check_modulus of a row raises it."""
    if float(np.max(np.abs(rows))) * scale < min(modulus, MAX_COEFFICIENT):
        return
    for row in rows:
        check_encodable(who, row, scale)
        check_modulus(who, row.astype(np.complex128), scale, modulus, level)


def check_scale(who: str, scale: Any) -> float:
    """The scale as a float; ScaleError unless it lies in [1, 2^120]."""
    if isinstance(scale, bool) or not isinstance(scale, int | float | np.floating) or not 1 <= scale <= 2.0**120:
        fail(ScaleError, f"{who}: scale={scale!r}; give the factor itself, such as 2.0**40, between 1 and 2^120")
    return float(scale)


def is_real_number(value: Any) -> bool:
    """Whether a public operand is one real number, which needs no encoding."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "fiu"
    return True
