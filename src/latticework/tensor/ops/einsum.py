"""np.einsum, np.tensordot, np.inner, np.vdot, np.outer, np.kron: products over named axes, by matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from latticework.errors import ShapeError, UnsupportedError
from latticework.ir.core import Value
from latticework.tensor.ops import matmul, mul, reshape, transpose
from latticework.tensor.ops import slice as slicing
from latticework.tensor.ops import sum as summing
from latticework.tensor.ops.base import Shape, Tracer, normal_axes, shape_of
from latticework.tensor.ops.take import emit_take

Labels = tuple[Any, ...]  # one label an axis


def einsum(tracer: Tracer, operands: Any, optimize: Any = False) -> Value:
    """np.einsum("ij,jk->ik", a, b) of any number of arrays; more than two are multiplied from left to right."""
    if not operands or not isinstance(operands[0], str):
        raise UnsupportedError('einsum: give the subscripts as a text in front, such as einsum("ij,jk->ik", a, b)')
    values = [tracer.lift(operand) for operand in operands[1:]]
    inputs, out = _parse(operands[0], [shape_of(v) for v in values])
    value, labels = values[0], inputs[0]
    for i, (other, others) in enumerate(zip(values[1:], inputs[1:], strict=True), start=2):
        wanted = {*out, *(label for later in inputs[i:] for label in later)}
        value, labels = _alone(tracer, value, labels, wanted | set(others))
        other, others = _alone(tracer, other, others, wanted | set(labels))
        value, labels = _pair(tracer, value, labels, other, others, wanted)
    value, labels = _alone(tracer, value, labels, set(out))
    return transpose.trace(tracer, value, tuple(labels.index(label) for label in out))


def tensordot(tracer: Tracer, a: object, b: object, axes: Any = 2) -> Value:
    """np.tensordot(a, b, axes)."""
    left, right = tracer.lift(a), tracer.lift(b)
    m, n = len(shape_of(left)), len(shape_of(right))
    if np.ndim(axes) == 0:
        count = axes if isinstance(axes, int | np.integer) else -1
        first, second = tuple(range(m - count, m)), tuple(range(count))
        if not 0 <= count <= min(m, n):
            raise ShapeError(f"tensordot: axes={axes} of arrays of {m} and {n} axes; use 0 to {min(m, n)}")
    else:
        first, second = (normal_axes("tensordot", _axes(axis), rank) for axis, rank in zip(axes, (m, n), strict=True))
    pairs = list(zip(first, second, strict=False))
    if len(first) != len(second) or any(shape_of(left)[i] != shape_of(right)[j] for i, j in pairs):
        raise ShapeError(
            f"tensordot: axes {first} of shape {shape_of(left)} and {second} of {shape_of(right)} are summed together; "
            "they must be as many, and equally long"
        )
    others = [("b", j) for j in range(n)]
    for i, j in pairs:
        others[j] = ("a", i)
    labels = [("a", i) for i in range(m)]
    remaining = [x for x in labels + others if x not in [("a", i) for i in first]]
    value, order = _pair(tracer, left, tuple(labels), right, tuple(others), set(remaining))
    return transpose.trace(tracer, value, tuple(order.index(x) for x in remaining))


def inner(tracer: Tracer, a: object, b: object) -> Value:
    """np.inner(a, b)."""
    left, right = tracer.lift(a), tracer.lift(b)
    if not shape_of(left) or not shape_of(right):
        return mul.trace(tracer, left, right)
    return tensordot(tracer, left, right, (-1, -1))


def vdot(tracer: Tracer, a: object, b: object) -> Value:
    """np.vdot(a, b)."""
    left, right = (reshape.trace_ravel(tracer, x) for x in (a, b))
    return tensordot(tracer, left, right, 1)


def vecdot(tracer: Tracer, x1: object, x2: object) -> Value:
    """np.vecdot(x1, x2): products of stacks of vectors."""
    lengths = [_core("vecdot", tracer, x, 1) for x in (x1, x2)]
    if lengths[0] != lengths[1]:
        raise ShapeError(f"vecdot: the vectors are {lengths[0][0]} and {lengths[1][0]} long; make them equal")
    return summing.trace(tracer, mul.trace(tracer, x1, x2), -1)


def matvec(tracer: Tracer, x1: object, x2: object) -> Value:
    """np.matvec(x1, x2): matrices times vectors."""
    _core("matvec", tracer, x1, 2)
    _core("matvec", tracer, x2, 1)
    return _of_vectors(tracer, x1, slicing.trace(tracer, x2, (..., None)), -1)


def vecmat(tracer: Tracer, x1: object, x2: object) -> Value:
    """np.vecmat(x1, x2): vectors times matrices."""
    _core("vecmat", tracer, x1, 1)
    _core("vecmat", tracer, x2, 2)
    return _of_vectors(tracer, slicing.trace(tracer, x1, (..., None, slice(None))), x2, -2)


def _core(name: str, tracer: Tracer, x: object, rank: int) -> Shape:
    """The last axes of an operand; ShapeError if it has fewer than `rank`."""
    shape = shape_of(tracer.lift(x))
    if len(shape) < rank:
        raise ShapeError(f"{name}: an operand has shape {shape}; it needs at least {rank} axes")
    return shape[-rank:]


def _of_vectors(tracer: Tracer, x1: object, x2: object, axis: int) -> Value:
    return reshape.trace_squeeze(tracer, matmul.trace(tracer, x1, x2), axis)


def outer(tracer: Tracer, a: object, b: object) -> Value:
    """np.outer(a, b)."""
    return mul.trace(tracer, reshape.trace(tracer, a, (-1, 1)), reshape.trace(tracer, b, (1, -1)))


def kron(tracer: Tracer, a: object, b: object) -> Value:
    """np.kron(a, b)."""
    left, right = tracer.lift(a), tracer.lift(b)
    rank = max(len(shape_of(left)), len(shape_of(right)))
    m, n = ((1,) * (rank - len(shape_of(v))) + shape_of(v) for v in (left, right))
    wide = reshape.trace(tracer, left, tuple(x for extent in m for x in (extent, 1)))
    high = reshape.trace(tracer, right, tuple(x for extent in n for x in (1, extent)))
    return reshape.trace(tracer, mul.trace(tracer, wide, high), tuple(i * j for i, j in zip(m, n, strict=True)))


def _axes(argument: Any) -> tuple[int, ...]:
    return tuple(argument) if isinstance(argument, (tuple, list)) else (int(argument),)


def _parse(subscripts: str, shapes: Sequence[Shape]) -> tuple[list[Labels], Labels]:
    """Labels of every operand's axes and of the result's; an ellipsis becomes numbers counted from its end."""
    text = subscripts.replace(" ", "")
    terms, arrow, result = text.partition("->")
    inputs = terms.split(",")
    if len(inputs) != len(shapes):
        raise ShapeError(f"einsum: {subscripts!r} names {len(inputs)} arrays, {len(shapes)} are given")
    extents: dict[Any, int] = {}
    operands = []
    for term, shape in zip(inputs, shapes, strict=True):
        labels = _labels(subscripts, term, len(shape) - len(term.replace("...", "")))
        if len(labels) != len(shape):
            raise ShapeError(f"einsum: {term!r} in {subscripts!r} names {len(labels)} axes of shape {shape}")
        for label, extent in zip(labels, shape, strict=True):
            if extents.setdefault(label, extent) != extent:
                raise ShapeError(
                    f"einsum: {subscripts!r} with shapes {', '.join(map(str, shapes))}: axis {label!r} is "
                    f"{extents[label]} long in one place and {extent} in another"
                )
        operands.append(labels)
    every = [label for labels in operands for label in labels]
    dots = sorted({label for label in every if isinstance(label, int)}, reverse=True)
    if arrow:
        out = _labels(subscripts, result, len(dots))
    else:
        out = (*dots, *sorted(x for x in set(every) if isinstance(x, str) and every.count(x) == 1))
    if len(set(out)) != len(out) or not set(out) <= set(every):
        raise ShapeError(f"einsum: the result {result!r} of {subscripts!r} must name axes of the arrays, each once")
    return operands, out


def _labels(subscripts: str, term: str, dots: int) -> Labels:
    head, ellipsis, tail = term.partition("...")
    if not (head + tail).isalpha() and head + tail:
        raise ShapeError(f"einsum: {subscripts!r} is not of the form 'ij,jk->ik'; axes are named by letters")
    return (*head, *(range(dots - 1, -1, -1) if ellipsis else ()), *tail)


def _alone(tracer: Tracer, value: Value, labels: Labels, wanted: set[Any]) -> tuple[Value, Labels]:
    """Diagonals where a label repeats, sums over labels that nothing else has."""
    for label in dict.fromkeys(labels):
        if labels.count(label) > 1:
            axes = tuple(axis for axis, other in enumerate(labels) if other == label)
            numbers = tuple(range(shape_of(value)[axes[0]]))
            value = emit_take(tracer, value, axes, (numbers,) * len(axes), 0)
            labels = (label, *(other for other in labels if other != label))
    gone = tuple(axis for axis, label in enumerate(labels) if label not in wanted)
    value = summing.trace(tracer, value, gone) if gone else value
    return value, tuple(label for label in labels if label in wanted)


def _pair(
    tracer: Tracer, a: Value, left: Labels, b: Value, right: Labels, wanted: set[Any]
) -> tuple[Value, Labels]:  # fmt: skip
    """The product of two arrays, summed over the labels that both have and nobody wants; and its labels."""
    shared = [x for x in left if x in right]
    stack, inner = [x for x in shared if x in wanted], [x for x in shared if x not in wanted]
    rows, columns = [x for x in left if x not in right], [x for x in right if x not in left]
    extents = dict(zip(left, shape_of(a), strict=True)) | dict(zip(right, shape_of(b), strict=True))
    a, b = _order(tracer, a, left, stack + rows + inner), _order(tracer, b, right, stack + inner + columns)
    s, r, c, i = ([extents[x] for x in labels] for labels in (stack, rows, columns, inner))
    if not inner or (stack and not rows and not columns):
        a = reshape.trace(tracer, a, (*s, *r, *i, *(1 for _ in columns)))
        b = reshape.trace(tracer, b, (*s, *(1 for _ in rows), *i, *c))
        product = mul.trace(tracer, a, b)
        axes = tuple(range(len(stack), len(stack) + len(inner)))
        return (summing.trace(tracer, product, axes) if inner else product), (*stack, *rows, *columns)
    high = (prod(r),) if rows or stack else ()
    wide = (prod(c),) if columns or stack else ()
    product = matmul.trace(
        tracer, reshape.trace(tracer, a, (*s, *high, prod(i))), reshape.trace(tracer, b, (*s, prod(i), *wide))
    )
    return reshape.trace(tracer, product, (*s, *r, *c)), (*stack, *rows, *columns)


def _order(tracer: Tracer, value: Value, labels: Labels, order: list[Any]) -> Value:
    return transpose.trace(tracer, value, tuple(labels.index(x) for x in order))
