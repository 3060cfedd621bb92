"""Small vec programs written by hand: what the compiler's middle is measured and tested on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy.typing as npt

from latticework.ir import INDEX, Block, Builder, Module, Region, Value, verify
from latticework.ir.dialects import loop_dialect, vec_dialect  # noqa: F401  (defines the ops)
from latticework.values.packing.pack import PackDim, PackMap
from latticework.values.packing.packed_constants import Access, ConstRef, IntervalPolynomial, LinearMap, LoopNest

SLOTS = 16
Array = npt.NDArray[Any]


def line(slots: int = SLOTS, count: int = 1) -> PackMap:
    """A tensor of one axis that fills its vector; of two, a row a vector, if there are several."""
    if count > 1:
        return PackMap((count, slots), slots, (PackDim(1, slots),), (PackDim(0, count),))
    return PackMap((slots,), slots, (PackDim(0, slots),))


class Vectors:
    """A vec module being written.

    counts  number of vectors of each secret input; 1 if not given
    """

    def __init__(
        self, secrets: int = 1, *, slots: int = SLOTS, trips: bool = False, counts: Sequence[int] = ()
    ) -> None:
        names = [f"x{i}" for i in range(secrets)] + ["n"] * trips
        self.module = Module(input_names=names)
        self.slots = slots
        self.kind = vec_dialect.VecType(1, slots, "real", True)
        counted = counts or [1] * secrets
        self.x = [self.module.body.add_arg(self.kind.replace(count=counted[i])) for i in range(secrets)]
        self.n = self.module.body.add_arg(INDEX) if trips else None
        self.builder = Builder(self.module.body)

    def op(self, name: str, *operands: Value, **attrs: object) -> Value:
        """An operation of the vec dialect."""
        return self.builder.build(f"vec.{name}", list(operands), **attrs)

    def splat(self, value: float) -> Value:
        """A number in all slots."""
        return self.op("splat", value=float(value), slots=self.slots)

    def constant(self, array: Array) -> Value:
        """Public slots; (count, slots) for several vectors."""
        return self.op("constant", value=ConstRef(gather_of(array, self.module)))

    def matrix(self, x: Value, matrix: Array) -> Value:
        """The product with a square matrix."""
        return self.op("linear_transform", x, map=map_of(matrix, self.module))

    def polynomial(self, x: Value, coefficients: Sequence[float]) -> Value:
        """A polynomial in powers, on [-1, 1]."""
        return self.op("polynomial", x, polynomial=IntervalPolynomial(tuple(map(float, coefficients)), (-1.0, 1.0)))

    def loop(
        self,
        body: Callable[..., Sequence[Value]],
        inits: Sequence[Value],
        trips: int | Value,
        at_most: int | None = None,
    ) -> list[Value]:
        """A loop whose body gets its number and the carried values, and returns those of the next iteration."""
        block = Block()
        index = block.add_arg(INDEX)
        args = [block.add_arg(v.type) for v in inits]
        outer, self.builder = self.builder, Builder(block)
        self.builder.create("loop.yield", list(body(index, *args)))
        self.builder = outer
        known = isinstance(trips, int)
        attrs = {"static_trip": trips if known else None, "at_most": at_most}
        operands = [*inits] if known else [trips, *inits]
        return list(self.builder.create("loop.for", operands, attrs, [Region(block)]).results)

    def done(self, *outputs: Value) -> Module:
        """The module, whose outputs these are; IrError if it is not valid."""
        self.builder.create("loop.yield", list(outputs))
        self.module.outputs = [f"y{i}" for i in range(len(outputs))]
        verify(self.module)
        return self.module


def gather_of(array: Array, module: Module) -> LoopNest:
    """A constant vector of the module."""
    count, slots = (1, *array.shape)[-2:]
    walk = Access((array.size,), ((1,),), (0,))
    return LoopNest((array.size,), line(slots, count), walk, module.add_source(array), walk)


def map_of(matrix: Array, module: Module) -> LinearMap:
    """The linear map of a square matrix between full vectors."""
    n = len(matrix)
    row, column = Access((n,), ((1, 0),), (0,)), Access((n,), ((0, 1),), (0,))
    both = Access((n, n), ((1, 0), (0, 1)), (0, 0))
    return LinearMap(n, LoopNest((n, n), line(n), row, module.add_source(matrix), both, line(n), column))
