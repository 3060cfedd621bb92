"""Linear forms: what slots of a vector are, as sums of rotated base vectors times public vectors, plus a public vector.

y = bias + sum of values[t] * rotate(base[t], steps[t]). Forms are composed in numbers, so that what cancels, or falls
on slots that hold zeros, is gone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
NOTHING = 2.0**-44  # of the largest value of a form: what cancelled, but for rounding


@dataclass(frozen=True, slots=True)
class Form:
    """One vector.

    codes   base * slots + steps of every term, ascending
    values  (terms, slots);  bias  (slots,)
    """

    codes: IntArray
    values: FloatArray
    bias: FloatArray

    @property
    def slots(self) -> int:
        """Length of the vectors."""
        return int(self.bias.size)

    @property
    def terms(self) -> list[tuple[int, int]]:
        """(base, steps) of every term."""
        return [divmod(int(code), self.slots) for code in self.codes]

    @property
    def size(self) -> int:
        """Numbers in it."""
        return int(self.values.size)

    def times(self, vector: FloatArray | float) -> Form:
        """Slot by slot times a public vector, or a number."""
        return Form(self.codes, self.values * vector, self.bias * vector)

    def rotate(self, steps: int) -> Form:
        """Rotated left."""
        if steps % self.slots == 0:
            return self
        base, old = np.divmod(self.codes, self.slots)
        codes = base * self.slots + (old + steps) % self.slots
        order = np.argsort(codes)
        return Form(codes[order], np.roll(self.values, -steps, axis=1)[order], np.roll(self.bias, -steps))

    def plus(self, bias: FloatArray) -> Form:
        """Add a public vector."""
        return Form(self.codes, self.values, self.bias + bias)


def base_form(number: int, slots: int) -> Form:
    """A base vector itself."""
    return Form(np.array([number * slots], dtype=np.int64), np.ones((1, slots)), np.zeros(slots))


def total(forms: Sequence[Form]) -> Form:
    """The sum of forms, without terms that are nothing."""
    codes = np.unique(np.concatenate([form.codes for form in forms]))
    values = np.zeros((codes.size, forms[0].slots))
    for form in forms:
        values[np.searchsorted(codes, form.codes)] += form.values
    largest = max((float(np.max(np.abs(form.values), initial=0.0)) for form in forms), default=0.0)
    is_nothing = np.abs(values) <= NOTHING * largest
    held = ~is_nothing.all(axis=1)
    kept = values[held]
    np.copyto(kept, 0.0, where=is_nothing[held])
    bias = np.sum([form.bias for form in forms], axis=0)
    return Form(codes[held], kept, np.asarray(bias, dtype=np.float64))
