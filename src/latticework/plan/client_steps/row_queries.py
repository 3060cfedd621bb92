"""Private look-ups of rows: a number becomes a vector of slots with a 1 at its row, and sums over slots become rows."""

from __future__ import annotations

from math import prod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass
from latticework.plan.client_steps.step import Array, Bounded, OwnerStep, Shape, as_numbers, last_axes, require
from latticework.plan.client_steps.step_arrays import OwnerArray
from latticework.values.packing.perfect_hash import BUCKET_KEYS, PerfectHash

MAX_NUMBER_BITS = 62  # of a number that digits make
MAX_KEY_BITS = 52  # of what comes as float64


@dataclass(frozen=True)
class RowQuery(OwnerStep):
    """Each element, the number of a row, becomes vectors of slots with 1 at its place, and 0 elsewhere."""

    rows: int
    vectors: int
    slots: int

    NAME: ClassVar[str] = "row_query"
    AFTER: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if min(self.rows, self.vectors, self.slots) < 1 or self.rows > self.vectors * self.slots:
            raise ValueError(f"{self.rows} rows in {self.vectors} vectors of {self.slots} slots")

    def result_shape(self, shape: Shape) -> Shape:
        """Return the shape with the axes of vectors and slots."""
        return (*shape, self.vectors, self.slots)

    def apply(self, x: Array) -> Array:
        """Return one-hot vectors, in float64; the numbers of rows are 0 to `rows` - 1."""
        numbers = _whole(x)
        require((numbers >= 0) & (numbers < self.rows), f"is no row: the table has rows 0 to {self.rows - 1}")
        return _one_hot(numbers.astype(np.int64), self.vectors, self.slots)

    def words(self) -> str:
        """Describe the step by the number of rows."""
        return f"one-hot of {self.rows} rows, in {self.vectors} x {self.slots} slots"


@dataclass(frozen=True)
class KeyQuery(OwnerStep):
    """Each element, a key, becomes vectors with 1 at the place of its hash; then its digits, one a vector, lie there.

    shifts  of a `PerfectHash` of the keys of a table, with its `salt`
    digits  of every key, of so many bits each
    """

    vectors: int
    slots: int
    salt: int
    shifts: OwnerArray
    digits: int
    digit_bits: int

    NAME: ClassVar[str] = "key_query"
    AFTER: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if min(self.vectors, self.slots, self.digits, self.digit_bits) < 1 or not 0 <= self.salt < 1 << 62:
            raise ValueError(f"a key of {self.digits} digits in {self.vectors} vectors of {self.slots} slots")
        if (self.digits - 1) * self.digit_bits >= MAX_KEY_BITS or self.digit_bits > MAX_KEY_BITS:
            raise ValueError(f"keys of {self.digits} digits of {self.digit_bits} bits")
        shifts = self.shifts.array
        if shifts.ndim != 1 or not ((shifts >= 0) & (shifts < 1 << 31) & (shifts == np.rint(shifts))).all():
            raise ValueError("shifts of a hash that are no whole numbers")

    def result_shape(self, shape: Shape) -> Shape:
        """Return the shape with the axes of vectors, those of digits last, and slots."""
        return (*shape, self.vectors + self.digits, self.slots)

    def apply(self, x: Array) -> Array:
        """Return vectors, in float64; keys are below 2^bits of all digits together, and 2^52."""
        numbers, bits = _whole(x), min(self.digits * self.digit_bits, MAX_KEY_BITS)
        require((numbers >= 0) & (numbers < 1 << bits), f"is no key of the table, whose keys are 0 to 2^{bits} - 1")
        keys = numbers.astype(np.int64)
        hashed = PerfectHash(self.vectors * self.slots, self.salt, self.shifts.array.astype(np.int64))
        places = hashed.places_of(keys.reshape(-1)).reshape(keys.shape)
        digits = keys[..., None] >> (self.digit_bits * np.arange(self.digits)) & (1 << self.digit_bits) - 1
        slots = _one_hot(places % self.slots, 1, self.slots)
        return np.concatenate([_one_hot(places, self.vectors, self.slots), digits[..., None] * slots], axis=-2)

    def words(self) -> str:
        """Describe the step by the size of its vectors."""
        return f"one-hot of a key's hash, in {self.vectors} x {self.slots} slots, and the key in {self.digits} more"

    def weights(self) -> str:
        """Describe the hash, which was chosen for the keys of the table."""
        return f"a hash by which {BUCKET_KEYS * len(self.shifts.array)} keys or fewer have places of their own"


