"""The tensor dialect: the type of arrays.  Its ops live one per file in ``latticework.tensor.ops``."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.errors import ShapeError
from latticework.ir import Array, Type, register_type


@register_type("tensor")
class TensorType(Type):
    """An array.

    shape   extents, all >= 0
    dtype   the NumPy name of the dtype
    secret  whether it depends on a secret input
    layout  how its elements lie in slots, a registered attribute; None until assigned
    """

    shape: tuple[int, ...]
    dtype: str
    secret: bool
    layout: Any = None

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=object))

    def short_name(self) -> str:
        """Such as ``secret_3x4``, of a number ``secret_0d``."""
        return f"{'secret' if self.secret else 'public'}_{'x'.join(map(str, self.shape)) or '0d'}"

    def check(self) -> None:
        """ShapeError unless the extents are integers >= 0."""
        if type(self.shape) is not tuple or any(type(n) is not int or n < 0 for n in self.shape):
            raise ShapeError(f"the shape of a tensor must be a tuple of integers >= 0, got {self.shape!r}")

    def accept(self, value: Any) -> Array:
        """An array of this shape, real or complex as it is given."""
        array = np.asarray(value)
        if array.shape != self.shape:
            raise ShapeError(f"shape {array.shape} where {self.shape} is needed")
        return array
