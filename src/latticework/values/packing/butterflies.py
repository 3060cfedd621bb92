"""Stages of the special FFT as linear maps by generalised diagonals, computed where they are encoded.

The slots of a ciphertext are the values of its polynomial at zeta^(5^j); in
bit-reversed order of coefficients that map is a product of log2(slots) stages
of butterflies. A few consecutive stages are one linear map with few diagonals.

Of 4 slots (SlotToCoeff; CoeffToSlot is the inverse, its stages the other way round), z = exp(2 pi i / 16):

      half 1, applied first       half 2                      both merged
      [ 1  z2   .   . ]           [ 1  .   z1   . ]           [ 1   z2   z1   z3 ]
      [ 1 -z2   .   . ]           [ .  1   .   z5 ]           [ 1  -z2   z5  -z7 ]
      [ .   .   1  z2 ]           [ 1  .  -z1   . ]           [ 1   z2  -z1  -z3 ]
      [ .   .   1 -z2 ]           [ .  1   .  -z5 ]           [ 1  -z2  -z5   z7 ]
      diagonals -1, 0, 1          diagonals 0, 2              diagonals 0, 1, 2, 3

A stage of half-width h has the diagonals -h, 0 and h, the widest, which wraps around, 0 and h. Merging k stages gives
2^(k + 1) - 1 diagonals (2^k with the widest) for one level instead of k: 2^15 slots in 3 levels are 3 maps of 5 stages,
with 63, 63 and 32 diagonals and, by baby steps and giant steps, 18, 18 and 10 key switches; one map would have 2^15.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass
from latticework.values.extension import _core

ComplexArray = npt.NDArray[np.complex128]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Butterflies:
    """Stages with butterflies of half-width `half`, 2 half, ..., 2^(stages - 1) half, merged into one map.

    slots    length of the vectors, a power of two; all stages of it from half = 1 on are the whole embedding
    inverse  the inverse map: entries are then 2^-stages in size, else 1
    """

    slots: int
    half: int
    stages: int
    inverse: bool

    @property
    def source(self) -> None:
        """No array is read."""
        return None

    @property
    def steps(self) -> tuple[int, ...]:
        """The diagonals that are not zero, as rotations in (-slots, slots), ascending."""
        reach = (1 << self.stages) - 1
        if self.half << self.stages == self.slots:  # the widest stages wrap around
            return tuple(self.half * k for k in range(reach + 1))
        return tuple(self.half * k for k in range(-reach, reach + 1))

    def diagonal(self, steps: int) -> ComplexArray:
        """Return the diagonal: the factor of slot i + steps of the operand in slot i of the result."""
        period = self.half << self.stages  # slots that a path stays among: entries repeat after them
        out = np.arange(period, dtype=np.int64)
        source = out + steps if period < self.slots else (out + steps) % self.slots
        entries = self._entries(source, out) if self.inverse else self._entries(out, source)
        if self.inverse:  # stages are unitary but for a factor sqrt(2)
            entries = np.asarray(np.conj(entries) / (1 << self.stages), dtype=np.complex128)
        return np.tile(entries, self.slots // period)

    def _entries(self, out: IntArray, source: IntArray) -> ComplexArray:
        """Entries of the forward map: the one path of butterflies between two slots, if there is one."""
        full = 4 * self.half << self.stages  # a full turn, in steps of the finest root of unity
        phase = np.zeros(out.size, dtype=np.int64)
        first = self.half.bit_length() - 1
        for stage in range(first, first + self.stages):  # halves are powers of two: quotients and remainders are bits
            half = 1 << stage
            upper, from_upper = out >> stage & 1, source >> stage & 1
            rotation = full // (8 * half)
            phase += from_upper * (rotation * _powers_of_five(8 * half)[out & half - 1] + upper * (full // 2))
        last = first + self.stages
        reached = (out & self.half - 1 == source & self.half - 1) & (out >> last == source >> last)
        return np.where(reached, _roots(full)[phase & full - 1], 0.0)


@lru_cache(maxsize=8)
def _roots(order: int) -> ComplexArray:
    """exp(2 pi i k / order) for k below the order: not by NumPy, whose last bits are those of a machine's C library."""
    finest = max(order, 8)  # the fewest that there are tables of
    return _core.roots_of_unity(finest)[:: finest // order]


@lru_cache(maxsize=8)
def _powers_of_five(modulus: int) -> IntArray:
    """5^e modulo a power of two, for e below a quarter of it: after that they repeat."""
    powers = np.ones(max(1, modulus // 4), dtype=np.int64)
    for i in range(1, powers.size):
        powers[i] = powers[i - 1] * 5 % modulus
    return powers
