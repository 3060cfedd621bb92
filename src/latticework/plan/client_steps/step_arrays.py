"""Public arrays and labels as parameters of steps: hashable, checked, and small in files."""

from __future__ import annotations

from dataclasses import field
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass

Array = npt.NDArray[Any]
MAX_AXES = 16
MAX_ELEMENTS = 1 << 26  # of an array on the way: as many as the slots of the largest tensor
MAX_LABELS = 1 << 20
MAX_TEXT = 1 << 24  # characters of labels as an array, in which each takes as much as the longest


def check_shape(shape: tuple[int, ...]) -> None:
    """ValueError unless a shape has no axis without elements, and no more elements than a tensor can have."""
    if len(shape) > MAX_AXES or min(shape, default=1) < 1 or prod(shape) > MAX_ELEMENTS:
        shown = str(shape) if len(shape) <= MAX_AXES else f"of {len(shape)} axes"
        raise ValueError(f"shape {shown} has an axis without elements, or more than {MAX_ELEMENTS} elements")


@dataclass(frozen=True, slots=True)
class OwnerArray:
    """An array of finite numbers.

    data  float64 in C order and little-endian, or float32 where that holds the same numbers
    """

    shape: tuple[int, ...]
    data: bytes = field(repr=False)

    def __post_init__(self) -> None:
        check_shape(self.shape)
        if len(self.data) not in (4 * prod(self.shape), 8 * prod(self.shape)):
            raise ValueError(f"{len(self.data)} bytes are no numbers of shape {self.shape}")
        if not np.isfinite(self._stored).all():
            raise ValueError("numbers that are not finite")

    @classmethod
    def of(cls, values: npt.ArrayLike) -> OwnerArray:
        """ValueError for what are no finite numbers."""
        array = np.asarray(values, dtype=np.float64)
        with np.errstate(over="ignore"):
            single = array.astype("<f4")
        data = single if np.array_equal(single, array) else array.astype("<f8")
        return cls(array.shape, data.tobytes())

    @property
    def _stored(self) -> Array:
        width = len(self.data) // prod(self.shape)
        return np.frombuffer(self.data, dtype=f"<f{width}").reshape(self.shape)

    @property
    def array(self) -> npt.NDArray[np.float64]:
        """The numbers as float64."""
        return self._stored.astype(np.float64)

    def rows(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the rows at `places` of the first axis, as float64."""
        return self._stored[places].astype(np.float64)


@dataclass(frozen=True, slots=True)
class Labels:
    """Names of classes, or of categories: texts, or numbers where there are no texts.

    whole  numbers are integers
    truth  and these integers are False and True
    """

    texts: tuple[str, ...] = ()
    numbers: OwnerArray | None = None
    whole: bool = False
    truth: bool = field(default=False, metadata={"unstored_default": True})

    def __post_init__(self) -> None:
        if (self.numbers is None) == (not self.texts) or not 1 <= len(self) <= MAX_LABELS:
            raise ValueError(f"labels that are neither texts nor numbers, or more than {MAX_LABELS}")
        if self.numbers is not None and len(self.numbers.shape) != 1:
            raise ValueError(f"labels of shape {self.numbers.shape}")
        if self.numbers is not None and self.whole and not (np.abs(self.numbers.array) < 2**53).all():
            raise ValueError("labels that are no integers of 53 bits")
        if self.truth and (self.numbers is None or not np.isin(self.numbers.array, (0, 1)).all()):
            raise ValueError("labels that are neither False nor True")
        if any(text.endswith("\0") for text in self.texts):  # NumPy would drop it
            raise ValueError("a label that ends in a zero character")
        if len(self.texts) * max(map(len, self.texts), default=0) > MAX_TEXT:
            raise ValueError(f"{len(self.texts)} labels of up to {max(map(len, self.texts))} characters")
        if len(set(self.texts if self.numbers is None else self.array.tolist())) < len(self):
            raise ValueError("a label that stands twice")

    @classmethod
    def of(cls, values: Any) -> Labels:
        """Texts, integers, booleans or floats; ValueError for anything else."""
        array = np.asarray(values)
        if array.ndim != 1:
            raise ValueError(f"labels of shape {array.shape}")
        if array.dtype.kind in "UO" and all(isinstance(value, str) for value in array):
            return cls(tuple(map(str, array)))
        if array.dtype.kind not in "biuf":
            raise ValueError(f"labels of dtype {array.dtype}; give texts or numbers")
        return cls((), OwnerArray.of(array), array.dtype.kind != "f", array.dtype.kind == "b")

    def __len__(self) -> int:
        return len(self.texts) if self.numbers is None else self.numbers.shape[0]

    @property
    def array(self) -> Array:
        """Texts, int64 or float64."""
        if self.numbers is None:
            return np.array(self.texts)
        if self.truth:
            return self.numbers.array > 0
        return np.rint(self.numbers.array).astype(np.int64) if self.whole else self.numbers.array

    @property
    def cells(self) -> tuple[str, frozenset[str]]:
        """Return what they are in files of tables: "text" or "number", and the texts."""
        return ("text" if self.numbers is None else "number"), frozenset(self.texts)

    def find(self, values: Array) -> npt.NDArray[np.int64]:
        """The place of each value among the labels; -1 where it is none."""
        known = self.array
        keys = np.asarray(values)
        if self.numbers is None:
            keys = keys.astype(str)
        order = np.argsort(known, kind="stable")
        at = order[np.searchsorted(known, keys, sorter=order).clip(max=len(known) - 1)]
        return np.where(known[at] == keys, at, -1).astype(np.int64)

    def words(self) -> str:
        """Return a few of them, in words."""
        shown = [str(label) for label in self.array[:4].tolist()]
        return ", ".join(shown) + (f", ... {len(self)} in all" if len(self) > len(shown) else "")
