"""Tensor operations on several runs at once, with the bits of each by itself: axes of runs stand before a value's own.

Public operands have none. A product of matrices is one product a run, and sums go in the order of one run, as NumPy
carries out further axes in front by themselves; of operations without an entry here runs go one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from latticework.ir.core import Op
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.tensor.ops import BY_NAME
from latticework.tensor.ops.base import FloatArray, Shape, shape_of

RUN_AXES = 2  # of runs in front

_Stacked = Callable[[Op, list[Any]], Any]


def evaluate_stacked(op: Op, operands: Sequence[Any]) -> FloatArray:
    """The result of an operation that reads no source: (runs, runs, *shape), (*shape) where no operand has runs.

    operands  arrays (runs, runs, *shape), of which runs of one may be 1 where those of another are more; or (*shape)
    """
    ranks = [len(shape_of(value)) if isinstance(value.type, TensorType) else 0 for value in op.operands]
    if all(np.ndim(array) == rank for array, rank in zip(operands, ranks, strict=True)):
        return BY_NAME[op.name].reference(operands, op.attrs, {})
    found = _BY_NAME[op.name](op, list(operands)) if op.name in _BY_NAME else _one_by_one(op, operands, ranks)
    return np.asarray(found, dtype=np.float64)


def _one_by_one(op: Op, operands: Sequence[Any], ranks: Sequence[int]) -> FloatArray:
    """Run after run."""
    stacked = [np.ndim(array) > rank for array, rank in zip(operands, ranks, strict=True)]
    pairs = list(zip(operands, stacked, strict=True))
    lead = np.broadcast_shapes(*(array.shape[:RUN_AXES] for array, is_stacked in pairs if is_stacked))
    whole = [np.broadcast_to(a, (*lead, *a.shape[RUN_AXES:])) if is_stacked else a for a, is_stacked in pairs]
    results = [
        BY_NAME[op.name].reference([a[run] if s else a for a, s in zip(whole, stacked, strict=True)], op.attrs, {})
        for run in np.ndindex(*lead)
    ]
    return np.stack(results).reshape(*lead, *results[0].shape)


def _has_runs(op: Op, number: int, array: Any) -> bool:
    return bool(np.ndim(array) > len(shape_of(op.operands[number])))


def _align_axes(op: Op, number: int, array: Any, rank: int) -> Any:
    """An operand whose own axes are the last ones of `rank`, where it has runs."""
    if not _has_runs(op, number, array):
        return array
    own = array.shape[RUN_AXES:]
    return array.reshape(*array.shape[:RUN_AXES], *(1,) * (rank - len(own)), *own)


def _elementwise(op: Op, operands: list[Any]) -> Any:
    rank = len(shape_of(op.result))
    aligned = [_align_axes(op, number, array, rank) for number, array in enumerate(operands)]
    return BY_NAME[op.name].reference(aligned, op.attrs, {})


def _matmul(op: Op, operands: list[Any]) -> Any:
    """Vectors as matrices of one row or column, which NumPy takes them for."""
    ranks = [len(shape_of(value)) for value in op.operands]
    left, right = (np.expand_dims(a, axis) if rank == 1 else a
                   for a, rank, axis in zip(operands, ranks, (-2, -1), strict=True))  # fmt: skip
    rank = max(2, *ranks)
    aligned = (
        array if np.ndim(array) <= max(2, own) else
        array.reshape(*array.shape[:RUN_AXES], *(1,) * (rank - max(2, own)), *array.shape[RUN_AXES:])
        for array, own in zip((left, right), ranks, strict=True)
    )  # fmt: skip
    lone = tuple(axis for axis, own in zip((-2, -1), ranks, strict=True) if own == 1)
    return np.squeeze(np.matmul(*aligned), axis=lone)


def _behind(axes: Sequence[int]) -> Shape:
    """Axes behind those of runs."""
    return tuple(RUN_AXES + axis for axis in axes)


def _sum(op: Op, operands: list[Any]) -> Any:
    return np.sum(operands[0], axis=_behind(op.attrs["axes"]), keepdims=op.attrs["keepdims"])


def _reshape(op: Op, operands: list[Any]) -> Any:
    return operands[0].reshape(*operands[0].shape[:RUN_AXES], *op.attrs["shape"])


def _transpose(op: Op, operands: list[Any]) -> Any:
    return np.transpose(operands[0], (*range(RUN_AXES), *_behind(op.attrs["axes"])))


def _broadcast_to(op: Op, operands: list[Any]) -> Any:
    shape = op.attrs["shape"]
    return np.broadcast_to(_align_axes(op, 0, operands[0], len(shape)), (*operands[0].shape[:RUN_AXES], *shape))


def _slice(op: Op, operands: list[Any]) -> Any:
    """Slices, and what is padded around them."""
    runs = operands[0].shape[:RUN_AXES]
    front = {"starts": (0,) * RUN_AXES, "stops": runs, "steps": (1,) * RUN_AXES, "before": (0, 0), "after": (0, 0)}
    own = BY_NAME[op.name].own(op.attrs)
    attrs = {name: front[name] + value if name in front else _behind(value) for name, value in own.items()}
    return BY_NAME[op.name].reference(operands, attrs, {})


def _conv2d(op: Op, operands: list[Any]) -> Any:
    if _has_runs(op, 1, operands[1]):
        return _one_by_one(op, operands, [len(shape_of(value)) for value in op.operands])
    return BY_NAME[op.name].reference(operands, op.attrs, {})


_BY_NAME: dict[str, _Stacked] = {
    **{f"tensor.{name}": _elementwise for name in ("add", "sub", "mul", "neg", "apply", "polynomial", "trivial")},
    "tensor.matmul": _matmul,
    "tensor.sum": _sum,
    "tensor.reshape": _reshape,
    "tensor.transpose": _transpose,
    "tensor.broadcast_to": _broadcast_to,
    "tensor.slice": _slice,
    "tensor.pad": _slice,
    "tensor.conv2d": _conv2d,
}
