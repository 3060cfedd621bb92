"""Residues modulo t, nearest to zero, in int64 arrays: what BFV computes on, without a wider type."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

MAX_MODULUS_BITS = 49  # of t, for products
DIGIT_BITS = 13  # of a factor: times a residue of 49 bits, and as much carried over, it fits in 63 bits

Residues = npt.NDArray[Any]


def centre(x: Residues, modulus: int) -> Residues:
    """Representatives nearest to zero."""
    rest = np.mod(x, modulus)
    return np.where(rest > modulus // 2, rest - modulus, rest)


def mul_mod(a: Residues, b: Residues, modulus: int) -> Residues:
    """Centred products of centred int64 residues modulo t < 2^49."""
    if modulus < 1 << 32:
        return centre(a * b, modulus)
    total: Residues = np.zeros(np.broadcast_shapes(a.shape, b.shape), dtype=np.int64)
    rest = np.mod(a, modulus)
    for shift in range(modulus.bit_length() // DIGIT_BITS * DIGIT_BITS, -1, -DIGIT_BITS):
        digit = (rest >> shift) & ((1 << DIGIT_BITS) - 1)
        total = centre((total << DIGIT_BITS) + digit * b, modulus)
    return total
