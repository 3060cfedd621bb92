"""tensor.conv2d: two-dimensional convolution (cross-correlation, as in PyTorch) of images by kernels."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.ir.core import Value
from latticework.tensor.ops import add, einsum, reshape, row_rules
from latticework.tensor.ops.base import Case, FloatArray, Shape, Tracer, shape_of, tensor_op
from latticework.tensor.ops.lowering import Operand, Target, linear
from latticework.tensor.ops.pad import pad_zeros
from latticework.tensor.ops.take import take_along
from latticework.tensor.ops.windows import Padding, Pair, num_windows, padding_of, pair, windows
from latticework.values.packing.packed_constants import Access

_ATTRIBUTES = {"stride": tuple, "padding": tuple, "dilation": tuple, "groups": int}


def shape(x: Shape, weight: Shape, *, stride: Pair, padding: Padding, dilation: Pair, groups: int) -> Shape:
    """(..., C, H, W) and (Cout, C / groups, kh, kw) give (..., Cout, H', W'); one batch axis or none."""
    if len(x) not in (3, 4) or len(weight) != 4:
        raise ShapeError(
            f"conv2d: x has shape {x} and weight {weight}; they must be (channels, rows, columns), with one batch axis "
            "in front or none, and (out channels, in channels / groups, kernel rows, kernel columns)"
        )
    if groups < 1 or x[-3] != groups * weight[1] or weight[0] % groups:
        raise ShapeError(
            f"conv2d: x of shape {x} has {x[-3]} channels, weight of shape {weight} with groups={groups} takes "
            f"{max(groups, 0) * weight[1]} and gives {weight[0]}; groups must divide both numbers of channels"
        )
    return (*x[:-3], weight[0], *num_windows("conv2d", x, _kernel(weight), stride, padding, dilation))


def trace(
    tracer: Tracer, x: object, weight: object, bias: object = None, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1,
) -> Value:  # fmt: skip
    """lw.conv2d(x, weight, bias, ...)."""
    image, kernels = tracer.lift(x), tracer.lift(weight)
    attrs = attributes(shape_of(image), shape_of(kernels), stride, padding, dilation, groups)
    if image.is_secret and kernels.is_secret:
        result = _of_secrets(tracer, image, kernels, **attrs)
    else:
        result = tracer.emit(CONV2D, image, kernels, **attrs)
    if bias is None:
        return result
    shift = tracer.lift(bias)
    check_bias(shape_of(shift), shape_of(kernels))
    return add.trace(tracer, result, reshape.trace(tracer, shift, (-1, 1, 1)))


def _of_secrets(
    tracer: Tracer, x: Value, weight: Value, stride: Pair, padding: Padding, dilation: Pair, groups: int
) -> Value:
    """All windows of the images, then sums of products of two secrets."""
    if groups != 1:
        raise UnsupportedError(
            f"conv2d: x {shape_of(x)} and weight {shape_of(weight)} are both secret, with groups={groups}; convolve "
            "each group by itself and join the results with np.concatenate"
        )
    lead = len(shape_of(x)) - 2
    framed = pad_zeros(tracer, x, *((*(0,) * lead, padding[0][side], padding[1][side]) for side in (0, 1)))
    kernel = _kernel(shape_of(weight))
    counts = num_windows("conv2d", shape_of(x), kernel, stride, padding, dilation)
    for axis in (0, 1):
        starts = stride[axis] * np.arange(counts[axis])
        numbers = starts[:, None] + dilation[axis] * np.arange(kernel[axis])
        framed = take_along(tracer, framed, lead + axis, numbers.reshape(-1))
    windows = reshape.trace(tracer, framed, (*shape_of(x)[:lead], counts[0], kernel[0], counts[1], kernel[1]))
    return einsum.einsum(tracer, ("...cikjl,ockl->...oij", windows, weight))


def check_bias(bias: Shape, weight: Shape) -> None:
    """ShapeError unless the bias is one number for every output channel."""
    if bias != weight[:1]:
        raise ShapeError(
            f"conv2d: bias has shape {bias}; it must be {weight[:1]}, one number for every output channel of weight "
            f"{weight}"
        )


def attributes(x: Shape, weight: Shape, stride: Any, padding: Any, dilation: Any, groups: int) -> dict[str, Any]:
    """The operation's attributes, checked against the shapes."""
    steps, gaps = pair("conv2d", "stride", stride, 1), pair("conv2d", "dilation", dilation, 1)
    around: Padding = ((0, 0), (0, 0))
    if len(weight) == 4:
        around = padding_of("conv2d", padding, _kernel(weight), steps, gaps)
    attrs = {"stride": steps, "padding": around, "dilation": gaps, "groups": groups}
    shape(x, weight, **attrs)  # type: ignore[arg-type]
    return attrs


