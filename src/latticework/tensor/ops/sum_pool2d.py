"""tensor.sum_pool2d: sums over windows that slide over the last two axes; averages as sums times a public factor."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.errors import ShapeError
from latticework.ir.core import Value
from latticework.tensor.ops import mul, row_rules
from latticework.tensor.ops.base import Case, FloatArray, Shape, Tracer, shape_of, tensor_op
from latticework.tensor.ops.lowering import Operand, Target, linear
from latticework.tensor.ops.windows import Padding, Pair, num_windows, padding_of, pair, windows
from latticework.values.packing.packed_constants import Access


def shape(a: Shape, *, kernel: Pair, stride: Pair, padding: Padding) -> Shape:
    """(..., H, W) gives (..., H', W')."""
    return _shape("sum_pool2d", a, kernel, stride, padding)


def _shape(name: str, a: Shape, kernel: Pair, stride: Pair, padding: Padding) -> Shape:
    if len(a) < 2:
        raise ShapeError(f"{name}: shape {a} has no two axes to slide over; the last two are rows and columns")
    if any(max(around) >= k for around, k in zip(padding, kernel, strict=True)):
        raise ShapeError(f"{name}: padding {padding} is as long as the kernel {kernel}, or longer; use less")
    return (*a[:-2], *num_windows(name, a, kernel, stride, padding))


def trace(tracer: Tracer, x: object, kernel: Any, stride: Any = None, padding: Any = 0, mean: bool = False) -> Value:
    """lw.sum_pool2d(x, kernel, ...), and lw.avg_pool2d with `mean`; padded zeros count in the mean."""
    value = tracer.lift(x)
    attrs = attributes(shape_of(value), kernel, stride, padding, "avg_pool2d" if mean else "sum_pool2d")
    total = value
    if attrs["kernel"] != (1, 1) or attrs["stride"] != (1, 1):
        total = tracer.emit(SUM_POOL2D, value, **attrs)
    rows, columns = attrs["kernel"]
    return mul.trace(tracer, total, 1.0 / (rows * columns)) if mean else total


def attributes(x: Shape, kernel: Any, stride: Any, padding: Any, name: str = "sum_pool2d") -> dict[str, Any]:
    """The operation's attributes, checked against the shape; without a stride windows lie side by side."""
    size = pair(name, "kernel", kernel, 1)
    steps = size if stride is None else pair(name, "stride", stride, 1)
    around = padding_of(name, padding, size, steps, (1, 1))
    if any(2 * n > k for (n, after), k in zip(around, size, strict=True) if n == after):
        raise ShapeError(f"{name}: padding {around} is more than half of the kernel {size}; use less")
    _shape(name, x, size, steps, around)
    return {"kernel": size, "stride": steps, "padding": around}


def sum_windows(a: FloatArray, kernel: Pair, stride: Pair, padding: Padding) -> Any:
    """The sums in NumPy."""
    return windows(a, kernel, stride, padding).sum(axis=(-2, -1))


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """Windows side by side or overlapping, with and without channels and padding."""
    kernel = tuple(int(n) for n in rng.integers(1, 4, 2))
    attrs = {
        "kernel": kernel,
        "stride": kernel if rng.random() < 0.5 else tuple(int(n) for n in rng.integers(1, 3, 2)),
        "padding": tuple((int(rng.integers(0, k // 2 + 1)),) * 2 for k in kernel),
    }
    a = rng.normal(size=(*((2,) if rng.random() < 0.5 else ()), *(int(n) for n in rng.integers(3, 5, 2))))
    return Case((a,), lambda x: _by_loops(x, **attrs), attrs)  # type: ignore[arg-type]


def _by_loops(a: FloatArray, kernel: Pair, stride: Pair, padding: Padding) -> FloatArray:
    framed = np.pad(a, [(0, 0)] * (a.ndim - 2) + list(padding))
    rows, columns = num_windows("sum_pool2d", a.shape, kernel, stride, padding)
    result = np.zeros((*a.shape[:-2], rows, columns))
    for i, j in np.ndindex(kernel):
        result += framed[..., i :: stride[0], j :: stride[1]][..., :rows, :columns]
    return result


def lower(target: Target, a: Operand, kernel: Pair, stride: Pair, padding: Padding) -> Value:
    """One linear transform over the loops of the result and of the window."""
    rank = len(a.shape)
    eye = np.eye(rank + 2, dtype=int)
    into = eye[:rank].copy()
    for axis, step in zip((rank - 2, rank - 1), stride, strict=True):
        into[axis] = step * eye[axis] + eye[axis + 2]
    starts = (*(0,) * (rank - 2), -padding[0][0], -padding[1][0])
    return linear(
        target, a, (*target.shape, *kernel),
        Access(target.shape, tuple(tuple(row) for row in eye[:rank].tolist()), (0,) * rank),
        Access(a.shape, tuple(tuple(row) for row in into.tolist()), starts),
    )  # fmt: skip


SUM_POOL2D = tensor_op(
    "sum_pool2d",
    shape=shape,
    semantics=sum_windows,
    attributes={"kernel": tuple, "stride": tuple, "padding": tuple},
    random_case=random_case,
    rows=row_rules.windows,
    lower=lower,
)
