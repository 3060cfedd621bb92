"""Whole numbers of any size as residues modulo several primes, and back: the Chinese remainder theorem on arrays.

Primes are below 2^49, so that a residue, and the quotient of a product of two by a prime, are exact in float64.
Integers beyond int64 are Python's, in arrays of objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Residues = npt.NDArray[np.int64]


def to_residues(numbers: Array, modulus: int) -> Residues:
    """Representatives nearest to zero of integers: int64, uint64 or Python's."""
    if numbers.dtype.kind in "iu":
        numbers = numbers.astype(np.uint64 if numbers.dtype.kind == "u" else np.int64)
    divisor = modulus if numbers.dtype == object else numbers.dtype.type(modulus)
    rest = np.mod(numbers, divisor).astype(np.int64)
    return np.where(rest > modulus // 2, rest - modulus, rest)


def from_residues(residues: Sequence[Residues], moduli: Sequence[int], *, is_small: bool) -> Array:
    """The integers nearest to zero that have these residues, modulo the product of the moduli.

    is_small  whether all of them are known to lie in int64: then they are int64, else Python's
    """
    digits = _mixed_radix(residues, moduli)
    if is_small:
        total = np.zeros_like(digits[0])
        with np.errstate(over="ignore"):  # modulo 2^64, which leaves numbers of 64 bits as they are
            for digit, modulus in zip(reversed(digits), reversed(moduli), strict=True):
                total = total * np.int64(modulus) + digit
        return total
    return _join(digits, moduli)


def _mixed_radix(residues: Sequence[Residues], moduli: Sequence[int]) -> list[Residues]:
    """Digits d of d0 + t0 (d1 + t1 (d2 + ...)), each nearest to zero, so that their sum is too."""
    digits: list[Residues] = []
    for place, modulus in enumerate(moduli):
        digit = np.mod(residues[place], modulus)
        for lower, known in zip(moduli[:place], digits, strict=True):
            digit = _times(np.mod(digit - known, modulus), pow(lower, -1, modulus), modulus)
        digits.append(np.where(digit > modulus // 2, digit - modulus, digit))
    return digits


def _times(numbers: Residues, factor: int, modulus: int) -> Residues:
    """Products modulo a prime below 2^49: the quotient in float64 is off by one at most, the rest wraps in int64."""
    quotient = (numbers.astype(np.float64) * float(factor) / float(modulus)).astype(np.int64)
    with np.errstate(over="ignore"):
        rest = numbers * np.int64(factor) - quotient * np.int64(modulus)
    return np.mod(rest, modulus)


def _join(digits: Sequence[Residues], moduli: Sequence[int]) -> Array:
    """The numbers of digits, as Python's: neighbours first, so that most sums are of few large numbers."""
    parts: list[Array] = [digit.astype(object) for digit in digits]
    sizes = list(moduli)
    while len(parts) > 1:
        pairs = range(0, len(parts) - 1, 2)
        joined = [parts[i] + parts[i + 1] * sizes[i] for i in pairs]
        sizes = [prod(sizes[i : i + 2]) for i in range(0, len(sizes), 2)]
        parts = joined + parts[2 * len(joined) :]
    return parts[0]


def as_exact(arrays: Sequence[Array]) -> list[Array]:
    """Arrays of integers in one kind that holds all of them: where int64 and uint64 meet, NumPy would take float64."""
    kinds = {array.dtype.kind for array in arrays}
    return [array.astype(object) for array in arrays] if len(kinds) > 1 else list(arrays)
