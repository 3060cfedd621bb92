"""tensor.pad: a slice with zeros before and after it; the other modes of np.pad take elements again."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.ir.core import Value
from latticework.tensor.ops import add, row_rules
from latticework.tensor.ops import slice as slicing
from latticework.tensor.ops.base import Case, FloatArray, Shape, Tracer, shape_of, tensor_op
from latticework.tensor.ops.cases import random_shape
from latticework.tensor.ops.lowering import Operand, Target, access, linear
from latticework.tensor.ops.take import take_along
from latticework.values.packing.packed_constants import Access

Ints = tuple[int, ...]
_MODES = ("edge", "reflect", "symmetric", "wrap")


def shape(a: Shape, *, before: Ints, after: Ints, **taken: Ints) -> Shape:
    """Shape of a slice of a (as of tensor.slice) with before[i] zeros in front of its axis i and after[i] behind it."""
    inside = slicing.shape(a, **taken)
    if not len(inside) == len(before) == len(after) or min(*before, *after, 0) < 0:
        raise ShapeError(f"pad: widths {before} and {after} for shape {inside}; give two numbers >= 0 for every axis")
    return tuple(b + n + e for b, n, e in zip(before, inside, after, strict=True))


def pad_zeros(tracer: Tracer, value: Value, before: Ints, after: Ints) -> Value:
    """The value with zeros around it; itself if there are none."""
    if not any((*before, *after)):
        return value
    base, taken = slicing.trace_back(value, slicing.parse_index(shape_of(value), ...))
    return tracer.emit(PAD, base, before=before, after=after, **taken)


def trace(tracer: Tracer, array: object, pad_width: Any, mode: Any = "constant", kwargs: Any = None) -> Value:
    """np.pad(array, pad_width, mode): constant (one public number), edge, reflect, symmetric, wrap."""
    value = tracer.lift(array)
    before, after = _widths(shape_of(value), pad_width)
    options = dict(kwargs or {})
    constant = options.pop("constant_values", 0.0)
    if options or mode not in ("constant", *_MODES):
        what = f"mode={mode!r}" if not options else f"{next(iter(options))}="
        raise UnsupportedError(f"pad: {what} is not supported; modes are constant, {', '.join(_MODES)}")
    if mode != "constant":
        for axis, (n, width) in enumerate(zip(shape_of(value), zip(before, after, strict=True), strict=True)):
            value = take_along(tracer, value, axis, np.pad(np.arange(n), width, mode=mode))
        return value
    number = tracer.plain(constant)
    if number is None or number.ndim:
        raise UnsupportedError("pad: constant_values must be one public number; pad with 0 and add an array")
    inside = pad_zeros(tracer, value, before, after)
    if not number or inside is value:
        return inside
    frame = np.full(shape_of(inside), float(number))
    frame[tuple(slice(b, b + n) for b, n in zip(before, shape_of(value), strict=True))] = 0.0
    return add.trace(tracer, inside, frame)


def _widths(shape: Shape, argument: Any) -> tuple[Ints, Ints]:
    """Zeros before and after every axis, of any form that np.pad takes."""
    try:
        if isinstance(argument, dict):
            normal = [(0, 0)] * len(shape)
            for axis, width in argument.items():
                normal[axis] = width if isinstance(width, tuple) else (width, width)
            argument = normal
        array = np.asarray(argument)
        widths = np.broadcast_to(array, (len(shape), 2))
    except (ValueError, IndexError, TypeError):
        raise _bad_widths(shape, argument) from None
    if array.dtype.kind not in "iu" or (widths < 0).any():
        raise _bad_widths(shape, argument)
    return tuple(int(w) for w in widths[:, 0]), tuple(int(w) for w in widths[:, 1])


def _bad_widths(shape: Shape, argument: Any) -> ShapeError:
    return ShapeError(
        f"pad: pad_width={argument!r} does not fit shape {shape}; give one number >= 0, (before, after), or such a pair"
        " for every axis"
    )


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """Up to two zeros on each side."""
    array = rng.normal(size=random_shape(rng, slots // 16, int(rng.integers(1, 3))))
    before, after = (tuple(int(n) for n in rng.integers(0, 3, array.ndim)) for _ in range(2))
    if sum(before + after) == 0 or np.prod(np.array(array.shape) + before + after) > slots:
        before, after, array = (1, *before[1:]), (0,) * array.ndim, array[:1]
    widths = tuple(zip(before, after, strict=True))
    index = tuple(slice(None, None, int(rng.choice([1, -1]))) for _ in array.shape)
    attrs = {"before": before, "after": after} | slicing.parse_index(array.shape, index)
    return Case((array,), lambda a: np.pad(a[index], widths), attrs)


def _pad(a: FloatArray, before: Ints, after: Ints, **taken: Ints) -> FloatArray:
    return np.pad(slicing.slice_array(a, **taken), list(zip(before, after, strict=True)))


def lower(
    target: Target, a: Operand, before: Ints, after: Ints, stops: Ints, **taken: Ints
) -> Value:  # fmt: skip
    """One linear transform."""
    rank = len(target.shape)
    inside = tuple(n - b - e for b, n, e in zip(before, target.shape, after, strict=True))
    out = Access(target.shape, access(inside, range(rank), rank).matrix, before)
    return linear(target, a, inside, out, slicing.read(a.shape, rank, **taken))


PAD = tensor_op(
    "pad",
    shape=shape,
    semantics=_pad,
    attributes=dict.fromkeys(("before", "after", "starts", "stops", "steps", "squeezed", "new_axes"), tuple),
    random_case=random_case,
    rows=row_rules.movement,
    numpy={np.pad: trace},
    lower=lower,
)
