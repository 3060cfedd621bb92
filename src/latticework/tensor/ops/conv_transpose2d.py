"""tensor.conv_transpose2d: every pixel adds a kernel, times itself, to the result; the transpose of a convolution."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.ir.core import Value
from latticework.tensor.ops import add, reshape, row_rules
from latticework.tensor.ops.base import Case, FloatArray, Shape, Tracer, shape_of, tensor_op
from latticework.tensor.ops.lowering import Operand, Target, linear
from latticework.tensor.ops.windows import Padding, Pair, padding_of, pair
from latticework.values.packing.packed_constants import Access

_ATTRIBUTES = {"stride": tuple, "padding": tuple, "output_padding": tuple, "dilation": tuple, "groups": int}


def shape(
    x: Shape, weight: Shape, *, stride: Pair, padding: Padding, output_padding: Pair, dilation: Pair, groups: int
) -> Shape:
    """(..., C, H, W) and (C, Cout / groups, kh, kw) give (..., Cout, H', W'); one batch axis or none."""
    if len(x) not in (3, 4) or len(weight) != 4:
        raise ShapeError(
            f"conv_transpose2d: x has shape {x} and weight {weight}; they must be (channels, rows, columns), with one "
            "batch axis in front or none, and (in channels, out channels / groups, kernel rows, kernel columns)"
        )
    if groups < 1 or x[-3] != weight[0] or weight[0] % groups:
        raise ShapeError(
            f"conv_transpose2d: x of shape {x} and weight {weight} have {x[-3]} and {weight[0]} channels, with groups="
            f"{groups}; both must be the same number, which groups divides"
        )
    if any(more >= max(s, d) for more, s, d in zip(output_padding, stride, dilation, strict=True)):
        raise ShapeError(
            f"conv_transpose2d: output_padding={output_padding} must be less than stride {stride} or "
            f"dilation {dilation}; use less"
        )
    sizes = [
        (n - 1) * s + d * (k - 1) + 1 + more - before - after
        for n, k, s, (before, after), more, d in zip(
            x[-2:], weight[2:], stride, padding, output_padding, dilation, strict=True
        )
    ]
    if min(sizes) < 1:
        raise ShapeError(f"conv_transpose2d: padding {padding} leaves nothing of x {x} and weight {weight}; use less")
    return (*x[:-3], weight[1] * groups, *sizes)


def trace(
    tracer: Tracer, x: object, weight: object, bias: object = None, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Value:  # fmt: skip
    """lw.conv_transpose2d(x, weight, bias, ...)."""
    image, kernels = tracer.lift(x), tracer.lift(weight)
    attrs = attributes(shape_of(image), shape_of(kernels), stride, padding, output_padding, groups, dilation)
    if image.is_secret and kernels.is_secret:
        raise UnsupportedError(
            f"conv_transpose2d: x {shape_of(image)} and weight {shape_of(kernels)} are both secret; put zeros between "
            "the pixels and around them, and use lw.conv2d with the kernels reversed"
        )
    result = tracer.emit(CONV_TRANSPOSE2D, image, kernels, **attrs)
    if bias is None:
        return result
    shift = tracer.lift(bias)
    check_bias(shape_of(shift), shape_of(result))
    return add.trace(tracer, result, reshape.trace(tracer, shift, (-1, 1, 1)))


def check_bias(bias: Shape, result: Shape) -> None:
    """ShapeError unless the bias is one number for every output channel."""
    if bias != result[-3:-2]:
        raise ShapeError(
            f"conv_transpose2d: bias has shape {bias}; it must be {result[-3:-2]}, a number for each channel"
        )


def attributes(
    x: Shape, weight: Shape, stride: Any, padding: Any, output_padding: Any, groups: int, dilation: Any
) -> dict[str, Any]:
    """The operation's attributes, checked against the shapes."""
    name = "conv_transpose2d"
    steps, gaps = pair(name, "stride", stride, 1), pair(name, "dilation", dilation, 1)
    more = pair(name, "output_padding", output_padding, 0)
    if isinstance(padding, str):
        raise ShapeError(f"{name}: padding={padding!r} must be a number of rows and columns to cut off")
    around = padding_of(name, padding, (1, 1), steps, gaps)
    attrs = {"stride": steps, "padding": around, "output_padding": more, "dilation": gaps, "groups": groups}
    shape(x, weight, **attrs)  # type: ignore[arg-type]
    return attrs