@dataclass(frozen=True)
class TableRow(OwnerStep):
    """The row that sums over slots are the digits of; of a key that the table lacks it is -1 everywhere.

    shape       of a row
    digits      of each number, units first, of so many bits each
    key_digits  vectors before those of the row, whose sums are 0 where the key is in the table; 0: rows have no keys
    """

    shape: tuple[int, ...]
    digits: int
    digit_bits: int
    key_digits: int

    NAME: ClassVar[str] = "table_row"
    BEFORE: ClassVar[bool] = False
    DECIDES: ClassVar[bool] = True

    def __post_init__(self) -> None:
        least = min(self.digits, self.digit_bits, *self.shape)
        if (
            least < 1
            or self.key_digits < 0
            or self.digit_bits > MAX_KEY_BITS
            or (self.digits - 1) * self.digit_bits >= MAX_NUMBER_BITS
        ):
            raise ValueError(f"rows of shape {self.shape}, of {self.digits} digits of {self.digit_bits} bits")

    @property
    def depth(self) -> int:
        """The axes of vectors and slots."""
        return 2

    def result_shape(self, shape: Shape) -> Shape:
        """Return the shape of a row in the place of vectors and slots."""
        _check_vectors(shape, self.key_digits + prod(self.shape) * self.digits)
        return (*shape[:-2], *self.shape)

    def decided(self, shape: Shape, choices: int) -> int:
        """Return that rows are numbers of their own."""
        super().decided(shape, choices)
        return -1

    def bounded(self, x: Bounded) -> Bounded:
        """Whole numbers, int64, and certain: sums are exact."""
        sums = _slot_sums(x.value)
        digits = sums[..., self.key_digits :].reshape((*sums.shape[:-1], *self.shape, self.digits))
        row = (digits << (self.digit_bits * np.arange(self.digits))).sum(-1)
        found = _is_found(sums, self.key_digits).reshape((*sums.shape[:-1], *(1,) * len(self.shape)))
        row = np.where(found, row, -1)
        return Bounded(row, None, None, np.ones(row.shape, dtype=bool))

    def words(self) -> str:
        """Describe the step by the shape of rows."""
        return f"row of {prod(self.shape)} numbers from sums over slots"


@dataclass(frozen=True)
class IsKeyFound(OwnerStep):
    """Whether the table has the key: sums over slots of the first vectors are 0, one for each digit."""

    key_digits: int

    NAME: ClassVar[str] = "is_key_found"
    BEFORE: ClassVar[bool] = False
    DECIDES: ClassVar[bool] = True

    @property
    def depth(self) -> int:
        """The axes of vectors and slots."""
        return 2

    def result_shape(self, shape: Shape) -> Shape:
        """Return the shape without the axes of vectors and slots."""
        if not 1 <= self.key_digits <= last_axes(shape, 2)[0]:
            raise ValueError(f"{self.key_digits} digits of a key in vectors of shape {shape}")
        return shape[:-2]

    def decided(self, shape: Shape, choices: int) -> int:
        """Return that it is one of two."""
        super().decided(shape, choices)
        return 2

    def bounded(self, x: Bounded) -> Bounded:
        """True or False, and certain: sums are exact."""
        found = _is_found(_slot_sums(x.value), self.key_digits)
        return Bounded(found, None, None, np.ones(found.shape, dtype=bool))

    def words(self) -> str:
        """Describe the step."""
        return "whether the key is in the table"


def _whole(x: Array) -> npt.NDArray[np.float64]:
    numbers = as_numbers(x)
    require(numbers == np.rint(numbers), "is no whole number")
    return numbers


def _one_hot(places: npt.NDArray[np.int64], vectors: int, slots: int) -> Array:
    """Vectors of slots, (..., vectors, slots), with 1 at each place."""
    made = np.zeros((*places.shape, vectors * slots))
    np.put_along_axis(made, places[..., None], 1.0, axis=-1)
    return made.reshape((*places.shape, vectors, slots))


def _check_vectors(shape: Shape, count: int) -> None:
    if last_axes(shape, 2)[0] != count:
        raise ValueError(f"vectors of shape {shape}, where there are {count}")


def _slot_sums(x: Array) -> npt.NDArray[np.int64]:
    return np.asarray(np.rint(x).astype(np.int64).sum(-1))


def _is_found(sums: npt.NDArray[np.int64], key_digits: int) -> npt.NDArray[np.bool_]:
    return np.asarray((sums[..., :key_digits] == 0).all(-1))