def convolve(
    x: FloatArray, weight: FloatArray, stride: Pair, padding: Padding, dilation: Pair, groups: int
) -> FloatArray:
    """The convolution in NumPy: all windows times all kernels, group by group."""
    seen = np.moveaxis(windows(x, _kernel(weight.shape), stride, padding, dilation), (-2, -1), (-4, -3))
    *lead, rows, columns = seen.shape[: x.ndim - 3] + seen.shape[-2:]
    each = weight.shape[0] // groups, prod(weight.shape[1:])  # a matrix of every group
    results = weight.reshape(groups, *each) @ seen.reshape(*lead, groups, each[1], rows * columns)
    return results.reshape(*lead, weight.shape[0], rows, columns)


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """Few channels and small images, with and without batch, stride, padding, dilation and groups."""
    groups = int(rng.integers(1, 3))
    channels, out = (2, 2) if groups == 2 else (int(n) for n in rng.integers(1, 3, 2))
    kernel = tuple(int(n) for n in rng.integers(1, 4, 2))
    attrs: dict[str, Any] = {
        "stride": tuple(int(n) for n in rng.integers(1, 3, 2)),
        "padding": tuple((int(b), int(e)) for b, e in rng.integers(0, np.minimum(kernel, 2), (2, 2)).T),
        "dilation": tuple(int(rng.integers(1, 3)) if k == 2 else 1 for k in kernel),
        "groups": groups,
    }
    x = rng.normal(size=(channels, *(int(n) for n in rng.integers(3, 5, 2))))
    weight = rng.normal(size=(out, channels // groups, *kernel))
    if 2 * max(x.size, int(np.prod(shape(x.shape, weight.shape, **attrs)))) <= slots:
        x = rng.normal(size=(2, *x.shape))
    return Case((x, weight), lambda a, w: _by_loops(a, w, **attrs), attrs)


def _by_loops(
    x: FloatArray, weight: FloatArray, stride: Pair, padding: Padding, dilation: Pair, groups: int
) -> FloatArray:
    """The definition, kernel element by kernel element."""
    rows, columns = num_windows("conv2d", x.shape, _kernel(weight.shape), stride, padding, dilation)
    framed = np.pad(x, [(0, 0)] * (x.ndim - 2) + list(padding))
    into, out = weight.shape[1], weight.shape[0] // groups
    result = np.zeros((*x.shape[:-3], weight.shape[0], rows, columns))
    for g, o, c, i, j in np.ndindex(groups, out, into, *_kernel(weight.shape)):
        top, left = i * dilation[0], j * dilation[1]
        seen = framed[..., g * into + c, top :: stride[0], left :: stride[1]][..., :rows, :columns]
        result[..., g * out + o, :, :] += weight[g * out + o, c, i, j] * seen
    return result


def lower(
    target: Target, x: Operand, weight: Operand, stride: Pair, padding: Padding, dilation: Pair, groups: int
) -> Value:
    """One linear transform over the loops (batch), group, out channel, row, column, in channel, kernel row, column."""
    lead = len(x.shape) - 3
    into, out = weight.shape[1], weight.shape[0] // groups
    domain = (*x.shape[:lead], groups, out, *target.shape[-2:], into, *weight.shape[2:])
    loops = len(domain)
    group, outs, row, column, ins, i, j = range(lead, loops)

    def along(**weights: int) -> tuple[int, ...]:
        named = {"group": group, "outs": outs, "row": row, "column": column, "ins": ins, "i": i, "j": j}
        values = [0] * loops
        for name, value in weights.items():
            values[named[name]] = value
        return tuple(values)

    batch = tuple(tuple(int(loop == axis) for loop in range(loops)) for axis in range(lead))
    channel = along(group=out, outs=1)
    results = Access(target.shape, (*batch, channel, along(row=1), along(column=1)), (0,) * (lead + 3))
    pixel = along(row=stride[0], i=dilation[0]), along(column=stride[1], j=dilation[1])
    starts = (*(0,) * (lead + 1), -padding[0][0], -padding[1][0])
    images = Access(x.shape, (*batch, along(group=into, ins=1), *pixel), starts)
    kernels = Access(weight.shape, (channel, along(ins=1), along(i=1), along(j=1)), (0, 0, 0, 0))
    if x.vector is None:
        return linear(target, weight, domain, results, kernels, x.source, images)
    return linear(target, x, domain, results, images, weight.source, kernels)


def _kernel(weight: Shape) -> Pair:
    return weight[2], weight[3]


CONV2D = tensor_op(
    "conv2d",
    shape=shape,
    semantics=convolve,
    attributes=_ATTRIBUTES,
    random_case=random_case,
    rows=row_rules.windows,
    lower=lower,
)
