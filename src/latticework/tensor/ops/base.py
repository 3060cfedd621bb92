"""Tensor operations: shape rule, NumPy semantics, and the NumPy calls that trace to each."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from math import prod
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from latticework.errors import DtypeError, LayoutError, ShapeError
from latticework.ir.core import Op, OpSpec, Value, attribute, define
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.ir.types import INDEX, Type
from latticework.lazy_dataclass import dataclass
from latticework.tensor.ops.row_rules import RowRule, Rows, RowUse
from latticework.values.packing.pack import MAX_PLACES

FloatArray = npt.NDArray[np.float64]
Shape = tuple[int, ...]


class Tracer(Protocol):
    """Receiver of traced operations; the front end implements it."""

    def lift(self, operand: object) -> Value:
        """Return the IR value of a traced array, or a new constant for a plain operand; values pass through."""

    def plain(self, operand: object) -> FloatArray | None:
        """Return a plain operand as a checked array, or None for a traced one."""

    def emit(self, op: TensorOp, *operands: Value, **attrs: Any) -> Value:
        """Append the operation at the user's current line."""


Trace = Callable[..., Value]


@dataclass(frozen=True, slots=True)
class Case:
    """One random use of an operation, for the conformance tests.

    inputs      operands of the operation
    attrs       its attributes
    expression  the same result by NumPy, of the inputs; written as a user would where the operation
                implements NumPy functions, so that it can be traced
    sources     arrays by content hash that the attributes refer to
    """

    inputs: tuple[FloatArray, ...]
    expression: Callable[..., Any]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, FloatArray] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OpTraits:
    """Traits of an operation.

    secret        the result is secret even if no operand is
    indexed       the last operand is a run-time integer: the last array of its semantics, a value for `lower`
    reads_source  it reads the array sources[attrs["source"]], the first of its semantics
    """

    secret: bool = False
    indexed: bool = False
    reads_source: bool = False


PLAIN = OpTraits()


@dataclass(frozen=True, slots=True, eq=False)
class TensorOp:
    """A tensor operation.

    name         without the dialect: "add" is tensor.add
    spec         its entry in the IR's registry
    reference    (inputs, attrs, sources) -> result, in NumPy
    numpy        NumPy function or ufunc -> function (tracer, its arguments) that traces a call of it
    random_case  (rng, slots) -> Case with at most `slots` elements in every tensor
    own          attributes -> those of the operation itself, checked
    lower        (target, operands..., **attributes) -> the vectors of the result, wherever it was decided to lie;
                 None: gone before layouts are assigned
    row_rule     which axis of the result holds rows; None: it mixes them, or nobody has said
    """

    name: str
    spec: OpSpec
    reference: Callable[[Sequence[FloatArray], Mapping[str, Any], Mapping[str, FloatArray]], FloatArray]
    random_case: Callable[[np.random.Generator, int], Case]
    numpy: Mapping[Callable[..., Any], Trace]
    own: Callable[[Mapping[str, Any]], dict[str, Any]]
    lower: Callable[..., Value] | None
    row_rule: RowRule | None = None

    def rows(self, op: Op, operands: Sequence[Rows]) -> Rows | None:
        """Derive the rows of the result of `op`, a use of this operation, from its operands; None if it mixes rows."""
        if self.row_rule is None:
            return None
        shapes = tuple(shape_of(value) for value in op.operands)
        use = RowUse(shapes, tuple(operands), shape_of(op.result), self.own(op.attrs),
                  lambda arrays: self.reference(arrays, op.attrs, {}))  # fmt: skip
        return self.row_rule(use)


