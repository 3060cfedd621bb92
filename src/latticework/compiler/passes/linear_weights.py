"""Products of a secret tensor with public weights: along which axes the weights take a scale of either side in.

W (c x) = (W c) x and c (W x) = (c W) x, where c is one number for every element of the axis that the product sums over,
or makes; over all other axes it is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from latticework.ir import Op, Value
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.lazy_dataclass import dataclass

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Weighted:
    """One such product.

    secret   place of the tensor among the operands; the weights are the other one
    weights  what they are
    read     axis of the tensor that is summed over, from the end;  made  axis of the result, or None if it has none
    """

    op: Op
    secret: int
    weights: FloatArray
    read: int
    made: int | None

    def of_scaled(self, scale: FloatArray) -> FloatArray | None:
        """Weights for x that give what these give for scale * x; None if none do.

        scale  of the rank of x, with extent 1 where it is the same along an axis
        """
        along = _along(scale, self.read)
        if along is None:
            return None
        if self.op.name == "tensor.conv2d":
            groups = self.op.attrs["groups"]
            parts = self.weights.reshape(groups, -1, *self.weights.shape[1:])
            scales = along.reshape(groups if along.size > 1 else 1, 1, -1, 1, 1)
            return np.asarray((parts * scales).reshape(self.weights.shape))
        return self.weights * (along if self.secret == 1 or self.weights.ndim == 1 else along[:, None])

    def scale_weights(self, scale: FloatArray) -> FloatArray | None:
        """Weights that give scale times what these give; None if none do.

        scale  of the rank of the result, with extent 1 where it is the same along an axis
        """
        along = scale.reshape(-1) if scale.size == 1 else None if self.made is None else _along(scale, self.made)
        if along is None:
            return None
        if self.op.name == "tensor.conv2d":
            return self.weights * along[:, None, None, None]
        return self.weights * (along[:, None] if self.secret == 1 and self.weights.ndim == 2 else along)


def find_weighted(op: Op, public: dict[Value, FloatArray]) -> Weighted | None:
    """An operation as such a product; None if it is none.

    public  what constants are
    """
    if op.name not in ("tensor.matmul", "tensor.conv2d"):
        return None
    for secret, (x, other) in enumerate((op.operands, op.operands[::-1])):
        if not x.is_secret or other not in public:
            continue
        weights = public[other]
        if op.name == "tensor.conv2d":
            return Weighted(op, secret, weights, -3, -3) if secret == 0 else None
        if weights.ndim > 2:
            return None
        if secret == 0:
            return Weighted(op, secret, weights, -1, -1 if weights.ndim == 2 else None)
        read = -min(2, len(shape_of(x)))
        return Weighted(op, secret, weights, read, read if weights.ndim == 2 else None)
    return None


def compact(array: FloatArray, shape: Sequence[int]) -> FloatArray:
    """An array that broadcasts to a shape, of its rank, with extent 1 along every axis that it is the same along."""
    result = np.asarray(array, dtype=np.float64).reshape((1,) * (len(shape) - array.ndim) + array.shape)
    for axis, extent in enumerate(result.shape):
        first = result.take([0], axis)
        if extent > 1 and bool(np.all(result == first)):
            result = first
    return result


def shape_of(value: Value) -> tuple[int, ...]:
    """The shape of a tensor."""
    assert isinstance(value.type, TensorType)
    return value.type.shape


def _along(scale: FloatArray, axis: int) -> FloatArray | None:
    """The numbers along an axis; None where they differ along another."""
    return scale.reshape(-1) if prod(scale.shape) == scale.shape[axis] else None
