"""The work that all libraries are given, and its results by NumPy."""

from __future__ import annotations

import resource
import sys

import numpy as np
from sets import BABIES, SIDE

STEPS_OF_MATVEC = [*range(1, BABIES), *range(BABIES, SIDE, BABIES)]


def slots_vector(slots: int) -> np.ndarray:
    """What is encrypted: real values in [-1, 1]."""
    return np.random.default_rng(20).uniform(-1, 1, slots)


def integers(count: int, modulus: int) -> np.ndarray:
    """Integers of magnitude below half of the plaintext modulus."""
    return np.random.default_rng(21).integers(-(modulus // 2) + 1, modulus // 2, count)


class MatrixVector:
    """A SIDE x SIDE matrix and a vector repeated over all slots, by diagonals in a baby-step giant-step order."""

    def __init__(self, slots: int) -> None:
        rng = np.random.default_rng(22)
        self.matrix = matrix = rng.uniform(-1, 1, (SIDE, SIDE))
        vector = rng.uniform(-1, 1, SIDE)
        self.vector = np.tile(vector, slots // SIDE)
        self.expected = np.tile(matrix @ vector, slots // SIDE)
        row = np.arange(slots) % SIDE
        self.diagonals = [matrix[row, (row + k) % SIDE] for k in range(SIDE)]

    def giants(self) -> list[tuple[int, list[tuple[int, np.ndarray]]]]:
        """(giant step, [(baby step, diagonal turned back by the giant step)])."""
        return [
            (giant, [(baby, np.roll(self.diagonals[giant + baby], giant)) for baby in range(BABIES)])
            for giant in range(0, SIDE, BABIES)
        ]


def largest_error(found: object, expected: np.ndarray) -> float:
    """Largest magnitude of a difference."""
    return float(np.max(np.abs(np.asarray(found)[: len(expected)] - expected)))


def precision_bits(found: np.ndarray, expected: np.ndarray) -> tuple[float, float]:
    """-log2 of the errors of real (and, where there are, imaginary) parts: root mean square, and largest."""
    error = found - expected
    parts = np.concatenate([error.real, error.imag]) if np.iscomplexobj(expected) else error.real
    return float(-np.log2(np.sqrt(np.mean(parts**2)))), float(-np.log2(np.max(np.abs(parts))))


def peak_bytes() -> int:
    """The most memory that this process has held so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def boot_operations(operation: type, run: object, precision: object, **values: object) -> dict[str, object]:
    """What a worker offers for bootstrapping: the bootstrap, and numbers about its last result and its keys."""
    makers = {"bootstrap": lambda: operation(run, lambda _: 2.0 ** -precision()[1])}
    numbers = {"rms_bits": lambda: precision()[0], "worst_bits": lambda: precision()[1], "peak_bytes": peak_bytes}
    for name, value in (numbers | values).items():
        makers[name] = lambda value=value: operation(value)
    return makers