def spread(x: FloatArray, weight: FloatArray, **attrs: Any) -> FloatArray:
    """Compute it in NumPy: the pixels times one element of the kernels at a time, added where that lies."""
    out = shape(x.shape, weight.shape, **attrs)
    (tall, wide), (top, left) = attrs["stride"], (before for before, _ in attrs["padding"])
    rows, columns = x.shape[-2:]
    groups, into, each = attrs["groups"], weight.shape[0] // attrs["groups"], weight.shape[1]
    parts = x.reshape(*x.shape[:-3], groups, into, rows * columns)
    reach = [(n - 1) * s + d * (k - 1) + 1 + m for n, s, d, k, m in zip(
        x.shape[-2:], attrs["stride"], attrs["dilation"], weight.shape[2:], attrs["output_padding"], strict=True
    )]  # fmt: skip
    full = np.zeros((*out[:-2], *reach))
    for i, j in np.ndindex(*weight.shape[2:]):
        kernel = np.swapaxes(weight[..., i, j].reshape(groups, into, each), 1, 2)
        first, second = i * attrs["dilation"][0], j * attrs["dilation"][1]
        places = full[
            ..., first : first + (rows - 1) * tall + 1 : tall, second : second + (columns - 1) * wide + 1 : wide
        ]
        places += (kernel @ parts).reshape(*out[:-2], rows, columns)
    return full[..., top : top + out[-2], left : left + out[-1]]


def random_case(rng: np.random.Generator, slots: int) -> Case:
    """Few channels and small images, with and without batch, stride, padding, dilation and groups."""
    groups = int(rng.integers(1, 3))
    channels, each = (2, 1) if groups == 2 else (int(n) for n in rng.integers(1, 3, 2))
    kernel = tuple(int(n) for n in rng.integers(1, 3, 2))
    attrs: dict[str, Any] = {
        "stride": tuple(int(n) for n in rng.integers(1, 3, 2)),
        "padding": tuple((int(b), int(e)) for b, e in rng.integers(0, np.array(kernel), (2, 2)).T),
        "dilation": tuple(int(n) for n in rng.integers(1, 3, 2)),
        "groups": groups,
    }
    attrs["output_padding"] = tuple(int(s == 2 and rng.random() < 0.5) for s in attrs["stride"])
    x = rng.normal(size=(channels, *(int(n) for n in rng.integers(2, 4, 2))))
    weight = rng.normal(size=(channels, each, *kernel))
    if np.prod(shape(x.shape, weight.shape, **attrs | {"padding": ((0, 0), (0, 0))})) > slots:
        attrs |= {"stride": (1, 1), "output_padding": (0, 0), "dilation": (1, 1)}
    if 2 * max(x.size, int(np.prod(shape(x.shape, weight.shape, **attrs)))) <= slots:
        x = rng.normal(size=(2, *x.shape))
    return Case((x, weight), lambda a, w: _by_pixels(a, w, **attrs), attrs)


def _by_pixels(x: FloatArray, weight: FloatArray, **attrs: Any) -> FloatArray:
    """The definition, pixel by pixel and kernel element by kernel element."""
    result = np.zeros(shape(x.shape, weight.shape, **attrs))
    into, each = weight.shape[0] // attrs["groups"], weight.shape[1]
    for c, o, i, j, row, column in np.ndindex(*weight.shape, *x.shape[-2:]):
        at = row * attrs["stride"][0] + i * attrs["dilation"][0] - attrs["padding"][0][0]
        along = column * attrs["stride"][1] + j * attrs["dilation"][1] - attrs["padding"][1][0]
        if 0 <= at < result.shape[-2] and 0 <= along < result.shape[-1]:
            result[..., c // into * each + o, at, along] += weight[c, o, i, j] * x[..., c, row, column]
    return result


def lower(
    target: Target, x: Operand, weight: Operand, stride: Pair, padding: Padding, output_padding: Pair, dilation: Pair,
    groups: int,
) -> Value:  # fmt: skip
    """One linear transform over the loops (batch), group, in channel, row, column, out channel, kernel row, column."""
    lead = len(x.shape) - 3
    into, each = weight.shape[0] // groups, weight.shape[1]
    domain = (*x.shape[:lead], groups, into, *x.shape[-2:], each, *weight.shape[2:])
    eye = np.eye(len(domain), dtype=int)
    batch, (group, ins, row, column, outs, i, j) = eye[:lead], eye[lead:]

    def reach(lines: list[Any], offset: tuple[int, ...], of: Shape) -> Access:
        return Access(of, tuple(tuple(line) for line in np.array(lines).tolist()), offset)

    places = stride[0] * row + dilation[0] * i, stride[1] * column + dilation[1] * j
    start = (*(0,) * (lead + 1), -padding[0][0], -padding[1][0])
    results = reach([*batch, each * group + outs, *places], start, target.shape)
    images = reach([*batch, into * group + ins, row, column], (0,) * len(x.shape), x.shape)
    kernels = reach([into * group + ins, outs, i, j], (0, 0, 0, 0), weight.shape)
    if x.vector is None:
        return linear(target, weight, domain, results, kernels, x.source, images)
    return linear(target, x, domain, results, images, weight.source, kernels)


CONV_TRANSPOSE2D = tensor_op(
    "conv_transpose2d",
    shape=shape,
    semantics=spread,
    attributes=_ATTRIBUTES,
    random_case=random_case,
    rows=row_rules.windows,
    lower=lower,
)
