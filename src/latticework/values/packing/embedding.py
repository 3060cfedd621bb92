"""The canonical embedding, and what raising the modulus does to a value.

Slot j of n lies at zeta^(5^j), zeta the first primitive 4n-th root of unity; 2n
real coefficients are packed as n complex words, word i holding coefficients i
and i + n.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

Slots = npt.NDArray[Any]
SPARSE_WEIGHT = 32  # nonzero coefficients of the ephemeral secret


def embed(words: Slots) -> npt.NDArray[np.complex128]:
    """Slots (..., n) of packed coefficients."""
    n = words.shape[-1]
    values = n * np.fft.ifft(words * _twist(n), axis=-1)
    return np.asarray(values[..., _order(n)], dtype=np.complex128)


def unembed(slots: Slots) -> npt.NDArray[np.complex128]:
    """Packed coefficients (..., n) of slots."""
    n = slots.shape[-1]
    values = np.empty(slots.shape, dtype=np.complex128)
    values[..., _order(n)] = slots
    return np.asarray(np.fft.fft(values, axis=-1) / n * np.conj(_twist(n)), dtype=np.complex128)


def largest_coefficient(slots: Slots) -> float:
    """Return the largest magnitude of the coefficients of slots."""
    words = unembed(slots)
    return float(max(np.max(np.abs(words.real)), np.max(np.abs(words.imag))))


def raise_modulus(x: Slots, slots: int, ratio: float, random: np.random.Generator) -> npt.NDArray[np.complex128]:
    """The slots of a value after its modulus q0 was raised: x + ratio * (slots of an integer polynomial).

    x       slots (..., n), periodic in `slots`, the hardware slots
    ratio   q0 / scale
    random  draws the polynomial: round(b + a s - m) / q0 for uniform a and a secret of weight 32, where
            b = m - a s mod q0. It has all 2 * slots coefficients, also where n < slots.
    """
    period = np.arange(slots) % x.shape[-1]
    x = x[..., period].astype(np.complex128)
    message = unembed(x) / ratio  # m / q0
    drift = [random.uniform(-0.5, 0.5, (SPARSE_WEIGHT, *message.shape)).sum(axis=0) for _ in range(2)]
    integer = np.rint(drift[0] - message.real) + 1j * np.rint(drift[1] - message.imag)
    return np.asarray(x + ratio * embed(integer), dtype=np.complex128)


@lru_cache(maxsize=32)
def _twist(n: int) -> npt.NDArray[np.complex128]:
    return np.asarray(np.exp(1j * np.pi * np.arange(n) / (2 * n)))


@lru_cache(maxsize=32)
def _order(n: int) -> npt.NDArray[np.int64]:
    """Place of slot j among the roots zeta^(4k + 1)."""
    exponents = np.array([pow(5, j, 4 * n) for j in range(n)], dtype=np.int64)
    return (exponents - 1) // 4