def tensor_op(
    name: str,
    *,
    shape: Callable[..., Shape],
    semantics: Callable[..., Any],
    attributes: Mapping[str, type] | None = None,
    random_case: Callable[[np.random.Generator, int], Case],
    numpy: Mapping[Callable[..., Any], Trace] | None = None,
    lower: Callable[..., Value] | None = None,
    rows: RowRule | None = None,
    traits: OpTraits = PLAIN,
) -> TensorOp:
    """Define tensor.`name`.

    shape       (operand shapes..., **attrs) -> shape of the result; raises ShapeError without a location
    semantics   (operand arrays..., **attrs) -> result; with a source: (source array, operand arrays...) -> result
    attributes  their names and classes
    rows        which axis of the result holds rows (`tensor/ops/row_rules.py`)
    traits      what sets it apart from most operations
    The result is secret if any operand is. An attribute `layout` is not passed on: it is the layout of the result.
    """
    kinds = dict(attributes or {})

    def own(attrs: Mapping[str, Any]) -> dict[str, Any]:
        return {
            key: value if type(value := attrs.get(key)) is kind else attribute(f"tensor.{name}", attrs, key, kind)
            for key, kind in kinds.items()
        }

    def infer(operands: Sequence[Value], attrs: Mapping[str, Any], regions: Sequence[Any]) -> list[Type]:
        types = [_tensor_type(name, operand) for operand in (operands[:-1] if traits.indexed else operands)]
        if traits.indexed and (not operands or operands[-1].type is not INDEX):
            raise DtypeError(f"{name}: the last operand is no run-time integer")
        result = shape(*(t.shape for t in types), **own(attrs))
        if 0 in result:
            raise ShapeError(f"{name}: the result has shape {result}, which is empty; keep every axis at least 1 long")
        hidden = traits.secret or any(t.secret for t in types)
        if hidden:
            check_size(name, result)
        return [TensorType(shape=result, dtype="float64", secret=hidden, layout=attrs.get("layout"))]

    def reference(
        inputs: Sequence[FloatArray], attrs: Mapping[str, Any], sources: Mapping[str, FloatArray]
    ) -> FloatArray:
        if traits.reads_source:
            return np.asarray(semantics(sources[attrs["source"]], *inputs), dtype=np.float64)
        return np.asarray(semantics(*inputs, **own(attrs)), dtype=np.float64)

    def run(op: Op, inputs: Sequence[FloatArray], context: Any) -> list[FloatArray]:
        return [reference(inputs, op.attrs, context.sources)]

    spec = define(f"tensor.{name}", infer=infer, semantics=run)
    return TensorOp(name, spec, reference, random_case, numpy or {}, own, lower, rows)


def check_size(name: str, result: Shape) -> None:
    """LayoutError if an encrypted tensor of this shape is larger than any can be."""
    if prod(result) > MAX_PLACES:
        raise LayoutError(
            f"{name}: the result has shape {result}, {prod(result)} elements; an encrypted tensor has at most "
            f"{MAX_PLACES}: compute it in parts"
        )


def broadcast_shape(name: str, a: Shape, b: Shape) -> Shape:
    """NumPy's broadcasting of two shapes."""
    rank = max(len(a), len(b))
    left, right = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    for axis, (m, n) in enumerate(zip(left, right, strict=True)):
        if m != n and 1 not in (m, n):
            raise ShapeError(
                f"{name}: shapes {a} and {b} do not broadcast: counted from the end, axis {rank - axis} "
                f"is {m} long in one and {n} in the other; make the two equal, or one of them 1"
            )
    return tuple(n if m == 1 else m for m, n in zip(left, right, strict=True))


def normal_axis(name: str, axis: Any, rank: int) -> int:
    """An axis counted from the front; raises ShapeError outside [-rank, rank) and for what is no whole number."""
    try:
        number = operator.index(axis)
    except TypeError:
        raise ShapeError(f"{name}: axis {axis!r} is no whole number; use {-rank} to {rank - 1}") from None
    if not -rank <= number < rank:
        raise ShapeError(f"{name}: axis {axis} does not exist in an array of {rank} axes; use {-rank} to {rank - 1}")
    return number % rank


def normal_axes(name: str, axes: Any, rank: int) -> tuple[int, ...]:
    """Distinct axes counted from the front, in the given order; None means all."""
    if axes is None:
        return tuple(range(rank))
    result = tuple(normal_axis(name, axis, rank) for axis in (axes if isinstance(axes, (tuple, list)) else (axes,)))
    if len(set(result)) != len(result):
        raise ShapeError(f"{name}: an axis is repeated in {tuple(axes)}; name every axis once")
    return result


def shape_of(value: Value) -> Shape:
    """Shape of a tensor value."""
    shape: Shape = value.type.shape  # type: ignore[attr-defined]
    return shape


def _tensor_type(name: str, operand: Value) -> TensorType:
    if not isinstance(operand.type, TensorType):
        raise DtypeError(f"{name}: an operand has type {operand.type}, not a tensor")
    return operand.type
