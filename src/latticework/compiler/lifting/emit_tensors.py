"""Loop nests as tensor IR: what they read are slices or windows of arrays, and they are products over named axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from latticework.compiler.lanes.lift import Lifted
from latticework.compiler.lanes.nests import Nest, Reading, Stage
from latticework.compiler.lifting.formulas import LETTERS, formula
from latticework.ir import Builder, Loc, Module, Op, Origin, Value
from latticework.ir.dialects import loop_dialect
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.lazy_dataclass import dataclass
from latticework.plan.schema.arguments import Result
from latticework.tensor.ops import TensorOp, add, broadcast_to, einsum, mul, neg, reshape, take, trivial
from latticework.tensor.ops import slice as slicing
from latticework.tensor.ops import sum as summed
from latticework.tensor.ops.base import FloatArray, Shape, shape_of
from latticework.tensor.ops.constant import CONSTANT

LAST = 1 << 30  # after every loop


@dataclass
class TensorEmitter:
    """Writes tensor IR; what its operations are traced with.

    formulas  what was written, a line a stage
    """

    at: Loc
    module: Module = field(default_factory=Module)
    formulas: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.line = self.at
        self.builder = Builder(self.module.body)

    # What operations need of a tracer.

    def lift(self, operand: object) -> Value:
        """A value as it is, an array as a constant."""
        if isinstance(operand, Value):
            return operand
        array = np.asarray(operand, dtype=np.float64)
        return self.emit(CONSTANT, source=self.module.add_source(array), shape=array.shape)

    def plain(self, operand: object) -> FloatArray | None:
        """An array, None for a value."""
        return None if isinstance(operand, Value) else np.asarray(operand, dtype=np.float64)

    def emit(self, op: TensorOp, *operands: Value, **attrs: Any) -> Value:
        """Append an operation; on public operands alone it is computed, but for what makes them secret."""
        owners = [value.owner for value in operands if op is not trivial.TRIVIAL]
        if owners and all(isinstance(owner, Op) and owner.spec is CONSTANT.spec for owner in owners):
            arrays = [self.module.sources[owner.attrs["source"]] for owner in owners]  # type: ignore[union-attr]
            return self.lift(op.reference(arrays, attrs, self.module.sources))
        return self.builder.create(op.spec, operands, attrs, loc=self.line).result

    # Stages.

    def program(self, lifted: Lifted, results: Sequence[Result]) -> Module:
        """All stages, and the results as outputs."""
        values: list[Value] = []
        names: list[str] = []
        named = {number: result.name for number, result in zip(lifted.outputs, results, strict=True)}
        for number, stage in enumerate(lifted.stages):
            name = stage.name or named.get(number) or f"t{number}"
            names.append(name)
            if stage.name:
                kind = TensorType(shape=stage.shape, dtype="float64", secret=True)
                values.append(self.module.body.add_arg(kind, Origin(name, self.at)))
                self.module.input_names.append(name)
            else:
                self.line = lifted.lines[number]
                values.append(self.stage(stage, values))
                self.formulas.append(formula(stage, name, names, lifted.stages))
        self.builder.create(
            loop_dialect.YIELD, [trivial.trace(self, values[n]) for n in lifted.outputs], {}, loc=self.at
        )
        self.module.outputs = [result.name for result in results]
        return self.module

    def stage(self, stage: Stage, values: Sequence[Value]) -> Value:
        """The sum of its nests, in its shape; elementwise nests over the same loops are summed once, together."""
        total: Value | None = None
        for nests in _alike(stage.nests):
            if len(nests) == 1:
                part = self.nest(nests[0], values)
            else:
                whole = (self.nest(replace(nest, num_result_loops=len(nest.extents)), values) for nest in nests)
                axes = tuple(range(nests[0].num_result_loops, len(nests[0].extents)))
                part = summed.trace(self, reduce(lambda a, b: add.trace(self, a, b), whole), axes)
            part = reshape.trace(self, part, stage.shape)
            total = part if total is None else add.trace(self, total, part)
        assert total is not None
        return total

    def nest(self, nest: Nest, values: Sequence[Value]) -> Value:
        """One nest as an array over the loops it keeps."""
        shape, scale = nest.extents[: nest.num_result_loops], nest.coefficients
        viewed = [self.view(values[reading.array], reading, nest.extents) for reading in nest.factors]
        viewed.sort(key=lambda factor: min(factor[1], default=LAST))  # rows of the result come from the left
        if np.ndim(scale):
            viewed.insert(1, self.weights(scale))
            scale = np.ones(())
        known = {i for _, loops in viewed for i in loops}
        repeated = prod(n for i, n in enumerate(nest.extents) if i >= nest.num_result_loops and i not in known)
        factor = float(scale) * repeated
        if not viewed:
            return self.lift(np.broadcast_to(factor, shape))
        wanted = [i for i in range(nest.num_result_loops) if i in known]
        terms = ",".join("".join(LETTERS[i] for i in loops) for _, loops in viewed)
        value = einsum.einsum(self, (f"{terms}->{''.join(LETTERS[i] for i in wanted)}", *(v for v, _ in viewed)))
        if factor != 1.0:
            value = neg.trace(self, value) if factor == -1.0 else mul.trace(self, value, factor)
        value = reshape.trace(self, value, tuple(n if i in known else 1 for i, n in enumerate(shape)))
        return broadcast_to.trace(self, value, shape)

    def weights(self, coefficients: FloatArray) -> tuple[Value, list[int]]:
        """Public factors over the loops that they vary with."""
        loops = [i for i in range(coefficients.ndim) if (coefficients != np.take(coefficients, [0], i)).any()]
        first = coefficients[tuple(slice(None) if i in loops else 0 for i in range(coefficients.ndim))]
        return self.lift(first), loops

    def view(self, value: Value, reading: Reading, extents: Shape) -> tuple[Value, list[int]]:
        """The elements that a reading sees, and the loops that its axes are."""
        strides = {i: s for i, (n, s) in enumerate(zip(extents, reading.strides, strict=True)) if s and n > 1}
        start = reading.start + sum(s * (extents[i] - 1) for i, s in strides.items() if s < 0)
        dims = _dims(shape_of(value), start, [(abs(s), extents[i]) for i, s in strides.items()])
        if dims is None:
            return self.gather(value, reading, extents, list(strides)), list(strides)
        value = reshape.trace(self, value, tuple(extent for extent, _ in dims))
        walking = [[i for i, s in strides.items() if abs(s) == step] for _, step in dims]
        subscripts: list[Any] = []
        for (extent, step), along in zip(dims, walking, strict=True):
            first = start // step % extent
            last = first + sum(extents[i] - 1 for i in along)
            backwards = len(along) == 1 and strides[along[0]] < 0
            subscripts.append(
                first if not along
                else slice(last, first - 1 if first else None, -1) if backwards
                else slice(first, last + 1)
            )  # fmt: skip
        value = slicing.trace(self, value, tuple(subscripts)) if subscripts else value
        walked = [along for along in walking if along]
        for axis, along in enumerate(walked):
            if len(along) > 1:  # windows: several loops walk one axis
                indices = [np.arange(extents[i])[:: 1 if strides[i] > 0 else -1] for i in along]
                value = take.take_along(self, value, axis, _sums(indices))
        order = [i for along in walked for i in along]
        return reshape.trace(self, value, tuple(extents[i] for i in order)), order

    def gather(self, value: Value, reading: Reading, extents: Shape, loops: list[int]) -> Value:
        """Elements by their numbers, where strides fit no shape."""
        numbers = reading.start + _sums([reading.strides[i] * np.arange(extents[i]) for i in loops])
        flat = reshape.trace(self, value, (prod(shape_of(value)),))
        return reshape.trace(self, take.take_along(self, flat, 0, numbers), tuple(extents[i] for i in loops))


def _alike(nests: Sequence[Nest]) -> list[list[Nest]]:
    """Nests in the order given, those together that sum numbers of whole arrays over the same loops."""
    groups: dict[Any, list[Nest]] = {}
    for number, nest in enumerate(nests):
        whole = all(all(reading.strides) for reading in nest.factors)  # no product of matrices, which sums by itself
        summing = nest.factors and whole and nest.num_result_loops < len(nest.extents)
        groups.setdefault((nest.extents, nest.num_result_loops) if summing else number, []).append(nest)
    return list(groups.values())


def _sums(parts: list[Any]) -> Any:
    """All sums of one number of each part, the last part running fastest."""
    total = np.zeros(1, dtype=np.int64)
    for part in parts:
        total = (total[:, None] + part).reshape(-1)
    return total


def _dims(shape: Shape, start: int, walked: list[tuple[int, int]]) -> list[tuple[int, int]] | None:
    """(extent, stride) of axes such that every loop walks one of them and stays inside it; None if there are none.

    walked  (stride, extent) of every loop
    """
    own = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    steps = [step for step, _ in walked]
    for strides in (sorted({*steps, *own, 1}, reverse=True), sorted({*steps, 1}, reverse=True)):
        dims, whole = [], prod(shape)
        for stride in strides:
            if whole % stride:
                break
            dims.append((whole // stride, stride))
            whole = stride
        else:
            reach = {stride: sum(n - 1 for s, n in walked if s == stride) for _, stride in dims}
            if all(start // stride % extent + reach[stride] < extent for extent, stride in dims):
                return [(extent, stride) for extent, stride in dims if extent > 1]
    return None
